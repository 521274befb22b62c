"""Ctrl-C at any moment: it ends soon, and leaves nothing half done."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
import zlib

import numpy as np
import pytest
from sklearn.svm import SVC

import slimsvm
from everyone import NAMES, answers, data, fit, make, same_bits
from interruptions import SOON, interrupted, nothing_left_behind, processor_seconds
from profiles import HARD, hard
from slimsvm import atomic, linalg, reduce, vector_path
from slimsvm.chunks.sample import Size
from slimsvm.datasets import make_banana
from slimsvm.methods.relevance import expectation_maximisation
from slimsvm.methods.zero_norm import smo
from slimsvm.solvers import one_norm_margin
from test_linalg import definite

TIMES, ROWS = (20, 300) if HARD else (1, 60)
INTERRUPTED = 130
# CompactSVR takes as long as all others together, and is CompactSVC but for its loss.
BRIEF = NAMES if HARD else [name for name in NAMES if name != "CompactSVR"]

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "ITIMER_PROF"), reason="there is no timer of the processor here"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@pytest.fixture(autouse=True)
def own_temporary_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def moments(name, action):
    """Random moments of an action."""
    whole = processor_seconds(action)
    return np.random.default_rng(zlib.crc32(name.encode())).uniform(0.0, whole, TIMES)


def as_before_or_fitted(model, before, T, wanted):
    """The very attributes of before, or all those of the new fit."""
    if vars(model).keys() == before.keys() and all(
        vars(model)[key] is value for key, value in before.items()
    ):
        return
    same_bits(answers(model, T), wanted)


def earlier(name, turn):
    """An estimator to be fitted: a new one, or one that was fitted on other rows."""
    return fit(name, *data(name, n=40, seed=5)[:2]) if turn % 2 else make(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_fit(name):
    X, y, weight, T = data(name, n=ROWS)
    wanted = answers(fit(name, X, y), T)
    for turn, moment in enumerate(moments(name, lambda: make(name).fit(X, y)), NAMES.index(name)):
        model = earlier(name, turn)
        before = dict(vars(model))
        with nothing_left_behind(X, y, weight):
            went_on, _ = interrupted(lambda model=model: model.fit(X, y), moment)
        assert went_on < SOON
        as_before_or_fitted(model, before, T, wanted)


@pytest.mark.parametrize("name", [name for name in BRIEF if hasattr(make(name), "fit_chunks")])
def test_a_fit_in_chunks(name, monkeypatch):
    X, y, _, T = data(name, n=2 * ROWS)
    model = make(name)
    monkeypatch.setattr(type(model), "_sample_size", Size(rows=ROWS))

    def reader():
        for begin in range(0, len(X), 30):
            yield X[begin : begin + 30], y[begin : begin + 30]

    def run(model):
        return model.fit_chunks(reader)

    wanted = answers(run(make(name)), T)
    for turn, moment in enumerate(moments(name, lambda: run(make(name)))):
        model = earlier(name, turn)
        before = dict(vars(model))
        with nothing_left_behind(X, y):
            went_on, _ = interrupted(lambda model=model: run(model), moment)
        assert went_on < SOON
        as_before_or_fitted(model, before, T, wanted)


@pytest.mark.parametrize("name", [name for name in BRIEF if hasattr(make(name), "partial_fit")])
@pytest.mark.parametrize("first", [True, False] if HARD else [False])
def test_a_part_more(name, first):
    X, y, _, T = data(name, n=2 * ROWS)
    begun = make(name) if first else make(name).partial_fit(X[:ROWS], y[:ROWS])

    def run(model):
        return model.partial_fit(X[ROWS:], y[ROWS:])

    wanted = answers(run(copy.deepcopy(begun)), T)
    for moment in moments(name, lambda: run(copy.deepcopy(begun))):
        model = copy.deepcopy(begun)
        before = dict(vars(model))
        with nothing_left_behind(X, y):
            went_on, _ = interrupted(lambda model=model: run(model), moment)
        assert went_on < SOON
        as_before_or_fitted(model, before, T, wanted)


@pytest.mark.parametrize("method", ["auto", "prune", "exact", "refine"])
def test_a_reduction(method):
    X, y = make_banana(ROWS, random_state=0)
    model = SVC().fit(X, y)
    before = pickle.dumps(model)
    run = {
        "auto": lambda: reduce(model, X, y),
        "prune": lambda: reduce(model, X, y, max_vectors=9, method="prune"),
        "exact": lambda: reduce(model, method="exact"),
        "refine": lambda: reduce(model, X, y, max_vectors=9, method="refine"),
    }[method]
    for moment in moments(method, run):
        with nothing_left_behind(X, y):
            went_on, _ = interrupted(run, moment)
        assert went_on < SOON
        assert pickle.dumps(model) == before


def test_a_path():
    X, y = make_banana(ROWS, random_state=0)
    estimator = slimsvm.GreedyLSSVC()
    before = dict(vars(estimator))

    def run():
        vector_path(estimator, X, y, sizes=[2, 4, 8], cv=3)

    for moment in moments("path", run):
        with nothing_left_behind(X, y):
            went_on, _ = interrupted(run, moment)
        assert went_on < SOON
        assert vars(estimator) == before


# Files

WRITERS = {
    "save": slimsvm.save,
    "to_c": slimsvm.to_c,
    "to_js": slimsvm.to_js,
    "to_libsvm": slimsvm.to_libsvm,
    "to_onnx": slimsvm.to_onnx,
}


class Struck:
    """The system's calls, of which one is followed by Ctrl-C: Python hears of a signal when a call has returned."""

    def __init__(self, call):
        self.call = call

    def __getattr__(self, name):
        real = getattr(os, name)
        if name != self.call:
            return real

        def then_ctrl_c(*arguments, **options):
            found = real(*arguments, **options)
            if name == "fdopen":
                found.close()
            raise KeyboardInterrupt(found)

        return then_ctrl_c


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("call", ["open", "fdopen", "fsync", "replace"])
@pytest.mark.parametrize("is_there", [False, True])
def test_a_file_is_the_old_one_or_the_new_one(writer, call, is_there, tmp_path, monkeypatch):
    if writer == "to_onnx":
        pytest.importorskip("onnx")
    model = SVC(gamma=0.5).fit(*make_banana(40, random_state=0))
    path = tmp_path / "model.file"
    WRITERS[writer](model, path)
    new = path.read_bytes()
    path.unlink()
    if is_there:
        path.write_bytes(b"old")
    monkeypatch.setattr(atomic, "os", Struck(call))
    with pytest.raises(KeyboardInterrupt):
        WRITERS[writer](model, path)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == (["model.file"] if is_there or call == "replace" else [])
    if path.exists():
        assert path.read_bytes() == (new if call == "replace" else b"old")


