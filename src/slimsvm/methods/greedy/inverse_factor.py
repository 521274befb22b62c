"""The solution of a growing least-squares machine, kept by rank-one updates."""

from __future__ import annotations

import math

import numpy as np

from ...limits import check_memory
from ...rows import Array

# Rows of a triangle that are multiplied together: what lies right of the diagonal is read for these alone.
TRIANGLE_ROWS = 256


def check_factor(m: int) -> None:
    """Refuse a factor for so many vectors where it is too large."""
    check_memory(
        8.0 * m * m, f"the inverse factor of {m} vectors needs", "set max_vectors or raise max_error"
    )


def triangle_times(L: Array, x: Array) -> Array:  # (m, m), (m,) -> (m,)
    """L x for a lower triangular L, without reading its other half."""
    parts = [
        L[i : i + TRIANGLE_ROWS, : i + TRIANGLE_ROWS] @ x[: i + TRIANGLE_ROWS]
        for i in range(0, len(x), TRIANGLE_ROWS)
    ]
    return np.concatenate(parts) if parts else np.zeros(0)


def times_triangle(x: Array, L: Array) -> Array:  # (m,), (m, m) -> (m,)
    """The row x times a lower triangular L, without reading its other half."""
    product = np.zeros(len(x))
    for i in range(0, len(x), TRIANGLE_ROWS):
        rows = slice(i, i + TRIANGLE_ROWS)
        product[: rows.stop] += x[rows] @ L[rows, : rows.stop]
    return product


class InverseFactor:
    """Inverse Cholesky factor of A_PP and the solution, kept by rank-one updates (eq. 15 to 18)."""

    def __init__(self) -> None:
        self.m = 0
        self._inverse = np.zeros((0, 0))
        self._vectors = np.zeros((4, 0))  # z, w, A^-1 y, A^-1 1

    @property
    def inverse(self) -> Array:  # (m, m)
        """L^-1, lower triangular."""
        view: Array = self._inverse[: self.m, : self.m]
        return view

    @property
    def z(self) -> Array:
        """L^-1 y."""
        view: Array = self._vectors[0, : self.m]
        return view

    @property
    def w(self) -> Array:
        """L^-1 1."""
        view: Array = self._vectors[1, : self.m]
        return view

    @property
    def intercept(self) -> float:
        """The intercept b."""
        return float(self.w @ self.z / (self.w @ self.w)) if self.m else 0.0

    @property
    def alpha(self) -> Array:  # (m,)
        """The coefficients."""
        alpha: Array = self._vectors[2, : self.m] - self.intercept * self._vectors[3, : self.m]
        return alpha

    def pivot(self, k: Array, diagonal: float) -> tuple[Array, float]:
        """The row a vector with kernel values k would add to L, and the square of its last entry."""
        row = triangle_times(self.inverse, k)
        return row, float(diagonal - row @ row)

    def append(self, row: Array, pivot: float, y: float) -> None:
        """Add a vector with this row of L and this target."""
        m, root = self.m, math.sqrt(pivot)
        if m == len(self._inverse):
            check_factor(m + 1)
            capacity = max(64, 2 * m)
            grown = np.zeros((capacity, capacity))
            grown[:m, :m] = self._inverse
            self._inverse = grown
            self._vectors = np.hstack([self._vectors, np.zeros((4, capacity - m))])
        z = (y - row @ self.z) / root
        w = (1.0 - row @ self.w) / root
        new = self._inverse[m, : m + 1]
        new[:m] = times_triangle(row, self.inverse) / -root
        new[m] = 1.0 / root
        self._vectors[0, m], self._vectors[1, m] = z, w
        self._vectors[2, : m + 1] += z * new
        self._vectors[3, : m + 1] += w * new
        self.m += 1
