"""The first pass over data files: what every column has, in all of them together."""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import DataFormatError
from ..inputs import is_missing
from ..rows import Array
from ..words import quoted
from .table import Table, UnnamedRows, wrong
from .target import TargetSummary, split

# Different texts of a column that are counted: each becomes a number of every row.
MOST_CATEGORIES = 10_000
# Medians are those of so many rows drawn at random, and of so many bytes: half of the other values lie on each side of
# such a median within 0.3 %. Fewer rows give the medians themselves.
MEDIAN_ROWS, MEDIAN_BYTES = 2**17, 2**26


@dataclass(frozen=True, eq=False)
class ColumnSummary:
    """What is known of a column.

    Parameters
    ----------
    texts : bool or None
        Whether its values are texts; None while there is none.
    first, where : value and str
        The first value there is, and its place.
    counts : Counter or None
        How often each category stands in it; None if there are more than `MOST_CATEGORIES`.
    n_missing, missing_where : int and str
        Missing values, and the place of the first.
    """

    texts: bool | None
    first: Any
    where: str
    counts: Counter[Any] | None
    n_missing: int
    missing_where: str

    @staticmethod
    def of(table: Table, name: str) -> ColumnSummary:
        """The summary of a column of a part."""
        values = table.column(name)
        missing = is_missing(values)
        n_missing = int(missing.sum())
        gap = table.where(int(np.argmax(missing))) if n_missing else ""
        if n_missing == len(values):
            return ColumnSummary(None, None, "", Counter(), n_missing, gap)
        at, texts = int(np.argmin(missing)), values.dtype.kind == "O"
        counts: Counter[Any] | None = Counter()
        if texts or name in table.told:
            counts = _bounded(Counter(values[~missing].tolist()))
        first = values[at] if texts else float(values[at])
        return ColumnSummary(texts, first, table.where(at), counts, n_missing, gap)

    def merge(self, other: ColumnSummary, name: str) -> ColumnSummary:
        """The summary of both."""
        counts = None
        if self.counts is not None and other.counts is not None:
            counts = _bounded(self.counts + other.counts)
        known = self if self.texts is not None else other
        if self.texts is not None and other.texts is not None and self.texts != other.texts:
            kinds = ("texts", "a number") if self.texts else ("numbers", "a text")
            raise DataFormatError(
                f"{other.where}: column {quoted(name)} has {quoted(other.first)}, {kinds[1]}, but {kinds[0]} in "
                f"{self.where} ({quoted(self.first)}). If one of them stands for a missing value, add --missing; if "
                f"the column holds categories, add --categorical {quoted(name)}."
            )
        return ColumnSummary(
            known.texts, known.first, known.where, counts, self.n_missing + other.n_missing,
            self.missing_where or other.missing_where,
        )  # fmt: skip


def _bounded(counts: Counter[Any]) -> Counter[Any] | None:
    return counts if len(counts) <= MOST_CATEGORIES else None


