"""Laws of the greedy least-squares machines (Jiao, Bo and Wang)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from profiles import scikit_checks
from slimsvm import LSSVC, LSSVR, GreedyLSSVC, GreedyLSSVR, n_candidates_for
from slimsvm.datasets import make_banana, make_ringnorm
from slimsvm.kernels import RBF
from slimsvm.linalg import GrowingRows
from slimsvm.methods.greedy.columns import ColumnCache
from slimsvm.methods.greedy.inverse_factor import TRIANGLE_ROWS, times_triangle, triangle_times
from slimsvm.methods.greedy.search import FullSearch, GreedyRule, RandomSearch
from slimsvm.problem import KernelGram

KERNELS = ["rbf", "linear", "poly", "sigmoid", "laplacian"]


def bordered_solution(K, ridge, y):
    """b and alpha from the whole system of eq. (12)."""
    m = len(y)
    system = np.zeros((m + 1, m + 1))
    system[0, 1:] = system[1:, 0] = 1.0
    system[1:, 1:] = K + np.diag(ridge)
    solved = np.linalg.solve(system, np.concatenate([[0.0], y]))
    return solved[0], solved[1:]


def objective(K, ridge, y, alpha):
    return 0.5 * alpha @ (K + np.diag(ridge)) @ alpha - y @ alpha


def problem(n=60, seed=0, gamma=0.3):
    X, y = make_ringnorm(n, random_state=seed)
    y = np.where(y == y.max(), 1.0, -1.0)
    rng = np.random.default_rng(seed)
    gram = KernelGram(RBF(gamma), X)
    return gram, rng.uniform(0.05, 0.5, n), y, np.asarray(gram.dense)


def brute_force_step(K, ridge, y, chosen, prefitting):
    """The best next row by solving every subproblem."""
    b, alpha = bordered_solution(K[np.ix_(chosen, chosen)], ridge[chosen], y[chosen]) if chosen else (0, [])
    falls = np.full(len(y), -np.inf)
    for i in set(range(len(y))) - set(chosen):
        if prefitting and chosen:
            P = [*chosen, i]
            _, a = bordered_solution(K[np.ix_(P, P)], ridge[P], y[P])
            falls[i] = -objective(K[np.ix_(P, P)], ridge[P], y[P], a)
        else:
            error = K[i, chosen] @ alpha + b - y[i] if chosen else -y[i]
            falls[i] = error**2 / (2 * (K[i, i] + ridge[i]))
    return falls


@pytest.mark.parametrize("prefitting", [False, True])
@pytest.mark.parametrize("random", [False, True])
def test_each_step_is_the_best_by_exhaustion(prefitting, random):
    gram, ridge, y, K = problem()
    rule = GreedyRule(0.01, prefitting, n_candidates=60 if random else None)
    if random:  # with as many candidates as rows the random search is the full one
        search = RandomSearch(gram, ridge, y, rule, np.random.default_rng(0))
    else:
        search = FullSearch(ColumnCache(gram), ridge, y, rule)
    chosen = []
    for _ in range(25):
        falls = brute_force_step(K, ridge, y, chosen, prefitting)
        i = search.propose()
        assert falls[i] == pytest.approx(falls.max(), rel=1e-9)
        search.take()
        chosen.append(i)


@pytest.mark.parametrize("random", [False, True])
def test_updates_equal_a_fresh_solve_after_500_steps(random):
    gram, ridge, y, K = problem(700, gamma=0.02)
    rule = GreedyRule(0.0, n_candidates=50 if random else None, n_steps=500)
    if random:
        search = RandomSearch(gram, ridge, y, rule, np.random.default_rng(1))
    else:
        search = FullSearch(ColumnCache(gram), ridge, y, rule)
    while search.propose() is not None:
        search.take()
    sequence = search.sequence
    assert len(np.unique(sequence.chosen)) == 500
    for t in (1, 2, 250, 500):
        P = sequence.chosen[:t]
        b, alpha = bordered_solution(K[np.ix_(P, P)], ridge[P], y[P])
        value = objective(K[np.ix_(P, P)], ridge[P], y[P], alpha)
        assert sequence.objective()[t - 1] == pytest.approx(value, abs=1e-8)
    if random:
        np.testing.assert_allclose(search._factor.alpha, alpha, atol=1e-8)
    else:
        free = np.setdiff1d(np.arange(700), P)
        np.testing.assert_allclose(search.errors()[free], (K[:, P] @ alpha + b - y)[free], atol=1e-8)


@pytest.mark.parametrize("fitting", ["backfitting", "prefitting"])
@pytest.mark.parametrize("n_candidates", [None, 20])
def test_objective_falls_and_errors_are_within_epsilon(fitting, n_candidates):
    X, y = make_banana(300, random_state=0)
    model = GreedyLSSVC(C=5.0, max_error=0.4, fitting=fitting, n_candidates=n_candidates, random_state=0)
    model.fit(X, y)
    path = model.path_.objective[:, 0]
    assert (np.diff(path) <= 1e-12).all()
    if n_candidates is None:
        others = np.setdiff1d(np.arange(300), model.support_)
        errors = model.decision_function(X) - np.where(y == model.classes_[1], 1.0, -1.0)
        assert np.abs(errors[others]).max() <= 0.4 + 1e-9
    assert model.n_vectors_ < 300


@pytest.mark.parametrize("n_candidates", [None, 30])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_epsilon_zero_is_the_full_machine(C, n_candidates):
    X, y = make_banana(250, random_state=2)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 250)
    y = (y > 0).astype(int) + (X[:, 0] > 1.5)
    greedy = GreedyLSSVC(C=C, gamma=0.5, max_error=0.0, n_candidates=n_candidates).fit(X, y, weight)
    full = LSSVC(C=C, gamma=0.5).fit(X, y, weight)
    np.testing.assert_allclose(greedy.decision_function(X), full.decision_function(X), atol=1e-8)
    targets = np.column_stack([np.sin(X[:, 0]), X[:, 1] + 7.0])
    greedy = GreedyLSSVR(C=C, gamma=0.5, max_error=0.0, n_candidates=n_candidates).fit(X, targets, weight)
    np.testing.assert_allclose(
        greedy.predict(X), LSSVR(C=C, gamma=0.5).fit(X, targets, weight).predict(X), atol=1e-8
    )


def test_prefixes_are_the_machines_of_smaller_fits():
    X, y = make_banana(300, random_state=1)
    y = (y > 0).astype(int) + (X[:, 0] > 1.0)
    large = GreedyLSSVC(C=10.0, max_vectors=60).fit(X, y)
    for size in (0, 10, 31, 60):
        prefix = large.expansion_at(size)
        assert prefix.n_vectors <= size
        if size:
            steps = np.flatnonzero(large.path_.sizes <= size)[-1] + 1
            small = GreedyLSSVC(C=10.0, max_vectors=int(large.path_.sizes[steps - 1])).fit(X, y)
            if small.path_.sizes[-1] == large.path_.sizes[steps - 1] and small.n_iter_ == steps:
                np.testing.assert_allclose(prefix(X), small.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(large.expansion_at(60)(X), large.decision_function(X), atol=1e-9)
    with pytest.raises(ValueError, match="max_vectors must not be negative"):
        large.expansion_at(-1)


def test_limit_counts_different_vectors_of_all_outputs():
    X, y = make_banana(300, random_state=1)
    y = (y > 0).astype(int) + (X[:, 0] > 1.0)
    for limit in (1, 7, 40):
        model = GreedyLSSVC(C=10.0, max_error=0.01, max_vectors=limit).fit(X, y)
        assert model.path_.sizes[-1] <= limit
        assert model.n_vectors_ <= limit
    assert GreedyLSSVC(C=10.0, max_error=0.0, max_vectors=10_000).fit(X, y).n_vectors_ == 300


def test_row_order_duplicates_and_label_flip():
    X, y = make_banana(200, random_state=3)
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 4, 200)
    order = rng.permutation(np.repeat(np.arange(200), weight))
    for n_candidates in (None, 20):
        model = GreedyLSSVC(C=2.0, n_candidates=n_candidates, random_state=0)
        weighed = model.fit(X, y, weight).decision_function(X)
        repeated = model.fit(X[order], y[order]).decision_function(X)
        np.testing.assert_allclose(weighed, repeated, atol=1e-10)
    flipped = GreedyLSSVC(C=2.0).fit(X, -y).decision_function(X)
    np.testing.assert_allclose(flipped, -GreedyLSSVC(C=2.0).fit(X, y).decision_function(X), atol=1e-10)


def test_targets_shift_with_the_intercept():
    X = np.linspace(0, 6, 80)[:, None]
    y = np.sin(X[:, 0])
    first = GreedyLSSVR(C=10.0, gamma=1.0).fit(X, y)
    second = GreedyLSSVR(C=10.0, gamma=1.0).fit(X, y + 1000.0)
    assert (first.support_ == second.support_).all()
    np.testing.assert_allclose(first.predict(X) + 1000.0, second.predict(X), atol=1e-8)


def test_input_kinds_and_threads_agree():
    X, y = make_banana(150, random_state=0)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 150)  # no two rows tie in the first step
    K = RBF(0.7)(X, X)
    reference = GreedyLSSVC(C=3.0, gamma=0.7).fit(X, y, weight).decision_function(X)
    for other in (
        GreedyLSSVC(C=3.0, gamma=0.7).fit(sparse.csr_array(X), y, weight).decision_function(X),
        GreedyLSSVC(C=3.0, gamma=0.7, n_jobs=2).fit(X, y, weight).decision_function(X),
        GreedyLSSVC(C=3.0, kernel="precomputed").fit(K, y, weight).decision_function(K),
    ):
        np.testing.assert_allclose(other, reference, atol=1e-9)
    held = GreedyLSSVC(C=3.0, kernel="precomputed", validation_fraction=0.2).fit(K, y, weight)
    np.testing.assert_allclose(held.expansion_at(150)(K)[:, 0], held.decision_function(K), atol=1e-9)
    single = GreedyLSSVC(C=3.0, gamma=0.7, n_jobs=2, n_candidates=10, random_state=0).fit(X, y)
    double = GreedyLSSVC(C=3.0, gamma=0.7, n_candidates=10, random_state=0).fit(X, y)
    assert (single.support_ == double.support_).all()
    low = GreedyLSSVC(C=3.0, gamma=0.7).fit(X.astype(np.float32), y)
    assert low.dual_coef_.dtype == np.float32
    assert low.expansion_at(5).coef.dtype == np.float32


@pytest.mark.parametrize("n_candidates", [None, 40])
def test_size_by_validation(n_candidates):
    X, y = make_banana(600, random_state=0)
    model = GreedyLSSVC(
        C=100.0, max_error=0.05, validation_fraction=0.25, n_candidates=n_candidates, random_state=0
    ).fit(X, y)
    scores = model.validation_scores_
    assert model.n_iter_ == scores.argmax() < len(scores) - 1
    assert model.score(X, y) > LSSVC(C=100.0).fit(X, y).score(X, y) - 0.05
    t = np.linspace(0, 6, 200)
    noisy = np.sin(t) + np.random.default_rng(0).normal(0, 0.3, 200)
    regressor = GreedyLSSVR(C=100.0, gamma=1.0, max_error=0.05, validation_fraction=0.3, random_state=0)
    assert regressor.fit(t[:, None], noisy).n_iter_ < 60
    with pytest.raises(ValueError, match=r"validation_fraction=0\.01 holds out no row"):
        GreedyLSSVC(validation_fraction=0.01).fit(X[:20], y[:20])


def test_obvious_models_and_clear_errors():
    X = np.arange(10.0)[:, None]
    constant = GreedyLSSVR().fit(X, np.full(10, 3.0))
    assert constant.n_vectors_ == 0
    np.testing.assert_allclose(constant.predict(X), 3.0)
    np.testing.assert_allclose(GreedyLSSVR().fit(X[:1], [5.0]).predict(X), 5.0)
    y = np.array([0] * 7 + [1] * 3)
    nothing = GreedyLSSVC(max_error=2.0).fit(X, y)  # every label is within 2 of 0
    assert nothing.n_vectors_ == 0
    assert (nothing.predict(X) == 0).all()
    for bad in ({"max_error": -0.1}, {"max_vectors": 0}, {"n_candidates": 0}, {"fitting": "x"}, {"C": 0.0}):
        with pytest.raises(ValueError, match=f"The '{next(iter(bad))}' parameter"):
            GreedyLSSVC(**bad).fit(X, y)
    with pytest.raises(ValueError, match="one class"):
        GreedyLSSVC().fit(X[:1], y[:1])


def test_memory_has_a_limit_with_a_way_out():
    held = GrowingRows(1000, limit_bytes=8 * 1000 * 100)
    for _ in range(100):
        held.append(np.ones(1000))
    assert held.rows.shape == (100, 1000)
    with pytest.raises(MemoryError, match="set n_candidates"):
        held.append(np.ones(1000))


def test_columns_beyond_the_limit_are_computed_again():
    gram, _, _, K = problem()
    columns = ColumnCache(gram, limit_bytes=8 * 60 * 3)  # room for three
    for wanted in ([0, 1], [5, 6, 7, 8], [0, 8, 20]):
        np.testing.assert_allclose(columns(np.array(wanted), np.arange(60)), K[wanted], atol=1e-14)
    assert len(columns._kept) <= 3


@pytest.mark.parametrize("m", [0, 1, 255, 256, 257, 600])
def test_products_with_a_triangle_do_not_look_at_its_other_half(m):
    rng = np.random.default_rng(m)
    triangle, x = np.tril(rng.normal(size=(m, m))), rng.normal(size=m)
    L = triangle.copy()
    L[np.triu_indices(m, TRIANGLE_ROWS)] = np.nan  # right of the blocks on the diagonal
    np.testing.assert_allclose(triangle_times(L, x), triangle @ x, atol=1e-12)
    np.testing.assert_allclose(times_triangle(x, L), x @ triangle, atol=1e-12)


def test_dependent_rows_are_passed_over():
    X = np.random.default_rng(0).normal(size=(60, 2))  # the linear kernel has rank 2
    y = np.where(X[:, 0] + 0.1 * X[:, 1] ** 2 > 0, 1, 0)
    model = GreedyLSSVC(C=1e14, kernel="linear", max_error=0.0).fit(X, y)
    full = LSSVC(C=1e6, kernel="linear").fit(X, y)
    assert model.n_vectors_ < 60
    assert model.score(X, y) > full.score(X, y) - 0.2


@settings(max_examples=25, deadline=None)
@given(st.floats(0.01, 0.99), st.floats(0.001, 0.5))
def test_number_of_candidates_keeps_its_promise(confidence, best):
    n = n_candidates_for(confidence, best)
    assert 1 - (1 - best) ** n >= confidence - 1e-12
    assert n == 1 or 1 - (1 - best) ** (n - 1) < confidence + 1e-12


def test_number_of_candidates_refuses_what_is_no_probability():
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
        n_candidates_for(confidence=1.0)


@scikit_checks(
    [GreedyLSSVC(kernel=kernel) for kernel in KERNELS]
    + [GreedyLSSVR(kernel=kernel) for kernel in KERNELS]
    + [GreedyLSSVC(n_candidates=10, fitting="prefitting"), GreedyLSSVR(n_candidates=10, max_vectors=20)]
)
def test_estimator_checks(estimator, check):
    check(estimator)
