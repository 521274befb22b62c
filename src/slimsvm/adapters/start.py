"""What a reduction starts from: the model's expansion and the data it is judged on, checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from ..expansion import KernelExpansion
from ..kernels import Precomputed
from ..problem import DENSE_LIMIT_BYTES, _gigabytes
from ..readout import LabelReadout, ValueReadout
from ..reduction.parts import prune_in_parts
from ..reduction.task import Margins, Targets, Task
from ..rows import Array, Rows, as_rows
from .models import Reducible, as_reducible


@dataclass(frozen=True)
class Start:
    """A model and its data, ready to be reduced.

    Parameters
    ----------
    reducible : Reducible
    expansion : KernelExpansion
        The model's function with equal vectors merged.
    distinct : array
        For each vector of `expansion`, its number in the model.
    X : array or CSR of shape (n, d)
    y : array or None
    task : Task
    outputs : array of shape (n, k)
        Of the model, on X.
    n_threads : int
    """

    reducible: Reducible
    expansion: KernelExpansion
    distinct: Array
    X: Rows
    y: Any
    task: Task
    outputs: Array
    n_threads: int

    @staticmethod
    def of(model: Any, X: Any, y: Any, sample_weight: Any, n_threads: int) -> Start:
        """Check the model and the data."""
        if X is None and (y is not None or sample_weight is not None):
            raise ValueError("X is needed where y or sample_weight is given: they belong to its rows.")
        reducible = as_reducible(model, X)
        whole = reducible.expansion
        original = reducible.build(whole, np.arange(whole.n_vectors))
        X = _checked_rows(original, whole, X)
        if y is not None:
            check_consistent_length(X, y)
        if sample_weight is not None and not np.any(sample_weight):
            raise ValueError("sample_weight must be positive for at least one row; all weights are zero.")
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        expansion, distinct = whole.compact_with_rows()
        task, outputs = _task(reducible, original, X, y, weight, n_threads)
        return Start(reducible, expansion, distinct, X, y, task, outputs, n_threads)

    def gram(self, expansion: KernelExpansion | None = None) -> Array:  # (m, m), float64, to be overwritten
        """Kernel matrix of the vectors of an expansion on the model's vectors, by default the model's."""
        return _vector_gram(self.expansion if expansion is None else expansion, self.X, self.n_threads)

    def pruned_to_fit(self, *, criterion: str, ridge: float) -> Start:
        """The same with so many vectors fewer that their kernel matrix can be held."""
        n_most = int(np.sqrt(DENSE_LIMIT_BYTES / 8))
        if self.expansion.n_vectors <= n_most:
            return self
        smaller, rows = prune_in_parts(
            self.expansion, self.gram, n_most, max(2, n_most // 2),
            criterion=criterion, ridge=ridge, scale=self.task.scale,
        )  # fmt: skip
        return replace(self, expansion=smaller, distinct=self.distinct[rows])

    def build(self, smaller: KernelExpansion, rows: Array | None) -> Any:
        """The model with this expansion, whose vectors are `rows` of `expansion` (None: others)."""
        return self.reducible.build(smaller, None if rows is None else self.distinct[rows])

    def loss(self, smaller: KernelExpansion, rows: Array | None) -> float:
        """Loss of an expansion on the data."""
        return self.task.loss(smaller(self.X, n_threads=self.n_threads))

    def scorer(self, scoring: Any) -> Any:
        """Return a function like `loss` that gives the score."""
        if self.y is None and isinstance(self.reducible.model.readout, LabelReadout | ValueReadout):
            raise ValueError("y is needed for scoring; give X and y, best rows kept for validation.")
        scorer = check_scoring(self.build(self.expansion, None), scoring=scoring)
        return lambda smaller, rows: float(scorer(self.build(smaller, rows), self.X, self.y))


def _checked_rows(original: Any, expansion: KernelExpansion, X: Any) -> Rows:
    """The rows on which the model is judged."""
    precomputed = isinstance(expansion.kernel, Precomputed)
    if X is None:
        if precomputed:
            raise ValueError(
                "X is needed for a model with a precomputed kernel: give the square matrix of kernel "
                "values it was fitted to."
            )
        if expansion.n_vectors == 0:  # a constant: the same wherever it is judged
            return np.zeros((1, expansion.vectors.shape[1]))
        return expansion.vectors
    if hasattr(original, "n_features_in_"):
        X = validate_data(
            original, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=False
        )
    X = as_rows(X)
    if precomputed and (X.shape[0] != X.shape[1] or X.shape[0] <= int(expansion.vectors.max())):
        raise ValueError(
            "X must be the square matrix of kernel values the model was fitted to, because its kernel is "
            f"precomputed; got shape {X.shape}."
        )
    if not precomputed and X.shape[1] != expansion.vectors.shape[1]:
        raise ValueError(f"X has {X.shape[1]} features, but the model has {expansion.vectors.shape[1]}.")
    return X


def _vector_gram(expansion: KernelExpansion, X: Rows, n_threads: int) -> Array:  # (m, m) float64
    m = expansion.n_vectors
    if 8 * m * m > DENSE_LIMIT_BYTES:
        raise MemoryError(
            f"the kernel matrix of the {m} vectors needs {_gigabytes(8.0 * m * m)}, above the limit of "
            f"{_gigabytes(DENSE_LIMIT_BYTES)}; use method='prune', which can work in parts, or fewer rows."
        )
    if isinstance(expansion.kernel, Precomputed):
        rows = X[expansion.vectors.ravel()].astype(np.float64)
        K = expansion.kernel(rows, expansion.vectors)
    else:
        vectors = expansion.vectors.astype(np.float64)
        K = expansion.kernel(vectors, vectors, n_threads=n_threads)
    if not np.isfinite(K).all():
        raise ValueError("model: some kernel values between its vectors are not finite.")
    return np.ascontiguousarray(K)


def _task(
    reducible: Reducible, original: Any, X: Rows, y: Any, weight: Array, n_threads: int
) -> tuple[Task, Array]:
    """How the outputs are judged, and what the model says now."""
    outputs = reducible.expansion(X, n_threads=n_threads).astype(np.float64)
    readout = reducible.model.readout
    if isinstance(readout, LabelReadout):
        if y is not None:
            labels = column_or_1d(y, warn=True)
        elif X is reducible.expansion.vectors and reducible.vector_labels is not None:
            labels = reducible.vector_labels
        else:
            labels = original.predict(X)
        return Margins(readout.signs(readout.codes_of(labels)), weight), outputs
    if isinstance(readout, ValueReadout) and y is not None:
        values = np.asarray(y, dtype=np.float64).reshape(len(outputs), -1)
        if values.shape != outputs.shape:
            raise ValueError(
                f"y must have {outputs.shape[1]} targets, as the model has, got {values.shape[1]}."
            )
        return Targets.of(values, weight), outputs
    return Targets.of(outputs, weight), outputs
