"""Which features matter, by laws: what does not matter gets little, units and order do not count."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from slimsvm import CompactSVC, GreedyLSSVR, KernelExpansion, Model, TableEncoder, feature_relevance
from slimsvm.inputs import Column, Inputs
from slimsvm.kernels import RBF, FunctionKernel, Laplacian, Linear, Polynomial, Precomputed
from slimsvm.projection import Projection
from slimsvm.readout import FeaturesReadout

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 4)) * [1.0, 3.0, 0.1, 20.0] + [5.0, 0.0, -2.0, 900.0]
P = RNG.standard_normal((2, 4))
COEF = RNG.standard_normal((6, 3))
MODELS = {
    "rbf": KernelExpansion(RBF(0.3), X[:6], COEF, np.zeros(3)),
    "rbf, a width per feature": KernelExpansion(RBF([0.1, 2.0, 30.0, 0.0]), X[:6], COEF, np.zeros(3)),
    "rbf, projection": KernelExpansion(RBF([2.0, 0.5]), X[:6, :2], COEF, np.zeros(3), Projection(P, [0.0, 1.0])),
    "laplacian": KernelExpansion(Laplacian([0.1, 2.0, 3.0, 0.5]), X[:6], COEF, np.zeros(3)),
    "laplacian, projection": KernelExpansion(
        Laplacian(0.4), X[:6, :2], COEF, np.zeros(3), Projection(P, [0.0, 1.0])
    ),
    "linear": KernelExpansion(Linear(), X[:6], COEF, np.zeros(3)),
}  # fmt: skip


def pairs(values):
    """All ordered pairs of rows: the first and the second of each."""
    n = len(values)
    return np.repeat(values, n, axis=0), np.tile(values, (n, 1))


@pytest.mark.parametrize("name", [name for name in MODELS if "laplacian" not in name])
def test_shares_of_the_mean_squared_distance(name):
    """Letting one feature vary alone, the mean squared distance of the images is its share."""
    f = MODELS[name]
    left, right = pairs(X)
    alone = []
    for j in range(4):
        difference = np.zeros_like(left)
        difference[:, j] = left[:, j] - right[:, j]
        if isinstance(f.kernel, Linear):
            image = difference @ (f.vectors.T @ f.coef)
        elif f.projection is None:
            image = difference * np.sqrt(f.kernel.widths(4))
        else:
            image = difference @ f.projection.matrix.T * np.sqrt(f.kernel.widths(2))
        alone.append((image**2).sum(axis=1).mean())
    np.testing.assert_allclose(feature_relevance(f, X), alone / np.sum(alone))


@pytest.mark.parametrize("name", MODELS)
def test_shares_sum_to_one_and_follow_the_columns(name):
    f = MODELS[name]
    shares = feature_relevance(f, X)
    assert shares.shape == (4,)
    assert shares.min() >= 0
    assert shares.sum() == pytest.approx(1.0)
    order = [2, 0, 3, 1]
    widths = getattr(f.kernel, "gamma", None)
    kernel = (
        type(f.kernel)(np.array(widths)[order])
        if isinstance(widths, tuple) and f.projection is None
        else f.kernel
    )
    projection = f.projection and Projection(f.projection.matrix[:, order], f.projection.shift)
    vectors = f.vectors[:, order] if f.projection is None else f.vectors
    moved = KernelExpansion(kernel, vectors, f.coef, f.intercept, projection)
    np.testing.assert_allclose(feature_relevance(moved, X[:, order]), shares[order])
    # a copy of every row changes no spread, nor does a shift of all
    np.testing.assert_allclose(feature_relevance(f, np.vstack([X, X])), shares)
    np.testing.assert_allclose(feature_relevance(f, X + np.array([1.0, -7.0, 3.0, 100.0])), shares)


@pytest.mark.parametrize("name", MODELS)
def test_sparse_rows_count_as_dense_ones_do(name, monkeypatch):
    thin = X * (RNG.random(X.shape) < 0.3)
    wanted = feature_relevance(MODELS[name], thin)
    rows = sparse.csr_array(thin)
    monkeypatch.setattr(type(rows), "toarray", lambda *_: pytest.fail("made dense"))
    np.testing.assert_allclose(feature_relevance(MODELS[name], rows), wanted)
    np.testing.assert_allclose(feature_relevance(MODELS[name], rows.tocsc()), wanted)


def test_sparse_rows_behind_a_shift_stay_sparse():
    columns = tuple(Column(j, shift=1.0 + j, scale=2.0) for j in range(4))
    model = Model(Inputs(4, columns=columns), MODELS["rbf"], FeaturesReadout())
    wide = sparse.random_array((40, 4), density=0.5, random_state=np.random.default_rng(1)).tocsr()
    wanted = feature_relevance(model, wide.toarray())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(wide), "toarray", lambda *_: pytest.fail("made dense"))
        np.testing.assert_allclose(feature_relevance(model, wide), wanted)


def test_laplacian_takes_mean_absolute_deviations():
    f = MODELS["laplacian"]
    wanted = np.array(f.kernel.gamma) * np.abs(X - X.mean(axis=0)).mean(axis=0)
    np.testing.assert_allclose(feature_relevance(f, X), wanted / wanted.sum())


def test_without_rows_the_vectors_are_the_rows():
    for name in ("rbf", "laplacian", "linear"):
        np.testing.assert_array_equal(feature_relevance(MODELS[name]), feature_relevance(MODELS[name], X[:6]))


def noisy(n=400, seed=0):
    """Two features that decide and three that do not."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, 5))
    return rows, np.where(rows[:, 0] * rows[:, 1] > 0, "same", "other")


