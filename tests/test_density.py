"""The sparse kernel density: its weights, its vectors, its bandwidth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.cluster import KMeans
from sklearn.neighbors import KernelDensity

import slimsvm
from profiles import HARD, hard
from slimsvm import SparseKernelDensity
from slimsvm.adapters.slim import slim
from slimsvm.kernels import RBF
from slimsvm.methods.density.bandwidth import full_bandwidth
from slimsvm.methods.density.exchange import at_rest, exchanged, keep_at_most, settled
from slimsvm.methods.density.mixture import solve_mixture
from slimsvm.methods.density.mixture_support import mixture_support, sparse_mixture
from slimsvm.problem import KernelGram
from slimsvm.readout import DensityReadout


def mixture_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [3.0, 1.0], [-2.0, 3.0]])
    kind = rng.integers(3, size=n)
    return centres[kind] + np.array([1.0, 0.5, 0.8])[kind, None] * rng.standard_normal((n, 2))


def test_mixture_weights_meet_the_optimality_conditions():
    X = mixture_rows(100)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    ridge = np.linspace(0, 5, 100)
    alpha, gap = solve_mixture(K, np.ones(100), ridge, tol=1e-8)
    assert gap <= 1e-8
    assert alpha.sum() == pytest.approx(1.0)
    gradient = 2 * ridge * alpha - K.T @ (1 / (K @ alpha))
    level = gradient @ alpha
    np.testing.assert_allclose(gradient[alpha > 1e-4], level, rtol=1e-3)
    assert (gradient >= level - 1e-3 * abs(level)).all()


def test_density_is_near_the_full_estimate_with_few_vectors():
    X, new = mixture_rows(1000), mixture_rows(3000, seed=1)
    model = SparseKernelDensity(random_state=0).fit(X)
    assert model.n_vectors_ <= 100
    # with the same bandwidth, and with the one that is best for the full estimate
    for bandwidth in (model.bandwidth_, full_bandwidth(X, np.ones(1000))):
        full = KernelDensity(bandwidth=bandwidth).fit(X)
        assert model.score(new) / 3000 > full.score(new) / 3000 - 0.05


def test_density_integrates_to_one():
    X, new = mixture_rows(300), mixture_rows(300, seed=1)
    model = SparseKernelDensity().fit(X)
    assert model.weights_.sum() == pytest.approx(1.0)
    assert (model.weights_ > 0).all()
    side = np.linspace(-8, 9, 200)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    area = (side[1] - side[0]) ** 2
    assert np.exp(model.score_samples(grid)).sum() * area == pytest.approx(1.0, abs=1e-3)
    np.testing.assert_allclose(model.expansion_(new)[:, 0], np.exp(model.score_samples(new)), rtol=1e-6)
    drawn = model.sample(20_000, random_state=0)
    np.testing.assert_allclose(drawn.mean(axis=0), model.weights_ @ model.support_vectors_, atol=0.1)


def test_density_laws():
    X = mixture_rows(120)
    model = SparseKernelDensity(bandwidth=0.6)
    scores = model.fit(X).score_samples(X)
    order = np.random.default_rng(0).permutation(120)
    np.testing.assert_array_equal(model.fit(X[order]).score_samples(X), scores)
    weight = np.where(np.arange(120) < 40, 2.0, 1.0)
    twice = model.fit(np.vstack([X, X[:40]])).score_samples(X)
    np.testing.assert_allclose(model.fit(X, sample_weight=weight).score_samples(X), twice, atol=1e-8)
    np.testing.assert_allclose(model.fit(X + 1000.0).score_samples(X + 1000.0), scores, atol=1e-6)
    assert model.fit(np.array([[0.0, 0.0]])).n_vectors_ == 1
    far = SparseKernelDensity(bandwidth=0.1).fit(np.array([[0.0], [100.0], [100.1]]))
    assert np.isfinite(far.score_samples([[0.0], [50.0]])).all()
    with pytest.raises(ValueError, match="bandwidth='cv' needs at least two distinct rows"):
        SparseKernelDensity().fit(np.ones((5, 2)))
    with pytest.raises(ValueError, match="bandwidth='full' needs at least two distinct rows"):
        SparseKernelDensity(bandwidth="full").fit(np.ones((5, 2)))


@pytest.mark.parametrize("bandwidth", ["cv", "full", 0.3])
def test_density_does_not_depend_on_origin_and_order(bandwidth):
    X = mixture_rows(400)
    model = SparseKernelDensity(bandwidth=bandwidth)
    scores = model.fit(X).score_samples(X)
    n_vectors, width = model.n_vectors_, model.bandwidth_
    order = np.random.default_rng(0).permutation(400)
    np.testing.assert_array_equal(model.fit(X[order]).score_samples(X), scores)
    for shift in (-7.0, 1000.0):
        np.testing.assert_allclose(model.fit(X + shift).score_samples(X + shift), scores, atol=1e-6)
        assert model.n_vectors_ == n_vectors
        assert model.bandwidth_ == pytest.approx(width, rel=1e-6)


@pytest.mark.parametrize("limit", [1, 2, 7, 30])
@pytest.mark.parametrize("bandwidth", [0.01, 0.3, "cv"])
def test_density_keeps_at_most_as_many_vectors_as_allowed(limit, bandwidth):
    X = mixture_rows(200)
    model = SparseKernelDensity(bandwidth=bandwidth, max_vectors=limit).fit(X)
    assert 1 <= model.n_vectors_ <= limit
    assert model.weights_.sum() == pytest.approx(1.0)
    assert (model.weights_ > 0).all()
    assert np.isfinite(model.score_samples(X)).all()


def test_the_vectors_kept_are_better_than_others_as_many():
    X, h = mixture_rows(500), 0.4
    free = SparseKernelDensity(bandwidth=h).fit(X)
    K = np.exp(-0.5 * ((X[:, None] - X[None, free.support_]) ** 2).sum(axis=2) / h**2)
    rng = np.random.default_rng(0)

    def likelihood(columns):
        alpha, _ = solve_mixture(K[:, columns], np.ones(500), np.zeros(len(columns)))
        return np.log(K[:, columns] @ alpha).sum()

    for limit in (free.n_vectors_ - 2, free.n_vectors_ // 2):
        kept = keep_at_most(K, np.ones(500), free.weights_, limit)
        assert len(kept) == limit
        others = [rng.choice(free.n_vectors_, limit, replace=False) for _ in range(30)]
        assert likelihood(kept) > max(likelihood(other) for other in others)


def test_the_first_round_is_that_of_all_columns():
    X, h = mixture_rows(300), 0.5
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 300)
    support, columns = mixture_support(KernelGram(RBF(0.5 / h**2), X), weight, 1e-5, 1e-7)
    K = gaussians(X, h)
    np.testing.assert_allclose(columns, K[:, support], atol=1e-12)
    few, _ = solve_mixture(columns, weight, np.ones(len(support)), tol=1e-9)
    all_of_them, _ = solve_mixture(K, weight, np.ones(300), tol=1e-9)

    def value(K, alpha):
        return -weight @ np.log(K @ alpha) + alpha @ alpha

    assert len(support) < 150
    assert value(columns, few) <= value(K, all_of_them) + 1e-3


def literal_rounds(K, epsilon=1e-6):
    """Equations (18) to (20) with the weights of Implementation A, all columns, by a solver that is not ours.

    The paper asks for a sum of one only; a density's weights are not negative, so here they may not be. A column that
    is no more than epsilon would have the penalty 1 / epsilon^2: it stays at zero and leaves.
    """
    columns, alpha = np.arange(K.shape[1]), np.full(K.shape[1], 1.0 / K.shape[1])
    penalty = np.ones(len(columns))
    for _ in range(200):
        # in units of the weights before, in which the problem is well scaled
        B, ridge = K[:, columns] * alpha, penalty * alpha**2

        def value(u, B=B, ridge=ridge):  # (18), up to the constant of the kernel
            p = np.maximum(B @ u, 1e-300)
            return -np.log(p).sum() + ridge @ u**2, 2.0 * ridge * u - B.T @ (1.0 / p)

        found = minimize(
            value, np.ones(len(columns)), jac=True, method="SLSQP", bounds=[(0.0, None)] * len(columns),
            constraints={"type": "eq", "fun": lambda u, a=alpha: a @ u - 1.0, "jac": lambda u, a=alpha: a},  # (19)
            options={"maxiter": 1000, "ftol": 1e-10},
        )  # fmt: skip
        assert found.success
        new = alpha * found.x
        change = np.linalg.norm(new - alpha) / np.linalg.norm(new)
        left = new > epsilon
        columns, alpha = columns[left], new[left] / new[left].sum()
        penalty = alpha**-2.0
        if change < 1e-3:
            break
    return columns


def rounds_on_all_columns(K):
    """The same, each round solved to the end by the interior point; columns at zero have left."""
    columns, penalty, before = np.arange(K.shape[1]), np.ones(K.shape[1]), np.zeros(K.shape[1])
    for _ in range(200):
        alpha = np.zeros(K.shape[1])
        alpha[columns], _ = solve_mixture(K[:, columns], np.ones(len(K)), penalty[columns], tol=1e-9)
        columns = np.flatnonzero(alpha > 1e-6)
        penalty[columns] = alpha[columns] ** -2.0
        if np.linalg.norm(alpha - before) < 1e-3 * np.linalg.norm(alpha):
            break
        before = alpha
    return columns


def objective(K, support):
    """-sum log p + number of vectors, with the likeliest weights of these vectors."""
    alpha, _ = solve_mixture(K[:, support], np.ones(len(K)), np.zeros(len(support)), tol=1e-10)
    return len(support) - np.log(K[:, support] @ alpha).sum()


def gaussians(X, h, Z=None):
    return np.exp(-0.5 * ((X[:, None] - (X if Z is None else Z)[None]) ** 2).sum(axis=2) / h**2)


@pytest.mark.parametrize("d", [1, 2])
def test_the_objective_is_no_higher_than_by_the_literal_equations(d):
    for seed in range(2):
        X = mixture_rows(50, seed)[:, :d]
        K = gaussians(X, 0.6)
        found = sparse_mixture(X, np.ones(50), 0.6)
        literal = literal_rounds(K)
        assert len(literal) < 12
        assert objective(K, found.support) <= objective(K, literal) + 0.01


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize(
    ("n", "seeds"), [(100, range(4)), (400, range(2 if HARD else 1)), pytest.param(800, range(1), marks=hard)]
)
def test_the_objective_is_no_higher_than_by_rounds_on_all_columns(n, seeds, d):
    for seed in seeds:
        X = mixture_rows(n, seed)[:, :d]
        full = full_bandwidth(X, np.ones(n))
        for h in (full, 2.0 * full):
            K = gaussians(X, h)
            found = sparse_mixture(X, np.ones(n), h)
            wanted = objective(K, rounds_on_all_columns(K))
            assert objective(K, found.support) <= wanted + 0.01


def test_vectors_that_move_never_lower_the_likelihood():
    X, h = mixture_rows(300), 0.4
    s = np.random.default_rng(1).uniform(0.5, 2.0, 300)
    gram, K = KernelGram(RBF(0.5 / h**2), X), gaussians(X, h)
    start = np.sort(np.random.default_rng(0).choice(300, 15, replace=False))
    K_start = np.maximum(K[:, start], 1e-290)
    alpha, _ = solve_mixture(K_start, s, np.zeros(15))
    start, alpha = start[alpha > 0], alpha[alpha > 0]
    before = s @ np.log(np.maximum(K[:, start] @ alpha, 1e-290))
    rest = at_rest(gram, s, start, alpha)
    placed = settled(gram, s, rest)
    final = exchanged(gram, s, placed, 15)
    assert before < rest.likelihood < placed.likelihood
    assert final.objective <= placed.objective
    for state in (rest, placed, final):
        assert len(state.support) == len(np.unique(state.support)) <= 15
        np.testing.assert_allclose(state.K, K[:, state.support], atol=1e-12)
        assert state.alpha.sum() == pytest.approx(1.0)
        assert state.likelihood == pytest.approx(s @ np.log(K[:, state.support] @ state.alpha))
    assert len(exchanged(gram, s, placed, 4 + len(placed.support)).support) <= 4 + len(placed.support)


def test_a_lonely_row_keeps_its_kernel():
    # its weight is small, but nothing else reaches it
    X = np.vstack([np.random.default_rng(0).standard_normal((3000, 1)), [[30.0]]])
    model = SparseKernelDensity(bandwidth=0.5).fit(X)
    assert 3000 in model.support_
    K = gaussians(X, 0.5, np.array([[-1.0], [0.0], [1.0], [30.0], [2.0], [0.1]]))
    for tol in (1e-3, 1e-5, 1e-8):
        alpha, _ = solve_mixture(K[np.abs(X[:, 0] - 30) < 60], np.ones(3001), np.zeros(6), tol=tol)
        assert alpha[3] == pytest.approx(1 / 3001, rel=0.5)


def test_a_limit_costs_little_more_than_it_would_with_free_vectors():
    X, h, m = mixture_rows(1500), 0.25, 40
    model = SparseKernelDensity(bandwidth=h, max_vectors=m).fit(X)
    assert model.n_vectors_ == m
    centres, alpha = KMeans(m, n_init=1, random_state=0).fit(X).cluster_centers_, np.full(m, 1 / m)
    for _ in range(150):  # expectation-maximisation whose vectors may lie anywhere
        K = gaussians(X, h, centres)
        share = K * alpha / (K @ alpha)[:, None]
        alpha, centres = share.mean(axis=0), share.T @ X / share.sum(axis=0)[:, None]
    free = np.log(gaussians(X, h, centres) @ alpha).mean() - np.log(2 * np.pi * h**2)
    assert model.score(X) / 1500 > free - 0.05


def test_the_column_whose_loss_costs_least_leaves_first():
    X = mixture_rows(80)
    K = np.exp(-((X[:, None] - X[None, :12]) ** 2).sum(axis=2))
    alpha = np.random.default_rng(0).dirichlet(np.ones(12))
    weight = np.linspace(0.5, 2.0, 80)
    kept = keep_at_most(K, weight, alpha, 11)
    losses = []
    for j in range(12):
        rest = np.delete(np.arange(12), j)
        losses.append(-weight @ np.log(K[:, rest] @ alpha[rest] / alpha[rest].sum()))
    assert np.setdiff1d(np.arange(12), kept) == [np.argmin(losses)]


def test_density_of_sparse_rows_is_that_of_dense_ones():
    X = np.maximum(mixture_rows(150), 0.0)
    scores = SparseKernelDensity(bandwidth=0.5).fit(X).score_samples(X)
    rows = sparse.csr_array(X)
    np.testing.assert_allclose(
        SparseKernelDensity(bandwidth=0.5).fit(rows).score_samples(rows), scores, atol=1e-6
    )


@pytest.mark.parametrize("bandwidth", ["cv", "full", 0.7])
@pytest.mark.parametrize(
    "kind", ["csr_matrix", "csc_matrix", "csc_array", "lil_matrix", "coo_array", "dok_array"]
)
def test_every_sparse_format_gives_the_model_of_csr_array(kind, bandwidth):
    X = mixture_rows(150)
    X[np.abs(X) < 0.5] = 0.0
    wanted = SparseKernelDensity(bandwidth=bandwidth).fit(sparse.csr_array(X))
    found = SparseKernelDensity(bandwidth=bandwidth).fit(getattr(sparse, kind)(X))
    assert found.bandwidth_ == wanted.bandwidth_
    np.testing.assert_array_equal(found.support_, wanted.support_)
    assert found.weights_.tobytes() == wanted.weights_.tobytes()
    new = getattr(sparse, kind)(X[:20])
    assert found.score_samples(new).tobytes() == wanted.score_samples(sparse.csr_array(X[:20])).tobytes()


@pytest.mark.parametrize(
    ("d", "scale", "dtype"), [(80, 3.0, np.float32), (700, 3.0, np.float64), (40, 1e-9, np.float64)]
)
def test_densities_that_are_no_numbers_have_a_unit(d, scale, dtype, tmp_path):
    """In many dimensions they were zero in smaller formats, and beyond all numbers in large units."""
    X = (scale * np.random.default_rng(0).standard_normal((60, d))).astype(dtype)
    model = SparseKernelDensity().fit(X)
    wanted = model.score_samples(X)
    assert abs(model.readout_.log_unit) > 60
    np.testing.assert_allclose(model.readout_.answer(model.expansion_(X)), wanted, rtol=1e-5)
    np.testing.assert_allclose(slim(model.model_).score_samples(X), wanted, rtol=1e-5)
    for number in ("float64", "float32", "int8"):
        slimsvm.save(model, tmp_path / "m.slim", number=number)
        again = slimsvm.load(tmp_path / "m.slim")
        np.testing.assert_allclose(again.score_samples(X), wanted, rtol=1e-3 if number == "int8" else 1e-5)
        assert again.readout_ == model.readout_
    assert SparseKernelDensity().fit(X[:, :3].astype(np.float64) / scale).readout_ == DensityReadout(0.0)
