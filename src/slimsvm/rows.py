"""Rows of a data matrix, dense or CSR: conversion, distinct rows, blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array: TypeAlias = NDArray[Any]
Rows: TypeAlias = Any  # NDArray of shape (n, d), or a SciPy CSR matrix or array of that shape

# Rows handled at a time where a step needs temporary memory: large enough that the interpreter's
# cost does not count, small enough to stay in the cache.
BLOCK_BYTES = 8 * 2**20


def as_rows(X: Any, name: str = "X") -> Rows:
    """Return X as C-contiguous float32 or float64, or as CSR of these; other types become float64."""
    if sparse.issparse(X):
        X = X.tocsr()
        return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    X = np.asarray(X)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if X.ndim != 2:
        raise ValueError(f"{name} must have two dimensions (rows and features), got {X.ndim}.")
    return np.ascontiguousarray(X)


def common_dtype(*arrays: Any) -> np.dtype[Any]:
    """float32 if every array is float32, else float64."""
    return np.dtype(np.float32 if all(a.dtype == np.float32 for a in arrays) else np.float64)


def cast(X: Rows, dtype: np.dtype[Any]) -> Rows:
    """Return X with this dtype, without a copy where none is needed."""
    return X if X.dtype == dtype else X.astype(dtype)


def dense(X: Rows) -> Array:
    """Return X as a C-contiguous array."""
    return np.ascontiguousarray(X.toarray()) if sparse.issparse(X) else X


def scale_columns(X: Rows, factors: Array) -> Rows:
    """Multiply column j of X by factors[j], in the dtype of X."""
    factors = factors.astype(X.dtype)
    return X @ sparse.diags_array(factors, format="csr") if sparse.issparse(X) else X * factors


def block_slices(n: int, bytes_per_row: int) -> Iterator[slice]:
    """Cut range(n) into slices whose temporary memory stays near BLOCK_BYTES."""
    step = max(1, BLOCK_BYTES // max(1, bytes_per_row))
    for start in range(0, n, step):
        yield slice(start, min(n, start + step))


def squared_norms(X: Rows) -> Array:  # (n,)
    """Squared Euclidean norm of each row, in float64."""
    if sparse.issparse(X):
        return np.asarray(X.astype(np.float64).power(2).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)


def _sort_keys(X: Rows) -> Array:  # (n,) of a type that sorts and compares bytewise
    if sparse.issparse(X):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
        keys = np.empty(X.shape[0], dtype=object)
        for i, (a, b) in enumerate(zip(X.indptr[:-1], X.indptr[1:], strict=True)):
            keys[i] = X.indices[a:b].astype(np.int64).tobytes() + X.data[a:b].tobytes()
        return keys
    X = np.ascontiguousarray(X + X.dtype.type(0))  # -0.0 and 0.0 are one value
    if X.shape[1] == 0:
        return np.zeros(X.shape[0])
    return X.view(np.dtype((np.void, X.dtype.itemsize * X.shape[1]))).ravel()


def distinct_rows(X: Rows) -> tuple[Array, Array]:
    """Find the distinct rows of X.

    Returns
    -------
    first : array of shape (n_distinct,)
        Number of the first row of each kind, in an order that depends on the values of the rows
        alone: permuting X permutes nothing but these numbers.
    group : array of shape (n,)
        For each row, the position in `first` of the row equal to it.
    """
    keys = _sort_keys(X)
    if keys.shape[0] == 0:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    group = np.empty(keys.shape[0], dtype=np.intp)
    group[order] = np.cumsum(starts) - 1
    return order[starts], group
