"""Laws of kernel matching pursuit and sparse greedy Gaussian processes."""

import numpy as np
import pytest
from scipy import sparse

from profiles import scikit_checks
from slimsvm import (
    LSSVR,
    MatchingPursuitSVC,
    MatchingPursuitSVR,
    SparseGreedyGPC,
    SparseGreedyGPR,
)
from slimsvm.datasets import make_banana
from slimsvm.kernels import RBF
from slimsvm.methods.pursuit.search import Pursuit, PursuitRule
from slimsvm.problem import KernelGram

KERNELS = ["rbf", "linear", "poly", "sigmoid", "laplacian"]


def problem(n=40, k=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    gram = KernelGram(RBF(1.0), X)
    return gram, np.asarray(gram.dense), rng.normal(size=(n, k)), rng.uniform(0.5, 2.0, n)


def machine(K, Y, weight, P, penalty, in_space):
    """Coefficients, intercept and objective from one system with the intercept as a variable."""
    P = list(P)
    A = np.column_stack([K[:, P], np.ones(len(Y))])
    S = np.zeros((len(P) + 1, len(P) + 1))
    S[:-1, :-1] = K[np.ix_(P, P)] if in_space else np.eye(len(P))
    B = A.T @ (weight[:, None] * A) + penalty * S
    beta = np.linalg.solve(B, A.T @ (weight[:, None] * Y))
    r = Y - A @ beta
    value = 0.5 * weight @ (r**2).sum(axis=1) + 0.5 * penalty * np.einsum("ik,ij,jk->", beta, S, beta)
    return beta[:-1], beta[-1], value


CASES = [(0.0, False), (0.3, False), (0.3, True)]


@pytest.mark.parametrize(("penalty", "in_space"), CASES)
@pytest.mark.parametrize("n_candidates", [None, 40])
def test_prefitting_is_best_by_exhaustion(penalty, in_space, n_candidates):
    gram, K, Y, weight = problem()
    search = Pursuit(
        gram, Y, weight, PursuitRule(penalty, in_space, True, n_candidates), np.random.default_rng(0)
    )
    for _ in range(8):
        before = list(search.chosen)
        values = {
            i: machine(K, Y, weight, [*before, i], penalty, in_space)[2] for i in set(range(40)) - set(before)
        }
        assert search.step()
        assert values[search.chosen[-1]] == pytest.approx(min(values.values()), rel=1e-9)


@pytest.mark.parametrize(("penalty", "in_space"), CASES)
@pytest.mark.parametrize("n_candidates", [None, 40])
@pytest.mark.parametrize("limit", [2**31, 0])
def test_backfitting_takes_the_best_single_coefficient(penalty, in_space, n_candidates, limit):
    gram, K, Y, weight = problem()
    gram = KernelGram(gram.kernel, gram.X, 1, limit)  # the matrix held, and not
    search = Pursuit(
        gram, Y, weight, PursuitRule(penalty, in_space, False, n_candidates), np.random.default_rng(0)
    )
    centred = K - weight @ K / weight.sum()
    for _ in range(8):
        P = list(search.chosen)
        coef = machine(K, Y, weight, P, penalty, in_space)[0] if P else np.zeros((0, 2))
        r = Y - K[:, P] @ coef
        r = r - weight @ r / weight.sum()
        gradient = centred.T @ (weight[:, None] * r)
        if in_space:
            gradient -= penalty * K[:, P] @ coef
        curvature = weight @ centred**2 + penalty
        falls = (gradient**2).sum(axis=1) / curvature
        falls[P] = -1
        assert search.step()
        assert falls[search.chosen[-1]] == pytest.approx(falls.max(), rel=1e-9)


@pytest.mark.parametrize(("penalty", "in_space"), CASES)
def test_updates_equal_a_fresh_solve_at_every_size(penalty, in_space):
    gram, K, Y, weight = problem(n=150)
    search = Pursuit(gram, Y, weight, PursuitRule(penalty, in_space, False, 20), np.random.default_rng(0))
    for _ in range(40):
        search.step()
    paths = search.path_outputs(K[search.chosen])
    for m in (0, 1, 7, 40):
        if m:
            coef, b, _ = machine(K, Y, weight, search.chosen[:m], penalty, in_space)
            np.testing.assert_allclose(paths[m], K[:, search.chosen[:m]] @ coef + b, atol=1e-6)
        else:
            np.testing.assert_allclose(paths[0], np.tile(weight @ Y / weight.sum(), (150, 1)))
    np.testing.assert_allclose(search.residual, Y - paths[40], atol=1e-8)
    if penalty:
        np.testing.assert_allclose(search.coefficients(), coef, atol=1e-7)


@pytest.mark.parametrize("n_candidates", [None, 30])
def test_process_on_all_rows_is_the_full_machine_and_the_bound_closes(n_candidates):
    X, _ = make_banana(80, random_state=0)
    y = np.sin(X[:, 0]) + X[:, 1]
    full = LSSVR(C=2.0, gamma=3.0).fit(X, y)
    model = SparseGreedyGPR(
        max_vectors=80, C=2.0, gamma=3.0, tol=0.0, n_candidates=n_candidates, random_state=0
    )
    model.fit(X, y)
    np.testing.assert_allclose(model.predict(X), full.predict(X), atol=1e-6)
    assert model.gap_ < 1e-9


def test_bound_holds():
    X, _ = make_banana(150, random_state=0)
    y = np.sin(X[:, 0]) + X[:, 1]
    C, K = 5.0, RBF(1.0)(X, X)

    def objective(f, model):
        alpha = model.dual_coef_[0]
        own = K[np.ix_(model.support_, model.support_)]
        return 0.5 * alpha @ own @ alpha + 0.5 * C * ((y - f) ** 2).sum()

    full = LSSVR(C=C, gamma=1.0).fit(X, y)
    least = objective(full.predict(X), full)
    gaps = []
    for m in (3, 10, 30):
        model = SparseGreedyGPR(max_vectors=m, C=C, gamma=1.0, tol=0.0, random_state=0).fit(X, y)
        value = objective(model.predict(X), model)
        assert -1e-9 <= (value - least) / value <= model.gap_ + 1e-9
        gaps.append(model.gap_)
    assert gaps[2] < gaps[0]
    stopped = SparseGreedyGPR(max_vectors=150, C=C, gamma=1.0, tol=0.1, random_state=0).fit(X, y)
    assert stopped.gap_ <= 0.1
    assert stopped.n_vectors_ < 150


@pytest.mark.parametrize("C", [None, 10.0])
@pytest.mark.parametrize("fitting", ["backfitting", "prefitting"])
def test_matching_pursuit_is_optimal_on_its_vectors(C, fitting):
    X, y = make_banana(200, random_state=0)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 200)
    model = MatchingPursuitSVC(max_vectors=12, C=C, gamma=1.0, fitting=fitting).fit(X, y, weight)
    residual = np.where(y == model.classes_[1], 1.0, -1.0) - model.decision_function(X)
    gradient = RBF(1.0)(model.support_vectors_, X) @ (weight * residual)
    penalty = 0.0 if C is None else model.dual_coef_[0] / C
    assert np.abs(gradient - penalty).max() < 1e-7
    assert abs(weight @ residual) < 1e-7


