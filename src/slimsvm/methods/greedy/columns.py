"""Arrays that grow by a row, and what a greedy search keeps of the kernel matrix."""

from __future__ import annotations

from itertools import islice

import numpy as np
from scipy import sparse

from ...kernels import Precomputed
from ...limits import DENSE_LIMIT_BYTES
from ...linalg import GrowingRows
from ...problem import KernelGram, check_finite
from ...rows import Array, Rows

# Columns of the kernel matrix computed by one call: with fewer, reading the rows costs more than the kernel.
COLUMNS_AT_A_TIME = 128


class ColumnCache:
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
        kernel, n_threads, candidates = self._gram.kernel, self._gram.n_threads, self._X[rows]
        if self._by_number:
            chosen = np.array(self.chosen)
            vectors: Rows = chosen[:, None] if isinstance(kernel, Precomputed) else self._X[chosen]
            K = kernel(candidates, vectors, n_threads=n_threads)
        else:  # the core packs its second argument: that is the smaller one
            K = kernel(self._held.rows, candidates, n_threads=n_threads).T
        check_finite(K)
        return K
