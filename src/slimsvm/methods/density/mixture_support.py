r"""Which columns a mixture of few kernels needs.

`mixture_support` solves the first round of the zero-norm, in which every column takes part, without holding them
all: a column that its optimum leaves at zero need not be there. It goes from few columns to those that matter.
Along column j, with mass t taken evenly from the others, the objective falls by

.. math:: t E_j - \tfrac12 t^2 V_j, \qquad E_j = \sum_i s_i k_{ij}/p_i - \lambda, \quad
    V_j = \sum_i s_i (k_{ij}/p_i - 1)^2

to second order, where :math:`\lambda` is the level that the columns with a weight share, so the gain is about
:math:`E_j^2 / 2 V_j`, known for every row from two products with the kernel matrix. `sparse_mixture` makes the
reweighted rounds on these columns and lets the vectors left change places (`exchange`).

References
----------
Lindsay (1983), doi:10.1214/aos/1176346059 (E is the gradient towards a vertex); Huang et al. (2010),
doi:10.1016/j.patrec.2010.06.017, equations (18) to (20).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...kernels import RBF
from ...limits import check_columns
from ...problem import KernelGram
from ...rows import Array, Rows
from ...solvers.reweighted import Reweighted, reweighted
from .exchange import COST, at_rest, best_apart, exchanged, gains, keep_at_most, settled
from .mixture import solve_mixture

# Every row has a kernel value of at least REACH with some column of the first set, so that its logarithm
# exists from the start; columns beyond the first COVER serve only that.
REACH = 1e-8
NEAR = 0.3
COVER = 150
# Columns added at a time, or this share of those there, no two nearer to each other than this kernel value.
COLUMNS_AT_A_TIME = 30
ADDED_SHARE = 0.5
APART = 0.9
MAX_ADDITIONS = 40
# With so many rows, or more, a column enters the first round if it gains what a vector costs; with fewer, if it
# gains the cube of their share of that, so that the round is solved as well as the time for it allows: the columns
# stay in the hundreds, and their squares times the rows are the work.
MANY_ROWS = 10_000
# Of the gain for which a column enters, what may be missing in each round; and at least this in the mean, which
# double precision can tell.
MISSING = 0.1
SMALLEST_TOLERANCE = 1e-6
# The largest kernel matrix held during the search; of more rows than 5,792, columns are computed as they are needed.
# It is looked at only a dozen times, which is not worth the memory of problem.DENSE_LIMIT_BYTES.
HELD_BYTES = 2**28
# Keeps the penalty of a dying weight finite.
SMALLEST_SQUARE = 1e-16


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
        How the rounds ended.
    counts : tuple of int
        Columns before the first round and after each, and vectors when they have found their places.
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
    thorough: bool = True,
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
    thorough : bool
        Whether columns that gain less than a vector costs take part in the rounds too, and vectors leave, enter and
        change places after them where that lowers the objective.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1]])
    >>> found = sparse_mixture(X, np.ones(5), 0.5)
    >>> len(found.support), found.weights.round(2).tolist()
    (2, [0.6, 0.4])
    """
    rate = 0.5 / bandwidth**2
    gram = KernelGram(RBF(rate), X, n_threads, limit_bytes=HELD_BYTES)
    # a column that gains less than this does not enter
    least = COST * (min(1.0, gram.n / MANY_ROWS) ** 3 if thorough else 1.0)
    missing = max(MISSING * least / float(s.sum()), SMALLEST_TOLERANCE)
    support, K = mixture_support(gram, s, least, missing)

    def solve(columns: Array, previous: Array) -> tuple[Array, float]:
        ridge = COST / np.maximum(np.square(previous), SMALLEST_SQUARE)
        return solve_mixture(K[:, columns], s, ridge, tol=missing)[0], 0.0

    rounds = reweighted(K.shape[1], solve, tol=tol, max_iter=max_iter)
    used = rounds.coef > 0
    support, K, weights = support[used], K[:, used], rounds.coef[used]
    limit = X.shape[0] if max_vectors is None else max_vectors
    if len(support) > limit:
        kept = keep_at_most(K, s, weights, limit)
        support, K, weights = support[kept], K[:, kept], weights[kept] / weights[kept].sum()
    placed = at_rest(gram, s, support, weights, K)
    if thorough:
        placed = exchanged(gram, s, settled(gram, s, placed), limit)
    # the likeliest weights of those left
    weights, _ = solve_mixture(placed.K, s, np.zeros(len(placed.support)), tol=SMALLEST_TOLERANCE)
    support = placed.support[weights > 0]
    return SparseMixture(support, weights[weights > 0], rounds, (*rounds.counts, len(support)))


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


# Beyond it the inverse of a power of two is no number.
SMALLEST_EXPONENT = -1000


def most_central(X: Rows, weight: Array) -> int:
    """The row nearest to the mean: one that depends neither on the order of the rows nor on their origin."""
    # in a unit that is a power of two no bit changes, and no square is too large
    exponent = max(int(np.frexp(float(abs(X).max()))[1]), SMALLEST_EXPONENT)
    X = np.ldexp(1.0, -exponent) * X.astype(np.float64)
    mean = np.asarray((weight / weight.sum()) @ X)
    if isinstance(X, np.ndarray):
        return int(np.square(X - mean).sum(axis=1).argmin())
    return int((X.power(2).sum(axis=1) - 2.0 * (X @ mean)).argmin())


def mixture_support(gram: KernelGram, s: Array, least: float, missing: float) -> tuple[Array, Array]:
    """Columns with a weight in the first round, and their kernel values (n, m).

    Parameters
    ----------
    gram : KernelGram
        Of a Gaussian kernel on distinct rows.
    s : array of shape (n,)
        C times the weight of each row.
    least : float
        What a column gains to enter.
    missing : float
        Mean penalised log-likelihood that the weights may miss.
    """
    support = covering(gram, most_central(gram.X, s))
    check_columns(gram.n, len(support), "give a larger bandwidth, or fewer rows", times=3)
    K = gram.columns(support)
    for _ in range(MAX_ADDITIONS):
        alpha, _ = solve_mixture(K, s, np.full(len(support), COST), tol=missing)
        used = alpha > 0
        support, K, alpha = support[used], K[:, used], alpha[used]
        gain, _ = gains(gram, s, K @ alpha, 2.0 * COST * float(alpha @ alpha))
        gain[support] = 0.0
        count = max(COLUMNS_AT_A_TIME, int(ADDED_SHARE * len(support)))
        new = best_apart(gain, gram, count, least, APART)
        if len(new) == 0:
            break
        support = np.concatenate([support, new])
        K = np.column_stack([K, gram.columns(new)])
    return support, K
