"""Relevance vector machines, the probit classifier and the sparse density."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.neighbors import KernelDensity

from slimsvm import RVC, RVR, SparseKernelDensity, SparseProbitClassifier
from slimsvm.datasets import make_ripley
from slimsvm.kernels import RBF
from slimsvm.problem import KernelGram
from slimsvm.solvers.expectation_maximisation import fit_em
from slimsvm.solvers.marginal_likelihood import (
    KernelColumns,
    _State,
    fit_bernoulli,
    fit_gaussian,
    posterior_mode,
)
from slimsvm.solvers.mixture import solve_mixture


def log_evidence(Phi, precision, b, z):
    """Log density of z under N(0, diag(1/b) + Phi diag(1/precision) Phi')."""
    C = np.diag(1 / b) + (Phi / precision) @ Phi.T
    return -0.5 * (np.linalg.slogdet(2 * np.pi * C)[1] + z @ np.linalg.solve(C, z))


def small_source(n=40, held=True):
    X, y = make_ripley(n, random_state=0)
    gram = KernelGram(RBF(2.0), X, limit_bytes=2**30 if held else 0)
    return KernelColumns(gram), y.astype(float)


def test_every_step_gains_what_it_promises():
    source, y = small_source()
    rng = np.random.default_rng(0)
    b = rng.uniform(0.5, 2.0, 40)
    state = _State(source)
    state.weigh(b, y)
    state.start()
    everything = source.take(np.arange(source.n_columns))
    before = log_evidence(everything[:, state.columns], state.precision, b, y)
    kinds = set()
    for _ in range(30):
        candidate, precision, gain = state.best_step()
        if gain < 1e-9:
            break
        kinds.add("leave" if np.isinf(precision) else "change" if candidate in state.columns else "enter")
        state.take_step(candidate, precision)
        after = log_evidence(everything[:, state.columns], state.precision, b, y)
        assert after - before == pytest.approx(gain, abs=1e-7)
        before = after
    assert {"enter", "change"} <= kinds
    S, Q, mean = state.S.copy(), state.Q.copy(), state.mean.copy()
    state.refresh(1.0)
    np.testing.assert_allclose(state.S, S, atol=1e-8)
    np.testing.assert_allclose(state.Q, Q, atol=1e-8)
    np.testing.assert_allclose(state.mean, mean, atol=1e-8)


def test_gaussian_likelihood_is_the_evidence_and_no_single_change_raises_it():
    source, _ = small_source(60)
    rng = np.random.default_rng(1)
    y = np.sin(3 * source.gram.X[:, 0]) + 0.1 * rng.standard_normal(60)
    fit = fit_gaussian(source, y, np.ones(60), tol=1e-7)
    everything = source.take(np.arange(source.n_columns))
    b = np.full(60, fit.noise_precision)
    evidence = log_evidence(everything[:, fit.columns], fit.precision, b, y)
    assert fit.log_marginal_likelihood == pytest.approx(evidence, rel=1e-9)
    for factor in (0.5, 2.0):
        for k in range(len(fit.columns)):
            other = fit.precision.copy()
            other[k] *= factor
            assert log_evidence(everything[:, fit.columns], other, b, y) <= evidence + 1e-6
        assert log_evidence(everything[:, fit.columns], fit.precision, b * factor, y) <= evidence
    for new in range(source.n_columns):
        if new not in fit.columns:
            Phi = everything[:, [*fit.columns, new]]
            for precision in (0.01, 1.0, 100.0):
                assert log_evidence(Phi, np.append(fit.precision, precision), b, y) <= evidence + 1e-5


def test_bernoulli_fit_is_at_the_mode_and_em_finds_no_more():
    source, y = small_source(80)
    fast = fit_bernoulli(source, y, np.ones(80))
    Phi = source.take(fast.columns)
    f = Phi @ fast.mean
    np.testing.assert_allclose(Phi.T @ (y * expit(-y * f)), fast.precision * fast.mean, atol=1e-4)
    mode, _, _ = posterior_mode(Phi, y, np.ones(80), fast.precision, np.zeros(len(fast.columns)))
    np.testing.assert_allclose(mode, fast.mean, atol=1e-4)
    em = fit_em(source, y, np.ones(80), gaussian=False, tol=1e-3, max_iter=3000)
    assert fast.log_marginal_likelihood >= em.log_marginal_likelihood - 0.5
    assert np.mean(np.sign(source.take(em.columns) @ em.mean) == np.sign(f)) > 0.95


@pytest.mark.parametrize("kind", ["gaussian", "bernoulli"])
def test_without_the_kernel_matrix_the_result_is_the_same(kind):
    fit = fit_gaussian if kind == "gaussian" else fit_bernoulli
    results = []
    for held in (True, False):
        source, y = small_source(60, held)
        assert source.is_held == held
        results.append(fit(source, y, np.ones(60)))
    np.testing.assert_array_equal(np.sort(results[0].columns), np.sort(results[1].columns))
    assert results[0].log_marginal_likelihood == pytest.approx(results[1].log_marginal_likelihood, abs=1e-3)


def test_regression_predicts_its_variance():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 6, (120, 1))
    y = 5.0 + np.sin(X[:, 0]) + 0.1 * rng.standard_normal(120)
    model = RVR(gamma=0.5).fit(X, y)
    mean, deviation = model.predict(np.array([[3.0], [30.0]]), return_std=True)
    assert abs(mean[0] - 5 - np.sin(3.0)) < 0.1
    assert model.noise_[0] == pytest.approx(0.1, rel=0.3)
    assert deviation[0] == pytest.approx(0.1, rel=0.3)
    # about two thirds of new targets lie within one deviation
    new = rng.uniform(0, 6, (2000, 1))
    target = 5.0 + np.sin(new[:, 0]) + 0.1 * rng.standard_normal(2000)
    mean, deviation = model.predict(new, return_std=True)
    assert np.mean(np.abs(target - mean) < deviation) == pytest.approx(0.683, abs=0.06)
    np.testing.assert_allclose(model.fit(X, y + 100).predict(new), mean + 100, atol=1e-6)
    two = model.fit(X, np.column_stack([y, -2 * y])).predict(new, return_std=True)
    np.testing.assert_allclose(two[0][:, 0], mean, atol=1e-8)
    assert two[1].shape == (2000, 2)


