"""Time, memory and accuracy as the number of rows grows: in chunks from disk, and on Dask.

    SLIMSVM_DATA=<directory of *.npz> python benchmarks/scale.py            what results/scale.jsonl lacks (an hour)
    python benchmarks/scale.py --only generated --most 1000000              the generated set up to a million rows
    python benchmarks/scale.py --page                                       only the page, from what was run

Each measurement runs in a process of its own, whose peak memory is recorded. The generated set (20 features in float32,
two classes, one label in twenty wrong) is written to build/scale as a .npy file in chunks, and read again in chunks for
every pass. Records are in results/scale.jsonl; writes results/scale.md.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from compact_sets import SETS
from harness import (
    RESULTS,
    Journal,
    Record,
    command,
    in_child,
    need_data,
    peak_bytes,
    published,
    table,
    timed,
    versions,
    write_page,
)
from slimsvm.threads import n_threads

FOLDER = Path("build") / "scale"
SIZES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
N_FEATURES, N_TEST, CHUNK = 20, 100_000, 200_000
THREADS = 2
# The most rows a peer is given: an SVC takes hours with more.
MOST_ROWS = {"SVC": 30_000, "Nystroem and SGD": 10_000_000, "LightGBM": 3_000_000}
PUBLISHED = ("covtype_2", "ijcnn1", "skin_nonskin", "susy_30k")
# Parts of a stream for partial_fit, and the budgets of vectors there.
N_PARTS, STREAMS = 200, {"covtype_2": 100, "ijcnn1": 100, "mnist": 200}


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


def split_of(name: str) -> Any:
    """Training and test part of a published set, in float32."""
    split = SETS[name].split(0) if name in SETS else published(name)
    return split.X.astype(np.float32), split.X_test.astype(np.float32), split.y, split.y_test


# ---------------------------------------------------------------------------- what is measured


def ours(name: str) -> Any:
    from slimsvm import CompactSVC, EmpiricalSVC, FixedSizeLSSVC, GreedyLSSVC, MatchingPursuitSVC

    return {
        "CompactSVC": CompactSVC(max_vectors=200, random_state=0, n_jobs=THREADS),
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
    from sklearn.svm import SVC

    if name == "SVC":
        return SVC(C=10.0)
    if name == "Nystroem and SGD":
        return make_pipeline(
            Nystroem(gamma=1.0 / N_FEATURES, n_components=200, random_state=0),
            SGDClassifier(random_state=0),
        )
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=THREADS, verbose=-1)


def measured(model: Any, seconds: float, X_test: np.ndarray, y_test: np.ndarray) -> Record:
    return {
        "seconds": seconds,
        "peak_bytes": peak_bytes(),
        "accuracy": float((model.predict(X_test) == y_test).mean()),
        "vectors": int(getattr(model, "n_vectors_", 0)),
    }


def in_chunks(method: str, n: int) -> Record:
    model, seconds = timed(lambda: ours(method).fit_chunks(FileReader(n)))
    return measured(model, seconds, *drawn(N_TEST, 0))


def in_memory(method: str, n: int) -> Record:
    X, y = (np.load(path) for path in stored(n))
    model, seconds = timed(lambda: peer(method).fit(X, y))
    return measured(model, seconds, *drawn(N_TEST, 0))


def published_set(name: str, way: str) -> Record:
    from slimsvm import CompactSVC

    X, X_test, y, y_test = split_of(name)
    most = 500 if name == "covtype_2" else 200
    model = CompactSVC(max_vectors=most, random_state=0, n_jobs=THREADS)
    if way == "memory":
        model, seconds = timed(lambda: model.fit(X, y))
    elif way == "mapped":
        FOLDER.mkdir(parents=True, exist_ok=True)
        np.save(FOLDER / f"{name}.npy", X)
        mapped = np.load(FOLDER / f"{name}.npy", mmap_mode="r")
        model, seconds = timed(lambda: model.fit(mapped, y))
    else:
        import dask.array as da
        from distributed import Client, LocalCluster

        from slimsvm.dask import DaskCompactSVC

        n_workers = int(way.split()[1])
        with (
            LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster),
        ):
            parts = da.from_array(X, chunks=(50_000, X.shape[1])), da.from_array(y, chunks=50_000)
            model = DaskCompactSVC(**model.get_params())
            _, seconds = timed(lambda: model.fit(*parts))
            model = model.to_local()
    return measured(model, seconds, X_test, y_test)


def streamed(name: str, order: str) -> Record:
    from slimsvm import CompactSVC

    X, X_test, y, y_test = split_of(name)
    rows = np.random.default_rng(1).permutation(len(X))
    if order == "sorted by class":
        rows = rows[np.argsort(y[rows], kind="stable")]
    model = CompactSVC(max_vectors=STREAMS[name], random_state=0, n_jobs=THREADS)
    if order == "whole":
        model, seconds = timed(lambda: model.fit(X, y))
        return measured(model, seconds, X_test, y_test)
    peaks, start = [], time.perf_counter()
    for part in np.array_split(rows, N_PARTS):
        model.partial_fit(X[part], y[part], classes=np.unique(y))
        peaks.append(peak_bytes())
    found = measured(model, time.perf_counter() - start, X_test, y_test)
    return found | {"peak_after_half": peaks[N_PARTS // 2], "peak_after_all": peaks[-1]}


def cells(most: int) -> Iterator[tuple[str, str, int, Any]]:
    """Group, what, rows, and the function that measures it."""
    methods = ("CompactSVC", "FixedSizeLSSVC", "EmpiricalSVC", "GreedyLSSVC", "MatchingPursuitSVC")
    for n in (size for size in SIZES if size <= most):
        for method in methods:
            yield "generated", method, n, partial(in_chunks, method, n)
        for method, limit in MOST_ROWS.items():
            if n <= limit:
                yield "generated", method, n, partial(in_memory, method, n)
    yield "generated", "SVC", MOST_ROWS["SVC"], partial(in_memory, "SVC", MOST_ROWS["SVC"])
    for name in PUBLISHED:
        for way in ("memory", "mapped", "dask 1", "dask 2") if name == "covtype_2" else ("memory",):
            yield "published", f"{name}, {way}", 0, partial(published_set, name, way)
    for name in STREAMS:
        for order in ("whole", "shuffled", "sorted by class"):
            yield "stream", f"{name}, {order}", 0, partial(streamed, name, order)


# ---------------------------------------------------------------------------- the page


def exponent(lines: list[Record]) -> str:
    """How time grows with the number of rows: the slope of a line through the logarithms."""
    if len(lines) < 2:
        return "-"
    n, seconds = (np.log([line[key] for line in lines]) for key in ("rows", "seconds"))
    return f"{np.polyfit(n, seconds, 1)[0]:.2f}"


def page(journal: Journal) -> list[str]:
    lines = list(journal.lines.values())
    out = [
        "# Beyond memory: time, memory and accuracy against the number of rows\n",
        f"Written by `benchmarks/scale.py` from `scale.jsonl`. {versions(python=True)}, {THREADS} threads of "
        f"{n_threads(-1)}. A row is a process of its own; memory is the most it has had, Python and NumPy included "
        "(about 0.2 GB).\n",
        "## Generated rows from disk\n",
        "20 features in float32; the slimsvm methods read the file in chunks of 200,000 rows for each pass, with at "
        "most 200 vectors; the peers have all rows in memory.\n",
    ]
    rows = []
    for method in dict.fromkeys(line["what"] for line in lines if line["group"] == "generated"):
        its = sorted(
            (line for line in lines if line["group"] == "generated" and line["what"] == method),
            key=lambda line: line["rows"],
        )
        for line in its:
            last = exponent(its) if line is its[-1] else ""
            rows.append([method, f"{line['rows']:,}", *_figures(line), last])
    out += table(["method", "rows", "seconds", "memory", "accuracy", "vectors", "exponent"], rows)
    out += ["## Published sets, CompactSVC\n"]
    out += table(
        ["set, way", "seconds", "memory", "accuracy", "vectors"],
        [[line["what"], *_figures(line)] for line in lines if line["group"] == "published"],
    )
    out += [f"## partial_fit, {N_PARTS} parts\n"]
    out += table(
        ["set, order", "seconds", "memory", "accuracy", "vectors", "peak after half"],
        [
            [line["what"], *_figures(line), _gigabytes(line.get("peak_after_half"))]
            for line in lines
            if line["group"] == "stream"
        ],
    )
    return out


def _gigabytes(size: float | None) -> str:
    return "" if size is None else f"{size / 1e9:.2f} GB"


def _figures(line: Record) -> list[str]:
    return [
        f"{line['seconds']:.1f}", _gigabytes(line["peak_bytes"]), f"{line['accuracy']:.2%}",
        str(line["vectors"] or "-"),
    ]  # fmt: skip


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("--only", default="", help="groups or names that contain this text")
    parser.add_argument("--most", type=int, default=SIZES[-1], help="the most generated rows")
    parser.add_argument("--page", action="store_true", help="only write the page")
    options = parser.parse_args()
    journal = Journal(RESULTS / "scale.jsonl", lambda line: (line["group"], line["what"], line["rows"]))
    for group, what, rows, function in () if options.page else cells(options.most):
        if options.only not in f"{group} {what} {rows}" or (group, what, rows) in journal.lines:
            continue
        if group != "generated":
            need_data("scale.py")
        line = {"group": group, "what": what, "rows": rows, **in_child(function)}
        print(f"{group}, {what}, {rows:,}: {' '.join(_figures(line))}", flush=True)
        journal.add(line)
    write_page(RESULTS / "scale.md", page(journal))


if __name__ == "__main__":
    main()
