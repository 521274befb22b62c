"""`partial_fit` and `warm_start` of the compact estimators: nothing is forgotten, memory does not grow."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from slimsvm import CompactSVC, CompactSVR, load, save
from slimsvm.budget import stored_bytes
from slimsvm.chunks.sample import Size
from slimsvm.datasets import make_banana, make_ringnorm
from slimsvm.losses import SquaredHinge
from slimsvm.methods.compact import stream as streams
from slimsvm.methods.compact.going_on import Wanted, objective, solved


def parts(n, n_parts):
    return np.array_split(np.arange(n), n_parts)


def streamed(model, X, y, n_parts, **options):
    for rows in parts(len(X), n_parts):
        model.partial_fit(X[rows], y[rows], **options)
    return model


@pytest.fixture
def a_small_memory(monkeypatch):
    monkeypatch.setattr(streams, "REPLAYED", Size(rows=400))


def test_rows_in_parts_are_learnt_as_a_whole():
    X, y = make_banana(800, random_state=0)
    T, t = make_banana(2000, random_state=1)
    whole = CompactSVC(max_vectors=8, metric="one", random_state=0).fit(X, y)
    model = streamed(CompactSVC(max_vectors=8, metric="one", random_state=0), X, y, 8)
    assert model.n_vectors_ <= 8
    assert model.score(T, t) > whole.score(T, t) - 0.02


def test_the_first_part_alone_is_a_fit():
    X, y = make_banana(300, random_state=0)
    whole = CompactSVC(max_vectors=4, random_state=0).fit(X, y)
    part = CompactSVC(max_vectors=4, random_state=0).partial_fit(X, y)
    np.testing.assert_array_equal(whole.expansion_.coef, part.expansion_.coef)
    np.testing.assert_array_equal(whole.predict_proba(X), part.predict_proba(X))


def test_memory_does_not_grow_and_nothing_is_forgotten(a_small_memory):
    X, y = make_banana(4000, random_state=0)
    T, t = make_banana(2000, random_state=1)
    model = streamed(CompactSVC(max_vectors=8, metric="one", random_state=0), X[:2000], y[:2000], 10)
    before = len(pickle.dumps(model._stream))
    # now rows of one class alone
    rest = np.flatnonzero(y[2000:] == 1) + 2000
    for rows in np.array_split(rest, 5):
        model.partial_fit(X[rows], y[rows])
    assert model.score(T, t) > 0.8
    assert len(pickle.dumps(model._stream)) < 1.5 * before
    assert model._stream.seen.sample.n <= 400 + 2 * 256
    assert model._stream.seen.n_rows == 2000 + len(rest)


def test_drift_is_followed(a_small_memory):
    X, y = make_banana(1200, random_state=0)
    model = streamed(CompactSVC(max_vectors=8, metric="one", random_state=0), X[:400], y[:400], 4)
    T, t = make_banana(2000, random_state=1)
    assert model.score(T, t) > 0.8
    # the classes change places
    streamed(model, X[400:], -y[400:], 16)
    assert model.score(T, -t) > 0.75


def test_a_region_that_appears_later_is_learnt(a_small_memory):
    """Vectors that no new row is near feel nothing of it: others are added within the budget, or put there."""
    X, y = make_banana(1600, random_state=0)
    model = streamed(CompactSVC(max_vectors=8, metric="one", random_state=0), X[:600], y[:600], 6)
    rng = np.random.default_rng(1)
    # around the rows of one class that were never there before, a disc of the other one
    far = np.array([20.0, 20.0])
    Z = far + rng.normal(size=(600, 2))
    z = np.where(np.square(Z - far).sum(axis=1) < 1.4, 1, -1)
    for old, new in zip(parts(600, 6), parts(600, 6), strict=True):
        model.partial_fit(np.vstack([X[600 + old], Z[new]]), np.concatenate([y[600 + old], z[new]]))
    assert model.n_vectors_ <= 8
    assert model.score(Z, z) > 0.85
    assert model.score(X[1200:], y[1200:]) > 0.75


@pytest.mark.parametrize("number", ["float32", "int4"])
def test_a_stream_keeps_its_budget_of_bytes(number, a_small_memory):
    X, y = make_banana(900, random_state=0)
    model = CompactSVC(max_bytes=60, number=number, metric="one", random_state=0)
    for step, rows in enumerate(parts(900, 9)):
        # the later, the farther: every part asks for more vectors
        model.partial_fit(X[rows] + 6 * step, y[rows])
        assert stored_bytes(model.expansion_, number) <= 60


@pytest.mark.parametrize("metric", ["one", "per_feature", "linear"])
def test_an_update_never_raises_the_objective(metric):
    X, y = make_ringnorm(900, random_state=0)
    model = CompactSVC(max_vectors=6, metric=metric, random_state=0).fit(X[:200], y[:200])
    weight = np.random.default_rng(0).uniform(0.5, 1.5, 900)
    wanted = Wanted(X, y[:, None].astype(float), weight / weight.mean(), SquaredHinge(), 0.5, 900.0)
    f = model.expansion_
    before = objective(solved(f, wanted), wanted)
    for seed in range(3):
        g = streams.updated(f, wanted, 50, np.random.default_rng(seed))
        assert g.n_vectors == f.n_vectors
        assert objective(g, wanted) <= before
        f, before = g, objective(g, wanted) * (1 + 1e-6)


def test_classes_that_come_one_after_the_other():
    X, y = make_ringnorm(300, random_state=0)
    X, y = np.vstack([X[:, :2], X[:100, :2] + 8.0]), np.concatenate([y, np.full(100, 7)])
    names = np.array(["a", "b", "c"])[np.searchsorted([-1, 1, 7], y)]
    model = CompactSVC(max_vectors=8, random_state=0)
    for name in ("c", "a", "b"):
        rows = names == name
        model.partial_fit(X[rows], names[rows], classes=["a", "b", "c"])
        assert model.classes_.tolist() == ["a", "b", "c"]
        assert (model.predict(X[rows]) == name).mean() > 0.6
        assert model.predict_proba(X[:5]).shape == (5, 3)
    assert (model.predict(X[names == "c"]) == "c").mean() > 0.95


def test_rows_that_come_class_by_class_are_learnt_as_a_whole():
    X, y = make_banana(1500, random_state=0)
    T, t = make_banana(2000, random_state=1)
    order = np.argsort(y, kind="stable")
    whole = CompactSVC(max_vectors=8, metric="one", random_state=0).fit(X, y)
    model = CompactSVC(max_vectors=8, metric="one", random_state=0)
    for rows in np.array_split(order, 20):
        model.partial_fit(X[rows], y[rows], classes=[-1, 1])
    assert model.score(T, t) > whole.score(T, t) - 0.03


def test_what_is_wrong_with_a_part_is_said():
    X, y = make_banana(200, random_state=0)
    model = CompactSVC(max_vectors=4, metric="one", random_state=0)
    with pytest.raises(ValueError, match="name all classes"):
        model.partial_fit(X[y == 1], y[y == 1])
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.partial_fit(X, y)
    before = model.expansion_, model._stream
    with pytest.raises(ValueError, match="label 5"):
        model.partial_fit(X, np.full(200, 5))
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :1], y)
    with pytest.raises(ValueError, match="classes must be those"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="all weights are zero"):
        model.partial_fit(X, y, sample_weight=np.zeros(200))
    assert (model.expansion_, model._stream) == before


def test_given_kernel_values_do_not_come_in_parts():
    X, y = make_banana(40, random_state=0)
    model = CompactSVC(kernel="precomputed")
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit"):
        model.partial_fit(X @ X.T, y)
    assert hasattr(CompactSVC(kernel=lambda A, B: A @ B.T), "partial_fit")


def test_targets_weights_and_names():
    X, _ = make_banana(900, random_state=0)
    y = 50.0 + 10.0 * np.sin(X[:, 0])
    frame = pd.DataFrame(X, columns=["left", "right"])
    model = CompactSVR(max_vectors=6, metric="one", random_state=0)
    for rows in parts(900, 6):
        model.partial_fit(frame.iloc[rows], y[rows], sample_weight=np.full(len(rows), 2.0))
    assert model.score(frame, y) > 0.97
    assert list(model.feature_names_in_) == ["left", "right"]


def test_fit_begins_anew_and_clones_know_nothing():
    X, y = make_banana(300, random_state=0)
    model = CompactSVC(max_vectors=4, metric="one", random_state=0).partial_fit(X, y)
    assert getattr(clone(model), "_stream", None) is None
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        again.partial_fit(X, y).predict(X), clone(model).partial_fit(X, y).partial_fit(X, y).predict(X)
    )
    model.fit(X, y)
    assert not hasattr(model, "_stream")


def test_a_streamed_model_is_saved_as_any_other(tmp_path):
    X, y = make_banana(300, random_state=0)
    model = streamed(CompactSVC(max_vectors=4, metric="one", random_state=0), X, y, 3)
    save(model, tmp_path / "model.slim")
    np.testing.assert_array_equal(load(tmp_path / "model.slim").predict(X), model.predict(X))


@pytest.mark.parametrize("number", [None, "int8"])
def test_a_model_begins_with_the_vectors_of_another(number):
    X, y = make_banana(500, random_state=0)
    first = CompactSVC(max_vectors=6, metric="one", random_state=0).fit(X, y)
    warm = CompactSVC(warm_start=first, number=number, random_state=0).fit(X, y)
    assert warm.n_vectors_ == first.n_vectors_
    assert warm.score(X, y) > first.score(X, y) - 0.02
    assert warm.C_ == first.C_
    for start in (first.model_, first.expansion_):
        again = CompactSVC(warm_start=start, C=first.C_, random_state=0).fit(X, y)
        assert again.n_vectors_ == first.n_vectors_


def test_a_warm_start_is_saved_without_what_it_began_with(tmp_path):
    X, y = make_banana(200, random_state=0)
    first = CompactSVC(max_vectors=3, metric="one", random_state=0).fit(X, y)
    warm = CompactSVC(warm_start=first, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="warm_start=.* cannot be stored"):
        save(warm, tmp_path / "model.slim")
    np.testing.assert_array_equal(load(tmp_path / "model.slim").predict(X), warm.predict(X))


def test_a_projection_goes_on():
    X, y = make_ringnorm(500, random_state=0)
    first = CompactSVC(max_vectors=4, metric="linear", rank=6, random_state=0).fit(X, y)
    assert first.expansion_.projection is not None
    warm = CompactSVC(warm_start=True, random_state=0)
    warm.fit(X, y)  # nothing to begin with: a search
    second = CompactSVC(warm_start=first, random_state=0).fit(X, y)
    assert second.expansion_.projection.rank == 6
    assert second.score(X, y) > first.score(X, y) - 0.02


def test_warm_starts_that_cannot_be():
    X, y = make_banana(200, random_state=0)
    first = CompactSVC(max_vectors=3, metric="one", random_state=0).fit(X[:, :1], y)
    with pytest.raises(ValueError, match="it cannot start this one"):
        CompactSVC(warm_start=first).fit(X, y)
    with pytest.raises(ValueError, match="warm_start"):
        CompactSVC(warm_start=3).fit(X, y)
