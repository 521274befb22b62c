"""The five built-in kernels: the compiled core for dense rows, blocks of products for CSR rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from .. import _core
from ..rows import (
    Array,
    Rows,
    as_rows,
    block_slices,
    dense,
    is_crowded,
    narrowed,
    scale_columns,
    squared_norms,
)
from .base import checked_gamma, checked_number, outputs_that_fit, pair
from .distances import NORMS_ERROR, SURE_NORMS, SURELY_ZERO, row_products, squared_differences

# Crowded CSR vectors are made dense as a whole up to this size: then the core packs and centres them as it does dense
# ones, and gives the same bits.
DENSE_VECTORS_BYTES = 256 * 2**20


def _is_sparse(X: Rows, Z: Rows) -> bool:
    return sparse.issparse(X) or sparse.issparse(Z)


def _dense_vectors(Z: Rows) -> Array | None:
    """CSR vectors as dense ones where they are better so; the choice is theirs alone, whatever they meet."""
    if sparse.issparse(Z) and is_crowded(Z) and 8 * Z.shape[0] * Z.shape[1] <= DENSE_VECTORS_BYTES:
        return dense(Z)
    return None


def _dense_blocks(X: Rows) -> Iterator[tuple[slice, Array]]:
    """Blocks of rows, dense."""
    for rows in block_slices(X.shape[0], 8 * X.shape[1]):
        yield rows, dense(X[rows])


class _CoreKernel:
    """What the built-in kernels share: the compiled core for dense rows, blocks for CSR rows."""

    name: ClassVar[str]
    _to_lower: ClassVar[str] = ""  # which parameters to lower where outputs are too large

    def _parameters(self, d: int) -> tuple[float, float, int, Array]:
        """Gamma, coef0, degree and widths as the core takes them."""
        raise NotImplementedError

    def _from_products(self, products: Array) -> Array:
        """Kernel values from products x.z."""
        raise NotImplementedError

    def _sparse_block(self, X: Rows, Z: Rows) -> Array:
        """Kernel values for a block of rows, one side or both CSR."""
        return self._from_products(row_products(X.astype(np.float64), Z.astype(np.float64)))

    def _sparse_blocks(self, X: Rows, Z: Rows) -> Iterator[tuple[slice, Array]]:
        """Blocks of rows of X and their kernel values, in float64 where that is needed."""
        for rows in block_slices(X.shape[0], 16 * max(1, Z.shape[0])):
            with np.errstate(over="ignore", invalid="ignore"):
                yield rows, self._sparse_block(X[rows], Z)

    def _sides(self, X: Any, Z: Any) -> tuple[Rows, Rows]:
        """Both sides, without columns that add nothing where there are very many."""
        X, Z = pair(X, Z)
        return narrowed(X, Z) if isinstance(getattr(self, "gamma", 1.0), float) else (X, Z)

    def __call__(self, X: Any, Z: Any, *, n_threads: int = 1) -> Array:
        X, Z = self._sides(X, Z)
        if not _is_sparse(X, Z):
            return _core.gram(self.name, *self._parameters(X.shape[1]), X, Z, n_threads)
        out = np.empty((X.shape[0], Z.shape[0]), dtype=X.dtype)
        vectors = _dense_vectors(Z)
        if vectors is not None:
            for rows, block in _dense_blocks(X):
                out[rows] = self(block, vectors, n_threads=n_threads)
            return out
        with np.errstate(over="ignore"):
            for rows, K in self._sparse_blocks(X, Z):
                out[rows] = K
        return out

    def expand(
        self, X: Any, Z: Any, coef: Array, intercept: Array | None = None, *, n_threads: int = 1
    ) -> Array:
        X, Z = self._sides(X, Z)
        coef = np.require(coef, X.dtype, ("C", "A"))
        if intercept is None:
            intercept = np.zeros(coef.shape[1])
        intercept = np.require(intercept, X.dtype, ("C", "A"))
        vectors = _dense_vectors(Z)
        if vectors is None:
            out = self._outputs(X, Z, coef, intercept, n_threads)
        else:
            out = np.empty((X.shape[0], coef.shape[1]), dtype=X.dtype)
            for rows, block in _dense_blocks(X):
                out[rows] = self._outputs(block, vectors, coef, intercept, n_threads)
        return outputs_that_fit(out, X, self)

    def _outputs(self, X: Rows, Z: Rows, coef: Array, intercept: Array, n_threads: int) -> Array:
        """Outputs, whether they fit their dtype or not."""
        if not _is_sparse(X, Z):
            parameters = self._parameters(X.shape[1])
            return _core.expansion(self.name, *parameters, X, Z, coef, intercept, n_threads)
        out = np.empty((X.shape[0], coef.shape[1]), dtype=X.dtype)
        wide = coef.astype(np.float64), intercept.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            for rows, K in self._sparse_blocks(X, Z):
                out[rows] = K @ wide[0] + wide[1]
        return out


_NO_WIDTHS = np.empty(0)
# What the compiled core can be told.
LARGEST_DEGREE = 2**31 - 1


@dataclass(frozen=True)
class WidthKernel(_CoreKernel):
    """A kernel of scaled distances, with one width or one per feature."""

    gamma: Any  # float or tuple of floats, made from a number or an array

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", checked_gamma(self.gamma))

    def check_features(self, d: int) -> None:
        """Refuse widths of another number of features."""
        if not isinstance(self.gamma, float) and len(self.gamma) != d:
            raise ValueError(f"gamma has {len(self.gamma)} entries, but X has {d} features.")

    def widths(self, d: int) -> Array:
        """Return gamma for each of d features."""
        self.check_features(d)
        return np.full(d, self.gamma) if isinstance(self.gamma, float) else np.array(self.gamma)

    def _parameters(self, d: int) -> tuple[float, float, int, Array]:
        return 0.0, 0.0, 0, self.widths(d)

    def diag(self, X: Any) -> Array:
        X = as_rows(X)
        return np.ones(X.shape[0], dtype=X.dtype)

    def _dense_block(self, X: Rows, Z: Rows) -> Array:
        """Kernel values by the core: a few rows of each side at a time are made dense."""
        out = np.empty((X.shape[0], Z.shape[0]))
        bytes_per_row = 8 * X.shape[1]
        for rows in block_slices(X.shape[0], bytes_per_row):
            left = dense(X[rows])
            for columns in block_slices(Z.shape[0], bytes_per_row):
                out[rows, columns] = self(left, dense(Z[columns]))
        return out


@dataclass(frozen=True)
class RBF(WidthKernel):
    r"""Gaussian kernel :math:`\exp(-\gamma |x - z|^2)`.

    With `gamma` an array, :math:`\exp(-\sum_j \gamma_j (x_j - z_j)^2)`.

    Examples
    --------
    >>> RBF(0.5)([[0.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]]).round(3)
    array([[1.   , 0.368]])
    """

    name: ClassVar[str] = "rbf"

    def _sparse_block(self, X: Rows, Z: Rows) -> Array:
        root = np.sqrt(self.widths(X.shape[1]))
        given, (X, Z) = (X, Z), (X.astype(np.float64), Z.astype(np.float64))
        left, right = scale_columns(X, root), scale_columns(Z, root)
        norms = squared_norms(left)[:, None] + squared_norms(right)[None, :]
        distances = norms - 2.0 * row_products(left, right)
        # not-a-number, of squares that overflow, counts as doubtful
        doubtful = ~((norms <= SURE_NORMS) | (distances > SURELY_ZERO + NORMS_ERROR * norms))
        if doubtful.any():
            if is_crowded(X) or is_crowded(Z):
                return self._dense_block(*given)
            rows, columns = np.nonzero(doubtful)
            distances[rows, columns] = squared_differences(X, Z, (rows, columns), root)
        return np.exp(-np.maximum(distances, 0.0))


@dataclass(frozen=True)
class Laplacian(WidthKernel):
    r"""Laplacian kernel :math:`\exp(-\gamma \sum_j |x_j - z_j|)`, `gamma` a number or one per feature.

    Examples
    --------
    >>> Laplacian(0.5)([[0.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]]).round(3)
    array([[1.   , 0.368]])
    """

    name: ClassVar[str] = "laplacian"

    def _sparse_block(self, X: Rows, Z: Rows) -> Array:
        return self._dense_block(X, Z)  # sums of absolute differences are not products


@dataclass(frozen=True)
class Linear(_CoreKernel):
    """Linear kernel x.z; an expansion of it is a single weight vector per output.

    Examples
    --------
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    name: ClassVar[str] = "linear"

    def _parameters(self, d: int) -> tuple[float, float, int, Array]:
        return 1.0, 0.0, 1, _NO_WIDTHS

    def _from_products(self, products: Array) -> Array:
        return products

    def diag(self, X: Any) -> Array:
        X = as_rows(X)
        return squared_norms(X).astype(X.dtype)

    def _outputs(self, X: Rows, Z: Rows, coef: Array, intercept: Array, n_threads: int) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            wide = np.asarray(Z.astype(np.float64).T @ coef.astype(np.float64)).T  # (k, d)
            offset = intercept.astype(np.float64)
            weights = np.ascontiguousarray(wide, dtype=X.dtype)
            out: Array = (self(X, weights, n_threads=n_threads) + offset).astype(X.dtype, copy=False)
            again = np.flatnonzero(~np.isfinite(out).all(axis=1))
            if again.size and X.dtype == np.float32:  # in float64 what is added up fits
                out[again] = self(X[again].astype(np.float64), np.ascontiguousarray(wide)) + offset
        return out


