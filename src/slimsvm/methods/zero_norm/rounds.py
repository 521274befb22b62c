"""One round of the zero-norm machines of Huang et al.: quadratic, mixed, linear and multiplicative.

The columns of B are kernel columns times the label, with a constant column for the intercept; `reweighted` calls a
round with the columns left and their coefficients of the round
before.

References
----------
Huang et al. (2010), doi:10.1016/j.patrec.2010.06.017.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from ...rows import Array
from ...solvers.hinge_no_bias import solve_hinge_through_origin, take_columns
from ...solvers.linear_program import solve_one_norm
from ...solvers.reweighted import INNER_TOLERANCE, VANISHED, Round


def quadratic_round(
    B: Array, t: Array, c: Array, p: float = 0.0, *, sign: Array | None = None, with_constant: bool = False
) -> Round:
    r"""Minimise :math:`\tfrac12\sum_j \alpha_j^2/|a_j|^{2-p} + \sum_i c_i\max(0, t_i - (B\alpha)_i)`.

    Equations (9) and, for p > 0, (21). Each round starts from the dual coefficients of the one before.

    Parameters
    ----------
    B : array of shape (n, m)
    t, c : array of shape (n,)
    p : float
    sign : array of shape (n,) or None
        Factor on each row of B.
    with_constant : bool
        Whether a column of ones comes before those of B.
    """
    B = np.ascontiguousarray(B, dtype=np.float64)
    numbers = np.roll(np.arange(B.shape[1] + 1), 1) if with_constant else np.arange(B.shape[1])
    start: Array | None = None

    def solve(columns: Array, previous: Array) -> tuple[Array, float]:
        nonlocal start
        scale = np.abs(previous) ** (1.0 - 0.5 * p)  # [diag(lambda)]^(-1/2), so small numbers are harmless
        solution = solve_hinge_through_origin(
            B, t, c, sign=sign, columns=numbers[columns], scale=scale, start=start, tol=INNER_TOLERANCE
        )
        start = solution.beta
        alpha = scale * solution.w
        # beta'(B alpha) = |w|^2, so some output is at least |w|^2 / sum(beta): mostly no need to look
        if solution.w @ solution.w < VANISHED * start.sum():
            outputs = take_columns(B, numbers[columns]) @ alpha
            if np.abs(outputs).max() < VANISHED:
                alpha = np.zeros_like(alpha)
        return alpha, solution.gap

    return solve


def mixed_round(B: Array, t: Array, c: Array, K: Array, margin: float, p: float = 0.0) -> Round:
    """As `quadratic_round` with the margin term margin/2 alpha' K alpha added: the Remarks of section 3.3.

    K is the matrix of the columns of B with themselves, zero for the constant column.
    """

    def solve(columns: Array, previous: Array) -> tuple[Array, float]:
        scale = np.abs(previous) ** (1.0 - 0.5 * p)
        P = margin * K[np.ix_(columns, columns)] * np.multiply.outer(scale, scale)
        np.einsum("ii->i", P)[:] += 1.0
        try:
            R = linalg.cholesky(P, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            raise ValueError(
                "margin needs a positive definite kernel, and this one is not on these rows; use margin=0."
            ) from None
        features = linalg.solve_triangular(R, (B[:, columns] * scale).T, lower=True, check_finite=False).T
        solution = solve_hinge_through_origin(np.ascontiguousarray(features), t, c, tol=INNER_TOLERANCE)
        inner = linalg.solve_triangular(R, solution.w, lower=True, trans=1, check_finite=False)
        return scale * inner, solution.gap

    return solve


def linear_round(B: Array, t: Array, c: Array) -> Round:
    r"""Minimise :math:`\sum_j |\alpha_j|/|a_j| + \sum_i c_i\max(0, t_i - (B\alpha)_i)`: equation (10)."""

    def solve(columns: Array, previous: Array) -> tuple[Array, float]:
        solution = solve_one_norm(B[:, columns], t, c, 1.0 / np.abs(previous), tol=INNER_TOLERANCE)
        return solution.alpha, solution.gap

    return solve


def multiplicative_round(B: Array, t: Array, c: Array) -> Round:
    """One multiplicative update z <- z * alpha of equation (16): unit penalties, columns scaled by z."""

    def solve(columns: Array, previous: Array) -> tuple[Array, float]:
        penalty = np.ones(len(columns))
        solution = solve_one_norm(B[:, columns] * previous, t, c, penalty, tol=INNER_TOLERANCE)
        return previous * solution.alpha, solution.gap

    return solve
