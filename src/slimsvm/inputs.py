"""What a model expects of a row before it becomes numbers of the expansion."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from .rows import Array, Rows, as_rows, dense, scale_columns, sound

Category: TypeAlias = str | int | float | bool


def is_missing(values: Array) -> Array:  # (n,)
    """Which values of a column are None, NaN or a table's own sign for that.

    Examples
    --------
    >>> is_missing(np.array([1, None, "", float("nan")], dtype=object)).tolist()
    [False, True, False, True]
    """
    if values.dtype.kind in "iub":
        return np.zeros(len(values), dtype=bool)
    if values.dtype.kind == "f":
        return np.isnan(values)
    # only a NaN differs from itself, and of pandas' NA not even that is known
    return np.array(
        [x is None or type(x).__name__ in ("NAType", "NaTType") or x != x for x in values.tolist()],
        dtype=bool,
    )


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
    fill : tuple of (int, number or category)
        Columns, by number, with what takes the place of a missing value (None, NaN). In any other column a missing
        value is an error.

    Examples
    --------
    >>> columns = Column(0, shift=1.0, scale=2.0), Column(1, "red"), Column(1, "blue")
    >>> raw = Inputs(2, columns=columns, fill=((0, 2.0),))
    >>> raw(np.array([[3.0, "blue"], [None, "green"]], dtype=object))
    array([[4., 0., 1.],
           [2., 0., 0.]])
    """

    n_features: int
    names: tuple[str, ...] | None = None
    columns: tuple[Column, ...] | None = None
    allowed: tuple[tuple[int, tuple[Category, ...]], ...] = ()
    fill: tuple[tuple[int, Category], ...] = ()

    def __post_init__(self) -> None:
        if self.names is not None and len(self.names) != self.n_features:
            raise ValueError(
                f"names has {len(self.names)} entries, but there are {self.n_features} features."
            )
        sources = [column.source for column in self.columns or ()]
        sources += [source for source, _ in (*self.allowed, *self.fill)]
        if sources and not 0 <= min(sources) <= max(sources) < self.n_features:
            raise ValueError(f"columns come from outside 0 .. {self.n_features - 1}.")
        self._check_kinds()
        self._check_fill()

    def _check_kinds(self) -> None:
        """Refuse a column that is read both as a number and as a category."""
        kinds = dict[int, bool]()
        for column in self.columns or ():
            of_categories = column.category is not None
            if kinds.setdefault(column.source, of_categories) != of_categories:
                raise ValueError(
                    f"column {self.name_of(column.source)} is of numbers and of categories at once."
                )

    def _check_fill(self) -> None:
        """Refuse what a column cannot have."""
        if self.fill and self.columns is None:
            raise ValueError(
                "fill needs columns: a row that is taken as it is has nothing in place of a value."
            )
        kinds = {column.source: column.category is not None for column in self.columns or ()}
        allowed = dict(self.allowed)
        for source, value in self.fill:
            if kinds.get(source):
                fits = source not in allowed or value in allowed[source]
            else:
                fits = not isinstance(value, str) and bool(np.isfinite(value))
            if not fits:
                raise ValueError(
                    f"{value!r} cannot take the place of a value of column {self.name_of(source)}."
                )

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
            known = {j: self._column(X, j) for j in set(source.tolist())}
            numbers = np.empty((len(X), len(self.columns)))
            for k, column in enumerate(self.columns):
                value, raw = column.category, known[column.source]
                numbers[:, k] = raw if value is None else raw == value
            return (numbers - shift) * scale
        X = self._filled(X)
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
        if not sparse.issparse(sound(X)):
            X = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"X must have the shape (rows, {self.n_features}), got {X.shape}.")
        return X

    def _filled(self, X: Any) -> Rows:
        """Rows of numbers, something in place of the missing ones."""
        if X.dtype.kind != "f" or not np.isnan(X.data if sparse.issparse(X) else X).any():
            return as_rows(X)
        X, fill = dense(X).copy(), dict(self.fill)
        for j in {column.source for column in self.columns or ()}:
            missing = np.isnan(X[:, j])
            if missing.any():
                X[missing, j] = self._in_place_of(missing, j, fill)
        return as_rows(X)

    def _in_place_of(self, missing: Array, source: int, fill: dict[int, Category]) -> Category:
        """What takes the place of the missing values of a column; an error if nothing does."""
        if source not in fill:
            raise ValueError(
                f"X has no value (NaN or None) in column {self.name_of(source)}, row {int(np.argmax(missing))}, and "
                "the model has nothing to put there: train it with TableEncoder(impute=True), or fill the column first."
            )
        return fill[source]

    def _column(self, X: Array, source: int) -> Array:  # (n,)
        """A raw column, complete and checked: categories as they are, otherwise numbers."""
        raw, name = X[:, source], self.name_of(source)
        missing = is_missing(raw)
        if missing.any():
            raw = raw.astype(object)
            raw[missing] = self._in_place_of(missing, source, dict(self.fill))
        if any(column.source == source and column.category is not None for column in self.columns or ()):
            allowed = dict(self.allowed).get(source)
            strange = [] if allowed is None else [value for value in raw.tolist() if value not in allowed]
            if strange:
                raise ValueError(
                    f"X has the value {strange[0]!r} in column {name}, which is none of its categories."
                )
            return raw
        try:
            if raw.dtype.kind in "mM":  # dates and durations, which NumPy would count in nanoseconds
                raise TypeError
            return np.asarray(raw, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"X has values in column {name} that are not numbers.") from None