@dataclass(frozen=True)
class Polynomial(_CoreKernel):
    r"""Polynomial kernel :math:`(\gamma\, x \cdot z + c_0)^p`.

    Examples
    --------
    >>> Polynomial(gamma=1.0, coef0=1.0, degree=2)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    name: ClassVar[str] = "poly"
    _to_lower: ClassVar[str] = ", lower gamma or degree"
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3

    def __post_init__(self) -> None:
        gamma = checked_gamma(self.gamma)
        if not isinstance(gamma, float):
            raise ValueError("gamma must be one number for the polynomial kernel.")
        if not (isinstance(self.degree, Integral) and 0 <= self.degree <= LARGEST_DEGREE):
            raise ValueError(
                f"degree must be a whole number, 0 or more and at most {LARGEST_DEGREE}, got {self.degree!r}."
            )
        object.__setattr__(self, "gamma", gamma)
        object.__setattr__(self, "coef0", checked_number("coef0", self.coef0))
        object.__setattr__(self, "degree", int(self.degree))

    def _parameters(self, d: int) -> tuple[float, float, int, Array]:
        return self.gamma, self.coef0, self.degree, _NO_WIDTHS

    def _from_products(self, products: Array) -> Array:
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # whoever takes the values looks whether they are finite
            return np.asarray((self.gamma * products + self.coef0) ** self.degree)

    def diag(self, X: Any) -> Array:
        X = as_rows(X)
        norms = squared_norms(X)
        return self._from_products(norms).astype(X.dtype)


@dataclass(frozen=True)
class Sigmoid(_CoreKernel):
    r"""Sigmoid kernel :math:`\tanh(\gamma\, x \cdot z + c_0)`; not positive definite in general.

    Examples
    --------
    >>> Sigmoid(gamma=0.1)([[1.0, 2.0]], [[3.0, 4.0]]).round(3)
    array([[0.8]])
    """

    name: ClassVar[str] = "sigmoid"
    _to_lower: ClassVar[str] = ", lower gamma"
    gamma: float = 1.0
    coef0: float = 0.0

    def __post_init__(self) -> None:
        gamma = checked_gamma(self.gamma)
        if not isinstance(gamma, float):
            raise ValueError("gamma must be one number for the sigmoid kernel.")
        object.__setattr__(self, "gamma", gamma)
        object.__setattr__(self, "coef0", checked_number("coef0", self.coef0))

    def _parameters(self, d: int) -> tuple[float, float, int, Array]:
        return self.gamma, self.coef0, 0, _NO_WIDTHS

    def _from_products(self, products: Array) -> Array:
        return np.tanh(self.gamma * products + self.coef0)

    def diag(self, X: Any) -> Array:
        X = as_rows(X)
        norms = squared_norms(X)
        return self._from_products(norms).astype(X.dtype)
