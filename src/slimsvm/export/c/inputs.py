"""What becomes of a raw row: the numbers the expansion sees, in C."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...inputs import Category, Column, Inputs, is_missing
from .text import Code, smallest_unsigned

# A shift of so many spreads loses digits in float32: what is left of it is taken off as a second number.
FAR_SHIFT = 16.0


def categories_of(inputs: Inputs) -> dict[int, tuple[Category, ...]]:
    """For each column of categories all of them, in the order in which text has its numbers."""
    known: dict[int, list[Category]] = {}
    for column in inputs.columns or ():
        if column.category is not None:
            known.setdefault(column.source, []).append(column.category)
    allowed = dict(inputs.allowed)
    return {source: tuple(allowed.get(source, values)) for source, values in known.items()}


def category_number(category: Category, among: tuple[Category, ...]) -> float:
    """What C compares with: a number is itself, text its place in the list."""
    if any(isinstance(value, str) for value in among):
        return float(among.index(category))
    return float(category)


def raw_numbers(inputs: Inputs, X: Any) -> Any:  # (n, n_features)
    """Raw rows as C takes them: text as its place in the list of its column, NaN where a value is missing."""
    if inputs.columns is None:
        return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    raw = inputs._raw(X)
    raw = np.array(raw.toarray() if hasattr(raw, "toarray") else raw)
    lists = categories_of(inputs)
    out = np.empty(raw.shape)
    for j in range(raw.shape[1]):
        among, missing = lists.get(j, ()), is_missing(raw[:, j])
        if any(isinstance(value, str) for value in among):
            out[:, j] = [among.index(value) if value in among else -1 for value in raw[:, j].tolist()]
        else:
            used = any(column.source == j for column in inputs.columns)
            out[:, j] = np.where(missing, np.nan, raw[:, j]).astype(np.float64) if used else 0.0
        out[missing, j] = np.nan
    return out


def write_inputs(code: Code, inputs: Inputs) -> None:
    """Add `<name>_number(x, f)`: number f of the row as the expansion sees it."""
    if inputs.columns is None:
        code.add(
            """
            static inline $real ${name}_number(const $real *x, int f) {
                return x[f];
            }
            """
        )
        return
    columns, lines = inputs.columns, []
    code.table("source", [c.source for c in columns], smallest_unsigned(inputs.n_features))
    source = code.entry("source", "f", smallest_unsigned(inputs.n_features))
    lines.append(f"{code.real} value = x[{source}];")
    lines += _fill(code, inputs, columns)
    lines += _category(code, inputs, columns)
    shift, scale = np.array([c.shift for c in columns]), np.array([c.scale for c in columns])
    if shift.any():
        code.table("input_shift", shift)
        lines.append(f"value -= {code.entry('input_shift', 'f')};")
        if code.real == "float" and np.abs(shift * scale).max() > FAR_SHIFT:
            code.table("input_rest", shift - shift.astype(np.float32))
            lines.append(f"value -= {code.entry('input_rest', 'f')};")
    if (scale != 1).any():
        code.table("input_scale", scale)
        lines.append(f"value *= {code.entry('input_scale', 'f')};")
    head = f"static inline {code.real} {code.name}_number(const {code.real} *x, int f) {{"
    code.functions.append("\n".join([head, *(f"    {line}" for line in lines), "    return value;", "}"]))


def fill_numbers(inputs: Inputs) -> dict[int, float]:
    """What takes the place of a missing value, as C takes it, by column."""
    lists = categories_of(inputs)
    return {
        source: category_number(value, lists[source]) if source in lists else float(value)
        for source, value in inputs.fill
    }


def _fill(code: Code, inputs: Inputs, columns: tuple[Column, ...]) -> list[str]:
    """Lines that put something in the place of a missing value: NaN is the only number that is not itself."""
    if not inputs.fill:
        return []
    fill = fill_numbers(inputs)
    code.table("fill", [fill.get(c.source, 0.0) for c in columns])
    put = f"value = {code.entry('fill', 'f')};"
    if all(c.source in fill for c in columns):
        return [f"if (value != value) {put}"]
    code.table("is_filled", [int(c.source in fill) for c in columns], "uint8_t")
    return [f"if (value != value && {code.entry('is_filled', 'f', 'uint8_t')}) {put}"]


def _category(code: Code, inputs: Inputs, columns: tuple[Column, ...]) -> list[str]:
    """Lines that turn a category into 0 or 1."""
    if not inputs.has_categories:
        return []
    lists = categories_of(inputs)
    numbers = [0.0 if c.category is None else category_number(c.category, lists[c.source]) for c in columns]
    code.table("category", numbers)
    test = f"value = value == {code.entry('category', 'f')} ? {code.number(1)} : {code.number(0)};"
    if all(c.category is not None for c in columns):
        return [test]
    code.table("is_category", [int(c.category is not None) for c in columns], "uint8_t")
    return [f"if ({code.entry('is_category', 'f', 'uint8_t')}) {test}"]
