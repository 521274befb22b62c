"""Vectors and relevance as they are drawn, and scikit-learn's picture of decisions with our estimators."""

from __future__ import annotations

import subprocess
import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits, load_iris
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, OneClassSVM

from slimsvm import (
    CompactSVC,
    GreedyLSSVC,
    GreedyLSSVR,
    KernelExpansion,
    RelevanceDisplay,
    SparseKernelDensity,
    VectorsDisplay,
    feature_relevance,
    reduce,
)
from slimsvm.adapters.whole import as_model
from slimsvm.datasets import make_banana
from slimsvm.kernels import RBF, Laplacian
from slimsvm.plotting.shown import nearest_rows
from slimsvm.projection import Projection

DIGITS, DIGIT = load_digits(return_X_y=True)
DIGITS, DIGIT = DIGITS[:300], DIGIT[:300]
IRIS, SPECIES = load_iris(return_X_y=True, as_frame=True)
SPECIES = load_iris().target_names[SPECIES]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def texts(ax):
    return [text.get_text() for text in ax.texts if text.get_text()]


def x_names(display):
    return [tick.get_text() for tick in display.ax_.get_xticklabels()]


def y_names(display):
    return [tick.get_text() for tick in display.ax_.get_yticklabels()]


# Relevance


def test_bars_are_the_shares_sorted_and_named():
    model = GreedyLSSVC(gamma=[0.1, 5.0, 0.3, 0.0], max_vectors=8).fit(IRIS, SPECIES)
    display = RelevanceDisplay.from_estimator(model, IRIS)
    shares = feature_relevance(model, IRIS)
    order = np.argsort(-shares)
    assert y_names(display) == [IRIS.columns[j] for j in order]
    np.testing.assert_allclose([bar.get_width() for bar in display.bars_], shares[order])
    assert display.figure_ is display.ax_.figure
    assert texts(display.ax_)[-1] == "0 %"


def test_what_does_not_fit_is_one_line():
    shares = np.array([0.1, 0.4, 0.3, 0.15, 0.05])
    display = RelevanceDisplay.from_relevance(shares, max_features=2)
    assert y_names(display) == ["x1", "x2", "the other 3 features"]
    assert texts(display.ax_) == ["40 %", "30 %", "30 % together"]
    assert y_names(display.plot(max_features=4))[-1] == "the other feature"
    assert y_names(display.plot(max_features=5)) == ["x1", "x2", "x3", "x0", "x4"]
    axes = plt.subplots()[1]
    assert display.plot(axes).ax_ is axes


def test_pixels_are_a_picture():
    model = SVC().fit(DIGITS, DIGIT)
    display = RelevanceDisplay.from_estimator(model, DIGITS, image_shape=(8, 8))
    np.testing.assert_allclose(display.image_.get_array(), feature_relevance(model, DIGITS).reshape(8, 8))
    named = pd.DataFrame(DIGITS, columns=[f"pixel_{i}_{j}" for i in range(8) for j in range(8)])
    display = RelevanceDisplay.from_estimator(SVC().fit(named, DIGIT), named)
    assert display.image_shape == (8, 8)
    display.figure_.canvas.draw()
    colours = RelevanceDisplay.from_relevance(np.full(12, 1 / 12), image_shape=(2, 2, 3))
    np.testing.assert_allclose(colours.image_.get_array(), 0.25)


def test_shapes_names_and_numbers_that_do_not_fit():
    shares = np.full(4, 0.25)
    with pytest.raises(ValueError, match=r"as many numbers as the 4 features, got \(2, 3\)"):
        RelevanceDisplay.from_relevance(shares, image_shape=(2, 3))
    with pytest.raises(ValueError, match="feature_names has 2 entries, but there are 4 features"):
        RelevanceDisplay.from_relevance(shares, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="max_features must be at least 1"):
        RelevanceDisplay.from_relevance(shares, max_features=0)


# Vectors as pictures


def tile(display, place, shape=(8, 8)):
    """One picture of the mosaic."""
    mosaic = np.asarray(display.image_.get_array().filled(np.nan))
    across = min(10, len(display.order_))
    step_x = mosaic.shape[1] // across
    step_y = mosaic.shape[0] // -(-len(display.order_) // across)
    top, left = place // across * step_y, place % across * step_x
    return mosaic[top : top + shape[0], left : left + shape[1]]


