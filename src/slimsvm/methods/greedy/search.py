r"""Greedy selection for least-squares machines: one kernel function at a time, in the dual.

For one output and chosen rows P the machine is the minimiser over :math:`\alpha_P`, with
:math:`A = K + \mathrm{diag}(\lambda)` and :math:`\lambda_i = 1 / C_i`, of

.. math:: \tfrac12 \alpha^\top A_{PP}\, \alpha - y_P^\top \alpha
          \quad\text{subject to}\quad \mathbf 1^\top \alpha = 0 ,

whose multiplier is the intercept b. With the Cholesky factor :math:`A_{PP} = L L^\top` and
:math:`z = L^{-1} y_P`, :math:`w = L^{-1} \mathbf 1` one has :math:`b = w^\top z / w^\top w`,
:math:`\alpha = L^{-\top} (z - b w)` and the value :math:`-\tfrac12 (z^\top z - b\, w^\top z)`. A new vector
adds a row to L and one entry to z and w, and leaves the rest: every prefix of the sequence is a smaller
machine.

`FullSearch` looks at every row each time (Algorithm 1). It keeps :math:`V = L^{-1} K_{P,:}`, from which the
errors of all rows follow by one axpy a step, and both scores (backfitting and prefitting) by O(n) work. A new
row of V is a matrix-vector product; it is had as a matrix product for the rows most likely to be chosen next,
and a row chosen from that block only needs what was added since. `RandomSearch` looks at a few random rows
each time (Algorithm 2) and keeps the inverse of L alone (eq. 18).

References
----------
Jiao, Bo and Wang, Fast sparse approximation for least squares support vector machine, IEEE Transactions on
Neural Networks 18 (2007), doi:10.1109/TNN.2006.889500.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...limits import DENSE_LIMIT_BYTES
from ...linalg import GrowingRows, pivot_floor
from ...problem import KernelGram
from ...progress import tell
from ...rows import Array
from .columns import COLUMNS_AT_A_TIME, ColumnCache, SelectedVectors
from .inverse_factor import InverseFactor

# Rows prepared together by one matrix product: it follows the number of them that were used last time.
FIRST_BLOCK = 8
LARGEST_BLOCK = 64


def n_candidates_for(confidence: float = 0.975, best: float = 0.025) -> int:
    """Random rows to look at so that, with this confidence, one of the best share is among them (eq. 35).

    Examples
    --------
    >>> n_candidates_for()
    146
    >>> n_candidates_for(confidence=0.95, best=0.05)
    59
    """
    for name, value in (("confidence", confidence), ("best", best)):
        if not 0.0 < value < 1.0:
            raise ValueError(f"{name} must lie between 0 and 1, got {value!r}.")
    return math.ceil(math.log(1.0 - confidence) / math.log(1.0 - best))


@dataclass(frozen=True)
class GreedyRule:
    """When to stop and what to score.

    Parameters
    ----------
    epsilon : float
        The search ends when no error it sees is larger (eq. 31).
    prefitting : bool
        Score a row by the fall of the objective when all coefficients are solved anew (eq. 23), and not the
        new one alone (eq. 30).
    n_candidates : int or None
        Random rows looked at in a step; None looks at all.
    n_steps : int or None
        Most vectors for one output.
    """

    epsilon: float
    prefitting: bool = False
    n_candidates: int | None = None
    n_steps: int | None = None


@dataclass(frozen=True)
class Sequence:
    """The vectors of one output in the order in which they were chosen.

    Parameters
    ----------
    chosen : array of shape (m,)
        Row numbers.
    z, w : arrays of shape (m,)
        L^-1 y and L^-1 1.
    """

    chosen: Array
    z: Array
    w: Array

    def first(self, n_steps: int) -> Sequence:
        """The sequence after so many steps."""
        return Sequence(self.chosen[:n_steps], self.z[:n_steps], self.w[:n_steps])

    def objective(self) -> Array:  # (m,)
        """The objective after each step; it never rises (Theorem 2)."""
        cross = np.cumsum(self.z * self.w)
        value: Array = -0.5 * (np.cumsum(self.z**2) - cross**2 / np.cumsum(self.w**2))
        return value


class Search(Protocol):
    """One output's search: it proposes a row, and is told to take it."""

    def propose(self) -> int | None:
        """The next row, or None when the search has ended."""
        ...

    def take(self) -> None:
        """Add the proposed row."""
        ...

    @property
    def sequence(self) -> Sequence:
        """What was chosen so far."""
        ...


