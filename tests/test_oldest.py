"""What `make test-oldest` installs."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from oldest import oldest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("asked", "installed"),
    [
        ("numpy>=2.0", "numpy==2.0.*"),
        ("dask[array,distributed]>=2024.8", "dask==2024.8.*"),
        (
            "libsvm-official>=3.30; platform_system == 'Linux'",
            "libsvm-official==3.30.*; platform_system == 'Linux'",
        ),
        ("nanobind>=2.4,<4", "nanobind==2.4.*"),
    ],
)
def test_a_lower_bound_becomes_a_version(asked, installed):
    assert oldest([asked]) == [installed]


def test_every_dependency_has_a_lower_bound_that_is_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    printed = subprocess.run(
        [sys.executable, ROOT / "tests" / "oldest.py"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    wanted = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    assert len(printed) == len(wanted)
    assert all("==" in line and line.split(";")[0].strip().endswith(".*") for line in printed)
    # what users may install besides is among what the tests need, by the same lower bound
    for extra in ("cli", "plot", "onnx", "report", "dask"):
        assert set(project["optional-dependencies"][extra]) <= set(wanted), extra
