r"""The modified sequential minimal optimisation of Huang et al., section 3.4.1.

Solves the problem of `solvers/hinge_no_bias.py` in its dual, equation (11),

.. math:: \min_\beta\; \tfrac12\beta^\top H\beta - t^\top\beta, \qquad 0 \le \beta \le c, \qquad H = ZZ^\top,

one coefficient at a time: the intercept is a column of Z like the others, so there is no equality constraint and no
need to move two. It is here so that the paper's times and rounds can be compared; the compiled solver is quicker and
more exact.

References
----------
Huang et al. (2010), doi:10.1016/j.patrec.2010.06.017; Platt (1998), *Sequential minimal optimization*, Microsoft
Research MSR-TR-98-14.
"""

from __future__ import annotations

import numpy as np

from ...limits import DENSE_LIMIT_BYTES, check_memory
from ...linalg import gram, scaled
from ...problem import Status
from ...rows import Array
from ...solvers.hinge_no_bias import HingeSolution, take_columns

# The paper's tau and its limit of the steps (section 4.2).
TOLERANCE = 1e-3
MAX_STEPS = 9999


def solve_hinge_by_smo(
    B: Array,
    t: Array,
    c: Array,
    *,
    sign: Array | None = None,
    columns: Array | None = None,
    scale: Array | None = None,
    start: Array | None = None,
    tol: float = TOLERANCE,
    max_iter: int = MAX_STEPS,
) -> HingeSolution:
    r"""Solve until no gradient breaks its condition by more than `tol`, or for `max_iter` steps.

    Parameters
    ----------
    B, t, c, sign, columns, scale, start
        As in `solve_hinge_through_origin`.
    tol : float
        The paper's tau, relative to the largest threshold (which is 1 in classification): at the solution
        :math:`\nabla_i \ge -\tau` where :math:`\beta_i = 0`, :math:`\nabla_i \le \tau` where
        :math:`\beta_i = c_i`, and :math:`|\nabla_i| \le \tau` between.
    max_iter : int
        Limit of the steps; each moves one coefficient.

    Examples
    --------
    >>> solve_hinge_by_smo(np.array([[1.0], [2.0]]), np.ones(2), np.full(2, 10.0), tol=1e-9).w.round(4)
    array([1.])
    """
    n = len(B)
    check_memory(
        8.0 * n * n,
        f"the Hessian matrix of {n} rows needs",
        "use solver='auto', or fewer rows",
        limit=DENSE_LIMIT_BYTES,
    )
    Z = B if columns is None else take_columns(B, columns)
    Z = Z if scale is None and sign is None else scaled(Z, sign, scale)
    H = gram(Z)
    curvature = H.diagonal().copy()
    beta = np.zeros(n) if start is None else np.clip(start, 0.0, c)
    empty = curvature == 0.0  # such a row has the output zero whatever the coefficients are
    beta[empty] = np.where(t[empty] > 0, c[empty], 0.0)
    worth = np.divide(1.0, curvature, out=np.zeros(n), where=~empty)
    gradient = H @ beta - t
    # 1 where a coefficient may fall, -1 where it may rise: times the gradient, by how much its condition is broken
    may_fall, may_rise = (beta > 0).astype(float), -(beta < c).astype(float)
    tau = tol * float(np.abs(t).max(initial=0.0))
    broken, other = np.empty(n), np.empty(n)
    status, n_iter = Status.ITERATION_LIMIT, 0
    for n_iter in range(max_iter + 1):
        np.multiply(gradient, may_fall, out=broken)
        np.multiply(gradient, may_rise, out=other)
        np.maximum(broken, other, out=broken)
        broken[broken <= tau] = 0.0
        np.square(broken, out=broken)
        broken *= worth
        i = int(broken.argmax())  # eq. (13)
        if not broken[i] > 0.0:
            status = Status.OPTIMAL
            break
        if n_iter == max_iter:
            break
        moved = min(max(0.0, beta[i] - gradient[i] / curvature[i]), c[i])
        gradient += H[i] * (moved - beta[i])
        beta[i] = moved
        may_fall[i], may_rise[i] = float(moved > 0.0), -float(moved < c[i])
    w = beta @ Z
    norm2 = float(w @ w)
    primal = 0.5 * norm2 + float(c @ np.maximum(t - Z @ w, 0.0))
    gap = (primal - (float(t @ beta) - 0.5 * norm2)) / max(abs(primal), np.finfo(np.float64).tiny)
    return HingeSolution(w, beta, max(gap, 0.0), n_iter, status)
