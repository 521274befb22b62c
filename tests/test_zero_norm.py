"""The zero-norm and one-norm machines: their inner problems, their laws and the published figures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog, minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

import slimsvm
from profiles import scikit_checks
from reference import hinge_gap
from slimsvm import LPSVC, SparsityControlledSVC, ZeroNormSelector, ZeroNormSVC, ZeroNormSVR, _core
from slimsvm.datasets import load_split, make_banana, make_ripley
from slimsvm.kernels import RBF
from slimsvm.methods.zero_norm.rounds import mixed_round, quadratic_round
from slimsvm.problem import Status
from slimsvm.solvers.hinge_no_bias import solve_hinge_through_origin, solve_interior_point_hinge
from slimsvm.solvers.linear_program import solve_infinity_norm, solve_one_norm
from slimsvm.solvers.one_norm_margin import solve_one_norm_margin
from slimsvm.solvers.reweighted import reweighted

GAP = 1e-6
CLASSIFIERS = [
    ZeroNormSVC(gamma=2.0),
    ZeroNormSVC(gamma=2.0, variant="linear"),
    ZeroNormSVC(gamma=2.0, variant="multiplicative"),
    ZeroNormSVC(gamma=2.0, margin=0.5),
    ZeroNormSVC(gamma=2.0, solver="smo", tol=1e-2),
    ZeroNormSVC(gamma=2.0, floor=1e-4),
    ZeroNormSVC(gamma=2.0, p=1.0),
    ZeroNormSVC(gamma=2.0, p=1.0, margin=0.5),
    LPSVC(gamma=2.0),
    SparsityControlledSVC(gamma=2.0),
    slimsvm.SparseProbitClassifier(gamma=2.0),
    slimsvm.RVC(gamma=2.0),
]


def name_of(model):
    return repr(model).replace("gamma=2.0", "").replace(" ", "")


KERNELS = ["rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed", RBF(0.5)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@scikit_checks(
    [
        *(ZeroNormSVC(kernel=kernel) for kernel in KERNELS),
        *(ZeroNormSVR(kernel=kernel) for kernel in KERNELS),
        ZeroNormSVC(variant="linear", kernel="poly"),
        ZeroNormSVC(variant="multiplicative", kernel="precomputed"),
        ZeroNormSVC(margin=0.5),
        ZeroNormSVC(solver="smo", floor=1e-4),
        ZeroNormSVR(solver="smo"),
        *(LPSVC(kernel=kernel) for kernel in KERNELS),
        *(SparsityControlledSVC(kernel=kernel) for kernel in KERNELS),
        slimsvm.SparseKernelDensity(),
        ZeroNormSelector(),
        ZeroNormSelector(kernel="rbf"),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)


def ripley(n=120, seed=0):
    return make_ripley(n, random_state=seed)


def gram(X, Z, gamma=2.0):
    return np.exp(-gamma * ((X[:, None] - Z[None]) ** 2).sum(axis=2))


def hinge_problem(n, m, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, m))
    y = np.where(A[:, 0] + rng.standard_normal(n) > 0, 1.0, -1.0)
    return y[:, None] * A


# --- inner problems


@pytest.mark.parametrize("shape", [(60, 8), (40, 70)])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3, 1e8])
def test_hinge_solution_is_certified_by_its_dual(shape, C):
    B = hinge_problem(*shape)
    t, c = np.ones(len(B)), np.full(len(B), C)
    solution = solve_hinge_through_origin(B, t, c, tol=GAP)
    assert solution.status is Status.OPTIMAL
    assert (solution.beta >= 0).all()
    assert (solution.beta <= c).all()
    w = B.T @ solution.beta
    np.testing.assert_allclose(solution.w, w, atol=1e-6 * np.abs(w).max() + 1e-12)
    primal = 0.5 * w @ w + c @ np.maximum(t - B @ w, 0)
    assert primal - (t @ solution.beta - 0.5 * w @ w) <= 2 * GAP * primal


@pytest.mark.parametrize("shape", [(1, 1), (40, 5), (60, 33), (150, 400)])
@pytest.mark.parametrize("C", [1e-2, 1.0, 100.0])
def test_hinge_on_chosen_columns_is_certified_and_agrees_with_the_interior_point(shape, C):
    rng = np.random.default_rng(0)
    B = hinge_problem(*shape)
    sign, t = rng.choice([-1.0, 1.0], len(B)), rng.uniform(0.5, 1.5, len(B))
    columns = rng.permutation(shape[1] + 1)[: 1 + shape[1] // 2]  # perhaps the column of ones
    scale, c = 10.0 ** rng.uniform(-3, 1, len(columns)), C * rng.uniform(0.5, 2, len(B))
    Z = sign[:, None] * np.column_stack([B, np.ones(len(B))])[:, columns] * scale
    solution = solve_hinge_through_origin(B, t, c, sign=sign, columns=columns, scale=scale)
    assert hinge_gap(Z, t, c, solution.beta) <= 1.01 * GAP
    np.testing.assert_allclose(solution.w, solution.beta @ Z, atol=1e-9 * np.abs(solution.w).max() + 1e-15)
    other = solve_interior_point_hinge(Z, t, c, tol=1e-9)
    np.testing.assert_allclose(Z @ solution.w, Z @ other.w, atol=2e-3)
    # the start changes the way, not the end
    again = solve_hinge_through_origin(
        B, t, c, sign=sign, columns=columns, scale=scale, start=rng.uniform(0, 2, len(B)) * c
    )
    assert hinge_gap(Z, t, c, again.beta) <= 1.01 * GAP


def test_hinge_on_a_smooth_kernel_with_equal_rows():
    X, y = make_banana(300, random_state=0)
    X, y = np.vstack([X, X[:20]]), np.concatenate([y, -y[:20]])
    K = gram(X, X, 0.05)  # of rank about 20
    for C in (0.1, 1.0, 30.0):
        c = np.full(len(y), C)
        solution = solve_hinge_through_origin(K, np.ones(len(y)), c, sign=y.astype(float))
        assert hinge_gap(y[:, None] * K, np.ones(len(y)), c, solution.beta) <= 1.01 * GAP


def test_hinge_without_use_of_any_column():
    nothing = solve_hinge_through_origin(np.zeros((5, 3)), np.ones(5), np.full(5, 2.0))
    np.testing.assert_array_equal(nothing.w, 0.0)
    assert solve_hinge_through_origin(
        np.ones((5, 3)), np.ones(5), np.ones(5), columns=np.arange(0)
    ).w.shape == (0,)


def test_compiled_hinge_names_what_does_not_fit():
    B, one = np.ones((4, 2)), np.ones(4)
    columns, scale = np.arange(2), np.ones(2)
    with pytest.raises(ValueError, match="sign, target, upper and start"):
        _core.scaled_hinge(B, one[:3], columns, scale, one, one, one, 1e-6, 10)
    with pytest.raises(ValueError, match="scale must have one entry"):
        _core.scaled_hinge(B, one, columns, scale[:1], one, one, one, 1e-6, 10)
    with pytest.raises(ValueError, match="columns must be numbers"):
        _core.scaled_hinge(B, one, columns + 2, scale, one, one, one, 1e-6, 10)


def test_hinge_agrees_with_liblinear():
    B = hinge_problem(80, 5)
    ours = solve_hinge_through_origin(B, np.ones(80), np.full(80, 0.5)).w
    y = np.where(np.arange(80) % 2, 1.0, -1.0)
    theirs = LinearSVC(C=0.5, loss="hinge", fit_intercept=False, tol=1e-9, max_iter=1_000_000)
    theirs.fit(y[:, None] * B, y)
    np.testing.assert_allclose(ours, theirs.coef_[0], atol=1e-3)


@pytest.mark.parametrize("with_intercept", [False, True])
@pytest.mark.parametrize("C", [0.05, 1.0, 100.0])
def test_one_norm_agrees_with_the_whole_program(with_intercept, C):
    X, y = ripley(150)
    B = y[:, None] * gram(X, X)  # more columns than one program takes at once
    n, m = B.shape
    t, c, penalty = np.ones(n), np.full(n, C), np.linspace(0.5, 2, m)
    free = y.astype(float) if with_intercept else None
    solution = solve_one_norm(B, t, c, penalty, free=free)
    assert solution.gap <= GAP
    q = np.zeros((n, 1)) if free is None else free[:, None]
    whole = linprog(
        np.concatenate([penalty, penalty, c, [0.0]]),
        A_ub=np.hstack([-B, B, -np.eye(n), -q]),
        b_ub=-t,
        bounds=[(0, None)] * (2 * m + n) + [(None, None)],
    )
    slack = t - B @ solution.alpha - solution.intercept * q[:, 0]
    value = penalty @ np.abs(solution.alpha) + c @ np.maximum(slack, 0)
    assert value == pytest.approx(whole.fun, rel=1e-6)


def test_infinity_norm_bounds_the_coefficients_alike():
    B = hinge_problem(30, 6)
    t, c = np.ones(30), np.full(30, 2.0)
    solution = solve_infinity_norm(B, t, c)
    assert solution.gap <= GAP

    def value(a):
        return np.abs(a).max() + c @ np.maximum(t - B @ a, 0)

    best = value(solution.alpha)
    rng = np.random.default_rng(0)
    for _ in range(200):
        assert value(solution.alpha + 0.1 * rng.standard_normal(6)) >= best - 1e-9


def test_one_norm_and_margin_meets_its_limits():
    X, y = ripley(100)
    K, labels = gram(X, X), y.astype(float)
    B, t, c = labels[:, None] * K, np.ones(100), np.ones(100)
    nearly_svc = solve_one_norm_margin(K, B, t, c, 1e-8, labels)
    svc = SVC(C=1.0, gamma=2.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        K @ nearly_svc.alpha + nearly_svc.intercept, svc.decision_function(X), atol=2e-3
    )
    nearly_lp = solve_one_norm_margin(1e-10 * K, B, t, c, 1.0, labels)
    lp = solve_one_norm(B, t, c, np.ones(100), free=labels)
    np.testing.assert_allclose(nearly_lp.alpha, lp.alpha, atol=1e-3)


def test_p_norms_agree_with_the_convex_problems_they_are():
    X, y = ripley(80)
    B = y[:, None] * np.column_stack([np.ones(80), gram(X, X)])
    t, c = np.ones(80), np.full(80, 2.0)

    def loss(a):
        return c @ np.maximum(t - B @ a, 0)

    two = reweighted(81, quadratic_round(B, t, c, p=2.0), tol=1e-8).coef
    np.testing.assert_allclose(two, solve_hinge_through_origin(B, t, c).w, atol=1e-6)
    one = reweighted(81, quadratic_round(B, t, c, p=1.0), tol=1e-6, max_iter=300).coef
    lp = solve_one_norm(B, t, c, np.ones(81)).alpha
    assert np.abs(one).sum() + loss(one) == pytest.approx(np.abs(lp).sum() + loss(lp), rel=1e-3)


def test_mixed_round_minimises_the_mixed_objective():
    X, y = ripley(40)
    K = np.zeros((41, 41))
    K[1:, 1:] = gram(X, X)
    B = y[:, None] * np.column_stack([np.ones(40), K[1:, 1:]])
    t, c = np.ones(40), np.full(40, 1.0)
    previous = np.random.default_rng(0).uniform(0.1, 1, 41)
    alpha, gap = mixed_round(B, t, c, K, 0.7)(np.arange(41), previous)
    assert gap <= GAP

    def value(a):
        return 0.35 * a @ K @ a + 0.5 * (a**2 / previous**2).sum() + c @ np.maximum(t - B @ a, 0)

    other = minimize(value, alpha, method="Powell", options={"maxiter": 5})
    assert value(alpha) <= other.fun * (1 + 1e-5)


def test_columns_that_die_stay_dead():
    X, y = ripley(100)
    model = ZeroNormSVC(gamma=2.0).fit(X, y)
    assert (np.diff(model.n_columns_) <= 0).all()
    assert model.n_columns_[0] == 101
    assert model.n_columns_[-1] <= 8


# --- published figures


@pytest.mark.published
def test_ripley_keeps_four_vectors():
    X, X_test, y, y_test = load_split("ripley")
    gamma = 1 / (2 * 0.5**2)  # sigma = 0.5
    svc = SVC(C=1.0, gamma=gamma).fit(X, y).score(X_test, y_test)
    linear = ZeroNormSVC(C=1.0, gamma=gamma, variant="linear").fit(X, y)
    multiplicative = ZeroNormSVC(C=1.0, gamma=gamma, variant="multiplicative").fit(X, y)
    for model in (ZeroNormSVC(C=1.0, gamma=gamma).fit(X, y), linear):
        assert 3 <= model.n_vectors_ <= 5
        assert model.score(X_test, y_test) >= svc - 0.01
    np.testing.assert_array_equal(linear.support_, multiplicative.support_)
    np.testing.assert_allclose(
        linear.decision_function(X_test), multiplicative.decision_function(X_test), atol=1e-5
    )


# --- laws of all classifiers


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name_of)
def test_classifier_laws(model):
    X, y = ripley()
    names = np.where(y > 0, "up", "down")
    f = model.fit(X, names).decision_function(X)
    assert model.score(X, names) > 0.8
    assert model.n_vectors_ == len(model.dual_coef_[0]) == len(model.support_)
    np.testing.assert_array_equal(X[model.support_], model.support_vectors_)

    # the order of the rows does not matter
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(model.fit(X[order], names[order]).decision_function(X), f)

    # a row twice is a row of weight 2; weight zero is absence
    twice = model.fit(np.vstack([X, X[:30]]), np.concatenate([names, names[:30]])).decision_function(X)
    weight = np.ones(len(X))
    weight[:30] = 2.0
    np.testing.assert_allclose(
        model.set_params(gamma=2.0).fit(X, names, sample_weight=weight).decision_function(X), twice, atol=1e-6
    )
    weight[:30] = 0.0
    np.testing.assert_array_equal(
        model.fit(X, names, sample_weight=weight).decision_function(X),
        model.fit(X[30:], names[30:]).decision_function(X),
    )

    # CSR and float32
    np.testing.assert_allclose(model.fit(sparse.csr_array(X), names).decision_function(X), f, atol=1e-3)
    single = model.fit(X.astype(np.float32), names)
    assert single.decision_function(X.astype(np.float32)).dtype == np.float32
    assert single.support_vectors_.dtype == np.float32

    # several classes share the vectors
    three = np.where(X[:, 0] > 0.3, "right", names)
    model.fit(X, three)
    assert model.dual_coef_.shape == (3, model.n_vectors_)
    assert model.score(X, three) > 0.7

    with pytest.raises(ValueError, match="one class"):
        model.fit(X, np.ones(len(X)))


@pytest.mark.parametrize("model", CLASSIFIERS[:10], ids=name_of)
def test_flipping_the_labels_flips_the_outputs(model):
    X, y = ripley(80)
    f = model.fit(X, y).decision_function(X)
    np.testing.assert_allclose(model.fit(X, -y).decision_function(X), -f, atol=1e-4)


@pytest.mark.parametrize("variant", ["quadratic", "linear", "multiplicative"])
def test_no_vector_left_is_the_constant_of_the_heavier_class(variant):
    X, y = ripley(60)
    y[:5] = 1
    with pytest.warns(ConvergenceWarning, match="every coefficient went to zero"):
        model = ZeroNormSVC(C=1e-6, variant=variant).fit(X, y)
    assert model.n_vectors_ == 0
    assert (model.predict(X) == (1 if y.sum() > 0 else -1)).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", CLASSIFIERS[:10], ids=name_of)
@pytest.mark.parametrize("C", [1e-9, 1e9])
def test_extreme_C_gives_a_usable_model(model, C):
    X, y = make_banana(60, noise=0.8, random_state=0)
    X = np.vstack([X, X[:5]])
    y = np.concatenate([y, -y[:5]])  # equal rows of both classes
    old = model.C
    try:
        f = model.set_params(C=C).fit(X, y).decision_function(X)
    finally:
        model.set_params(C=old)
    assert np.isfinite(f).all()
    assert np.isfinite(model.dual_coef_).all()


def test_combinations_that_have_no_meaning_are_refused():
    X, y = ripley(20)
    with pytest.raises(ValueError, match="p and margin need variant='quadratic'"):
        ZeroNormSVC(variant="linear", p=1.5).fit(X, y)
    with pytest.raises(ValueError, match="margin must be 0 for p=inf"):
        ZeroNormSVC(p=np.inf, margin=1.0).fit(X, y)
    with pytest.raises(ValueError, match="margin needs a positive definite kernel"):
        ZeroNormSVC(kernel="sigmoid", gamma=5.0, coef0=-2.0, margin=10.0).fit(X, y)
    with pytest.raises(ValueError, match="'p' parameter"):
        ZeroNormSVC(p=3.0).fit(X, y)


def test_infinity_norm_machine_uses_all_rows_alike():
    X, y = ripley(40)
    model = ZeroNormSVC(gamma=2.0, p=np.inf).fit(X, y)
    assert model.score(X, y) > 0.8
    at_the_bound = np.isclose(np.abs(model.dual_coef_), np.abs(model.dual_coef_).max())
    assert at_the_bound.mean() > 0.5


# --- regression


@pytest.mark.parametrize("variant", ["quadratic", "linear"])
def test_regression_laws(variant):
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0, 6, (80, 1)), axis=0)
    y = np.sin(X[:, 0]) + 0.05 * rng.standard_normal(80)
    model = ZeroNormSVR(C=50.0, epsilon=0.1, gamma=0.5, variant=variant)
    f = model.fit(X, y).predict(X)
    assert model.n_vectors_ <= 8
    assert np.abs(f - np.sin(X[:, 0])).max() < 0.2
    np.testing.assert_allclose(model.fit(X, y + 1000.0).predict(X), f + 1000.0, atol=1e-5)
    np.testing.assert_allclose(model.fit(X, -y).predict(X), -f, atol=1e-5)
    weight = np.where(np.arange(80) < 20, 2.0, 1.0)
    twice = model.fit(np.vstack([X, X[:20]]), np.concatenate([y, y[:20]])).predict(X)
    np.testing.assert_allclose(model.fit(X, y, sample_weight=weight).predict(X), twice, atol=1e-6)


# --- features


def test_selector_finds_the_features_that_matter():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 12))
    y = np.where(X[:, 2] - 2 * X[:, 5] > 0, "a", "b")
    for variant in ("quadratic", "linear"):
        selector = ZeroNormSelector(variant=variant).fit(X, y)
        np.testing.assert_array_equal(selector.get_support(indices=True), [2, 5])
        assert selector.transform(X).shape == (150, 2)
    exclusive_or = X[:, 1] * X[:, 4] > 0
    chosen = ZeroNormSelector(kernel="rbf", C=10.0).fit(X, exclusive_or).get_support(indices=True)
    assert {1, 4} <= set(chosen.tolist())
    assert len(chosen) <= 6


def test_selector_keeps_one_feature_when_none_is_worth_it():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4))
    with pytest.warns(ConvergenceWarning, match="only the strongest is kept"):
        selector = ZeroNormSelector(C=1e-7).fit(X, X[:, 3] > 0)
    np.testing.assert_array_equal(selector.get_support(indices=True), [3])