def test_size_by_validation():
    t = np.linspace(0, 6, 200)
    y = np.sin(t) + np.random.default_rng(0).normal(0, 0.3, 200)
    model = MatchingPursuitSVR(max_vectors=60, gamma=1.0, validation_fraction=0.3, random_state=0).fit(
        t[:, None], y
    )
    assert model.n_vectors_ == model.validation_scores_.argmax() < 30
    X, c = make_banana(300, random_state=0)
    model = MatchingPursuitSVC(max_vectors=80, n_candidates=20, validation_fraction=0.3, random_state=0).fit(
        X, c
    )
    assert model.n_vectors_ == model.validation_scores_.argmax()


@pytest.mark.parametrize("kind", [MatchingPursuitSVC, SparseGreedyGPC])
def test_row_order_duplicates_label_flip_and_kinds_of_input(kind):
    X, y = make_banana(120, random_state=3)
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 4, 120)
    order = rng.permutation(np.repeat(np.arange(120), weight))
    model = kind(max_vectors=12, gamma=1.0, n_candidates=None, C=1.0)
    weighed = model.fit(X, y, weight).decision_function(X)
    K = RBF(1.0)(X, X)
    for other in (
        model.fit(X[order], y[order]).decision_function(X),
        -model.fit(X, -y, weight).decision_function(X),
        model.fit(sparse.csr_array(X), y, weight).decision_function(X),
        kind(max_vectors=12, n_candidates=None, C=1.0, kernel="precomputed")
        .fit(K, y, weight)
        .decision_function(K),
        kind(max_vectors=12, gamma=1.0, n_candidates=None, C=1.0, n_jobs=2)
        .fit(X, y, weight)
        .decision_function(X),
    ):
        np.testing.assert_allclose(weighed, other, atol=1e-7)
    assert model.fit(X.astype(np.float32), y).dual_coef_.dtype == np.float32


@pytest.mark.parametrize("kind", [MatchingPursuitSVR, SparseGreedyGPR])
def test_obvious_models_and_clear_errors(kind):
    X = np.arange(10.0)[:, None]
    constant = kind().fit(X, np.full(10, 3.0))
    assert constant.n_vectors_ == 0
    np.testing.assert_allclose(constant.predict(X), 3.0)
    np.testing.assert_allclose(kind().fit(X[:1], [5.0]).predict(X), 5.0)
    assert kind(max_vectors=10_000).fit(X, X[:, 0] ** 2).n_vectors_ <= 10
    for bad in ({"max_vectors": 0}, {"n_candidates": 0}, {"C": -1.0}, {"fitting": "x"}):
        with pytest.raises(ValueError, match=f"The '{next(iter(bad))}' parameter"):
            kind(**bad).fit(X, X[:, 0])


@scikit_checks(
    [kind(kernel=kernel) for kind in (MatchingPursuitSVC, SparseGreedyGPC) for kernel in KERNELS]
    + [kind(kernel=kernel) for kind in (MatchingPursuitSVR, SparseGreedyGPR) for kernel in KERNELS[:2]]
    + [
        MatchingPursuitSVC(max_vectors=10, n_candidates=10, fitting="prefitting", C=1.0),
        MatchingPursuitSVR(max_vectors=10, validation_fraction=0.3),
        SparseGreedyGPR(max_vectors=10, n_candidates=10, fitting="backfitting"),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)
