"""From the rows of files to the numbers that a model takes; errors have file, line and column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ..adapters.table_encoder import ColumnKind, inputs_of, kind_of_categories
from ..errors import DataFormatError
from ..inputs import Inputs, is_missing
from ..model import Model
from ..words import count, quoted, some
from .survey import MOST_CATEGORIES, Survey
from .table import Table, UnnamedRows, wrong


def no_value(where: str, name: str, more: int) -> DataFormatError:
    """The error that a value is missing, there and in so many more rows."""
    others = f" (and in {count(more, 'row', ',')} more)" if more else ""
    return DataFormatError(
        f"{where}: column {quoted(name)} has no value{others}. Fit with --impute to put medians and most frequent "
        f"texts in such places, or leave the column out with --drop {quoted(name)}."
    )


def inputs_for_all(survey: Survey, *, impute: bool, unknown: str) -> Inputs:
    """What becomes of the columns, by what all files have in them."""
    source, names, kinds = survey.source, tuple(name for name, _ in survey.columns), []
    if not names:
        raise wrong(
            source, None,
            "there is one column only, so nothing to predict the target from; if the separator was not found, say "
            "which it is with --separator.",
        )  # fmt: skip
    for j, (name, column) in enumerate(survey.columns):
        if column.texts is None:
            raise wrong(
                source, None, f"column {quoted(name)} has no value at all in any file: --drop leaves it out."
            )
        if column.n_missing and not impute:
            raise no_value(column.missing_where, name, column.n_missing - 1)
        if column.counts is None:
            raise wrong(
                source, None,
                f"column {quoted(name)} has more than {MOST_CATEGORIES:,} different values, each of which would "
                "become a number of every row; --drop leaves it out.",
            )  # fmt: skip
        if column.texts or name in survey.told:
            try:
                kinds.append(kind_of_categories(column.counts, survey.n_rows, repr(name)))
            except ValueError as error:
                raise wrong(source, None, f"{error} At the shell, --drop leaves a column out.") from None
            continue
        median = float(column.first)
        if survey.sample is not None and not np.isnan(drawn := survey.sample.values[:, j]).all():
            median = float(np.nanmedian(drawn))
        kinds.append(ColumnKind(None, median))
    inputs = inputs_of(kinds, names, impute=impute, unknown=unknown)
    if not impute and not inputs.has_categories:
        return Inputs(inputs.n_features, names)  # the rows themselves
    return inputs


def refuse_missing(rows: Table, names: Sequence[str]) -> None:
    """Say where a value of these columns is missing, if one is."""
    for name in names:
        missing = is_missing(rows.column(name))
        if missing.any():
            raise no_value(rows.where(int(np.argmax(missing))), name, int(missing.sum()) - 1)


def rows_for(inputs: Inputs, rows: Table | UnnamedRows) -> Any:
    """The numbers that an expansion takes, from the rows of a file."""
    if isinstance(rows, UnnamedRows):
        return _sparse_for(inputs, rows)
    if inputs.names is None:
        if rows.shape[1] != inputs.n_features:
            raise wrong(
                rows.source,
                None,
                f"there are {rows.shape[1]} columns, but the model takes {inputs.n_features}.",
            )
        wanted = rows
    else:
        lacking = [name for name in inputs.names if name not in rows.names]
        if lacking:
            raise wrong(
                rows.source, None,
                f"there is no column {quoted(lacking[0])}, which the model needs; there are {some(rows.names)}.",
            )  # fmt: skip
        wanted = rows[inputs.names]
    _check_columns(inputs, wanted)
    numbers = inputs(wanted if inputs.columns is not None else wanted.to_numpy())
    return np.ascontiguousarray(numbers, dtype=np.float64)


def categories_told(model: Model) -> tuple[str, ...]:
    """Columns of a named model whose values are texts, also where they look like numbers."""
    names, columns = model.inputs.names, model.inputs.columns
    if names is None or columns is None:
        return ()
    return tuple(sorted({names[column.source] for column in columns if isinstance(column.category, str)}))


def _check_columns(inputs: Inputs, rows: Table) -> None:
    """Refuse texts where numbers belong, missing values without a substitute, and unknown categories, by line."""
    fill, allowed = dict(inputs.fill), dict(inputs.allowed)
    kinds = {c.source: c.category is not None for c in inputs.columns or ()}
    for j, (name, values) in enumerate(zip(rows.names, rows.values, strict=True)):
        if inputs.columns is not None and j not in kinds:
            continue
        if values.dtype.kind == "O" and not kinds.get(j):
            row = int(np.argmax(~is_missing(values)))
            raise DataFormatError(
                f"{rows.where(row)}: column {quoted(name)} has {quoted(values[row])}, where the model takes numbers."
            )
        if j not in fill:
            refuse_missing(rows, [name])
        if j in allowed:
            known = set(allowed[j])
            strange = [
                i for i, value in enumerate(values.tolist()) if value is not None and value not in known
            ]
            if strange:
                raise DataFormatError(
                    f"{rows.where(strange[0])}: column {quoted(name)} has {quoted(values[strange[0]])}, which it did "
                    "not have when the model was fitted; fit with --ignore-unknown to take such values as none of "
                    "the others."
                )


def _sparse_for(inputs: Inputs, rows: UnnamedRows) -> Any:
    """Rows without names, as wide as the model takes them."""
    X, d = rows.X, inputs.n_features
    if sparse.issparse(X) and X.shape[1] < d:  # the last columns are zero in all rows of the file
        X = sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], d))
    if X.shape[1] == d + 1 and rows.y is None:
        raise wrong(
            rows.source, None,
            f"there are {X.shape[1]} columns, but the model takes {d}; leave the target out of the file.",
        )  # fmt: skip
    if X.shape[1] != d:
        raise wrong(rows.source, None, f"there are {X.shape[1]:,} columns, but the model takes {d:,}.")
    return inputs(X)