@hard
@pytest.mark.parametrize("method", ["compact", "ls"])
def test_the_command_line(method, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=3000) > 0).astype(int)
    np.savez(tmp_path / "train.npz", X=X, y=y)
    command = [sys.executable, "-m", "slimsvm", "fit", "train.npz", "--out", "model.slim", "--method", method]
    for seconds in rng.uniform(0.0, 4.0, TIMES // 2):
        process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        process.stderr.readline()  # the rows are read, and the fit begins
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=120)[1]
        assert "Traceback" not in rest
        made = tmp_path / "model.slim"
        # once the file is there, the signal may also meet the last steps of Python itself; shells call that 130 too
        ended = (INTERRUPTED, 0, -signal.SIGINT) if made.exists() else (INTERRUPTED,)
        assert process.returncode in ended, rest
        if made.exists():
            slimsvm.load(made)
            made.unlink()
        assert os.listdir(tmp_path) == ["train.npz"]


# Bounded calls of LAPACK


def test_a_large_factorisation_makes_no_long_call(monkeypatch):
    """Each call of BLAS and LAPACK has a share of the work that does not grow with the matrix."""
    monkeypatch.setattr(linalg, "WHOLE_ROWS", 200)
    monkeypatch.setattr(linalg, "PANEL_COLUMNS", 32)
    monkeypatch.setattr(linalg, "CALL_PRODUCTS", 2e6)
    sizes = []
    real = linalg.lapack.dpotrf

    def factored(A, **options):
        sizes.append(len(A))
        return real(A, **options)

    monkeypatch.setattr(linalg.lapack, "dpotrf", factored)
    linalg.cholesky_factor(definite(600))
    assert max(sizes) == 32
    assert sum(sizes) == 600


@pytest.mark.parametrize(
    ("name", "solver"),
    [
        ("SparsityControlledSVC", one_norm_margin),
        ("SparseProbitClassifier", expectation_maximisation),
        ("ZeroNormSVC", smo),
    ],
)
def test_a_fit_asks_for_large_products_in_blocks(name, solver, monkeypatch):
    """No call of BLAS has more than a share of the work of n^3, and the fit is the one it was."""
    X, y, _, T = data(name, n=80)
    options = {"solver": "smo"} if solver is smo else {}
    wanted = make(name).set_params(**options).fit(X, y).decision_function(T)
    asked = []
    real = linalg.lower_gram

    def recorded(A, weight=None):
        asked.append(A.shape)
        return real(A, weight)

    monkeypatch.setattr(linalg, "WHOLE_PRODUCTS", 0.0)
    monkeypatch.setattr(linalg, "PANEL_COLUMNS", 16)
    monkeypatch.setattr(linalg, "lower_gram", recorded)
    for module in (solver, smo):
        if hasattr(module, "lower_gram"):
            monkeypatch.setattr(module, "lower_gram", recorded)
    found = make(name).set_params(**options).fit(X, y).decision_function(T)
    assert max(m * k for m, k in asked) >= 60 * 60
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-3)


@hard
@pytest.mark.parametrize("name", ["SparseProbitClassifier", "SparsityControlledSVC"])
def test_ctrl_c_within_large_products(name):
    X = np.random.default_rng(0).standard_normal((6000, 3))
    model = getattr(slimsvm, name)()
    for seconds in (4.0, 7.0):
        went_on, struck = interrupted(lambda: model.fit(X, X[:, 0] > 0), seconds)
        assert struck
        assert went_on < SOON
        assert not hasattr(model, "expansion_")


@hard
def test_ctrl_c_within_a_large_factorisation():
    X = np.random.default_rng(0).standard_normal((7000, 3))
    model = slimsvm.LSSVC()
    for seconds in (1.0, 2.0):
        went_on, struck = interrupted(lambda: model.fit(X, X[:, 0] > 0), seconds)
        assert struck
        assert went_on < SOON
        assert not hasattr(model, "expansion_")
