r"""The linear hinge machine without intercept.

Minimises over w

.. math:: \tfrac12 |w|^2 + \sum_i c_i \max(0,\; t_i - (Zw)_i), \qquad
    Z = \mathrm{diag}(\mathrm{sign})\,B_{:,J}\,\mathrm{diag}(\mathrm{scale})

for a dense B and some of its columns J. With the labels as sign and t = 1 this is the linear support vector
machine without bias; with rows +x, -x and thresholds y - epsilon, -y - epsilon it is epsilon-insensitive
regression. The dual is :math:`\max\; t^\top\beta - \tfrac12|Z^\top\beta|^2` over the box
:math:`0 \le \beta \le c`, with :math:`w = Z^\top\beta`.

`solve_hinge` asks the compiled core first, which is quick where few entries of :math:`\beta` are between their
bounds; what it does not certify goes to `solve_interior_point_hinge`, 12 to 40 iterations of
O(n m min(n, m)) whatever c is.

References
----------
Mehrotra (1992), doi:10.1137/0802028 (predictor and corrector); Ferris and Munson (2002),
doi:10.1137/S1052623400374379 (interior points for support vector machines); Chen, Epperly, Tropp and Webber (2024),
doi:10.1002/cpa.22234 (random pivots).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from .. import _core
from ..linalg import cholesky_factor, columns_of, copied, lower_gram, scaled
from ..problem import Status
from ..rows import Array

# Newton cycles of the compiled solver after its last interior point.
MAX_CYCLES = 50
# The start is at least this far inside the box, relative to it.
SMALLEST_START = 1e-3
# Share of the way to the boundary that a step may go.
STEP = 0.995
# Iterations after which rounding must be what keeps the gap from falling.
MAX_ITERATIONS = 100
# Steps shorter than this make no progress any more.
SHORTEST_STEP = 1e-8


@dataclass(frozen=True)
class HingeSolution:
    """What the solver found.

    Parameters
    ----------
    w : array of shape (m,)
    beta : array of shape (n,)
        Dual coefficients, between 0 and c.
    gap : float
        Relative duality gap, which bounds the error of the objective.
    n_iter : int
    status : Status
    """

    w: Array
    beta: Array
    gap: float
    n_iter: int
    status: Status


class _Newton:
    """Solves (B B' + diag(1/omega)) x = e."""

    def __init__(self, B: Array) -> None:
        n, m = B.shape
        self.BT = np.asfortranarray(B.T)  # (m, n); its transpose is C-contiguous
        self.G = lower_gram(self.BT.T) if n <= m else None  # B B'

    def prepare(self, omega: Array) -> None:
        self.omega = omega
        if self.G is not None:
            M = copied(self.G, columns_first=True)
            np.einsum("ii->i", M)[:] += 1.0 / omega
        else:
            M = lower_gram(self.BT, omega)  # B' omega B
            np.einsum("ii->i", M)[:] += 1.0
        self.L = cholesky_factor(M)

    def solve(self, e: Array) -> Array:
        if self.G is not None:
            x: Array = lapack.dpotrs(self.L, e, lower=1)[0]
            return x
        # Woodbury: v = B'x solves (I + B' omega B) v = B' omega e
        v = lapack.dpotrs(self.L, self.BT @ (self.omega * e), lower=1)[0]
        solved: Array = self.omega * (e - v @ self.BT)
        return solved


def _longest_step(*pairs: tuple[Array, Array]) -> float:
    """The largest step up to 1 that keeps every x + step dx positive; 0 where a direction is not a number."""
    worst = float(np.max([(-dx / x).max() for x, dx in pairs]))
    if np.isnan(worst):
        return 0.0
    return min(1.0, STEP / worst) if worst > STEP else 1.0


def solve_hinge_through_origin(
    B: Array,
    t: Array,
    c: Array,
    *,
    sign: Array | None = None,
    columns: Array | None = None,
    scale: Array | None = None,
    start: Array | None = None,
    tol: float = 1e-6,
) -> HingeSolution:
    """Solve to a relative duality gap of `tol`.

    Parameters
    ----------
    B : array of shape (n, m)
        C-contiguous float64.
    t : array of shape (n,)
    c : array of shape (n,)
        Positive.
    sign : array of shape (n,) or None
        Factor on each row; None means ones.
    columns : array of shape (k,) or None
        Numbers of the columns to use; None means all. The number m means a column of ones.
    scale : array of shape (k,) or None
        Factor on each of them; None means ones.
    start : array of shape (n,) or None
        Dual coefficients of a nearby problem.

    Examples
    --------
    >>> solve_hinge_through_origin(np.array([[1.0], [2.0]]), np.ones(2), np.full(2, 10.0)).w.round(4)
    array([1.])
    """
    n, m = B.shape
    columns = np.arange(m) if columns is None else columns
    sign = np.ones(n) if sign is None else sign
    scale = np.ones(len(columns)) if scale is None else scale
    start = np.zeros(n) if start is None else start
    w, beta, cycles, gap = _core.scaled_hinge(B, sign, columns, scale, t, c, start, tol, MAX_CYCLES)
    if gap <= tol:
        return HingeSolution(w, beta, gap, cycles, Status.OPTIMAL)
    return solve_interior_point_hinge(scaled(take_columns(B, columns), sign, scale), t, c, tol=tol)


def take_columns(B: Array, columns: Array) -> Array:  # (n, k)
    """These columns of B; the number after the last one means a column of ones.

    Examples
    --------
    >>> take_columns(np.array([[2.0, 3.0]]), np.array([2, 0]))
    array([[1., 2.]])
    """
    ones = columns == B.shape[1]
    taken = columns_of(B, np.where(ones, 0, columns))
    taken[:, ones] = 1.0
    return taken


# a direction that is not a number ends the search at the best point
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def solve_interior_point_hinge(
    B: Array, t: Array, c: Array, *, tol: float = 1e-6, max_iter: int = MAX_ITERATIONS
) -> HingeSolution:
    r"""Solve to a relative duality gap of `tol` by a primal-dual interior point.

    :math:`w = B^\top\beta` holds at every step, so all residuals are zero from the start and the complementarity
    is the duality gap. The Newton matrix is m x m, or n x n by Woodbury's identity.

    Parameters
    ----------
    B : array of shape (n, m)
    t : array of shape (n,)
    c : array of shape (n,)
        Positive.

    Examples
    --------
    >>> solve_interior_point_hinge(np.array([[1.0], [2.0]]), np.ones(2), np.full(2, 10.0)).w.round(4)
    array([1.])
    """
    n, m = B.shape
    if m == 0:
        return HingeSolution(np.zeros(0), np.where(t > 0, c, 0.0), 0.0, 0, Status.OPTIMAL)
    newton = _Newton(B)
    # the best multiple of c, kept inside the box
    direction = newton.BT @ c
    curvature = float(direction @ direction)
    along = float(t @ c) / curvature if curvature > 0 else 0.5
    beta = min(max(along, SMALLEST_START), 0.5) * c
    eta = c - beta  # kept apart from here on: the difference would lose its digits near the bound
    w = newton.BT @ beta
    z = t - w @ newton.BT
    # s - xi = -z with s xi constant: a feasible, well-centred start
    xi = 0.5 * (z + np.sqrt(z * z + 4.0 * np.square(max(1.0, np.abs(z).mean()))))
    s = xi - z
    gap, n_iter, status = np.inf, 0, Status.ITERATION_LIMIT
    best = (w, beta, np.inf)
    for n_iter in range(max_iter + 1):
        norm2 = float(w @ w)
        primal = 0.5 * norm2 + float(c @ np.maximum(z, 0.0))
        gap = (primal - (float(t @ beta) - 0.5 * norm2)) / max(abs(primal), np.finfo(np.float64).tiny)
        if gap < best[2]:
            best = (w, beta, gap)
        if gap <= tol:
            status = Status.OPTIMAL
            break
        if n_iter == max_iter:
            break
        s_beta, xi_eta = s / beta, xi / eta
        newton.prepare(1.0 / (s_beta + xi_eta))
        mu = (s @ beta + xi @ eta) / (2 * n)
        # predictor
        d_beta = newton.solve(z)
        d_s = -s - s_beta * d_beta
        d_xi = -xi + xi_eta * d_beta
        step = _longest_step((beta, d_beta), (eta, -d_beta), (s, d_s), (xi, d_xi))
        reached = (s + step * d_s) @ (beta + step * d_beta) + (xi + step * d_xi) @ (eta - step * d_beta)
        target = mu * (reached / (2 * n * mu)) ** 3
        # corrector
        first = (target - d_s * d_beta) / beta
        second = (target + d_xi * d_beta) / eta
        d_beta = newton.solve(first - second + z)
        d_s = first - s - s_beta * d_beta
        d_xi = second - xi + xi_eta * d_beta
        step = _longest_step((beta, d_beta), (eta, -d_beta), (s, d_s), (xi, d_xi))
        if not step > SHORTEST_STEP:
            status = Status.STALLED
            break
        beta, eta = beta + step * d_beta, eta - step * d_beta
        w = newton.BT @ beta  # afresh: sums of steps drift where the first ones were large
        s = s + step * d_s
        xi = xi + step * d_xi
        z = t - w @ newton.BT
    w, beta, gap = best
    return HingeSolution(w, beta, max(gap, 0.0), n_iter, status)