class FullSearch:
    """Every row is a candidate in every step (Algorithm 1).

    Parameters
    ----------
    columns : ColumnCache
    ridge : array of shape (n,)
        1 / C of each row.
    y : array of shape (n,)
    rule : GreedyRule
    """

    def __init__(self, columns: ColumnCache, ridge: Array, y: Array, rule: GreedyRule) -> None:
        self._columns, self._ridge, self._y, self._rule = columns, ridge, y, rule
        n = columns.n
        self._diagonal = columns.diagonal() + ridge
        self._V = GrowingRows(n, DENSE_LIMIT_BYTES)
        self._free = self._diagonal > 0  # rows that are neither chosen nor dependent on chosen ones
        self._fit_y, self._fit_1 = np.zeros(n), np.zeros(n)  # V'z and V'w
        self._explained = np.zeros(n)  # squared norms of the columns of V
        self._chosen: list[int] = []
        self._z: list[float] = []
        self._w: list[float] = []
        self._zw = self._ww = 0.0
        self._block, self._place, self._block_start = np.empty((0, n)), dict[int, int](), 0
        self._block_size, self._hits = FIRST_BLOCK, FIRST_BLOCK
        self._proposed: tuple[int, Array, float] | None = None

    @property
    def sequence(self) -> Sequence:
        """What was chosen so far."""
        return Sequence(np.array(self._chosen, dtype=np.intp), np.array(self._z), np.array(self._w))

    @property
    def intercept(self) -> float:
        """The intercept b now."""
        return self._zw / self._ww if self._chosen else 0.0

    def errors(self) -> Array:  # (n,)
        """Output less target of every row (eq. 28); meaningful for rows that are not chosen."""
        b = self.intercept
        errors: Array = self._fit_y - b * self._fit_1 + (b - self._y)
        return errors

    def propose(self) -> int | None:
        """The row that lowers the objective most, or None at the end."""
        steps = self._rule.n_steps
        while self._free.any() and (steps is None or len(self._chosen) < steps):
            errors = np.where(self._free, self.errors(), 0.0)
            if np.abs(errors).max() <= self._rule.epsilon:  # eq. (31)
                break
            score = self._score(errors)
            i = int(score.argmax())
            row = self._schur_row(i, score)
            pivot = float(row[i] + self._ridge[i])
            if pivot > pivot_floor(self._columns.n, self._diagonal[i]):
                self._proposed = i, row, pivot
                return i
            self._free[i] = False
        return None

    def _score(self, errors: Array) -> Array:  # (n,)
        curvature = self._diagonal
        if self._rule.prefitting and self._chosen:  # eq. (23)
            left = np.maximum(self._diagonal - self._explained, 0.0)
            curvature = left + (1.0 - self._fit_1) ** 2 / self._ww
        score = np.divide(errors**2, curvature, out=np.zeros_like(errors), where=curvature > 0)
        return np.where(self._free, score, -1.0)  # eq. (30), without the factor 1/2

    def _schur_row(self, i: int, score: Array) -> Array:  # (n,)
        """Row i of K - V'V."""
        if i not in self._place:
            self._prepare(i, score)
        self._hits += 1
        recent = self._V.rows[self._block_start :]
        row: Array = self._block[self._place[i]] - recent[:, i] @ recent
        return row

    def _prepare(self, i: int, score: Array) -> None:
        """Compute the rows of K - V'V for row i and others that score best now."""
        self._block_size = min(LARGEST_BLOCK, max(FIRST_BLOCK, 2 * self._hits))
        size = min(self._block_size, int(self._free.sum()))
        candidates = _best(score, size)
        if i not in candidates:  # several rows tie
            candidates[0] = i
        V = self._V.rows
        self._block = self._columns(candidates, _best(score, min(COLUMNS_AT_A_TIME, len(score))))
        self._block -= np.ascontiguousarray(V[:, candidates].T) @ V
        self._place = {int(i): place for place, i in enumerate(candidates)}
        self._block_start, self._hits = self._V.m, 0

    def take(self) -> None:
        """Add the proposed row: one more row of V, one more entry of z and w."""
        if self._proposed is None:
            raise RuntimeError("take() follows propose().")
        i, row, pivot = self._proposed
        root = math.sqrt(pivot)
        z = (self._y[i] - self._fit_y[i]) / root
        w = (1.0 - self._fit_1[i]) / root
        row /= root
        self._V.append(row)
        self._fit_y += z * row
        self._fit_1 += w * row
        if self._rule.prefitting:
            self._explained += row**2
        self._zw += z * w
        self._ww += w * w
        self._z.append(z)
        self._w.append(w)
        self._chosen.append(i)
        self._free[i] = False
        self._proposed = None


