"""What the generators share: labels in equal numbers, random order, checks."""

from __future__ import annotations

from numbers import Integral
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Features: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = NDArray[np.int64]
Seed: TypeAlias = int | np.random.RandomState | None


def labels(n_samples: int, classes: tuple[int, ...]) -> Labels:
    """Give each class its share of the rows, in turn."""
    return np.resize(np.array(classes, dtype=np.int64), n_samples)


def shuffled(X: Features, y: Labels, rng: np.random.RandomState) -> tuple[Features, Labels]:
    """The rows in random order."""
    order = rng.permutation(len(y))
    return np.ascontiguousarray(X[order]), y[order]


def check_count(name: str, value: object) -> None:
    """A number of rows must be a whole number."""
    if not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, but is {value!r}.")


def check_noise(noise: float) -> None:
    """A standard deviation must not be negative."""
    if not (np.isfinite(noise) and noise >= 0.0):
        raise ValueError(f"noise must be a standard deviation of at least 0, but is {noise!r}.")
