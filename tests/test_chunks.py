"""Fits in chunks: the model of `fit` where all rows are in the sample, the optimum on all rows where they are not."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from slimsvm import (
    CompactSVC,
    CompactSVR,
    DataFormatError,
    EmpiricalSVC,
    FixedSizeLSSVC,
    FixedSizeLSSVR,
    GreedyLSSVC,
    GreedyLSSVR,
    MatchingPursuitSVC,
    MatchingPursuitSVR,
)
from slimsvm.chunks import coefficients, passes
from slimsvm.chunks.passes import LocalPasses
from slimsvm.chunks.sample import Size, survey
from slimsvm.datasets import make_banana, make_ringnorm
from slimsvm.losses import Hinge, SquaredHinge
from slimsvm.methods import chunked
from slimsvm.problem import FeatureGram, Problem
from slimsvm.solvers.primal import primal_solution

CLASSIFIERS = [
    FixedSizeLSSVC(n_vectors=15, random_state=0),
    GreedyLSSVC(max_vectors=12, n_candidates=30, random_state=0),
    MatchingPursuitSVC(max_vectors=10, n_candidates=30, random_state=0),
    EmpiricalSVC(max_vectors=20),
    CompactSVC(max_vectors=4, metric="one", random_state=0),
]
REGRESSORS = [
    FixedSizeLSSVR(n_vectors=15, random_state=0),
    GreedyLSSVR(max_vectors=12, n_candidates=30, random_state=0),
    MatchingPursuitSVR(max_vectors=10, n_candidates=30, random_state=0),
    CompactSVR(max_vectors=4, metric="one", random_state=0),
]
SMALL = Size(rows=400)


def named(estimator):
    return type(estimator).__name__


def reader_of(X, y, cuts, weight=None):
    def reader():
        for start, stop in itertools.pairwise(cuts):
            chunk = (X[start:stop], y[start:stop])
            yield chunk if weight is None else (*chunk, weight[start:stop])

    return reader


def on_a_sample(estimator, monkeypatch, size=SMALL):
    monkeypatch.setattr(type(estimator), "_sample_size", size)
    return clone(estimator)


@pytest.fixture(scope="module")
def classes():
    X, y = make_banana(600, random_state=0)
    return X, np.where(y > 0, "yes", "no")


@pytest.fixture(scope="module")
def values():
    X, _ = make_banana(500, random_state=1)
    return X, np.sin(X[:, 0]) + 0.1 * X[:, 1]


@pytest.fixture(scope="module")
def many():
    X, y = make_ringnorm(3000, random_state=0)
    return X[:, :5], y


@pytest.mark.parametrize("estimator", CLASSIFIERS + REGRESSORS, ids=named)
@pytest.mark.parametrize("cuts", [(0, 600), (0, 1, 1, 200, 450, 600)], ids=["one", "several"])
def test_rows_that_fit_into_the_sample_give_the_model_of_fit(estimator, cuts, classes, values):
    X, y = classes if hasattr(estimator, "class_weight") else values
    whole, parts = clone(estimator).fit(X, y), clone(estimator).fit_chunks(reader_of(X, y, cuts))
    np.testing.assert_array_equal(whole.predict(X), parts.predict(X))
    np.testing.assert_array_equal(whole.expansion_.coef, parts.expansion_.coef)
    if hasattr(whole, "support_"):
        np.testing.assert_array_equal(whole.support_, parts.support_)


def test_a_class_may_be_in_the_last_chunk_only(classes):
    X, y = classes
    y = np.where(np.arange(600) >= 500, "late", y)
    model = FixedSizeLSSVC(n_vectors=10, random_state=0)
    whole, parts = clone(model).fit(X, y), clone(model).fit_chunks(reader_of(X, y, (0, 200, 500, 600)))
    assert list(parts.classes_) == ["late", "no", "yes"]
    np.testing.assert_array_equal(whole.expansion_.coef, parts.expansion_.coef)


def test_weights_and_rows_given_twice(classes):
    X, y = classes
    weight = np.arange(600) % 3
    model = EmpiricalSVC(max_vectors=20)
    whole = clone(model).fit(X, y, sample_weight=weight)
    parts = clone(model).fit_chunks(reader_of(X, y, (0, 100, 600), weight))
    rows = np.repeat(np.arange(600), weight)
    twice = clone(model).fit_chunks(reader_of(X[rows], y[rows], (0, 250, len(rows))))
    np.testing.assert_array_equal(whole.expansion_.coef, parts.expansion_.coef)
    np.testing.assert_array_equal(whole.expansion_.coef, twice.expansion_.coef)


def test_sparse_chunks_and_data_frames(classes):
    X, y = classes
    model = FixedSizeLSSVC(n_vectors=10, random_state=0)
    whole = clone(model).fit(X, y)
    csr = clone(model).fit_chunks(reader_of(sparse.csr_array(X), y, (0, 300, 600)))
    np.testing.assert_allclose(csr.decision_function(X), whole.decision_function(X), rtol=1e-9, atol=1e-9)
    frame = pd.DataFrame(X, columns=["left", "right"])
    named_columns = clone(model).fit_chunks(reader_of(frame, y, (0, 300, 600)))
    assert list(named_columns.feature_names_in_) == ["left", "right"]
    np.testing.assert_array_equal(named_columns.predict(frame), whole.predict(X))


def test_float32_stays_only_if_all_chunks_are(classes):
    X, y = classes
    X32 = X.astype(np.float32)
    model = FixedSizeLSSVC(n_vectors=10, random_state=0)
    assert clone(model).fit_chunks(reader_of(X32, y, (0, 300, 600))).expansion_.coef.dtype == np.float32

    def mixed():
        yield X32[:300], y[:300]
        yield X[300:], y[300:]

    assert clone(model).fit_chunks(mixed).expansion_.coef.dtype == np.float64


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=named)
def test_neither_the_order_of_the_rows_nor_the_cuts_change_the_vectors(estimator, many, monkeypatch):
    X, y = many
    order = np.random.default_rng(0).permutation(len(X))
    estimator = on_a_sample(estimator, monkeypatch)
    if estimator.get_params().get("metric"):
        estimator.set_params(gamma=0.5, C=1.0)
    a = clone(estimator).fit_chunks(reader_of(X, y, (0, 900, 3000)))
    b = clone(estimator).fit_chunks(reader_of(X[order], y[order], (0, 10, 2000, 3000)))
    np.testing.assert_allclose(a.expansion_.vectors, b.expansion_.vectors, rtol=1e-9)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), rtol=1e-3, atol=1e-3)
    if hasattr(a, "support_"):
        np.testing.assert_array_equal(X[a.support_], X[order][b.support_])


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=named)
def test_the_bits_do_not_depend_on_the_number_of_threads(estimator, many, monkeypatch):
    X, y = many
    estimator = on_a_sample(estimator, monkeypatch)
    a, b = (
        clone(estimator).set_params(n_jobs=n_jobs).fit_chunks(reader_of(X, y, range(0, 3001, 500)))
        for n_jobs in (1, 3)
    )
    np.testing.assert_array_equal(a.expansion_.coef, b.expansion_.coef)


@pytest.mark.parametrize("weighted", [False, True])
def test_least_squares_on_all_rows_is_the_optimum(many, monkeypatch, weighted):
    X, y = many
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X)) if weighted else np.ones(len(X))
    for estimator, in_space in ((CLASSIFIERS[0], True), (CLASSIFIERS[2], False)):
        model = on_a_sample(estimator, monkeypatch).fit_chunks(reader_of(X, y, (0, 700, 3000), weight))
        f = model.expansion_
        K = f.kernel(f.vectors, X)
        own, signs = f.kernel(f.vectors, f.vectors), np.where(y == model.classes_[1], 1.0, -1.0)[:, None]
        coef, intercept = primal_solution(K, own, signs, weight, 1.0 / model.C, in_space)
        expected = K.T @ coef + intercept
        np.testing.assert_allclose(model.decision_function(X), expected[:, 0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_the_margin_on_all_rows_is_the_optimum(many, monkeypatch, loss, class_weight):
    X, y = many
    model = on_a_sample(EmpiricalSVC(max_vectors=20, loss=loss, class_weight=class_weight), monkeypatch)
    model.fit_chunks(reader_of(X[:2500], y[:2500], (0, 700, 2500)))
    assert model.gap_ <= model.tol
    # the same vectors, solved by the solvers of `fit`
    f = model.expansion_
    H = f.kernel(X[:2500], f.vectors)
    signs = np.where(y[:2500] == model.classes_[1], 1.0, -1.0)[:, None]
    C = np.ones(2500)
    if class_weight:
        for sign in (-1.0, 1.0):
            C[signs[:, 0] == sign] = 2500 / (2 * (signs == sign).sum())
    problem = Problem(FeatureGram(H), signs, Hinge() if loss == "hinge" else SquaredHinge(), C)
    best = model._solve(H, signs, C, None)

    def value(v, b):
        return 0.5 * float((v**2).sum()) + float(C @ problem.loss.value(signs, H @ v + b)[:, 0])

    assert value(f.coef, f.intercept) <= value(H.T @ best.alpha, best.intercept) * (1 + 2e-6)


def test_compact_coefficients_are_those_of_all_rows(many, monkeypatch):
    X, y = many
    model = on_a_sample(CLASSIFIERS[-1], monkeypatch, Size(rows=2200))
    model.fit_chunks(reader_of(X, y, (0, 1000, 3000)))
    f, signs = model.expansion_, np.where(y == model.classes_[1], 1.0, -1.0)[:, None]
    K, own = f.kernel(X, f.vectors), f.kernel(f.vectors, f.vectors)
    slope = SquaredHinge().derivative(signs, K @ f.coef + f.intercept)
    gradient = K.T @ slope + own @ f.coef / model.C_
    size = np.abs(K).T @ np.abs(slope)
    assert np.abs(gradient).max() <= 1e-2 * size.max()


def test_compact_regression_is_solved_on_all_rows(monkeypatch):
    X, _ = make_banana(3000, random_state=3)
    y = 100.0 + 7.0 * np.sin(X[:, 0])
    model = on_a_sample(REGRESSORS[-1], monkeypatch).fit_chunks(reader_of(X, y, (0, 1000, 3000)))
    f = model.expansion_
    K, own = f.kernel(f.vectors, X), f.kernel(f.vectors, f.vectors)
    coef, intercept = primal_solution(K, own, y[:, None], np.ones(3000), 1.0 / model.C_, True)
    np.testing.assert_allclose(model.predict(X), (K.T @ coef + intercept)[:, 0], rtol=1e-4)


@pytest.mark.parametrize("number", ["int8", "float32"])
def test_numbers_that_ship_stay_on_their_grid(many, monkeypatch, number):
    X, y = many
    model = on_a_sample(CLASSIFIERS[-1], monkeypatch).set_params(number=number, max_bytes=400)
    model.fit_chunks(reader_of(X, y, (0, 1000, 3000)))
    assert model.score(X, y) > 0.7
    assert len(np.unique(model.expansion_.coef)) <= 256 or number == "float32"


def test_rare_classes_are_in_the_sample_with_the_weight_of_all_rows(many):
    X, _ = many
    y = np.zeros(len(X), dtype=int)
    y[7::1000] = 1
    found = survey(
        LocalPasses(reader_of(X, y, (0, 1000, 3000)), classify=True), Size(rows=200), classify=True
    )
    sample = found.standing_for_all()
    assert (sample.y == 1).sum() == 3
    assert not found.is_whole
    np.testing.assert_allclose(np.bincount(sample.y, weights=sample.weight), [2997, 3])


def test_more_rows_in_memory_than_are_trained_on_at_once_go_in_chunks(many, monkeypatch, tmp_path):
    X, y = many
    monkeypatch.setattr(chunked, "SAMPLE_ROWS", 1000)
    model = on_a_sample(FixedSizeLSSVC(n_vectors=20, random_state=0), monkeypatch)
    expected = clone(model).fit_chunks(reader_of(X, y, (0, 3000)))
    np.save(tmp_path / "rows.npy", X)
    for rows in (X, np.load(tmp_path / "rows.npy", mmap_mode="r"), sparse.csr_array(X)):
        found = clone(model).fit(rows, y)
        np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-8)
    frame = pd.DataFrame(X, columns=list("abcde"))
    assert list(clone(model).fit(frame, y).feature_names_in_) == list("abcde")


def failing(n_good):
    def reader():
        for _ in range(n_good):
            yield np.eye(2), [0, 1]
        raise OSError("the disk is gone")

    return reader


@pytest.mark.parametrize(
    ("chunks", "words"),
    [
        ([(np.eye(2), [0, 1]), (np.eye(3), [0, 1, 0])], "chunk 1 has 3 features, but chunk 0 has 2"),
        ([(np.eye(2), [0, 1]), (np.eye(2) * np.nan, [0, 1])], "chunk 1: .*NaN"),
        ([(np.eye(2), [0, 1]), (np.eye(2), [0, 1, 1])], "chunk 1: .*inconsistent"),
        ([(np.eye(2), [0, 1]), (np.eye(2), ["a", "b"])], "chunk 1 has labels like 'a'"),
        ([(np.eye(2), [0, 1]), (np.eye(2), [0, 1], [1, -1])], "chunk 1: .*[Nn]egative"),
        ([(np.eye(2),)], "chunk 0: a chunk is"),
        (
            [(pd.DataFrame(np.eye(2), columns=["a", "b"]), [0, 1]),
             (pd.DataFrame(np.eye(2), columns=["b", "a"]), [0, 1])],
            "chunk 1 has the columns b, a, but chunk 0 has the columns a, b",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_chunk_is_said_with_its_name(chunks, words):
    with pytest.raises(DataFormatError, match=words):
        FixedSizeLSSVC(n_vectors=2).fit_chunks(lambda: iter(chunks))


def test_chunks_in_a_list_are_as_those_of_a_reader(classes):
    X, y = classes
    chunks = list(reader_of(X, y, (0, 100, len(X)))())
    for given in (chunks, tuple(chunks)):
        found = FixedSizeLSSVC(n_vectors=10, random_state=0).fit_chunks(given)
        wanted = FixedSizeLSSVC(n_vectors=10, random_state=0).fit_chunks(lambda: iter(chunks))
        np.testing.assert_array_equal(found.decision_function(X), wanted.decision_function(X))
    with pytest.raises(ValueError, match="no rows"):
        FixedSizeLSSVC().fit_chunks([])


def test_readers_that_fail_or_change():
    with pytest.raises(DataFormatError, match="chunk 2: the reader failed with OSError: the disk is gone"):
        FixedSizeLSSVC(n_vectors=2).fit_chunks(failing(2))
    with pytest.raises(TypeError, match="fresh iterator"):
        FixedSizeLSSVC().fit_chunks(iter([(np.eye(2), [0, 1])]))
    with pytest.raises(ValueError, match="no rows"):
        FixedSizeLSSVC().fit_chunks(lambda: iter([]))
    with pytest.raises(ValueError, match="no rows"):
        FixedSizeLSSVC().fit_chunks(lambda: iter([(np.empty((0, 2)), np.empty(0))]))
    with pytest.raises(ValueError, match="at least two classes"):
        FixedSizeLSSVC().fit_chunks(lambda: iter([(np.eye(2), [1, 1])]))
    with pytest.raises(ValueError, match="precomputed"):
        FixedSizeLSSVC(kernel="precomputed").fit_chunks(lambda: iter([(np.eye(2), [0, 1])]))


@pytest.mark.parametrize(
    ("later", "words"),
    [
        ((0, 1000, 3000), "3 chunks of 3000 rows in the first pass and 2 chunks of 3000 rows in this one"),
        (
            (0, 1000, 2000, 2999),
            "3 chunks of 3000 rows in the first pass and 3 chunks of 2999 rows in this one",
        ),
    ],
)
def test_a_reader_must_give_the_same_chunks_each_time(later, words, many, monkeypatch):
    X, y = many
    model = on_a_sample(FixedSizeLSSVC(n_vectors=10), monkeypatch).fit(X[:50], y[:50])
    before = model.expansion_
    given = []

    def reader():
        given.append(1)
        return reader_of(X, y, (0, 1000, 2000, 3000) if len(given) == 1 else later)()

    with pytest.raises(ValueError, match=words):
        model.fit_chunks(reader)
    assert model.expansion_ is before


def test_kernel_values_that_are_too_many_to_be_held_change_nothing(classes, monkeypatch):
    X, y = classes
    model = FixedSizeLSSVC(n_vectors=15, random_state=0)
    expected = clone(model).fit(X, y).decision_function(X)
    monkeypatch.setattr(coefficients, "WHOLE_BYTES", 0)
    monkeypatch.setattr(passes, "HELD_ROWS", 100)
    np.testing.assert_allclose(clone(model).fit(X, y).decision_function(X), expected, atol=1e-9)
