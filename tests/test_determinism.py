"""The same bits, whatever goes on around a fit; nearly the same numbers with every instruction set."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from determinism_checks import SEPARATOR, everything
from profiles import HARD, hard
from slimsvm import _core

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


# Sums are added up in another order, and the digits that differ are of the last ones, where a method has one answer.
ROUNDING = 1e-9
# Where vectors are moved there are many answers nearly as good as each other, and a last digit may choose among them:
# tests/test_instruction_sets.py has what must hold for these.
MOVED = ("Compact", "Reduced", "reduce auto", "reduce refine")


@hard
@pytest.mark.parametrize("name", ["baseline", "avx2", "avx512"])
def test_every_instruction_set_gives_the_same_models(here, tmp_path, name):
    if name not in _core.instruction_sets():
        pytest.skip(f"this processor has no {name}")
    if name == _core.instruction_set():
        pytest.skip("this is the set the others are compared with")
    found = elsewhere(tmp_path, SLIMSVM_ISA=name)
    for what, wanted in here.items():
        model, _ = what.split(SEPARATOR)
        if wanted.dtype.kind == "f":
            assert np.isfinite(found[what]).all() == np.isfinite(wanted).all(), what
        if model.startswith(MOVED):
            continue
        if wanted.dtype.kind == "f":
            size = max(1e-300, float(np.abs(wanted).max()))
            assert np.abs(found[what] - wanted).max() <= ROUNDING * size, what
        else:
            np.testing.assert_array_equal(found[what], wanted, err_msg=what)
