r"""Weights of a mixture of kernels: penalised maximum likelihood on the simplex.

Minimises :math:`-\sum_i s_i\log (K\alpha)_i + \sum_j r_j\alpha_j^2` over :math:`\alpha \ge 0`,
:math:`\sum_j\alpha_j = 1`, by a primal-dual interior point with O(n m^2) work an iteration. The maximum
likelihood weights are already sparse (there are at most as many as distinct rows, in practice far fewer), so
the columns are found as they are needed: `mixture_support` adds those along which the likelihood rises most.

References
----------
Lindsay (1983), doi:10.1214/aos/1176346059 (the gradient bounds the likelihood still to be gained); Koenker
and Mizera (2014), doi:10.1080/01621459.2013.869224 (interior points for it).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg
from scipy.linalg import blas

from ..rows import Array
from .least_squares import cholesky_factor

# Share of the way to the boundary that a step may go.
STEP = 0.99
MAX_ITERATIONS = 200
# Complementarity target of a step relative to the present one.
CENTRING = 0.1
# Weights above this share of the largest are not zero, whatever their slack.
SMALL_WEIGHT = 1e-2
# Every row has a kernel value of at least this with some column of the first set, so that its logarithm
# exists from the start; columns beyond the first COVER serve only that.
REACH = 1e-8
NEAR = 0.3
COVER = 150
# Columns added at a time, no two nearer to each other than this kernel value.
COLUMNS_AT_A_TIME = 30
APART = 0.9
MAX_ADDITIONS = 40


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
        p = K @ alpha
        pull = share / p
        gradient = r * alpha - K.T @ pull
        # the Frank-Wolfe bound: the objective is convex, and its linear part is least at a corner
        gap = float(gradient @ alpha - gradient.min())
        if gap <= tol:
            break
        mu = CENTRING * float(alpha @ slack) / m
        H = blas.dsyrk(1.0, K.T * (np.sqrt(share) / p), lower=1)
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
    alpha = np.where((alpha > slack) | (alpha > SMALL_WEIGHT * alpha.max()), alpha, 0.0)
    return alpha / alpha.sum(), gap


def covering(n: int, column: Callable[[int], Array]) -> Array:
    """Rows such that each row is near one of them: the farthest row is taken until none is far."""
    nearest = np.zeros(n)
    chosen: list[int] = []
    while True:
        farthest = int(nearest.argmin())
        enough = NEAR if len(chosen) < COVER else REACH
        if nearest[farthest] >= enough:
            return np.array(chosen)
        chosen.append(farthest)
        np.maximum(nearest, column(farthest), out=nearest)
        nearest[farthest] = np.inf


def mixture_support(
    n: int,
    columns: Callable[[Array], Array],
    products: Callable[[Array], Array],
    s: Array,
    *,
    tol: float = 1e-3,
) -> tuple[Array, Array, Array]:
    """Columns with positive maximum-likelihood weight, those columns' kernel values, and their weights.

    Parameters
    ----------
    n : int
        Number of rows; each is a candidate.
    columns : function
        Rows (k,) -> kernel values (n, k).
    products : function
        V (n,) -> K'V (n,), for all candidates.
    s : array of shape (n,)
        Weights of the rows.
    tol : float
        Mean log-likelihood that may be missing; at least what one vector costs, which is 1 in all.
    """
    support = covering(n, lambda j: columns(np.array([j]))[:, 0])
    K = columns(support)
    tol = max(tol, 1.0 / float(s.sum()))
    alpha = np.full(len(support), 1.0 / len(support))
    for _ in range(MAX_ADDITIONS):
        alpha, _ = solve_mixture(K, s, np.ones(len(support)), tol=0.1 * tol)
        used = alpha > 0
        support, K, alpha = support[used], K[:, used], alpha[used]
        slope = products(s / s.sum() / (K @ alpha))
        if float(slope.max()) <= 1.0 + tol:
            break
        new = _steepest(slope, columns)
        new = new[~np.isin(new, support)]
        if len(new) == 0:
            break
        support = np.concatenate([support, new])
        K = np.column_stack([K, columns(new)])
        alpha = np.concatenate([alpha, np.zeros(len(new))])
    used = alpha > 0
    return support[used], K[:, used], alpha[used]


def _steepest(slope: Array, columns: Callable[[Array], Array]) -> Array:
    """Rows of the steepest rise, one for each hill."""
    slope = slope.copy()
    chosen: list[int] = []
    for _ in range(COLUMNS_AT_A_TIME):
        best = int(slope.argmax())
        if slope[best] <= 1.0:
            break
        chosen.append(best)
        slope[columns(np.array([best]))[:, 0] > APART] = 0.0
        slope[best] = 0.0
    return np.array(chosen, dtype=np.intp)
