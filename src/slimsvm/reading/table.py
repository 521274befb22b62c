"""What a data file holds: named columns of numbers and texts, or rows without names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import DataFormatError
from ..rows import Array


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
    lines : array of shape (n,) or None
        The line of the file that each row stood in.
    told : frozenset of str
        Columns that hold categories whatever their values are.
    named : bool
        Whether the file gave the names.
    """

    source: str
    names: tuple[str, ...]
    values: tuple[Array, ...]
    lines: Array | None = None
    told: frozenset[str] = field(default_factory=frozenset)
    named: bool = True

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
        at = [self.names.index(name) for name in names]
        return replace(self, names=tuple(self.names[j] for j in at), values=tuple(self.values[j] for j in at))

    def column(self, name: str) -> Array:
        """One column."""
        return self.values[self.names.index(name)]

    def without(self, *names: str) -> Table:
        """The other columns."""
        return self[[name for name in self.names if name not in names]]

    def take(self, rows: Array) -> Table:
        """These rows."""
        lines = None if self.lines is None else self.lines[rows]
        return replace(self, values=tuple(values[rows] for values in self.values), lines=lines)

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
        return f"{self.source}, " + (f"row {row}" if self.lines is None else f"line {int(self.lines[row])}")


@dataclass(frozen=True, eq=False)
class UnnamedRows:
    """Rows of a LIBSVM file, or arrays of numbers without names.

    Parameters
    ----------
    source : str
    X : CSR array or array of shape (n, d)
    y : array of shape (n,) or None
    lines : array of shape (n,) or None
    """

    source: str
    X: Any
    y: Array | None = None
    lines: Array | None = None

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def take(self, rows: Array) -> UnnamedRows:
        """These rows."""
        y, lines = (None if values is None else values[rows] for values in (self.y, self.lines))
        return replace(self, X=self.X[rows], y=y, lines=lines)

    def where(self, row: int) -> str:
        """The place of a row, for messages."""
        return f"{self.source}, " + (f"row {row}" if self.lines is None else f"line {int(self.lines[row])}")


def wrong(source: str, line: int | None, text: str) -> DataFormatError:
    """The error that a file has, and where."""
    place = source if line is None else f"{source}, line {line:,}"
    return DataFormatError(f"{place}: {text}")
