r"""The hinge machine with the margin term and the one-norm together, by a primal-dual interior point.

Minimises over :math:`\alpha` and b

.. math:: \tfrac12\alpha^\top P\alpha + d\sum_j|\alpha_j| + \sum_i c_i\max(0,\; t_i - (B\alpha)_i - b\,q_i)

with P positive semi-definite. With :math:`\alpha = u - v`, :math:`u, v \ge 0`, and :math:`g = B^\top\beta -
P\alpha` the optimality conditions are :math:`u(d - g) = 0`, :math:`v(d + g) = 0`, :math:`q^\top\beta = 0` and
those of the hinge loss; every step solves one m x m system.

References
----------
Drezet and Harrison (2001), doi:10.1016/S0031-3203(99)00203-5; Mehrotra (1992), doi:10.1137/0802028.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from ..linalg import cholesky_factor, lower_gram
from ..problem import Status
from ..progress import tell
from ..rows import Array
from .hinge_no_bias import MAX_ITERATIONS, SHORTEST_STEP, _longest_step

# Coefficients this far below the largest are zero at the optimum: an interior point only comes near it.
ZERO = 1e-5
# A coefficient is not zero only where |g| = d; this leaves room for the distance to the optimum.
BINDING = 0.99
# Where d is too small for that to be seen, coefficients that move some output by more than this stay.
NO_EFFECT = 1e-6
# A step reduces the complementarity at least this much where centring is needed.
SMALLEST_CENTRING = 1e-4


@dataclass(frozen=True)
class OneNormMarginSolution:
    """What the interior point found: coefficients (m,), intercept, dual coefficients (n,), relative gap."""

    alpha: Array
    intercept: float
    beta: Array
    gap: float
    n_iter: int
    status: Status


@dataclass(frozen=True)
class _Newton:
    """The linearised optimality conditions of one iteration."""

    B: Array
    q: Array
    L: Array
    inner_q: Array
    bias_curvature: float
    alpha: Array
    z: Array
    u: Array
    v: Array
    lower: Array
    upper: Array
    s: Array
    xi: Array
    theta: Array
    omega: Array
    s_beta: Array
    xi_eta: Array
    residual: Array
    unbalanced: float

    def direction(
        self, first: Array, second: Array, third: Array, fourth: Array
    ) -> tuple[float, Array, Array, Array, Array, Array, Array]:
        """Steps of b, beta, g, u, v, s, xi, for targets (over the multiplier) of the four products."""
        a = third - fourth - self.alpha
        e = first - second + self.z
        right = a / self.theta + self.residual + self.B.T @ (self.omega * e)
        x = lapack.dpotrs(self.L, right, lower=1)[0]
        # q' d_beta = -q' beta decides the intercept
        wanted = float(self.q @ (self.omega * (e - self.B @ x))) - self.unbalanced
        d_b = wanted / self.bias_curvature if self.bias_curvature > 0 else 0.0
        d_alpha = x - d_b * self.inner_q
        d_beta = self.omega * (e - self.B @ d_alpha - d_b * self.q)
        d_g = (d_alpha - a) / self.theta
        d_u = third - self.u + self.u / self.lower * d_g
        d_v = fourth - self.v - self.v / self.upper * d_g
        d_s = first - self.s - self.s_beta * d_beta
        d_xi = second - self.xi + self.xi_eta * d_beta
        return d_b, d_beta, d_g, d_u, d_v, d_s, d_xi


# a direction that is not a number ends the search at the best point
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def solve_one_norm_margin(
    P: Array,
    B: Array,
    t: Array,
    c: Array,
    d: float,
    q: Array,
    *,
    tol: float = 1e-6,
    max_iter: int = MAX_ITERATIONS,
) -> OneNormMarginSolution:
    """Solve to a relative duality gap of `tol`.

    Parameters
    ----------
    P : array of shape (m, m)
    B : array of shape (n, m)
    t, c, q : array of shape (n,)
        With q = 0 there is no intercept beside the columns of B.
    d : float
        Positive.

    Examples
    --------
    >>> B = np.array([[1.0], [1.0]])
    >>> solution = solve_one_norm_margin(np.eye(1), B, np.ones(2), np.ones(2), 0.5, np.array([1.0, -1.0]))
    >>> solution.alpha.round(4)
    array([1.])
    """
    n, m = B.shape
    u, v = np.ones(m), np.ones(m)
    g = np.zeros(m)
    lower, upper = np.full(m, d), np.full(m, d)  # d - g and d + g, kept apart: rounding would lose them
    beta, eta = 0.5 * c, 0.5 * c
    b = 0.0
    alpha = u - v
    z = t - B @ alpha
    xi = 0.5 * (z + np.sqrt(z * z + 4.0))
    s = xi - z
    gap, n_iter, status = np.inf, 0, Status.ITERATION_LIMIT
    best = OneNormMarginSolution(alpha, b, beta, np.inf, 0, status)
    best_g = g
    for n_iter in range(max_iter + 1):
        B_beta = B.T @ beta
        P_alpha = P @ alpha
        gap = _relative_gap(alpha, P_alpha, B_beta, beta, z, t, c, d, q)
        if gap < best.gap:
            best = OneNormMarginSolution(alpha, b, beta, gap, n_iter, status)
            best_g = g
        tell("interior point", n_iter + 1, None, f"relative gap {gap:.2g}")
        if gap <= tol:
            status = Status.OPTIMAL
            break
        if n_iter == max_iter:
            status = Status.ITERATION_LIMIT
            break
        theta = u / lower + v / upper
        s_beta, xi_eta = s / beta, xi / eta
        omega = 1.0 / (s_beta + xi_eta)
        M = lower_gram(B.T, omega)
        M += P.T  # symmetric, and in the order of M
        np.einsum("ii->i", M)[:] += 1.0 / theta
        L = cholesky_factor(M)
        B_omega_q = B.T @ (omega * q)
        inner_q = lapack.dpotrs(L, B_omega_q, lower=1)[0]
        bias_curvature = float(q @ (omega * q) - B_omega_q @ inner_q)
        residual = B_beta - P_alpha - g
        unbalanced = -float(q @ beta)
        pieces = 2 * (n + m)
        mu = (s @ beta + xi @ eta + u @ lower + v @ upper) / pieces

        system = _Newton(
            B, q, L, inner_q, bias_curvature, alpha, z, u, v, lower, upper, s, xi, theta, omega, s_beta,
            xi_eta, residual, unbalanced,
        )  # fmt: skip
        zero_n, zero_m = np.zeros(n), np.zeros(m)
        _, d_beta, d_g, d_u, d_v, d_s, d_xi = system.direction(zero_n, zero_n, zero_m, zero_m)
        step = _longest_step(
            (beta, d_beta),
            (eta, -d_beta),
            (s, d_s),
            (xi, d_xi),
            (u, d_u),
            (v, d_v),
            (lower, -d_g),
            (upper, d_g),
        )
        reached = (
            (s + step * d_s) @ (beta + step * d_beta)
            + (xi + step * d_xi) @ (eta - step * d_beta)
            + (u + step * d_u) @ (lower - step * d_g)
            + (v + step * d_v) @ (upper + step * d_g)
        )
        target = mu * max((reached / (pieces * mu)) ** 3, SMALLEST_CENTRING)
        d_b, d_beta, d_g, d_u, d_v, d_s, d_xi = system.direction(
            (target - d_s * d_beta) / beta,
            (target + d_xi * d_beta) / eta,
            (target + d_u * d_g) / lower,
            (target - d_v * d_g) / upper,
        )
        step = _longest_step(
            (beta, d_beta),
            (eta, -d_beta),
            (s, d_s),
            (xi, d_xi),
            (u, d_u),
            (v, d_v),
            (lower, -d_g),
            (upper, d_g),
        )
        if not step > SHORTEST_STEP:
            status = Status.STALLED
            break
        u, v = u + step * d_u, v + step * d_v
        alpha = u - v
        b += step * d_b
        beta, eta = beta + step * d_beta, eta - step * d_beta
        g, lower, upper = g + step * d_g, lower - step * d_g, upper + step * d_g
        s, xi = s + step * d_s, xi + step * d_xi
        z = t - B @ alpha - b * q
    size = np.abs(best.alpha)
    effect = size * np.abs(B).max(axis=0)
    nonzero = (size > ZERO * size.max()) & ((np.abs(best_g) > BINDING * d) | (effect > NO_EFFECT))
    alpha = np.where(nonzero, best.alpha, 0.0)
    return OneNormMarginSolution(alpha, best.intercept, best.beta, best.gap, n_iter, status)


def _relative_gap(
    alpha: Array, P_alpha: Array, B_beta: Array, beta: Array, z: Array, t: Array, c: Array, d: float, q: Array
) -> float:
    """Gap between the primal value and that of the nearest feasible multiple of the dual point."""
    quadratic = float(alpha @ P_alpha)
    primal = 0.5 * quadratic + d * float(np.abs(alpha).sum()) + float(c @ np.maximum(z, 0.0))
    shrink = min(1.0, d / max(float(np.abs(B_beta - P_alpha).max()), np.finfo(np.float64).tiny))
    dual = shrink * float(t @ beta) - 0.5 * shrink**2 * quadratic
    unbalanced = abs(float(q @ beta)) / max(float(beta.sum()), np.finfo(np.float64).tiny)
    return abs(primal - dual) / max(abs(primal), np.finfo(np.float64).tiny) + unbalanced
