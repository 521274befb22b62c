"""The machine on features that a sample has chosen, solved on all rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...chunks.coefficients import Solved, margin
from ...chunks.statistics import Features
from ...expansion import KernelExpansion
from ...problem import Solution
from ...rows import Array
from ...training import Trained, TrainingSet
from ...words import count
from ..base import Run
from ..chunked import AllRows

# Rows of the sample whose machine is the start on all rows, at most.
START_ROWS = 4000


def machine_of_all_rows(
    model: Any, data: TrainingSet, features: Features, support: Array | None, run: Run, every: AllRows
) -> Trained:
    """Solve for some rows of the sample as `fit` does, and from there on all rows by Newton's method."""
    run.say(f"selected {count(features.m, 'vector')}")
    some = np.arange(0, data.n, -(-data.n // START_ROWS))
    weight = data.weight[some] * (data.weight.sum() / data.weight[some].sum())
    H = features(data.X[some])
    first = model._solve(H, data.Y[some], model.C * weight, run)
    solved = margin(
        every.passes, features, every.targets, model.C, squared=model.loss == "squared_hinge",
        start=Solved(H.T @ first.alpha, first.intercept), tol=model.tol,
    )  # fmt: skip
    run.say(f"solved to a relative gap of {solved.gap:.2g}")
    solution = Solution(np.empty(0), solved.intercept, solved.status, solved.n_passes, solved.gap)
    solution.warn_if_unfinished(run.name, loss=model.loss, C=model.C)
    dtype = data.X.dtype
    coef, intercept = solved.coef.astype(dtype), solved.intercept.astype(dtype)
    expansion = KernelExpansion(features.kernel, features.vectors, coef, intercept)
    return Trained(expansion, support, solved.n_passes, extras={"gap_": solved.gap})