@dataclass(frozen=True, eq=False)
class RowSample:
    """Rows of numbers drawn uniformly, those of the smallest keys.

    Parameters
    ----------
    values : array of shape (k, d)
        NaN where there is no number.
    keys : array of shape (k,)
    """

    values: Array
    keys: Array

    @staticmethod
    def of(table: Table) -> RowSample:
        """Of a part; its place decides what is drawn, so that each pass draws the same."""
        first = zlib.crc32(table.where(0).encode())
        keys = np.random.default_rng(first).random(len(table))
        columns = [np.full(len(table), np.nan) if v.dtype.kind == "O" else v for v in table.values]
        return RowSample(np.column_stack(columns), keys).cut()

    def cut(self) -> RowSample:
        """Not more than are needed."""
        most = min(MEDIAN_ROWS, max(1, MEDIAN_BYTES // (8 * max(1, self.values.shape[1]))))
        if len(self.keys) <= most:
            return self
        drawn = np.argpartition(self.keys, most - 1)[:most]
        return RowSample(self.values[drawn], self.keys[drawn])

    def merge(self, other: RowSample) -> RowSample:
        """The sample of both."""
        values, keys = (np.concatenate([getattr(p, n) for p in (self, other)]) for n in ("values", "keys"))
        return RowSample(values, keys).cut()


@dataclass(frozen=True, eq=False)
class Survey:
    """What the rows of data files are.

    Parameters
    ----------
    source : str
        The file, or the first of several.
    n_rows : int
    n_bytes : int
        Of the numbers, as they stand in the files.
    names : tuple of str or None
        Of all columns, the target and those to drop included; None for rows without names.
    target : str or None
        Name of the target.
    columns : tuple of (str, ColumnSummary)
        The features of a table.
    told : frozenset of str
        Columns of categories whatever their values are.
    y : TargetSummary
    form : str
        "table", "sparse" or "array", and whether the target has an array of its own.
    lowest, width : int
        Of rows without names: the smallest index of LIBSVM files, and features (indices, before they are columns).
    sample : RowSample or None
        For medians, where they are asked for.
    index : bool
        Whether a column that counts the rows was left out.
    """

    source: str
    n_rows: int
    n_bytes: int
    names: tuple[str, ...] | None
    target: str | None
    columns: tuple[tuple[str, ColumnSummary], ...]
    told: frozenset[str]
    y: TargetSummary
    form: str
    lowest: int = 1
    width: int = 0
    sample: RowSample | None = None
    index: bool = False

    @staticmethod
    def of(
        part: Table | UnnamedRows, *, target: str | None, drop: tuple[str, ...], impute: bool = False
    ) -> Survey:
        """The survey of some rows of one file."""
        rows, y, name = split(part, target=target, drop=drop)
        summary = TargetSummary.of(y)
        if isinstance(part, UnnamedRows):
            X = part.X
            form = (
                "a LIBSVM file" if sparse.issparse(X) else "an array" if part.y is None else "arrays X and y"
            )
            lowest = 1 if part.lowest is None else part.lowest
            assert isinstance(rows, UnnamedRows)
            return Survey(
                part.source, len(part), n_bytes(part), None, None, (), frozenset(), summary, form, lowest,
                rows.X.shape[1],
            )  # fmt: skip
        assert isinstance(rows, Table)
        columns = tuple((column, ColumnSummary.of(rows, column)) for column in rows.names)
        sample = RowSample.of(rows) if impute and rows.names else None
        return Survey(
            part.source, len(part), n_bytes(part), part.names, name, columns, part.told & {*rows.names}, summary,
            "a table", width=len(columns), sample=sample, index=part.index,
        )  # fmt: skip

    def merge(self, other: Survey) -> Survey:
        """The survey of both; what does not fit together is an error that names the file."""
        self._refuse_other_columns(other)
        self._refuse_other_categories(other)
        if (self.y.kind == "text") != (other.y.kind == "text"):
            one, another = (f"{s.y.kind}s, {quoted(sorted(s.y.labels or ['...'])[0])}" for s in (other, self))
            raise wrong(
                other.source, None, f"the target has {one} for instance, but {another} in {self.source}."
            )
        columns = tuple(
            (name, mine.merge(yours, name))
            for (name, mine), (_, yours) in zip(self.columns, other.columns, strict=True)
        )
        sample = self.sample
        if sample is not None and other.sample is not None:
            sample = sample.merge(other.sample)
        return replace(
            self, n_rows=self.n_rows + other.n_rows, n_bytes=self.n_bytes + other.n_bytes, columns=columns,
            y=self.y.merge(other.y), lowest=min(self.lowest, other.lowest),
            width=max(self.width, other.width), sample=sample,
        )  # fmt: skip

    def _refuse_other_categories(self, other: Survey) -> None:
        for name in sorted(self.told ^ other.told):
            here, there = ("not ", "") if name in self.told else ("", "not ")
            raise wrong(
                other.source, None,
                f"column {quoted(name)} is {here}said to be of categories here, and {there}in {self.source}; add "
                f"--categorical {quoted(name)}.",
            )  # fmt: skip

    def _refuse_other_columns(self, other: Survey) -> None:
        """Say which column is not where the first file has it."""
        if self.form != other.form:
            raise wrong(other.source, None, f"this is {other.form}, but {self.source} is {self.form}.")
        if self.names is None or other.names is None:
            if self.width != other.width and self.form != "a LIBSVM file":
                raise wrong(
                    other.source, None,
                    f"there are {other.width} columns beside the target, but {self.width} in {self.source}.",
                )  # fmt: skip
            return
        if self.names == other.names:
            return
        for one, another in ((self, other), (other, self)):
            lacking = [name for name in one.names or () if name not in (another.names or ())]
            if lacking:
                verb = "lacks" if another is other else "has"
                raise wrong(
                    other.source, None,
                    f"the file {verb} a column {quoted(lacking[0])}, unlike {self.source}; all files must have the "
                    "same columns in the same order.",
                )  # fmt: skip
        at = next(j for j, pair in enumerate(zip(self.names, other.names, strict=True)) if len({*pair}) > 1)
        raise wrong(
            other.source, None,
            f"column {at + 1} is {quoted(other.names[at])}, but {quoted(self.names[at])} in {self.source}; all files "
            "must have the same columns in the same order.",
        )  # fmt: skip


def n_bytes(part: Table | UnnamedRows) -> int:
    """Bytes of the numbers of some rows; a text counts as one."""
    if isinstance(part, Table):
        return 8 * len(part) * len(part.names)
    X: Any = part.X
    return int(12 * X.nnz if sparse.issparse(X) else X.nbytes)
