"""The compiled core: each instruction set against the reference, threads, signals, memory, odd values."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from core_checks import NO_WIDTHS, TOLERANCE, kernels
from reference import relative_error
from slimsvm import _core

every_instruction_set = pytest.mark.parametrize("isa", _core.instruction_sets())
every_kernel = pytest.mark.parametrize("name", ["rbf", "laplacian", "linear", "poly", "sigmoid"])
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def run(call: str, isa: str = "", timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run a function of core_checks.py in a fresh interpreter."""
    here = str(Path(__file__).parent)
    path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [sys.executable, "-c", f"import core_checks; core_checks.{call}"],
        env={**os.environ, "SLIMSVM_ISA": isa, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def run_well(call: str, isa: str = "") -> str:
    done = run(call, isa)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# Instruction sets


@every_instruction_set
def test_every_instruction_set_agrees_with_the_reference(isa):
    assert run_well("compare_with_reference()", isa) == isa


@every_instruction_set
def test_bits_do_not_depend_on_the_number_of_threads(isa):
    run_well("compare_threads()", isa)


@every_instruction_set
def test_rows_that_are_not_finite_are_seen(isa):
    run_well("compare_finite()", isa)


def test_the_best_instruction_set_is_the_default():
    assert "baseline" in _core.instruction_sets()
    if not os.environ.get("SLIMSVM_ISA"):
        assert _core.instruction_set() == _core.instruction_sets()[-1]


def test_an_unknown_instruction_set_is_an_import_error():
    done = run("compare_threads()", isa="abacus")
    assert done.returncode == 1
    assert "ImportError" in done.stderr
    assert "SLIMSVM_ISA=abacus is not available" in done.stderr
    assert "baseline" in done.stderr


# Accuracy on one larger block


@every_dtype
@every_kernel
@pytest.mark.parametrize("shift", [0.0, 1e4])
@pytest.mark.parametrize("m", [11, 100])
def test_error_relative_to_the_largest_output(name, dtype, shift, m):
    if shift and name not in ("rbf", "laplacian"):
        shift = 1.0  # products far from the origin are large by nature
    rng = np.random.default_rng(0)
    d = 20
    X, Z = ((rng.standard_normal((rows, d)) + shift).astype(dtype) for rows in (500, m))
    coef = rng.standard_normal((m, 2)).astype(dtype)
    intercept = np.array([0.5, -0.5], dtype=dtype)
    parameters, truth = kernels(d)[name]
    wanted = truth(X, Z) @ coef.astype(float) + intercept
    got = _core.expansion(name, *parameters, X, Z, coef, intercept, 2)
    assert relative_error(got, wanted) <= TOLERANCE[np.dtype(dtype)]


@every_dtype
@every_kernel
def test_few_rows_and_many_rows_agree(name, dtype):
    rng = np.random.default_rng(0)
    d = 19
    X, Z = (rng.standard_normal((rows, d)).astype(dtype) for rows in (64, 50))
    coef, intercept = rng.standard_normal((50, 3)).astype(dtype), np.ones(3, dtype=dtype)
    parameters, _ = kernels(d)[name]
    many = _core.expansion(name, *parameters, X, Z, coef, intercept, 1)
    few = np.vstack(
        [_core.expansion(name, *parameters, X[i : i + 1], Z, coef, intercept, 1) for i in range(64)]
    )
    assert relative_error(few, many) <= TOLERANCE[np.dtype(dtype)]


# Odd values


@every_dtype
@every_kernel
@pytest.mark.parametrize("n", [3, 40])
def test_not_a_number_stays_in_its_row(name, dtype, n):
    rng = np.random.default_rng(0)
    d = 6
    X, Z = (rng.standard_normal((rows, d)).astype(dtype) for rows in (n, 21))
    coef, intercept = np.ones((21, 1), dtype=dtype), np.zeros(1, dtype=dtype)
    parameters, _ = kernels(d)[name]
    clean = (
        _core.gram(name, *parameters, X, Z, 1),
        _core.expansion(name, *parameters, X, Z, coef, intercept, 1),
    )
    X[1, 4] = np.nan
    dirty = (
        _core.gram(name, *parameters, X, Z, 1),
        _core.expansion(name, *parameters, X, Z, coef, intercept, 1),
    )
    others = np.arange(n) != 1
    for before, after in zip(clean, dirty, strict=True):
        assert np.isnan(after[1]).all()
        assert after[others].tobytes() == before[others].tobytes()


@every_dtype
@every_kernel
@pytest.mark.parametrize("n", [3, 40])
def test_not_a_number_in_a_vector_is_seen(name, dtype, n):
    rng = np.random.default_rng(0)
    X, Z = (rng.standard_normal((rows, 6)).astype(dtype) for rows in (n, 21))
    Z[5, 2] = np.nan
    parameters, _ = kernels(6)[name]
    assert np.isnan(_core.gram(name, *parameters, X, Z, 1)[:, 5]).all()


@every_dtype
@pytest.mark.parametrize("name", ["rbf", "laplacian"])
@pytest.mark.parametrize("n", [3, 40])
@pytest.mark.parametrize("size", [1e1, 1e2, 1e3, 1e6, 1e15])
def test_vanishing_kernel_values_are_zero_or_tiny(name, dtype, n, size):
    rng = np.random.default_rng(0)
    X = (size * rng.standard_normal((n, 5))).astype(dtype)
    parameters, truth = kernels(5)[name]
    K, wanted = _core.gram(name, *parameters, X, X, 1), truth(X, X)
    assert ((K >= 0) & (K <= 1)).all()
    assert (np.diagonal(K) == 1).all()
    assert np.abs(K - wanted).max() <= TOLERANCE[np.dtype(dtype)]
    assert (K[wanted < 1e-320] == 0).all()


@every_dtype
def test_exp_is_accurate_over_its_whole_range(dtype):
    lowest = 87 if dtype == np.float32 else 708
    x = np.linspace(0, lowest, 5000).astype(dtype)[:, None]
    got = _core.gram("laplacian", 0.0, 0.0, 0, np.ones(1), x, np.zeros((1, 1), dtype=dtype), 1)
    wanted = np.exp(-x.astype(float))
    np.testing.assert_allclose(got, wanted, rtol=3e-7 if dtype == np.float32 else 1e-15)


@every_dtype
def test_tanh_is_accurate_over_its_whole_range(dtype):
    x = np.concatenate([np.linspace(-20, 20, 5001), [-1e30, -1e-30, 1e-30, 1e30]]).astype(dtype)[:, None]
    got = _core.gram("sigmoid", 1.0, 0.0, 0, NO_WIDTHS, x, np.ones((1, 1), dtype=dtype), 1)
    np.testing.assert_allclose(got, np.tanh(x.astype(float)), rtol=5e-7 if dtype == np.float32 else 1e-15)


@every_dtype
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 7, 10])
def test_powers_are_accurate(dtype, degree):
    x = np.linspace(-3, 3, 101).astype(dtype)[:, None]
    got = _core.gram("poly", 0.5, 0.25, degree, NO_WIDTHS, x, np.ones((1, 1), dtype=dtype), 1)
    wanted = (0.5 * x.astype(float) + 0.25) ** degree
    assert relative_error(got, wanted) <= TOLERANCE[np.dtype(dtype)]


