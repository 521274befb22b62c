"""Linear algebra that several methods share: a Cholesky factor that always exists, arrays that grow."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from .limits import check_memory
from .rows import Array

FIRST_CAPACITY = 64
# A pivot below this many roundings of the diagonal, times the number of rows, is rounding and nothing else.
PIVOT_ROUNDINGS = 1.0


def pivot_floor(n: int, diagonal: float) -> float:
    """Smallest pivot that still means something in a matrix of n rows."""
    return PIVOT_ROUNDINGS * n * float(np.finfo(np.float64).eps) * abs(diagonal)


class GrowingRows:
    """Rows of one width in one array; its capacity doubles, so that a row costs O(width)."""

    def __init__(self, width: int, limit_bytes: int | None = None) -> None:
        self._width = width
        self._limit = limit_bytes
        self._held = np.empty((0, width))
        self.m = 0

    @property
    def rows(self) -> Array:  # (m, width), a view
        """The rows appended so far."""
        view: Array = self._held[: self.m]
        return view

    def append(self, row: Array) -> None:
        """Add one row."""
        if self.m == len(self._held):
            self._grow()
        self._held[self.m] = row
        self.m += 1

    def _grow(self) -> None:
        capacity = max(FIRST_CAPACITY, 2 * self.m)
        if self._limit is not None:
            capacity = min(capacity, self._limit // (8 * max(1, self._width)))
            if capacity <= self.m:
                check_memory(
                    8.0 * (self.m + 1) * self._width,
                    f"the search, which has found {self.m} vectors, needs for one more",
                    "limit max_vectors, raise max_error, or set n_candidates, which works without the rows that are "
                    "not candidates",
                    limit=self._limit,
                )
        grown = np.empty((capacity, self._width))
        grown[: self.m] = self.rows
        self._held = grown


def jittered_cholesky(
    A: Array,  # (n, n)
    jitter: float = 0.0,
    *,
    overwrite: bool = False,
) -> tuple[Array, float]:
    """Lower Cholesky factor of A + shift I, and the shift.

    The shift is `jitter` times the mean of the diagonal; where that is not enough it grows tenfold, from rounding on,
    until it is. The factor of a matrix that is not finite is not a number.

    Parameters
    ----------
    A : array of shape (n, n)
        Symmetric; only its lower triangle is read, unless it is to be overwritten.
    jitter : float
    overwrite : bool
        Whether the factor may take the place of A, which must then be whole; what is above the diagonal stays.
    """
    diagonal = np.diagonal(A).copy()
    size = max(float(np.abs(diagonal).mean()), np.finfo(np.float64).tiny) if len(A) else 1.0
    matrix = A.T if overwrite and A.flags.c_contiguous else A  # symmetric: the same matrix
    while True:
        if jitter or overwrite:
            if not overwrite:
                matrix = np.array(A, order="F")
            np.einsum("ii->i", matrix)[:] = diagonal + jitter * size
        factor, failed = lapack.dpotrf(matrix, lower=1, clean=not overwrite, overwrite_a=overwrite)
        if not failed:
            return factor, jitter * size
        if not np.isfinite(matrix).all():
            return np.full_like(matrix, np.nan), np.nan
        jitter = max(10.0 * jitter, np.finfo(np.float64).eps * len(A))
        if overwrite:  # the upper triangle is still that of A
            for j in range(len(matrix)):
                matrix[j + 1 :, j] = matrix[j, j + 1 :]


def cholesky_factor(A: Array, jitter: float = 0.0) -> Array:
    """Lower Cholesky factor of A, with as much relative jitter as it needs."""
    return jittered_cholesky(A, jitter)[0]
