"""Least squares on given vectors in the primal, with a free intercept."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from ..linalg import cholesky_factor
from ..rows import Array


def primal_solution(
    K: Array,  # (m, n)
    own: Array,  # (m, m)
    Y: Array,  # (n, k)
    weight: Array,  # (n,)
    penalty: float,
    in_function_space: bool,
) -> tuple[Array, Array]:
    """Coefficients (m, k) and intercepts (k,) on given vectors, solved from the start."""
    total = weight.sum()
    means, mean = K @ weight / total, weight @ Y / total
    root = np.sqrt(weight)
    A = ((K - means[:, None]) * root).T
    right = (Y - mean) * root[:, None]
    if penalty == 0.0:
        coef = linalg.lstsq(A, right, check_finite=False)[0]
    else:
        B = A.T @ A + penalty * (own if in_function_space else np.eye(len(K)))
        coef = linalg.cho_solve((cholesky_factor(B), True), A.T @ right, check_finite=False)
    return coef, mean - means @ coef