def test_regression_of_a_constant_and_of_exact_targets():
    X = np.linspace(0, 1, 20)[:, None]
    np.testing.assert_allclose(RVR().fit(X, np.full(20, 3.0)).predict(X), 3.0, atol=1e-8)
    exact = RVR(gamma=1.0).fit(X, X[:, 0] ** 2)
    mean, deviation = exact.predict(X, return_std=True)
    assert (np.abs(mean - X[:, 0] ** 2) < 3 * deviation).all()
    assert (deviation < 0.05).all()


@pytest.mark.parametrize("model", [RVC(gamma=2.0), SparseProbitClassifier(gamma=2.0)], ids=["rvc", "probit"])
def test_probabilities_agree_with_decisions(model):
    X, y = make_ripley(150, random_state=0)
    for labels in (y, np.where(X[:, 0] > 0.3, 2, y)):
        model.fit(X, labels)
        p = model.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    model.fit(X, y)
    # calibrated on the training rows within the noise of 150 of them
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(np.mean(y == 1), abs=0.05)


def test_em_is_an_option_of_both():
    X, y = make_ripley(60, random_state=0)
    assert RVC(gamma=2.0, method="em", tol=1e-3).fit(X, y).score(X, y) > 0.8
    assert RVR(gamma=2.0, method="em", tol=1e-3).fit(X, X[:, 0]).score(X, X[:, 0]) > 0.9


# --- density


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
    X, new = mixture_rows(1000)[:, :1], mixture_rows(3000, seed=1)[:, :1]
    model = SparseKernelDensity(random_state=0).fit(X)
    full = KernelDensity(bandwidth=model.bandwidth_).fit(X)
    assert model.n_vectors_ <= 100
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
    # shifted rows come in another order and may end in another local minimum, but as good a one
    assert model.fit(X + 1000.0).score(X + 1000.0) / 120 == pytest.approx(scores.mean(), abs=0.02)
    assert model.fit(np.array([[0.0, 0.0]])).n_vectors_ == 1
    far = SparseKernelDensity(bandwidth=0.1).fit(np.array([[0.0], [100.0], [100.1]]))
    assert np.isfinite(far.score_samples([[0.0], [50.0]])).all()
    with pytest.raises(ValueError, match="bandwidth='cv' needs at least two distinct rows"):
        SparseKernelDensity().fit(np.ones((5, 2)))
