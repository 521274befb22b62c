"""The columns the zero-norm, one-norm and probit machines choose from, and how their choice is stored."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..problem import Dictionary
from ..rows import Array
from .reweighted import Reweighted


def store_columns(
    model: Any,
    X: Any,
    rows: Array,
    kernel: Any,
    dictionary: Dictionary,
    results: list[tuple[Reweighted, float]],
) -> None:
    """Store the union of the vectors of all outputs; each comes with a constant added to its intercept."""
    alpha = np.zeros((len(rows), len(results)))
    for output, (result, _) in enumerate(results):
        alpha[dictionary.rows, output] = result.coef[1:]
    intercept = np.array([result.coef[0] + shift for result, shift in results])
    model.n_iter_ = max(result.n_rounds for result, _ in results)
    longest = max(len(result.counts) for result, _ in results)
    padded = [result.counts + (result.counts[-1],) * (longest - len(result.counts)) for result, _ in results]
    model.n_columns_ = np.sum(padded, axis=0)
    for result, _ in results:
        result.warn_if_unfinished(type(model).__name__)
    model._store_rows(X, rows, kernel, alpha, intercept)


def warn_empty(name: str, what: str, advice: str) -> None:
    """Say that no coefficient is left, what the model does then and what to change."""
    warnings.warn(
        f"{name}: every coefficient went to zero, and the model {what}; {advice}.",
        ConvergenceWarning,
        stacklevel=3,
    )