def _best(score: Array, size: int) -> Array:
    return np.argpartition(score, -size)[-size:]


class RandomSearch:
    """A few random rows are the candidates of a step (Algorithm 2).

    Parameters
    ----------
    gram : KernelGram
    ridge : array of shape (n,)
    y : array of shape (n,)
    rule : GreedyRule
    rng : Generator
    """

    def __init__(
        self, gram: KernelGram, ridge: Array, y: Array, rule: GreedyRule, rng: np.random.Generator
    ) -> None:
        self._y, self._ridge, self._rule, self._rng = y, ridge, rule, rng
        self._diagonal = gram.diagonal() + ridge
        self._vectors = SelectedVectors(gram)
        self._factor = InverseFactor()
        self._free = np.flatnonzero(self._diagonal > 0)
        self._n_free = len(self._free)
        self._proposed: tuple[int, int, Array, float] | None = None

    @property
    def sequence(self) -> Sequence:
        """What was chosen so far."""
        factor = self._factor
        return Sequence(np.array(self._vectors.chosen, dtype=np.intp), factor.z.copy(), factor.w.copy())

    def propose(self) -> int | None:
        """The candidate that lowers the objective most, or None at the end."""
        steps, m = self._rule.n_steps, self._factor.m
        while self._n_free and (steps is None or m < steps):
            places = self._draw()
            candidates = self._free[places]
            K = self._vectors.against(candidates) if m else np.zeros((len(candidates), 0))
            errors = K @ self._factor.alpha + (self._factor.intercept - self._y[candidates])
            if np.abs(errors).max() <= self._rule.epsilon:
                break
            best = int(self._score(errors, K, candidates).argmax())
            i = int(candidates[best])
            row, pivot = self._factor.pivot(K[best], self._diagonal[i])
            if pivot > pivot_floor(len(self._y), self._diagonal[i]):
                self._proposed = i, int(places[best]), row, pivot
                return i
            self._drop(int(places[best]))
        return None

    def _draw(self) -> Array:
        """Places in the list of free rows; in the first step all of them."""
        size = min(self._rule.n_candidates or self._n_free, self._n_free)
        if self._factor.m == 0 or size == self._n_free:
            return np.arange(self._n_free)
        return self._rng.choice(self._n_free, size=size, replace=False, shuffle=False)

    def _score(self, errors: Array, K: Array, candidates: Array) -> Array:
        curvature = self._diagonal[candidates]
        if self._rule.prefitting and self._factor.m:  # eq. (23)
            V = self._factor.inverse @ K.T
            left = np.maximum(curvature - np.einsum("ij,ij->j", V, V), 0.0)
            curvature = left + (1.0 - self._factor.w @ V) ** 2 / (self._factor.w @ self._factor.w)
        return np.divide(errors**2, curvature, out=np.zeros_like(errors), where=curvature > 0)

    def _drop(self, place: int) -> None:
        self._n_free -= 1
        self._free[place] = self._free[self._n_free]

    def take(self) -> None:
        """Add the proposed row."""
        if self._proposed is None:
            raise RuntimeError("take() follows propose().")
        i, place, row, pivot = self._proposed
        self._factor.append(row, pivot, self._y[i])
        self._vectors.append(i)
        self._drop(place)
        self._proposed = None


def run(searches: Iterable[Search], n_vectors: int | None = None) -> list[Sequence]:
    """Run one search for each output.

    With a limit `max_vectors` on the number of different vectors, the outputs take turns until it is reached;
    without one each runs to its end alone, and its memory is given back.
    """
    if n_vectors is None:
        return [_to_the_end(search) for search in searches]
    every = list(searches)
    active, used = list(every), set[int]()
    while active:
        for search in list(active):
            i = search.propose()
            if i is None or (i not in used and len(used) == n_vectors):
                active.remove(search)
                continue
            search.take()
            if i not in used:
                used.add(i)
                tell("adding vectors", len(used), n_vectors)
    return [search.sequence for search in every]


def _to_the_end(search: Search) -> Sequence:
    n_steps = 0
    while search.propose() is not None:
        search.take()
        n_steps += 1
        tell("adding vectors", n_steps)
    return search.sequence
