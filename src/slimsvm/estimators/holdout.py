"""Part of the training set held out to choose a size, in a way that knows weights and equal rows."""

from __future__ import annotations

import numpy as np

from ..rows import Array
from .training import TrainingSet


def split(
    data: TrainingSet, fraction: float, rng: np.random.Generator, stratify: bool
) -> tuple[Array, Array]:
    """Numbers of the rows to train on and to hold out; at least one row each, and each class in training.

    The rows are distinct and in an order of their own, so that the split depends on neither the order nor
    the repetition of what the user gave.
    """
    n = len(data.weight)
    held = np.zeros(n, dtype=bool)
    kinds = data.Y.argmax(axis=1) if data.Y.shape[1] > 1 else (data.Y[:, 0] > 0).astype(np.intp)
    groups = [np.flatnonzero(kinds == kind) for kind in np.unique(kinds)] if stratify else [np.arange(n)]
    for group in groups:
        size = min(len(group) - 1, round(fraction * len(group)))
        held[rng.choice(group, size=max(0, size), replace=False)] = True
    if not held.any():
        raise ValueError(
            f"validation_fraction={fraction!r} holds out no row of n_samples={n}; raise it or give more rows."
        )
    return np.flatnonzero(~held), np.flatnonzero(held)


def score(outputs: Array, Y: Array, weight: Array, classify: bool) -> float:
    """Weighted accuracy for labels -1 and +1 against the rest, minus the weighted squared error for targets.

    A row whose target is a mean of labels counts with the share of each label.
    """
    if not classify:
        return -float(weight @ ((outputs - Y) ** 2).sum(axis=1)) / float(weight.sum())
    if Y.shape[1] == 1:
        hit = 0.5 * (1.0 + np.where(outputs[:, 0] > 0, Y[:, 0], -Y[:, 0]))
    else:
        hit = 0.5 * (1.0 + Y[np.arange(len(Y)), outputs.argmax(axis=1)])
    return float(weight @ hit) / float(weight.sum())
