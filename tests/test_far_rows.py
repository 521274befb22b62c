"""Rows and vectors far from the others: one answer alone and in any batch, the exact one, and never not-a-number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import SVC

import random_cases
import reference
from far_row_checks import (
    BATCHES,
    DISTANCES,
    PRODUCTS,
    TOLERANCE,
    compare_distances,
    compare_products,
    error_of,
    fits,
    model,
    outputs_in_batches,
)
from profiles import HARD
from slimsvm import RVR, FullSVC, KernelExpansion, _core
from slimsvm.datasets import make_banana
from slimsvm.kernels import RBF, FunctionKernel, Laplacian, Linear, Polynomial, Precomputed, Sigmoid
from slimsvm.losses import Squared
from slimsvm.methods.compact.observations import Observations
from slimsvm.refinement.starts import pursue
from slimsvm.training import in_range
from test_core import every_dtype, every_instruction_set, run_well

ROWS = 70 if HARD else 34  # each is asked for alone too, which takes most of the time


@every_instruction_set
def test_every_instruction_set_is_exact_far_from_the_others(isa):
    run_well(f"compare_far_rows({ROWS})", isa)


def test_csr_rows_are_exact_far_from_the_others():
    compare_distances(csr=True, n=ROWS)
    compare_products(csr=True, n=ROWS)


@every_dtype
@pytest.mark.parametrize("kernel", [RBF((0.5, 0.0)), Laplacian((0.5, 0.0))])
@pytest.mark.parametrize("m", [1, 5, 60, 300])
def test_an_input_without_width_may_have_any_value(m, kernel, dtype):
    rng, largest = np.random.default_rng(0), np.finfo(dtype).max
    X, Z = (
        np.column_stack([rng.standard_normal(n), rng.choice([-largest, largest, 1.0], n, p=share)]).astype(
            dtype
        )
        for n, share in ((50, (0.4, 0.4, 0.2)), (m, (0.8, 0.1, 0.1)))
    )
    coef, intercept = model(X, Z)
    f = KernelExpansion(kernel, Z, coef, intercept)
    without = type(kernel)((0.5,))
    for size, got in outputs_in_batches(f, X):
        wanted = KernelExpansion(without, Z[:, :1], coef, intercept)(X[:, :1])
        np.testing.assert_allclose(
            got, wanted, rtol=0, atol=1e-4 if dtype == np.float32 else 1e-12, err_msg=f"{size=}"
        )
    np.testing.assert_allclose(kernel(X, Z), without(X[:, :1], Z[:, :1]), rtol=1e-5)


@pytest.mark.parametrize("kernel", [RBF, Laplacian])
@pytest.mark.parametrize("width", [1e-300, 1e-308, 1e-310, 5e-324])
@pytest.mark.parametrize("columns", [1, 40])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_distances_near_the_largest_number_under_a_width_near_the_smallest(kernel, width, columns, form):
    """The difference of two such numbers overflows; times the width it is an ordinary number."""
    x = np.array([1.7e308, -1.7e308, 1.2e308, 1e160, -3.0])
    X = np.zeros((5, columns))
    X[:, 0] = x
    halves = np.abs(x[:, None] / 2 - x / 2)
    root = width if kernel is Laplacian else np.sqrt(width)
    sums = 2 * np.clip(root * halves, 0, 1e10)  # 1e10 is beyond the range of exp
    wanted = np.exp(-(sums if kernel is Laplacian else sums**2))
    got = kernel(width)(form(X), form(np.tile(X, (12, 1))))
    np.testing.assert_allclose(got, np.tile(wanted, 12), rtol=0, atol=1e-12)


@st.composite
def scattered(draw):
    """Rows and vectors around a few places, from 1 to 1e30 away from the origin and from each other."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    n, m, d = draw(st.integers(1, 40)), draw(st.integers(1, 60)), draw(st.integers(1, 20))
    places = rng.standard_normal((3, d)) * 10.0 ** rng.uniform(0, 30, (3, 1)) * (rng.random((3, d)) < 0.5)
    X, Z = (
        (places[rng.integers(3, size=rows)] + rng.standard_normal((rows, d))).astype(dtype) for rows in (n, m)
    )
    return X, Z


