"""Linear algebra that several methods share: a Cholesky factor that always exists, arrays that grow."""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, cho_solve, lapack, solve_triangular

from .limits import check_memory
from .rows import Array

FIRST_CAPACITY = 64
# A pivot below this many roundings of the diagonal, times the number of rows, is rounding and nothing else.
PIVOT_ROUNDINGS = 1.0
# Python hears of Ctrl-C between two calls of LAPACK, never within one. Up to so many rows a matrix is factored in one
# call, which is short, and a product with itself is one call up to the multiplications of that; what is larger is done
# in panels of so many columns, and no call of it does much more than so many multiplications.
WHOLE_ROWS = 3072
WHOLE_PRODUCTS = WHOLE_ROWS**3 / 6
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
    into: Array | None = None,  # (n, m)
) -> Array:
    """A copy of a large matrix, in Fortran order on demand; Ctrl-C is heard between blocks of it."""
    out = np.empty(A.shape, dtype=A.dtype, order="F" if columns_first else "C") if into is None else into
    source, target = (A.T, out.T) if columns_first else (A, out)
    step = max(1, COPIED_ENTRIES // max(1, source.shape[1]))
    for begin in range(0, len(source), step):
        target[begin : begin + step] = source[begin : begin + step]
    return out


def definite_factor(A: Array) -> Array | None:
    """Lower Cholesky factor of A as it is, or None if A is not positive definite."""
    return _lower_factor(A, overwrite=False)


def columns_of(A: Array, numbers: Array, rows: Array | None = None) -> Array:  # (n, k)
    """A[:, numbers], or of these rows; Ctrl-C is heard between blocks of it."""
    out = np.empty((len(A) if rows is None else len(rows), len(numbers)), dtype=A.dtype)
    step = max(1, COPIED_ENTRIES // max(1, len(numbers)))
    for begin in range(0, len(out), step):
        some = slice(begin, begin + step)
        out[some] = A[some, numbers] if rows is None else A[np.ix_(rows[some], numbers)]
    return out


def twice(A: Array) -> Array:  # (2 n, m)
    """A above A; Ctrl-C is heard between blocks of it."""
    n = len(A)
    out = np.empty((2 * n, A.shape[1]))
    copied(A, into=out[:n])
    copied(A, into=out[n:])
    return out


def scaled(A: Array, rows: Array | None, columns: Array | None) -> Array:  # (n, m), ordered as A
    """diag(rows) A diag(columns), where None means ones; Ctrl-C is heard between blocks of it."""
    if A.flags.f_contiguous and not A.flags.c_contiguous:
        return scaled(A.T, columns, rows).T
    out = np.empty(A.shape)
    step = max(1, COPIED_ENTRIES // max(1, A.shape[1]))
    for begin in range(0, len(A), step):
        part = slice(begin, begin + step)
        out[part] = A[part] if rows is None else rows[part, None] * A[part]
        if columns is not None:
            out[part] *= columns
    return out


def lower_gram(A: Array, weight: Array | None = None) -> Array:  # (m, m), in Fortran order
    """A diag(weight) A', of which only the lower triangle is meant; Ctrl-C is heard between blocks of a large one.

    Parameters
    ----------
    A : array of shape (m, k)
    weight : array of shape (k,) or None
        Not negative; None means ones.

    Examples
    --------
    >>> np.tril(lower_gram(np.array([[1.0, 2.0], [3.0, 0.0]]), np.array([1.0, 0.5])))
    array([[3., 0.],
           [3., 9.]])
    """
    m, k = A.shape
    if 0.5 * m * m * k <= WHOLE_PRODUCTS:
        root = A if weight is None else A * np.sqrt(weight)
        by_rows = root.flags.c_contiguous
        whole: Array = blas.dsyrk(1.0, root.T if by_rows else root, trans=by_rows, lower=1)
        return whole
    out = np.zeros((m, m), order="F")
    terms = max(1, int(CALL_PRODUCTS / (m * PANEL_COLUMNS)))
    for first in range(0, k, terms):
        some = slice(first, first + terms)
        for begin in range(0, m, PANEL_COLUMNS):
            panel = A[begin : begin + PANEL_COLUMNS, some]
            if weight is not None:
                panel = panel * weight[some]
            out[begin:, begin : begin + PANEL_COLUMNS] += (panel @ A[begin:, some].T).T
    return out


def gram(A: Array) -> Array:  # (m, m), in Fortran order
    """A A'; Ctrl-C is heard between blocks of it."""
    out = lower_gram(A)
    for begin in range(0, len(out), PANEL_COLUMNS):
        end = min(begin + PANEL_COLUMNS, len(out))
        corner = np.tril(out[begin:end, begin:end])
        out[begin:end, begin:end] = corner + np.tril(corner, -1).T
        out[begin:end, end:] = out[end:, begin:end].T
    return out


def column_squares(A: Array, weight: Array) -> Array:  # (m,)
    """Weighted sums of the squares in each column; Ctrl-C is heard between blocks of rows."""
    step = max(1, COPIED_ENTRIES // max(1, A.shape[1]))
    parts = [slice(begin, begin + step) for begin in range(0, len(A), step)]
    total: Array = sum((weight[p] @ np.square(A[p]) for p in parts), start=np.zeros(A.shape[1]))
    return total


def behind_factor(L: Array, rows: Array) -> Array:  # (n, m)
    """Rows times L'^-1: their products are those of the rows with (L L')^-1 between; in blocks of rows."""
    out = np.empty(rows.shape)
    step = max(1, int(2.0 * CALL_PRODUCTS / max(1, len(L)) ** 2))
    for begin in range(0, len(rows), step):
        part = slice(begin, begin + step)
        out[part] = solve_triangular(L, rows[part].T, lower=True, check_finite=False).T
    return out


def inverse_of_factored(L: Array) -> Array:  # (n, n)
    """(L L')^-1; Ctrl-C is heard between blocks of its columns."""
    n = len(L)
    width = max(1, int(CALL_PRODUCTS / max(1, n) ** 2))
    out = np.empty((n, n), order="F")
    for begin in range(0, n, width):
        unit = np.zeros((n, min(width, n - begin)), order="F")
        np.einsum("ii->i", unit[begin : begin + width])[:] = 1.0
        out[:, begin : begin + width] = cho_solve((L, True), unit, overwrite_b=True, check_finite=False)
    return out


def lower_inverse(L: Array) -> Array:  # (n, n), in Fortran order
    """(L L')^-1 in its lower triangle, in the place of L; what is above it means nothing."""
    if len(L) <= WHOLE_ROWS:
        whole: Array = lapack.dpotri(L, lower=1, overwrite_c=1)[0]
        return whole
    A = np.asfortranarray(L)
    panels = [slice(begin, min(begin + PANEL_COLUMNS, len(A))) for begin in range(0, len(A), PANEL_COLUMNS)]
    for number, own in reversed(list(enumerate(panels))):  # M = L^-1, the last columns first
        corner = np.tril(lapack.dtrtri(A[own, own], lower=1)[0])
        below = A[own.stop :, own] @ corner
        for rows in panels[number + 1 :]:
            done = slice(own.stop, rows.start)
            inner = np.tril(A[rows, rows]) @ below[rows.start - own.stop : rows.stop - own.stop]
            A[rows, own] = -inner - A[rows, done] @ below[: rows.start - own.stop]
        A[own, own] = corner
    step = max(PANEL_COLUMNS, int(CALL_PRODUCTS / (len(A) * PANEL_COLUMNS)))
    for own in panels:  # M'M, the first rows first: each needs the rows of M from its own on
        column = np.vstack([np.tril(A[own, own]), A[own.stop :, own]])
        for begin in range(0, own.start, step):
            some = slice(begin, min(begin + step, own.start))
            A[own, some] = column.T @ A[own.start :, some]
        A[own, own] = column.T @ column
    return A


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
