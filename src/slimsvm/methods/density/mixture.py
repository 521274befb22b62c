r"""Weights of a mixture of kernels: penalised maximum likelihood on the simplex.

Minimises :math:`-\sum_i s_i\log (K\alpha)_i + \sum_j r_j\alpha_j^2` over :math:`\alpha \ge 0`,
:math:`\sum_j\alpha_j = 1`, by a primal-dual interior point with O(n m^2) work an iteration. The maximum
likelihood weights are already sparse (there are at most as many as distinct rows, in practice far fewer);
`mixture_support` finds the columns as they are needed.

References
----------
Lindsay (1983), doi:10.1214/aos/1176346059 (the gradient bounds the likelihood still to be gained); Koenker
and Mizera (2014), doi:10.1080/01621459.2013.869224 (interior points for it).
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from ...linalg import cholesky_factor, lower_gram, scaled
from ...rows import Array

# Share of the way to the boundary that a step may go.
STEP = 0.99
MAX_ITERATIONS = 200
# Complementarity target of a step relative to the present one.
CENTRING = 0.1
# A column that gives some row this share of its density is not zero, whatever its slack: a lonely row needs its own
# kernel, though its weight is small.
SMALL_SHARE = 1e-2
# Smallest density of a row, relative to a kernel's largest value: below it a row that no vector reaches would
# have no logarithm. It has no part in the weights then.
SMALLEST_DENSITY = 1e-290


def solve_mixture(K: Array, s: Array, ridge: Array, *, tol: float = 1e-6) -> tuple[Array, float]:
    """Weights and the bound reached of (value - optimum), relative to the sum of s.

    Parameters
    ----------
    K : array of shape (n, m)
        Kernel values, each row with a positive one.
    s : array of shape (n,)
        Weights of the rows.
    ridge : array of shape (m,)
        The penalties r.

    Examples
    --------
    >>> K = np.array([[1.0, 0.1], [0.1, 1.0], [0.1, 1.0]])
    >>> alpha, _ = solve_mixture(K, np.ones(3), np.zeros(2))
    >>> alpha.round(3)
    array([0.296, 0.704])
    """
    m = K.shape[1]
    if m == 1:
        return np.ones(1), 0.0
    total = float(s.sum())
    share, r = s / total, 2.0 * ridge / total
    alpha = np.full(m, 1.0 / m)
    slack = np.ones(m)
    gap = np.inf
    for _ in range(MAX_ITERATIONS):
        p = np.maximum(K @ alpha, SMALLEST_DENSITY)
        pull = share / p
        gradient = r * alpha - K.T @ pull
        # the Frank-Wolfe bound: the objective is convex, and its linear part is least at a corner
        gap = float(gradient @ alpha - gradient.min())
        if gap <= tol:
            break
        mu = CENTRING * float(alpha @ slack) / m
        H = lower_gram(scaled(K, np.sqrt(share) / p, None).T)
        np.einsum("ii->i", H)[:] += r + slack / alpha
        L = cholesky_factor(H)
        right = np.column_stack([mu / alpha - gradient, np.ones(m)])
        solved = linalg.cho_solve((L, True), right, check_finite=False)
        multiplier = float(solved[:, 0].sum() / solved[:, 1].sum())
        d_alpha = solved[:, 0] - multiplier * solved[:, 1]
        d_slack = mu / alpha - slack - slack / alpha * d_alpha
        d_p = K @ d_alpha
        worst = max(float((-d_alpha / alpha).max()), float((-d_slack / slack).max()))
        length = min(1.0, STEP / worst) if worst > STEP else 1.0
        # the logarithms are not quadratic: keep a row's density from falling to nothing in one step
        fall = float((-d_p / p).max())
        length = min(length, STEP / fall) if fall > STEP else length
        alpha = alpha + length * d_alpha
        alpha /= alpha.sum()
        slack = slack + length * d_slack
    # at the optimum a weight or its slack is zero; near it, one is far smaller than the other
    p = np.maximum(K @ alpha, SMALLEST_DENSITY)
    needed = np.array([alpha[j] * float((K[:, j] / p).max()) > SMALL_SHARE for j in range(m)])
    alpha = np.where((alpha > slack) | needed, alpha, 0.0)
    return alpha / alpha.sum(), gap
