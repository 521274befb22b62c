r"""Which columns a mixture of few kernels needs.

`mixture_support` goes from few columns to those worth their cost: a column enters where the likelihood gains
by it at least what a vector costs, which is 1. Along column j, with mass t taken evenly from the others,

.. math:: \sum_i s_i \log(1 + t (k_{ij}/p_i - 1)) \approx t D_j - \tfrac12 t^2 V_j, \qquad
    D_j = \sum_i s_i (k_{ij}/p_i - 1), \quad V_j = \sum_i s_i (k_{ij}/p_i - 1)^2,

so the gain is about :math:`D_j^2 / 2 V_j`, known for every row from two products with the kernel matrix.
`keep_at_most` takes the columns away again whose loss costs least. `sparse_mixture` puts both around the
reweighted rounds of the zero-norm.

References
----------
Lindsay (1983), doi:10.1214/aos/1176346059 (D is the gradient towards a vertex); Huang et al. (2010),
doi:10.1016/j.patrec.2010.06.017, equations (18) to (20).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...kernels import RBF
from ...problem import KernelGram
from ...rows import Array, Rows
from ...solvers.reweighted import Reweighted, reweighted
from .mixture import SMALLEST_DENSITY, solve_mixture

# Every row has a kernel value of at least REACH with some column of the first set, so that its logarithm
# exists from the start; columns beyond the first COVER serve only that.
REACH = 1e-8
NEAR = 0.3
COVER = 150
# Columns added at a time, no two nearer to each other than this kernel value.
COLUMNS_AT_A_TIME = 30
APART = 0.9
MAX_ADDITIONS = 40
# Mean penalised log-likelihood that may be missing, while columns are looked for and in each round.
SEARCH_TOLERANCE = 1e-4
ROUND_TOLERANCE = 1e-5
# What a vector costs.
COST = 1.0
# Keeps the penalty of a dying weight finite.
SMALLEST_SQUARE = 1e-16
# Share of the columns too many that leave together, no two of them nearer to each other than FAR.
LEAVE_TOGETHER = 0.1
FAR = 0.1


@dataclass(frozen=True)
class SparseMixture:
    """Weights of a mixture.

    Parameters
    ----------
    support : array of shape (m,)
        Rows that carry a kernel.
    weights : array of shape (m,)
        Positive, with sum one.
    rounds : Reweighted
        How the last series of rounds ended.
    counts : tuple of int
        Columns before the first round and after each.
    """

    support: Array
    weights: Array
    rounds: Reweighted
    counts: tuple[int, ...]


def sparse_mixture(
    X: Rows,
    s: Array,
    bandwidth: float,
    *,
    max_vectors: int | None = None,
    tol: float = 1e-3,
    max_iter: int = 200,
    n_threads: int = 1,
) -> SparseMixture:
    r"""Minimise :math:`-\sum_i s_i \log p(x_i) + \#\{j : \alpha_j \ne 0\}` over mixtures of Gaussians on rows.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
        Distinct rows.
    s : array of shape (n,)
        C times the weight of each row.
    bandwidth : float
        Standard deviation of the Gaussians.
    max_vectors : int or None
        Most columns to be left.
    tol, max_iter
        As in `reweighted`.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1]])
    >>> found = sparse_mixture(X, np.ones(5), 0.5)
    >>> len(found.support), found.weights.round(2).tolist()
    (2, [0.6, 0.4])
    """
    support, K = mixture_support(X, s, bandwidth, n_threads)

    def rounds(K: Array) -> Reweighted:
        def solve(columns: Array, previous: Array) -> tuple[Array, float]:
            ridge = COST / np.maximum(np.square(previous), SMALLEST_SQUARE)
            return solve_mixture(K[:, columns], s, ridge, tol=ROUND_TOLERANCE)[0], 0.0

        return reweighted(K.shape[1], solve, tol=tol, max_iter=max_iter)

    result = rounds(K)
    counts = result.counts
    used = result.coef > 0
    if max_vectors is not None and used.sum() > max_vectors:
        support, K = support[used], K[:, used]
        kept = keep_at_most(K, s, result.coef[used], max_vectors)
        support, K = support[kept], K[:, kept]
        result = rounds(K)
        counts += result.counts[1:]
        used = result.coef > 0
    # the rounds shrink small weights, which the count does not ask for: the likeliest weights of those left
    weights, _ = solve_mixture(K[:, used], s, np.zeros(int(used.sum())), tol=ROUND_TOLERANCE)
    support = support[used][weights > 0]
    return SparseMixture(support, weights[weights > 0], result, (*counts[:-1], len(support)))


def covering(gram: KernelGram, first: int) -> Array:
    """Rows such that each row is near one of them: the farthest row is taken until none is far."""
    nearest = gram.column(first).copy()
    chosen = [first]
    while True:
        nearest[chosen[-1]] = np.inf
        farthest = int(nearest.argmin())
        if nearest[farthest] >= (NEAR if len(chosen) < COVER else REACH):
            return np.array(chosen)
        chosen.append(farthest)
        np.maximum(nearest, gram.column(farthest), out=nearest)


def most_central(X: Rows, weight: Array) -> int:
    """The row nearest to the mean: one that depends neither on the order of the rows nor on their origin."""
    mean = np.asarray(weight @ X / weight.sum())
    if isinstance(X, np.ndarray):
        return int(np.square(X - mean).sum(axis=1).argmin())
    return int((X.power(2).sum(axis=1) - 2.0 * (X @ mean)).argmin())


def mixture_support(X: Rows, s: Array, bandwidth: float, n_threads: int = 1) -> tuple[Array, Array]:
    """Columns worth what a vector costs, and their kernel values (n, m); parameters as `sparse_mixture`."""
    rate = 0.5 / bandwidth**2
    gram = KernelGram(RBF(rate), X, n_threads, limit_bytes=0)
    squares = KernelGram(RBF(2.0 * rate), X, n_threads, limit_bytes=0)  # of the kernel's values
    total = float(s.sum())
    support = covering(gram, most_central(X, s))
    K = gram.columns(support)
    for _ in range(MAX_ADDITIONS):
        alpha, _ = solve_mixture(K, s, np.full(len(support), COST), tol=SEARCH_TOLERANCE)
        used = alpha > 0
        support, K, alpha = support[used], K[:, used], alpha[used]
        p = np.maximum(K @ alpha, SMALLEST_DENSITY)
        slope = (gram @ (s / p)[:, None])[:, 0] - total
        curvature = (squares @ (s / p**2)[:, None])[:, 0] - 2.0 * slope - total
        with np.errstate(all="ignore"):
            gain = np.where(slope > 0, 0.5 * slope**2 / curvature, 0.0)
        gain[support] = 0.0
        new = _best_apart(gain, gram)
        if len(new) == 0:
            break
        support = np.concatenate([support, new])
        K = np.column_stack([K, gram.columns(new)])
    return support, K


def _best_apart(gain: Array, gram: KernelGram) -> Array:
    """Rows worth their cost, the best of each hill."""
    chosen: list[int] = []
    while len(chosen) < COLUMNS_AT_A_TIME:
        best = int(gain.argmax())
        if not gain[best] > COST:
            break
        chosen.append(best)
        gain[gram.column(best) > APART] = 0.0
        gain[best] = 0.0
    return np.array(chosen, dtype=np.intp)


def keep_at_most(K: Array, s: Array, alpha: Array, limit: int) -> Array:
    r"""Columns kept when those whose loss costs least have left, one or a few at a time.

    When column j leaves and its mass goes evenly to the others, row i keeps the share
    :math:`(1 - \alpha_j k_{ij} / p_i) / (1 - \alpha_j)` of its density. Each departure is followed by one step
    of expectation-maximisation, which gives the mass to those that take over its rows.

    Parameters
    ----------
    K : array of shape (n, m)
    s : array of shape (n,)
    alpha : array of shape (m,)
        Positive, with sum one.
    limit : int
    """
    kept = np.arange(len(alpha))
    while len(kept) > limit:
        shares = K[:, kept] * alpha
        p = np.maximum(shares.sum(axis=1, keepdims=True), SMALLEST_DENSITY)
        shares /= p
        rest = np.maximum(1.0 - shares, np.finfo(float).tiny)
        loss = s.sum() * np.log1p(-alpha) - s @ np.log(rest)
        leaving = _least_apart(loss, shares, max(1, int(LEAVE_TOGETHER * (len(kept) - limit))))
        kept, alpha = np.delete(kept, leaving), np.delete(alpha, leaving)
        p = np.maximum(K[:, kept] @ alpha, SMALLEST_DENSITY)
        alpha = alpha * ((s / p) @ K[:, kept])
        alpha /= alpha.sum()
    return kept


def _least_apart(loss: Array, shares: Array, count: int) -> list[int]:
    """Up to `count` columns of least loss that have few rows in common."""
    norms = np.sqrt(np.einsum("ij,ij->j", shares, shares))
    chosen: list[int] = []
    for candidate in np.argsort(loss, kind="stable"):
        common = shares[:, candidate] @ shares[:, chosen]
        if (common <= FAR * norms[candidate] * norms[chosen]).all():
            chosen.append(int(candidate))
        if len(chosen) == count:
            break
    return chosen
