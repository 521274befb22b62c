"""EmpiricalSVC and EmpiricalFeatureMap: the laws, the paper's equations, the published counts, the extremes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from contracts import ClassifierContract
from reference import relative_error
from slimsvm import EmpiricalFeatureMap, EmpiricalSVC
from slimsvm.datasets import load_split, make_banana, make_ringnorm
from slimsvm.errors import DataFormatError
from slimsvm.kernels import RBF
from slimsvm.losses import Hinge, SquaredHinge
from slimsvm.problem import FeatureGram, Problem


class TestEmpiricalSVC(ClassifierContract):
    accuracy = 1e-4  # the outputs at a relative gap of 1e-9

    def make(self, **parameters):
        return EmpiricalSVC(**{"C": 3.0, "coef0": 1.0, "eta": 1e-7, "tol": 1e-9, **parameters})


class TestEmpiricalSVCWithSquaredHinge(ClassifierContract):
    accuracy = 1e-6

    def make(self, **parameters):
        return EmpiricalSVC(
            **{"C": 3.0, "coef0": 1.0, "eta": 1e-7, "tol": 1e-12, "loss": "squared_hinge", **parameters}
        )


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("selection", ["cholesky", "pivoted_cholesky", "random_cholesky"])
def test_the_machine_is_the_optimum_on_its_features(loss, selection):
    X, y = make_banana(300, random_state=1)
    model = EmpiricalSVC(C=50.0, gamma=2.0, eta=1e-2, loss=loss, selection=selection, random_state=0).fit(
        X, y
    )
    H = RBF(2.0)(X, model.support_vectors_)  # eq. (8)
    target = y[:, None].astype(float)
    v, b = model.dual_coef_.T, model.intercept_
    kind = Hinge() if loss == "hinge" else SquaredHinge()
    p = Problem(FeatureGram(H), target, kind, np.full(300, 50.0))
    primal = 0.5 * (v**2).sum() + 50.0 * kind.value(target, H @ v + b).sum()  # eq. (16), (17)
    # scikit-learn on h'h gives a dual point, hence a lower bound
    G = H @ H.T
    if loss == "hinge":
        machine = SVC(kernel="precomputed", C=50.0, tol=1e-5).fit(G, y)
    else:
        machine = SVC(kernel="precomputed", C=1e10, tol=1e-5).fit(G + np.eye(300) / 50.0, y)
    alpha = np.zeros((300, 1))
    alpha[machine.support_, 0] = machine.dual_coef_[0]
    lower = p.dual_objective(alpha)[0]
    assert lower * (1 - 1e-3) <= primal <= p.objective(alpha, machine.intercept_)[0] * (1 + 1e-6)
    assert model.gap_ <= 1e-6
    assert np.isclose(primal, lower, rtol=1e-2)


def test_orthogonal_vectors_are_the_linear_machine():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 6)) + 1.0
    y = np.where(X @ rng.standard_normal(6) + rng.standard_normal(200) > 0, "b", "a")
    linear = SVC(kernel="linear", C=2.0, tol=1e-8).fit(X, y)
    for make in (np.asarray, sparse.csr_array):
        model = EmpiricalSVC(C=2.0, kernel="linear", vectors="orthogonal", tol=1e-9).fit(make(X), y)
        vectors = model.support_vectors_
        np.testing.assert_array_equal(vectors.toarray() if sparse.issparse(vectors) else vectors, np.eye(6))
        assert not hasattr(model, "support_")
        assert relative_error(model.dual_coef_, linear.coef_) < 1e-3
        assert relative_error(model.decision_function(make(X)), linear.decision_function(X)) < 1e-3
    with pytest.raises(ValueError, match="vectors='orthogonal' needs kernel='linear'"):
        EmpiricalSVC(vectors="orthogonal").fit(X, y)


def test_selected_vectors_of_a_linear_kernel_are_as_many_as_inputs():
    rng = np.random.default_rng(0)
    X = rng.random((100, 7))
    y = X[:, 0] > 0.5
    assert EmpiricalSVC(kernel="linear", eta=1e-9).fit(X, y).n_vectors_ == 7


def test_the_vectors_depend_on_eta_and_not_on_C():
    X, y = make_ringnorm(200, random_state=0)
    models = [EmpiricalSVC(C=C, eta=0.5).fit(X, y) for C in (0.1, 100.0)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.support_, models[0].support_)
    sizes = [EmpiricalSVC(eta=eta).fit(X, y).n_vectors_ for eta in (0.9, 0.5, 0.1, 1e-3)]
    assert sizes == sorted(sizes)
    assert EmpiricalSVC(max_vectors=5, selection="pivoted_cholesky").fit(X, y).n_vectors_ == 5


# published counts at the paper's parameters: set, C, gamma, eta, vectors (Table VII)
TABLE_VII = [
    ("ida_banana", 5000, 15, 0.1, 17.3),
    ("ida_breast_cancer", 100_000, 0.1, 1e-5, 64.4),
    ("ida_diabetis", 100_000, 0.1, 1e-3, 9.9),
    ("ida_heart", 500, 0.1, 1e-3, 25.3),
    ("ida_titanic", 10, 0.5, 1e-3, 8.5),
    ("ida_twonorm", 100, 0.5, 1e-3, 67.7),
]


@pytest.mark.published
@pytest.mark.parametrize(("name", "C", "gamma", "eta", "vectors"), TABLE_VII)
def test_published_numbers_of_vectors(name, C, gamma, eta, vectors):
    found = []
    for index in range(3):
        try:
            X, _, y, _ = load_split(name, index)
        except DataFormatError as error:
            pytest.skip(str(error))
        low, high = X.min(axis=0), X.max(axis=0)
        X = (X - low) / np.where(high > low, high - low, 1.0)
        model = EmpiricalSVC(C=C, gamma=gamma / X.shape[1], eta=eta).fit(X, y)  # a warning would be an error
        assert model.gap_ <= 1e-6
        found.append(model.n_vectors_)
    assert abs(np.mean(found) - vectors) <= max(1.5, 0.1 * vectors)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_extremes_end_in_a_finite_model(loss):
    X, y = make_banana(120, random_state=0)
    one = EmpiricalSVC(eta=0.999, loss=loss).fit(np.r_[X[:1], X[:1] + 1e-3, X[:2] - 1e-3], [0, 1, 0, 1])
    assert one.n_vectors_ == 1
    assert np.isfinite(one.decision_function(X)).all()
    opposite = EmpiricalSVC(loss=loss).fit(np.zeros((6, 2)), [0, 0, 0, 1, 1, 1])
    assert opposite.n_vectors_ == 1
    assert np.isfinite(opposite.decision_function(X)).all()
    rank_one = EmpiricalSVC(kernel="linear", loss=loss).fit(X[:, :1], y)
    assert rank_one.n_vectors_ == 1
    noisy = np.random.default_rng(0).permutation(y)
    for C in (1e-6, 1.0, 1e6):
        model = EmpiricalSVC(C=C, eta=1e-2, loss=loss).fit(X, noisy)
        assert np.isfinite(model.decision_function(X)).all()
        assert model.gap_ <= 1e-6
    with pytest.warns(ConvergenceWarning, match="C is larger than double precision can make use of"):
        model = EmpiricalSVC(C=1e12, eta=1e-2, loss=loss).fit(X, noisy)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.score(X, noisy) > 0.6
    with pytest.raises(ValueError, match=r"eta=1 keeps no row"):
        EmpiricalSVC(eta=1.0, loss=loss).fit(X, y)


def test_the_feature_map():
    X, y = make_banana(300, random_state=0)
    T = make_banana(50, random_state=1)[0]
    plain = EmpiricalFeatureMap(gamma=1.0, eta=1e-2).fit(X)
    np.testing.assert_array_equal(plain.support_vectors_, X[plain.support_])
    np.testing.assert_allclose(plain.transform(T), RBF(1.0)(T, plain.support_vectors_))
    turned = EmpiricalFeatureMap(gamma=1.0, eta=1e-2, orthonormal=True).fit(X)
    Z = turned.transform(X)
    K = RBF(1.0)(X, X)
    # inner products are the kernel's up to what the selection leaves, and exact on the selected rows
    assert np.abs(Z @ Z.T - K).max() <= 1e-2 * (1 + 1e-9)
    J = turned.support_
    np.testing.assert_allclose(Z[J] @ Z[J].T, K[np.ix_(J, J)], atol=1e-10)
    names = plain.get_feature_names_out()
    assert names[0] == "empiricalfeaturemap0"
    assert len(names) == plain.n_vectors_
    table = plain.set_output(transform="pandas").transform(T)
    assert isinstance(table, pd.DataFrame)
    assert table.shape == (50, plain.n_vectors_)
    single = EmpiricalFeatureMap(orthonormal=True).fit(X.astype(np.float32)).transform(T.astype(np.float32))
    assert single.dtype == np.float32
    assert (
        make_pipeline(EmpiricalFeatureMap(max_vectors=20), LogisticRegression(C=100)).fit(X, y).score(X, y)
        > 0.8
    )


def test_the_machine_is_a_linear_one_on_the_mapped_features():
    X, y = make_banana(200, random_state=0)
    model = EmpiricalSVC(C=5.0, gamma=1.0, eta=1e-2, tol=1e-9).fit(X, y)
    features = EmpiricalFeatureMap(gamma=1.0, eta=1e-12).fit(model.support_vectors_)
    assert features.n_vectors_ == model.n_vectors_
    H = features.transform(X)
    linear = EmpiricalSVC(C=5.0, kernel="linear", vectors="orthogonal", tol=1e-9).fit(H, y)
    assert relative_error(linear.decision_function(H), model.decision_function(X)) < 1e-3
