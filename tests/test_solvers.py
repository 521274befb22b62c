"""Each least-squares solver obeys the laws of contracts.py; the three agree; budgets and memory hold."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import reference
from contracts import SolverContract
from reference import relative_error
from slimsvm import LSSVC, LSSVR, training
from slimsvm.datasets import make_banana
from slimsvm.kernels import RBF, FunctionKernel, Laplacian, Linear, Polynomial, Precomputed, Sigmoid
from slimsvm.linalg import cholesky_factor
from slimsvm.losses import Squared
from slimsvm.methods.least_squares.solvers import SOLVERS, solve_cg, solve_cholesky, solve_smo
from slimsvm.problem import KernelGram, Problem, Status
from slimsvm.solvers.hinge_no_bias import solve_interior_point_hinge
from slimsvm.solvers.one_norm_margin import solve_one_norm_margin

every_solver = pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS.keys())


def data(n=50, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = np.column_stack(
        [np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0), np.sin(2 * X[:, 1])]
    )
    return X, Y, rng.uniform(0.2, 3.0, n)


CASES = {
    "rbf, small C": (RBF(0.5), 0.1),
    "rbf, large C": (RBF(0.5), 1000.0),
    "narrow rbf": (RBF(20.0), 10.0),
    "widths": (RBF((0.1, 1.0, 3.0)), 10.0),
    "linear": (Linear(), 1.0),
    "poly": (Polynomial(0.5, 1.0, 2), 1.0),
    "laplacian": (Laplacian(0.5), 10.0),
}


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def solver_case(request):
    kernel, C = request.param
    X, Y, weight = data()
    return kernel, X, Y, C * weight


class LeastSquares(SolverContract):
    loss = Squared()

    @staticmethod
    def reference(K, Y, C, fit_intercept, **options):
        return reference.least_squares_machine(K, Y, C, fit_intercept, **options)

    def test_it_solves_with_a_penalised_intercept(self, solver_case):
        kernel, X, Y, C = solver_case
        problem = self.problem(kernel, X, Y + 0.7, C, penalize_intercept=True)
        solution = self.check(problem)
        alpha, b = solution.alpha, solution.intercept
        error = problem.y - self.outputs(problem, solution)
        size = np.abs(alpha).max()
        np.testing.assert_allclose(alpha.sum(axis=0), b, atol=1e-7 * size * len(Y))  # Xia et al., eq. (15)
        np.testing.assert_allclose(alpha, C[:, None] * error, atol=1e-6 * size)  # eq. (16), (17)
        # the same as the kernel k + 1 without intercept, which eq. (32) is made of
        plain = reference.least_squares_machine(problem.gram.dense + 1.0, problem.y, C, fit_intercept=False)[
            0
        ]
        wanted = (problem.gram.dense + 1.0) @ plain
        assert relative_error(self.outputs(problem, solution), wanted) <= self.accuracy
        free = self.solution(self.problem(kernel, X, Y + 0.7, C))
        assert (problem.objective(alpha, b) < problem.objective(free.alpha, free.intercept)).all()
        assert (np.abs(b) < np.abs(free.intercept)).all()


class TestCholesky(LeastSquares):
    solve = staticmethod(solve_cholesky)

    def test_it_solves_without_holding_the_matrix(self, solver_case):
        with pytest.raises(MemoryError, match="use a solver that works without it"):
            self.solution(self.problem(*solver_case, limit_bytes=100))


class TestConjugateGradients(LeastSquares):
    solve = staticmethod(solve_cg)

    def test_the_seed_matters_only_to_rounding(self, solver_case):
        problem = self.problem(*solver_case)
        one, other = (self.outputs(problem, self.solution(problem, seed=seed)) for seed in (0, 1))
        assert relative_error(one, other) <= self.accuracy


class TestSMO(LeastSquares):
    solve = staticmethod(solve_smo)
    free_intercept_only = True


# The three agree


@pytest.mark.parametrize(
    ("kernel", "C"),
    # SMO crawls on matrices of low rank when C is large
    [(kernel, C) for kernel in (Linear(), Polynomial(0.3, 1.0, 3)) for C in (0.01, 1.0)]
    + [(kernel, C) for kernel in (RBF(0.3), Laplacian(0.2)) for C in (0.01, 1.0, 100.0)],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_solvers_agree(kernel, C, weighted):
    X, Y, weight = data(120, seed=4)
    T = np.random.default_rng(5).standard_normal((40, 3))
    problem = Problem(KernelGram(kernel, X), Y, Squared(), C * (weight if weighted else np.ones(120)))
    outputs = []
    for solve in SOLVERS.values():
        solution = solve(problem, tol=1e-8, max_iter=None, rng=np.random.default_rng(0))
        assert solution.status is Status.OPTIMAL
        outputs.append(kernel.expand(T, X, solution.alpha, solution.intercept))
    assert relative_error(outputs[1], outputs[0]) <= 1e-6
    assert relative_error(outputs[2], outputs[0]) <= 1e-6


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "laplacian"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_the_solvers_agree_in_the_estimators(kernel, make):
    X, y = make_banana(150, random_state=0)
    f = [
        LSSVC(C=5.0, kernel=kernel, coef0=1.0, solver=solver, random_state=0)
        .fit(make(X), y)
        .decision_function(X)
        for solver in SOLVERS
    ]
    assert relative_error(f[1], f[0]) <= 1e-6
    assert relative_error(f[2], f[0]) <= 1e-6


@pytest.mark.parametrize("solve", [solve_cg, solve_smo])
def test_a_penalised_intercept_without_holding_the_matrix(solve):
    X, Y, C = data()
    gram = KernelGram(RBF(0.5), X, limit_bytes=100)
    problem = Problem(gram, Y + 0.7, Squared(), C, penalize_intercept=True)
    solution = solve(problem, tol=1e-10, max_iter=None, rng=np.random.default_rng(0))
    K = reference.rbf(X, X, 0.5)
    alpha, b = reference.least_squares_machine(K, problem.y, C, penalize_intercept=True)
    assert relative_error(K @ solution.alpha + solution.intercept, K @ alpha + b) <= 1e-6


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("make", [LSSVC, LSSVR])
def test_a_penalised_intercept_in_the_estimators(solver, make):
    X, y = make_banana(150, random_state=0)
    y = y if make is LSSVC else y + 3.0
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 150)
    model = make(C=5.0, gamma=0.5, penalize_intercept=True, solver=solver, random_state=0).fit(X, y, weight)
    K = reference.rbf(X, X, 0.5)
    alpha, b = reference.least_squares_machine(K, y[:, None], 5.0 * weight, penalize_intercept=True)
    answer = model.decision_function(X) if make is LSSVC else model.predict(X)
    assert relative_error(answer, (K @ alpha + b)[:, 0]) <= 1e-6
    assert model.intercept_[0] == pytest.approx(model.dual_coef_.sum(), rel=1e-6)  # eq. (15)


# Kernels that are not positive definite


@pytest.mark.parametrize("penalize", [False, True])
@pytest.mark.parametrize("limit_bytes", [100, 2**30])
def test_indefinite_kernels_are_solved_as_they_stand(limit_bytes, penalize):
    X, Y, weight = data()
    kernel, C = Sigmoid(0.7, -1.0), 10 * weight
    K = kernel(X, X)
    assert np.linalg.eigvalsh(K + np.diag(1 / C))[0] < -1e-2
    alpha, b = reference.least_squares_machine(K, Y, C, penalize_intercept=penalize)
    for solve in (solve_cholesky, solve_cg):
        if solve is solve_cholesky and limit_bytes == 100:
            continue
        gram = KernelGram(kernel, X, limit_bytes=limit_bytes)
        problem = Problem(gram, Y, Squared(), C, penalize_intercept=penalize)
        solution = solve(problem, tol=1e-10, max_iter=None, rng=np.random.default_rng(0))
        assert solution.status is Status.OPTIMAL
        assert relative_error(K @ solution.alpha + solution.intercept, K @ alpha + b) <= 1e-6


@pytest.mark.parametrize("limit_bytes", [100, 2**30])
def test_smo_refuses_indefinite_kernels(limit_bytes):
    X, Y, weight = data()
    problem = Problem(KernelGram(Sigmoid(0.7, -1.0), X, limit_bytes=limit_bytes), Y, Squared(), 10 * weight)
    with pytest.raises(ValueError, match=r"solver='smo' needs a positive definite kernel.*'cholesky'"):
        solve_smo(problem, tol=1e-8, max_iter=None, rng=np.random.default_rng(0))


@pytest.mark.parametrize("limit_bytes", [100, 2**30])
@every_solver
def test_unknown_kernels_that_are_positive_definite_are_served(solve, limit_bytes):
    if solve is solve_cholesky and limit_bytes == 100:
        return
    X, Y, C = data()
    K = reference.rbf(X, X, 0.5)
    alpha, b = reference.least_squares_machine(K, Y, C)
    for kernel, inputs in (
        (FunctionKernel(partial(reference.rbf, gamma=0.5)), X),
        (Precomputed(), K),
    ):
        problem = Problem(KernelGram(kernel, inputs, limit_bytes=limit_bytes), Y, Squared(), C)
        solution = solve(problem, tol=1e-10, max_iter=None, rng=np.random.default_rng(0))
        assert solution.status is Status.OPTIMAL
        assert relative_error(K @ solution.alpha + solution.intercept, K @ alpha + b) <= 1e-6


# Memory


@dataclass(frozen=True)
class Watched(RBF):
    """Remembers the largest block it was asked for."""

    largest: ClassVar[list[int]] = []

    def __call__(self, X, Z, *, n_threads=1):
        self.largest.append(X.shape[0] * Z.shape[0])
        return super().__call__(X, Z, n_threads=n_threads)


@pytest.mark.parametrize("solve", [solve_cg, solve_smo])
def test_the_matrix_is_never_held_above_the_limit(solve, monkeypatch):
    def touched(self):
        raise AssertionError("the whole matrix was asked for")

    monkeypatch.setattr(KernelGram, "dense", property(touched))
    Watched.largest.clear()
    X, Y, weight = data(1000)
    gram = KernelGram(Watched(1.0), X, limit_bytes=2**20)
    solution = solve(
        Problem(gram, Y, Squared(), 0.5 * weight), tol=1e-6, max_iter=None, rng=np.random.default_rng(0)
    )
    assert solution.status is Status.OPTIMAL
    assert max(Watched.largest) <= 400 * 1000


@pytest.mark.parametrize("solver", ["auto", "cg", "smo"])
def test_estimators_above_the_limit(solver, monkeypatch):
    X, y = make_banana(200, random_state=0)
    wanted = LSSVC(solver="cholesky").fit(X, y).decision_function(X)
    monkeypatch.setattr(training, "KernelGram", partial(KernelGram, limit_bytes=1000))
    found = LSSVC(solver=solver, random_state=0).fit(X, y).decision_function(X)
    assert relative_error(found, wanted) <= 1e-6
    with pytest.raises(MemoryError, match="above the limit"):
        LSSVC(solver="cholesky").fit(X, y)


# Budgets


@pytest.mark.parametrize(("solver", "kernel"), [("cg", "rbf"), ("cg", "sigmoid"), ("smo", "rbf")])
def test_too_few_iterations_warn(solver, kernel):
    X, y = make_banana(600, random_state=0)
    model = LSSVC(C=1e4, kernel=kernel, gamma=20.0, solver=solver, max_iter=2)
    expected = (
        rf"LSSVC: the solver stopped at its limit.*raise max_iter.*after 2 iterations, solver {solver}, C"
    )
    with pytest.warns(ConvergenceWarning, match=expected):
        model.fit(X, y)
    assert model.n_iter_ == 2
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("estimator", [LSSVC, LSSVR])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_huge_c_on_noisy_labels_ends_within_the_budget(solver, estimator):
    X, y = make_banana(150, noise=1.0, random_state=0)
    start = time.process_time()
    model = estimator(C=1e12, solver=solver, random_state=0).fit(X, y)
    assert time.process_time() - start < 20
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.dual_coef_).all()


@every_solver
def test_equal_rows_and_a_huge_c_do_not_break_the_factorisation(solve):
    X, Y, _ = data(30)
    X = np.vstack([X, X])  # the kernel matrix is singular
    problem = Problem(KernelGram(RBF(0.1), X), np.vstack([Y, Y]), Squared(), np.full(60, 1e14))
    solution = solve(problem, tol=1e-8, max_iter=2000, rng=np.random.default_rng(0))
    assert np.isfinite(solution.alpha).all()
    assert np.isfinite(solution.intercept).all()


@every_solver
def test_constant_targets_need_no_coefficients(solve):
    X, _, C = data()
    problem = Problem(KernelGram(RBF(0.5), X), np.full((50, 1), 3.0), Squared(), C)
    solution = solve(problem, tol=1e-8, max_iter=None, rng=np.random.default_rng(0))
    assert np.abs(solution.alpha).max() < 1e-6
    np.testing.assert_allclose(solution.intercept, 3.0, rtol=1e-7)


@every_solver
@pytest.mark.parametrize("n", [1, 2])
def test_very_few_rows(solve, n):
    X, Y, C = data(n)
    problem = Problem(KernelGram(RBF(0.5), X), Y, Squared(), C)
    solution = solve(problem, tol=1e-10, max_iter=None, rng=np.random.default_rng(0))
    alpha, b = reference.least_squares_machine(problem.gram.dense, Y, C)
    np.testing.assert_allclose(solution.alpha, alpha, atol=1e-8)
    np.testing.assert_allclose(solution.intercept, b, atol=1e-8)


# The factor


def test_the_cholesky_factor_grows_its_jitter_until_it_succeeds():
    rng = np.random.default_rng(0)
    B = rng.standard_normal((20, 3))
    for A in (np.eye(5), B @ B.T, np.zeros((4, 4)), np.ones((6, 6))):
        L = cholesky_factor(A)
        assert np.isfinite(L).all()
        assert np.abs(np.triu(L, 1)).max() == 0
        assert np.abs(L @ L.T - A).max() <= 1e-10 * max(1.0, np.abs(A).max())


def test_the_cholesky_factor_of_what_is_not_finite_is_not_a_number():
    """And is found at once: no jitter helps."""
    for bad in (np.nan, np.inf):
        assert np.isnan(cholesky_factor(np.array([[1.0, bad], [bad, 1.0]]))).any()


@pytest.mark.parametrize("size", [1.0, 1e20])
def test_an_interior_point_that_overflows_ends_at_the_best_point_it_has_seen(size):
    B, t, c = np.random.default_rng(0).standard_normal((12, 3)) * size, np.ones(12), np.full(12, 1e150)
    through_origin = solve_interior_point_hinge(B, t, c)
    with_intercept = solve_one_norm_margin(np.eye(3), B, t, c, 1.0, np.where(B[:, 0] > 0, 1.0, -1.0))
    for found, coef in ((through_origin, through_origin.w), (with_intercept, with_intercept.alpha)):
        assert found.status is not Status.OPTIMAL
        assert np.isfinite(coef).all()