@every_dtype
@every_kernel
@pytest.mark.parametrize(("n", "m"), [(0, 4), (3, 0), (20, 0), (0, 0)])
def test_nothing_in_nothing_out(name, dtype, n, m):
    X, Z = np.ones((n, 2), dtype=dtype), np.ones((m, 2), dtype=dtype)
    parameters, _ = kernels(2)[name]
    assert _core.gram(name, *parameters, X, Z, 2).shape == (n, m)
    intercept = np.array([3.0, 4.0], dtype=dtype)
    out = _core.expansion(name, *parameters, X, Z, np.ones((m, 2), dtype=dtype), intercept, 2)
    np.testing.assert_array_equal(out, np.tile(intercept, (n, 1)))
    assert _core.expansion(name, *parameters, X, Z, np.ones((m, 0), dtype=dtype), intercept[:0], 2).shape == (
        n,
        0,
    )


# What does not fit together


def arguments(**changed):
    good = {
        "kind": "rbf",
        "gamma": 0.0,
        "coef0": 0.0,
        "degree": 0,
        "widths": np.ones(3),
        "X": np.ones((10, 3)),
        "vectors": np.ones((5, 3)),
        "coef": np.ones((5, 2)),
        "intercept": np.ones(2),
        "n_threads": 1,
    }
    return {**good, **changed}


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"vectors": np.ones((5, 4))}, "X and vectors"),
        ({"coef": np.ones((4, 2))}, "coef"),
        ({"intercept": np.ones(3)}, "intercept"),
        ({"widths": np.ones(2)}, "widths"),
        ({"kind": "chi2"}, "kind: .*'chi2'"),
        ({"kind": "poly", "degree": -1}, "degree"),
    ],
)
def test_wrong_shapes_are_value_errors_that_name_the_argument(changed, named):
    with pytest.raises(ValueError, match=named):
        _core.expansion(**arguments(**changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"X": np.ones(3)},
        {"X": np.ones((10, 3), dtype=np.float32)},
        {"X": np.ones((10, 3), dtype=int)},
        {"X": np.ones((3, 10)).T},
        {"vectors": None},
        {"coef": np.ones(5)},
    ],
)
def test_other_types_and_layouts_are_type_errors(changed):
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _core.expansion(**arguments(**changed))


@pytest.mark.parametrize("n_threads", [-1, 0, 1, 1000])
def test_any_number_of_threads_is_served(n_threads):
    out = _core.expansion(**arguments(X=np.ones((500, 3)), n_threads=n_threads))
    np.testing.assert_allclose(out, 6.0)


# Processes, signals, memory


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_a_fork_after_a_threaded_call_works():
    run_well("fork_after_threads()")


@pytest.mark.parametrize("threads", [1, 2])
def test_sigint_ends_a_long_call(threads):
    assert float(run_well(f"interrupt({threads})")) < 0.2


@pytest.mark.skipif(
    "asan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer ends a process that asks for too much"
)
def test_too_much_memory_is_a_memory_error():
    assert run_well("exhaust_memory()") == "MemoryError"
