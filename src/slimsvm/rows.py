"""Rows of a data matrix, dense or CSR: conversion, distinct rows, blocks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, timedelta
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array: TypeAlias = NDArray[Any]
Rows: TypeAlias = Any  # NDArray of shape (n, d), or a SciPy CSR matrix or array of that shape

# Rows handled at a time where a step needs temporary memory: large enough that the interpreter's
# cost does not count, small enough to stay in the cache.
BLOCK_BYTES = 8 * 2**20

# Rows with more entries than this share of their features are better made dense, for speed; and their numbers then have
# the bits that dense rows have, so that a fit makes the same choices.
CROWDED = 1 / 16

LARGEST = int(np.finfo(np.float64).max)
# What is no number, one by one; those of pandas are kinds of Python's.
TEMPORAL = (np.datetime64, np.timedelta64, date, timedelta)

# Up to this many columns each has its weight from one stream of random numbers; beyond, from a hash of its number, so
# that a few entries in a matrix of millions of columns cost no more than they are.
STREAM_COLUMNS = 2**20
# Seed of the weights that put rows in an order of their own; any fixed number serves.
_PROJECTION_SEED = 20080601


def frozen(array: Any) -> Any:
    """The array as one that cannot be written to; a copy where somebody else could, or where it begins at any byte."""
    parts = (array.data, array.indices, array.indptr) if sparse.issparse(array) else (array,)
    if any(part.flags.writeable or not part.flags.aligned for part in parts):
        array = array.copy()
        parts = (array.data, array.indices, array.indptr) if sparse.issparse(array) else (array,)
    for part in parts:
        part.flags.writeable = False
    return array


def as_rows(X: Any, name: str = "X") -> Rows:
    """Return X as C-contiguous float32 or float64, or as `csr_array` of these; other types become float64.

    Numbers lie where the core may read them: an array out of a message may begin at any byte, and is copied.

    Every sparse format of the same values becomes the same arrays: sorted columns, none twice, and 32-bit indices
    where they suffice, as LIBSVM wants them.
    """
    if sparse.issparse(X):
        return _as_csr(sound(X, name))
    X = np.asarray(X)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if X.ndim != 2:
        raise ValueError(f"{name} must have two dimensions (rows and features), got {X.ndim}.")
    return np.require(X, requirements=("C", "A"))


def sound(X: Any, name: str = "X") -> Any:
    """X as it was given, unless nobody should read it.

    A sparse matrix whose indices point outside it is refused: SciPy reads and writes where they point, and looks at the
    indices of a matrix made of three arrays only in part. So are dates: as numbers their unit would be lost. And so are
    masked entries: what lies under a mask would be read.

    Examples
    --------
    >>> sound(sparse.csr_array(([1.0], [7], [0, 1]), shape=(1, 3)))
    Traceback (most recent call last):
    ValueError: X is a sparse matrix with a column index of 7, but it has 3 columns.
    """
    if sparse.issparse(X):
        _check_structure(X, name)
    elif type(X).__name__ == "LazyFrame":
        raise ValueError(f"{name} is a lazy frame: give what its method collect returns.")
    elif hasattr(X, "columns") and hasattr(X, "dtypes"):
        for column, dtype in zip(X.columns, X.dtypes, strict=True):
            values = X[column] if getattr(dtype, "kind", "") == "O" else None
            _check_values(dtype, values, f"{name} in column {column!r}")
    else:
        values = X
        if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
            raise ValueError(f"{name} has masked entries: fill them, or leave out their rows.")
        if isinstance(X, list | tuple):
            with suppress(ValueError):  # of rows of several lengths: said where they become numbers
                values = np.asarray(X)
        _check_values(getattr(values, "dtype", None), values, name)
    return X


def _check_values(dtype: Any, values: Any, name: str) -> None:
    is_temporal = getattr(dtype, "is_temporal", None)  # polars
    found = dtype if (is_temporal() if is_temporal else getattr(dtype, "kind", "") in ("m", "M")) else None
    if getattr(dtype, "kind", "") == "O":
        entries = np.asarray(values, dtype=object)
        kinds = set(map(type, entries.flat))
        found = next((kind.__name__ for kind in kinds if issubclass(kind, TEMPORAL)), None)
        if int in kinds and any(type(value) is int and abs(value) > LARGEST for value in entries.flat):
            raise ValueError(f"{name} has an integer too large for a floating-point number.")
    if found is not None:
        raise ValueError(
            f"{name} has dates or durations ({found}): give numbers, such as days since some date."
        )


def _check_structure(X: Any, name: str) -> None:
    kind = X.format if X.ndim == 2 else "other"
    if kind == "coo":
        _check_indices(X.row, X.shape[0], "row", name)
        _check_indices(X.col, X.shape[1], "column", name)
    elif kind in ("csr", "csc", "bsr"):
        lines, across = X.shape if kind != "csc" else X.shape[::-1]
        if kind == "bsr":
            lines, across = lines // X.blocksize[0], across // X.blocksize[1]
        starts, stored = X.indptr, min(len(X.indices), len(X.data))
        if (
            len(starts) != lines + 1
            or starts[0] != 0
            or (starts[1:] < starts[:-1]).any()
            or starts[-1] > stored
        ):
            raise ValueError(
                f"{name} is a sparse matrix whose indptr does not fit it: it must have {lines + 1} entries that rise "
                f"from 0 to at most {stored}, the number of entries stored."
            )
        _check_indices(X.indices[: starts[-1]], across, "row" if kind == "csc" else "column", name)


def _check_indices(indices: Array, size: int, what: str, name: str) -> None:
    if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < size:
        wrong = int(indices.min()) if indices.min() < 0 else int(indices.max())
        raise ValueError(
            f"{name} is a sparse matrix with a {what} index of {wrong}, but it has {size} {what}s."
        )


def summed(X: Any) -> Any:
    """X; of a sparse matrix that has several entries at one place a copy with their sum, in the same format."""
    if getattr(sound(X), "has_canonical_format", True):
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def _as_csr(X: Any) -> Rows:
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    rows = sparse.csr_array(X.tocsr(), dtype=dtype)
    if not rows.has_canonical_format or not rows.data.flags.aligned:
        rows = rows.copy()  # the caller's arrays stay as they are
        rows.sum_duplicates()
    small = max(*rows.shape, rows.nnz) <= np.iinfo(np.int32).max
    if small and (rows.indices.dtype != np.int32 or rows.indptr.dtype != np.int32):
        indices, indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
        rows = sparse.csr_array((rows.data, indices, indptr), shape=rows.shape)
        rows.has_canonical_format = True
    return rows


def common_dtype(*arrays: Any) -> np.dtype[Any]:
    """float32 if every array is float32, else float64."""
    return np.dtype(np.float32 if all(a.dtype == np.float32 for a in arrays) else np.float64)


def cast(X: Rows, dtype: np.dtype[Any]) -> Rows:
    """Return X with this dtype, without a copy where none is needed."""
    return X if X.dtype == dtype else X.astype(dtype)


def dense(X: Rows) -> Array:
    """Return X as a C-contiguous array."""
    return np.ascontiguousarray(X.toarray()) if sparse.issparse(X) else X


def is_crowded(X: Rows) -> bool:
    """Whether rows are dense, or better made so."""
    return not sparse.issparse(X) or X.nnz > CROWDED * X.shape[0] * X.shape[1]


def dense_if_crowded(X: Rows) -> Rows:
    """CSR rows with many entries as dense ones; all others as they are."""
    return dense(X) if is_crowded(X) else X


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
    if not sparse.issparse(X):
        return np.einsum("ij,ij->i", X, X, dtype=np.float64)
    if not is_crowded(X):
        return np.asarray(X.astype(np.float64).power(2).sum(axis=1)).ravel()
    blocks = [squared_norms(dense(X[rows])) for rows in block_slices(X.shape[0], 8 * X.shape[1])]
    return np.concatenate(blocks) if blocks else np.empty(0)


def occurring(X: Rows) -> tuple[Rows, Array]:
    """CSR rows without the columns in which none has an entry, and the numbers of those left; dense rows as they are.

    Examples
    --------
    >>> narrow, columns = occurring(sparse.csr_array(([5.0, 7.0], [3, 8], [0, 1, 2]), shape=(2, 1_000_000_000)))
    >>> narrow.toarray().tolist(), columns.tolist()
    ([[5.0, 0.0], [0.0, 7.0]], [3, 8])
    """
    if not sparse.issparse(X):
        return X, np.arange(X.shape[1])
    columns, places = np.unique(X.indices, return_inverse=True)
    places = places.ravel().astype(X.indptr.dtype)
    return sparse.csr_array((X.data, places, X.indptr), shape=(X.shape[0], len(columns))), columns


def narrowed(X: Rows, Z: Rows) -> tuple[Rows, Rows]:
    """Both without the columns that neither has an entry in, where they are CSR and have very many columns."""
    if not (sparse.issparse(X) and sparse.issparse(Z)) or X.shape[1] <= STREAM_COLUMNS:
        return X, Z
    narrow = occurring(as_rows(sparse.vstack([X, Z], format="csr")))[0]
    return narrow[: X.shape[0]], narrow[X.shape[0] :]


def _projections(X: Rows) -> Array:  # (n,)
    """A number for each row: its sum with fixed random weights, added from left to right in float64.

    Zeros add nothing, so a row has the same number dense or CSR, in float32 or float64.
    """
    d = X.shape[1]
    if d > STREAM_COLUMNS:
        X, columns = occurring(X)
        weights = mixed(columns.astype(np.uint64) + np.uint64(_PROJECTION_SEED)) * 2.0**-63 - 1.0
    else:
        weights = np.random.default_rng(_PROJECTION_SEED).standard_normal(d)
    with np.errstate(over="ignore", invalid="ignore"):
        return _weighted_sums(X, weights) + 0.0  # -0.0 and 0.0 are one value


def _weighted_sums(X: Rows, weights: Array) -> Array:  # (n,)
    if sparse.issparse(X):
        X = X.astype(np.float64)
        X.sum_duplicates()
        return np.asarray(X @ weights).ravel()
    out = np.zeros(X.shape[0])
    if X.shape[1]:
        for rows in block_slices(X.shape[0], 16 * X.shape[1]):
            out[rows] = np.cumsum(X[rows] * weights, axis=1)[:, -1]  # unlike sum, one after the other
    return out


def mixed(numbers: Array) -> Array:  # the same shape, of uint64
    """A hash of each number of 64 bits (the finaliser of splitmix64), so that its order is as good as random."""
    z = numbers.view(np.uint64)
    with np.errstate(over="ignore"):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _row_bytes(X: Rows, rows: Array) -> list[bytes]:
    """The values of some rows, as bytes that are equal exactly when the rows are."""
    return [
        (row + row.dtype.type(0)).tobytes() for row in dense(occurring(X[rows])[0])
    ]  # -0.0 and 0.0 are one value


def row_codes(Y: Array) -> Array:  # (n,)
    """Numbers of the rows of Y, equal for equal rows, in the order of the rows' values.

    `numpy.unique` by rows compares them as records, in Python: it would make a TypeError of Ctrl-C.

    Examples
    --------
    >>> row_codes(np.array([[2.0, 1.0], [0.0, 5.0], [2.0, 0.0], [0.0, 5.0]])).tolist()
    [2, 0, 1, 0]
    """
    order = np.lexsort(Y.T[::-1])
    ordered = Y[order]
    codes = np.zeros(len(Y), dtype=np.intp)
    codes[order[1:]] = np.cumsum((ordered[1:] != ordered[:-1]).any(axis=1))
    return codes


def distinct_rows(X: Rows) -> tuple[Array, Array]:
    """Find the distinct rows of X.

    Returns
    -------
    first : array of shape (n_distinct,)
        Number of the first row of each kind, in an order that depends on the values of the rows
        alone and looks random: permuting X permutes nothing but these numbers.
    group : array of shape (n,)
        For each row, the position in `first` of the row equal to it.
    """
    n = X.shape[0]
    if n == 0:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    key = mixed(_projections(X))
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    starts = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    bounds = np.concatenate((np.flatnonzero(starts), [n]))
    several = np.flatnonzero(np.diff(bounds) > 1)  # equal numbers: nearly always equal rows
    for first, last in zip(bounds[several].tolist(), bounds[several + 1].tolist(), strict=True):
        content = _row_bytes(X, order[first:last])
        arranged = sorted(range(last - first), key=content.__getitem__)
        order[first:last] = order[first:last][arranged]
        changes = [content[a] != content[b] for a, b in itertools.pairwise(arranged)]
        starts[first + 1 : last] = changes
    group = np.empty(n, dtype=np.intp)
    group[order] = np.cumsum(starts) - 1
    return order[starts], group
