"""The first pass: how many rows, which features and classes, and a uniform sample of the rows.

A row is drawn if the hash of its values is small enough. So the sample does not depend on the order of the rows, nor on
how they are cut into chunks, and a row given twice is a row of weight 2 here too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import DataFormatError
from ..rows import Array, Rows, cast, distinct_rows, row_codes
from .blocks import Block
from .passes import Passes

# Distinct rows that are trained on as ever, and the bytes that they may take: CompactSVC takes three minutes
# for a million (benchmarks/results/scale.md). Larger samples were not compared.
SAMPLE_ROWS, SAMPLE_BYTES = 2**20, 2**28
# Rows of each class that are drawn at least.
CLASS_ROWS = 256


@dataclass(frozen=True)
class Size:
    """How large the sample may be."""

    rows: int = SAMPLE_ROWS
    bytes: int = SAMPLE_BYTES

    def most(self, X: Rows) -> int:
        """The most rows like these."""
        if sparse.issparse(X):
            each = 12 * X.nnz / max(1, X.shape[0]) + 8
        else:
            each = X.dtype.itemsize * X.shape[1]
        return max(1, min(self.rows, int(self.bytes / max(each, 1.0))))


@dataclass(frozen=True, eq=False)
class Sample:
    """Distinct rows, each with one target, and their weights, in the order of their hashes.

    Parameters
    ----------
    X : array or CSR of shape (m, d)
    y : array of shape (m,) or (m, n_targets)
    weight : array of shape (m,)
        Of all rows that are equal to this one.
    numbers : array of shape (m,)
        Number of the first of them among all rows.
    n_left_out : int
        Distinct rows that were seen and not drawn, those of the same values in two chunks counted twice.
    """

    X: Rows
    y: Array
    weight: Array
    numbers: Array
    n_left_out: int = 0

    @property
    def n(self) -> int:
        """Number of distinct rows."""
        return len(self.weight)

    def take(self, rows: Array) -> Sample:
        """These rows; the others are left out."""
        return Sample(
            self.X[rows], self.y[rows], self.weight[rows], self.numbers[rows],
            self.n_left_out + self.n - len(rows),
        )  # fmt: skip

    def merged(self) -> Sample:
        """Equal rows with equal targets as one."""
        first, group = distinct_rows(self.X)
        codes = row_codes(self.y) if self.y.ndim > 1 else np.unique(self.y, return_inverse=True)[1]
        kinds = group * (codes.max(initial=0) + 1) + codes
        _, first, kind = np.unique(kinds, return_index=True, return_inverse=True)
        numbers = np.full(len(first), np.iinfo(np.int64).max)
        np.minimum.at(numbers, kind, self.numbers)
        weight = np.bincount(kind, weights=self.weight, minlength=len(first))
        return Sample(self.X[first], self.y[first], weight, numbers, self.n_left_out)

    def cut(self, most: int, *, classify: bool) -> Sample:
        """At most so many rows, those of the smallest hashes; of each class at least `CLASS_ROWS`."""
        if self.n <= most:
            return self
        drawn = np.zeros(self.n, dtype=bool)
        drawn[:most] = True
        if classify:
            codes = np.unique(self.y, return_inverse=True)[1]
            for code in range(codes.max() + 1):
                drawn[np.flatnonzero(codes == code)[: min(CLASS_ROWS, most)]] = True
        return self.take(np.flatnonzero(drawn))


@dataclass(frozen=True, eq=False)
class Survey:
    """What the first pass finds.

    Parameters
    ----------
    n_rows : int
    name : str
        Of the first chunk that has rows.
    n_features : int
    columns : tuple of str or None
    labels : array of shape (n_classes,)
        In order; empty for targets.
    totals : array of shape (n_classes,) or (1,)
        Weight of the rows of each class, or of all.
    sample : Sample
    """

    n_rows: int
    name: str
    n_features: int
    columns: tuple[str, ...] | None
    labels: Array
    totals: Array
    sample: Sample

    @property
    def is_whole(self) -> bool:
        """Whether the sample has all rows."""
        return self.sample.n_left_out == 0

    def standing_for_all(self) -> Sample:
        """The sample with weights of the rows in it and of those they stand for, class by class."""
        sample = self.sample
        if self.is_whole:
            return sample
        codes = np.searchsorted(self.labels, sample.y) if len(self.labels) else np.zeros(sample.n, dtype=int)
        drawn = np.bincount(codes, weights=sample.weight, minlength=len(self.totals))
        return replace(sample, weight=sample.weight * (self.totals / drawn)[codes])


def survey(passes: Passes, size: Size, *, classify: bool) -> Survey:
    """Count the rows, find the classes, draw a sample."""
    return passes.run(
        partial(survey_of, size, classify=classify),
        partial(merged_surveys, size, classify=classify),
        "counting rows",
    )


def survey_of(size: Size, block: Block, *, classify: bool) -> Survey:
    """What there is in a chunk."""
    X = block.X
    labels, totals = np.empty(0), np.array([block.weight.sum()])
    if classify:
        labels, codes = np.unique(block.y, return_inverse=True)
        totals = np.bincount(codes, weights=block.weight, minlength=len(labels))
    sample = Sample(X, block.y, block.weight, block.numbers).merged().cut(size.most(X), classify=classify)
    return Survey(block.n_rows, block.name, X.shape[1], block.columns, labels, totals, sample)


def merged_surveys(size: Size, a: Survey, b: Survey, *, classify: bool) -> Survey:
    """Two surveys as one."""
    if a.n_features != b.n_features:
        raise DataFormatError(
            f"{b.name} has {b.n_features} features, but {a.name} has {a.n_features}; all chunks must have the same."
        )
    if a.columns != b.columns:
        raise DataFormatError(
            f"{b.name} has {_named(b.columns)}, but {a.name} has {_named(a.columns)}; all chunks must have the "
            "same columns in the same order."
        )
    if classify and (_is_number(a.labels) != _is_number(b.labels)):
        raise DataFormatError(
            f"{b.name} has labels like {b.labels.tolist()[0]!r}, but {a.name} has labels like "
            f"{a.labels.tolist()[0]!r}; numbers and texts cannot be classes of one problem."
        )
    if a.sample.y.ndim != b.sample.y.ndim or a.sample.y.shape[1:] != b.sample.y.shape[1:]:
        raise DataFormatError(
            f"{b.name} has targets of shape (n, {_n_targets(b)}), but {a.name} has (n, {_n_targets(a)})."
        )
    labels = np.union1d(a.labels, b.labels)
    totals = np.zeros(len(labels) if classify else 1)
    for part in (a, b):
        totals[np.searchsorted(labels, part.labels) if classify else slice(None)] += part.totals
    both = joined_samples(a.sample, b.sample, a.n_rows).merged()
    sample = both.cut(size.most(both.X), classify=classify)
    return Survey(a.n_rows + b.n_rows, a.name, a.n_features, a.columns, labels, totals, sample)


def joined_samples(a: Sample, b: Sample, before: int) -> Sample:
    """The rows of both; those of b come after so many others."""
    dtype = np.result_type(a.X.dtype, b.X.dtype)
    if sparse.issparse(a.X) or sparse.issparse(b.X):
        X: Any = sparse.csr_array(
            sparse.vstack([sparse.csr_array(cast(part.X, dtype)) for part in (a, b)], format="csr")
        )
    else:
        X = np.concatenate([cast(part.X, dtype) for part in (a, b)])
    y, weight, numbers = (
        np.concatenate(pair) for pair in ((a.y, b.y), (a.weight, b.weight), (a.numbers, b.numbers + before))
    )
    return Sample(X, y, weight, numbers, a.n_left_out + b.n_left_out)


def _is_number(labels: Array) -> bool:
    return labels.dtype.kind in "biuf"


def _n_targets(found: Survey) -> int:
    return 1 if found.sample.y.ndim == 1 else int(found.sample.y.shape[1])


def _named(columns: tuple[str, ...] | None) -> str:
    return "no names of columns" if columns is None else "the columns " + ", ".join(columns)
