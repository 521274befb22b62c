"""The zero-norm machines as the paper runs them (its SMO, its epsilon), and their p-norms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from slimsvm import LPSVC, ZeroNormSVC, ZeroNormSVR
from slimsvm.datasets import make_ripley
from slimsvm.methods.zero_norm.rounds import mixed_round, quadratic_round
from slimsvm.methods.zero_norm.smo import TOLERANCE, solve_hinge_by_smo
from slimsvm.problem import Status
from slimsvm.solvers.hinge_no_bias import solve_hinge_through_origin
from slimsvm.solvers.one_norm_margin import solve_one_norm_margin
from slimsvm.solvers.reweighted import reweighted

GAMMA = 2.0


def ripley(n=150, seed=0):
    return make_ripley(n, random_state=seed)


def columns_of(X, y):  # (n, n + 1)
    """A constant and the kernel columns, times the label."""
    K = np.exp(-GAMMA * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    return y[:, None] * np.column_stack([np.ones(len(X)), K])


def coefficients(model, n):
    alpha = np.zeros(n + 1)
    alpha[0] = model.intercept_[0]
    alpha[1 + model.support_] = model.dual_coef_[0]
    return alpha


def hinge(B, alpha, C):
    return C * np.maximum(1 - B @ alpha, 0).sum()


# --- the modified SMO


@pytest.mark.parametrize("shape", [(60, 8), (40, 70)])
@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("tau", [1e-3, 1e-6])
def test_smo_ends_at_the_optimality_conditions(shape, C, tau):
    rng = np.random.default_rng(0)
    B = rng.standard_normal(shape)
    sign, t, c = (
        rng.choice([-1.0, 1.0], shape[0]),
        rng.uniform(0.5, 1.0, shape[0]),
        C * rng.uniform(0.5, 2, shape[0]),
    )
    t[0] = 1.0  # the largest: tau is relative to it
    columns = rng.permutation(shape[1] + 1)[: 1 + shape[1] // 2]
    scale = rng.uniform(0.1, 1, len(columns))
    Z = sign[:, None] * np.column_stack([B, np.ones(len(B))])[:, columns] * scale
    options = {"sign": sign, "columns": columns, "scale": scale}
    solution = solve_hinge_by_smo(B, t, c, **options, tol=tau, max_iter=1_000_000)
    assert solution.status is Status.OPTIMAL
    beta, gradient = solution.beta, Z @ (Z.T @ solution.beta) - t
    assert ((beta >= 0) & (beta <= c)).all()
    assert (gradient[beta < c] >= -tau - 1e-9).all()
    assert (gradient[beta > 0] <= tau + 1e-9).all()
    np.testing.assert_allclose(solution.w, Z.T @ beta, atol=1e-12)
    # what broken conditions can cost is what the duality gap says
    assert 0 <= solution.gap * (0.5 * solution.w @ solution.w + c @ np.maximum(-gradient, 0)) <= tau * c.sum()
    best = solve_hinge_through_origin(B, t, c, **options, tol=1e-9)
    np.testing.assert_allclose(
        Z @ solution.w, Z @ best.w, atol=3 * np.sqrt(2 * tau * c.sum()) * np.abs(Z).max()
    )


def test_smo_moves_the_coefficient_that_gains_most():
    B = np.random.default_rng(0).standard_normal((30, 4))
    t, c = np.ones(30), np.full(30, 0.02)
    one = solve_hinge_by_smo(B, t, c, max_iter=1)
    first = int(
        np.argmin((B**2).sum(axis=1))
    )  # every gradient is -1: the least curvature gains most, eq. (13)
    assert one.status is Status.ITERATION_LIMIT
    assert np.flatnonzero(one.beta).tolist() == [first]
    assert one.beta[first] == pytest.approx(min(1 / (B[first] @ B[first]), 0.02))

    def value(beta):
        return 0.5 * ((B.T @ beta) ** 2).sum() - beta.sum()

    falling = [value(solve_hinge_by_smo(B, t, c, max_iter=steps).beta) for steps in range(12)]
    assert (np.diff(falling) < 0).all()


def test_smo_on_rows_of_zeros_and_from_any_start():
    B = np.vstack([np.zeros((2, 3)), np.eye(3)])
    t, c = np.array([1.0, -1.0, 1.0, 1.0, -2.0]), np.full(5, 10.0)
    for start in (None, np.full(5, 99.0), np.full(5, -1.0)):
        solution = solve_hinge_by_smo(B, t, c, start=start, tol=1e-9)
        np.testing.assert_allclose(solution.beta, [10.0, 0.0, 1.0, 1.0, 0.0], atol=1e-8)


def test_smo_refuses_a_matrix_that_does_not_fit(monkeypatch):
    monkeypatch.setattr("slimsvm.methods.zero_norm.smo.DENSE_LIMIT_BYTES", 1000)
    with pytest.raises(MemoryError, match="use solver='auto'"):
        ZeroNormSVC(solver="smo").fit(*ripley(30))


@pytest.mark.parametrize("mixed", [False, True])
def test_a_round_by_smo_is_as_good_as_its_tolerance_says(mixed):
    X, y = ripley(80)
    B = columns_of(X, y)
    K = np.zeros((81, 81))
    K[1:, 1:] = y[:, None] * B[:, 1:]
    t, c, margin = np.ones(80), np.full(80, 0.5), 0.5 if mixed else 0.0
    previous = np.random.default_rng(0).uniform(0.1, 1, 81)

    def value(a):
        return 0.5 * (a**2 / previous**2).sum() + 0.5 * margin * a @ K @ a + hinge(B, a, 0.5)

    make = (
        (lambda **o: mixed_round(B, t, c, K, margin, **o))
        if mixed
        else (lambda **o: quadratic_round(B, t, c, **o))
    )
    smo, exact = (make(by_smo=by_smo)(np.arange(81), previous)[0] for by_smo in (True, False))
    assert -1e-5 * value(exact) <= value(smo) - value(exact) <= TOLERANCE * c.sum()
    assert value(smo) != value(exact)


def test_smo_and_the_exact_rounds_end_alike():
    X, y = ripley(250)
    exact, smo = ZeroNormSVC(gamma=GAMMA).fit(X, y), ZeroNormSVC(gamma=GAMMA, solver="smo").fit(X, y)
    np.testing.assert_array_equal(smo.support_, exact.support_)
    np.testing.assert_allclose(smo.decision_function(X), exact.decision_function(X), atol=0.02)


def test_smo_fits_a_curve():
    x = np.linspace(0, 6, 60)[:, None]
    y = 100 * np.sin(x[:, 0])  # its tolerance is relative to the targets
    exact, smo = (ZeroNormSVR(C=0.5, gamma=0.5, epsilon=5.0, solver=s).fit(x, y) for s in ("auto", "smo"))
    np.testing.assert_array_equal(smo.support_, exact.support_)
    np.testing.assert_allclose(smo.predict(x), exact.predict(x), atol=0.1)
    assert np.abs(smo.predict(x) - y).max() < 30


def test_smo_that_runs_out_of_steps_keeps_the_round_before():
    x = np.linspace(0, 6, 60)[:, None]
    y = 100 * np.sin(x[:, 0])
    with pytest.warns(ConvergenceWarning) as caught:  # C is far too large for 9,999 steps
        model = ZeroNormSVR(C=100.0, gamma=0.5, epsilon=0.05, solver="smo").fit(x, y)
    assert any("for want of steps" in str(warning.message) for warning in caught)
    assert np.abs(model.predict(x)).max() < 1000


# --- the paper's epsilon


@pytest.mark.parametrize("variant", ["quadratic", "linear"])
def test_with_a_floor_the_same_coefficients_are_large(variant):
    X, y = ripley(200)
    leaving = ZeroNormSVC(gamma=GAMMA, variant=variant, tol=1e-6).fit(X, y)
    floored = ZeroNormSVC(gamma=GAMMA, variant=variant, tol=1e-6, floor=1e-5).fit(X, y)
    np.testing.assert_array_equal(floored.support_, leaving.support_)
    np.testing.assert_allclose(floored.dual_coef_, leaving.dual_coef_, rtol=1e-3)
    assert np.abs(floored.dual_coef_).min() > 1e-5
    assert floored.n_columns_[-1] == floored.n_vectors_ + (floored.intercept_[0] != 0)


def test_a_floor_lets_a_column_come_back():
    previous = np.array([1.0, 1e-9])
    seen = []

    def solve(columns, a):
        seen.append(a.copy())
        return previous if len(seen) == 1 else np.array([-1.0, 0.5]), 0.0

    result = reweighted(2, solve, floor=0.01, max_iter=3)
    np.testing.assert_array_equal(seen[1], [1.0, 0.01])
    np.testing.assert_array_equal(seen[2], [-1.0, 0.5])
    np.testing.assert_array_equal(result.coef, [-1.0, 0.5])
    assert result.counts == (2, 1, 2, 2)


@pytest.mark.filterwarnings("ignore:ZeroNormSVC. every coefficient")
def test_a_floor_that_is_too_high_is_said():
    X, y = ripley(400)
    with pytest.warns(ConvergenceWarning, match="lower floor"):
        ZeroNormSVC(gamma=GAMMA, floor=0.3).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="every coefficient went to zero"):
        ZeroNormSVC(gamma=GAMMA, floor=1e-3, C=1e-5).fit(X, y)


def test_options_that_have_no_meaning_together_are_refused():
    X, y = ripley(20)
    for wrong in ({"variant": "linear"}, {"variant": "multiplicative"}, {"p": np.inf}):
        with pytest.raises(ValueError, match="solver='smo' solves quadratic rounds"):
            ZeroNormSVC(solver="smo", **wrong).fit(X, y)
    for wrong in ({"variant": "multiplicative"}, {"p": np.inf}):
        with pytest.raises(ValueError, match="floor has no meaning"):
            ZeroNormSVC(floor=1e-3, **wrong).fit(X, y)
    for wrong in ({"variant": "linear", "p": 1.5}, {"variant": "multiplicative", "p": 0.5}):
        with pytest.raises(ValueError, match="p and margin need"):
            ZeroNormSVC(**wrong).fit(X, y)
    with pytest.raises(ValueError, match="'floor' parameter"):
        ZeroNormSVC(floor=0.0).fit(X, y)
    with pytest.raises(ValueError, match="margin needs a positive definite kernel"):
        ZeroNormSVC(kernel="sigmoid", gamma=5.0, coef0=-2.0, margin=10.0, p=1.0).fit(X, y)


# --- p-norms


@pytest.mark.parametrize("variant", ["quadratic", "linear"])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_one_norm_is_the_optimum_of_its_linear_program(variant, C):
    X, y = ripley()
    B = columns_of(X, y)
    n, m = B.shape
    model = ZeroNormSVC(C=C, gamma=GAMMA, p=1.0, variant=variant).fit(X, y)
    alpha = coefficients(model, n)
    whole = linprog(
        np.concatenate([np.ones(2 * m), np.full(n, C)]), A_ub=np.hstack([-B, B, -np.eye(n)]), b_ub=-np.ones(n)
    )
    assert np.abs(alpha).sum() + hinge(B, alpha, C) == pytest.approx(whole.fun, rel=1e-6)
    # LPSVC is the same but for the intercept, which costs nothing there
    free = LPSVC(C=C, gamma=GAMMA).fit(X, y)
    cheaper = np.abs(free.dual_coef_).sum() + hinge(B, coefficients(free, n), C)
    assert cheaper <= whole.fun * (1 + 1e-6)
    assert model.n_vectors_ <= free.n_vectors_ + 5


def test_one_norm_regression_is_the_optimum_of_its_linear_program():
    x = np.linspace(0, 6, 50)[:, None]
    y = np.sin(x[:, 0])
    model = ZeroNormSVR(C=2.0, epsilon=0.05, gamma=0.5, p=1.0).fit(x, y)
    middle = np.median(y)
    A = np.column_stack([np.ones(50), np.exp(-0.5 * (x - x.T) ** 2)])
    B, t = np.vstack([A, -A]), np.concatenate([y - middle, middle - y]) - 0.05
    whole = linprog(
        np.concatenate([np.ones(102), np.full(100, 2.0)]), A_ub=np.hstack([-B, B, -np.eye(100)]), b_ub=-t
    )
    penalty = np.abs(model.dual_coef_).sum() + abs(float(np.ravel(model.intercept_)[0]) - middle)
    loss = 2.0 * np.maximum(np.abs(y - model.predict(x)) - 0.05, 0).sum()
    assert penalty + loss == pytest.approx(whole.fun, rel=1e-6)


def test_one_norm_with_margin_is_no_worse_than_the_rounds_and_smaller():
    X, y = ripley(100)
    B = columns_of(X, y)
    K = np.zeros((101, 101))
    K[1:, 1:] = y[:, None] * B[:, 1:]

    def value(a):
        return 0.25 * a @ K @ a + np.abs(a).sum() + hinge(B, a, 1.0)

    exact = ZeroNormSVC(gamma=GAMMA, p=1.0, margin=0.5).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="still changed"):
        by_rounds = ZeroNormSVC(gamma=GAMMA, p=1.0, margin=0.5, solver="smo").fit(X, y)
    assert exact.n_vectors_ < 0.5 * by_rounds.n_vectors_
    found, rounds = value(coefficients(exact, 100)), value(coefficients(by_rounds, 100))
    assert rounds * (1 - 0.01) <= found <= rounds
    # the certificate of the solver: without an intercept beside the columns, its gap bounds the error
    solution = solve_one_norm_margin(0.5 * K, B, np.ones(100), np.ones(100), 1.0, np.zeros(100))
    assert solution.gap <= 1e-6
    assert found == pytest.approx(value(solution.alpha), rel=1e-9)


@pytest.mark.parametrize("p", [0.25, 0.5, 0.75, 0.9])
@pytest.mark.parametrize("variant", ["quadratic", "linear"])
def test_between_zero_and_one_what_should_vanish_does(p, variant):
    X, y = ripley()
    B = columns_of(X, y)
    model = ZeroNormSVC(gamma=GAMMA, p=p, variant=variant, max_iter=300).fit(X, y)
    alpha = coefficients(model, len(X))
    left = np.flatnonzero(alpha)
    assert model.n_vectors_ <= 9
    # another round changes nothing: the slope of |a|^p / p is met by that of the loss along every coefficient left
    again, _ = quadratic_round(B, np.ones(len(X)), np.ones(len(X)), p)(left, alpha[left])
    np.testing.assert_allclose(again, alpha[left], rtol=0.05)


def test_below_one_rounds_of_linear_programs_are_few():
    X, y = ripley()
    assert ZeroNormSVC(gamma=GAMMA, p=0.95, variant="linear").fit(X, y).n_iter_ <= 6
    with pytest.warns(ConvergenceWarning, match="still changed"):
        slow = ZeroNormSVC(gamma=GAMMA, p=0.95, max_iter=20).fit(X, y)
    assert slow.n_iter_ == 20


@pytest.mark.parametrize("p", [1.2, 1.5, 1.8])
def test_between_one_and_two_the_rounds_reach_the_minimum(p):
    X, y = ripley(60)
    B = columns_of(X, y)

    def value(a):
        return (np.abs(a) ** p).sum() / p + hinge(B, a, 1.0)

    alpha = coefficients(ZeroNormSVC(gamma=GAMMA, p=p, tol=1e-5, max_iter=200).fit(X, y), 60)
    # convex, so a point is the minimum if the dual point that its slopes suggest has the same value:
    # max t'beta - sum |B'beta|^q / q, with 1/p + 1/q = 1
    slope = np.sign(alpha) * np.abs(alpha) ** (p - 1)
    beta = solve_hinge_through_origin(
        B, np.ones(60), np.ones(60), scale=np.abs(alpha) ** (1 - p / 2), tol=1e-10
    ).beta
    # (what is below a millionth of the largest has left)
    np.testing.assert_allclose((B.T @ beta)[alpha != 0], slope[alpha != 0], atol=2e-3)
    assert (np.abs((B.T @ beta)[alpha == 0]) ** (1 / (p - 1)) <= 2e-6 * np.abs(alpha).max()).all()
    q = p / (p - 1)
    dual = beta.sum() - (np.abs(B.T @ beta) ** q).sum() / q
    assert dual <= value(alpha) * (1 + 1e-9)
    assert value(alpha) - dual <= 1e-4 * value(alpha)


def test_at_the_end_the_slope_of_the_loss_is_one_over_the_coefficient():
    X, y = ripley(200)
    B = columns_of(X, y)
    alpha = coefficients(ZeroNormSVC(gamma=GAMMA, tol=1e-8).fit(X, y), 200)
    left = np.flatnonzero(alpha)
    loss = hinge(B, alpha, 1.0)
    # a local minimum of the loss plus the sum of log|a|, along the coefficients themselves (the loss has a kink there):
    # no stationary point of the number, at which the loss would not fall whatever is done to them
    step, number = 1e-6, len(left)
    assert (hinge(B, (1 - step) * alpha, 1.0) - loss) / step >= number * (1 - 1e-3)
    assert (hinge(B, (1 + step) * alpha, 1.0) - loss) / step >= -number * (1 + 1e-3)
    refitted = linprog(
        np.concatenate([np.zeros(len(left)), np.ones(200)]),
        A_ub=np.hstack([-B[:, left], -np.eye(200)]),
        b_ub=-np.ones(200),
        bounds=[(None, None)] * len(left) + [(0, None)] * 200,
    )
    assert refitted.fun < loss * (1 - 1e-3)
