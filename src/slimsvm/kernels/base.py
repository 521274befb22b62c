"""What a kernel is, and what all of them check."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..rows import Array, Rows, as_rows, block_slices, cast, common_dtype, dense


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
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in block_slices(X.shape[0], 8 * max(1, coef.shape[0])):
            out[rows] = kernel(X[rows], Z, n_threads=n_threads) @ coef
        if intercept is not None:
            out = out + intercept
    return outputs_that_fit(out, X, kernel)


def outputs_that_fit(out: Array, X: Rows, kernel: Any) -> Array:
    """Return the outputs `out` of finite rows of X, or say that some are too large for their dtype."""
    if np.isfinite(out).all():
        return out
    bad = np.flatnonzero(~np.isfinite(out).all(axis=1))
    values = dense(X[bad])
    bad = bad[np.isfinite(values).all(axis=1)]  # where X is not finite, no output can be
    if bad.size:
        wider = "" if out.dtype == np.float64 else ", or use float64"
        name, to_lower = getattr(kernel, "name", kernel), getattr(kernel, "_to_lower", "")
        advice = f"scale X (sklearn.preprocessing.StandardScaler does){to_lower}"
        if name == "precomputed":
            advice = "divide the kernel matrices by the largest value of the first"
        raise ValueError(
            f"kernel={name!r}: the outputs of {bad.size} of {X.shape[0]} rows, the first of them row {bad[0]}, are "
            f"too large for {out.dtype}; {advice}{wider}."
        )
    return out


def checked_gamma(gamma: Any) -> float | tuple[float, ...]:
    """A width, or one for each feature, that a kernel can use."""
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


def checked_number(name: str, value: Any) -> float:
    """A finite number."""
    if not (isinstance(value, Real) and np.isfinite(float(value))):
        raise ValueError(f"{name} must be a finite number, got {value!r}.")
    return float(value)


def pair(X: Any, Z: Any) -> tuple[Rows, Rows]:
    """Both sides as rows of one dtype and one number of features."""
    X, Z = as_rows(X), as_rows(Z, "Z")
    if X.shape[1] != Z.shape[1]:
        raise ValueError(f"X has {X.shape[1]} features, but the vectors have {Z.shape[1]}.")
    dtype = common_dtype(X, Z)
    return cast(X, dtype), cast(Z, dtype)
