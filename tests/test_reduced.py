"""Reduced, the meta-estimator: the laws of scikit-learn, and that it is `fit` then `reduce`."""

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_iris, make_regression
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

from profiles import scikit_checks
from slimsvm import LSSVC, LSSVR, Reduced, reduce
from slimsvm.datasets import make_banana


@scikit_checks(
    [
        Reduced(SVC()),
        Reduced(SVC(kernel="linear"), method="exact"),
        Reduced(SVC(), method="refine", max_iter=5),
        Reduced(SVR()),
        Reduced(KernelRidge(kernel="rbf")),
        Reduced(KernelPCA(n_components=2, kernel="rbf", random_state=0)),
        Reduced(OneClassSVM()),
        Reduced(LSSVC()),
        Reduced(LSSVR()),
    ]
)
def test_estimator_laws(estimator, check):
    check(estimator)


def test_is_fit_then_reduce():
    X, y = make_banana(200, random_state=0)
    model = Reduced(SVC(C=10.0), max_vectors=12).fit(X, y)
    expected = reduce(SVC(C=10.0).fit(X, y), X, y, max_vectors=12)
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    assert model.n_vectors_ == model.expansion_.n_vectors == len(model.support_vectors_) == 12
    assert model.dual_coef_.shape == (1, 12)
    assert model.reduction_.n_after == 12
    assert not hasattr(model, "transform")
    assert not hasattr(model, "predict_proba")
    np.testing.assert_array_equal(model.readout_.classes, model.classes_)
    np.testing.assert_array_equal(model.model_(X), model.predict(X))
    assert model.gamma_ == model.expansion_.kernel.gamma


def test_inside_pipelines_and_searches():
    X, y = load_iris(return_X_y=True)
    labels = np.array(["a", "b", "c"])[y]
    search = GridSearchCV(
        make_pipeline(StandardScaler(), Reduced(SVC())),
        {"reduced__max_vectors": [6, 20], "reduced__estimator__C": [1.0, 10.0]},
        cv=3,
    ).fit(X, labels)
    assert search.best_score_ > 0.9
    assert search.best_estimator_[-1].n_vectors_ <= 20
    around = Reduced(make_pipeline(StandardScaler(), SVC()), max_vectors=9).fit(X, labels)
    assert around.n_vectors_ == 9
    assert set(around.predict(X)) == {"a", "b", "c"}
    assert around.score(X, labels) > 0.9


def test_transformers_and_weights():
    X, y = make_regression(60, 3, random_state=0)
    components = Reduced(KernelPCA(2, kernel="rbf", gamma=0.1), max_loss=0.01)
    assert components.fit_transform(X).shape == (60, 2)
    weight = np.where(np.arange(60) < 30, 1.0, 1e-6)
    weighted = Reduced(SVR(C=100.0)).fit(X, y, sample_weight=weight)
    plain = Reduced(SVR(C=100.0)).fit(X, y)
    assert not np.allclose(weighted.predict(X), plain.predict(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "other"}, "method"),
        ({"max_vectors": 0}, "max_vectors"),
        ({"max_loss": -1.0}, "max_loss"),
        ({"max_bytes": 0}, "max_bytes"),
        ({"min_score": "high"}, "min_score"),
    ],
)
def test_bad_options(options, message):
    X, y = make_banana(30, random_state=0)
    with pytest.raises(ValueError, match=message):
        Reduced(SVC(), **options).fit(X, y)


def test_metadata_are_routed():
    X, y = make_banana(120, random_state=0)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, 120)
    wanted = Reduced(SVC(), max_vectors=8).fit(X, y, sample_weight=weight)
    with sklearn.config_context(enable_metadata_routing=True):
        inner = SVC().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        model = Reduced(inner, max_vectors=8).fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(model.decision_function(X), wanted.decision_function(X))
        assert model.score(X, y, sample_weight=weight) == wanted.estimator_.score(X, y, sample_weight=weight)
        with pytest.raises(UnsetMetadataPassedError):
            Reduced(SVC(), max_vectors=8).fit(X, y, sample_weight=weight)
        scores = cross_validate(model, X, y, cv=3, params={"sample_weight": weight})["test_score"]
    assert np.isfinite(scores).all()
