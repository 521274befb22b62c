"""Ctrl-C at every place where Python may hear of it, one after the other: it is heard, and nothing is half done."""

from __future__ import annotations

import gc
import pickle
import threading
from collections import Counter

import numpy as np
import pytest
from sklearn.svm import SVC

import slimsvm
from everyone import NAMES, answers, data, fit, make, same_bits
from interruptions import blas_limits, interrupted_at, points
from profiles import HARD
from slimsvm import reduce, vector_path
from slimsvm.datasets import make_banana
from slimsvm.threads import one_blas_thread

# Of the five hundred to a thousand places of a fit.
MOST = 10_000 if HARD else 50

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(autouse=True)
def no_lock_stays_held():
    """Another thread can set the limits of BLAS after all this."""
    yield
    other = threading.Thread(target=one_blas_thread()(lambda: None), daemon=True)
    other.start()
    other.join(10.0)
    assert not other.is_alive()


def each_point(action):
    """How it ended at the first arrival at each place, and at one in the middle."""
    seen = points(action)
    chosen = list(seen)
    if len(chosen) > MOST:
        chosen = [chosen[i] for i in np.random.default_rng(len(chosen)).choice(len(chosen), MOST, False)]
    ends = Counter()
    gc.disable()  # what is raised within a collection is dropped
    try:
        for point in chosen:
            for arrival in {1, 1 + seen[point] // 2} if HARD else {1 + seen[point] // 2}:
                ends[interrupted_at(action, point, arrival)] += 1
                yield
    finally:
        gc.enable()
    assert ends["interrupted"] > 0.8 * sum(ends.values())
    assert ends["dropped"] < 0.05 * sum(ends.values()) + 3


@pytest.mark.parametrize("name", NAMES)
def test_a_fit(name):
    X, y, _, T = data(name, n=30)
    wanted, limits = answers(fit(name, X, y), T), blas_limits()
    model = make(name)
    before = dict(vars(model))
    for _ in each_point(lambda: model.fit(X, y)):
        if vars(model).keys() != before.keys():
            same_bits(answers(model, T), wanted)
            model.__dict__.clear()
            model.__dict__.update(before)
        assert all(vars(model)[key] is value for key, value in before.items())
        assert blas_limits() == limits


@pytest.mark.parametrize("name", [name for name in NAMES if hasattr(make(name), "partial_fit")])
def test_a_part_more(name):
    X, y, _, T = data(name, n=60)
    begun = pickle.dumps(make(name).partial_fit(X[:30], y[:30]))
    first, second = (
        answers(model, T) for model in (pickle.loads(begun), pickle.loads(begun).partial_fit(X, y))
    )
    model = pickle.loads(begun)

    def run():
        nonlocal model
        model = pickle.loads(begun)
        model.partial_fit(X, y)

    for _ in each_point(run):
        found = answers(model, T)
        try:
            same_bits(found, first)
        except AssertionError:
            same_bits(found, second)


@pytest.mark.parametrize("name", ["CompactSVC", "LSSVC", "SparseKernelDensity"])
def test_answers(name):
    X, y, _, T = data(name, n=40)
    model = fit(name, X, y)
    wanted = answers(model, T)
    for _ in each_point(lambda: answers(model, T)):
        pass
    same_bits(answers(model, T), wanted)


def test_a_reduction_and_a_path():
    X, y = make_banana(40, random_state=0)
    model = SVC().fit(X, y)
    before = pickle.dumps(model)
    estimator = slimsvm.GreedyLSSVC()
    for action in (
        lambda: reduce(model, X, y, max_vectors=5),
        lambda: vector_path(estimator, X, y, sizes=[2, 4], cv=2),
    ):
        for _ in each_point(action):
            assert pickle.dumps(model) == before
            assert not hasattr(estimator, "expansion_")


@pytest.mark.parametrize("kind", ["slimsvm", "onnx", "c", "js"])
def test_a_file(kind, tmp_path):
    X, y, _, _ = data("CompactSVC", n=40)
    old, new = fit("CompactSVC", X, y), fit("LSSVC", X, y)
    write = {
        "slimsvm": lambda model, path: slimsvm.save(model, path),
        "onnx": slimsvm.to_onnx,
        "c": slimsvm.to_c,
        "js": slimsvm.to_js,
    }[kind]
    path = tmp_path / f"model.{kind}"
    write(new, path)
    wanted = path.read_bytes()
    write(old, path)
    before = path.read_bytes()
    for _ in each_point(lambda: write(new, path)):
        assert [found.name for found in tmp_path.iterdir()] == [path.name]
        found = path.read_bytes()
        assert found in (before, wanted)
        if found != before:
            path.write_bytes(before)


def test_a_file_is_read(tmp_path):
    X, y, _, T = data("CompactSVC", n=40)
    model = fit("CompactSVC", X, y)
    path = tmp_path / "model.slimsvm"
    slimsvm.save(model, path)
    for _ in each_point(lambda: slimsvm.load(path)):
        pass
    same_bits(answers(slimsvm.load(path), T), answers(model, T))
