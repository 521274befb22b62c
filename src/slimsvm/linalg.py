"""Linear algebra that several methods share: a Cholesky factor that always exists, arrays that grow."""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, cho_solve, lapack

from .limits import check_memory
from .rows import Array

FIRST_CAPACITY = 64
# A pivot below this many roundings of the diagonal, times the number of rows, is rounding and nothing else.
PIVOT_ROUNDINGS = 1.0
# Python hears of Ctrl-C between two calls of LAPACK, never within one. Up to so many rows a matrix is factored in one
# call, which is short; a larger one in panels of so many columns, which takes somewhat longer, and no call of it does
# much more than so many multiplications.
WHOLE_ROWS = 3072
PANEL_COLUMNS = 384
CALL_PRODUCTS = 2e9
# Entries copied at a time: new memory costs the system more time than the copy.
COPIED_ENTRIES = 2**21


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
        factor = _lower_factor(matrix, overwrite=overwrite)
        if factor is not None:
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


def copied(
    A: Array,  # (n, m)
    *,
    columns_first: bool = False,
) -> Array:
    """A copy of a large matrix, in Fortran order on demand; Ctrl-C is heard between blocks of it."""
    out: Array = np.empty(A.shape, dtype=A.dtype, order="F" if columns_first else "C")
    source, target = (A.T, out.T) if columns_first else (A, out)
    step = max(1, COPIED_ENTRIES // max(1, source.shape[1]))
    for begin in range(0, len(source), step):
        target[begin : begin + step] = source[begin : begin + step]
    return out


def definite_factor(A: Array) -> Array | None:
    """Lower Cholesky factor of A as it is, or None if A is not positive definite."""
    return _lower_factor(A, overwrite=False)


def solve_in_blocks(L: Array, right: Array) -> Array:
    """(L L')^-1 times a right-hand side of any number of columns; Ctrl-C is heard between blocks of them."""
    width = max(1, int(CALL_PRODUCTS / max(1, len(L)) ** 2))
    if right.ndim == 1 or right.shape[1] <= width:
        solved: Array = cho_solve((L, True), right, check_finite=False)
        return solved
    out = np.empty(right.shape, order="F")
    for begin in range(0, right.shape[1], width):
        part = slice(begin, begin + width)
        out[:, part] = cho_solve((L, True), right[:, part], check_finite=False)
    return out


def inverse_of_factored(L: Array) -> Array:  # (n, n)
    """(L L')^-1, in blocks of columns as `solve_in_blocks` takes them."""
    return solve_in_blocks(L, np.eye(len(L)))


def _lower_factor(A: Array, *, overwrite: bool) -> Array | None:
    """Lower Cholesky factor, or None where there is none; with `overwrite` what is above the diagonal stays."""
    if len(A) <= WHOLE_ROWS:
        factor, failed = lapack.dpotrf(A, lower=1, clean=not overwrite, overwrite_a=overwrite)
        return None if failed else factor
    if A.dtype != np.float64:
        A, overwrite = A.astype(np.float64, order="F"), False
    factor = A if overwrite and A.flags.f_contiguous else copied(A, columns_first=True)
    if not _factor_in_panels(factor):
        return None
    if not overwrite:
        for j in range(1, len(factor)):
            factor[:j, j] = 0.0
    return factor


def _factor_in_panels(A: Array) -> bool:
    """Put the Cholesky factor into the lower triangle of A, panel by panel; whether there is one."""
    U, n = A.T, len(A)  # rows of U are panels of A: contiguous
    for begin in range(0, n, PANEL_COLUMNS):
        end = min(begin + PANEL_COLUMNS, n)
        done = np.asfortranarray(U[:begin, begin:end].T)
        corner = np.array(U[begin:end, begin:end].T, order="F")
        if begin:
            corner = blas.dsyrk(-1.0, done, beta=1.0, c=corner, lower=1, overwrite_c=1)
        L, failed = lapack.dpotrf(corner, lower=1, clean=1, overwrite_a=1)
        if failed:
            return False
        U[begin:end, begin:end] = L.T + np.tril(U[begin:end, begin:end], -1)
        step = max(PANEL_COLUMNS, int(CALL_PRODUCTS / (end * PANEL_COLUMNS)))
        for first in range(end, n, step):
            part = U[begin:end, first : first + step]
            part -= done @ U[:begin, first : first + step]
            part[...] = blas.dtrsm(1.0, L, part, lower=1)
    return True
