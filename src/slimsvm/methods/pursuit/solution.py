"""What the machines with greedy vectors in the primal share: parameters, start and end of a fit."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ...problem import KernelGram
from ...rows import Array
from ...solvers.primal import primal_solution
from ...training import Trained, TrainingSet

PURSUIT_CONSTRAINTS: dict[str, list[Any]] = {
    "max_vectors": [Interval(Integral, 1, None, closed="left")],
    "fitting": [StrOptions({"backfitting", "prefitting"})],
    "n_candidates": [Interval(Integral, 1, None, closed="left"), None],
}


def trained(
    data: TrainingSet,
    gram: KernelGram,
    train: Array,
    chosen: Array,
    penalty: float,
    in_space: bool,
    extras: dict[str, Any],
) -> Trained:
    """Solve on the chosen rows of the training part."""
    if len(chosen):
        coef, intercept = primal_solution(
            gram.block(chosen, train),
            gram.block(chosen, chosen),
            data.Y[train],
            data.weight[train],
            penalty,
            in_space,
        )
    else:
        coef, intercept = np.zeros((0, data.Y.shape[1])), data.mean
    return Trained.on_rows(
        data, gram.kernel, coef, intercept, chosen=chosen, n_iter=len(chosen), extras=extras
    )
