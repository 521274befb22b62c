"""The simplex method of the one-norm machine: optimality conditions, degenerate corners, and who takes over."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slimsvm import _core
from slimsvm.problem import Status
from slimsvm.solvers import linear_program
from slimsvm.solvers.linear_program import _by_programs, solve_one_norm


def kernel_problem(n, gamma, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, 2)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    K = np.exp(-gamma * np.sum((X[:, None] - X) ** 2, axis=2))
    return y[:, None] * K, y


def check_optimal(B, t, c, free):
    """Stationarity, complementarity and feasibility, each on its own."""
    n, m = B.shape
    none = np.empty(0, dtype=np.int64)
    alpha, intercept, beta, steps, optimal, *_ = _core.one_norm(
        B, t, c, free, none, none, min(n, m + 1), 100 * (n + m)
    )
    assert optimal
    assert steps <= 100 * (n + m)
    reach = B.T @ beta
    sizes = np.abs(B).T @ beta + 1
    assert np.all(np.abs(reach) <= 1 + 1e-8 * sizes)
    used = alpha != 0
    np.testing.assert_allclose(reach[used], np.sign(alpha[used]), atol=1e-8 * sizes.max())
    assert np.all((beta >= 0) & (beta <= c))
    slack = t - B @ alpha - (0 if free is None else intercept * free)
    error = 1e-7 * (np.abs(t).max() + np.abs(B) @ np.abs(alpha) + abs(intercept))
    assert np.all(beta[slack > error] == c[slack > error])
    assert np.all(beta[slack < -error] == 0)
    if free is not None:
        assert abs(free @ beta) <= 1e-8 * (1 + np.abs(free) @ beta)


@pytest.mark.parametrize("with_intercept", [False, True])
@pytest.mark.parametrize("C", [0.01, 1.0, 1e3])
@pytest.mark.parametrize("gamma", [0.1, 5.0])
def test_the_optimality_conditions(gamma, C, with_intercept):
    B, y = kernel_problem(120, gamma)
    weights = np.random.default_rng(1).uniform(0.5, 2, len(y))
    check_optimal(B, np.ones(len(y)), C * weights, y if with_intercept else None)


@given(st.integers(1, 12), st.integers(1, 8), st.booleans(), st.integers(0, 2**32 - 1))
def test_corners_where_many_things_meet(n, m, with_intercept, seed):
    """Small whole numbers: equal and opposite rows and columns, columns of zeros, targets of both signs."""
    rng = np.random.default_rng(seed)
    B, t = rng.integers(-2, 3, (n, m)).astype(float), rng.integers(-2, 3, n).astype(float)
    c = rng.integers(1, 4, n).astype(float)
    free = rng.choice([-1.0, 1.0], n) if with_intercept else None
    ours = solve_one_norm(B, t, c, np.ones(m), free=free)
    theirs = _by_programs(B, t, c, free, 1e-9, None)

    def value(solution):
        slack = t - B @ solution.alpha - (0 if free is None else solution.intercept * free)
        return np.abs(solution.alpha).sum() + c @ np.maximum(slack, 0)

    assert value(ours) == pytest.approx(value(theirs), rel=1e-6, abs=1e-6)


def test_equal_rows_do_not_hold_the_search():
    """Every slack of a class is zero at the first corner, and every row stands there four times."""
    B, y = kernel_problem(40, 1.0)
    check_optimal(np.tile(B, (4, 1)), np.ones(160), np.ones(160), np.tile(y, 4))


def test_highs_takes_over_where_the_search_stops(monkeypatch):
    B, y = kernel_problem(60, 1.0)
    problem = B, np.ones(60), np.ones(60), np.ones(60)
    whole = solve_one_norm(*problem, free=y)
    monkeypatch.setattr(linear_program, "MOST_ACTIVE", 2)
    other = solve_one_norm(*problem, free=y)
    assert np.count_nonzero(whole.alpha) > 2
    assert other.status is Status.OPTIMAL
    np.testing.assert_allclose(other.alpha, whole.alpha, atol=1e-6)


def test_the_limit_of_the_steps_is_kept_and_said():
    B, y = kernel_problem(60, 1.0)
    solution = solve_one_norm(B, np.ones(60), np.ones(60), np.ones(60), free=y, max_iter=3)
    assert solution.status is Status.ITERATION_LIMIT
    assert solution.n_iter == 3
    assert solution.gap > 1e-6


def test_penalties_are_units_of_the_coefficients():
    B, y = kernel_problem(50, 1.0)
    penalty = np.linspace(0.5, 2, 50)
    ours = solve_one_norm(B, np.ones(50), np.ones(50), penalty, free=y).alpha
    scaled = solve_one_norm(B / penalty, np.ones(50), np.ones(50), np.ones(50), free=y).alpha
    np.testing.assert_allclose(ours, scaled / penalty, atol=1e-12)


def test_a_search_in_stretches_ends_where_one_does():
    B, y = kernel_problem(100, 2.0)
    ones, none = np.ones(100), np.empty(0, dtype=np.int64)
    whole = _core.one_norm(B, ones, ones, y, none, none, 100, 10_000)
    corner, steps, optimal = (none, none), 0, False
    while not optimal:
        alpha, intercept, beta, taken, optimal, *corner = _core.one_norm(B, ones, ones, y, *corner, 100, 7)
        steps += taken
    assert steps > 20
    np.testing.assert_allclose(alpha, whole[0], atol=1e-9)
    assert intercept == pytest.approx(whole[1], abs=1e-9)
    np.testing.assert_allclose(beta, whole[2], atol=1e-7)


def test_wrong_shapes_are_refused():
    one, none = np.ones(3), np.empty(0, dtype=np.int64)
    with pytest.raises(ValueError, match="one entry for each row"):
        _core.one_norm(np.ones((4, 2)), one, one, None, none, none, 2, 10)
    with pytest.raises(ValueError, match="one entry for each row"):
        _core.one_norm(np.ones((3, 2)), one, one, np.ones(2), none, none, 2, 10)
    with pytest.raises(ValueError, match="most must be at least 1"):
        _core.one_norm(np.ones((3, 2)), one, one, None, none, none, 0, 10)
    with pytest.raises(ValueError, match="same length"):
        _core.one_norm(np.ones((3, 2)), one, one, None, none, np.zeros(1, int), 2, 10)
    with pytest.raises(ValueError, match="numbers of columns"):
        _core.one_norm(np.ones((3, 2)), one, one, None, np.full(1, 2), np.zeros(1, int), 2, 10)
