"""What an estimator is fitted to: distinct rows, targets and weights, in an order of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernel_order import hashed, kernel_order
from ..rows import Array, Rows, distinct_rows


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
