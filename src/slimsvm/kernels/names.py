"""How names and widths become a kernel."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from ..rows import Array, Rows, block_slices, dense, is_crowded
from .base import Kernel, checked_gamma
from .built_in import RBF, Laplacian, Linear, Polynomial, Sigmoid, WidthKernel
from .others import FunctionKernel, Precomputed

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


def _blocks(X: Rows) -> Iterator[tuple[slice, Rows]]:
    """Blocks of the rows, dense where the rows are crowded."""
    crowded = is_crowded(X)
    for rows in block_slices(X.shape[0], 8 * X.shape[1]):
        yield rows, dense(X[rows]) if crowded else X[rows]


def _sums(X: Rows) -> Array:  # (n,)
    """Sum of the entries of each row, in float64."""
    # SciPy adds float32 in float32 whatever the dtype asked for
    return np.asarray(
        (X.astype(np.float64) if sparse.issparse(X) else X).sum(axis=1, dtype=np.float64)
    ).ravel()


def _centred_squares(X: Rows, mean: np.float64) -> Array:  # (n,)
    """Sum of (x_j - mean)^2 for each row, zeros of CSR included."""
    if not sparse.issparse(X):
        return np.square(X - mean).sum(axis=1)
    X = sparse.csr_array(X, dtype=np.float64, copy=True)
    X.sum_duplicates()
    X.data = np.square(X.data - mean)
    return np.asarray(X.sum(axis=1)).ravel() + (X.shape[1] - np.diff(X.indptr)) * mean**2


def _spread(X: Rows, mean: np.float64) -> float:
    """The largest distance of an entry from the mean."""
    return max(abs(float(X.max()) - mean), abs(float(X.min()) - mean))


def resolve_gamma(gamma: Any, X: Rows, sample_weight: Array | None = None) -> float | Array:
    """Turn `gamma="scale"` or `"auto"` into a number, as scikit-learn does.

    "scale" is 1 / (d * variance of all entries of X), each row counted as often as its weight says;
    "auto" is 1 / d.
    """
    if not isinstance(gamma, str):
        checked = checked_gamma(gamma)
        return checked if isinstance(checked, float) else np.array(checked)
    d = X.shape[1]
    if gamma == "auto":
        return 1.0 / d
    if gamma != "scale":
        raise ValueError(f"gamma must be 'scale', 'auto', a number or an array, got {gamma!r}.")
    weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight
    total = weight.sum() * d
    with np.errstate(over="ignore", invalid="ignore"):
        mean = weight @ np.concatenate([_sums(block) for _, block in _blocks(X)]) / total
        centred_squares = sum(
            float(weight[rows] @ _centred_squares(block, mean)) for rows, block in _blocks(X)
        )
        variance = float(centred_squares / total)
    if not np.isfinite(variance) or (variance > 0 and 1.0 / (d * variance) == 0):
        raise ValueError(
            "X has entries so large that gamma='scale' overflows; divide X by its scale "
            "(sklearn.preprocessing.StandardScaler does), or give gamma as a number."
        )
    # constant X has no scale: its variance is what rounding left, and would give a huge gamma
    tiny = np.finfo(np.float64).tiny
    if variance > tiny and math.sqrt(variance) > ROUNDING * abs(mean):  # a square of the mean may overflow
        return 1.0 / (d * variance)
    if variance <= tiny and _spread(X, mean) > ROUNDING * abs(mean):
        raise ValueError(
            "X has entries so near to each other that gamma='scale' overflows; divide X by its scale "
            "(sklearn.preprocessing.MaxAbsScaler does), or give gamma as a number."
        )
    return 1.0


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
        made: Kernel = kind(gamma) if issubclass(kind, WidthKernel) else kind()
        return made
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return FunctionKernel(kernel)
    raise ValueError(f"kernel must be a name, a Kernel or a function, got {kernel!r}.")
