r"""The linear system of the least-squares machine, as all of its solvers see it.

For :math:`A = G + \mathrm{diag}(1/C_i)` the optimality conditions are

.. math:: A\alpha + b\mathbf 1 = y, \qquad \mathbf 1^\top\alpha = p\, b

with p = 0 for a free intercept, and p = 1 where half its square is in the objective (Xia, Li and Irwin, eq. 12 to
17). Both are A^-1 y and A^-1 1 put together.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator

from ...problem import KernelGram, Problem
from ...rows import Array


def kernel_gram(problem: Problem) -> KernelGram:
    """The matrix of the problem, which must be that of a kernel."""
    if not isinstance(problem.gram, KernelGram):
        raise TypeError("the least-squares solvers need the kernel matrix (a KernelGram).")
    return problem.gram


def with_intercept(problem: Problem, solved: Array) -> tuple[Array, Array]:
    """Dual coefficients and intercepts from A^-1 [y, 1]."""
    k = problem.y.shape[1]
    if not problem.fit_intercept:
        return solved[:, :k], np.zeros(k)
    nu, eta = solved[:, :k], solved[:, k]
    # 1'alpha = 1'nu - b 1'eta is 0 for a free intercept (eq. 8), b for a penalised one (eq. 15)
    curvature = eta.sum() + problem.penalize_intercept
    if curvature == 0:  # rows without weight
        return nu, np.zeros(k)
    intercept = nu.sum(axis=0) / curvature
    return nu - eta[:, None] * intercept, intercept


def right_hand_sides(problem: Problem) -> Array:  # (n, k + 1)
    """Targets and ones."""
    return np.column_stack([problem.y, np.ones(problem.gram.n)])


def operator(gram: KernelGram, ridge: Array) -> LinearOperator:
    """The matrix A = G + diag(ridge), applied without holding it."""
    n = gram.n
    return LinearOperator(
        (n, n),
        matvec=lambda v: (gram @ v.reshape(n, 1))[:, 0] + ridge * v.ravel(),
        dtype=np.float64,
    )
