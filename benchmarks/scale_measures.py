"""What benchmarks/scale.py measures: each function runs in a process of its own and returns what it found."""

from __future__ import annotations

import inspect
import pickle
import resource
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

import slimsvm
from compact_sets import SETS
from harness import Record, Split, peak_bytes, published, timed
from slimsvm import LongFitWarning
from slimsvm.datasets import load

FOLDER = Path("build") / "scale"
N_FEATURES, N_TEST, CHUNK = 20, 100_000, 200_000
THREADS = 2
# Vectors of our machines on published sets; on covtype, the figures of benchmarks/compact.py are for this many.
MOST_VECTORS, COVTYPE_VECTORS = 200, 500
COVTYPE_TRAINING = 500_000
# Parts of a stream for partial_fit, and the budgets of vectors there.
N_PARTS, STREAMS = 200, {"covtype_2": 100, "ijcnn1": 100, "mnist": 200}
# A budget that binds at every number of rows, so that times of models of one size are compared.
ONE_SIZE = "CompactSVC, 20 vectors"
# Rows of the generated set for every estimator, in one thread; and what its refusal or announcement advises.
ROWS = 200_000
LIMITED: dict[str, Record] = {
    "EmpiricalFeatureMap": {"max_vectors": 100},
    "EmpiricalSVC": {"max_vectors": 100},
    "GreedyLSSVC": {"n_candidates": 146, "max_vectors": 1000},
    "GreedyLSSVR": {"n_candidates": 146, "max_vectors": 1000},
    "MatchingPursuitSVC": {"n_candidates": 59},
    "MatchingPursuitSVR": {"n_candidates": 59},
    "SparseGreedyGPC": {"tol": 0.0},
    "SparseGreedyGPR": {"tol": 0.0},
    "TwoStageLSSVC": {"n_candidates": 300, "n_vectors": 50},
    "TwoStageLSSVR": {"n_candidates": 300, "n_vectors": 50},
}
# `reduce` is given an SVC of so many of the rows.
REDUCED_ROWS = 3_000
_AROUND = ("Reduced", "reduce")
_FITS = [name for name in slimsvm.__all__ if hasattr(getattr(slimsvm, name), "fit")]
EVERYONE = (*(name for name in _FITS if name not in (*_AROUND, "TableEncoder")), *_AROUND)
# Blocks of a Dask collection have so many rows.
BLOCK_ROWS = 50_000


# ---------------------------------------------------------------------------- data


def drawn(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the generated set: six of the twenty features matter."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, N_FEATURES), dtype=np.float32)
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.square(X[:, 3]) - np.abs(X[:, 4]) - 0.5 * X[:, 5]
    wrong = rng.random(n) < 0.05
    return X, ((f > 0.2) ^ wrong).astype(np.int8)


def stored(n: int) -> tuple[Path, Path]:
    """Files with n rows and their labels."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    rows, labels = FOLDER / f"rows-{n}.npy", FOLDER / f"labels-{n}.npy"
    if not labels.exists():
        X = np.lib.format.open_memmap(rows, "w+", np.float32, (n, N_FEATURES))
        y = np.lib.format.open_memmap(labels, "w+", np.int8, (n,))
        for seed, start in enumerate(range(0, n, CHUNK)):
            stop = min(n, start + CHUNK)
            X[start:stop], y[start:stop] = drawn(stop - start, seed + 1)
        X.flush()
        y.flush()
    return rows, labels


class FileReader:
    """Chunks of two .npy files, read and not mapped, so that memory shows what a fit holds."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.rows, self.labels = stored(n)

    def __call__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        offsets = [np.load(path, mmap_mode="r").offset for path in (self.rows, self.labels)]
        for start in range(0, self.n, CHUNK):
            count = min(CHUNK, self.n - start)
            X = np.fromfile(
                self.rows, np.float32, count * N_FEATURES, offset=offsets[0] + 4 * N_FEATURES * start
            )
            y = np.fromfile(self.labels, np.int8, count, offset=offsets[1] + start)
            yield X.reshape(count, N_FEATURES), y


def split_of(name: str) -> Split:
    """Training and test part of a set, in float32."""
    if name == "covtype_7":
        data = load("covtype")
        rows = np.random.default_rng(0).permutation(len(data.X))
        train, test = rows[:COVTYPE_TRAINING], rows[COVTYPE_TRAINING:]
        split = Split(data.X[train], data.X[test], data.y[train], data.y[test])
    elif name in SETS:
        split = SETS[name].split(0)
    else:
        split = published(name)
    return split._replace(X=split.X.astype(np.float32), X_test=split.X_test.astype(np.float32))


# ---------------------------------------------------------------------------- models


def ours(name: str) -> Any:
    from slimsvm import CompactSVC, EmpiricalSVC, FixedSizeLSSVC, GreedyLSSVC, MatchingPursuitSVC

    return {
        "CompactSVC": CompactSVC(max_vectors=200, random_state=0, n_jobs=THREADS),
        ONE_SIZE: CompactSVC(max_vectors=20, random_state=0, n_jobs=THREADS),
        "FixedSizeLSSVC": FixedSizeLSSVC(n_vectors=200, random_state=0, n_jobs=THREADS),
        "EmpiricalSVC": EmpiricalSVC(max_vectors=200, n_jobs=THREADS, tol=1e-3),
        "GreedyLSSVC": GreedyLSSVC(max_vectors=200, n_candidates=146, random_state=0, n_jobs=THREADS),
        "MatchingPursuitSVC": MatchingPursuitSVC(
            max_vectors=200, n_candidates=146, random_state=0, n_jobs=THREADS
        ),
    }[name]


def peer(name: str) -> Any:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    if name == "SVC":
        return make_pipeline(StandardScaler(), SVC(C=10.0, cache_size=2000))
    if name == "Nystroem and SGD":
        return make_pipeline(
            StandardScaler(),
            Nystroem(gamma=None, n_components=200, random_state=0),
            SGDClassifier(random_state=0),
        )
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=THREADS, verbose=-1)


