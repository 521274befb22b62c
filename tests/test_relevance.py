"""Relevance vector machines and the probit classifier."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import StandardScaler

import everyone
from contracts import narrow_rbf
from profiles import scikit_checks
from slimsvm import RVC, RVR, SparseProbitClassifier
from slimsvm.datasets import make_ripley
from slimsvm.kernels import RBF
from slimsvm.methods.relevance.expectation_maximisation import fit_em
from slimsvm.methods.relevance.marginal_likelihood import fit_bernoulli, fit_gaussian, posterior_mode
from slimsvm.methods.relevance.sparse_bayes import CandidateColumns, GrowingModel
from slimsvm.problem import KernelGram

KERNELS = {
    **{name: name for name in ("rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed")},
    "Kernel": RBF(0.5),
    "function": narrow_rbf,
}


def log_evidence(Phi, precision, b, z):
    """Log density of z under N(0, diag(1/b) + Phi diag(1/precision) Phi')."""
    C = np.diag(1 / b) + (Phi / precision) @ Phi.T
    return -0.5 * (np.linalg.slogdet(2 * np.pi * C)[1] + z @ np.linalg.solve(C, z))


def small_source(n=40, held=True):
    X, y = make_ripley(n, random_state=0)
    gram = KernelGram(RBF(2.0), X, limit_bytes=2**30 if held else 0)
    return CandidateColumns(gram), y.astype(float)


def test_every_step_gains_what_it_promises():
    source, y = small_source()
    rng = np.random.default_rng(0)
    b = rng.uniform(0.5, 2.0, 40)
    state = GrowingModel(source)
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


def test_the_precisions_of_each_output_give_its_marginal_likelihood():
    X, y = make_ripley(100, random_state=0)
    labels = np.where(X[:, 0] > 0.3, 2, y)
    model = RVC(gamma=2.0).fit(X, labels)
    columns = np.column_stack([np.ones(100), RBF(2.0)(X, model.support_vectors_)])
    for k, label in enumerate(model.classes_):
        precision = np.append(model.intercept_precision_[k], model.precision_[k])
        used = np.isfinite(precision)
        np.testing.assert_array_equal(used[1:], model.dual_coef_[k] != 0)
        Phi, a = columns[:, used], precision[used]
        signs = np.where(labels == label, 1.0, -1.0)
        w, f, value = posterior_mode(Phi, signs, np.ones(100), a, np.zeros(len(a)))
        np.testing.assert_allclose(w, np.append(model.intercept_[k], model.dual_coef_[k])[used], atol=1e-4)
        H = (Phi.T * (expit(f) * expit(-f))) @ Phi + np.diag(a)
        evidence = value + 0.5 * (np.log(a).sum() - np.linalg.slogdet(H)[1])
        assert model.log_marginal_likelihood_[k] == pytest.approx(evidence, abs=1e-4)
    targets = np.column_stack([np.sin(3 * X[:, 0]), X[:, 1] ** 2 + 5])
    targets += 0.1 * np.random.default_rng(0).standard_normal((100, 2))
    model = RVR(gamma=2.0).fit(X, targets)
    columns = np.column_stack([np.ones(100), RBF(2.0)(X, model.support_vectors_)])
    for k, y in enumerate((targets - targets.mean(axis=0)).T):
        precision = np.append(model.intercept_precision_[k], model.precision_[k])
        used = np.isfinite(precision)
        b = np.full(100, model.noise_[k] ** -2)
        evidence = log_evidence(columns[:, used], precision[used], b, y)
        assert model.log_marginal_likelihood_[k] == pytest.approx(evidence, abs=1e-4)


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


@pytest.mark.parametrize("start", [1e27, 1e200, 1e308, np.inf, np.nan])
def test_the_mode_is_found_from_anywhere(start):
    source, y = small_source(50)
    Phi, a = source.take(np.arange(6)), np.full(6, 0.1)
    wanted, _, value = posterior_mode(Phi, y, np.ones(50), a, np.zeros(6))
    for signs in (np.ones(6), np.array([1, -1, 1, -1, 1, -1])):
        mode, f, reached = posterior_mode(Phi, y, np.ones(50), a, start * signs)
        np.testing.assert_allclose(mode, wanted, atol=1e-6)
        np.testing.assert_allclose(f, Phi @ wanted, atol=1e-5)
        assert reached == pytest.approx(value)


def test_em_is_an_option_of_both():
    X, y = make_ripley(60, random_state=0)
    assert RVC(gamma=2.0, method="em", tol=1e-3).fit(X, y).score(X, y) > 0.8
    assert RVR(gamma=2.0, method="em", tol=1e-3).fit(X, X[:, 0]).score(X, X[:, 0]) > 0.9


def test_restarts_never_lower_the_marginal_likelihood():
    X, y = make_ripley(250, random_state=0)
    found = [RVC(gamma=2.0, n_restarts=k).fit(X, y).log_marginal_likelihood_[0] for k in (0, 1, 3)]
    assert found == sorted(found)
    target = np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * np.random.default_rng(0).standard_normal(250)
    found = [RVR(gamma=2.0, n_restarts=k).fit(X, target).log_marginal_likelihood_[0] for k in (0, 1, 3)]
    assert found == sorted(found)


# --- scikit-learn's checks with every kernel

CHECKED = {
    f"{kind.__name__} {label}": kind(kernel=kernel)
    for kind in (RVC, RVR, SparseProbitClassifier)
    for label, kernel in KERNELS.items()
}


class OnRows(BaseEstimator):
    """A machine for precomputed kernels, given the linear kernel of the rows."""

    def __init__(self, machine):
        self.machine = machine

    def fit(self, X, y):
        self.rows_ = X
        self.machine_ = clone(self.machine).fit(X @ X.T, y)
        return self

    def decision_function(self, X):
        return self.machine_.decision_function(X @ self.rows_.T)

    def predict_proba(self, X):
        return self.machine_.predict_proba(X @ self.rows_.T)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@scikit_checks(CHECKED)
def test_scikit_learn(estimator, check):
    name = getattr(check, "func", check).__name__
    if name == "check_decision_proba_consistency" and estimator.kernel == "precomputed":
        # it gives rows, not kernel values, to estimators that are tagged pairwise (SVC with probabilities fails it too)
        estimator = OnRows(estimator)
    check(estimator)


@pytest.mark.parametrize("method", ["em", "fast"])
def test_a_line_is_found_among_columns_of_very_different_size(method):
    x = np.arange(1.0, 100.0)[:, None]
    y = x[:, 0] + 5.0
    assert RVR(method=method, kernel="linear").fit(x, y).score(x, y) > 0.999


# --- what users of other relevance vector machines rely on, by either method

BOTH = pytest.mark.parametrize("method", ["em", "fast"])


def noisy_sinc(n=100):
    """The function that Tipping shows, and a noise that is known."""
    x = np.linspace(-10, 10, n)
    return x[:, None], np.sinc(x / np.pi) + 0.05 * np.random.default_rng(0).standard_normal(n)


@BOTH
def test_sinc_is_found_with_few_rows_and_its_noise(method):
    X, y = noisy_sinc()
    model = RVR(gamma=0.1, method=method).fit(X, y)
    assert model.n_vectors_ <= 12
    assert model.noise_[0] == pytest.approx(0.05, rel=0.25)
    assert np.sqrt(np.mean((model.predict(X) - np.sinc(X[:, 0] / np.pi)) ** 2)) < 0.025
    assert model.score(X, y) > 0.95
    # the relevance vectors are rows, and each has a weight with a finite precision
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert (model.dual_coef_ != 0).all()
    assert np.isfinite(model.precision_).all()


@BOTH
def test_the_deviation_is_that_of_noise_and_weights(method):
    X, y = noisy_sinc()
    model = RVR(gamma=0.1, method=method).fit(X, y)
    mean, deviation = model.predict(X, return_std=True)
    np.testing.assert_array_equal(mean, model.predict(X))
    assert deviation.shape == mean.shape == (100,)
    assert (deviation >= model.noise_[0]).all()
    assert np.mean(np.abs(y - mean) < 2 * deviation) > 0.9
    # far from all rows the kernel is zero: what is left is the noise, and the intercept where it has one
    far = np.sqrt(model.noise_[0] ** 2 + model.covariance_[0, 0, 0])
    assert model.predict([[1e3]], return_std=True)[1][0] == pytest.approx(far, rel=1e-12)


@pytest.mark.parametrize(
    ("kernel", "method"),
    [("rbf", "em"), *((kernel, "fast") for kernel in ("rbf", "linear", "poly", narrow_rbf))],
)
def test_iris_by_name_with_probabilities(kernel, method):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    scaled = StandardScaler().fit_transform(X)
    model = RVC(kernel=kernel, coef0=1.0, method=method, tol=1e-5).fit(scaled, names[y])
    assert model.classes_.tolist() == names.tolist()
    assert model.score(scaled, names[y]) > (0.8 if kernel == "linear" else 0.95)
    p = model.predict_proba(scaled)
    assert p.shape == (150, 3)
    assert ((p >= 0) & (p <= 1)).all()
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(scaled))
    # "em" takes a row away only when its precision has grown without end, which it had no time for
    assert model.n_vectors_ < (30 if method == "fast" else 75)


