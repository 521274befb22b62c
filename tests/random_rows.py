"""Random training data as users have them at their worst, for every estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier, is_regressor

from everyone import make

# Rows and features; n = 2, one feature and n < d among them.
SHAPES = ((2, 1), (2, 3), (3, 2), (6, 9), (12, 1), (20, 2), (30, 3), (25, 40))
LABELS: tuple[Any, ...] = (
    np.array([0, 1, 2]),
    np.array([-1.0, 1.0, 7.0]),
    np.array(["no", "yes", "perhaps"], dtype=object),
    np.array([False, True, True]),
)


def _duplicates(X, rng):
    return X[rng.integers(0, max(1, len(X) // 2), len(X))]


def _constant_column(X, rng):
    X[:, 0] = rng.choice([0.0, 1.0, -9999.0, 0.1])
    return X


def _sentinels(X, rng):
    X[rng.random(X.shape) < 0.2] = -9999.0
    return X


def _outlier(X, rng):
    X[rng.integers(len(X)), rng.integers(X.shape[1])] = rng.choice([1e6, -1e20, 1e100])
    return X


def _zeros(X, rng):
    X[rng.random(X.shape) < 0.6] = 0.0
    return X


def _whole_numbers(X, rng):
    return np.rint(X)


# Each makes other rows of these; what is exact in float64 stays so.
GENTLE = {
    "as they are": lambda X, rng: X,
    "duplicates": _duplicates,
    "a constant column": _constant_column,
    "sentinels": _sentinels,
    "zeros": _zeros,
    "whole numbers": _whole_numbers,
    "an offset": lambda X, rng: X + 1e8,
    "columns of different size": lambda X, rng: X * 10.0 ** rng.uniform(-6, 6, X.shape[1]),
}
HARSH = GENTLE | {
    "an outlier": _outlier,
    "the least number": lambda X, rng: np.where(rng.random(X.shape) < 0.1, np.finfo(np.float64).min, X),
    "huge": lambda X, rng: X * 1e150,
    "tiny": lambda X, rng: X * 1e-150,
    "denormal": lambda X, rng: X * 1e-310,
    "all alike": lambda X, rng: np.full_like(X, 3.0),
}


def explicit_zeros(X: Any) -> Any:
    """CSR with every entry stored, under 64-bit indices."""
    n, d = X.shape
    columns, starts = np.tile(np.arange(d, dtype=np.int64), n), np.arange(0, n * d + 1, d, dtype=np.int64)
    return sparse.csr_array((X.ravel().copy(), columns, starts), shape=X.shape)


def unwritable(X: Any) -> Any:
    """A copy that cannot be written to."""
    X = X.copy()
    X.flags.writeable = False
    return X


def not_contiguous(X: Any) -> Any:
    """Every other column of a wider array."""
    wide = np.zeros((len(X), 2 * X.shape[1]))
    wide[:, ::2] = X
    return wide[:, ::2]


def backwards(X: Any) -> Any:
    """A view with a negative stride."""
    return X[::-1].copy()[::-1]


def single(X: Any) -> Any:
    """In float32; what is too large for it becomes infinite."""
    return X.astype(np.float32)


# The same rows (but for `single`) in other containers.
FORMS: tuple[Any, ...] = (
    np.asarray,
    single,
    np.asfortranarray,
    not_contiguous,
    unwritable,
    backwards,
    explicit_zeros,
    sparse.csr_matrix,
    sparse.csr_array,
    sparse.csc_array,
    sparse.coo_matrix,
    sparse.lil_array,
)


@dataclass(frozen=True)
class Case:
    """Rows, targets (None where there are none), weights, and rows to answer."""

    X: Any
    y: Any
    weight: Any
    T: Any


def case(name: str, seed: int, shape: tuple[int, int], kinds: tuple[str, ...], labels: int = 0) -> Case:
    """Data for the estimator of this name; the same for the same arguments."""
    rng = np.random.default_rng(seed)
    n, d = shape
    X = rng.standard_normal((n, d))
    signal = X[:, 0] - 0.3 * X[:, -1] ** 2 + 0.3 * rng.standard_normal(n)
    T = np.vstack([X[: min(n, 4)], rng.standard_normal((4, d))])
    both = np.vstack([X, T])
    with np.errstate(over="ignore", under="ignore"):
        for kind in kinds:
            both = HARSH[kind](both, rng)
    both = np.clip(both, np.finfo(np.float64).min, np.finfo(np.float64).max)
    X, T = both[:n].copy(), both[n:].copy()
    estimator = make(name)
    y: Any = None
    if is_regressor(estimator):
        y = signal
    elif is_classifier(estimator) or name == "ZeroNormSelector":
        codes = (signal > np.median(signal)).astype(int)
        codes[:2] = 0, 1
        if n > 6 and labels % 2:
            codes[rng.integers(2, n, n // 4)] = 2
            codes[2] = 2
        y = LABELS[labels % len(LABELS)][codes]
    # weights that are added up without rounding
    return Case(X, y, rng.integers(1, 9, n) / 4.0, T)
