r"""A better mixture of as few kernels: vectors that move, leave, enter and change places.

`settled` is expectation-maximisation whose vectors stay rows. With the responsibilities
:math:`r_{ij} = s_i\alpha_j k_{ij}/p_i`, the likeliest place for vector j among the rows is the one nearest to
the mean :math:`\sum_i r_{ij}x_i/\sum_i r_{ij}`, so that no step lowers the likelihood. `exchanged` takes the
vectors away whose loss costs least and offers the rows that gain most, and keeps what lowers

.. math:: F = -\sum_i s_i \log p(x_i) + \#\{j : \alpha_j \ne 0\}.

References
----------
Lindsay (1983), doi:10.1214/aos/1176346059 (the gradient towards a vertex, by which rows are offered).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...kernels.distances import squared_distances
from ...problem import KernelGram
from ...progress import tell
from ...rows import Array, Rows, block_slices, dense
from .mixture import SMALLEST_DENSITY

# What a vector costs.
COST = 1.0
# Steps of expectation-maximisation at most. Vectors that move come to rest in ten or so; the weights, which
# converge slowly near their optimum, are left to `solve_mixture` at the end.
MAX_STEPS = 30
# Mean log-likelihood below which a step that moves no vector is the last.
STEP_TOLERANCE = 1e-6
# Multiples of the way to its mean at which a vector looks for a likelier row, and how many rows it tries at each.
STRIDES = (2.0, 6.0)
NEIGHBOURS = 4
MAX_SWEEPS = 10
# An exchange must lower the objective by this share of what a vector costs: less is not worth a search.
WORTH = 0.1
# Share of the vectors that change places in the first exchange; then half as many whenever it did not help.
FIRST_SHARE = 0.25
MAX_EXCHANGES = 20
# An exchange that is worse by no more than this many vectors may still win when its vectors have settled.
PROMISING = 2.0
# Vectors that leave together have few rows in common; rows that enter together are no nearer than HILL.
FAR = 0.1
HILL = 0.5
# Share of the columns too many that leave at a time.
LEAVE_TOGETHER = 0.1
# Mass with which a row enters at most: the expansion to second order says little about more.
MOST_MASS = 0.5


@dataclass(frozen=True)
class Placed:
    """Vectors among the rows with their weights.

    Parameters
    ----------
    support : array of shape (m,)
        Numbers of the rows, ascending.
    K : array of shape (n, m)
        Their kernel values.
    alpha : array of shape (m,)
        Positive, with sum one.
    likelihood : float
        The sum of s_i log p_i, without the constant of the kernel.
    """

    support: Array
    K: Array
    alpha: Array
    likelihood: float

    @property
    def objective(self) -> float:
        """The value of F."""
        return COST * len(self.support) - self.likelihood


def at_rest(gram: KernelGram, s: Array, support: Array, alpha: Array, K: Array | None = None) -> Placed:
    """Move the vectors to likelier rows and follow with the weights; vectors that meet become one.

    Parameters
    ----------
    gram : KernelGram
        Of a Gaussian kernel on the rows.
    s : array of shape (n,)
    support : array of shape (m,)
        Rows, each once.
    alpha : array of shape (m,)
        Positive, with sum one.
    K : array of shape (n, m) or None
        Kernel values of the support, where they are known.
    """
    total, last = float(s.sum()), -np.inf
    K = gram.columns(support) if K is None else K
    moved = True
    for _ in range(MAX_STEPS):
        p = np.maximum(K @ alpha, SMALLEST_DENSITY)
        likelihood = float(s @ np.log(p))
        if not moved and likelihood - last <= STEP_TOLERANCE * total:
            break
        last = likelihood
        pull = K * (s / p)[:, None]
        alpha = alpha * pull.sum(axis=0)
        reached = alpha > 0
        means = _means(gram.X, pull[:, reached])
        new, place = np.unique(_nearest(gram.X, means)[0], return_inverse=True)
        alpha = np.bincount(place, weights=alpha[reached])
        alpha = alpha / alpha.sum()
        moved = not np.array_equal(new, support)
        if moved:
            K = _columns(gram, new, support, K)
            support = new
    p = np.maximum(K @ alpha, SMALLEST_DENSITY)
    return Placed(support, K, alpha, float(s @ np.log(p)))


def settled(gram: KernelGram, s: Array, placed: Placed) -> Placed:
    """Let vectors that rest a step short of a likelier row go there."""
    for _ in range(MAX_SWEEPS):
        moved = _swept(gram, s, placed)
        if moved is placed:
            break
        placed = at_rest(gram, s, moved.support, moved.alpha, moved.K)
    return placed


def _swept(gram: KernelGram, s: Array, at: Placed) -> Placed:
    """Each vector in turn at the likeliest of the rows nearest to its path towards its mean and beyond.

    A mean that is nearer to the vector than to other rows moves nothing, though the likelihood may rise over many
    such steps: expectation-maximisation goes a part of the way only where vectors share rows.
    """
    support, K, alpha = at.support.copy(), at.K.copy(), at.alpha
    p = np.maximum(K @ alpha, SMALLEST_DENSITY)
    here = dense(gram.X[support])
    way = _means(gram.X, K * (s / p)[:, None]) - here
    offered = np.stack([_nearest(gram.X, here + far * way, NEIGHBOURS) for far in STRIDES])  # (strides, k, m)
    least = WORTH * COST / len(support)
    changed = False
    # by weight, since the numbers of the rows depend on their origin
    for j in np.argsort(-alpha, kind="stable"):
        rows = np.setdiff1d(offered[:, :, j], support)
        if len(rows) == 0:
            continue
        columns = gram.columns(rows)
        ratio = 1.0 + (alpha[j] / p)[:, None] * (columns - K[:, j : j + 1])
        gain = s @ np.log(np.maximum(ratio, np.finfo(float).tiny))
        best = int(gain.argmax())
        if gain[best] > least:
            p = np.maximum(p * ratio[:, best], SMALLEST_DENSITY)
            support[j], K[:, j], changed = rows[best], columns[:, best], True
    if not changed:
        return at
    order = np.argsort(support)
    return Placed(support[order], K[:, order], alpha[order], float(s @ np.log(p)))


def _means(X: Rows, pull: Array) -> Array:  # (n, d), (n, m) -> (m, d)
    with np.errstate(over="ignore"):
        means = np.asarray((pull / pull.sum(axis=0)).T @ X)
    # a mean is no larger than what it is of, but for rounding
    return np.clip(means, -np.finfo(np.float64).max, np.finfo(np.float64).max)


def _nearest(X: Rows, points: Array, k: int = 1) -> Array:  # (k, m)
    """The k rows nearest to each point."""
    k = min(k, X.shape[0])
    found = np.empty((k, len(points)), dtype=np.intp)
    for block in block_slices(len(points), 8 * X.shape[0]):
        far = squared_distances(X, points[block])
        if k == 1:
            found[0, block] = far.argmin(axis=0)
        else:
            found[:, block] = np.argpartition(far, k - 1, axis=0)[:k]
    return found


def _columns(gram: KernelGram, wanted: Array, known: Array, K: Array) -> Array:
    """Kernel columns of the wanted rows, of which some are known; both ascending."""
    at = np.searchsorted(known, wanted)
    at[at == len(known)] = 0
    old = known[at] == wanted
    out = np.empty((K.shape[0], len(wanted)))
    out[:, old] = K[:, at[old]]
    if not old.all():
        out[:, ~old] = gram.columns(wanted[~old])
    return out


def exchanged(gram: KernelGram, s: Array, start: Placed, limit: int) -> Placed:
    """Let vectors change places, leave or enter, a share of them at first, as long as that lowers F.

    Parameters
    ----------
    gram : KernelGram
    s : array of shape (n,)
    start : Placed
    limit : int
        Most vectors.
    """
    best = start
    loss, shares = losses(best.K, s, best.alpha)
    offers: tuple[Array, Array] | None = None
    # how many vectors change places, leave, enter: halved where it did not help
    sizes = dict.fromkeys(("change", "leave", "enter"), max(1, int(FIRST_SHARE * len(best.support))))
    for trial in range(MAX_EXCHANGES):
        kind = max(sizes, key=lambda name: sizes[name])
        size = sizes[kind]
        if size == 0:
            break
        m = len(best.support)
        leaving = least_apart(loss, shares, min(size, m - 1)) if kind != "enter" else []
        room = min(size, limit - m + len(leaving)) if kind != "leave" else 0
        new, mass = np.empty(0, dtype=np.intp), np.empty(0)
        if room > 0:
            offers = _offers(gram, s, best) if offers is None else offers
            new = best_apart(offers[0], gram, room, COST, HILL)
            mass = offers[1][new]
        sizes[kind] = size // 2
        if len(leaving) + len(new) == 0 or (kind == "change" and 0 in (len(leaving), len(new))):
            continue
        kept = np.delete(np.arange(m), leaving)
        found = at_rest(gram, s, *_together(gram, best, kept, new, mass))
        if found.objective < best.objective + PROMISING * COST:
            found = settled(gram, s, found)
        tell("exchanging vectors", trial + 1)
        if found.objective < best.objective - WORTH * COST:
            best, sizes[kind] = found, size
            loss, shares = losses(best.K, s, best.alpha)
            offers = None
    return best


def _offers(gram: KernelGram, s: Array, at: Placed) -> tuple[Array, Array]:
    """What each row that is no vector yet would gain, and the mass with which it would."""
    gain, mass = gains(gram, s, at.K @ at.alpha)
    gain[at.support] = 0.0
    return gain, mass


def _together(
    gram: KernelGram, at: Placed, kept: Array, new: Array, mass: Array
) -> tuple[Array, Array, Array]:
    """Support, weights and kernel values of the vectors kept and the rows that enter with this mass."""
    support = np.concatenate([at.support[kept], new])
    alpha = np.concatenate([at.alpha[kept] / at.alpha[kept].sum(), mass])
    order = np.argsort(support)
    return support[order], alpha[order] / alpha.sum(), _columns(gram, support[order], at.support, at.K)


def gains(gram: KernelGram, s: Array, p: Array, ridge: float = 0.0) -> tuple[Array, Array]:
    """What each row would gain as a vector to second order, and the mass that gains most.

    Parameters
    ----------
    gram : KernelGram
    s, p : array of shape (n,)
        Weights of the rows, and their densities.
    ridge : float
        What the penalty of the present weights falls by, to first order, per unit of mass taken from them.
    """
    total = float(s.sum())
    p = np.maximum(p, SMALLEST_DENSITY)
    slope = (gram @ (s / p)[:, None])[:, 0] - total
    excess = np.maximum(slope + ridge, 0.0)
    rising = np.flatnonzero(excess)
    mass = np.zeros(gram.n)
    with np.errstate(all="ignore"):
        curvature = _of_squares(gram, rising, s / p**2) - 2.0 * slope[rising] - total
        mass[rising] = excess[rising] / curvature
    return 0.5 * excess * mass, np.minimum(mass, MOST_MASS)


def _of_squares(gram: KernelGram, rows: Array, v: Array) -> Array:  # (len(rows),)
    """Product of the squared kernel values of these rows with v."""
    out = np.empty(len(rows))
    for block in block_slices(len(rows), 8 * gram.n):
        K = gram.dense[rows[block]] if gram.is_held else gram.columns(rows[block]).T
        out[block] = np.square(K) @ v
    return out


def best_apart(gain: Array, gram: KernelGram, count: int, least: float, apart: float) -> Array:
    """Up to `count` rows that gain more than `least`, the best of each hill: none nearer than `apart`."""
    gain = gain.copy()
    chosen: list[int] = []
    while len(chosen) < count:
        best = int(gain.argmax())
        if not gain[best] > least:
            break
        chosen.append(best)
        gain[gram.column(best) > apart] = 0.0
        gain[best] = 0.0
    return np.array(chosen, dtype=np.intp)


def losses(K: Array, s: Array, alpha: Array) -> tuple[Array, Array]:
    r"""What the likelihood loses with each column, and the share that each has in the density of the rows.

    When column j leaves and its mass goes evenly to the others, row i keeps the share
    :math:`(1 - \alpha_j k_{ij} / p_i) / (1 - \alpha_j)` of its density.
    """
    shares = K * alpha
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), SMALLEST_DENSITY)
    tiny = np.finfo(float).tiny
    left = np.log(np.maximum(1.0 - alpha, tiny))
    return s.sum() * left - s @ np.log(np.maximum(1.0 - shares, tiny)), shares


def least_apart(loss: Array, shares: Array, count: int) -> list[int]:
    """Up to `count` columns of least loss that have few rows in common."""
    norms = np.sqrt(np.einsum("ij,ij->j", shares, shares))
    chosen: list[int] = []
    for candidate in np.argsort(loss, kind="stable"):
        if len(chosen) == count:
            break
        common = shares[:, candidate] @ shares[:, chosen]
        if (common <= FAR * norms[candidate] * norms[chosen]).all():
            chosen.append(int(candidate))
    return chosen


def keep_at_most(K: Array, s: Array, alpha: Array, limit: int) -> Array:
    """Columns kept when those whose loss costs least have left, one or a few at a time.

    Each departure is followed by one step of expectation-maximisation, which gives the mass to those that take
    over its rows.

    Parameters
    ----------
    K : array of shape (n, m)
    s : array of shape (n,)
    alpha : array of shape (m,)
        Positive, with sum one.
    limit : int
    """
    kept = np.arange(len(alpha))
    s = s / np.ldexp(1.0, np.frexp(s.sum())[1])  # their size does not matter, and quotients could overflow
    while len(kept) > limit:
        loss, shares = losses(K[:, kept], s, alpha)
        leaving = least_apart(loss, shares, max(1, int(LEAVE_TOGETHER * (len(kept) - limit))))
        kept, alpha = np.delete(kept, leaving), np.delete(alpha, leaving)
        p = np.maximum(K[:, kept] @ alpha, SMALLEST_DENSITY)
        alpha = alpha * ((s / p) @ K[:, kept])
        alpha /= alpha.sum()
    return kept
