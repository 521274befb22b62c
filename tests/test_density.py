"""The sparse kernel density: its weights, its vectors, its bandwidth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import KernelDensity

from slimsvm import SparseKernelDensity
from slimsvm.methods.density.bandwidth import full_bandwidth
from slimsvm.methods.density.mixture import solve_mixture
from slimsvm.methods.density.mixture_support import keep_at_most, mixture_support


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


def test_every_column_left_out_gains_less_than_it_costs():
    X, h = mixture_rows(300), 0.5
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 300)
    support, columns = mixture_support(X, weight, h)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2) / h**2)
    np.testing.assert_allclose(columns, K[:, support], atol=1e-12)
    alpha, _ = solve_mixture(columns, weight, np.ones(len(support)), tol=1e-4)
    p = columns @ alpha
    others = np.setdiff1d(np.arange(300), support)
    for j in others:
        gains = [weight @ np.log1p(t * (K[:, j] / p - 1)) for t in (1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3)]
        assert max(gains) < 1.5  # the gain is estimated to second order


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
