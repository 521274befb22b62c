r"""The one-norm and infinity-norm hinge machines, which are linear programs.

The one-norm machine minimises over :math:`\alpha` (and b, where there is a free column q)

.. math:: \sum_j \lambda_j|\alpha_j| + \sum_i c_i\max(0,\; t_i - (B\alpha)_i - b\,q_i) .

Its dual, :math:`\max t^\top\beta` subject to :math:`|B^\top\beta| \le \lambda`, :math:`0 \le \beta \le c` and
:math:`q^\top\beta = 0`, is equation (15) of Huang et al.; :math:`\alpha` is what its constraints are worth.
A corner has as many rows exactly on the margin as coefficients that are not zero, so a simplex method that knows the
hinge works with matrices of the size of the model: `one_norm` of the compiled core, ten and more times as fast as a
solver for any linear program (`benchmarks/one_norm.py`). Where rounding stops it short of the optimum, HiGHS takes
over: few of the dual's constraints bind, and they are added where the point found so far breaks them (column
generation), which keeps every program small.

References
----------
Huang et al. (2010), doi:10.1016/j.patrec.2010.06.017; Kecman and Hadzic (2000),
doi:10.1109/IJCNN.2000.859396; Huangfu and Hall (2018), doi:10.1007/s12532-017-0130-5 (HiGHS).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linprog

from .. import _core
from ..linalg import scaled
from ..problem import Status
from ..progress import tell
from ..rows import Array

# Steps of the simplex method for each row and column: hundreds of times what ordinary data take, so that it ends.
STEPS = 100
# Steps after which progress is told for the first time, and then after four times as many: going on has its price.
FIRST_STRETCH = 16
# Coefficients that are not zero, at most: beyond it a step costs more than a program of HiGHS.
MOST_ACTIVE = 4096
# Constraints added at a time: few programs and small ones.
COLUMNS_AT_A_TIME = 40
# Columns that fit one program from the start.
SMALL = 200
# Tolerance HiGHS works to; ours is relative to the objective and looser.
FEASIBILITY = 1e-9
TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class LinearProgramSolution:
    """What was found.

    Parameters
    ----------
    alpha : array of shape (m,)
    intercept : float
    beta : array of shape (n,)
        Dual coefficients, between 0 and c.
    gap : float
        Relative duality gap.
    n_iter : int
        Steps of the simplex method, or programs solved by HiGHS.
    status : Status
    """

    alpha: Array
    intercept: float
    beta: Array
    gap: float
    n_iter: int
    status: Status


def _highs(cost: Array, *, presolve: bool = True, **program: Any) -> Any:
    options = {"primal_feasibility_tolerance": FEASIBILITY, "dual_feasibility_tolerance": FEASIBILITY}
    result = linprog(cost, method="highs", options={**options, "presolve": presolve}, **program)
    if result.x is None:  # a badly scaled program may be lost with the presolver, or without it
        result = linprog(cost, method="highs-ds", options={**options, "presolve": not presolve}, **program)
    return result


def _relative(primal: float, dual: float) -> float:
    return max(0.0, primal - dual) / max(abs(primal), TINY)


def solve_one_norm(
    B: Array,
    t: Array,
    c: Array,
    penalty: Array,
    *,
    free: Array | None = None,
    tol: float = 1e-6,
    max_iter: int | None = None,
) -> LinearProgramSolution:
    """Solve the one-norm machine to a relative duality gap of `tol`.

    Parameters
    ----------
    B : array of shape (n, m)
    t, c : array of shape (n,)
    penalty : array of shape (m,)
        Positive: lambda.
    free : array of shape (n,) or None
        The column q of an unpenalised intercept.
    max_iter : int or None
        Limit of the steps; None means 100 for each row and column.

    Examples
    --------
    >>> B = np.array([[1.0, 0.0], [2.0, 0.0]])
    >>> solve_one_norm(B, np.ones(2), np.full(2, 10.0), np.ones(2)).alpha.round(4)
    array([1., 0.])
    """
    # unit penalties: alpha in units of 1 / penalty
    columns = B if (penalty == 1.0).all() else scaled(B, None, 1.0 / penalty)
    solution = _by_simplex(columns, t, c, free, tol, max_iter)
    if solution.status is Status.STALLED:
        by_highs = _by_programs(columns, t, c, free, tol, max_iter)
        solution = min(solution, by_highs, key=lambda found: found.gap)
    return replace(solution, alpha=solution.alpha / penalty)


def _measured(
    columns: Array, t: Array, c: Array, free: Array | None, alpha: Array, intercept: float, beta: Array
) -> tuple[float, Array]:
    """The relative duality gap of a pair of points, and how far the dual one reaches for each column."""
    slack = t - columns @ alpha - (0.0 if free is None else intercept * free)
    primal = float(np.abs(alpha).sum() + c @ np.maximum(slack, 0.0))
    reach = np.abs(columns.T @ beta)
    return _relative(primal, float(t @ beta) / max(1.0, float(reach.max(initial=0.0)))), reach


def _by_simplex(
    columns: Array, t: Array, c: Array, free: Array | None, tol: float, max_iter: int | None
) -> LinearProgramSolution:
    n, m = columns.shape
    limit = STEPS * (n + m) if max_iter is None else max_iter
    B, target, upper = (np.ascontiguousarray(array, dtype=np.float64) for array in (columns, t, c))
    q = None if free is None else np.ascontiguousarray(free, dtype=np.float64)
    most = max(1, min(n, m + 1, MOST_ACTIVE))
    active, elbow = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    n_iter, stretch = 0, FIRST_STRETCH
    while True:
        steps = min(stretch, limit - n_iter)
        alpha, intercept, beta, taken, optimal, active, elbow = _core.one_norm(
            B, target, upper, q, active, elbow, most, steps
        )
        n_iter, stretch = n_iter + taken, 4 * stretch
        if not np.isfinite(alpha).all() or not np.isfinite(intercept):
            alpha, intercept, beta, optimal, taken = np.zeros(m), 0.0, np.zeros(n), False, -1
        gap, _ = _measured(columns, t, c, free, alpha, intercept, beta)
        tell("simplex method", n_iter, None, f"relative gap {gap:.2g}")
        if optimal or taken < steps or n_iter >= limit:
            break
    if gap <= tol:
        status = Status.OPTIMAL
    else:
        stopped = max_iter is not None and not optimal and n_iter >= max_iter
        status = Status.ITERATION_LIMIT if stopped else Status.STALLED
    return LinearProgramSolution(alpha, intercept, beta, gap, n_iter, status)


def _by_programs(
    columns: Array, t: Array, c: Array, free: Array | None, tol: float, max_iter: int | None
) -> LinearProgramSolution:
    n, m = columns.shape
    # box of unit length: HiGHS's tolerances are absolute
    unit = float(c.max())
    box = np.column_stack([np.zeros(n), c / unit])
    working = np.arange(m) if m <= SMALL else _first_columns(columns, t, c)
    best = LinearProgramSolution(np.zeros(m), 0.0, np.zeros(n), np.inf, 0, Status.STALLED)
    for n_iter in range(1, m + 2 if max_iter is None else max_iter + 1):
        k = len(working)
        # |J beta| <= 1 as J beta = s with s between -1 and 1: half the rows that two inequalities would need.
        # All of the matrix is dense, and the presolver finds nothing to remove in it.
        rows = np.hstack([columns[:, working].T * unit, -np.eye(k)])
        if free is not None:
            rows = np.vstack([rows, np.append(free, np.zeros(k))])
        result = _highs(
            np.append(-t, np.zeros(k)),
            A_eq=rows,
            b_eq=np.zeros(len(rows)),
            bounds=np.vstack([box, np.tile([-1.0, 1.0], (k, 1))]),
            presolve=False,
        )
        if result.x is None:
            break
        beta = unit * result.x[:n]
        alpha = np.zeros(m)
        alpha[working] = -unit * result.eqlin.marginals[:k]
        alpha[np.abs(alpha) <= FEASIBILITY * np.abs(alpha).max(initial=0.0)] = 0.0  # rounding of zero
        intercept = 0.0 if free is None else -float(result.eqlin.marginals[k])
        gap, reach = _measured(columns, t, c, free, alpha, intercept, beta)
        if gap < best.gap:
            status = Status.OPTIMAL if gap <= tol else Status.STALLED
            best = LinearProgramSolution(alpha, intercept, beta, gap, n_iter, status)
        tell("adding columns", n_iter, None, f"relative gap {best.gap:.2g}")
        if gap <= tol:
            break
        reach[working] = 0.0
        violated = np.argsort(-reach, kind="stable")[:COLUMNS_AT_A_TIME]
        violated = violated[reach[violated] > 1.0]
        if len(violated) == 0:
            break
        # constraints that do not bind may go, the others stay
        used = working[(alpha[working] != 0) | (np.abs(columns[:, working].T @ beta) > 0.5)]
        working = np.concatenate([used if n_iter % 2 else working, violated])
    else:
        best = replace(best, status=Status.ITERATION_LIMIT)
    return best


def _first_columns(columns: Array, t: Array, c: Array) -> Array:
    """Columns to start from: those the whole box breaks most."""
    reach = np.abs(columns.T @ (c * t))
    return np.argsort(-reach, kind="stable")[:COLUMNS_AT_A_TIME]


def solve_infinity_norm(B: Array, t: Array, c: Array) -> LinearProgramSolution:
    r"""Minimise :math:`\max_j|\alpha_j| + \sum_i c_i\max(0, t_i - (B\alpha)_i)`.

    The limit of equation (21) as p grows. With :math:`\alpha_j = u - v_j`, :math:`0 \le v_j \le 2u`, the
    program has one row for each row and each column of B.

    Examples
    --------
    >>> B = np.array([[1.0, 1.0], [2.0, 0.0]])
    >>> solve_infinity_norm(B, np.ones(2), np.full(2, 10.0)).alpha.round(4)
    array([0.5, 0.5])
    """
    n, m = B.shape
    # variables: u, v (m), xi (n); rows: B (u 1 - v) + xi >= t and v <= 2 u
    margin = np.hstack([-B.sum(axis=1, keepdims=True), B, -np.eye(n)])
    bound = np.hstack([np.full((m, 1), -2.0), np.eye(m), np.zeros((m, n))])
    result = _highs(
        np.concatenate([[1.0], np.zeros(m), c]),
        A_ub=np.vstack([margin, bound]),
        b_ub=np.concatenate([-t, np.zeros(m)]),
        bounds=np.tile([0.0, np.inf], (1 + m + n, 1)),
    )
    if result.x is None:
        return LinearProgramSolution(np.zeros(m), 0.0, np.zeros(n), np.inf, 1, Status.STALLED)
    alpha = result.x[0] - result.x[1 : m + 1]
    beta = np.clip(-result.ineqlin.marginals[:n], 0.0, c)
    primal = float(np.abs(alpha).max() + c @ np.maximum(t - B @ alpha, 0.0))
    dual = float(t @ beta) / max(1.0, float(np.abs(B.T @ beta).sum()))
    gap = _relative(primal, dual)
    return LinearProgramSolution(alpha, 0.0, beta, gap, 1, Status.OPTIMAL if gap <= 1e-6 else Status.STALLED)
