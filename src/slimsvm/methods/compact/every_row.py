"""A model that was learnt on a sample, with its coefficients solved for on all rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...chunks.coefficients import Solved, least_squares, smooth
from ...chunks.statistics import Features
from ...expansion import KernelExpansion
from ...losses import Squared
from ...rounding import rounded
from ...rows import Array
from ...training import Trained, TrainingSet
from ..base import Run
from ..chunked import AllRows

# Rows of the sample that say how the loss bends: more than vectors, or the matrix would be singular.
BEND_ROWS, BEND_EACH = 20_000, 20


def on_every_row(
    trained: Trained,
    loss: Any,
    number: str | None,
    data: TrainingSet,
    every: AllRows,
    target_scale: tuple[Array, Array],
    run: Run,
) -> Trained:
    """The same vectors and metric, with the coefficients of least loss on all rows at the C that was chosen.

    Parameters
    ----------
    number : str or None
        Format of the numbers; coefficients that are worse on the sample after rounding are not taken.
    data : TrainingSet
        The sample, its weights those of all rows.
    target_scale : pair of arrays of shape (k,)
        What targets are divided by for the loss, and what is taken off them before.
    """
    f = trained.expansion
    if not f.n_vectors:
        return trained
    unit, centre = target_scale
    penalty, targets = 1.0 / trained.extras["C_"], replace(every.targets, unit=unit, centre=centre)
    features = Features(f.kernel, f.vectors, f.projection)
    if isinstance(loss, Squared):
        solved = least_squares(every.passes, features, targets, penalty, in_function_space=True)
    else:
        start = Solved(f.coef.astype(np.float64) / unit, (f.intercept.astype(np.float64) - centre) / unit)
        some = run.rng.permutation(data.n)[: max(BEND_ROWS, BEND_EACH * f.n_vectors)]
        bend = _bend(f, loss, data, some, target_scale)
        gradients = replace(features, dtype=np.float32)
        solved = smooth(every.passes, gradients, targets, loss, penalty, start, bend)
    run.say(f"coefficients solved for on all rows in {solved.n_passes} passes")
    found = trained.with_coefficients(solved.coef * unit, solved.intercept * unit + centre)
    if number is None:
        return found
    middle = np.asarray(data.weight @ data.X / data.weight.sum()).ravel()
    shipped = replace(found, expansion=rounded(found.expansion, number, middle=middle).expansion)
    return min(trained, shipped, key=lambda each: _loss_of(each.expansion, loss, data, target_scale))


def _loss_of(f: KernelExpansion, loss: Any, data: TrainingSet, target_scale: tuple[Array, Array]) -> float:
    unit, centre = target_scale
    F, Y = (f(data.X) - centre) / unit, (data.Y - centre) / unit
    return float((data.weight[:, None] * loss.value(Y, F)).sum())


def _bend(
    f: KernelExpansion, loss: Any, data: TrainingSet, some: Array, target_scale: tuple[Array, Array]
) -> Array:  # (m, m)
    """Products of the features over the rows whose loss is not zero, the mean of the outputs, for all rows."""
    unit, centre = target_scale
    X = data.X[some]
    weight = data.weight[some] * (data.weight.sum() / data.weight[some].sum())
    K = Features(f.kernel, f.vectors, f.projection)(X)
    F, Y = (f(X) - centre) / unit, (data.Y[some] - centre) / unit
    active = (loss.derivative(Y, F) != 0).mean(axis=1)
    return (K * (weight * active)[:, None]).T @ K
