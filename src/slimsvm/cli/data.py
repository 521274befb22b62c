"""From a data file to rows and targets, and from there to what a model takes; errors have file, line and column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..adapters.table_encoder import inputs_for
from ..errors import DataFormatError
from ..inputs import Inputs, is_missing
from ..model import Model
from ..reading import Table, UnnamedRows
from ..reading.table import wrong
from ..rows import Array
from ..words import count
from .options import Columns, Format
from .output import Output

# Names that a target often has, in the order of preference; failing these, it is the last column.
TARGETS = ("target", "label", "class", "y", "outcome", "response")
# A target of whole numbers with at most so many different ones is of classes.
MOST_CLASSES = 20


@dataclass(frozen=True, eq=False)
class Data:
    """Rows to learn from or to test with.

    Parameters
    ----------
    rows : Table or UnnamedRows
        The columns but the target.
    y : array of shape (n,)
    target : str or None
        Name of the target.
    classify : bool
    """

    rows: Table | UnnamedRows
    y: Array
    target: str | None
    classify: bool

    def __str__(self) -> str:
        rows, texts = self.rows, ""
        d = rows.shape[1] if isinstance(rows, Table) else rows.X.shape[1]
        if isinstance(rows, Table) and rows.texts:
            texts = f", {len(rows.texts)} of them of texts"
        kind = f"{len(np.unique(self.y))} classes" if self.classify else "numbers"
        target = "the labels" if self.target is None else f"target {self.target!r}"
        return f"{rows.source}: {count(len(rows), 'row', ',')} of {count(d, 'column', ',')}{texts}; {target}: {kind}"


def learning_data(path: str | Path, options: Columns, format: Format) -> Data:
    """Rows and target of a file; the target is found where it is not named."""
    found = format.file(path, options.categorical)
    rows, y, name = _split(found, options)
    if isinstance(rows, Table) and not rows.names:
        raise wrong(
            rows.source, None,
            "there is one column only, so nothing to predict the target from; if the separator was not found, say "
            "which it is with --separator.",
        )  # fmt: skip
    classify = _of_classes(y) if options.task is None else options.task == "classification"
    if not classify and y.dtype.kind == "U":
        raise wrong(
            found.source, None, f"the target {name!r} has texts: that is classification, not regression."
        )
    if classify and len(np.unique(y)) < 2:
        raise wrong(
            found.source, None,
            f"the target {'' if name is None else repr(name) + ' '}has one value only, {_plain(y[0])!r}: there is "
            "nothing to tell apart.",
        )  # fmt: skip
    return Data(rows, y, name, classify)


def held_out_data(path: str | Path, options: Columns, format: Format, like: Data) -> Data:
    """Rows and target of another file, of the same kind."""
    found = format.file(path, _told(like.rows))
    if isinstance(found, Table) and like.target is not None:
        if like.target not in found.names:
            raise wrong(found.source, None, f"there is no column {like.target!r}, the target.")
        y = _target(found, like.target)
        return Data(found.without(like.target), y, like.target, like.classify)
    rows, y, name = _split(found, options)
    return Data(rows, y, name, like.classify)


def _told(rows: Table | UnnamedRows) -> tuple[str, ...]:
    return tuple(sorted(rows.told)) if isinstance(rows, Table) else ()


def _split(found: Table | UnnamedRows, options: Columns) -> tuple[Table | UnnamedRows, Array, str | None]:
    """Features, target and the target's name."""
    if isinstance(found, UnnamedRows):
        if found.y is not None:
            return found, _whole(found.y), None
        at = -1 if options.target is None else _number(options.target, found.X.shape[1], found.source)
        keep = np.delete(np.arange(found.X.shape[1]), at)
        return UnnamedRows(found.source, found.X[:, keep]), _whole(np.asarray(found.X[:, at])), None
    for name in options.drop:
        if name not in found.names:
            raise wrong(
                found.source, None, f"there is no column {name!r} to drop; there are {_some(found.names)}."
            )
    found = found.without(*options.drop)
    wished = options.target
    if wished is None:
        lower = {known.lower(): known for known in found.names}
        name = next((lower[word] for word in TARGETS if word in lower), found.names[-1])
    elif wished in found.names:
        name = wished
    elif wished.lstrip("-").isdigit():
        name = found.names[_number(wished, len(found.names), found.source)]
    else:
        raise wrong(found.source, None, f"there is no column {wished!r}; there are {_some(found.names)}.")
    return found.without(name), _target(found, name), name


