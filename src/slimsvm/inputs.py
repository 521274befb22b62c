"""What a model expects of a row before it becomes numbers of the expansion."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from .rows import Array, Rows, as_rows, dense, scale_columns

Category: TypeAlias = str | int | float | bool


@dataclass(frozen=True)
class Column:
    """One number of a row as the expansion sees it: (u - shift) * scale.

    Parameters
    ----------
    source : int
        Number of the column of the raw row; u is its value.
    category : str, int, float, bool or None
        If not None, u is 1 where the raw value equals this and 0 elsewhere.
    shift, scale : float
    """

    source: int
    category: Category | None = None
    shift: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not np.isfinite([self.shift, self.scale]).all():
            raise ValueError(f"shift and scale must be finite, got {self.shift!r} and {self.scale!r}.")


@dataclass(frozen=True)
class Inputs:
    """The columns of a raw row, and what becomes of them.

    Parameters
    ----------
    n_features : int
        Columns of a raw row.
    names : tuple of str or None
        Names of the columns, where the model was trained on a table.
    columns : tuple of Column or None
        The numbers the expansion sees, in its order. None means the raw row itself.
    allowed : tuple of (int, tuple of categories)
        Columns of categories, by number, with all values they may have: any other is an error. A value of a column that
        is not here and equals no category belongs to none.

    Examples
    --------
    >>> raw = Inputs(2, columns=(Column(0, shift=1.0, scale=2.0), Column(1, "red"), Column(1, "blue")))
    >>> raw(np.array([[3.0, "blue"], [1.5, "green"]], dtype=object))
    array([[4., 0., 1.],
           [1., 0., 0.]])
    """

    n_features: int
    names: tuple[str, ...] | None = None
    columns: tuple[Column, ...] | None = None
    allowed: tuple[tuple[int, tuple[Category, ...]], ...] = ()

    def __post_init__(self) -> None:
        if self.names is not None and len(self.names) != self.n_features:
            raise ValueError(
                f"names has {len(self.names)} entries, but there are {self.n_features} features."
            )
        sources = [column.source for column in self.columns or ()] + [source for source, _ in self.allowed]
        if sources and not 0 <= min(sources) <= max(sources) < self.n_features:
            raise ValueError(f"columns come from outside 0 .. {self.n_features - 1}.")

    @property
    def n_numbers(self) -> int:
        """Numbers of a row as the expansion sees it."""
        return self.n_features if self.columns is None else len(self.columns)

    @cached_property
    def has_categories(self) -> bool:
        """Whether some columns are of categories."""
        return any(column.category is not None for column in self.columns or ())

    @cached_property
    def _affine(self) -> tuple[Array, Array, Array]:  # (n_numbers,) each
        """Source, shift and scale of all columns."""
        columns = self.columns or ()
        return (
            np.array([column.source for column in columns], dtype=np.intp),
            np.array([column.shift for column in columns]),
            np.array([column.scale for column in columns]),
        )

    def name_of(self, source: int) -> str:
        """A raw column as messages call it."""
        return str(source) if self.names is None else repr(self.names[source])

    def __call__(self, X: Any) -> Rows:  # (n, n_numbers)
        """Numbers of the expansion from raw rows: an array, CSR, or a table with columns of these names."""
        if self.columns is None:
            return X
        source, shift, scale = self._affine
        X = self._raw(X)
        if self.has_categories or X.dtype.kind not in "fiub":
            X = dense(X)
            return (np.column_stack([self._values(X, column) for column in self.columns]) - shift) * scale
        X = as_rows(X)
        if sparse.issparse(X) and not shift.any():
            return scale_columns(as_rows(X[:, source]), scale)
        numbers = (dense(X)[:, source] - shift) * scale
        return np.ascontiguousarray(numbers.astype(X.dtype, copy=False))

    def _raw(self, X: Any) -> Any:
        """Raw rows as an array or CSR, the columns of a table in the order of the names."""
        if self.names is not None and hasattr(X, "columns"):
            missing = [name for name in self.names if name not in X.columns]
            if missing:
                raise ValueError(f"X has no column {missing[0]!r}, which the model needs.")
            X = X[list(self.names)]
        if not sparse.issparse(X):
            X = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"X must have the shape (rows, {self.n_features}), got {X.shape}.")
        return X

    def _values(self, X: Array, column: Column) -> Array:  # (n,)
        """What the expansion sees of a raw column, before shift and scale."""
        raw, name = X[:, column.source], self.name_of(column.source)
        if column.category is not None:
            allowed = dict(self.allowed).get(column.source)
            strange = [] if allowed is None else [value for value in raw.tolist() if value not in allowed]
            if strange:
                raise ValueError(
                    f"X has the value {strange[0]!r} in column {name}, which is none of its categories."
                )
            return np.asarray(raw == column.category, dtype=np.float64)
        try:
            return np.asarray(raw, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"X has values in column {name} that are not numbers.") from None
