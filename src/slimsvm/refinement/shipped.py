"""The model in the numbers that ship: vectors and metric rounded, then coefficients solved for them, then rounded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..expansion import KernelExpansion
from ..rounding import BITS, rounded, rounded_geometry
from ..rows import Array
from ..training import TrainingSet
from . import SmoothLoss, fit_coefficients, kernel_blocks

# Iterations of L-BFGS for the coefficients.
ITERATIONS = 100
# Factor on the penalty from one try to the next, and the most tries: coefficients of any size become small.
STRONGER, TRIES = 10.0, 16


def shipped(
    expansion: KernelExpansion,
    number: str,
    data: TrainingSet,
    loss: SmoothLoss,
    penalty: float,
    *,
    n_threads: int = 1,
) -> KernelExpansion:
    """The expansion with its numbers rounded to a format.

    Large coefficients that cancel do not survive rounding to few bits. So the coefficients are solved for with a
    penalty that grows until they lose by the penalty alone what the best rounded model has lost.

    Parameters
    ----------
    data : TrainingSet
        With weights of mean one.
    penalty : float
        On half the squared norm, beside the sum of the weighted losses: where the tries begin.
    """
    middle = None if data.precomputed else _mean(data)
    f = rounded_geometry(expansion, number, middle=middle)
    if BITS[number] >= BITS["float32"]:
        return rounded(f, number, middle=middle).expansion
    X = data.X if f.projection is None else f.projection(data.X, n_threads=n_threads)
    weights = np.repeat(data.weight[:, None], data.Y.shape[1], axis=1)
    blocks = kernel_blocks(f.kernel, X, f.vectors, dtype=np.float32, n_threads=n_threads)
    among = f.kernel(f.vectors, f.vectors).astype(np.float64)
    coef, intercept = f.coef.astype(np.float64), f.intercept.astype(np.float64)
    dtype = f.coef.dtype

    def loss_of(coef: Array, intercept: Array) -> float:
        return sum(
            float(
                np.vdot(
                    weights[rows], loss.value(data.Y[rows], K @ coef.astype(dtype) + intercept.astype(dtype))
                )
            )
            for rows, K in blocks()
        )

    best, least = f, np.inf
    for _ in range(TRIES):
        coef, intercept = fit_coefficients(
            blocks, among, data.Y, weights, loss, np.full(data.Y.shape[1], penalty), coef, intercept,
            max_iter=ITERATIONS,
        )  # fmt: skip
        if loss_of(coef, intercept) >= least:
            break
        made = replace(f, coef=coef.astype(dtype), intercept=intercept.astype(dtype))
        tried = rounded(made, number, middle=middle).expansion
        value = loss_of(tried.coef, tried.intercept)
        if value < least:
            best, least = tried, value
        penalty *= STRONGER
    return best


def _mean(data: TrainingSet) -> Array:  # (d,)
    """The weighted mean of the rows, also of the largest numbers there are."""
    with np.errstate(over="ignore"):
        mean = np.asarray((data.weight / data.weight.sum()) @ data.X).ravel()
    largest = np.finfo(data.X.dtype).max
    return np.clip(mean, -largest, largest)