@pytest.mark.parametrize("metric", ["per_feature", "linear"])
def test_what_does_not_matter_gets_little(metric):
    rows, y = noisy()
    model = CompactSVC(metric=metric, random_state=0).fit(rows, y)
    shares = feature_relevance(model, rows)
    assert shares[:2].min() > 0.2
    assert shares[2:].max() < 0.05


def test_units_do_not_matter():
    rows, y = noisy()
    units = np.array([1e-3, 1.0, 60.0, 1e6, 0.5])
    wanted = None
    for X_in_units in (rows, rows * units):
        model = make_pipeline(StandardScaler(), SVC()).fit(X_in_units, y)
        shares = feature_relevance(model, X_in_units)
        np.testing.assert_allclose(shares, 0.2, rtol=1e-6)  # one width for all, on standardised columns
        learnt = feature_relevance(CompactSVC(max_vectors=4, random_state=0).fit(X_in_units, y), X_in_units)
        wanted = learnt if wanted is None else wanted
        np.testing.assert_allclose(learnt, wanted, atol=0.1)  # another fit


def table():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "size": rng.normal(10, 3, 200),
            "colour": rng.choice(["red", "blue", "green"], 200),
            "noise": rng.random(200),
        }
    )
    y = (frame["size"] > 10) ^ (frame["colour"] == "red")
    return frame, y.to_numpy()


def table_model(last):
    columns = make_column_transformer((StandardScaler(), ["size", "noise"]), (OneHotEncoder(), ["colour"]))
    return make_pipeline(columns, last)


@pytest.mark.parametrize(
    "last", [SVC(), SVC(kernel="linear"), CompactSVC(metric="linear", max_vectors=6, random_state=0)]
)
def test_categories_count_for_their_column(last):
    frame, y = table()
    model = table_model(last).fit(frame, y)
    shares = feature_relevance(model, frame)
    assert shares.shape == (3,)
    np.testing.assert_allclose(feature_relevance(model, frame[["noise", "size", "colour"]]), shares)
    if last.kernel == "rbf" and isinstance(
        last, SVC
    ):  # var of three indicators, and two standardised columns
        share = frame["colour"].value_counts(normalize=True)
        wanted = np.array([1.0, (share * (1 - share)).sum(), 1.0])
        np.testing.assert_allclose(shares, wanted / wanted.sum())


