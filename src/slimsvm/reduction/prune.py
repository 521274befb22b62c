r"""Pruning: remove vectors one by one and hand their coefficients to the rest.

With :math:`H = (K + \lambda I)^{-1}` over the vectors, the best replacement of vector i by the others is
:math:`\beta = -h_{(i)} / h_{ii}` with regularised error :math:`1/h_{ii} - \lambda` (eq. 7), and removing it
turns H into :math:`H - h_i h_i^\top / h_{ii}` (eq. 8): Algorithm 2. Algorithm 1 takes the error without its
regularisation (eq. 5), which is :math:`1/h_{ii} - \lambda |h_i|^2 / h_{ii}^2`, so that H and the norms of its rows
serve for both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..progress import tell
from ..rows import Array
from .downdated import DELAYED, DowndatedInverse

# The paper's lambda, relative to the mean of the diagonal. The paper says "say 0.001"; over its benchmark
# sets 1e-5 keeps as few vectors or fewer at the same loss (banana: 18 instead of 65), because less of each
# coefficient is lost on the way, and it is still far above rounding.
RIDGE = 1e-5
# Costs this near each other, relatively, are equal up to rounding: the vector with the smaller number goes.
# The last two vectors of a normalised kernel always tie in redundancy.
TIE = 1e-8

Criterion = Callable[[DowndatedInverse, Array], Array]


def redundancy(H: DowndatedInverse, coef: Array) -> Array:  # (m, k) -> (m,)
    """Error of the best replacement of each vector by the others, up to lambda: 1 / h_ii (eq. 7)."""
    return 1.0 / H.diagonal


def distance(H: DowndatedInverse, coef: Array) -> Array:  # (m, k) -> (m,)
    """Squared distance of each vector from its best replacement, in the feature space (eq. 5).

    With v = h_i / h_ii, which is 1 at i and -beta elsewhere, (K + lambda) v = e_i / h_ii; so v'Kv is
    1 / h_ii - lambda |v|^2. Rounding, and kernels that are not positive definite, could make it negative.
    """
    return np.maximum(1.0 / H.diagonal - H.ridge * H.square.diagonal / H.diagonal**2, 0.0)


def damage(H: DowndatedInverse, coef: Array) -> Array:  # (m, k) -> (m,)
    """Squared change of the function, over all outputs, when each vector goes: |coef_i|^2 / h_ii."""
    return np.einsum("jo,jo->j", coef, coef) / H.diagonal


CRITERIA: dict[str, Criterion] = {"redundancy": redundancy, "distance": distance, "damage": damage}


@dataclass(frozen=True)
class Pruned:
    """What is left after some eliminations.

    Parameters
    ----------
    rows : array of shape (m,)
        Numbers of the vectors kept, rising.
    coef : array of shape (m, k)
        Their coefficients.
    removed : array
        Numbers of the vectors removed, in order.
    """

    rows: Array
    coef: Array
    removed: Array


@dataclass(frozen=True)
class Block:
    """Successive eliminations: coef after t of them is ``coef - shares[:, :t] @ given[:t]``.

    Parameters
    ----------
    rows : array of shape (m,)
        Numbers of the vectors that the arrays below are about.
    coef : array of shape (m, k)
        Coefficients before the first elimination.
    shares : array of shape (m, t)
        Column u is h_i / h_ii for the vector i removed in step u.
    given : array of shape (t, k)
        Coefficients the removed vectors had.
    removed : array of shape (t,)
        Numbers of the vectors removed.
    before : array
        Numbers of the vectors removed before this block.
    """

    rows: Array
    coef: Array
    shares: Array
    given: Array
    removed: Array
    before: Array

    def __len__(self) -> int:
        return len(self.removed)

    def after(self, steps: int) -> Pruned:
        """The state after so many of the eliminations."""
        removed = np.concatenate((self.before, self.removed[:steps]))
        left = ~np.isin(self.rows, removed)
        coef = self.coef[left] - self.shares[left, :steps] @ self.given[:steps]
        return Pruned(self.rows[left], coef, removed)


class Pruner:
    """Eliminates vectors in the order of a criterion and keeps the coefficients of the rest.

    Parameters
    ----------
    K : array of shape (m, m)
        Kernel matrix of the vectors, float64; it is overwritten.
    coef : array of shape (m, k)
    criterion : {"redundancy", "distance", "damage"}
    ridge : float
        Relative to the mean of the diagonal of K.
    scale : array of shape (k,) or None
        Size of each output; "damage" weighs the outputs by 1 / scale^2.
    """

    def __init__(
        self, K: Array, coef: Array, *, criterion: str, ridge: float = RIDGE, scale: Array | None = None
    ) -> None:
        if criterion not in CRITERIA:
            raise ValueError(f"criterion must be one of {', '.join(map(repr, CRITERIA))}, got {criterion!r}.")
        self._cost = CRITERIA[criterion]
        self._unit = np.ones(coef.shape[1]) if scale is None else 1.0 / scale
        self._coef = np.array(coef, dtype=np.float64)
        self._inverse = DowndatedInverse(K, ridge, squared=self._cost is distance)
        self._removed: list[int] = []

    @property
    def n_alive(self) -> int:
        """Number of vectors left."""
        return self._inverse.n_alive

    def eliminate(self, steps: int) -> Block:
        """Remove up to `steps` vectors (at most DELAYED at a time)."""
        inverse = self._inverse
        before = np.array(self._removed, dtype=np.intp)
        rows, coef = inverse.rows, self._coef
        steps = min(steps, DELAYED, inverse.n_alive)
        shares = np.zeros((len(rows), steps), order="F")
        given = np.empty((steps, coef.shape[1]))
        current = coef.copy()
        for u in range(steps):
            costs = self._cost(inverse, current * self._unit)
            costs[~inverse.alive] = np.inf
            i = int(np.argmax(costs <= costs.min() * (1.0 + TIE)))  # line 3 of Algorithm 2
            given[u] = current[i]
            shares[:, u] = inverse.remove(i)
            current -= np.multiply.outer(shares[:, u], given[u])  # line 4
            current[i] = 0.0
            self._removed.append(int(rows[i]))
        alive = inverse.alive
        inverse.flush()
        self._coef = current if len(inverse.rows) == len(rows) else current[alive]
        removed = np.array(self._removed[len(before) :], dtype=np.intp)
        return Block(rows, coef, shares, given, removed, before)

    def state(self) -> Pruned:
        """What is left now."""
        alive = self._inverse.alive
        removed = np.array(self._removed, dtype=np.intp)
        return Pruned(self._inverse.rows[alive], self._coef[alive], removed)


Watch = Callable[[Block], Pruned | None]


def prune(
    K: Array,  # (m, m)
    coef: Array,  # (m, k)
    *,
    n_keep: int = 1,
    criterion: str = "damage",
    ridge: float = RIDGE,
    scale: Array | None = None,
    watch: Watch | None = None,
) -> Pruned:
    """Algorithm 2, or 1 by "distance": eliminate vectors until `n_keep` are left or `watch` says where to stop.

    Parameters
    ----------
    K : array of shape (m, m)
        Kernel matrix of the vectors; it is overwritten.
    coef : array of shape (m, k)
    n_keep : int
        Stop at this number of vectors.
    criterion, ridge, scale
        As in `Pruner`.
    watch : callable or None
        Called with every `Block` of eliminations; what it returns, unless None, is the result.

    Returns
    -------
    Pruned

    Examples
    --------
    >>> K = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.1], [0.1, 0.1, 1.0]])
    >>> prune(K, np.array([[1.0], [1.0], [1.0]]), n_keep=2).rows
    array([1, 2])
    """
    pruner = Pruner(K, coef, criterion=criterion, ridge=ridge, scale=scale)
    while pruner.n_alive > n_keep:
        block = pruner.eliminate(pruner.n_alive - n_keep)
        tell("removing vectors", len(K) - pruner.n_alive, len(K) - n_keep)
        stopped = watch(block) if watch is not None else None
        if stopped is not None:
            return stopped
    return pruner.state()
