r"""Greedy selection in the primal: kernel matching pursuit and sparse greedy Gaussian processes.

For vectors P, outputs Y (all of them together, so that they share their vectors), weights s and a penalty
matrix S, the machine minimises over coefficients and a free intercept

.. math:: \tfrac12 \sum_i s_i |Y_i - (K_{:P}\, \alpha)_i - b|^2 + \tfrac{\lambda}{2}\, \alpha^\top S_{PP}\,
\alpha .

S is the identity for matching pursuit (eq. 36 of Jiao et al., without it for :math:`\lambda = 0`) and the
kernel matrix for the Gaussian process (eq. 37). With the intercept solved for, the Hessian is
:math:`B_{PP} = \tilde K_{P:} \mathrm{diag}(s) \tilde K_{:P} + \lambda S_{PP}`, the tilde meaning that the
weighted mean of each column is taken off. A new vector adds one direction that is orthogonal to the others
under B; the inverse of the Cholesky factor of B, grown row by row, gives it in two products with the columns
held.

References
----------
Vincent and Bengio, Kernel matching pursuit, Machine Learning 48 (2002), doi:10.1023/A:1013955821559; Smola
and Bartlett, Sparse greedy Gaussian process regression, Advances in Neural Information Processing Systems 13
(2001).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...limits import FEW_VECTORS, announce, check_columns, pass_seconds
from ...linalg import GrowingRows
from ...problem import KernelGram
from ...rows import Array, block_slices

# A vector whose column lies within the root of this share of the others' span is passed over: its coefficient
# would be rounding, and the Hessian squares the columns.
DEPENDENT = 1e-10


@dataclass(frozen=True)
class PursuitRule:
    """What is minimised and how a vector is scored.

    Parameters
    ----------
    penalty : float
        The factor lambda.
    in_function_space : bool
        Whether the penalty is the function's norm (S = K) or the coefficients' (S = I).
    prefitting : bool
        Score a row by the fall of the objective when all coefficients are solved anew, and not its own alone.
    n_candidates : int or None
        Random rows looked at in a step; None looks at all.
    """

    penalty: float
    in_function_space: bool = False
    prefitting: bool = False
    n_candidates: int | None = None


def check_size(who: str, gram: KernelGram, max_vectors: int, n_passes: float, instead: str) -> None:
    """Refuse more columns than can be held; announce so many passes over a kernel matrix that is not."""
    check_columns(gram.n, min(max_vectors, gram.n), "lower max_vectors")
    if not gram.is_held:
        each = pass_seconds(gram.X, gram.n_threads)
        announce(
            who, "passes over the kernel matrix", each, n_passes, instead=f"{instead}, or use {FEW_VECTORS}"
        )


class Pursuit:
    """One search for all outputs.

    Parameters
    ----------
    gram : KernelGram
    Y : array of shape (n, k)
    weight : array of shape (n,)
    rule : PursuitRule
    rng : Generator
    """

    def __init__(
        self, gram: KernelGram, Y: Array, weight: Array, rule: PursuitRule, rng: np.random.Generator
    ) -> None:
        n, k = Y.shape
        self._gram, self._weight, self._rule, self._rng = gram, weight, rule, rng
        self._total = float(weight.sum())
        self.mean = weight @ Y / self._total  # the machine without vectors
        self._residual = Y - self.mean
        self._scale = float(weight @ (self._residual**2).sum(axis=1))
        self._H = GrowingRows(n)  # columns of the kernel matrix
        self._means: list[float] = []  # and their weighted means
        self._inverse = np.zeros((0, 0))  # of the Cholesky factor of B
        self._Z = GrowingRows(k)
        self._free = np.ones(n, dtype=bool)
        self.chosen: list[int] = []
        self._hessian: Array | None = None  # diagonal of B, where it is known for all rows
        if rule.n_candidates is None:
            self._gradient = gram @ (weight[:, None] * self._residual)  # (n, k)
            self._left = self._known_diagonal().copy()

    @property
    def residual(self) -> Array:  # (n, k)
        """Targets less outputs."""
        return self._residual

    @property
    def m(self) -> int:
        """Number of vectors."""
        return len(self.chosen)

    def _diagonal(self, K: Array, own: Array) -> Array:
        """Diagonal of B from rows K of the kernel matrix, `own` the values on its diagonal."""
        means = K @ self._weight / self._total
        squares = np.einsum("ij,ij,j->i", K, K, self._weight, optimize=True)
        penalty = self._rule.penalty * (own if self._rule.in_function_space else 1.0)
        diagonal: Array = squares - self._total * means**2 + penalty
        return diagonal

    def _rows(self, rows: Array) -> Array:  # (len(rows), n)
        if self._gram.is_held:
            return self._gram.dense[rows]
        return self._gram.block(rows, np.arange(self._gram.n))

    def _whole_diagonal(self) -> Array:
        own = self._gram.diagonal()
        parts = [
            self._diagonal(self._rows(np.arange(part.start, part.stop)), own[part])
            for part in block_slices(self._gram.n, 16 * self._gram.n)
        ]
        return np.concatenate(parts)

    def _known_diagonal(self) -> Array:
        if self._hessian is None:
            self._hessian = self._whole_diagonal()
        return self._hessian

    def step(self) -> bool:
        """Add the best vector; False if none is left that helps."""
        floor = np.finfo(np.float64).eps ** 2 * self._scale
        while self._free.any() and self._weight @ (self._residual**2).sum(axis=1) > floor:
            candidates, gradient, hessian, K = self._candidates()
            squares = np.einsum("ij,ij->i", gradient, gradient)
            scores = np.divide(squares, hessian, out=np.full_like(squares, -1.0), where=hessian > 0)
            best = int(scores.argmax())
            i = int(candidates[best])
            if scores[best] <= 0 and self._rule.n_candidates is None:
                return False
            column = self._rows(np.array([i]))[0] if K is None else K[best]
            if self._add(i, column):
                return True
            self._free[i] = False
        return False

    def _candidates(self) -> tuple[Array, Array, Array, Array | None]:
        """Rows to choose from, their gradients and curvatures, and their kernel values if computed."""
        rule = self._rule
        free = np.flatnonzero(self._free)
        if rule.n_candidates is None:
            whole = self._known_diagonal()[free]
            left = self._left[free] if rule.prefitting else whole
            return free, self._gradient[free], np.where(left > DEPENDENT * whole, left, 0.0), None
        chosen = self._rng.choice(len(free), size=min(rule.n_candidates, len(free)), replace=False)
        rows = free[chosen]
        K = self._rows(rows)
        gradient = K @ (self._weight[:, None] * self._residual)
        if rule.penalty and rule.in_function_space and self.m:
            gradient -= rule.penalty * (K[:, self.chosen] @ self.coefficients())
        if self._gram.is_held:
            hessian = self._known_diagonal()[rows]
        else:
            hessian = self._diagonal(K, K[np.arange(len(rows)), rows])
        if rule.prefitting and self.m:
            V = self._inverse[: self.m, : self.m] @ self._coupling(K)
            left = hessian - np.einsum("ij,ij->j", V, V)
            hessian = np.where(left > DEPENDENT * hessian, left, 0.0)
        return rows, gradient, hessian, K

    def _coupling(self, K: Array) -> Array:  # (m, len(K))
        """Rows of B for the chosen vectors against candidates with kernel values K."""
        weighed = K * self._weight
        coupling = self._H.rows @ weighed.T - np.outer(self._means, weighed.sum(axis=1))
        if self._rule.in_function_space:
            coupling += self._rule.penalty * K[:, self.chosen].T
        return coupling

    def _add(self, i: int, column: Array) -> bool:
        """Add row i unless its column depends on the others."""
        m, K = self.m, column[None, :]
        hessian = float(self._diagonal(K, column[i : i + 1])[0])
        row = self._inverse[:m, :m] @ self._coupling(K)[:, 0]
        pivot = hessian - float(row @ row)
        if pivot <= DEPENDENT * abs(hessian) or hessian <= 0:
            return False
        root = math.sqrt(pivot)
        if m == len(self._inverse):
            grown = np.zeros((max(64, 2 * m), max(64, 2 * m)))
            grown[:m, :m] = self._inverse
            self._inverse = grown
        direction = self._inverse[m, : m + 1]  # in the coefficients
        direction[:m] = (row @ self._inverse[:m, :m]) / -root
        direction[m] = 1.0 / root
        self._H.append(column)
        self._means.append(float(column @ self._weight) / self._total)
        self.chosen.append(i)
        self._free[i] = False
        values = direction @ self._H.rows
        centred = values - direction @ self._means
        z = (self._weight * centred) @ self._residual
        if m:
            slope = values[self.chosen[:m]] if self._rule.in_function_space else direction[:m]
            z -= self._rule.penalty * (slope @ self.coefficients())
        self._Z.append(z)
        self._residual -= np.outer(centred, z)
        if self._rule.n_candidates is None:
            v = self._gram @ (self._weight * centred)[:, None]
            if self._rule.in_function_space:
                v[:, 0] += self._rule.penalty * values
            self._gradient -= v * z
            self._left = self._left - v[:, 0] ** 2
        return True

    def coefficients(self) -> Array:  # (m, k)
        """Coefficients of the vectors whose direction has been followed."""
        m = self._Z.m
        coefficients: Array = self._inverse[:m, :m].T @ self._Z.rows
        return coefficients

    def path_outputs(self, K: Array) -> list[Array]:
        """Outputs of the machines of size 0, 1, ..., m at q points; K is (m, q)."""
        directions = self._inverse[: self.m, : self.m] @ (K - np.array(self._means)[:, None])
        outputs = [np.tile(self.mean, (K.shape[1], 1))]
        for direction, z in zip(directions, self._Z.rows, strict=True):
            outputs.append(outputs[-1] + np.outer(direction, z))
        return outputs
