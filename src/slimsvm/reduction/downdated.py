r"""The inverse that pruning works on, while vectors leave it.

Removing vector i turns :math:`H = (K + \lambda I)^{-1}` into :math:`H - g g^\top` with
:math:`g = h_i / \sqrt{h_{ii}}` (eq. 8 of Kobayashi and Otsu), and its square into
:math:`H^2 - u g^\top - g u^\top` with :math:`u = H g - \tfrac12 |g|^2 g`, where H g is a column of the square itself. A
step needs only the diagonals and one column of each, so these changes are kept as thin factors and applied by one
matrix product for many steps.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas

from ..linalg import jittered_cholesky, lower_inverse
from ..rows import Array

# Downdates held back before the matrix is brought up to date: enough for the product to run at full speed, few
# enough that correcting a column on the fly stays cheap.
DELAYED = 64
# A matrix is copied to a smaller one when this share of its rows is left: dead rows cost at most 1 / 0.8^2.
COMPACTION_SHARE = 0.8


class DowndatedSquare:
    """H H over the vectors that are left; its diagonal has the squared norms of the rows of H.

    Parameters
    ----------
    H : array of shape (m, m)
        Its lower triangle is that of H, and the whole is H on return; Fortran order.
    """

    def __init__(self, H: Array) -> None:
        for j in range(len(H)):
            H[j, j + 1 :] = H[j + 1 :, j]
        self._lower = blas.dsyrk(1.0, H, lower=1)
        self.diagonal = np.diagonal(self._lower).copy()
        self._delayed = np.zeros((len(H), DELAYED), order="F")  # factors u

    def column(self, i: int, factors: Array) -> Array:  # (m,), of no meaning for removed vectors
        """Column i; `factors` are the g of the delayed downdates."""
        out = _column(self._lower, i)
        held = self._delayed[:, : factors.shape[1]]
        out -= held @ factors[i] + factors @ held[i]
        return out

    def remove(self, i: int, pivot: float, g: Array, factors: Array) -> None:
        """Follow a downdate of H by g; `factors` are those of the downdates before it."""
        Hg = self.column(i, factors) / np.sqrt(pivot)
        u = Hg - 0.5 * (g @ g) * g
        self._delayed[:, factors.shape[1]] = u
        self.diagonal -= 2.0 * u * g

    def flush(self, factors: Array) -> None:
        """Apply the delayed downdates."""
        held = self._delayed[:, : factors.shape[1]]
        self._lower = blas.dsyr2k(-1.0, held, factors, beta=1.0, c=self._lower, lower=1, overwrite_c=1)

    def compact(self, kept: Array) -> None:
        """Only these rows and columns from now on."""
        self._lower, self.diagonal = _part(self._lower, kept), self.diagonal[kept]
        self._delayed = np.zeros((len(kept), DELAYED), order="F")


class DowndatedInverse:
    """H = (K + ridge I)^-1 over the vectors that are left, with delayed downdates.

    Parameters
    ----------
    K : array of shape (m, m)
        Kernel matrix; it is overwritten.
    ridge : float
        Relative to the mean of the diagonal of K; it grows until the matrix is positive definite. The attribute has
        what was added.
    squared : bool
        Whether H H is kept too, as `square`: as much memory again, and a little over twice the work.
    """

    def __init__(self, K: Array, ridge: float, *, squared: bool = False) -> None:
        self._lower, self.ridge = _inverse(K, ridge)  # its lower triangle; Fortran order
        self.rows = np.arange(len(K))
        self.alive = np.ones(len(K), dtype=bool)
        self.diagonal = np.diagonal(self._lower).copy()
        self._delayed = np.zeros((len(K), DELAYED), order="F")  # factors g with H = stored - sum g g'
        self._n_delayed = 0
        self._square = DowndatedSquare(self._lower) if squared else None

    @property
    def n_alive(self) -> int:
        """Number of vectors left."""
        return int(self.alive.sum())

    @property
    def square(self) -> DowndatedSquare:
        """H H, where it is kept."""
        if self._square is None:
            raise ValueError("the square of the inverse is kept only with squared=True.")
        return self._square

    @property
    def _factors(self) -> Array:  # (m, number of delayed downdates)
        return self._delayed[:, : self._n_delayed]

    def column(self, i: int) -> Array:  # (m,), zero for removed vectors
        """Column i of H."""
        out = _column(self._lower, i)
        if self._n_delayed:
            out -= self._factors @ self._factors[i]
        out[~self.alive] = 0.0
        return out

    def remove(self, i: int) -> Array:  # (m,)
        """Remove vector i, eq. (8); returns h_i / h_ii."""
        column = self.column(i)
        pivot = column[i]
        factor = column / np.sqrt(pivot)
        if self._square is not None:
            self._square.remove(i, pivot, factor, self._factors)
        self._delayed[:, self._n_delayed] = factor
        self._n_delayed += 1
        self.diagonal -= factor**2
        self.alive[i] = False
        self.diagonal[i] = 1.0  # of no meaning now, but safe to divide by
        return column / pivot

    def flush(self) -> None:
        """Apply the delayed downdates, and shrink the arrays when enough vectors are gone."""
        if self._n_delayed:
            if self._square is not None:
                self._square.flush(self._factors)
            self._lower = blas.dsyrk(-1.0, self._factors, beta=1.0, c=self._lower, lower=1, overwrite_c=1)
            self._n_delayed = 0
        kept = np.flatnonzero(self.alive)
        if len(kept) <= COMPACTION_SHARE * len(self.alive):
            self._lower = _part(self._lower, kept)
            if self._square is not None:
                self._square.compact(kept)
            self.rows, self.diagonal = self.rows[kept], self.diagonal[kept]
            self.alive = np.ones(len(kept), dtype=bool)
            self._delayed = np.zeros((len(kept), DELAYED), order="F")


def _inverse(K: Array, ridge: float) -> tuple[Array, float]:
    """Lower triangle of (K + ridge I)^-1 in Fortran order, and the ridge used; overwrites K."""
    factor, shift = jittered_cholesky(K, ridge, overwrite=True)
    return lower_inverse(factor), shift


def _column(lower: Array, i: int) -> Array:  # (m,)
    """Column i of a symmetric matrix whose lower triangle is held."""
    return np.concatenate((lower[i, :i], lower[i:, i]))


def _part(lower: Array, kept: Array) -> Array:
    """The lower triangle of some rows and columns."""
    smaller = np.zeros((len(kept), len(kept)), order="F")
    for column, j in enumerate(kept):
        smaller[column:, column] = lower[kept[column:], j]
    return smaller
