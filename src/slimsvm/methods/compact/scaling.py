"""What the features are divided by, and whether sparse rows may become dense."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ...rows import Array, Rows

# CSR rows are made dense, so that vectors can move, if they then take at most this; or at most the larger number, and
# not more than so many times what they take now: vectors with as many numbers as there are words would be no small
# model.
FEW_BYTES, DENSE_BYTES, DENSE_TIMES = 2**24, 2**29, 10
# A feature whose standard deviation is more than this many times what its quartiles say has gross outliers.
OUTLIERS = 10.0
# Standard deviations between the quartiles of a normal distribution.
QUARTILES = 1.349


def can_be_dense(X: Rows) -> bool:
    """Whether rows are dense, or small enough to be made so."""
    if not sparse.issparse(X):
        return True
    dense, now = 8 * X.shape[0] * X.shape[1], 12 * X.nnz
    return dense <= FEW_BYTES or dense <= min(DENSE_BYTES, DENSE_TIMES * now)


def spread_of(X: Rows, weight: Array) -> Array:  # (d,)
    """Standard deviation of each feature, or what its quartiles say where there are gross outliers."""
    share = weight / weight.sum()
    if sparse.issparse(X):
        X64 = X.astype(np.float64)
        mean = np.asarray(share @ X64).ravel()
        spread = np.sqrt(np.maximum(np.asarray(share @ X64.power(2)).ravel() - np.square(mean), 0.0))
    else:
        X64 = np.asarray(X, dtype=np.float64)
        mean = share @ X64
        spread = np.sqrt(share @ np.square(X64 - mean))
        low, high = np.quantile(X64, [0.25, 0.75], axis=0)
        robust = (high - low) / QUARTILES
        spread = np.where((robust > 0) & (spread > OUTLIERS * robust), robust, spread)
    size = np.abs(mean)
    return np.where(spread > 1e-12 * np.maximum(size, 1e-300), spread, 1.0)
