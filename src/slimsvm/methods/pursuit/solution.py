"""What the machines with greedy vectors in the primal share: parameters, start and end of a fit."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ...problem import KernelGram, kernel_block
from ...rows import Array, Rows
from ...solvers.primal import primal_solution
from ...training import TrainingSet, with_mean_targets

PURSUIT_CONSTRAINTS: dict[str, list[Any]] = {
    "n_vectors": [Interval(Integral, 1, None, closed="left")],
    "fitting": [StrOptions({"backfitting", "prefitting"})],
    "n_candidates": [Interval(Integral, 1, None, closed="left"), None],
}


def training_matrix(
    model: Any, X: Rows, Y: Array, weight: Array, rows: Array
) -> tuple[TrainingSet, KernelGram]:
    """The rows to fit and their kernel matrix."""
    data = with_mean_targets(X, Y, weight, rows, precomputed=model._is_precomputed)
    return data, model._gram(model._resolved_kernel(data.X, data.weight), data, rows)


def store_solution(
    model: Any,
    data: TrainingSet,
    gram: KernelGram,
    train: Array,
    chosen: Array,
    penalty: float,
    in_space: bool,
) -> None:
    """Solve on the chosen rows of the training part and store the machine."""
    if len(chosen):
        coef, intercept = primal_solution(
            kernel_block(gram, chosen, train),
            kernel_block(gram, chosen, chosen),
            data.Y[train],
            data.weight[train],
            penalty,
            in_space,
        )
    else:
        coef, intercept = np.zeros((0, data.Y.shape[1])), data.weight @ data.Y / data.weight.sum()
    model.n_iter_ = len(chosen)
    model._store_rows(data.X[chosen], data.rows[chosen], gram.kernel, coef, intercept)
