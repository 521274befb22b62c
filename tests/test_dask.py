"""The estimators on Dask: the bits of `fit_chunks` on the same blocks, whatever happens to workers."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from slimsvm import CompactSVC, DataFormatError, FixedSizeLSSVC, FixedSizeLSSVR, save
from slimsvm.chunks.sample import Size
from slimsvm.datasets import make_ringnorm

pytest.importorskip("distributed", reason="needs the extra `dask`")
import dask
import dask.array as da
import dask.dataframe as dd

import slimsvm.dask as on_dask
from profiles import hard
from slimsvm.dask.estimators import local_of

N, STEP = 3000, 700
X, y = make_ringnorm(N, random_state=0)
X = X[:, :6]
MODELS = [
    on_dask.DaskEmpiricalSVC(max_vectors=15),
    on_dask.DaskFixedSizeLSSVC(n_vectors=15, random_state=0),
    on_dask.DaskGreedyLSSVC(max_vectors=10, n_candidates=30, random_state=0),
    on_dask.DaskMatchingPursuitSVC(max_vectors=10, n_candidates=30, random_state=0),
    on_dask.DaskCompactSVC(max_vectors=4, metric="one", random_state=0),
    on_dask.DaskFixedSizeLSSVR(n_vectors=15, random_state=0),
    on_dask.DaskGreedyLSSVR(max_vectors=10, n_candidates=30, random_state=0),
    on_dask.DaskMatchingPursuitSVR(max_vectors=10, n_candidates=30, random_state=0),
    on_dask.DaskCompactSVR(max_vectors=4, metric="one", random_state=0),
]


def named(model):
    return type(model).__name__


def reader():
    for start in range(0, N, STEP):
        yield X[start : start + STEP], y[start : start + STEP]


def arrays():
    return da.from_array(X, chunks=(STEP, 6)), da.from_array(y, chunks=STEP)


@pytest.fixture(autouse=True)
def a_small_sample(monkeypatch):
    for model in MODELS:
        monkeypatch.setattr(local_of(type(model)), "_sample_size", Size(rows=500))


def same(a, b):
    np.testing.assert_array_equal(a.expansion_.coef, b.expansion_.coef)
    np.testing.assert_array_equal(a.expansion_.vectors, b.expansion_.vectors)
    np.testing.assert_array_equal(a.expansion_.intercept, b.expansion_.intercept)


@pytest.mark.parametrize("model", MODELS, ids=named)
def test_the_bits_are_those_of_the_same_chunks(model, tmp_path):
    model = clone(model)
    dX, dy = arrays()
    model.fit(dX, dy)
    local = model.to_local()
    assert type(local) is local_of(type(model))
    expected = clone(local).fit_chunks(reader)
    same(model, expected)
    lazy = model.predict(dX)
    assert dask.is_dask_collection(lazy)
    np.testing.assert_array_equal(lazy.compute(), expected.predict(X))
    np.testing.assert_array_equal(local.predict(X), expected.predict(X))
    np.testing.assert_allclose(model.score(dX, dy), expected.score(X, y))
    save(local, tmp_path / "model.slim")


def test_outputs_and_probabilities_by_blocks():
    dX, dy = arrays()
    model = clone(MODELS[4]).fit(dX, dy)
    expected = model.to_local()
    np.testing.assert_array_equal(model.decision_function(dX).compute(), expected.decision_function(X))
    np.testing.assert_array_equal(model.predict_proba(dX).compute(), expected.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))


def test_blocks_of_unknown_length_some_empty_some_of_one_class():
    order = np.argsort(y, kind="stable")
    dX, dy = (da.from_array(part[order], chunks=(STEP, *part.shape[1:])) for part in (X, y))
    some = dX[:, 0] < 1e9
    some_X, some_y = dX[some], dy[some]
    none = dX[:, 0] > 1e9
    both_X, both_y = da.concatenate([some_X, dX[none]]), da.concatenate([some_y, dy[none]])
    model = on_dask.DaskFixedSizeLSSVC(n_vectors=15, random_state=0).fit(both_X, both_y)

    def chunks():
        for start in range(0, N, STEP):
            yield X[order][start : start + STEP], y[order][start : start + STEP]

    expected = FixedSizeLSSVC(n_vectors=15, random_state=0).fit_chunks(chunks)
    np.testing.assert_allclose(
        model.to_local().decision_function(X), expected.decision_function(X), atol=1e-9
    )
    assert model.predict(both_X).compute().shape == (N,)


def test_data_frames():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["y"] = np.where(y > 0, "yes", "no")
    whole = dd.from_pandas(frame, npartitions=4)
    model = on_dask.DaskFixedSizeLSSVC(n_vectors=15, random_state=0)
    model.fit(whole[list("abcdef")], whole["y"])
    assert list(model.feature_names_in_) == list("abcdef")
    answers = model.predict(whole[list("abcdef")]).compute()
    assert set(answers) == {"yes", "no"}
    np.testing.assert_array_equal(answers, model.to_local().predict(frame[list("abcdef")]))


def test_weights_and_targets_that_are_no_collections():
    dX, dy = arrays()
    weight = np.arange(N) % 3 + 1.0
    model = on_dask.DaskFixedSizeLSSVR(n_vectors=15, random_state=0)
    a = clone(model).fit(dX, y, sample_weight=weight)
    b = clone(model).fit(dX, dy, sample_weight=da.from_array(weight, chunks=1000))
    same(a, b)
    expected = FixedSizeLSSVR(n_vectors=15, random_state=0).fit_chunks(
        lambda: (
            (X[start : start + STEP], y[start : start + STEP], weight[start : start + STEP])
            for start in range(0, N, STEP)
        )
    )
    same(a, expected)
    with pytest.raises(ValueError, match="unknown lengths"):
        clone(model).fit(dX[dX[:, 0] > 0], y)
    with pytest.raises(ValueError, match="X has 3000 rows, but y has 10"):
        clone(model).fit(dX, da.from_array(y[:10]))


def with_block(number, replacement):
    """The rows with one block replaced by what a function makes of it."""
    dX, dy = arrays()
    blocks = [dX.blocks[i] for i in range(dX.numblocks[0])]
    blocks[number] = blocks[number].map_blocks(replacement, dtype=float, meta=np.empty((0, 0)))
    return da.concatenate(blocks), dy


def spoilt(block):
    block = block.copy()
    block[3, 1] = np.nan
    return block


def wider(block):
    return np.hstack([block, block])


def test_a_block_that_is_wrong_is_named():
    model = on_dask.DaskFixedSizeLSSVC(n_vectors=15)
    with pytest.raises(DataFormatError, match=r"block 2: .*NaN"):
        model.fit(*with_block(2, spoilt))
    with pytest.raises(DataFormatError, match="block 3 has 12 features"):
        model.fit(*with_block(3, wider))
    dX, dy = arrays()
    none = dX[:, 0] > 1e9
    with pytest.raises(ValueError, match="no rows"):
        model.fit(dX[none], dy[none])


def test_parameters_are_those_of_the_estimator_and_two_more():
    model = on_dask.DaskCompactSVC(max_vectors=3, deadline=60)
    assert set(model.get_params()) == {*CompactSVC().get_params(), "client", "deadline"}
    assert clone(model).get_params()["deadline"] == 60
    with pytest.raises(TypeError, match="no_such"):
        on_dask.DaskCompactSVC(no_such=1)
    with pytest.raises(ValueError, match="max_vectors"):
        on_dask.DaskCompactSVC(max_vectors=0).fit(*arrays())


# A cluster of processes.


@pytest.fixture
def cluster():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as started,
        Client(started) as client,
    ):
        yield client


def slowly(block):
    time.sleep(0.5)
    return block


def slow_arrays():
    dX, dy = arrays()
    return dX.map_blocks(slowly, dtype=float), dy


def in_thread(work):
    ended = {}

    def run():
        try:
            ended["found"] = work()
        except BaseException as error:
            ended["error"] = error

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, ended


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_killed", [1, pytest.param(2, marks=hard)])
def test_lost_workers_change_nothing(cluster, n_killed):
    expected = FixedSizeLSSVC(n_vectors=15, random_state=0).fit_chunks(reader)
    model = on_dask.DaskFixedSizeLSSVC(n_vectors=15, random_state=0)
    thread, ended = in_thread(lambda: model.fit(*slow_arrays()))
    time.sleep(1.0)
    for pid in list(cluster.run(os.getpid).values())[:n_killed]:
        os.kill(pid, signal.SIGKILL)
    thread.join(90)
    assert not thread.is_alive(), "the fit hangs"
    if "error" in ended:
        raise ended["error"]
    same(ended["found"], expected)


@hard
@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_is_gone_is_an_error_and_no_hang(cluster):
    model = on_dask.DaskEmpiricalSVC(max_vectors=15)
    thread, ended = in_thread(lambda: model.fit(*slow_arrays()))
    time.sleep(2.0)
    began = time.monotonic()
    cluster.cluster.sync(cluster.cluster.scheduler.close)
    thread.join(60)
    assert not thread.is_alive(), "the fit hangs"
    assert isinstance(ended.get("error"), ConnectionError), ended
    assert time.monotonic() - began < 30
    assert not hasattr(model, "expansion_")


def test_a_scheduler_that_is_gone_when_workers_are_asked_is_the_same_error(cluster, monkeypatch):
    from distributed.comm import CommClosedError

    def run(*_, **__):
        raise CommClosedError("Stream is closed")

    monkeypatch.setattr(cluster, "run", run)
    with pytest.raises(ConnectionError, match=r"Dask's scheduler \(tcp://.*\) is lost; nothing was changed"):
        on_dask.DaskFixedSizeLSSVC(n_vectors=15).fit(*arrays())


def deadly(block):
    os._exit(1)


@hard
@pytest.mark.filterwarnings("ignore")
def test_a_block_that_kills_workers_is_named(cluster):
    with pytest.raises(RuntimeError, match="block 2: the workers"):
        on_dask.DaskFixedSizeLSSVC(n_vectors=15).fit(*with_block(2, deadly))


def test_a_module_that_the_workers_lack_is_named(cluster, tmp_path, monkeypatch):
    """Dask's workers die of such a message, one after the other: the fit would never end."""
    (tmp_path / "only_here.py").write_text("def products(X, Z):\n    return X @ Z.T + 1.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    from only_here import products

    model = on_dask.DaskFixedSizeLSSVC(n_vectors=15, random_state=0, deadline=60)
    dX, dy = arrays()
    with pytest.raises(ImportError, match=r"the worker \S+ cannot import only_here .*client\.upload_file"):
        model.set_params(kernel=products).fit(dX, dy)
    with pytest.raises(ImportError, match="cannot import only_here"):
        model.set_params(kernel="rbf").fit(dX.map_blocks(products, np.eye(6), dtype=float), dy)
    cluster.upload_file(str(tmp_path / "only_here.py"))
    model.set_params(kernel=products).fit(dX, dy)
    monkeypatch.setattr(on_dask.modules, "version", lambda package: "0.0.1")
    with pytest.raises(ImportError, match=r"has slimsvm \S+, but here is 0\.0\.1: install the same"):
        model.fit(dX, dy)


@pytest.mark.filterwarnings("ignore")
def test_a_deadline_ends_a_fit(cluster):
    with pytest.raises(TimeoutError, match="deadline"):
        on_dask.DaskEmpiricalSVC(max_vectors=15, deadline=0.3).fit(*slow_arrays())
