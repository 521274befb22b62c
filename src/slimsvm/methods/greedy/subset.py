r"""Least-squares machines on given vectors in the dual: every prefix of a sequence from one factorisation.

For rows P in the order of a sequence and :math:`A_{PP} = L L^\top`, the factor of the first t rows is the
leading block of L, so that the coefficients of every smaller machine cost one triangular solve.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ...linalg import cholesky_factor
from ...rows import Array


@dataclass(frozen=True)
class DualPath:
    """The machines on the first t rows of a sequence, for every t.

    Parameters
    ----------
    factor : array of shape (m, m)
        Lower Cholesky factor of K + diag(1 / C) on the rows.
    z, w : arrays of shape (m,)
        Its inverse times the targets, and times ones.
    """

    factor: Array
    z: Array
    w: Array

    @classmethod
    def fit(cls, K: Array, ridge: Array, y: Array) -> DualPath:
        """Factorise once: K is (m, m), ridge and y (m,)."""
        A = K.copy()
        np.einsum("ii->i", A)[:] += ridge
        factor = cholesky_factor(A)
        right = np.column_stack([y, np.ones(len(y))])
        solved = linalg.solve_triangular(factor, right, lower=True, check_finite=False)
        return cls(factor, solved[:, 0], solved[:, 1])

    @property
    def m(self) -> int:
        """Number of rows."""
        return len(self.z)

    def machine(self, t: int) -> tuple[Array, float]:
        """Coefficients (t,) and intercept of the machine on the first t rows."""
        if t == 0:
            return np.zeros(0), 0.0
        z, w = self.z[:t], self.w[:t]
        b = float(w @ z / (w @ w))
        alpha = linalg.solve_triangular(
            self.factor[:t, :t], z - b * w, lower=True, trans="T", check_finite=False
        )
        return alpha, b

    def outputs(self, K: Array) -> Array:  # (m, q) -> (m, q)
        """Outputs of all m machines at q points; K is (m, q), kernel values of the rows with the points."""
        V = linalg.solve_triangular(self.factor, K, lower=True, check_finite=False)
        b = np.cumsum(self.z * self.w) / np.cumsum(self.w**2)
        fit_1 = np.cumsum(self.w[:, None] * V, axis=0)
        V *= self.z[:, None]
        np.cumsum(V, axis=0, out=V)
        V += b[:, None] * (1.0 - fit_1)
        return V
