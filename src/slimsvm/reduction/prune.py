r"""Pruning: remove vectors one by one and hand their coefficients to the rest.

With :math:`H = (K + \lambda I)^{-1}` over the vectors, the best replacement of vector i by the others is
:math:`\beta = -h_{(i)} / h_{ii}` with regularised error :math:`1/h_{ii} - \lambda` (eq. 7), and removing it
turns H into :math:`H - h_i h_i^\top / h_{ii}` (eq. 8). Each step needs only the diagonal of H and one column,
so the downdates of H are kept as thin factors and applied by one matrix product for many steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from ..linalg import jittered_cholesky
from ..progress import tell
from ..rows import Array

# The paper's lambda, relative to the mean of the diagonal. The paper says "say 0.001"; over its benchmark
# sets 1e-5 keeps as few vectors or fewer at the same loss (banana: 18 instead of 65), because less of each
# coefficient is lost on the way, and it is still far above rounding.
RIDGE = 1e-5
# Downdates held back before H is brought up to date: enough for the product to run at full speed, few
# enough that correcting a column on the fly stays cheap.
DELAYED = 64
# H is copied to a smaller matrix when this share of its rows is left: dead rows cost at most 1 / 0.8^2.
COMPACTION_SHARE = 0.8
# Costs this near each other, relatively, are equal up to rounding: the vector with the smaller number goes.
# The last two vectors of a normalised kernel always tie in redundancy.
TIE = 1e-8

Criterion = Callable[[Array, Array], Array]


def redundancy(diagonal: Array, coef: Array) -> Array:  # (m,), (m, k) -> (m,)
    """Error of the best replacement of each vector by the others, up to lambda: 1 / h_ii (eq. 7)."""
    return 1.0 / diagonal


def damage(diagonal: Array, coef: Array) -> Array:  # (m,), (m, k) -> (m,)
    """Squared change of the function, over all outputs, when each vector goes: |coef_i|^2 / h_ii."""
    return np.einsum("jo,jo->j", coef, coef) / diagonal


CRITERIA: dict[str, Criterion] = {"redundancy": redundancy, "damage": damage}


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


class DowndatedInverse:
    """H = (K + ridge I)^-1 over the vectors that are left, with delayed downdates.

    Parameters
    ----------
    K : array of shape (m, m)
        Kernel matrix; it is overwritten.
    ridge : float
        Relative to the mean of the diagonal of K; it grows until the matrix is positive definite.
    """

    def __init__(self, K: Array, ridge: float) -> None:
        self._lower, self.ridge = _inverse(K, ridge)  # its lower triangle; Fortran order
        self.rows = np.arange(len(K))
        self.alive = np.ones(len(K), dtype=bool)
        self.diagonal = np.diagonal(self._lower).copy()
        self._delayed = np.zeros((len(K), DELAYED), order="F")  # factors g with H = stored - sum g g'
        self._n_delayed = 0

    @property
    def n_alive(self) -> int:
        """Number of vectors left."""
        return int(self.alive.sum())

    def column(self, i: int) -> Array:  # (m,), zero for removed vectors
        """Column i of H."""
        out = np.concatenate((self._lower[i, :i], self._lower[i:, i]))
        u = self._n_delayed
        if u:
            out -= self._delayed[:, :u] @ self._delayed[i, :u]
        out[~self.alive] = 0.0
        return out

    def remove(self, i: int) -> Array:  # (m,)
        """Remove vector i, eq. (8); returns h_i / h_ii."""
        column = self.column(i)
        pivot = column[i]
        factor = column / np.sqrt(pivot)
        self._delayed[:, self._n_delayed] = factor
        self._n_delayed += 1
        self.diagonal -= factor**2
        self.alive[i] = False
        self.diagonal[i] = 1.0  # of no meaning now, but safe to divide by
        return column / pivot

    def flush(self) -> None:
        """Apply the delayed downdates, and shrink the arrays when enough vectors are gone."""
        if self._n_delayed:
            factors = self._delayed[:, : self._n_delayed]
            self._lower = blas.dsyrk(-1.0, factors, beta=1.0, c=self._lower, lower=1, overwrite_c=1)
            self._n_delayed = 0
        kept = np.flatnonzero(self.alive)
        if len(kept) <= COMPACTION_SHARE * len(self.alive):
            smaller = np.zeros((len(kept), len(kept)), order="F")
            for column, j in enumerate(kept):
                smaller[column:, column] = self._lower[kept[column:], j]
            self._lower = smaller
            self.rows, self.diagonal = self.rows[kept], self.diagonal[kept]
            self.alive = np.ones(len(kept), dtype=bool)
            self._delayed = np.zeros((len(kept), DELAYED), order="F")


def _inverse(K: Array, ridge: float) -> tuple[Array, float]:
    """Lower triangle of (K + ridge I)^-1 in Fortran order, and the ridge used; overwrites K."""
    factor, shift = jittered_cholesky(K, ridge, overwrite=True)
    return lapack.dpotri(factor, lower=1, overwrite_c=1)[0], shift


class Pruner:
    """Eliminates vectors in the order of a criterion and keeps the coefficients of the rest.

    Parameters
    ----------
    K : array of shape (m, m)
        Kernel matrix of the vectors, float64; it is overwritten.
    coef : array of shape (m, k)
    criterion : {"redundancy", "damage"}
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
        self._inverse = DowndatedInverse(K, ridge)
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
            costs = self._cost(inverse.diagonal, current * self._unit)
            costs[~inverse.alive] = np.inf
            i = int(np.argmax(costs <= costs.min() * (1.0 + TIE)))  # Algorithm 2, line 3
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
    """Algorithm 2: eliminate vectors until `n_keep` are left or `watch` says where to stop.

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
