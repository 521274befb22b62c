"""Linear algebra that several methods share: a Cholesky factor that always exists, arrays that grow."""

from __future__ import annotations

import numpy as np
from scipy import linalg

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
                raise MemoryError(
                    f"the search needs more than {self._limit / 2**30:.3g} GiB for {self.m} vectors; limit "
                    "max_vectors, raise max_error, or set n_candidates, which works without the rows that are "
                    "not candidates."
                )
        grown = np.empty((capacity, self._width))
        grown[: self.m] = self.rows
        self._held = grown


def cholesky_factor(A: Array) -> Array:
    """Lower Cholesky factor of A, with a relative jitter that grows from rounding until it succeeds."""
    diagonal = np.einsum("ii->i", A)
    scale = max(float(np.abs(diagonal).mean()), np.finfo(np.float64).tiny)
    jitter = 0.0
    while True:
        try:
            if jitter:
                shifted = A.copy()
                np.einsum("ii->i", shifted)[:] += jitter * scale
                return linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
            return linalg.cholesky(A, lower=True, check_finite=False)
        except linalg.LinAlgError:
            jitter = max(10.0 * jitter, np.finfo(np.float64).eps * len(A))
