"""What rows, targets and weights must be before anything is trained on them; else an error that says what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from ..rows import Array, Rows
from ..training import check_weights

# The largest size of a target, by the dtype of the model; its inverse is the smallest. Fourth powers of targets, which
# the marginal likelihood needs, then are numbers in float64, and in float32 coefficients a million times as large.
LARGEST_TARGET = {"float64": 1e60, "float32": 1e30}
# Squares of smaller entries lose their digits, or vanish.
SMALLEST_ENTRY = 1e-140


def has_texts(X: Any) -> bool:
    """Whether it is these rows that are no numbers."""
    try:
        np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return True
    return False


def texts_in_y(name: str, error: ValueError) -> ValueError:
    """The error for targets that are names."""
    return ValueError(
        f"y has texts ({error}), and {name} predicts numbers; for classes there are the classifiers."
    )


def check_products(X: Rows) -> None:
    """Refuse rows all of whose products vanish."""
    largest = max(abs(float(X.max())), abs(float(X.min())))
    if 0 < largest < SMALLEST_ENTRY:
        raise ValueError(
            f"X has entries so small (the largest is {largest:.3g}) that their products vanish; divide X by its scale "
            "(sklearn.preprocessing.MaxAbsScaler does)."
        )


def checked_weight(sample_weight: Any, X: Rows, between: tuple[float, float] = (0.0, np.inf)) -> Array:
    """Sample weights as float64; at least one must be positive, and the largest lie between these."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    weight: Array = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not (weight > 0).any():
        raise ValueError("sample_weight must be positive for at least one row; all weights are zero.")
    check_weights(weight, between)
    return weight


def check_targets(Y: Array, dtype: np.dtype[Any]) -> None:
    """Refuse targets whose squares, which every method adds up, are out of the range of numbers."""
    largest, limit = float(np.abs(Y).max(initial=0.0)), LARGEST_TARGET[dtype.name]
    if 0 < largest < 1 / limit or largest > limit:
        small = largest < 1
        raise ValueError(
            f"y is too {'small' if small else 'large'} to be trained on in {dtype}: the entry of largest size is "
            f"{largest:.3g}, and it must be between {1 / limit:.0e} and {limit:.0e}; divide y by its scale, as "
            "sklearn.compose.TransformedTargetRegressor does with a MaxAbsScaler."
        )
