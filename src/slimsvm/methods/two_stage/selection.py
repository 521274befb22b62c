r"""Two-stage selection of columns for least squares: a forward stage, then exchanges.

For a dictionary D with one column for each candidate and targets Y the loss of a set P of columns is
:math:`J(P) = \min_\beta |Y - D_P \beta|^2`, summed over the outputs, so that they share their vectors. The
forward stage adds the column that lowers it most (orthogonal least squares, eq. 28 to 30). The second stage
takes each chosen column in turn and exchanges it for the one that serves best in its place, until a whole
round changes nothing.

What is kept: an orthonormal basis Q of the span of the chosen columns, the products V = Q'D with every
column, the squared norms of what Q leaves of each column, and their products with the residual. A forward
step reads the dictionary once. To examine a chosen column the second stage needs the direction u of the span
that it alone adds, and the products u'D = (Q'u)'V: no pass over the dictionary. Only an exchange makes one.

Norms that are differences lose digits. The dictionary is therefore kept with the basis removed from it,
which is brought up to date by one matrix product after some steps, and the norms are computed from it again.

References
----------
Xia, Li and Irwin, Improved training of an optimal sparse least squares support vector machine, Proceedings of
the 17th IFAC World Congress (2008); Li, Peng and Bai, A two-stage algorithm for identification of
nonlinear dynamic systems, Automatica 42 (2006), doi:10.1016/j.automatica.2006.03.004.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import linalg

from ...linalg import GrowingRows
from ...rows import Array

# Steps after which the basis is removed from the dictionary: enough for the matrix product to be quick.
STEPS_BETWEEN_CLEANINGS = 32
# A squared norm that has fallen below this share since the last cleaning has lost too many digits to be used.
CANCELLATION = 1e-6
# A column whose norm has fallen below this share of the original depends on the others to rounding.
DEPENDENT = 1e-10
# An exchange must lower the loss by this share of the squared targets; less is rounding, and could go on.
WORTHWHILE = 1e-10
# What a chosen column of length one adds to the others is not taken for less.
ROUNDING = 1e-15
# Residuals below this share of the targets are rounding.
NOTHING_LEFT = 1e-12


class TwoStage:
    """Selection among the columns of a dictionary.

    Parameters
    ----------
    columns : array of shape (p, n)
        The dictionary, one column in each row; it is overwritten.
    Y : array of shape (n, k)
        Targets.
    dependent : float
        A column whose norm has fallen below this share of the original depends on the others.
    """

    def __init__(self, columns: Array, Y: Array, dependent: float = DEPENDENT) -> None:
        p, n = columns.shape
        self._dependent = dependent
        self._T = columns  # the dictionary with the basis `_base` removed
        self._base = (np.empty((0, n)), np.empty((0, p)))  # Q and V at the last cleaning
        self._Q, self._V = GrowingRows(n), GrowingRows(p)
        self._Z = GrowingRows(Y.shape[1])  # Q'Y
        self._residual = Y.copy()
        self._total = float((Y**2).sum())
        self._original = np.einsum("ij,ij->i", columns, columns)
        self._free = self._original > 0
        self.chosen: list[int] = []
        self._measure()

    def _measure(self) -> None:
        """Norms and products from the cleaned dictionary itself."""
        self._cleaned = np.einsum("ij,ij->i", self._T, self._T)
        self._norms = self._cleaned.copy()
        self._products = self._T @ self._residual  # (p, k)
        self._since_cleaning = 0

    def clean(self) -> None:
        """Bring the dictionary up to date with the basis."""
        Q0, V0 = self._base
        Q, V = self._Q.rows, self._V.rows
        kept = 0
        if len(Q0) <= len(Q) and np.array_equal(Q0, Q[: len(Q0)]):
            kept = len(Q0)  # the basis has only grown
        elif len(Q0):
            self._T += V0.T @ Q0
        self._T -= V[kept:].T @ Q[kept:]
        self._base = Q.copy(), V.copy()
        self._measure()

    @property
    def loss(self) -> float:
        """J of the chosen columns."""
        return float((self._residual**2).sum())

    @property
    def n_columns(self) -> int:
        """Number of candidates."""
        return len(self._T)

    @property
    def is_fitted(self) -> bool:
        """Whether what is left of the targets is rounding."""
        return self.loss <= NOTHING_LEFT**2 * self._total

    @property
    def residual(self) -> Array:  # (n, k)
        """Targets less fit."""
        return self._residual

    @property
    def leverage(self) -> Array:  # (n,)
        """Diagonal of the projection on the span of the chosen columns."""
        Q = self._Q.rows
        return np.einsum("ij,ij->j", Q, Q)

    def _column(self, i: int) -> Array:  # (n,)
        """Column i of the dictionary as it was given."""
        Q0, V0 = self._base
        column: Array = self._T[i] + V0[:, i] @ Q0
        return column

    def _dot(self, q: Array) -> Array:  # (p,)
        """Products of every column, as it was given, with q: the one pass over the dictionary."""
        Q0, V0 = self._base
        products: Array = self._T @ q + (Q0 @ q) @ V0
        return products

    def _gains(self, norms: Array, products: Array) -> Array:  # (p,)
        """Fall of the loss if a column is added; -1 where it cannot be."""
        usable = self._free & (norms > self._dependent**2 * self._original)
        squares = np.einsum("ij,ij->i", products, products)
        return np.divide(squares, norms, out=np.full_like(norms, -1.0), where=usable)

    def forward_step(self) -> bool:
        """Add the best column; False if none is left that helps."""
        if self.is_fitted or len(self.chosen) == len(self._residual):
            return False
        if self._since_cleaning >= STEPS_BETWEEN_CLEANINGS:
            self.clean()
        gains = self._gains(self._norms, self._products)
        i = int(gains.argmax())
        if self._since_cleaning and (gains[i] <= 0 or self._norms[i] < CANCELLATION * self._cleaned[i]):
            self.clean()
            gains = self._gains(self._norms, self._products)
            i = int(gains.argmax())
        if gains[i] <= 0:
            return False
        self._add(i, self._T[i])
        return True

    def _add(self, i: int, column: Array) -> None:
        """Add column i; `column` is what the basis, or a part of it, has left of it."""
        Q = self._Q.rows
        q = column / math.sqrt(column @ column)
        for _ in range(2):  # twice is enough (Kahan)
            q = q - (Q @ q) @ Q
            q /= math.sqrt(q @ q)
        v, z = self._dot(q), q @ self._residual
        self._Q.append(q)
        self._V.append(v)
        self._Z.append(z)
        self._residual -= np.outer(q, z)
        self._norms = np.maximum(self._norms - v**2, 0.0)
        self._products -= np.outer(v, z)
        self._free[i] = False
        self.chosen.append(i)
        self._since_cleaning += 1

    def refine_round(self) -> int:
        """Examine every chosen column once; the number of exchanges made."""
        self.clean()
        exchanges = 0
        directions = self._directions()
        for place in range(len(self.chosen)):
            if self._examine(place, directions[place]):
                exchanges += 1
                if self._since_cleaning >= STEPS_BETWEEN_CLEANINGS:
                    self.clean()
                directions = self._directions()
        return exchanges

    def _directions(self) -> Array:  # (m, m)
        """For each chosen column the direction, in the basis, that it alone adds to the span."""
        W = self._V.rows[:, self.chosen]  # the chosen columns in the basis
        # columns of one length, by orthogonal factors: near the limit of the basis the inverse itself is rounding
        Q, R = linalg.qr(W / np.sqrt(np.einsum("ij,ij->j", W, W)), check_finite=False)
        diagonal = np.einsum("ii->i", R)
        diagonal[:] = np.where(np.abs(diagonal) < ROUNDING, np.copysign(ROUNDING, diagonal), diagonal)
        dual = linalg.solve_triangular(R, Q.T, check_finite=False)
        return dual / np.sqrt(np.einsum("ij,ij->i", dual, dual))[:, None]

    def _examine(self, place: int, direction: Array) -> bool:
        """Exchange the column at this place for the best one, if that lowers the loss."""
        old = self.chosen[place]
        u = direction @ self._V.rows  # products of every column with the direction
        lost = direction @ self._Z.rows
        norms = self._norms + u**2
        products = self._products + np.outer(u, lost)
        self._free[old] = True
        gains = self._gains(norms, products)
        best = int(gains.argmax())
        if gains[best] - lost @ lost <= WORTHWHILE * self._total or best == old:
            self._free[old] = False
            return False
        self._drop(place, direction)
        self._norms, self._products = norms, products
        self._free[best] = False
        Q = self._Q.rows
        self._add(best, self._column(best) - self._V.rows[:, best] @ Q)
        self.chosen.insert(place, self.chosen.pop())
        return True

    def _drop(self, place: int, direction: Array) -> None:
        """Turn the basis so that its last vector is the direction, and leave that out."""
        mirror = direction.copy()
        mirror[-1] += math.copysign(
            1.0, mirror[-1]
        )  # Householder vector that takes the direction to the last axis
        mirror /= math.sqrt(mirror @ mirror)
        for held in (self._Q, self._V, self._Z):
            held.rows[...] -= 2.0 * np.outer(mirror, mirror @ held.rows)
        self._residual += np.outer(self._Q.rows[-1], self._Z.rows[-1])
        for held in (self._Q, self._V, self._Z):
            held.m -= 1
        del self.chosen[place]

    def triangle(self) -> tuple[Array, Array]:
        """Upper triangular R (m, m) and Q'Y (m, k) of the forward stage: D_P = Q R."""
        return np.triu(self._V.rows[:, self.chosen]), self._Z.rows.copy()


def press(residual: Array, leverage: Array) -> float:
    """Sum of squared leave-one-out errors: each residual divided by one less its leverage."""
    left = np.maximum(1.0 - leverage, np.finfo(np.float64).eps)
    return float(((residual / left[:, None]) ** 2).sum())
