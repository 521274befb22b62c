"""Fits to files that are read in chunks.

Numbers are scaled, parameters found, the model fitted and scored by passes over all rows, here or on a cluster.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import slimsvm

from ..adapters.whole import folded
from ..chunks.blocks import Block
from ..chunks.passes import LocalPasses, Passes
from ..errors import BudgetError
from ..inputs import Inputs
from ..reading import FileChunks, How, Table
from ..reading.encoding import rows_for
from ..reading.files import data_files
from ..reading.many import chunks_to_predict
from ..reading.table import wrong
from ..reading.target import split
from ..rows import Array
from ..threads import n_threads
from ..words import count, size_in_words
from .cluster import Cluster
from .methods import SEARCHED_ROWS, Fitted, searched
from .names import METHODS
from .options import Columns, Format
from .output import Output


@dataclass(frozen=True)
class Tested:
    """A score, and on what."""

    score: float
    n_rows: int
    source: str


@dataclass(frozen=True, eq=False)
class Done:
    """What came of a fit.

    Parameters
    ----------
    fitted : Fitted
    target : str or None
    classify : bool
    here, there : Tested
        On the rows it was fitted to, and on others where they are given.
    interrupted : bool
    write_report : callable or None
        Writes a report to a path, where there can be one.
    """

    fitted: Fitted
    target: str | None
    classify: bool
    here: Tested
    there: Tested | None
    interrupted: bool
    write_report: Callable[[Path], None] | None = None


def fit_chunks(
    reader: FileChunks,
    estimator: Any,
    method: str,
    options: Columns,
    format: Format,
    say: Output,
    *,
    test: Sequence[str],
    report: Path | None,
    jobs: int | None,
    cluster: Cluster | None,
    cache: Path | None,
) -> Done:
    """Fit to the chunks of a reader."""
    name, classify = type(estimator).__name__, reader.classify
    _refuse(reader, estimator, method, report)
    say.say(f"{in_words(reader)}.")
    held_out = data_files(test) if test else ()
    how = format.how(reader.how.categorical)

    def tested() -> Iterator[tuple[Any, Array]]:
        return test_chunks(held_out, how, reader, options)

    with say.working("reading the rows to test with"):
        for _ in tested() if held_out else ():  # what is wrong with them is said before the fit
            pass

    def passes_of(chunks: FileChunks) -> Passes:
        if cluster is not None:
            return cluster.passes(chunks)
        return LocalPasses(chunks, classify=classify, n_threads=n_threads(jobs))

    start, found = time.perf_counter(), {}
    with say.warnings_as_messages() as noted, say.working(f"fitting {name}"):
        if not name.startswith("Compact"):
            reader = reader.scaled(passes_of(reader))
        if cache is not None:
            reader = reader.copied(cache)
        passes = passes_of(reader)
        if not name.startswith("Compact"):
            drawn = passes.run(Drawn.of, Drawn.merge, "drawing rows")
            found = searched(estimator, drawn.X, drawn.y)
            estimator.set_params(**found)
        estimator._fit_passes(passes)
        seconds = time.perf_counter() - start
    with say.working("scoring"):
        here = passes.run(partial(Score.of_block, estimator), Score.merge, "scoring")
        there = None
        if held_out:
            parts = (Score.of(y, estimator.predict(X), classify=classify) for X, y in tested())
            total = next(parts)
            for part in parts:
                total = total.merge(part)
            there = Tested(total.value, total.n, source_of(held_out))
    model = estimator.model_ if reader.inputs is None else folded(reader.inputs, estimator.model_)
    return Done(
        Fitted(model, estimator, seconds, found), reader.survey.target, classify,
        Tested(here.value, here.n, source_of(reader.files)), there, any("interrupted" in text for text in noted),
    )  # fmt: skip


def in_words(reader: FileChunks) -> str:
    """What is read, as a message."""
    survey = reader.survey
    d = reader.inputs.n_features if reader.inputs is not None else reader.n_features
    kind = "numbers"
    if reader.classify:
        kind = "many classes" if survey.y.labels is None else f"{len(survey.y.labels)} classes"
    target = "the labels" if survey.target is None else f"target {survey.target!r}"
    size = f"{count(reader.n_rows, 'row', ',')} of {count(d, 'column', ',')}"
    return (
        f"{source_of(reader.files)}: {size}; {target}: {kind}; {size_in_words(survey.n_bytes)} of numbers, read in "
        "chunks"
    )


def source_of(files: Sequence[str]) -> str:
    """Files, as messages call them."""
    return files[0] if len(files) == 1 else f"{files[0]} and {count(len(files) - 1, 'other file')}"


def _refuse(reader: FileChunks, estimator: Any, method: str, report: Path | None) -> None:
    """Say what cannot be done in chunks."""
    size = size_in_words(reader.survey.n_bytes)
    if not hasattr(estimator, "fit_chunks"):
        able = [
            known
            for known, kinds in METHODS.items()
            if (made := kinds.classifier if reader.classify else kinds.regressor)
            and hasattr(getattr(slimsvm, made), "fit_chunks")
        ]
        raise BudgetError(
            f"there are {size} of numbers, which are read in chunks, and the method {method} needs all rows at once; "
            f"{', '.join(able)} do not."
        )
    if report is not None:
        raise BudgetError(
            f"a report is made of rows in memory, and {size} of numbers are read in chunks; fit without --report, or "
            "to fewer rows."
        )


def test_chunks(
    files: tuple[str, ...], how: How, reader: FileChunks, options: Columns
) -> Iterator[tuple[Any, Array]]:
    """Rows to test with as numbers, and their targets."""
    target = reader.survey.target
    for rows in chunks_to_predict(files, how, reader.n_features):
        if isinstance(rows, Table) and target is not None:
            if target not in rows.names:
                raise wrong(rows.source, None, f"there is no column {target!r}, the target.")
            features, y, _ = split(rows, target=target)
        else:
            features, y, _ = split(rows, target=options.target, drop=options.drop)
        yield rows_for(reader.inputs or Inputs(reader.n_features), features), y


@dataclass(frozen=True)
class Score:
    """Right answers, or squares for R^2, of many chunks.

    Parameters
    ----------
    n : int
        Rows.
    right : int
        Of them answered well; -1 in regression.
    mean, squares : float
        Of the targets, and the sum of squares around it.
    errors : float
        Sum of squared errors.
    """

    n: int
    right: int
    mean: float = 0.0
    squares: float = 0.0
    errors: float = 0.0

    @staticmethod
    def of(y: Array, found: Array, *, classify: bool) -> Score:
        """Of some rows."""
        if classify:
            return Score(len(y), int(np.sum(y == found)))
        mean = float(np.mean(y))
        return Score(len(y), -1, mean, float(((y - mean) ** 2).sum()), float(((y - found) ** 2).sum()))

    @staticmethod
    def of_block(estimator: Any, block: Block) -> Score:
        """Of a chunk."""
        return Score.of(block.y, estimator.predict(block.X), classify=hasattr(estimator, "classes_"))

    def merge(self, other: Score) -> Score:
        """Of both."""
        n, apart = self.n + other.n, other.mean - self.mean
        squares = self.squares + other.squares + apart**2 * (self.n * other.n / n)
        right = -1 if self.right < 0 else self.right + other.right
        return Score(n, right, self.mean + apart * other.n / n, squares, self.errors + other.errors)

    @property
    def value(self) -> float:
        """Share of right answers, or R^2."""
        if self.right >= 0:
            return self.right / self.n
        return 1.0 - self.errors / self.squares if self.squares else float(self.errors == 0)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows to search parameters on, drawn uniformly: those of the smallest keys."""

    X: Any
    y: Array
    keys: Array

    @staticmethod
    def of(block: Block) -> Drawn:
        """Of a chunk; its name decides what is drawn, so that it is the same each time."""
        keys = np.random.default_rng(zlib.crc32(block.name.encode())).random(block.n)
        return Drawn(block.X, block.y, keys)._cut()

    def _cut(self) -> Drawn:
        rows = np.argsort(self.keys)[:SEARCHED_ROWS]
        return Drawn(self.X[rows], self.y[rows], self.keys[rows])

    def merge(self, other: Drawn) -> Drawn:
        """Of both."""
        X: Any
        if sparse.issparse(self.X):
            X = sparse.csr_array(sparse.vstack([self.X, other.X], format="csr"))
        else:
            X = np.concatenate([self.X, other.X])
        y, keys = np.concatenate([self.y, other.y]), np.concatenate([self.keys, other.keys])
        return Drawn(X, y, keys)._cut()
