"""The model in the numbers that ship, and what it scores on given rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg

from ...budget import stored_bytes
from ...expansion import KernelExpansion
from ...kernels import Linear
from ...linalg import cholesky_factor
from ...losses import SquaredHinge
from ...model import Model
from ...readout import DensityReadout, FeaturesReadout, LargestReadout, Readout, SignReadout, ValueReadout
from ...refinement.shipped import shipped
from ...rounding import BITS, Rounded, rounded, rounded_geometry
from ...rows import Array, Rows, as_rows, dense
from ...training import TrainingSet

# Coefficients are solved for on at most so many rows.
MOST_ROWS = 5000
# Penalties on squared coefficients that are tried, per row, and that on the norm with which the hinge begins: large
# coefficients that cancel do not survive rounding.
PENALTIES = (1e-9, 1e-7, 1e-5, 1e-4, 1e-3)
HINGE_PENALTY = 1e-3


def finished(model: Model, number: str, X: Any = None, y: Any = None) -> tuple[Model, Rounded]:
    """The model with its numbers rounded to a format, and these numbers.

    In the integer formats, and where rows are given, coefficients are solved for again after vectors and projection
    were rounded; a model that has numbers of this format already stays as it is.
    """
    ready = is_rounded(model.expansion, number)
    f = model.expansion if ready else weights_of_linear(model.expansion)
    rows = None if X is None else as_rows(model.inputs(X))
    small = rounded(f, number, middle=_middle(f, rows))
    solved = not (
        ready or BITS[number] >= 32 or f.n_vectors == 0 or isinstance(model.readout, DensityReadout)
    )
    if solved and rows is not None and y is not None:
        few = np.linspace(0, rows.shape[0] - 1, min(rows.shape[0], MOST_ROWS)).astype(np.intp)
        rows, y = rows[few], np.asarray(y)[few]
        small = _best(model, [small, *_solved(model.readout, f, number, rows, y)], rows, y)
    return replace(model, expansion=small.expansion), small


def weights_of_linear(f: KernelExpansion) -> KernelExpansion:
    """A linear machine as one weight vector for each output, where that is smaller."""
    if not isinstance(f.kernel, Linear):
        return f
    wide = f.astype(np.float64)
    weights = np.asarray(wide.vectors.T @ wide.coef).T
    folded = KernelExpansion(f.kernel, weights, np.eye(f.n_outputs), wide.intercept).astype(f.coef.dtype)
    return folded if stored_bytes(folded) < stored_bytes(f) else f


def is_rounded(f: KernelExpansion, number: str) -> bool:
    """Whether rounding would change nothing."""
    if BITS[number] >= 32 or f.n_vectors == 0:
        return False
    small = rounded(f, number).expansion
    parts = [(f.vectors, small.vectors), (f.coef, small.coef), (f.intercept, small.intercept)]
    same = all(np.array_equal(dense(a), dense(b)) for a, b in parts) and f.kernel == small.kernel
    return same and (f.projection is None or f.projection.same_as(small.projection))


def _middle(f: KernelExpansion, rows: Rows | None) -> Array | None:  # (d,)
    """A row in the middle of the data; without rows the shortest that the projection maps to the middle."""
    if rows is not None and rows.shape[0]:
        return np.asarray(rows.mean(axis=0), dtype=np.float64).ravel()
    if f.projection is None:
        return None
    middle: Array = np.linalg.pinv(f.projection.matrix.astype(np.float64)) @ f.projection.shift
    return middle


def _solved(readout: Readout, f: KernelExpansion, number: str, X: Rows, y: Array) -> Iterator[Rounded]:
    """Models with the coefficients solved for again: after the outputs as they were, and after the labels."""
    middle = _middle(f, X)
    g = rounded_geometry(f, number, middle=middle)
    K = g.kernel(X if g.projection is None else g.projection(X), g.vectors).astype(np.float64)
    K = np.column_stack([K, np.ones(len(K))])
    wanted = f.astype(np.float64)(X)
    gram, right = K.T @ K, K.T @ wanted
    for penalty in PENALTIES:
        ridge = np.full(len(gram), penalty * max(1e-300, float(np.trace(gram)) / len(gram)))
        ridge[-1] = 0.0
        solution = linalg.cho_solve((cholesky_factor(gram + np.diag(ridge)), True), right)
        coef, intercept = solution[:-1].astype(np.float32), solution[-1].astype(np.float32)
        yield rounded(replace(g, coef=coef, intercept=intercept), number, middle=middle)
    if isinstance(readout, SignReadout | LargestReadout) and readout.probability is None:
        codes = readout.codes_of(y)
        n = len(codes)
        data = TrainingSet(X, readout.signs(codes), np.ones(n), np.arange(n), codes, classify=True)
        after_labels = shipped(f, number, data, SquaredHinge(), HINGE_PENALTY)
        yield rounded(after_labels, number, middle=middle)


def _best(model: Model, candidates: list[Rounded], rows: Rows, y: Array) -> Rounded:
    """The candidate with the best score, of equals that whose outputs changed least."""
    wanted = model.expansion.astype(np.float64)(rows)

    def quality(small: Rounded) -> tuple[float, float]:
        outputs = small.expansion(rows)
        error = float(np.square(outputs - wanted).mean())
        found = score_of(model.readout, outputs, y)
        return (-error if found is None else found, -error)

    return max(candidates, key=quality)


def score_of(readout: Readout, outputs: Array, y: Any) -> float | None:
    """The share of right answers, or R^2 of values; None where the readout has neither."""
    if isinstance(readout, FeaturesReadout | DensityReadout):
        return None
    answers = readout.answer(outputs)
    y = np.asarray(y)
    if not isinstance(readout, ValueReadout):
        return float(np.mean(answers == y))
    y = y.reshape(answers.shape).astype(np.float64)
    spread = float(np.square(y - y.mean(axis=0)).sum())
    return 1.0 - float(np.square(y - answers).sum()) / spread if spread > 0 else None
