"""The model that runs in the page, and what can be moved there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..export.javascript import to_js
from ..inputs import is_missing
from ..kernels import Linear
from ..rounding import BITS, lossless, rounded
from ..rows import Array
from .plane import raw_column
from .subject import Subject, numbers_of, rows_of, take
from .text import short
from .vectors import Pixels

# Inputs that can be moved; of more, the most relevant ones.
MOST_FIELDS = 30
# Rows to start from, and values of them all together.
MOST_ROWS = 24
MOST_VALUES = 40_000
# Where the numbers of the module would take more letters, they are written with fewer digits if it answers the same,
LONGEST_MODULE = 400_000
# and where that is not enough, this many are taken.
LONGEST_AT_ALL = 3_000_000
# "The same": on so many rows, this share of equal labels, or values as near as this in units of their spread.
COMPARED_ROWS = 500
SAME_ANSWERS = 0.995
SAME_VALUES = 0.01
# Categories to choose from.
MOST_CATEGORIES = 200


@dataclass(frozen=True, eq=False)
class Live:
    """What the page needs to run the model.

    Parameters
    ----------
    script : str
        JavaScript: an expression whose value has `predict` and what else the model answers.
    data : dict
        Fields, rows and answers, as the page's script reads them.
    number : str or None
        The number format, where it is not the model's own.
    """

    script: str
    data: dict[str, Any]
    number: str | None


def live_of(subject: Subject, pixels: Pixels | None) -> Live | None:
    """The model for the page; None where it cannot be written as JavaScript."""
    try:
        module, number = _module(subject)
    except (TypeError, ValueError):
        return None
    rows = _start_rows(subject)
    given = [_row(subject, take(subject.X_seen, np.array([i]))) for i in rows.tolist()]
    answers = subject.readout.answer(subject.seen_outputs[rows])
    true = None if subject.y_seen is None else subject.y_seen[rows]
    data = {
        "kind": subject.kind,
        "classes": subject.classes,
        "n": subject.model.inputs.n_features,
        "fields": [] if pixels else [_field(subject, j) for j in _moved(subject)],
        "image": None
        if pixels is None
        else {"height": pixels.shape[0], "width": pixels.shape[1], "low": pixels.low, "high": pixels.high},
        "rows": given,
        "numbers": rows.tolist(),
        "which": "test" if subject.tested else "training",
        "answers": _plain(answers),
        "pairs": getattr(subject.readout, "one_for_each_pair", False),
        "truth": None if true is None else [_written(value) for value in true],
    }
    return Live(module, data, number)


def _module(subject: Subject) -> tuple[str, str | None]:
    """The model as an expression, and the format of its numbers where that is not its own."""
    number = _format(subject)
    text = to_js(subject.model, number=number)
    names = re.findall(r"^export const (\w+)", text, flags=re.MULTILINE)
    body = re.sub(r"^export const", "const", text, flags=re.MULTILINE)
    return f"(() => {{\n{body}return {{ {', '.join(names)} }};\n}})()", number


def _format(subject: Subject) -> str | None:
    """The first format in which the model is short and answers as it does with all its digits; None is its own."""
    f = subject.model.expansion
    if isinstance(f.kernel, Linear):  # written as its weights
        n_numbers = f.n_features * f.n_outputs
    else:
        n_numbers = f.n_vectors * (f.vectors.shape[1] + f.n_outputs)
        n_numbers += 0 if f.projection is None else f.projection.matrix.size
    own = lossless(f).number
    smaller = [number for number in ("float32", "int16", "int8") if BITS[number] < BITS[own]]
    for longest in (LONGEST_MODULE, LONGEST_AT_ALL):
        for number in (None, *smaller):
            letters = n_numbers * BITS[number or own] / 6  # six bits to a letter
            if letters <= longest and (number is None or _agrees(subject, number)):
                return number
    raise ValueError("the model is too large for a page.")


def _agrees(subject: Subject, number: str) -> bool:
    """Whether the model answers in this format as it does with all its digits."""
    model = subject.model
    try:
        small = rounded(model.expansion, number).expansion
    except ValueError:  # a kernel or numbers that the format cannot have
        return False
    X = take(subject.X_seen, np.arange(min(rows_of(subject.X_seen), COMPARED_ROWS)))
    outputs = subject.seen_outputs[: rows_of(X)]
    others = small(numbers_of(model, X))
    if subject.kind in ("classes", "inliers"):
        return bool(np.mean(model.readout.answer(outputs) == model.readout.answer(others)) >= SAME_ANSWERS)
    return bool((np.abs(outputs - others).max(axis=0) <= SAME_VALUES * outputs.std(axis=0)).all())


def _start_rows(subject: Subject) -> Array:
    """Rows to start from: some of those the model is judged by, every class among them if it can be."""
    n = rows_of(subject.X_seen)
    d = subject.model.inputs.n_features
    most = MOST_ROWS if sparse.issparse(subject.X_seen) else max(1, min(MOST_ROWS, MOST_VALUES // d))
    order = np.random.default_rng(0).permutation(n)
    if subject.kind == "classes":
        codes = subject.seen_codes[order]
        turn = np.empty(n, dtype=np.intp)  # first one row of each class, then a second one, ...
        for c in np.unique(codes):
            turn[codes == c] = np.arange(np.sum(codes == c))
        order = order[np.argsort(turn, kind="stable")]
    return order[:most]


def _row(subject: Subject, X: Any) -> Any:
    """One raw row as JSON has it: a list, or for CSR what is not zero by its column."""
    if sparse.issparse(X):
        return {str(j): float(v) for j, v in zip(X.indices.tolist(), X.data.tolist(), strict=True)}
    if hasattr(X, "columns"):
        return [_plain(raw_column(X, j, name))[0] for j, name in enumerate(subject.names)]
    return [_plain(value) for value in np.asarray(X)[0]]


def _plain(value: Any) -> Any:
    """What JSON can hold; missing and infinite numbers are null."""
    if isinstance(value, np.ndarray):
        return [_plain(each) for each in value.tolist()]
    if isinstance(value, list):
        return [_plain(each) for each in value]
    value = value.item() if hasattr(value, "item") else value
    if (isinstance(value, float) and not np.isfinite(value)) or type(value).__name__ in ("NAType", "NaTType"):
        return None
    return value


def _written(value: Any) -> str:
    if np.ndim(value):
        return ", ".join(short(float(each)) for each in value)
    return short(value.item() if hasattr(value, "item") else value)


def _moved(subject: Subject) -> list[int]:
    d = subject.model.inputs.n_features
    return list(range(d)) if d <= MOST_FIELDS else subject.by_relevance[:MOST_FIELDS].tolist()


def _field(subject: Subject, j: int) -> dict[str, Any]:
    """How the page lets one raw column be changed; a value may be missing where the model has something instead."""
    inputs, name = subject.model.inputs, subject.names[j]
    column = raw_column(subject.some_X, j, name)
    column = column[~is_missing(column)]
    field: dict[str, Any] = {"column": j, "name": name, "missing": j in dict(inputs.fill)}
    categories = [c.category for c in inputs.columns or () if c.source == j and c.category is not None]
    if categories:
        allowed = dict(inputs.allowed).get(j)
        seen = list(dict.fromkeys(_plain(column)))
        listed = (
            [*allowed] if allowed is not None else [*categories, *(v for v in seen if v not in categories)]
        )
        return {**field, "values": [*listed[:MOST_CATEGORIES], *([None] if field["missing"] else [])]}
    numbers = column.astype(np.float64)
    low, high = (float(numbers.min()), float(numbers.max())) if len(numbers) else (0.0, 1.0)
    whole = bool(len(numbers)) and bool((numbers == np.round(numbers)).all())
    return {**field, "low": low, "high": high if high > low else low + 1.0, "whole": whole}
