"""The columns the zero-norm, one-norm and probit machines choose from, and how their choice is stored."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..problem import KernelGram
from ..rows import Array, distinct_rows
from ..solvers.reweighted import Reweighted


@dataclass(frozen=True)
class Dictionary:
    """The columns a machine may use: a constant, then the kernel with each distinct training row.

    Parameters
    ----------
    K : array of shape (n, m)
    rows : array of shape (m,)
        Training row of each column of K.
    """

    K: Array
    rows: Array

    @cached_property
    def columns(self) -> Array:  # (n, 1 + m)
        """All columns, the constant first."""
        return np.column_stack([np.ones(len(self.K)), self.K])

    @property
    def kernel(self) -> Array:  # (1 + m, 1 + m)
        """Kernel values of the columns' rows with each other, zero for the constant."""
        m = len(self.rows)
        inner = np.zeros((1 + m, 1 + m))
        inner[1:, 1:] = self.K[self.rows]
        return inner


def make_dictionary(gram: KernelGram, *, distinct: bool = False) -> Dictionary:
    """All columns of the kernel matrix, equal rows once; `distinct` if it is known that there are none."""
    K = gram.dense
    rows = np.arange(gram.n) if distinct else distinct_rows(gram.X)[0]
    return Dictionary(K if distinct else K[:, rows], rows)


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
