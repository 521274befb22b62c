"""What a data file holds: named columns of numbers and texts, or rows without names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import DataFormatError
from ..rows import Array
from ..words import count


class NoRows(DataFormatError):
    """A file has no rows: an error where it is the only one, passed over among others."""


@dataclass(frozen=True, eq=False)
class Places:
    """Where rows stood, for messages.

    Parameters
    ----------
    numbers : array of shape (n,)
    unit : str
        What the numbers are of: "line" or "row".
    files : tuple of str
        The files that the rows come from, where they are several.
    origin : array of shape (n,) or None
        Number of the file that each row comes from.
    """

    numbers: Array
    unit: str = "line"
    files: tuple[str, ...] = ()
    origin: Array | None = None

    def take(self, rows: Array | slice) -> Places:
        """Those of these rows."""
        origin = None if self.origin is None else self.origin[rows]
        return replace(self, numbers=self.numbers[rows], origin=origin)

    def of(self, row: int, source: str) -> str:
        """The place of a row."""
        if self.origin is not None:
            source = self.files[int(self.origin[row])]
        return f"{source}, {self.unit} {int(self.numbers[row])}"


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of the same length, each of numbers (NaN where missing) or of texts (None where missing).

    Parameters
    ----------
    source : str
        The file, as messages call it.
    names : tuple of str
    values : tuple of arrays of shape (n,)
        float64, or objects.
    places : Places or None
        Where each row stood; None means that they are counted from 0.
    told : frozenset of str
        Columns that hold categories whatever their values are.
    named : bool
        Whether the file gave the names.
    index : bool
        Whether a column without a name that counts the rows was left out.
    """

    source: str
    names: tuple[str, ...]
    values: tuple[Array, ...]
    places: Places | None = None
    told: frozenset[str] = field(default_factory=frozenset)
    named: bool = True
    index: bool = False

    @property
    def columns(self) -> list[str]:
        """The names, as data frames have them."""
        return list(self.names)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), len(self.names)

    def __len__(self) -> int:
        return len(self.values[0]) if self.values else 0

    def __getitem__(self, names: Iterable[str]) -> Table:
        """The columns of these names, in this order."""
        place = {name: j for j, name in enumerate(self.names)}
        at = [place[name] for name in names]
        return replace(self, names=tuple(self.names[j] for j in at), values=tuple(self.values[j] for j in at))

    def column(self, name: str) -> Array:
        """One column."""
        return self.values[self.names.index(name)]

    def without(self, *names: str) -> Table:
        """The other columns."""
        return self[[name for name in self.names if name not in names]]

    def take(self, rows: Array | slice) -> Table:
        """These rows."""
        places = None if self.places is None else self.places.take(rows)
        return replace(self, values=tuple(values[rows] for values in self.values), places=places)

    @property
    def texts(self) -> list[str]:
        """Names of the columns that are not of numbers."""
        return [
            name for name, values in zip(self.names, self.values, strict=True) if values.dtype.kind == "O"
        ]

    def to_numpy(self) -> Array:  # (n, d)
        """One array: of numbers, or of objects where there are texts."""
        if self.texts:
            return np.array([values.astype(object) for values in self.values], dtype=object).T
        return np.column_stack(self.values)

    def where(self, row: int) -> str:
        """The place of a row, for messages."""
        return f"{self.source}, row {row}" if self.places is None else self.places.of(row, self.source)


@dataclass(frozen=True, eq=False)
class UnnamedRows:
    """Rows of a LIBSVM file, or arrays of numbers without names.

    Parameters
    ----------
    source : str
    X : CSR array or array of shape (n, d)
    y : array of shape (n,) or None
    places : Places or None
    lowest : int or None
        Of a part of a LIBSVM file, whose columns are the indices as they stand there: the smallest of them. `settled`
        makes columns of them when all parts are known.
    """

    source: str
    X: Any
    y: Array | None = None
    places: Places | None = None
    lowest: int | None = None

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def take(self, rows: Array | slice) -> UnnamedRows:
        """These rows."""
        y = None if self.y is None else self.y[rows]
        return replace(
            self, X=self.X[rows], y=y, places=None if self.places is None else self.places.take(rows)
        )

    def settled(self, lowest: int, width: int = 1) -> UnnamedRows:
        """With columns in the place of a LIBSVM file's indices: index 1 is column 0, unless there is an index 0."""
        if self.lowest is None:
            return self
        first = 0 if lowest == 0 else 1
        X, width = self.X, max(width, self.X.shape[1] - first, 1)
        X = sparse.csr_array((X.data, X.indices - first, X.indptr), shape=(X.shape[0], width))
        return replace(self, X=X, lowest=None)

    def where(self, row: int) -> str:
        """The place of a row, for messages."""
        return f"{self.source}, row {row}" if self.places is None else self.places.of(row, self.source)


def joined(parts: Sequence[Any]) -> Any:
    """Parts that have the same columns as one: all Tables or all UnnamedRows.

    Parameters
    ----------
    parts : sequence of Table or UnnamedRows
    """
    first, n = parts[0], len({part.source for part in parts})
    if len(parts) == 1:
        return first
    source = first.source if n == 1 else f"{first.source} and {count(n - 1, 'other file')}"
    places = _joined_places(parts, source)
    if isinstance(first, Table):
        told = frozenset().union(*(part.told for part in parts))
        columns = zip(*(part.values for part in parts), strict=True)
        values = tuple(_joined_column(column) for column in columns)
        return Table(source, first.names, values, places, told, first.named, first.index)
    X: Any
    if sparse.issparse(first.X):
        width = max(part.X.shape[1] for part in parts)
        X = sparse.csr_array(sparse.vstack([_widened(part.X, width) for part in parts], format="csr"))
    else:
        X = np.concatenate([part.X for part in parts])
    y = None if first.y is None else np.concatenate([part.y for part in parts])
    lowest = None if first.lowest is None else min(part.lowest for part in parts)
    return UnnamedRows(source, X, y, places, lowest)


def _widened(X: Any, width: int) -> Any:
    return sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))


def _joined_column(parts: Sequence[Array]) -> Array:
    if any(part.dtype.kind == "O" for part in parts):  # parts without any value were taken for numbers
        parts = [part if part.dtype.kind == "O" else np.full(len(part), None, dtype=object) for part in parts]
    return np.concatenate(parts)


def _joined_places(parts: Sequence[Any], source: str) -> Places:
    """Places of the rows of all parts, each with its file where there are several."""
    given = [part.places or Places(np.arange(len(part)), "row") for part in parts]
    numbers = np.concatenate([places.numbers for places in given])
    named = [places.files or (part.source,) for places, part in zip(given, parts, strict=True)]
    files = tuple(dict.fromkeys(name for names in named for name in names))
    if files == (source,):
        return Places(numbers, given[0].unit)
    at = {name: number for number, name in enumerate(files)}
    origin = [
        np.full(len(places.numbers), at[names[0]], dtype=np.int32)
        if places.origin is None
        else np.array([at[name] for name in names], dtype=np.int32)[places.origin]
        for places, names in zip(given, named, strict=True)
    ]
    return Places(numbers, given[0].unit, files, np.concatenate(origin))


def wrong(source: str, line: int | None, text: str) -> DataFormatError:
    """The error that a file has, and where."""
    place = source if line is None else f"{source}, line {line:,}"
    return DataFormatError(f"{place}: {text}")