# ---------------------------------------------------------------------------- what is measured


def processor_seconds() -> float:
    """What this process and those it waited for have taken of all cores."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


class Measurement:
    """Seconds by the clock and of the processor since it was made, and the most memory so far."""

    def __init__(self) -> None:
        self._clock, self._processor = time.perf_counter(), processor_seconds()

    def figures(self) -> Record:
        return {
            "seconds": time.perf_counter() - self._clock,
            "processor_seconds": processor_seconds() - self._processor,
            "peak_bytes": peak_bytes(),
        }

    def of(self, model: Any, X_test: np.ndarray, y_test: np.ndarray) -> Record:
        """What was measured until now, and how good the model is."""
        found = self.figures()
        accuracy = float((np.asarray(model.predict(X_test)) == y_test).mean())
        return found | {"accuracy": accuracy, "vectors": int(getattr(model, "n_vectors_", 0))}


def in_chunks(method: str, n: int) -> Record:
    reader, measurement = FileReader(n), Measurement()
    return measurement.of(ours(method).fit_chunks(reader), *drawn(N_TEST, 0))


def in_memory(method: str, n: int) -> Record:
    X, y = (np.load(path) for path in stored(n))
    measurement = Measurement()
    return measurement.of(peer(method).fit(X, y), *drawn(N_TEST, 0))


def peer_on(name: str, method: str) -> Record:
    X, X_test, y, y_test = split_of(name)
    measurement = Measurement()
    return measurement.of(peer(method).fit(X, y), X_test, y_test)


def published_set(name: str, way: str) -> Record:
    from slimsvm import CompactSVC

    X, X_test, y, y_test = split_of(name)
    most = COVTYPE_VECTORS if name.startswith("covtype") else MOST_VECTORS
    model = CompactSVC(max_vectors=most, random_state=0, n_jobs=THREADS)
    if way == "memory":
        measurement = Measurement()
        model.fit(X, y)
    elif way == "mapped":
        FOLDER.mkdir(parents=True, exist_ok=True)
        np.save(FOLDER / f"{name}.npy", X)
        X = np.load(FOLDER / f"{name}.npy", mmap_mode="r")
        measurement = Measurement()
        model.fit(X, y)
    else:
        import dask.array as da
        from distributed import Client, LocalCluster

        from slimsvm.dask import DaskCompactSVC

        n_workers = int(way.split()[1])
        cluster = LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None)
        with cluster, Client(cluster):
            parts = da.from_array(X, chunks=(BLOCK_ROWS, X.shape[1])), da.from_array(y, chunks=BLOCK_ROWS)
            measurement = Measurement()
            model = DaskCompactSVC(**model.get_params()).fit(*parts).to_local()
            return measurement.of(model, X_test, y_test)
    return measurement.of(model, X_test, y_test)


def everyone(name: str, parameters: Record) -> Record:
    """A fit of any estimator on the generated rows: what it took and gave, or the words in which it was refused."""
    from sklearn.base import is_regressor
    from sklearn.svm import SVC

    (X, y), (X_test, y_test) = drawn(ROWS, 1), drawn(N_TEST, 0)
    kind, svc = getattr(slimsvm, name), SVC(C=10.0)
    parameters = dict(parameters)
    if name == "Reduced":
        model = kind(svc)
    elif name == "reduce":
        svc.fit(X[:REDUCED_ROWS], y[:REDUCED_ROWS])
    else:
        if "random_state" in inspect.signature(kind).parameters:
            parameters["random_state"] = 0
        model = kind(**parameters)
        if is_regressor(model):
            y, y_test = y.astype(np.float32), y_test.astype(np.float32)
    measurement = Measurement()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", LongFitWarning)
            model = slimsvm.reduce(svc, X, y) if name == "reduce" else model.fit(X, y)
        end = "fitted"
    except (MemoryError, LongFitWarning) as error:
        end = f"{'refused' if isinstance(error, MemoryError) else 'announced'}: {error}"
    found = measurement.figures() | {"end": end}
    if end == "fitted":
        found["vectors"] = int(getattr(model, "n_vectors_", 0))
        if hasattr(model, "predict"):
            found["score"] = float(model.score(X_test, y_test))
    return found


def some_rows(name: str, n: int) -> Record:
    """As `published_set` from memory, on the first n training rows, which are in random order."""
    from slimsvm import CompactSVC

    X, X_test, y, y_test = split_of(name)
    X, y = X[:n].copy(), y[:n].copy()
    measurement = Measurement()
    model = CompactSVC(max_vectors=COVTYPE_VECTORS, random_state=0, n_jobs=THREADS)
    return measurement.of(model.fit(X, y), X_test, y_test)


def streamed(name: str, order: str) -> Record:
    from slimsvm import CompactSVC
    from slimsvm.methods.compact.stream import GROWN

    X, X_test, y, y_test = split_of(name)
    rows = np.random.default_rng(1).permutation(len(X))
    if order == "sorted by class":
        rows = rows[np.argsort(y[rows], kind="stable")]
    model = CompactSVC(max_vectors=STREAMS[name], random_state=0, n_jobs=THREADS)
    if order == "whole":
        measurement = Measurement()
        return measurement.of(model.fit(X, y), X_test, y_test)
    peaks, measurement = [], Measurement()
    for part in np.array_split(rows, N_PARTS):
        model.partial_fit(X[part], y[part], classes=np.unique(y))
        peaks.append(peak_bytes())
    found = measurement.of(model, X_test, y_test)
    return found | {"peak_after_half": peaks[N_PARTS // 2], "peak_after_all": peaks[-1], "grown": GROWN}


def passes_of(method: str, n: int) -> Record:
    """What each pass of a fit in chunks takes for a block and for a merge, and the bytes that it would send."""
    from slimsvm.chunks.passes import LocalPasses

    passes: list[Record] = []
    lock = Lock()

    class Recorded(LocalPasses):
        def run(self, function: Callable[..., Any], merge: Callable[..., Any], what: str) -> Any:
            found: Record = {
                "what": what, "blocks": 0, "rows": 0, "block_seconds": 0.0, "merges": 0, "merge_seconds": 0.0,
                "sent_to_block": len(pickle.dumps(function)), "sent_to_merge": 0, "largest": 0,
            }  # fmt: skip

            def of(block: Any) -> Any:
                result, seconds = timed(lambda: function(block), time.thread_time)
                size = len(pickle.dumps(result, 5))
                with lock:
                    found["blocks"] += 1
                    found["rows"] += block.n
                    found["block_seconds"] += seconds
                    found["sent_to_merge"] += size
                return result

            def both(first: Any, second: Any) -> Any:
                result, seconds = timed(lambda: merge(first, second), time.thread_time)
                found["merges"] += 1
                found["merge_seconds"] += seconds
                found["largest"] = max(found["largest"], len(pickle.dumps(result, 5)))
                return result

            answer = super().run(of, both, what)
            passes.append(found)
            return answer

    reader, measurement = FileReader(n), Measurement()
    model = ours(method)
    model._fit_passes(Recorded(reader, classify=True, n_threads=1))
    return measurement.of(model, *drawn(N_TEST, 0)) | {"passes": passes}


def dask_tasks(n_blocks: int = 1000) -> Record:
    """What Dask takes for a block and its merge where neither does anything.

    Client and scheduler are in this process, the workers in others: its processor seconds are what a larger cluster
    waits for.
    """
    from dask.delayed import delayed
    from distributed import Client, LocalCluster

    from slimsvm.dask.passes import DaskPasses

    chunk = np.zeros((1, 1), dtype=np.float32), np.zeros(1, dtype=np.int8)
    cluster = LocalCluster(n_workers=THREADS, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster):
        passes = DaskPasses([delayed(chunk, pure=False) for _ in range(n_blocks)], classify=True)
        seconds = [
            timed(lambda: passes.run(_nothing, _first, "nothing"), time.process_time)[1] for _ in range(3)
        ]
    return {"seconds_a_block": float(np.median(seconds)) / n_blocks, "blocks": n_blocks}


def _nothing(_: Any) -> int:
    return 0


def _first(first: int, _: int) -> int:
    return first
