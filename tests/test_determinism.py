"""The same bits, whatever goes on around a fit; nearly the same numbers with every instruction set."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from determinism_checks import everything

HARD = bool(os.environ.get("SLIMSVM_HARD"))
ROWS = 200 if HARD else 60


@pytest.fixture(scope="module")
def here():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return everything(ROWS, 1)


def elsewhere(tmp_path, n_jobs=1, **environment):
    """The same in a new process."""
    path = tmp_path / "found.npz"
    script = Path(__file__).with_name("determinism_checks.py")
    subprocess.run(
        [sys.executable, str(script), str(path), str(ROWS), str(n_jobs)],
        check=True, timeout=3000, env={**os.environ, **environment},
    )  # fmt: skip
    with np.load(path) as found:
        return dict(found)


@pytest.mark.parametrize(
    ("seed", "blas_threads", "n_jobs"), [("1", "2", 2), *([("2", "1", 1), ("77", "3", 3)] if HARD else [])]
)
def test_the_bits_are_the_same_in_a_new_process(here, tmp_path, seed, blas_threads, n_jobs):
    found = elsewhere(tmp_path, n_jobs, PYTHONHASHSEED=seed, OPENBLAS_NUM_THREADS=blas_threads)
    assert found.keys() == here.keys()
    assert [what for what in here if found[what].tobytes() != here[what].tobytes()] == []