@pytest.mark.parametrize("scaled", [False, True])
def test_pictures_show_raw_vectors_class_by_class(scaled):
    last = GreedyLSSVC(max_vectors=15)
    model = (make_pipeline(StandardScaler(), last) if scaled else last).fit(DIGITS, DIGIT)
    display = VectorsDisplay.from_estimator(model, DIGITS, image_shape=(8, 8))
    raw = DIGITS[last.support_]
    for place, vector in enumerate(display.order_):
        np.testing.assert_allclose(tile(display, place).ravel(), raw[vector], atol=1e-9)
    spoken_for = last.expansion_.coef[display.order_].argmax(axis=1)
    assert (np.diff(spoken_for) >= 0).all()
    labels = texts(display.ax_)
    assert labels[0].startswith(f"{spoken_for[0]}: ")
    assert display.image_.get_clim() == (0.0, 16.0)
    assert f"{len(display.order_)} vectors" == display.ax_.get_title(loc="left")
    display.figure_.canvas.draw()


def test_the_largest_coefficients_are_drawn_first():
    model = SVC().fit(DIGITS[DIGIT < 2], DIGIT[DIGIT < 2])
    display = VectorsDisplay.from_estimator(model, image_shape=(8, 8), max_vectors=4)
    coef = model.dual_coef_[0]
    assert sorted(np.abs(coef[display.order_])) == sorted(np.abs(coef))[-4:]
    assert (np.sign(coef[display.order_]) == np.sort(np.sign(coef[display.order_]))[::-1]).all()
    assert display.ax_.get_title(loc="left") == f"4 of {len(coef)} vectors, with the largest coefficients"
    assert "+ 1, \u2212 0" in display.ax_.get_xlabel()
    with pytest.raises(ValueError, match="max_vectors must be at least 1"):
        display.plot(max_vectors=0)


def test_colour_pictures():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 255, (40, 27))
    display = VectorsDisplay.from_estimator(
        SVC().fit(X, X[:, 0] > 127), X, image_shape=(3, 3, 3), max_vectors=5
    )
    mosaic = display.image_.get_array()
    assert mosaic.shape[2] == 3
    assert mosaic.min() >= 0
    assert mosaic.max() <= 1
    display.figure_.canvas.draw()


def test_pre_images_are_mapped_to_the_vectors_and_look_like_rows():
    model = CompactSVC(metric="linear", rank=6, max_vectors=10, random_state=0).fit(DIGITS, DIGIT)
    f = model.expansion_
    assert f.projection is not None
    with_rows = VectorsDisplay.from_estimator(model, DIGITS, image_shape=(8, 8))
    without = VectorsDisplay.from_estimator(model, image_shape=(8, 8))
    for display in (with_rows, without):
        assert display.shown.what == "pre-images"
        images = f.projection(display.shown.values)
        distances = np.linalg.norm(images[:, None] - f.vectors, axis=2)
        np.testing.assert_array_equal(distances.argmin(axis=1), np.arange(f.n_vectors))
    # white where all rows are white, which nothing but X can tell
    never = DIGITS.max(axis=0) == 0
    np.testing.assert_allclose(with_rows.shown.values[:, never], 0.0, atol=1e-9)
    assert np.abs(without.shown.values[:, never]).max() > 0
    assert "points that the projection maps to the vectors" in with_rows.ax_.get_title(loc="left")


# Vectors as a table


def test_a_table_has_values_by_feature_and_coefficients_by_class():
    model = GreedyLSSVC(max_vectors=6).fit(IRIS, SPECIES)
    display = VectorsDisplay.from_estimator(model, IRIS)
    assert x_names(display) == [*IRIS.columns, *model.classes_]
    np.testing.assert_allclose(display.coef_.get_array(), model.expansion_.coef[display.order_])
    shades = (model.support_vectors_[display.order_] - IRIS.mean().to_numpy()) / IRIS.std(ddof=0).to_numpy()
    np.testing.assert_allclose(display.values_.get_array(), shades, atol=1e-9)
    assert f"{model.support_vectors_[display.order_[0], 0]:.2f}" in texts(display.ax_)
    assert y_names(display) == [str(j) for j in display.order_]
    display.figure_.canvas.draw()


