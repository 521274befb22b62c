"""Kernels computed by somebody else: a user's function, or a matrix of values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ..rows import Array, Rows, as_rows, block_slices, dense
from .base import expand_in_blocks, pair


@dataclass(frozen=True)
class FunctionKernel:
    """A user's function f(X, Z) -> (n, m) as a kernel; its answers are checked.

    The function is given CSR rows (`scipy.sparse.csr_array`) where the data are sparse, as in scikit-learn, and may
    answer with a dense or a sparse block.

    Examples
    --------
    >>> import numpy as np
    >>> FunctionKernel(lambda X, Z: np.minimum(X, Z.T))(np.array([[2.0]]), np.array([[1.0], [3.0]]))
    array([[1., 2.]])
    """

    function: Callable[[Any, Any], ArrayLike]

    def __call__(self, X: Any, Z: Any, *, n_threads: int = 1) -> Array:
        X, Z = pair(X, Z)
        K = self._values(X, Z)
        if K.shape != (X.shape[0], Z.shape[0]):
            raise ValueError(
                f"kernel: the function returned an array of shape {K.shape} for {X.shape[0]} and "
                f"{Z.shape[0]} rows; it must be ({X.shape[0]}, {Z.shape[0]})."
            )
        if K.dtype.kind not in "fiub":
            raise ValueError(f"kernel: the function returned values of type {K.dtype}, not numbers.")
        return K.astype(X.dtype, copy=False)

    def _values(self, X: Rows, Z: Rows) -> Array:
        try:
            K: Any = self.function(X, Z)
        except (TypeError, ValueError, IndexError, AttributeError, NotImplementedError) as error:
            if not (sparse.issparse(X) or sparse.issparse(Z)):
                raise
            raise ValueError(
                f"kernel: the function failed on CSR rows ({type(error).__name__}: {error}); it is given sparse rows "
                "where X is sparse. Let it take them, or give X as a dense array."
            ) from error
        return np.asarray(K.toarray() if sparse.issparse(K) else K)

    def diag(self, X: Any) -> Array:
        X = as_rows(X)
        out = np.empty(X.shape[0], dtype=X.dtype)
        for rows in block_slices(X.shape[0], BYTES_OF_DIAGONAL_BLOCK):
            out[rows] = np.diagonal(self(X[rows], X[rows]))
        return out

    def expand(
        self, X: Any, Z: Any, coef: Array, intercept: Array | None = None, *, n_threads: int = 1
    ) -> Array:
        X, Z = pair(X, Z)
        return expand_in_blocks(self, X, Z, np.asarray(coef, dtype=X.dtype), intercept)


# The diagonal of an unknown function needs square blocks of which only the diagonal is used: small ones.
BYTES_OF_DIAGONAL_BLOCK = 2**17


@dataclass(frozen=True)
class Precomputed:
    """Kernel values computed by the caller: X holds them, and a vector is the number of its column.

    Examples
    --------
    >>> import numpy as np
    >>> Precomputed()(np.array([[1.0, 0.2, 0.3]]), np.array([[0], [2]]))
    array([[1. , 0.3]])
    """

    name: ClassVar[str] = "precomputed"

    def __call__(self, X: Any, Z: Any, *, n_threads: int = 1) -> Array:
        X, columns = as_rows(X), np.asarray(Z).ravel()
        if columns.size and columns.max() >= X.shape[1]:
            raise ValueError(
                f"X must have one column for each training row; it has {X.shape[1]}, but column "
                f"{columns.max()} is needed."
            )
        return dense(X[:, columns])

    def diag(self, X: Any) -> Array:
        return np.diagonal(dense(as_rows(X))).copy()

    def expand(
        self, X: Any, Z: Any, coef: Array, intercept: Array | None = None, *, n_threads: int = 1
    ) -> Array:
        X = as_rows(X)
        # values in float32 take no digits from coefficients that have more
        coef = np.asarray(coef, dtype=np.result_type(X.dtype, coef))
        return expand_in_blocks(self, X, Z, coef, intercept)