def test_probabilities_of_two_classes_are_the_log_odds():
    X, y = make_ripley(120, random_state=0)
    model = RVC(gamma=2.0).fit(X, y)
    p, f = model.predict_proba(X), model.decision_function(X)
    assert p.shape == (120, 2)
    np.testing.assert_allclose(p[:, 1], expit(f), atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), np.where(f > 0, model.classes_[1], model.classes_[0]))
    # surer within its class than between the two
    assert p.max(axis=1)[np.abs(f) > 2].min() > p.max(axis=1)[np.abs(f) < 0.5].max()


@pytest.mark.parametrize("machine", [RVC(gamma=2.0), RVR(gamma=2.0)], ids=["RVC", "RVR"])
def test_a_kernel_matrix_is_as_good_as_the_kernel(machine):
    X, y = make_ripley(80, random_state=0)
    T = make_ripley(30, random_state=1)[0]
    given = clone(machine).set_params(kernel="precomputed").fit(RBF(2.0)(X, X), y)
    model = machine.fit(X, y)
    np.testing.assert_array_equal(np.sort(given.support_), np.sort(model.support_))
    np.testing.assert_array_equal(given.predict(RBF(2.0)(T, X)) > 0, model.predict(T) > 0)


@pytest.mark.parametrize("machine", [RVC(gamma=2.0), RVR(gamma=2.0)], ids=["RVC", "RVR"])
def test_what_a_pickle_says_is_what_the_machine_said(machine):
    X, y = make_ripley(80, random_state=0)
    model = machine.fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    everyone.same_bits(everyone.answers(again, X), everyone.answers(model, X))
    np.testing.assert_array_equal(again.precision_, model.precision_)


@pytest.mark.parametrize("kind", [RVC, RVR])
def test_wrong_use_is_said(kind):
    X, y = make_ripley(40, random_state=0)
    with pytest.raises(NotFittedError, match=f"This {kind.__name__} instance is not fitted"):
        kind().predict(X)
    with pytest.raises(ValueError, match="The 'kernel' parameter"):
        kind(kernel="wrong").fit(X, y)
    with pytest.raises(ValueError, match="The 'method' parameter"):
        kind(method="wrong").fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features"):
        kind().fit(X, y).predict(np.zeros((2, 3)))


def test_widths_can_be_searched():
    X, y = noisy_sinc(60)
    search = GridSearchCV(RVR(), {"gamma": [1e-3, 0.1, 1e3]}, cv=KFold(4, shuffle=True, random_state=0)).fit(
        X, y
    )
    assert search.best_params_ == {"gamma": 0.1}