@given(
    scattered(), st.sampled_from(["rbf", "laplacian"]), st.sampled_from([1e-60, 1e-30, 1e-3, 0.1, 1.0, 30.0])
)
def test_distances_of_scattered_rows(blocks, name, gamma):
    X, Z = blocks
    kernel = {"rbf": DISTANCES[0], "laplacian": DISTANCES[6]}[name]
    kernel = type(kernel)(gamma)
    exact, (coef, intercept) = reference.exact_values(kernel, X, Z), model(X, Z)
    for make in (np.asarray, sparse.csr_array):
        f = KernelExpansion(kernel, make(Z), coef, intercept)
        for _, got in outputs_in_batches(f, make(X)):
            assert error_of(got, exact, X, coef, intercept) <= TOLERANCE[X.dtype]


@given(scattered(), st.sampled_from(PRODUCTS))
def test_products_of_scattered_rows(blocks, kernel):
    X, Z = blocks
    exact, (coef, intercept) = reference.exact_values(kernel, X, Z), model(X, Z)
    f = KernelExpansion(kernel, Z, coef, intercept)
    if fits(exact, X, Z, coef, intercept):
        answers = [got for _, got in outputs_in_batches(f, X)]
        assert all(np.array_equal(got, answers[0]) for got in answers)
        assert error_of(answers[0], exact, X, coef, intercept) <= TOLERANCE[X.dtype]


@every_dtype
def test_a_sentinel_does_not_spoil_a_machine(dtype):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    X[rng.random(800) < 0.3, 2] = -9999
    X = X.astype(dtype)
    ours, theirs = (kind(gamma=0.5).fit(X[:400], y[:400]) for kind in (FullSVC, SVC))
    assert ours.score(X[400:], y[400:]) >= theirs.score(X[400:], y[400:]) - 0.01