@pytest.mark.parametrize("kernel", [RBF(1.0), Laplacian(1.0)])
def test_a_column_whose_categories_are_all_treated_alike_does_not_matter(kernel):
    """One of the indicators is always 1, so equal weights for all change nothing."""
    columns = (Column(0), Column(1, "red"), Column(1, "blue"))
    projection = Projection(np.array([[1.0, 5.0, 5.0]]), [0.0])
    f = KernelExpansion(kernel, [[0.0]], [1.0], 0.0, projection)
    rows = np.array([[1.0, "red"], [2.0, "blue"], [4.0, "blue"]], dtype=object)
    shares = feature_relevance(Model(Inputs(2, columns=columns), f, FeaturesReadout()), rows)
    np.testing.assert_allclose(shares, [1.0, 0.0], atol=1e-12)


def test_pixels_that_are_always_white_get_nothing():
    digits, y = load_digits(return_X_y=True)
    model = CompactSVC(max_vectors=10, metric="linear", random_state=0).fit(digits[:300], y[:300])
    shares = feature_relevance(model, digits[:300])
    assert (shares[digits[:300].std(axis=0) == 0] == 0).all()
    with pytest.raises(ValueError, match="X is needed: the vectors lie in the image of a projection"):
        feature_relevance(model)


def test_what_has_no_shares_says_why():
    def product(A, B):
        return A @ B.T

    for kernel in (Polynomial(1.0), FunctionKernel(product)):
        with pytest.raises(ValueError, match="does not weigh features one by one, so they have no shares"):
            feature_relevance(KernelExpansion(kernel, X[:6], COEF, np.zeros(3)), X)
    with pytest.raises(ValueError, match="Precomputed does not weigh features"):
        feature_relevance(KernelExpansion(Precomputed(), [[0], [3]], [1.0, 2.0], 0.0))


def test_what_cannot_be_measured_says_why():
    f = MODELS["rbf"]
    with pytest.raises(ValueError, match="no feature that the model looks at varies in X"):
        feature_relevance(f, X[:1])
    with pytest.raises(ValueError, match="among the model's vectors; give X"):
        feature_relevance(f.take([0]))
    with pytest.raises(ValueError, match="infinite or too large"):
        feature_relevance(f, np.where(X == X[3, 1], np.inf, X))
    with pytest.raises(ValueError, match="X is needed: the model has no vectors"):
        feature_relevance(f.take([]))
    with pytest.raises(ValueError, match="X has no rows"):
        feature_relevance(f, X[:0])
    with pytest.raises(ValueError, match=r"shape \(rows, 4\)"):
        feature_relevance(f, X[:, :2])


def test_missing_values_are_filled_as_the_model_does_it():
    frame, y = table()
    model = make_pipeline(TableEncoder(impute=True), SVC()).fit(frame, y)
    holes = frame.astype({"colour": object})
    holes.loc[3, "colour"] = None
    holes.loc[5, "size"] = np.nan
    np.testing.assert_allclose(feature_relevance(model, holes), feature_relevance(model, frame), atol=0.02)
    with pytest.raises(ValueError, match="X has no value"):
        feature_relevance(MODELS["rbf"], np.where(X == X[3, 1], np.nan, X))


def test_float32_and_far_offsets_lose_nothing():
    f = MODELS["rbf"]
    far = (X + 1e5).astype(np.float32)
    np.testing.assert_allclose(feature_relevance(f, far), feature_relevance(f, far.astype(np.float64)))
    r = GreedyLSSVR(max_vectors=5).fit(X, X[:, 0])
    assert feature_relevance(r, pd.DataFrame(X)).shape == (4,)
