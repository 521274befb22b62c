"""A table with texts and missing values as rows of numbers, in a form that becomes part of the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from ..inputs import Category, Column, Inputs, is_missing
from ..rows import Array
from ..words import count

# A column of texts with more different ones than this, and more than half as many as rows, names the rows: most of its
# texts are seen once, and nothing can be learnt from them for other rows.
FEW_CATEGORIES = 20


class TableEncoder(TransformerMixin, BaseEstimator):
    """Columns of numbers as they are, columns of texts as zeros and ones, one for each text.

    Made for the first step of a pipeline, `make_pipeline(TableEncoder(), CompactSVC())`. What it has learnt is written
    by `slimsvm.save` and by every export as part of the model, which then takes the table's own rows.

    Parameters
    ----------
    impute : bool, default=False
        Whether a missing value (None, NaN) is replaced, by the median of a column of numbers or the most frequent text
        of a column of texts, in `fit` and in every row later, also in columns that are complete in `fit`. If False, a
        missing value is an error that says where it is.
    unknown : {"error", "ignore"}, default="error"
        What becomes later of a text that the column did not have in `fit`: an error, or zeros for all texts.

    Attributes
    ----------
    inputs_ : Inputs
        What becomes of each column, as a value.
    n_features_in_ : int
    feature_names_in_ : array of shape (n,)
        Names of the columns, where X was a table.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from slimsvm import CompactSVC, TableEncoder
    >>> X = pd.DataFrame({"age": [3, 40, 52, None], "colour": ["red", "blue", "green", "blue"]})
    >>> encoder = TableEncoder(impute=True).fit(X)
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'colour=blue', 'colour=green', 'colour=red']
    >>> encoder.transform(X)
    array([[ 3.,  0.,  0.,  1.],
           [40.,  1.,  0.,  0.],
           [52.,  0.,  1.,  0.],
           [40.,  1.,  0.,  0.]])
    """

    def __init__(self, *, impute: bool = False, unknown: str = "error") -> None:
        self.impute = impute
        self.unknown = unknown

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find which columns have texts, and what they are.

        Parameters
        ----------
        X : table or array-like of shape (n, d)
            pandas, polars, or an array, of objects where there are texts in it.
        y : ignored

        Returns
        -------
        self
        """
        if self.unknown not in ("error", "ignore"):
            raise ValueError(f"unknown must be 'error' or 'ignore', got {self.unknown!r}.")
        columns = _columns(X)
        _check_feature_names(self, X, reset=True)
        self.n_features_in_ = len(columns)
        names = getattr(self, "feature_names_in_", None)
        self.inputs_ = inputs_for(
            columns,
            None if names is None else tuple(map(str, names)),
            impute=self.impute,
            unknown=self.unknown,
        )
        return self

    def transform(self, X: Any) -> Array:  # (n, n_numbers)
        """Rows of numbers.

        Parameters
        ----------
        X : table or array-like of shape (n, d)

        Returns
        -------
        array of shape (n, n_numbers)
        """
        check_is_fitted(self)
        _refuse_sparse(X)
        _check_feature_names(self, X, reset=False)
        if not hasattr(X, "columns"):
            X = _as_array(X)
            if X.shape[1] != self.n_features_in_:
                raise ValueError(
                    f"X has {X.shape[1]} features, but TableEncoder is expecting {self.n_features_in_} features as "
                    "input."
                )
        numbers = np.asarray(self.inputs_(X), dtype=np.float64)
        if not np.isfinite(numbers).all():
            where = int(np.argmax(~np.isfinite(numbers).all(axis=1)))
            raise ValueError(f"X has an infinite number (infinity) or NaN in row {where}.")
        return numbers

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the numbers: of a column, or column=text.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns, where `fit` had none.

        Returns
        -------
        array of shape (n_numbers,)
        """
        check_is_fitted(self)
        names: Any = self.inputs_.names or input_features
        if names is None:
            names = [f"x{j}" for j in range(self.n_features_in_)]
        return np.array(
            [
                str(names[column.source]) + ("" if column.category is None else f"={column.category}")
                for column in self.inputs_.columns or ()
            ],
            dtype=object,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.allow_nan = self.impute
        return tags


def inputs_for(
    columns: Sequence[tuple[Array, bool]], names: tuple[str, ...] | None, *, impute: bool, unknown: str
) -> Inputs:
    """What becomes of the columns of a table.

    Parameters
    ----------
    columns : sequence of (array of shape (n,), bool)
        The columns, and for each whether it has categories whatever its values are.
    names : tuple of str or None
    impute, unknown
        As in `TableEncoder`.

    Returns
    -------
    Inputs
    """
    plain = Inputs(len(columns), names)
    kinds: list[ColumnKind] = []
    for j, (values, told) in enumerate(columns):
        name = plain.name_of(j)
        known = _known(values, name, impute)
        if told or any(isinstance(value, str) for value in known):
            _refuse_mixture(known, name)
            kinds.append(kind_of_categories(Counter(known), len(values), name))
        else:
            kinds.append(ColumnKind(None, float(np.median(_numbers(known, name)))))
    return inputs_of(kinds, names, impute=impute, unknown=unknown)


@dataclass(frozen=True)
class ColumnKind:
    """What a column of a table is.

    Parameters
    ----------
    categories : tuple of categories or None
        All that it has, in order; None for numbers.
    instead : number or category
        What takes the place of a missing value.
    """

    categories: tuple[Category, ...] | None
    instead: Category


def kind_of_categories(counts: Counter[Any], n_rows: int, name: str) -> ColumnKind:
    """A column of categories, by how often each stands in how many rows."""
    categories = _categories(counts, n_rows, name)
    return ColumnKind(categories, max(categories, key=counts.__getitem__))


def inputs_of(
    kinds: Sequence[ColumnKind], names: tuple[str, ...] | None, *, impute: bool, unknown: str
) -> Inputs:
    """What becomes of columns of these kinds; the parameters are those of `inputs_for`."""
    made: list[Column] = []
    allowed: list[tuple[int, tuple[Category, ...]]] = []
    for j, kind in enumerate(kinds):
        if kind.categories is None:
            made.append(Column(j))
            continue
        # the second of two says all
        made += [Column(j, value) for value in kind.categories[len(kind.categories) == 2 :]]
        if unknown == "error":
            allowed.append((j, kind.categories))
    fill = tuple((j, kind.instead) for j, kind in enumerate(kinds)) if impute else ()
    return Inputs(len(kinds), names, tuple(made), tuple(allowed), fill)


def _known(values: Array, name: str, impute: bool) -> list[Any]:
    """The values of a column that are there."""
    if values.dtype.kind in "mM":  # NumPy counts nanoseconds where it is asked for a list
        _refuse_type(values.dtype.name, name)
    missing = is_missing(values)
    if missing.all():
        raise ValueError(f"X has no value at all in column {name}: leave the column out.")
    if missing.any() and not impute:
        raise ValueError(
            f"X has no value (NaN or None) in column {name}, row {int(np.argmax(missing))}, and in "
            f"{count(int(missing.sum()) - 1, 'row')} more: use TableEncoder(impute=True), or fill the column first."
        )
    known: list[Any] = values[~missing].tolist()
    return known


def _refuse_type(type_name: str, name: str) -> NoReturn:
    raise ValueError(
        f"argument must be a string or a number: X has a value of the type {type_name} in column {name}, neither a "
        "number nor a text; make it one of these."
    )


def _refuse_sparse(X: Any) -> None:
    if sparse.issparse(X):
        raise TypeError("TableEncoder takes tables and dense arrays; sparse data needs no encoder.")


def _as_array(X: Any) -> Array:
    """An array of two dimensions, of objects unless it is of numbers."""
    _refuse_sparse(X)
    X = np.asarray(X)
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: X has complex numbers.")
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead. Reshape your data: X must have rows and columns."
        )
    if X.shape[0] == 0:
        raise ValueError("Found array with 0 sample(s): X has no rows.")
    if X.shape[1] == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    return X


def _columns(X: Any) -> list[tuple[Array, bool]]:
    """The columns of a table or an array, and whether the table says that they are of categories."""
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        if len(set(X.columns)) < len(X.columns):
            twice = next(name for name in X.columns if list(X.columns).count(name) > 1)
            raise ValueError(f"X has two columns of the name {twice!r}: give every column a name of its own.")
        _as_array(X.to_numpy())
        return [(np.asarray(X[name].to_numpy()), hasattr(X[name].dtype, "categories")) for name in X.columns]
    X = _as_array(X)
    return [(X[:, j], False) for j in range(X.shape[1])]


def _refuse_mixture(known: list[Any], name: str) -> None:
    odd = [value for value in known if not isinstance(value, str | bool | int | float)]
    if odd or (any(isinstance(x, str) for x in known) and not all(isinstance(x, str) for x in known)):
        other = odd[0] if odd else next(x for x in known if not isinstance(x, str))
        raise ValueError(
            f"X has texts in column {name}, and also {other!r}: make them all texts or all numbers."
        )


def _categories(known: Iterable[Any], n_rows: int, name: str) -> tuple[Category, ...]:
    categories = tuple(sorted(known))
    if len(categories) > max(FEW_CATEGORIES, n_rows / 2):
        raise ValueError(
            f"X has {len(categories)} different texts in column {name} in {count(n_rows, 'row')}: it seems to name the "
            "rows, and nothing can be learnt from that; leave the column out."
        )
    return categories


def _numbers(known: list[Any], name: str) -> Array:
    odd = [value for value in known if not isinstance(value, bool | int | float)]
    if odd:
        try:
            return np.array([float(value) for value in known])
        except (TypeError, ValueError):
            pass
        _refuse_type(type(odd[0]).__name__, name)
    numbers = np.array(known, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError(f"X has an infinite number (infinity) in column {name}.")
    return numbers
