"""Relevance vector machines and the probit classifier."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from slimsvm import RVC, RVR, SparseProbitClassifier
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
