"""What the benchmarks share: time, data, the machine, pages, journals, tables and pictures.

Pages, journals and pictures are written to benchmarks/results, or to the directory that SLIMSVM_RESULTS names, to try
something without touching what is kept. The published data are read from SLIMSVM_DATA.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import sklearn
from sklearn.model_selection import train_test_split

from slimsvm.datasets import CATALOGUE, load, load_split

RESULTS = Path(os.environ.get("SLIMSVM_RESULTS") or Path(__file__).parent / "results")
# Predictions are timed on so many rows, the test rows repeated, so that a call's fixed cost does not count.
ROWS_TIMED = 20_000
LARGEST_PIXEL = 255.0
SHARE_TESTED = 0.3  # of sets without a published split

Array = np.ndarray
Record = dict[str, Any]
T = TypeVar("T")


# ---------------------------------------------------------------------------- time and memory


def timed(function: Callable[[], T], clock: Callable[[], float] = time.perf_counter) -> tuple[T, float]:
    """What the function returns, and the seconds it took."""
    start = clock()
    result = function()
    return result, clock() - start


def least_seconds(function: Callable[[], object], rounds: int = 3) -> float:
    """The least time of a few calls."""
    return min(timed(function)[1] for _ in range(rounds))


def interleaved(
    functions: Mapping[str, Callable[[], object]],
    rounds: int,
    *,
    warm_up: bool = True,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Median seconds of each function, called in turn, so that a slow moment of the computer hits all alike.

    With `time.process_time` as the clock, what other programs take does not count; for functions of one thread.
    """
    if warm_up:
        for function in functions.values():
            function()
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            times[name].append(timed(function, clock)[1])
    return {name: float(np.median(seconds)) for name, seconds in times.items()}


def peak_bytes() -> int:
    """Most memory that the process has had so far."""
    # bytes on macOS, kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def in_child(function: Callable[..., T], *arguments: Any, deadline: float | None = None) -> T:
    """What the function returns when a process of its own calls it; TimeoutError after `deadline` seconds.

    The process starts anew, so its peak memory is its own; function, arguments and result are pickled. An error of the
    function is raised here.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    # not a daemon, which may have no children; it ends with its parent all the same
    child = context.Process(target=_answer, args=(sender, function, arguments))
    child.start()
    sender.close()  # so that the end of the child is the end of the pipe
    try:
        if not receiver.poll(deadline):
            raise TimeoutError(f"not finished after {deadline:g} s")
        try:
            error, result = receiver.recv()
        except EOFError:
            child.join()
            raise RuntimeError(f"the process ended with {child.exitcode}, without an answer") from None
        child.join()
    finally:
        child.kill()
        child.join()
        receiver.close()
    if error is not None:
        raise error
    return result


def _answer(sender: Any, function: Callable[..., object], arguments: tuple[Any, ...]) -> None:
    end_with_parent()
    try:
        answer = None, function(*arguments)
    except Exception as error:
        answer = error, None
    sender.send(answer)


def end_with_parent() -> None:
    """Let this process end when its parent is ended from outside: nobody waits for an answer then."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def versions(*, python: bool = False) -> str:
    """What the figures depend on besides the machine."""
    first = f"Python {platform.python_version()}, " if python else ""
    return f"{first}NumPy {np.__version__}, scikit-learn {sklearn.__version__}"


# ---------------------------------------------------------------------------- data and models


class Split(NamedTuple):
    """Rows to train with and rows to test with."""

    X: Array
    X_test: Array
    y: Array
    y_test: Array


def published(name: str, index: int = 0) -> Split:
    """A split of a published set, a random one if it comes without; pixels of MNIST from 0 to 1."""
    if not CATALOGUE[name].n_splits:
        return random_split(name, index)
    split = Split(*load_split(name, index))
    if name == "mnist":
        split = split._replace(X=split.X / LARGEST_PIXEL, X_test=split.X_test / LARGEST_PIXEL)
    return split


def random_split(name: str, index: int) -> Split:
    """A split of a set that comes without one."""
    data = load(name)
    classes = data.y if data.task == "classification" else None
    return Split(
        *train_test_split(data.X, data.y, test_size=SHARE_TESTED, random_state=index, stratify=classes)
    )


def need_data(script: str) -> None:
    """End with a clear word where SLIMSVM_DATA is not set."""
    if not os.environ.get("SLIMSVM_DATA"):
        sys.exit(
            "The published sets are read from the directory that SLIMSVM_DATA names, and it is not set: "
            f"run SLIMSVM_DATA=<directory of *.npz> python benchmarks/{script}."
        )


def repeated(X: Array, n: int = ROWS_TIMED) -> Array:
    """The rows, repeated to n."""
    return X[np.arange(n) % len(X)]


def n_vectors(model: Any) -> int:
    """Number of vectors of a model, scikit-learn's too."""
    return int(model.n_vectors_) if hasattr(model, "n_vectors_") else len(model.support_)


# ---------------------------------------------------------------------------- tables, pages, journals, pictures


def row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def head(columns: str) -> list[str]:
    """The first two lines of a table, from the first as it stands: `| set | vectors |`."""
    return [columns, "|" + "---|" * (columns.count("|") - 1)]


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table in Markdown, and the empty line after it."""
    return [row(columns), "|" + "---|" * len(columns), *(row(cells) for cells in rows), ""]


def write_page(path: Path, lines: Iterable[str]) -> None:
    """Write a page of results, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    temporary.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")
    temporary.replace(path)


class Page:
    """Prints lines as they come and keeps them in a page: what was measured before a run is stopped is there."""

    def __init__(self, path: Path, title: str) -> None:
        self.path = path
        self.lines: list[str] = []
        self.add(f"# {title}\n")

    def add(self, *lines: str) -> None:
        for line in lines:
            print(line, flush=True)
        self.lines += lines
        write_page(self.path, self.lines)


class Journal:
    """Lines of JSON in a file, each found by what it is about; of several about the same the last counts.

    Lines are added one by one, so a run that was stopped goes on where it was. Without a file they are lost.
    """

    def __init__(self, path: Path | None, about: Callable[[Record], tuple[Any, ...]]) -> None:
        self.path, self.about = path, about
        self.lines: dict[tuple[Any, ...], Record] = {}
        if path is not None and path.exists():
            texts = path.read_text(encoding="utf-8").splitlines()
            self.lines = {about(line): line for line in map(json.loads, filter(str.strip, texts))}

    def add(self, line: Record) -> None:
        self.lines[self.about(line)] = line
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


def pyplot() -> Any:
    """matplotlib's pyplot, drawing to files; imported only by who draws."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    return plt


def write_picture(figure: Any, path: Path, dpi: int, *, svg: bool = False) -> None:
    """Write a picture, with an SVG of the same name beside it if wanted."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=dpi)
    if svg:
        with pyplot().rc_context({"svg.fonttype": "none", "svg.hashsalt": path.stem}):
            # the same picture gives the same file
            figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    pyplot().close(figure)


# ---------------------------------------------------------------------------- commands


def command(description: str | None) -> argparse.ArgumentParser:
    """A parser that shows the script's own text as it is written."""
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
