"""Arrays that grow by a row, and what a greedy search keeps of the kernel matrix."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse

from ..kernels import Precomputed
from ..problem import DENSE_LIMIT_BYTES, KernelGram
from ..rows import Array, Rows

FIRST_CAPACITY = 64
# Columns of the kernel matrix computed by one call: with fewer, reading the rows costs more than the kernel.
COLUMNS_AT_A_TIME = 128
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
                    "n_vectors, raise epsilon, or set n_candidates, which works without the rows that are "
                    "not candidates."
                )
        grown = np.empty((capacity, self._width))
        grown[: self.m] = self.rows
        self._held = grown


class KernelColumns:
    """Columns of the kernel matrix, each computed once and shared by all outputs.

    Columns are kept up to a number of bytes; beyond it they are computed again when asked for.
    """

    def __init__(self, gram: KernelGram, limit_bytes: int = DENSE_LIMIT_BYTES) -> None:
        self._gram = KernelGram(gram.kernel, gram.X, gram.n_threads, limit_bytes=0)
        self._room = limit_bytes // (8 * max(1, gram.n))
        self._kept: dict[int, Array] = {}

    @property
    def n(self) -> int:
        """Number of rows."""
        return self._gram.n

    def diagonal(self) -> Array:  # (n,)
        """The diagonal of the kernel matrix."""
        return self._gram.diagonal().astype(np.float64)

    def __call__(self, indices: Array, likely: Array) -> Array:  # (len(indices), n)
        """Return the columns with these numbers, as rows; `likely` says which may be asked for next."""
        missing = [int(i) for i in indices if int(i) not in self._kept]
        fresh: dict[int, Array] = {}
        if missing:
            room = min(COLUMNS_AT_A_TIME, self._room - len(self._kept)) - len(missing)
            wanted = set(missing)
            more = (int(i) for i in likely if int(i) not in self._kept and int(i) not in wanted)
            missing += list(islice(more, max(0, room)))
            block = np.ascontiguousarray(self._gram.columns(np.array(missing)).T)
            check_finite(block)
            fresh = dict(zip(missing, block, strict=True))
        for i in missing[: max(0, self._room - len(self._kept))]:
            self._kept[i] = fresh[i].copy()
        return np.stack([fresh[int(i)] if int(i) in fresh else self._kept[int(i)] for i in indices])


def kernel_block(gram: KernelGram, rows: Array, vectors: Array) -> Array:  # (len(rows), len(vectors))
    """Part of the kernel matrix, in float64."""
    X = gram.X
    if isinstance(gram.kernel, Precomputed):
        part = X[rows][:, vectors]
        return np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float64)
    K = gram.kernel(X[rows].astype(np.float64), X[vectors].astype(np.float64), n_threads=gram.n_threads)
    check_finite(K)
    return K


def part_of(gram: KernelGram, rows: Array) -> KernelGram:
    """The kernel matrix of some of the rows."""
    X = gram.X[rows]
    return KernelGram(
        gram.kernel,
        X[:, rows] if isinstance(gram.kernel, Precomputed) else X,
        gram.n_threads,
        gram.limit_bytes,
    )


def check_finite(K: Array) -> None:
    """Kernel values that overflowed are refused with the way out."""
    if not np.isfinite(K).all():
        raise ValueError(
            "kernel: some kernel values of X are not finite; scale X (sklearn.preprocessing.StandardScaler "
            "does), or lower degree or gamma."
        )


class SelectedVectors:
    """The vectors chosen so far, kept together so that kernel values against them are one call."""

    def __init__(self, gram: KernelGram) -> None:
        self._gram = gram
        self._X: Rows = gram.X if gram.X.dtype == np.float64 else gram.X.astype(np.float64)
        self._by_number = isinstance(gram.kernel, Precomputed) or sparse.issparse(self._X)
        self._held = GrowingRows(0 if self._by_number else self._X.shape[1])
        self.chosen: list[int] = []

    def append(self, i: int) -> None:
        """Add training row i."""
        self.chosen.append(i)
        if not self._by_number:
            self._held.append(self._X[i])

    def against(self, rows: Array) -> Array:  # (len(rows), m)
        """Kernel values of these training rows with the chosen vectors."""
        vectors: Any
        if isinstance(self._gram.kernel, Precomputed):
            vectors = np.array(self.chosen)[:, None]
        else:
            vectors = self._X[self.chosen] if self._by_number else self._held.rows
        K = self._gram.kernel(self._X[rows], vectors, n_threads=self._gram.n_threads)
        check_finite(K)
        return K
