"""The short way from rows to outputs, for rows that need no conversion.

scikit-learn's input checks take longer than many rows through a small model. They have nothing to do for a plain
NumPy array that already has the model's dtype, order and number of features: whether its values are finite is seen
on the way, from the norms the RBF kernel needs anyway. Everything else takes the careful way, which gives the same
bits and the usual errors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from .rows import Array


def plain_outputs(
    X: Any,
    gamma: Any,  # one number, or one for each feature
    vectors: Any,  # (m, d)
    coef: Array,  # (m, k)
    intercept: Array,  # (k,)
    n_threads: int,
) -> Array | None:  # (n, k)
    """Outputs of an RBF expansion at the rows of X; None if X or the model has to take the careful way."""
    if type(X) is not np.ndarray or type(vectors) is not np.ndarray or X.ndim != 2:
        return None
    dtype, (n, d) = vectors.dtype, X.shape
    if n == 0 or d != vectors.shape[1] or not X.flags.c_contiguous or not vectors.flags.c_contiguous:
        return None
    if X.dtype != dtype or coef.dtype != dtype or intercept.dtype != dtype:
        return None
    widths = (
        np.full(d, gamma, dtype=np.float64) if np.ndim(gamma) == 0 else np.asarray(gamma, dtype=np.float64)
    )
    if widths.shape != (d,):
        return None
    if not coef.flags.c_contiguous:
        coef = np.ascontiguousarray(coef)
    return _core.finite_expansion(widths, X, vectors, coef, intercept, n_threads)
