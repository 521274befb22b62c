"""Rows with known outputs, and a function that compares: the part of a header that is compiled on demand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...inputs import Inputs
from ...kernels import RBF, Laplacian, Polynomial, Sigmoid
from ...model import Model
from ...readout import LargestReadout, SignReadout
from ...rows import Array, dense
from .inputs import categories_of, category_number, fill_numbers, raw_numbers
from .text import Code, dense_rows, indented

MOST_ROWS, MOST_NUMBERS = 8, 4096
# What outputs may differ by, relative to the sum of their absolute terms.
TOLERANCE = {"float64": 1e-10, "float32": 1e-4, "int16": 1e-2, "int8": 1e-2, "int4": 1e-2}


def raw_from_vectors(model: Model) -> Array:  # (n, n_features)
    """Raw rows, as C takes them, that lie near the vectors."""
    f = model.expansion
    rows = dense_rows(f.vectors)[:MOST_ROWS].astype(np.float64)
    if f.projection is not None:
        back = np.linalg.pinv(f.projection.matrix.astype(np.float64))
        rows = (rows + f.projection.shift) @ back.T
    if not len(rows):
        rows = np.zeros((1, f.n_features))
    return rows if model.inputs.columns is None else _raw(model.inputs, rows)


def _raw(inputs: Inputs, rows: Array) -> Array:
    raw = np.zeros((len(rows), inputs.n_features))
    best = np.full(raw.shape, -np.inf)
    lists = categories_of(inputs)
    for j, column in enumerate(inputs.columns or ()):
        value = rows[:, j] / (column.scale or 1.0) + column.shift
        source = column.source
        if column.category is None:
            raw[:, source] = value
        else:  # the category that is most there
            more = value > best[:, source]
            best[more, source] = value[more]
            raw[more, source] = category_number(column.category, lists[source])
    return raw


def numbers_of_raw(model: Model, raw: Array) -> Array:  # (n, n_numbers)
    """What the expansion sees of raw rows as C takes them."""
    if model.inputs.columns is None:
        return raw
    lists, fill = categories_of(model.inputs), fill_numbers(model.inputs)
    columns = []
    for column in model.inputs.columns:
        value = raw[:, column.source]
        value = np.where(np.isnan(value), fill.get(column.source, np.nan), value)
        if column.category is not None:
            value = (value == category_number(column.category, lists[column.source])).astype(np.float64)
        columns.append((value - column.shift) * column.scale)
    return np.ascontiguousarray(np.column_stack(columns))


def outputs_of_raw(model: Model, raw: Array) -> Array:  # (n, n_outputs)
    """Outputs for raw rows as C takes them, in double precision."""
    return model.expansion.astype(np.float64)(numbers_of_raw(model, raw))


def size_of_outputs(model: Model, raw: Array) -> Array:  # (n, n_outputs)
    """Sums of the absolute terms of the outputs: what their rounding is measured by."""
    f = model.expansion
    size = replace(f, coef=np.abs(f.coef), intercept=np.abs(f.intercept))
    if isinstance(f.kernel, RBF | Laplacian):
        return outputs_of_raw(replace(model, expansion=size), raw) + 1e-30
    vectors, rows = np.abs(dense_rows(f.vectors)).astype(np.float64), np.abs(numbers_of_raw(model, raw))
    values = rows @ vectors.T
    if isinstance(f.kernel, Polynomial):
        values = (f.kernel.gamma * values + abs(f.kernel.coef0)) ** f.kernel.degree
    elif isinstance(f.kernel, Sigmoid):
        values = np.minimum(f.kernel.gamma * values + abs(f.kernel.coef0), 1.0)
    return values @ size.coef.astype(np.float64) + size.intercept + 1e-30


def write_selftest(code: Code, model: Model, number: str, X: Any, exp: str) -> str:
    """The text of the self-test."""
    d, k = model.inputs.n_features, model.expansion.n_outputs
    most = max(1, min(MOST_ROWS, MOST_NUMBERS // max(1, d)))
    raw = raw_from_vectors(model) if X is None else raw_numbers(model.inputs, X[: 8 * MOST_ROWS])
    raw = dense(raw).astype(np.float32 if code.real == "float" else np.float64).astype(np.float64)
    relative = max(TOLERANCE[number], 1e-3 if exp == "table" else 0.0)
    outputs, size = outputs_of_raw(model, raw), size_of_outputs(model, raw)
    clear = np.flatnonzero(_is_clear(model, outputs, 2 * relative * size))
    labels = bool(clear.size)
    chosen = clear[:most] if labels else np.arange(min(most, len(raw)))
    part = Code(code.name, code.real)
    part.table("test_rows", raw[chosen])
    part.table("test_outputs", outputs[chosen])
    part.table("test_errors", relative * size[chosen])
    if labels:
        part.table("test_classes", model.readout.winners(outputs[chosen]), "int32_t")  # type: ignore[union-attr]
    compare = part.fill(
        """
        if (${name}_winner(out) != ${name}_test_classes[row]) {
            return row + 1;
        }
        """
    )
    part.add(
        """
        /* 0 if all is well, otherwise the number, from 1, of the first row whose outputs are wrong. */
        static inline int ${name}_selftest(void) {
            $real out[$k];
            int row, o;
            for (row = 0; row < $n; row++) {
                ${name}_outputs(${name}_test_rows + row * $d, out);
                for (o = 0; o < $k; o++) {
                    const $real wrong = out[o] - ${name}_test_outputs[row * $k + o];
                    if (!((wrong < 0 ? -wrong : wrong) <= ${name}_test_errors[row * $k + o])) {
                        return row + 1;
                    }
                }
        $winner
            }
            return 0;
        }
        """,
        n=len(chosen), d=d, k=k, winner=indented(compare, 2) if labels else "",
    )  # fmt: skip
    return "\n\n".join([*part.tables, *part.functions])


def _is_clear(model: Model, outputs: Array, error: Array) -> Array:  # (n,)
    """Whether the class of a row does not depend on errors of this size."""
    if isinstance(model.readout, SignReadout):
        return np.abs(outputs[:, 0]) > error[:, 0]
    if isinstance(model.readout, LargestReadout):
        first, second = -np.sort(-outputs, axis=1)[:, :2].T
        return first - second > 2 * error.max(axis=1)
    return np.zeros(len(outputs), dtype=bool)
