"""One round of the zero-norm machines of Huang et al.: quadratic, mixed, linear and multiplicative.

The columns of B are kernel columns times the label, with a constant column for the intercept; `reweighted` calls a
round with the columns left and their coefficients of the round before.

References
----------
Huang et al. (2010), doi:10.1016/j.patrec.2010.06.017.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from ...linalg import behind_factor, columns_of, definite_factor, scaled
from ...rows import Array
from ...solvers.hinge_no_bias import HingeSolution, solve_hinge_through_origin, take_columns
from ...solvers.linear_program import solve_one_norm
from ...solvers.reweighted import FAILED, INNER_TOLERANCE, VANISHED, Round
from .smo import solve_hinge_by_smo


def quadratic_round(
    B: Array,
    t: Array,
    c: Array,
    p: float = 0.0,
    *,
    sign: Array | None = None,
    with_constant: bool = False,
    by_smo: bool = False,
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
    by_smo : bool
        Whether the paper's modified SMO solves the round, to its own tolerance.
    """
    B = np.ascontiguousarray(B, dtype=np.float64)
    numbers = np.roll(np.arange(B.shape[1] + 1), 1) if with_constant else np.arange(B.shape[1])
    start: Array | None = None

    def solve(columns: Array, previous: Array) -> tuple[Array, float]:
        nonlocal start
        scale = np.abs(previous) ** (1.0 - 0.5 * p)  # [diag(lambda)]^(-1/2), so small numbers are harmless
        problem: dict[str, Any] = {"sign": sign, "columns": numbers[columns], "scale": scale, "start": start}
        if by_smo:
            solution = solve_hinge_by_smo(B, t, c, **problem)
        else:
            solution = solve_hinge_through_origin(B, t, c, **problem, tol=INNER_TOLERANCE)
        start = solution.beta
        alpha = scale * solution.w
        # beta'(B alpha) = |w|^2, so some output is at least |w|^2 / sum(beta): mostly no need to look
        if solution.w @ solution.w < VANISHED * start.sum():
            outputs = take_columns(B, numbers[columns]) @ alpha
            if np.abs(outputs).max() < VANISHED:
                alpha = np.zeros_like(alpha)
        if by_smo:
            Z = take_columns(B, numbers[columns])
            Z = Z if sign is None else scaled(Z, sign, None)
            return alpha, _gap_of_smo(solution, Z @ alpha, previous / scale, Z @ previous, t, c)
        return alpha, solution.gap

    return solve


def _gap_of_smo(
    solution: HingeSolution, outputs: Array, old: Array, old_outputs: Array, t: Array, c: Array
) -> float:
    """The gap of a round that SMO gave up on, worse than what it began with; else none that matters.

    SMO is no more exact than its tolerance and its steps, and need not be: a round that descends has done its work.
    """
    value, before = (
        0.5 * float(w @ w) + float(c @ np.maximum(t - f, 0.0))
        for w, f in ((solution.w, outputs), (old, old_outputs))
    )
    return solution.gap if value > before and solution.gap > FAILED else 0.0


def mixed_round(
    B: Array, t: Array, c: Array, K: Array, margin: float, p: float = 0.0, *, by_smo: bool = False
) -> Round:
    """As `quadratic_round` with the margin term margin/2 alpha' K alpha added: the Remarks of section 3.3.

    K is the matrix of the columns of B with themselves, zero for the constant column.
    """

    def solve(columns: Array, previous: Array) -> tuple[Array, float]:
        scale = np.abs(previous) ** (1.0 - 0.5 * p)
        P = scaled(columns_of(K, columns, rows=columns), margin * scale, scale)
        np.einsum("ii->i", P)[:] += 1.0
        R = factor_of_margin(P)
        features = behind_factor(R, scaled(columns_of(B, columns), None, scale))
        if by_smo:
            solution = solve_hinge_by_smo(features, t, c)
        else:
            solution = solve_hinge_through_origin(features, t, c, tol=INNER_TOLERANCE)
        inner = linalg.solve_triangular(R, solution.w, lower=True, trans=1, check_finite=False)
        if by_smo:
            old = R.T @ (previous / scale)
            return scale * inner, _gap_of_smo(solution, features @ solution.w, old, features @ old, t, c)
        return scale * inner, solution.gap

    return solve


def factor_of_margin(P: Array) -> Array:  # (m, m), lower
    """Cholesky factor of the margin term with something on its diagonal."""
    R = definite_factor(P)
    if R is None:
        raise ValueError(
            "margin needs a positive definite kernel, and this one is not on these rows; use margin=0."
        )
    return R


def linear_round(B: Array, t: Array, c: Array, p: float = 0.0) -> Round:
    r"""Minimise :math:`\sum_j |\alpha_j|/|a_j|^{1-p} + \sum_i c_i\max(0, t_i - (B\alpha)_i)`: equation (10).

    For 0 < p <= 1 the weights are the slopes of :math:`|a_j|^p/p`, which lies below its tangents: the rounds descend on
    the same objective as those of equation (21), and p = 1 needs one round.
    """

    def solve(columns: Array, previous: Array) -> tuple[Array, float]:
        penalty = np.abs(previous) ** (p - 1.0)
        solution = solve_one_norm(columns_of(B, columns), t, c, penalty, tol=INNER_TOLERANCE)
        return solution.alpha, solution.gap

    return solve


def multiplicative_round(B: Array, t: Array, c: Array) -> Round:
    """One multiplicative update z <- z * alpha of equation (16): unit penalties, columns scaled by z."""

    def solve(columns: Array, previous: Array) -> tuple[Array, float]:
        penalty = np.ones(len(columns))
        solution = solve_one_norm(
            scaled(columns_of(B, columns), None, previous), t, c, penalty, tol=INNER_TOLERANCE
        )
        return previous * solution.alpha, solution.gap

    return solve
