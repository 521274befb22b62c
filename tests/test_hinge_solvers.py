"""The solvers of the hinge and squared hinge losses on explicit features: optimality, agreement, extremes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC

from reference import relative_error
from slimsvm.losses import Hinge, SquaredHinge
from slimsvm.methods.empirical import active_set, interior_point
from slimsvm.methods.empirical.active_set import solve_active_set
from slimsvm.methods.empirical.hinge import LARGEST_C, best_intercept
from slimsvm.methods.empirical.hinge_solvers import HINGE_SOLVERS, solve_hinge
from slimsvm.methods.empirical.interior_point import solve_interior_point
from slimsvm.methods.empirical.newton import solve_newton
from slimsvm.methods.empirical.pairs import solve_pairs
from slimsvm.problem import FeatureGram, Problem, Status

CASES = {
    "wide": dict(n=40, m=60),
    "tall": dict(n=200, m=5),
    "square": dict(n=80, m=80),
    "weighted": dict(n=120, m=10, weighted=True),
    "uneven features": dict(n=120, m=10, uneven=True),
    "separable": dict(n=80, m=10, noise=0.0),
}


def problem(
    loss=None, n=120, m=10, C=3.0, weighted=False, uneven=False, noise=0.7, fit_intercept=True, k=1, seed=0
):
    rng = np.random.default_rng(seed)
    H = rng.standard_normal((n, m))
    if uneven:
        H *= 10.0 ** np.linspace(-2, 2, m)
    y = np.where(
        H @ rng.standard_normal((m, k)) + 0.4 + noise * np.sqrt(m) * rng.standard_normal((n, k)) > 0,
        1.0,
        -1.0,
    )
    weight = rng.uniform(0.1, 5.0, n) if weighted else np.ones(n)
    return Problem(FeatureGram(H), y, loss or Hinge(), C * weight, fit_intercept)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("solver", HINGE_SOLVERS)
def test_hinge_optimality(solver, case):
    if solver == "cd" and case == "uneven features":
        return  # where it crawls, and the others are for
    p = problem(C=0.3 if solver == "cd" else 30.0, **CASES[case])
    solution = HINGE_SOLVERS[solver](p, tol=1e-6)
    assert solution.status is Status.OPTIMAL
    assert solution.residual <= 1e-6
    assert p.optimality(solution.alpha, solution.intercept).max() <= 1.01e-6


@pytest.mark.parametrize("solver", ["interior_point", "cd"])
def test_hinge_without_intercept(solver):
    p = problem(fit_intercept=False, C=0.3)
    solution = HINGE_SOLVERS[solver](p, tol=1e-7)
    assert solution.intercept.tolist() == [0.0]
    assert p.optimality(solution.alpha, solution.intercept).max() <= 1.01e-7


@pytest.mark.parametrize("solver", ["active_set", "smo"])
def test_pairs_and_the_active_set_need_an_intercept(solver):
    with pytest.raises(ValueError, match="needs a free intercept"):
        HINGE_SOLVERS[solver](problem(fit_intercept=False), tol=1e-6)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_squared_hinge_optimality(case, fit_intercept):
    p = problem(SquaredHinge(), C=30.0, fit_intercept=fit_intercept, **CASES[case])
    solution = solve_newton(p, tol=1e-9)
    assert solution.status is Status.OPTIMAL
    assert p.optimality(solution.alpha, solution.intercept).max() <= 1.01e-9
    assert solution.n_iter <= 30


@pytest.mark.parametrize("case", CASES)
def test_hinge_equals_scikit_learn_on_the_same_inner_products(case):
    p = problem(C=2.0, **CASES[case])
    H, y = p.gram.H, p.y[:, 0]
    solution = solve_hinge(p, tol=1e-9)
    machine = SVC(kernel="precomputed", C=1.0, tol=1e-8).fit(H @ H.T, y, sample_weight=p.C)
    theirs = np.zeros(len(y))
    theirs[machine.support_] = machine.dual_coef_[0]
    ours = p.objective(solution.alpha, solution.intercept)[0]
    other = p.objective(theirs[:, None], machine.intercept_)[0]
    assert ours <= other * (1 + 1e-9)  # the optimum is not above theirs
    assert relative_error(H @ (H.T @ solution.alpha[:, 0]), H @ (H.T @ theirs)) < 1e-2


@pytest.mark.parametrize("case", CASES)
def test_squared_hinge_equals_a_hard_margin_with_a_ridge(case):
    p = problem(SquaredHinge(), C=2.0, **CASES[case])
    H, y = p.gram.H, p.y[:, 0]
    solution = solve_newton(p, tol=1e-12)
    machine = SVC(kernel="precomputed", C=1e10, tol=1e-6).fit(H @ H.T + np.diag(1 / p.C), y)
    assert relative_error(
        H @ (H.T @ solution.alpha[:, 0]), machine.decision_function(H @ H.T) - machine.intercept_
    ) < 1e-2  # fmt: skip


@pytest.mark.parametrize("C", [1e-6, 1e-3, 1.0, 1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("noise", [0.0, 2.0])
def test_the_interior_point_solves_at_any_C(C, noise):
    p = problem(C=C, n=150, m=8, noise=noise, uneven=True)
    solution = solve_interior_point(p, tol=1e-6)
    assert np.isfinite(solution.alpha).all()
    assert solution.n_iter <= 100
    assert solution.residual <= 1e-6
    largest = C * np.mean(np.sum(p.gram.H**2, axis=1))
    assert solution.status is (Status.OPTIMAL if largest <= LARGEST_C else Status.C_TOO_LARGE)


def test_the_interior_point_takes_many_rows_in_blocks(monkeypatch):
    p = problem(C=10.0, n=150, m=8, k=2, noise=2.0)
    whole = solve_interior_point(p, tol=1e-8)
    monkeypatch.setattr(interior_point, "BLOCK_BYTES", 8 * 8 * 40)
    blocks = solve_interior_point(p, tol=1e-8)
    assert blocks.residual <= 1e-8
    np.testing.assert_allclose(p.gram.H.T @ blocks.alpha, p.gram.H.T @ whole.alpha, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6, 1e12])
def test_auto_and_newton_end_at_any_C(C):
    for loss, solve in ((Hinge(), solve_hinge), (SquaredHinge(), solve_newton)):
        solution = solve(problem(loss, C=C, n=150, m=8, noise=2.0), tol=1e-6)
        assert np.isfinite(solution.alpha).all()
        assert solution.residual <= 1e-6


@pytest.mark.parametrize("C", [1e-6, 1e-3, 1.0, 1e3, 1e5])
@pytest.mark.parametrize("case", CASES)
def test_the_active_set_and_the_interior_point_agree_at_any_C(case, C):
    p = problem(C=C, **CASES[case])
    ours, other = (solve(p, tol=1e-7) for solve in (solve_active_set, solve_interior_point))
    assert ours.residual <= 1e-7
    assert p.objective(ours.alpha, ours.intercept) <= p.objective(other.alpha, other.intercept) * (1 + 1e-7)


def test_the_active_set_bears_rows_that_depend_on_each_other():
    p = problem(C=1e4, n=60, m=3, noise=2.0)
    H = np.round(np.vstack([p.gram.H, p.gram.H, np.zeros((4, 3)), np.ones((6, 3))]))
    y = np.vstack([p.y, -p.y, np.ones((2, 1)), -np.ones((3, 1)), np.ones((5, 1))])
    q = Problem(FeatureGram(H), y, Hinge(), np.full(len(y), 1e4))
    solution = solve_active_set(q, tol=1e-6)
    assert solution.status is Status.OPTIMAL
    assert q.optimality(solution.alpha, solution.intercept).max() <= 1.01e-6


def test_where_the_active_set_gives_up_the_interior_point_goes_on(monkeypatch):
    p = problem(C=1e7, noise=2.0)  # too steep for pairs to start with
    monkeypatch.setattr(active_set, "TRIAL_WORK", 0.0)
    monkeypatch.setattr(active_set, "TRIAL_WORK_ON_FEW_ROWS", 0.0)
    assert solve_active_set(p, tol=1e-6, on_trial=True).status is Status.STALLED
    assert solve_active_set(p, tol=1e-6).status is Status.OPTIMAL
    solution = solve_hinge(p, tol=1e-6)
    assert solution.residual <= 1e-6
    assert solution.n_iter == solve_interior_point(p, tol=1e-6).n_iter


def test_outputs_are_solved_side_by_side():
    together = problem(k=3, n=90, m=6)
    for solve in (solve_active_set, solve_interior_point, solve_pairs, solve_hinge):
        solution = solve(together, tol=1e-8)
        for k in range(3):
            alone = Problem(together.gram, together.y[:, k : k + 1], Hinge(), together.C)
            one = solve(alone, tol=1e-8)
            assert relative_error(one.alpha[:, 0], solution.alpha[:, k]) < 1e-6


@pytest.mark.parametrize("solver", [*HINGE_SOLVERS, "newton"])
def test_a_warm_start_is_no_slower_and_ends_at_the_same_point(solver):
    loss = SquaredHinge() if solver == "newton" else Hinge()
    solve = solve_newton if solver == "newton" else HINGE_SOLVERS[solver]
    near, p = problem(loss, C=0.2, n=200, m=10), problem(loss, C=0.25, n=200, m=10)
    cold = solve(p, tol=1e-8)
    warm = solve(p, tol=1e-8, start=solve(near, tol=1e-8))
    assert warm.status is Status.OPTIMAL
    assert warm.n_iter <= cold.n_iter + 2
    H = p.gram.H
    assert relative_error(H @ (H.T @ warm.alpha), H @ (H.T @ cold.alpha)) < 1e-3


def test_a_small_limit_ends_with_advice():
    for solver, limit in (("active_set", 2), ("interior_point", 2), ("smo", 1), ("cd", 1)):
        solution = HINGE_SOLVERS[solver](problem(C=1000.0, uneven=True), tol=1e-9, max_iter=limit)
        assert solution.status is not Status.OPTIMAL
        assert solution.residual > 1e-9
        with pytest.warns(match="raise max_iter|raise tol"):
            solution.warn_if_unfinished("Machine")


@given(st.integers(0, 2**32 - 1), st.integers(2, 30))
def test_the_best_intercept(seed, n):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    y[:2] = [-1.0, 1.0]
    f, C = rng.standard_normal(n) * 3, rng.uniform(0.1, 2.0, n)

    def loss(b):
        return float(C @ np.maximum(0.0, 1.0 - y * (f + b)))

    b = best_intercept(y, f, C)
    assert loss(b) <= min(loss(turn) for turn in y - f) * (1 + 1e-9) + 1e-9


def test_what_the_core_says_of_a_box_holds_where_it_ends():
    from slimsvm import _core

    for seed in range(
        100
    ):  # rows of very different length: a short one moves the gradient of a long one by much
        rng = np.random.default_rng(seed)
        n, m = rng.integers(2, 24), rng.integers(1, 12)
        A = rng.standard_normal((n, m)) * 10 ** rng.uniform(-3, 1, (n, 1))
        target, upper = rng.standard_normal(n), np.full(n, 10 ** rng.uniform(0, 4))
        x, _, epochs, violation = _core.box_cd(
            A, target, np.zeros(n), np.zeros(n), upper, np.zeros(n), 1e-3, 3000, seed
        )
        gradient = A @ (A.T @ x) - target
        left = np.where(
            x <= 0, np.minimum(gradient, 0), np.where(x >= upper, np.maximum(gradient, 0), gradient)
        )
        assert epochs == 3000 or np.abs(left).max() <= 1e-3 * (1 + 1e-6)
        assert epochs == 3000 or violation == pytest.approx(np.abs(left).max(), rel=1e-6, abs=1e-12)


def test_the_core_keeps_to_the_box():
    from slimsvm import _core

    rng = np.random.default_rng(0)
    A, target = rng.standard_normal((50, 7)), rng.standard_normal(50)
    lower, upper = -rng.random(50), rng.random(50)
    x, w, _, violation = _core.box_cd(A, target, np.zeros(50), lower, upper, np.zeros(50), 1e-10, 100_000, 0)
    assert violation <= 1e-10
    assert (x >= lower).all()
    assert (x <= upper).all()
    np.testing.assert_allclose(w, A.T @ x, atol=1e-12)
    gradient = A @ w - target
    assert (
        np.abs(
            np.where(
                x <= lower, np.minimum(gradient, 0), np.where(x >= upper, np.maximum(gradient, 0), gradient)
            )
        ).max()
        < 1e-8
    )
    G = A @ A.T
    x, gradient, _, violation = _core.pair_cd(G, target, lower, upper, np.zeros(50), 1e-10, 1_000_000)
    assert violation <= 1e-10
    assert abs(x.sum()) < 1e-12
    np.testing.assert_allclose(gradient, G @ x - target, atol=1e-9)
    assert (-gradient[x < upper]).max() - (-gradient[x > lower]).min() <= 1e-9
    start = np.zeros(50)
    start[:2] = np.array([0.5, -0.5]) * min(upper[0], -lower[1])
    for free in (np.empty(0, dtype=np.int64), np.array([0, 1])):
        part = G[np.ix_(free, free)]
        factor = np.ascontiguousarray(np.linalg.cholesky(part).T) if len(free) else part
        x, level, looks, violation = _core.active_set(
            G, target, lower, upper, start, free, factor, 20, 1e-10, 1000, np.inf
        )
        assert violation <= 1e-10
        assert 1 < looks < 1000
        assert abs(x.sum()) < 1e-12
        assert (x >= lower).all()
        assert (x <= upper).all()
        slope = G @ x - target + level
        assert slope[x < upper].min() >= -1e-9
        assert slope[x > lower].max() <= 1e-9
        stopped = _core.active_set(G, target, lower, upper, start, free, factor, 20, 1e-10, 2, np.inf)
        assert stopped[2] == 2
    none = np.empty(0, dtype=np.int64), np.empty((0, 0))
    for wrong, message in (
        ((G[:, :3].copy(), target, lower, upper, start, *none, 20), "square"),
        ((G, target[:3], lower, upper, start, *none, 20), "one entry for each row"),
        ((G, target, lower, upper, start, np.array([0]), none[1], 20), "a row and a column"),
        ((G, target, lower, upper, start, np.array([50]), np.eye(1), 20), "numbers of rows"),
        ((G, target, lower, upper, start, *none, 1), "at least 2"),
    ):
        with pytest.raises(ValueError, match=message):
            _core.active_set(*wrong, 1e-3, 10, np.inf)
    for name in ("box_cd", "pair_cd"):
        matrix = A if name == "box_cd" else G
        extra = (np.zeros(50),) if name == "box_cd" else ()
        tail = (10, 0) if name == "box_cd" else (10,)
        with pytest.raises(ValueError, match="one entry for each row"):
            getattr(_core, name)(matrix, target[:3], *extra, lower, upper, np.zeros(50), 1e-3, *tail)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pairs_that_fill_their_room_at_once_stay_within_their_bounds(dtype):
    """One of the two was a last digit beyond, in a fifth of these problems."""
    from slimsvm import _core

    for seed in range(100):
        rng = np.random.default_rng(seed)
        Z = rng.standard_normal((4, 2))
        lower = -rng.random(4).astype(dtype)
        upper = lower + dtype(1)
        start = np.clip((lower + upper) / 2, lower, upper)
        target = (20 * rng.standard_normal(4)).astype(dtype)
        found = _core.pair_cd(
            np.ascontiguousarray((Z @ Z.T).astype(dtype)), target, lower, upper, start, 1e-6, 100
        )[0]
        assert (found >= lower).all()
        assert (found <= upper).all()
