"""Means and spreads of the columns of many chunks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..chunks.blocks import Block
from ..rows import Array

# A column whose standard deviation is so small beside its values is constant up to rounding.
CONSTANT = 1e-13


@dataclass(frozen=True, eq=False)
class Moments:
    """Means of columns, and sums of squares around them.

    Parameters
    ----------
    n : int
        Rows.
    mean, squares : arrays of shape (d,)
    """

    n: int
    mean: Array
    squares: Array

    @staticmethod
    def of(block: Block) -> Moments:
        """Of a chunk of dense rows."""
        X = np.asarray(block.X, dtype=np.float64)
        mean = X.mean(axis=0)
        return Moments(len(X), mean, ((X - mean) ** 2).sum(axis=0))

    def merge(self, other: Moments) -> Moments:
        """Of both."""
        n, apart = self.n + other.n, other.mean - self.mean
        squares = self.squares + other.squares + apart**2 * (self.n * other.n / n)
        return Moments(n, self.mean + apart * (other.n / n), squares)

    @property
    def spread(self) -> Array:  # (d,)
        """Standard deviations; 1 for constant columns."""
        found = np.sqrt(self.squares / self.n)
        return np.where(found > CONSTANT * np.abs(self.mean), found, 1.0)
