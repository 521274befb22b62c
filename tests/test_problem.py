"""The problem measures how far a point is from the optimum; the matrix may be held or not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

import reference
from slimsvm.kernels import RBF, Linear, Precomputed
from slimsvm.losses import Hinge, Squared, SquaredHinge
from slimsvm.problem import KernelGram, Problem, Solution, Status, check_finite

LOSSES = [Squared(), Hinge(), SquaredHinge()]

# libsvm keeps kernel values in float32
LIBSVM_ROUNDING = 1e-6


def rows(n=30, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def problem(loss, fit_intercept=True, n=30, k=2, limit_bytes=2**30):
    X = rows(n)
    noise = np.random.default_rng(1).standard_normal((n, k))
    Y = np.where(X[:, :1] + X[:, 1:2] + noise > 0, 1.0, -1.0)
    C = np.random.default_rng(2).uniform(0.1, 10, n)
    return Problem(KernelGram(RBF(0.5), X, limit_bytes=limit_bytes), Y, loss, C, fit_intercept)


# The matrix


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("precomputed", [False, True])
def test_the_matrix_is_the_same_held_or_not(make, precomputed):
    X, kernel = rows(), RBF(0.5)
    K = reference.rbf(X, X, 0.5)
    if precomputed:
        X, kernel = K, Precomputed()
    V = rows(30, 2, seed=3)
    held, unheld = (
        KernelGram(kernel, make(X), limit_bytes=limit) for limit in (30 * 30 * 8, 30 * 30 * 8 - 1)
    )
    assert held.is_held
    assert not unheld.is_held
    for gram in (held, unheld):
        assert gram.n == 30
        np.testing.assert_allclose(gram @ V, K @ V, atol=1e-12)
        np.testing.assert_allclose(gram.column(4), K[:, 4], atol=1e-13)
        np.testing.assert_allclose(gram.columns(np.array([7, 0, 7])), K[:, [7, 0, 7]], atol=1e-13)
        np.testing.assert_allclose(gram.diagonal(), np.diagonal(K), atol=1e-13)
    np.testing.assert_allclose(held.dense, K, atol=1e-13)
    assert held.dense is held.dense


def test_the_matrix_is_float64_whatever_the_rows_are():
    gram = KernelGram(RBF(0.5), rows().astype(np.float32))
    assert gram.dense.dtype == gram.diagonal().dtype == (gram @ np.ones((30, 1))).dtype == np.float64


def test_values_that_cancel_are_too_large_all_the_same():
    for largest, what in ((1e300, "too large"), (np.inf, "not finite"), (np.nan, "not finite")):
        with pytest.raises(ValueError, match=f"kernel values of X are {what}"):
            check_finite(np.array([[largest, -largest], [1.0, 1.0]]))
    check_finite(np.array([[1e99, -1e99]]))
    check_finite(np.empty((0, 3)))


def test_a_matrix_above_the_limit_is_refused_with_its_size():
    gram = KernelGram(Linear(), np.zeros((100_000, 1)))
    with pytest.raises(MemoryError, match=r"100000 rows needs 74\.5 GiB, above the limit of 2 GiB; use"):
        gram.dense  # noqa: B018


def test_kernel_values_that_are_not_finite_are_refused():
    gram = KernelGram(Linear(), np.array([[1e200], [1.0]]))
    with pytest.raises(ValueError, match="kernel: some kernel values of X are not finite; scale X"):
        gram.dense  # noqa: B018


# Objective and optimality


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("fit_intercept", [True, False])
@given(seed=st.integers(0, 1000))
def test_the_dual_is_below_the_primal(loss, fit_intercept, seed):
    p = problem(loss, fit_intercept)
    rng = np.random.default_rng(seed)
    alpha = loss.project(p.y, rng.standard_normal(p.y.shape), p.C[:, None])
    if fit_intercept:  # a feasible point: opposite labels in equal shares
        for column in range(alpha.shape[1]):
            up = p.y[:, column] > 0
            share = min(alpha[up, column].sum(), -alpha[~up, column].sum())
            if isinstance(loss, Squared) or share <= 0:
                alpha[:, column] = 0
            else:
                alpha[up, column] *= share / alpha[up, column].sum()
                alpha[~up, column] *= share / -alpha[~up, column].sum()
    b = rng.standard_normal(2) if fit_intercept else np.zeros(2)
    other = rng.standard_normal(p.y.shape)
    primal, dual = p.objective(other, b), p.dual_objective(alpha)
    assert (dual <= primal + 1e-9 * np.abs(primal)).all()


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_known_outputs_are_not_computed_again(loss):
    p = problem(loss)
    alpha, b = loss.project(p.y, rows(30, 2), p.C[:, None]), np.array([0.1, -0.2])
    f = p.gram.dense @ alpha
    unknown = Problem(None, p.y, loss, p.C)
    np.testing.assert_allclose(unknown.objective(alpha, b, f), p.objective(alpha, b))
    np.testing.assert_allclose(unknown.dual_objective(alpha, f), p.dual_objective(alpha))
    np.testing.assert_allclose(unknown.optimality(alpha, b, f), p.optimality(alpha, b))


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_least_squares_optimum(fit_intercept):
    p = problem(Squared(), fit_intercept)
    alpha, b = reference.least_squares_machine(p.gram.dense, p.y, p.C, fit_intercept)
    assert (p.optimality(alpha, b) < 1e-12).all()
    assert (p.optimality(1.01 * alpha, b) > 1e-6).all()
    assert (p.optimality(alpha + 0.01, b) > 1e-6).all()


def test_a_free_intercept_wants_balanced_coefficients():
    """The optimum for b = 0 has no gap, and is none when b is free."""
    bound, free = problem(Squared(), fit_intercept=False), problem(Squared(), fit_intercept=True)
    alpha, b = reference.least_squares_machine(bound.gram.dense, bound.y, bound.C, fit_intercept=False)
    assert (bound.optimality(alpha, b) < 1e-12).all()
    assert (free.optimality(alpha, b) > 1e-3).all()


def test_libsvm_classification_optimum():
    p = problem(Hinge(), k=1)
    machine = SVC(C=1.0, kernel="precomputed", tol=1e-10)
    machine.fit(p.gram.dense, p.y[:, 0], sample_weight=p.C)
    alpha = np.zeros((p.gram.n, 1))
    alpha[machine.support_] = machine.dual_coef_.T
    assert p.optimality(alpha, machine.intercept_)[0] < LIBSVM_ROUNDING
    assert p.optimality(alpha, machine.intercept_ + 0.1)[0] > 1e-5
    assert p.optimality(2 * alpha, machine.intercept_)[0] > 0.1  # outside its bounds


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_optimality_at_zero_is_a_number(loss):
    p = problem(loss)
    assert np.isfinite(p.optimality(np.zeros((30, 2)), np.zeros(2))).all()


# Solutions


def test_every_status_says_what_to_do():
    for status in Status:
        assert status is Status.OPTIMAL or "lower C, or scale the inputs" in status.value


def test_an_optimal_solution_is_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Solution(np.ones((1, 1)), np.ones(1), Status.OPTIMAL, 3, 0.0).warn_if_unfinished("LSSVC")


@pytest.mark.parametrize("status", [Status.ITERATION_LIMIT, Status.STALLED])
def test_an_unfinished_solution_warns_with_what_was_reached(status):
    solution = Solution(np.ones((1, 1)), np.ones(1), status, 17, 0.25)
    with pytest.warns(
        ConvergenceWarning, match=r"^LSSVC: .*\(reached 0\.25 after 17 iterations, solver cg\)\.$"
    ):
        solution.warn_if_unfinished("LSSVC", solver="cg")
