"""A path is cross-validation at each size: compared with scikit-learn's, and independent of the processes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

import slimsvm
from slimsvm import (
    EmpiricalFeatureMap,
    EmpiricalSVC,
    FixedSizeLSSVC,
    GreedyLSSVC,
    GreedyLSSVR,
    MatchingPursuitSVC,
    Reduced,
    VectorPath,
    ZeroNormSVC,
    vector_path,
)
from slimsvm.budget import stored_bytes
from slimsvm.datasets import make_banana
from slimsvm.evaluation import fitted_expansion, folds_for, full_model, size_parameter
from slimsvm.path import within_one_error

X, Y = make_banana(160, random_state=0)
TARGET = np.sin(2 * X[:, 0]) + X[:, 1]


def with_a_size():
    """Every public estimator that predicts and has a size, at its defaults."""
    for name in slimsvm.__all__:
        kind = getattr(slimsvm, name)
        if not (isinstance(kind, type) and hasattr(kind, "predict")):
            continue
        estimator = Reduced(SVC()) if kind is Reduced else kind()
        if any(size in estimator.get_params(deep=False) for size in ("n_vectors", "max_vectors")):
            yield pytest.param(estimator, id=name)


def test_the_library_has_many_estimators_with_a_size():
    assert len(list(with_a_size())) >= 13


@pytest.mark.parametrize("estimator", list(with_a_size()))
def test_every_estimator_with_a_size_has_a_path(estimator):
    path = vector_path(
        estimator, X, Y if is_classifier(estimator) else TARGET, sizes=[12, 3], cv=3, random_state=0
    )
    assert path.sizes.tolist() == [3, 12]
    assert (path.n_vectors <= path.sizes).all()
    assert path.fold_scores.shape == (2, 3)
    assert np.isfinite(path.fold_scores).all()
    assert (path.latency_us > 0).all()
    # two features, one output, one width or two
    widths = path.bytes / 8 - (3 * path.n_vectors + 1)
    assert ((widths > 1 - 1e-9) & (widths < 2 + 1e-9)).all()
    assert path.chosen in (0, 1)


def test_it_is_cross_validation_at_each_size():
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    estimator = make_pipeline(StandardScaler(), GreedyLSSVC(C=10.0))
    path = vector_path(estimator, X, Y, sizes=[2, 20], cv=folds, scoring="roc_auc")
    for i, size in enumerate(path.sizes):
        model = estimator.set_params(greedylssvc__max_vectors=int(size))
        wanted = cross_validate(model, X, Y, cv=folds, scoring="roc_auc", return_estimator=True)
        np.testing.assert_array_equal(path.fold_scores[i], wanted["test_score"])
        fitted = [fold[-1] for fold in wanted["estimator"]]
        assert path.n_vectors[i] == np.mean([model.n_vectors_ for model in fitted])
        assert path.bytes[i] == np.mean([stored_bytes(model.expansion_) for model in fitted])
        assert path.scores[i] == pytest.approx(wanted["test_score"].mean())
        assert path.errors[i] == pytest.approx(wanted["test_score"].std(ddof=1) / 2)
    assert path.score_name == "roc auc"


@pytest.mark.parametrize("estimator", [FixedSizeLSSVC(), make_pipeline(StandardScaler(), FixedSizeLSSVC())])
def test_the_same_for_any_number_of_processes(estimator):
    """Also where the estimator draws random numbers and was given no seed."""
    runs = [
        vector_path(estimator, X, Y, sizes=[4, 16], cv=3, n_jobs=n_jobs, random_state=5)
        for n_jobs in (None, 1, 2)
    ]
    for run in runs[1:]:
        for field in dataclasses.fields(VectorPath):
            if field.name != "latency_us":
                np.testing.assert_array_equal(getattr(run, field.name), getattr(runs[0], field.name))


def test_a_seed_of_the_estimator_stays():
    estimator = FixedSizeLSSVC(random_state=7)
    paths = [vector_path(estimator, X, Y, sizes=[5], cv=KFold(3), random_state=seed) for seed in (0, 1)]
    np.testing.assert_array_equal(paths[0].fold_scores, paths[1].fold_scores)


def test_the_estimator_is_left_as_it_was():
    estimator = GreedyLSSVC()
    vector_path(estimator, X, Y, sizes=[2], cv=2)
    assert estimator.max_vectors is None
    with pytest.raises(NotFittedError):
        estimator.predict(X)


def test_default_sizes_are_powers_of_two_up_to_the_rows():
    path = vector_path(MatchingPursuitSVC(), X[:24], Y[:24], cv=2, random_state=0)
    assert path.sizes.tolist() == [1, 2, 4, 8]


def test_rows_of_every_kind():
    wanted = vector_path(GreedyLSSVC(gamma=0.5), X, Y, sizes=[8], cv=3, random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b"])
    for rows in (X.tolist(), frame, sparse.csr_array(X)):
        found = vector_path(GreedyLSSVC(gamma=0.5), rows, Y, sizes=[8], cv=3, random_state=0)
        np.testing.assert_allclose(found.fold_scores, wanted.fold_scores)


def test_a_precomputed_kernel_is_split_both_ways():
    wanted = vector_path(GreedyLSSVC(kernel="linear"), X, Y, sizes=[4], cv=3, random_state=0)
    found = vector_path(GreedyLSSVC(kernel="precomputed"), X @ X.T, Y, sizes=[4], cv=3, random_state=0)
    np.testing.assert_allclose(found.fold_scores, wanted.fold_scores)


def test_several_targets():
    path = vector_path(GreedyLSSVR(), X, np.column_stack([TARGET, -TARGET]), sizes=[4], cv=3, random_state=0)
    assert path.score_name == "R²"
    assert path.bytes[0] == 8 * (path.n_vectors[0] * 4 + 3)


def test_the_smallest_within_one_standard_error_of_the_best():
    scores = np.array([0.5, 0.80, 0.86, 0.90, 0.89])
    assert within_one_error(scores, np.array([0.9, 0.9, 0.9, 0.05, 0.9])) == 2
    assert within_one_error(scores, np.zeros(5)) == 3
    assert within_one_error(np.full(3, 0.7), np.zeros(3)) == 0


def test_one_fold_has_no_error():
    path = vector_path(GreedyLSSVC(), X, Y, sizes=[2, 8], cv=[(np.arange(100), np.arange(100, 160))])
    assert (path.errors == 0).all()
    assert path.chosen == path.best


def test_a_full_model_is_cross_validation():
    folds = folds_for(SVC(), X, Y, 3, 0)
    full = full_model(make_pipeline(StandardScaler(), SVC(C=10.0)), X, Y, cv=3, random_state=0)
    wanted = cross_validate(
        make_pipeline(StandardScaler(), SVC(C=10.0)), X, Y, cv=folds, return_estimator=True
    )
    assert full.score == pytest.approx(wanted["test_score"].mean())
    assert full.error == pytest.approx(wanted["test_score"].std(ddof=1) / np.sqrt(3))
    assert full.n_vectors == pytest.approx(
        np.mean([len(model[-1].support_) for model in wanted["estimator"]])
    )
    searched = full_model(GridSearchCV(SVC(), {"C": [1.0, 10.0]}), X, Y, cv=folds)
    assert 0 < searched.n_vectors <= len(X)


# What the size is


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (GreedyLSSVC(), "max_vectors"),
        (Reduced(SVC()), "max_vectors"),
        (Reduced(GreedyLSSVC()), "max_vectors"),
        (make_pipeline(StandardScaler(), EmpiricalSVC()), "empiricalsvc__max_vectors"),
        (GridSearchCV(GreedyLSSVC(), {"C": [1.0, 10.0]}), "estimator__max_vectors"),
        (TransformedTargetRegressor(GreedyLSSVR()), "regressor__max_vectors"),
    ],
)
def test_the_size_is_found(estimator, name):
    assert size_parameter(estimator) == name
    y = Y if is_classifier(estimator) else TARGET
    path = vector_path(estimator, X, y, sizes=[5], cv=2, random_state=0)
    assert path.n_vectors[0] <= 5


@pytest.mark.parametrize("estimator", [SVC(), SVR(), ZeroNormSVC(), make_pipeline(StandardScaler(), SVC())])
def test_no_size_is_an_error_that_names_the_way_out(estimator):
    name = type(estimator).__name__
    with pytest.raises(ValueError, match=rf"{name} has no size to vary.*slimsvm\.Reduced\({name}"):
        vector_path(estimator, X, Y)


def test_two_sizes_are_an_error():
    both = make_pipeline(EmpiricalFeatureMap(), GreedyLSSVC())
    with pytest.raises(ValueError, match="Pipeline has several sizes"):
        vector_path(both, X, Y)


def test_a_model_that_is_no_expansion():
    model = make_pipeline(EmpiricalFeatureMap(), LinearSVC())
    with pytest.raises(TypeError, match="Pipeline has no expansion_"):
        vector_path(model, X, Y, sizes=[4], cv=2)
    assert fitted_expansion(Reduced(SVC(), max_vectors=4).fit(X, Y)).n_vectors == 4


@pytest.mark.parametrize("sizes", [[], [0, 3], [1.5], ["a"], [True]])
def test_sizes_that_are_none(sizes):
    with pytest.raises(ValueError, match="sizes must be whole numbers of at least 1"):
        vector_path(GreedyLSSVC(), X, Y, sizes=sizes)


def test_it_prints_as_a_table():
    path = vector_path(GreedyLSSVC(), X, Y, sizes=[2, 8], cv=2, random_state=0)
    lines = str(path).splitlines()
    assert len(lines) == 3
    assert lines[1 + path.chosen].endswith("<- chosen")
    with pytest.raises(dataclasses.FrozenInstanceError):
        path.chosen = 0


def test_a_path_is_shown_as_text_a_table_and_html():
    path = vector_path(GreedyLSSVC(), X, Y, sizes=[2, 8], cv=2, random_state=0)
    assert repr(path).startswith("VectorPath(sizes 2, 8; chosen ")
    frame = path.to_frame()
    assert frame.index.tolist() == [2, 8]
    assert frame["chosen"].sum() == 1
    np.testing.assert_array_equal(frame["accuracy"], path.scores)
    assert path._repr_html_().count("<tr") == 3
