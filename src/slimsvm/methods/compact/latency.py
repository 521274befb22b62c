"""The most vectors a model may have to answer in time."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ...budget import single_row_latency_us
from ...errors import BudgetError
from ...expansion import KernelExpansion
from ...kernels import Kernel, as_kernel
from ...rows import Rows
from ...training import TrainingSet
from ...words import count

# A measured latency may vary by this share; models are kept that far below the limit.
LATENCY_MARGIN = 0.8


def fastest(model: Any, data: TrainingSet, largest: int, *, moved: bool) -> int:
    """The most vectors, up to `largest`, whose single-row latency, measured here, stays below the limit.

    The models measured have training rows as vectors and the estimator's kernel; the row is a training row.
    """
    X, dtype = data.X, data.X.dtype
    wanted = LATENCY_MARGIN * model.max_latency_us
    d, k = X.shape[1], data.Y.shape[1]
    kernel = _widest_kernel(model, d)
    row = X[:1]

    def latency(m: int) -> float:
        vectors: Rows = np.arange(m)[:, None] if data.precomputed else X[:m]
        if moved and sparse.issparse(vectors):
            vectors = vectors.toarray()
        coef = np.ones((m, k), dtype=dtype)
        return single_row_latency_us(
            KernelExpansion(kernel, vectors, coef, np.zeros(k, dtype=dtype)), row=row
        )

    if latency(largest) <= wanted:
        return largest
    least = latency(1)
    if least > wanted:
        raise BudgetError(
            f"max_latency_us={model.max_latency_us:g} is too small: one row of {count(d, 'feature')} takes "
            f"{least / LATENCY_MARGIN:.3g} microseconds on this machine with a single vector. Raise it to at "
            "least that."
        )
    low, high = 1, largest
    while high - low > max(1, low // 16):
        middle = (low + high) // 2
        low, high = (middle, high) if latency(middle) <= wanted else (low, middle)
    return low


def _widest_kernel(model: Any, d: int) -> Kernel:
    """The kernel with as many widths as it may have for d features."""
    per_feature = isinstance(model.kernel, str) and model.kernel in ("rbf", "laplacian")
    return as_kernel(model.kernel, (1.0,) * d if per_feature else 1.0, model.degree, model.coef0)