def _number(target: str, width: int, source: str) -> int:
    if not target.lstrip("-").isdigit() or not -width <= int(target) < width:
        raise wrong(source, None, f"there is no column {target}; there are {width}, counted from 0.")
    return int(target) % width


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")


def _target(table: Table, name: str) -> Array:
    y = table.column(name)
    missing = is_missing(y)
    if missing.any():
        row = int(np.argmax(missing))
        raise DataFormatError(
            f"{table.where(row)}: the target {name!r} has no value; rows without one cannot be learnt from, leave "
            "them out."
        )
    if y.dtype.kind == "O":
        return np.array(y.tolist())
    return _whole(y)


def _whole(y: Array) -> Array:
    """Labels without a decimal point where none has a fraction."""
    if y.dtype.kind == "f" and (y == np.round(y)).all() and np.abs(y).max(initial=0) < 2**53:
        return y.astype(np.int64)
    return y


def _of_classes(y: Array) -> bool:
    return y.dtype.kind in "Ub" or ((y == np.round(y)).all() and len(np.unique(y)) <= MOST_CLASSES)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def encoded(data: Data, *, impute: bool, ignore_unknown: bool, say: Output) -> tuple[Inputs | None, Any]:
    """What becomes of the columns, and the rows as numbers."""
    rows = data.rows
    if isinstance(rows, UnnamedRows):
        return None, rows.X
    _refuse_missing(rows, () if impute else rows.names)
    columns = [(values, name in rows.told) for name, values in zip(rows.names, rows.values, strict=True)]
    unknown = "ignore" if ignore_unknown else "error"
    try:
        inputs = inputs_for(columns, rows.names, impute=impute, unknown=unknown)
    except ValueError as error:
        raise wrong(rows.source, None, f"{error} At the shell, --drop leaves a column out.") from None
    if impute:
        holes = {
            name: int(is_missing(values).sum()) for (values, _), name in zip(columns, rows.names, strict=True)
        }
        filled = [f"{name} ({n:,})" for name, n in holes.items() if n]
        if filled:
            say.say(f"Missing values are replaced by medians and most frequent texts: {_some(filled)}.")
    numbers = np.ascontiguousarray(inputs(rows))
    if not impute and all(column.category is None for column in inputs.columns or ()):
        inputs = Inputs(inputs.n_features, inputs.names)  # the rows themselves
    return inputs, numbers


def _refuse_missing(rows: Table, names: Sequence[str]) -> None:
    for name in names:
        missing = is_missing(rows.column(name))
        if missing.any():
            row, more = int(np.argmax(missing)), int(missing.sum()) - 1
            others = f" (and in {count(more, 'row', ',')} more)" if more else ""
            raise DataFormatError(
                f"{rows.where(row)}: column {name!r} has no value{others}. Fit with --impute to put medians and most "
                f"frequent texts in such places, or leave the column out with --drop {name!r}."
            )


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
                f"there is no column {lacking[0]!r}, which the model needs; there are {_some(rows.names)}.",
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
                f"{rows.where(row)}: column {name!r} has {values[row]!r}, where the model takes numbers."
            )
        if j not in fill:
            _refuse_missing(rows, [name])
        if j in allowed:
            known = set(allowed[j])
            strange = [
                i for i, value in enumerate(values.tolist()) if value is not None and value not in known
            ]
            if strange:
                raise DataFormatError(
                    f"{rows.where(strange[0])}: column {name!r} has {values[strange[0]]!r}, which it did not have "
                    "when the model was fitted; fit with --ignore-unknown to take such values as none of the others."
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