@pytest.mark.parametrize("n", [1, 7, 8, 40])
@pytest.mark.parametrize("m", [3, 50])
def test_a_finite_row_never_gives_not_a_number(n, m):
    """Cells whose squares, or whose differences, overflow."""
    for dtype in (np.float32, np.float64):
        rng = np.random.default_rng(0)
        X, Z = (rng.standard_normal((rows, 3)).astype(dtype) for rows in (n, m))
        X[n // 2, 1] = np.finfo(dtype).min
        Z[m // 2, 1] = np.finfo(dtype).max
        for gamma in (2.0, (2.0, 0.0, 1.0)):
            f = KernelExpansion(RBF(gamma), Z, np.ones(m), 0.5)
            assert np.isfinite(f(X)).all()
            widths = f.kernel.widths(3)
            short = _core.finite_expansion(widths, X, Z, f.coef, f.intercept, 1)
            assert np.array_equal(short, f(X))


@pytest.mark.parametrize(
    ("kernel", "advice"),
    [
        (Polynomial(1.0, 0.0, 5), "scale X .*, lower gamma or degree, or use float64"),
        (Linear(), "scale X .*, or use float64"),
    ],
)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n", BATCHES)
def test_outputs_too_large_for_their_dtype_are_said(kernel, advice, make, n):
    X = np.full((n, 2), 1e-10, dtype=np.float32)
    X[-1] = 1e30
    f = KernelExpansion(kernel, make(np.full((3, 2), 1e10, dtype=np.float32)), np.ones(3), 0.0)
    with pytest.raises(ValueError, match=f"the outputs of .*row {n - 1}.* too large for float32; {advice}"):
        f(make(X))
    assert np.isfinite(f.astype(np.float64)(make(X.astype(np.float64)))).all()


def test_what_overflows_on_the_way_but_not_at_the_end_is_right():
    """Products of 1e40 that cancel, and a power of 1e60 with a coefficient of 1e-30, in float32."""
    X = np.array([[1e20, 1e20, 1.0]], dtype=np.float32)
    Z = np.array([[1e20, -2e20, 0.0], [1e20, -1e20, 3.0]], dtype=np.float32)
    for rows in (X, np.tile(X, (20, 1))):
        np.testing.assert_array_equal(Sigmoid(1.0)(rows, Z)[0], [-1.0, np.float32(np.tanh(3.0))])
        assert Linear()(rows, Z)[0, 1] == 3.0
        f = KernelExpansion(Polynomial(1e-10, 0.0, 2), Z[:1], np.full(1, 1e-30, dtype=np.float32), 0.0)
        np.testing.assert_allclose(f(rows), 1e30, rtol=1e-6)


@pytest.mark.parametrize(
    "kernel", [FunctionKernel(lambda A, B: 1e300 * (A @ B.T)), Precomputed()], ids=["function", "precomputed"]
)
def test_outputs_of_any_kernel_that_are_too_large_are_said(kernel):
    X = np.array([[1.0, 1.0], [1e100, 1.0]])
    Z = np.array([[0], [1]]) if isinstance(kernel, Precomputed) else np.eye(2)
    scale = 1e300 if isinstance(kernel, Precomputed) else 1.0
    f = KernelExpansion(kernel, Z, np.full((2, 1), scale), 0.0)
    advice = "divide the kernel matrices" if isinstance(kernel, Precomputed) else "scale X"
    with pytest.raises(
        ValueError, match=f"the outputs of 1 of 2 rows.*row 1.* too large for float64; {advice}"
    ):
        f(X)
    assert np.isfinite(f(X[:1])).all()


def test_deviations_too_large_for_a_number_are_said():
    X, y = make_banana(40, random_state=0)
    model = RVR(kernel="linear", random_state=0).fit(X, X[:, 0] + 0.1 * y)
    far = np.array([[1e200, 1.0]])
    assert np.isfinite(model.predict(far)).all()
    with pytest.raises(ValueError, match="too large for float64; scale X"):
        model.predict(far, return_std=True)


def test_the_size_of_a_gradient_changes_no_choice_and_overflows_nowhere():
    rng = np.random.default_rng(0)
    gradient, among = (
        rng.normal(size=(30, 2)),
        np.exp(-np.square(np.subtract.outer(np.arange(30), np.arange(30)))),
    )
    assert pursue(gradient.copy(), among, 5) == pursue(1e300 * gradient, among, 5)


def test_coefficients_too_large_for_the_precision_of_the_rows_are_said():
    with pytest.raises(ValueError, match=r"up to 1e\+40, are too large for float32; use rows in float64"):
        in_range(np.array([1.0, -1e40]), np.float32)
    np.testing.assert_array_equal(in_range(np.array([1.0, -1e40]), np.float64), [1.0, -1e40])
    with pytest.raises(ValueError, match=r"up to 1e\+320, are too large for float64; use smaller weights"):
        in_range(np.array([1.0, -1e280]), np.float64, 1e40)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("number", [115480, 115723])
def test_a_penalty_that_is_nothing_leaves_coefficients_that_are_numbers(number):
    """C and weights so large that nothing is left of the penalty, and nothing of the normal equations but rounding."""
    assert random_cases.attack(number) == random_cases.Found("fitted")


def test_a_model_gone_astray_is_a_bad_one_and_no_warning():
    data = Observations(
        np.arange(4.0)[:, None], np.zeros((4, 1)), np.ones(4), np.arange(4), classify=False, loss=Squared()
    )
    found = data.mistakes(np.array([[0.0], [1.0], [1e200], [-1e308]]))
    np.testing.assert_array_equal(found[:2], [0.0, 1.0])
    assert (found[2:] > 1e100).all()
    assert np.isfinite(found.sum())