def test_votes_of_pairs_are_counted_for_classes():
    model = SVC().fit(IRIS, SPECIES)
    display = VectorsDisplay.from_estimator(model, IRIS)
    assert x_names(display)[-3:] == list(model.classes_)
    readout, coef = as_model(model).readout, as_model(model).expansion.coef
    np.testing.assert_allclose(display.coef, coef @ readout.class_sums)


def mixed_table():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {"size": rng.normal(10, 3, 80), "colour": rng.choice(["red", "blue"], 80), "noise": rng.random(80)}
    )
    y = np.where((frame["size"] > 10) ^ (frame["colour"] == "red"), "yes", "no")
    columns = make_column_transformer((StandardScaler(), ["size", "noise"]), (OneHotEncoder(), ["colour"]))
    return frame, make_pipeline(columns, GreedyLSSVC(max_vectors=5)).fit(frame, y)


def test_categories_are_columns_of_the_vectors_and_words_in_rows():
    frame, model = mixed_table()
    display = VectorsDisplay.from_estimator(model, frame)
    assert x_names(display) == ["size", "noise", "colour = blue", "colour = red", "+ yes, \u2212 no"]
    rows = frame.iloc[model[-1].support_]
    np.testing.assert_allclose(display.shown.values[:, 0].astype(float), rows["size"])
    np.testing.assert_array_equal(display.shown.values[:, 3], rows["colour"] == "red")
    display = VectorsDisplay.from_estimator(model, frame, show="rows")
    # vectors that are rows are nearest to themselves
    np.testing.assert_array_equal(display.shown.numbers, model[-1].support_)
    assert x_names(display)[:3] == ["size", "colour", "noise"]
    assert {"red", "blue"} & set(texts(display.ax_))
    display.figure_.canvas.draw()


def test_wide_sparse_vectors_show_what_matters():
    rng = np.random.default_rng(0)
    X = sparse.random_array((60, 5000), density=0.01, random_state=rng, format="csr")
    X = sparse.csr_array(sparse.hstack([X, rng.standard_normal((60, 1)) * 5]))
    model = GreedyLSSVC(max_vectors=5).fit(X, X[:, [5000]].toarray().ravel() > 0)
    for display in (
        VectorsDisplay.from_estimator(model, X, max_features=3),
        VectorsDisplay.from_estimator(model, X, max_features=3, show="rows"),
    ):
        assert x_names(display)[0] == "x5000"
        assert display.shown.values.shape == (5, 3)
        assert "3 of 5,001 features, those that matter most" in display.ax_.get_title(loc="left")
        np.testing.assert_allclose(display.shown.values[:, 0], X[model.support_][:, [5000]].toarray().ravel())


@pytest.mark.parametrize("kernel", [RBF([0.5, 3.0, 0.2]), Laplacian([0.5, 3.0, 0.2])])
@pytest.mark.parametrize("projected", [False, True])
@pytest.mark.parametrize("thin", [False, True])
def test_nearest_rows_have_the_largest_kernel_values(kernel, projected, thin):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((50, 3)) * (rng.random((50, 3)) < 0.6)
    projection = Projection(rng.standard_normal((3, 3)), rng.standard_normal(3)) if projected else None
    f = KernelExpansion(kernel, rng.standard_normal((4, 3)), rng.standard_normal(4), 0.0, projection)
    images = X if projection is None else projection(X)
    found = nearest_rows(as_model(f), sparse.csr_array(X) if thin else X)
    np.testing.assert_array_equal(found, kernel(images, f.vectors).argmax(axis=0))


def test_rows_behind_a_scaler_are_found():
    rows = IRIS.to_numpy()
    model = make_pipeline(StandardScaler(), GreedyLSSVC(max_vectors=7)).fit(rows, SPECIES)
    np.testing.assert_array_equal(rows[nearest_rows(as_model(model), rows)], rows[model[-1].support_])


