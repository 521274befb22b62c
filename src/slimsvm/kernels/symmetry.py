"""Kernel values that depend on which row comes first: every solver would take one half of them for both."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..rows import Array, Rows, block_slices
from .base import Kernel

# Half the digits of float32: values computed in it differ by their rounding, a mistake by far more.
ROUNDING = float(np.sqrt(np.finfo(np.float32).eps))
# Rows on which a function is tried; one that is not symmetric is so nearly everywhere.
TRIED_ROWS = 50


def check_symmetric(kernel: Kernel, X: Rows) -> None:
    """Refuse a kernel that gives two rows another value in the other order."""
    rows = X[:TRIED_ROWS]
    K = kernel(rows, rows)
    if (place := _unlike(K, K.T, float(np.abs(K).max(initial=0.0)))) is not None:
        i, j = place
        raise ValueError(
            f"kernel: the function is not symmetric: two rows of X have the value {K[i, j]:.6g} in one order and "
            f"{K[j, i]:.6g} in the other."
        )


def check_symmetric_matrix(K: Rows, rows: Array) -> None:
    """Refuse a given matrix of kernel values that is not that of the training rows, of these numbers, with themselves.

    Examples
    --------
    >>> check_symmetric_matrix(np.array([[1.0, 0.5], [0.25, 1.0]]), np.arange(2))
    Traceback (most recent call last):
    ValueError: X must be symmetric for kernel='precomputed', but X[0, 1] is 0.5 and X[1, 0] is 0.25: give the kernel \
values of the training rows with themselves.
    """
    if sparse.issparse(K):
        largest = float(np.abs(K.data).max(initial=0.0))
        apart = sparse.coo_array(np.abs(K - K.T) > ROUNDING * largest)
        place = (int(apart.row[0]), int(apart.col[0])) if apart.nnz else None
    else:
        largest, place = max(float(K.max(initial=0.0)), -float(K.min(initial=0.0))), None
        for block in block_slices(len(K), 4 * K.itemsize * len(K)):
            found = _unlike(K[block, block.start :], K[block.start :, block].T, largest)
            if found is not None:
                place = found[0] + block.start, found[1] + block.start
                break
    if place is not None:
        i, j = place
        raise ValueError(
            f"X must be symmetric for kernel='precomputed', but X[{rows[i]}, {rows[j]}] is {K[i, j]:.6g} and "
            f"X[{rows[j]}, {rows[i]}] is {K[j, i]:.6g}: give the kernel values of the training rows with themselves."
        )


def _unlike(A: Array, B: Array, largest: float) -> tuple[int, int] | None:
    """The first place at which two arrays differ by more than rounding; others say what is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        apart = np.abs(A - B) > ROUNDING * largest
    place = int(np.argmax(apart)) if apart.size else 0
    i, j = divmod(place, A.shape[1]) if apart.size else (0, 0)
    return (i, j) if apart.size and apart[i, j] else None
