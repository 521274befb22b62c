"""What the features are divided by, and whether sparse rows may become dense."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from scipy import sparse

from ...kernels import one_if_equal
from ...rows import Array, Rows, dense_if_crowded

# CSR rows are made dense, so that vectors can move, if they then take at most this; or at most the larger number, and
# not more than so many times what they take now: vectors with as many numbers as there are words would be no small
# model.
FEW_BYTES, DENSE_BYTES, DENSE_TIMES = 2**24, 2**29, 10
# A feature whose standard deviation is more than this many times what its quartiles say has gross outliers.
OUTLIERS = 10.0
# Widths are inverse squares of spreads, times numbers up to about a million either way; the smallest spread is the
# inverse of this.
LARGEST_SPREAD = 1e151
# Standard deviations between the quartiles of a normal distribution.
QUARTILES = 1.349


def can_be_dense(X: Rows) -> bool:
    """Whether rows are dense, or small enough to be made so."""
    if not sparse.issparse(X):
        return True
    dense, now = 8 * X.shape[0] * X.shape[1], 12 * X.nnz
    return dense <= FEW_BYTES or dense <= min(DENSE_BYTES, DENSE_TIMES * now)


def _moments(X: Rows, share: Array) -> tuple[Array, Array]:  # (d,), (d,)
    """Mean and spread of each feature, infinite or not-a-number where they overflow."""
    if sparse.issparse(X):
        X64 = X.astype(np.float64)
        mean = np.asarray(share @ X64).ravel()
        spread = np.sqrt(np.maximum(np.asarray(share @ X64.power(2)).ravel() - np.square(mean), 0.0))
    else:
        X64 = np.asarray(X, dtype=np.float64)
        mean = share @ X64
        # in units near the largest deviation: squares neither overflow nor vanish, and powers of two change no bit
        unit = np.ldexp(1.0, np.frexp(np.abs(X64 - mean).max(axis=0, initial=0.0))[1])
        spread = unit * np.sqrt(share @ np.square((X64 - mean) / unit))
        low, high = np.quantile(X64, [0.25, 0.75], axis=0)
        robust = (high - low) / QUARTILES
        spread = np.where((robust > 0) & (spread > OUTLIERS * robust), robust, spread)
    return mean, spread


def spread_of(X: Rows, weight: Array) -> Array:  # (d,)
    """Standard deviation of each feature, or what its quartiles say where there are gross outliers."""
    share = weight / weight.sum()
    X = dense_if_crowded(X)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, spread = _moments(X, share)
    varies = spread > 1e-12 * np.maximum(np.abs(mean), 1e-300)
    usable = varies & (spread >= 1 / LARGEST_SPREAD)
    bad = np.flatnonzero(~(np.maximum(spread, np.abs(mean)) <= LARGEST_SPREAD))
    if bad.size or (varies.any() and not usable.any()):
        _refuse(f"so large (feature {bad[0]})" if bad.size else "so near to each other")
    return np.where(usable, spread, 1.0)


def _refuse(how: str) -> NoReturn:
    raise ValueError(
        f"X has entries {how} that the width of the kernel is out of the range of numbers; divide X by its scale "
        "(sklearn.preprocessing.MaxAbsScaler does)."
    )


def widths_for(log_widths: Array, spread: Array) -> float | Array:  # (d,)
    """Widths of features that were divided by these spreads, for the features as they were; one if they are equal."""
    with np.errstate(over="ignore"):
        widths = np.exp(log_widths) / np.square(spread)
    if not np.isfinite(widths).all():
        _refuse("so near to each other")
    return one_if_equal(widths)


def centre_of(X: Array, weight: Array) -> Array:  # (d,)
    """Weighted mean of each feature, where sums of the features themselves overflow too."""
    least = np.ldexp(1.0, -np.frexp(weight.sum())[1])  # a power of two changes no bit
    centre: Array = ((least * weight) @ X) / (least * weight.sum())
    return centre