def test_every_kind_of_model_can_be_drawn():
    X, y = make_banana(60, random_state=0)
    value = X[:, 0] ** 2
    kernel_matrix = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    cases = [
        (GreedyLSSVR(max_vectors=4).fit(X, value), "value"),
        (GreedyLSSVR(max_vectors=4).fit(X, np.column_stack([value, value])), "target 1"),
        (OneClassSVM().fit(X), "inlier"),
        (SparseKernelDensity(bandwidth=0.7).fit(X), "density"),
        (GaussianProcessRegressor(optimizer=None).fit(X[:10], value[:10]), "value"),
        (reduce(SVC().fit(X, y), X, y), None),
        (GreedyLSSVC(kernel="poly", max_vectors=4).fit(X, y), None),
        (as_model(SVC().fit(X, y)), None),
        (KernelExpansion(RBF(1.0), X[:3], [1.0, 2.0, -1.0], 0.0), "output0"),
        (GreedyLSSVC(kernel="precomputed", max_vectors=4).fit(kernel_matrix, y), None),
    ]
    for model, name in cases:
        display = VectorsDisplay.from_estimator(model, max_features=1)
        assert name is None or x_names(display)[-1] == name
        display.figure_.canvas.draw()
        plt.close("all")


def test_a_projections_image_and_rows_to_look_for():
    X, y = make_banana(80, random_state=0)
    model = CompactSVC(metric="linear", max_vectors=4, random_state=0).fit(X, y)
    display = VectorsDisplay.from_estimator(model, X)
    assert display.shown.what == "rows"
    np.testing.assert_array_equal(display.shown.values, X[display.shown.numbers])
    display = VectorsDisplay.from_estimator(model, show="vectors")
    assert x_names(display)[0] == "dimension 0"
    np.testing.assert_allclose(display.shown.values, model.support_vectors_)
    with pytest.raises(ValueError, match="show='rows' looks for the nearest rows of X: give X"):
        VectorsDisplay.from_estimator(model, show="rows")
    with pytest.raises(ValueError, match="show must be one of auto, vectors, pre-images, rows"):
        VectorsDisplay.from_estimator(model, show="prototypes")


def test_a_model_without_vectors_says_so():
    empty = KernelExpansion(RBF(1.0), np.empty((0, 2)), np.empty((0, 1)), 1.0)
    with pytest.raises(ValueError, match="the model has no vectors to draw"):
        VectorsDisplay.from_estimator(empty)


def test_without_matplotlib():
    code = """
import sys
sys.modules["matplotlib"] = None
import slimsvm
from slimsvm.kernels import RBF
f = slimsvm.KernelExpansion(RBF(1.0), [[0.0], [1.0]], [1.0, 2.0], 0.0)
for display in (slimsvm.VectorsDisplay, slimsvm.RelevanceDisplay):
    try:
        display.from_estimator(f)
    except ImportError as error:
        print(error)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines() == [
        f"{name} draws with matplotlib, which is not installed: pip install 'slimsvm[plot]'."
        for name in ("VectorsDisplay", "RelevanceDisplay")
    ]


# scikit-learn's own picture


@pytest.mark.parametrize("response", ["predict", "decision_function", "predict_proba", "auto"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("labels", [int, str])
def test_decision_boundaries_are_drawn_by_scikit_learn(response, n_classes, labels):
    X, y = make_banana(90, random_state=0)
    if n_classes == 3:
        y = np.where(X[:, 0] > 0.5, 2, y)
    y = y.astype(labels)
    models = [CompactSVC(max_vectors=4, random_state=0), GreedyLSSVC(max_vectors=8)]
    models.append(make_pipeline(StandardScaler(), GreedyLSSVC(max_vectors=8)))
    for model in models:
        model.fit(X, y)
        if response == "predict_proba" and not hasattr(model, "predict_proba"):
            continue
        display = DecisionBoundaryDisplay.from_estimator(
            model, X, response_method=response, grid_resolution=15, eps=0.3
        )
        grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
        if response == "predict":
            codes = np.searchsorted(model.classes_, model.predict(grid))
            np.testing.assert_array_equal(np.asarray(display.response).ravel(), codes)
        elif response == "decision_function":
            np.testing.assert_allclose(
                display.response.reshape(225, -1).squeeze(), model.decision_function(grid)
            )
        plt.close("all")


def test_values_are_drawn_by_scikit_learn():
    X, _ = make_banana(60, random_state=0)
    model = GreedyLSSVR(max_vectors=8).fit(X, X[:, 0])
    display = DecisionBoundaryDisplay.from_estimator(model, X, grid_resolution=10)
    assert display.response.shape == (10, 10)
