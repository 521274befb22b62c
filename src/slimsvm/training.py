"""What an estimator is fitted to: distinct rows, targets and weights, in an order of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .kernel_order import hashed, kernel_order
from .rows import Array, Rows, distinct_rows


@dataclass(frozen=True)
class TrainingSet:
    """Rows with their targets and weights.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
    Y : array of shape (n, k)
        Targets, or labels -1 and +1 against the rest.
    weight : array of shape (n,)
        Positive weights.
    rows : array of shape (n,)
        Number each row has in what the user gave.
    distinct : bool
        Whether it is known that no two rows of X are equal.
    """

    X: Rows
    Y: Array
    weight: Array
    rows: Array
    distinct: bool = False


def with_mean_targets(
    X: Rows, Y: Array, weight: Array, rows: Array, *, precomputed: bool = False
) -> TrainingSet:
    """Merge equal rows of X; their target is the weighted mean.

    For the squared loss this is the same problem: the objective changes by a constant only. The order of
    the result depends on the values of the rows and not on their order, of a kernel matrix (`precomputed`) too.
    """
    first, group = _in_order(X, Y, weight, precomputed)
    total = np.bincount(group, weights=weight, minlength=first.size)
    means = np.column_stack(
        [np.bincount(group, weights=weight * y, minlength=first.size) / total for y in Y.T]
    )
    return TrainingSet(X[first], means, total, rows[first])


def with_equal_targets(
    X: Rows, codes: Array, Y: Array, weight: Array, rows: Array, *, precomputed: bool = False
) -> TrainingSet:
    """Merge rows that are equal in X and in their class, as `with_mean_targets` does for X alone.

    The rows of the first class come first.

    Parameters
    ----------
    codes : array of shape (n,)
        The class of each row as a number from 0.
    """
    first, group = _in_order(X, Y, weight, precomputed)
    kinds, first_of_kind, kind = np.unique(codes * first.size + group, return_index=True, return_inverse=True)
    total = np.bincount(kind, weights=weight, minlength=kinds.size)
    distinct = kinds.size == first.size
    return TrainingSet(X[first_of_kind], Y[first_of_kind], total, rows[first_of_kind], distinct)


def _in_order(X: Rows, Y: Array, weight: Array, precomputed: bool) -> tuple[Array, Array]:
    """`distinct_rows` in an order that permuting the rows does not change."""
    first, group = distinct_rows(X)
    if not precomputed:
        return first, group
    labels = np.zeros(first.size, dtype=np.uint64)
    np.add.at(labels, group, hashed(np.column_stack([Y, weight])))
    order = kernel_order(X, first, labels)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return first[order], place[group]


def class_weights(class_weight: Any, classes: Array, codes: Array, weight: Array) -> Array:  # (n_classes,)
    """Factor on the weights of each class; "balanced" sees the sample weights.

    Examples
    --------
    >>> class_weights("balanced", np.array(["a", "b"]), np.array([0, 0, 0, 1]), np.ones(4)).round(2)
    array([0.67, 2.  ])
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(f"class_weight must be None, 'balanced' or a dict, got {class_weight!r}.")
        totals = np.bincount(codes, weights=weight, minlength=len(classes))
        balanced: Array = totals.sum() / (len(classes) * totals)
        return balanced
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise ValueError(f"class_weight names {unknown[0]!r}, which is not a class of y.")
    factors = np.array([float(class_weight.get(label, 1.0)) for label in labels])
    if not np.isfinite(factors).all() or (factors < 0).any():
        raise ValueError("class_weight must not be negative and must be finite.")
    return factors


def hold_out(
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


def held_out_score(outputs: Array, Y: Array, weight: Array, classify: bool) -> float:
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
