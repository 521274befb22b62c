"""The kernels: what one is, the five built-in ones, and how a name becomes one.

A kernel is a value with three verbs: `kernel(X, Z)` is the block of kernel values, `kernel.diag(X)` its
diagonal, `kernel.expand(X, Z, coef)` the weighted sum over Z without ever holding the block. The built-in
kernels run in the compiled core for dense input; for CSR input they take sparse-dense products block by
block and apply the same map to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from . import _core
from .rows import (
    Array,
    Rows,
    as_rows,
    block_slices,
    cast,
    common_dtype,
    dense,
    scale_columns,
    squared_norms,
)


@runtime_checkable
class Kernel(Protocol):
    """A kernel function; any object with these three methods is one.

    `kernels.expand_in_blocks` is a ready-made `expand` for kernels that only know their block.
    """

    def __call__(self, X: Rows, Z: Rows, *, n_threads: int = 1) -> Array:
        """Kernel values of shape (n, m) between the rows of X and of Z."""
        ...

    def diag(self, X: Rows) -> Array:
        """Values k(x, x) of shape (n,)."""
        ...

    def expand(
        self, X: Rows, Z: Rows, coef: Array, intercept: Array | None = None, *, n_threads: int = 1
    ) -> Array:
        """Return kernel(X, Z) @ coef + intercept, of shape (n, k), in memory O(n k + m k)."""
        ...


def expand_in_blocks(
    kernel: Callable[..., Array],
    X: Rows,  # (n, d)
    Z: Rows,  # (m, d)
    coef: Array,  # (m, k)
    intercept: Array | None = None,  # (k,)
    *,
    n_threads: int = 1,
) -> Array:  # (n, k)
    """Expand any kernel through blocks of rows of X."""
    out = np.empty((X.shape[0], coef.shape[1]), dtype=coef.dtype)
    for rows in block_slices(X.shape[0], 8 * max(1, coef.shape[0])):
        out[rows] = kernel(X[rows], Z, n_threads=n_threads) @ coef
    return out if intercept is None else out + intercept


def _checked_gamma(gamma: Any) -> float | tuple[float, ...]:
    if np.ndim(gamma) == 0:
        if not (isinstance(gamma, Real) and np.isfinite(float(gamma)) and float(gamma) > 0):
            raise ValueError(f"gamma must be a positive finite number, got {gamma!r}.")
        return float(gamma)
    widths = np.asarray(gamma, dtype=np.float64)
    if widths.ndim != 1 or widths.size == 0:
        raise ValueError(f"gamma must be a number or one number per feature, got shape {widths.shape}.")
    if not np.isfinite(widths).all() or widths.min() < 0 or widths.max() == 0:
        raise ValueError("gamma must have finite entries that are not negative and not all zero.")
    return tuple(widths.tolist())


def _checked_number(name: str, value: Any) -> float:
    if not (isinstance(value, Real) and np.isfinite(float(value))):
        raise ValueError(f"{name} must be a finite number, got {value!r}.")
    return float(value)


def _pair(X: Any, Z: Any) -> tuple[Rows, Rows]:
    """Both sides as rows of one dtype and one number of features."""
    X, Z = as_rows(X), as_rows(Z, "Z")
    if X.shape[1] != Z.shape[1]:
        raise ValueError(f"X has {X.shape[1]} features, but the vectors have {Z.shape[1]}.")
    dtype = common_dtype(X, Z)
    return cast(X, dtype), cast(Z, dtype)


def _outputs_that_fit(out: Array, X: Rows, name: str, to_lower: str) -> Array:
    """Return the outputs `out` of finite rows of X, or say that some are too large for their dtype."""
    if np.isfinite(out).all():
        return out
    bad = np.flatnonzero(~np.isfinite(out).all(axis=1))
    rows = X[bad]
    values = dense(rows) if sparse.issparse(rows) else rows
    bad = bad[np.isfinite(values).all(axis=1)]  # where X is not finite, no output can be
    if bad.size:
        wider = "" if out.dtype == np.float64 else ", or use float64"
        raise ValueError(
            f"kernel={name!r}: the outputs of {bad.size} of {X.shape[0]} rows, the first of them row {bad[0]}, are "
            f"too large for {out.dtype}; scale X (sklearn.preprocessing.StandardScaler does){to_lower}{wider}."
        )
    return out


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
        return self._from_products(_products(X.astype(np.float64), Z.astype(np.float64)))

    def _sparse_blocks(self, X: Rows, Z: Rows) -> Iterator[tuple[slice, Array]]:
        """Blocks of rows of X and their kernel values, in float64 where that is needed."""
        for rows in block_slices(X.shape[0], 16 * max(1, Z.shape[0])):
            with np.errstate(over="ignore", invalid="ignore"):
                yield rows, self._sparse_block(X[rows], Z)

    def __call__(self, X: Any, Z: Any, *, n_threads: int = 1) -> Array:
        X, Z = _pair(X, Z)
        if sparse.issparse(X) or sparse.issparse(Z):
            out = np.empty((X.shape[0], Z.shape[0]), dtype=X.dtype)
            with np.errstate(over="ignore"):
                for rows, K in self._sparse_blocks(X, Z):
                    out[rows] = K
            return out
        return _core.gram(self.name, *self._parameters(X.shape[1]), X, Z, n_threads)

    def expand(
        self, X: Any, Z: Any, coef: Array, intercept: Array | None = None, *, n_threads: int = 1
    ) -> Array:
        X, Z = _pair(X, Z)
        coef = np.ascontiguousarray(coef, dtype=X.dtype)
        if intercept is None:
            intercept = np.zeros(coef.shape[1])
        intercept = np.ascontiguousarray(intercept, dtype=X.dtype)
        if sparse.issparse(X) or sparse.issparse(Z):
            out = np.empty((X.shape[0], coef.shape[1]), dtype=X.dtype)
            wide = coef.astype(np.float64), intercept.astype(np.float64)
            with np.errstate(over="ignore", invalid="ignore"):
                for rows, K in self._sparse_blocks(X, Z):
                    out[rows] = K @ wide[0] + wide[1]
        else:
            parameters = self._parameters(X.shape[1])
            out = _core.expansion(self.name, *parameters, X, Z, coef, intercept, n_threads)
        return _outputs_that_fit(out, X, self.name, self._to_lower)


def _products(X: Rows, Z: Rows) -> Array:  # (n, m)
    products = X @ Z.T
    return products.toarray() if sparse.issparse(products) else np.asarray(products)


_NO_WIDTHS = np.empty(0)


@dataclass(frozen=True)
class _WidthKernel(_CoreKernel):
    """A kernel of scaled distances, with one width or one per feature."""

    gamma: Any  # float or tuple of floats, made from a number or an array

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", _checked_gamma(self.gamma))

    def widths(self, d: int) -> Array:
        """Return gamma for each of d features."""
        if isinstance(self.gamma, float):
            return np.full(d, self.gamma)
        if len(self.gamma) != d:
            raise ValueError(f"gamma has {len(self.gamma)} entries, but X has {d} features.")
        return np.array(self.gamma)

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
class RBF(_WidthKernel):
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
        distances = norms - 2.0 * _products(left, right)
        # not-a-number, of squares that overflow, counts as doubtful
        doubtful = ~((norms <= SURE_NORMS) | (distances > SURELY_ZERO + NORMS_ERROR * norms))
        if doubtful.any():
            if _is_crowded(X) or _is_crowded(Z):
                return self._dense_block(*given)
            rows, columns = np.nonzero(doubtful)
            distances[rows, columns] = _squared_differences(X, Z, (rows, columns), root)
        return np.exp(-np.maximum(distances, 0.0))


# Distances of CSR rows are taken from norms and products, whose rounding is a share NORMS_ERROR of the norms at the
# very worst and a ten-thousandth of it as a rule. Norms up to SURE_NORMS leave an error of 1e-12 in the exponent; where
# they are larger, the differences themselves are needed, unless the kernel value is beyond the range of exp anyway.
SURE_NORMS = 2000.0
SURELY_ZERO = 746.0
NORMS_ERROR = 1e-10
# Rows with more entries than this share of their features are better made dense.
CROWDED = 1 / 16


def _is_crowded(X: Rows) -> bool:
    return not sparse.issparse(X) or X.nnz > CROWDED * X.shape[0] * X.shape[1]


def _squared_differences(X: Rows, Z: Rows, pairs: tuple[Array, Array], root: Array) -> Array:
    """Squared distances of pairs of rows, by differences of their entries times `root`."""
    X, Z = sparse.csr_array(X), sparse.csr_array(Z)
    out = np.empty(pairs[0].size)
    entries = 1 + (X.nnz + Z.nnz) // (X.shape[0] + Z.shape[0])
    for part in block_slices(out.size, 64 * entries):
        difference = sparse.csr_array(X[pairs[0][part]] - Z[pairs[1][part]])
        difference.data = np.clip(difference.data, -LARGEST, LARGEST)  # times a width of 0 it must be 0
        out[part] = squared_norms(scale_columns(difference, root))
    return out


LARGEST = np.finfo(np.float64).max


@dataclass(frozen=True)
class Laplacian(_WidthKernel):
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

    def expand(
        self, X: Any, Z: Any, coef: Array, intercept: Array | None = None, *, n_threads: int = 1
    ) -> Array:
        X, Z = _pair(X, Z)
        wide = np.asarray(Z.astype(np.float64).T @ np.asarray(coef, dtype=np.float64)).T  # (k, d)
        offset = np.zeros(len(wide)) if intercept is None else np.asarray(intercept, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            weights = np.ascontiguousarray(wide, dtype=X.dtype)
            out = (self(X, weights, n_threads=n_threads) + offset).astype(X.dtype, copy=False)
            again = np.flatnonzero(~np.isfinite(out).all(axis=1))
            if again.size and X.dtype == np.float32:  # in float64 what is added up fits
                out[again] = self(X[again].astype(np.float64), np.ascontiguousarray(wide)) + offset
        return _outputs_that_fit(out, X, self.name, self._to_lower)


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
        gamma = _checked_gamma(self.gamma)
        if not isinstance(gamma, float):
            raise ValueError("gamma must be one number for the polynomial kernel.")
        if not (isinstance(self.degree, Integral) and self.degree >= 0):
            raise ValueError(f"degree must be a whole number, 0 or more, got {self.degree!r}.")
        object.__setattr__(self, "gamma", gamma)
        object.__setattr__(self, "coef0", _checked_number("coef0", self.coef0))
        object.__setattr__(self, "degree", int(self.degree))

    def _parameters(self, d: int) -> tuple[float, float, int, Array]:
        return self.gamma, self.coef0, self.degree, _NO_WIDTHS

    def _from_products(self, products: Array) -> Array:
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
        gamma = _checked_gamma(self.gamma)
        if not isinstance(gamma, float):
            raise ValueError("gamma must be one number for the sigmoid kernel.")
        object.__setattr__(self, "gamma", gamma)
        object.__setattr__(self, "coef0", _checked_number("coef0", self.coef0))

    def _parameters(self, d: int) -> tuple[float, float, int, Array]:
        return self.gamma, self.coef0, 0, _NO_WIDTHS

    def _from_products(self, products: Array) -> Array:
        return np.tanh(self.gamma * products + self.coef0)

    def diag(self, X: Any) -> Array:
        X = as_rows(X)
        norms = squared_norms(X)
        return self._from_products(norms).astype(X.dtype)


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
        X, Z = _pair(X, Z)
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
        X, Z = _pair(X, Z)
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
        return expand_in_blocks(self, X, Z, np.asarray(coef, dtype=X.dtype), intercept)


KERNELS: dict[str, type[Any]] = {
    kernel.name: kernel for kernel in (RBF, Linear, Polynomial, Sigmoid, Laplacian, Precomputed)
}


def is_positive_definite(kernel: Kernel) -> bool:
    """Whether the kernel is known to be positive (semi-)definite for every set of points."""
    if isinstance(kernel, Polynomial):
        return kernel.coef0 >= 0
    return isinstance(kernel, RBF | Linear | Laplacian)


# Widths that are as near to each other as this, relatively, are one width that was computed feature by feature.
SAME_WIDTH = 1e-12
# A standard deviation this small beside the mean is the rounding of constant entries.
ROUNDING = 1e-13


def _centred_squares(X: Rows, mean: float) -> Array:  # (n,)
    """Sum of (x_j - mean)^2 for each row, zeros of CSR included."""
    if not sparse.issparse(X):
        return np.square(X - np.float64(mean)).sum(axis=1)
    X = sparse.csr_array(X, dtype=np.float64, copy=True)
    X.sum_duplicates()
    X.data = np.square(X.data - mean)
    return np.asarray(X.sum(axis=1)).ravel() + (X.shape[1] - np.diff(X.indptr)) * mean**2


def resolve_gamma(gamma: Any, X: Rows, sample_weight: Array | None = None) -> float | Array:
    """Turn `gamma="scale"` or `"auto"` into a number, as scikit-learn does.

    "scale" is 1 / (d * variance of all entries of X), each row counted as often as its weight says;
    "auto" is 1 / d.
    """
    if not isinstance(gamma, str):
        checked = _checked_gamma(gamma)
        return checked if isinstance(checked, float) else np.array(checked)
    d = X.shape[1]
    if gamma == "auto":
        return 1.0 / d
    if gamma != "scale":
        raise ValueError(f"gamma must be 'scale', 'auto', a number or an array, got {gamma!r}.")
    weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight
    total = weight.sum() * d
    with np.errstate(over="ignore", invalid="ignore"):
        # SciPy adds float32 in float32 whatever the dtype asked for
        sums = (X.astype(np.float64) if sparse.issparse(X) else X).sum(axis=1, dtype=np.float64)
        mean = float(weight @ np.asarray(sums).ravel() / total)
        centred_squares = sum(
            float(weight[rows] @ _centred_squares(X[rows], mean)) for rows in block_slices(X.shape[0], 8 * d)
        )
        variance = float(centred_squares / total)
    if not np.isfinite(variance) or (variance > 0 and 1.0 / (d * variance) == 0):
        raise ValueError(
            "X has entries so large that gamma='scale' overflows; divide X by its scale "
            "(sklearn.preprocessing.StandardScaler does), or give gamma as a number."
        )
    # constant X has no scale: its variance is what rounding left, and would give a huge gamma
    smallest = max(np.finfo(np.float64).tiny, (ROUNDING * mean) ** 2)
    return 1.0 / (d * variance) if variance > smallest else 1.0


def one_if_equal(widths: Array) -> float | Array:  # (d,)
    """One number where the widths of the features differ in nothing but rounding, else the widths.

    Examples
    --------
    >>> one_if_equal(np.array([0.1 + 0.2, 0.3])), one_if_equal(np.array([0.1, 0.3]))
    (0.3, array([0.1, 0.3]))
    """
    if np.ptp(widths) <= SAME_WIDTH * widths.max():
        return float(widths.min())
    return widths


def as_kernel(kernel: Any, gamma: Any = 1.0, degree: int = 3, coef0: float = 0.0) -> Kernel:
    """Turn a name, a function or a `Kernel` into a `Kernel`: the one place where names are read.

    Examples
    --------
    >>> as_kernel("rbf", gamma=0.5)
    RBF(gamma=0.5)
    """
    if isinstance(kernel, str):
        if kernel not in KERNELS:
            raise ValueError(
                f"kernel must be one of {', '.join(map(repr, KERNELS))}, a Kernel or a function, "
                f"got {kernel!r}."
            )
        kind = KERNELS[kernel]
        if kind is Polynomial:
            return Polynomial(gamma=gamma, coef0=coef0, degree=degree)
        if kind is Sigmoid:
            return Sigmoid(gamma=gamma, coef0=coef0)
        made: Kernel = kind(gamma) if issubclass(kind, _WidthKernel) else kind()
        return made
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return FunctionKernel(kernel)
    raise ValueError(f"kernel must be a name, a Kernel or a function, got {kernel!r}.")
