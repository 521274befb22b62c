"""What training starts from and ends with: rows, targets and weights; an expansion and what else is known.

`TrainingSet` merges equal rows and puts them in an order of their own, holds a part out, and gives the kernel matrix.
`Trained` is what every method returns.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .expansion import KernelExpansion
from .kernel_order import hashed, kernel_order
from .kernels import Kernel
from .probability import Probability
from .problem import KernelGram
from .rows import Array, Rows, distinct_rows

# What the largest sample weight lies between, so that squares of sums of weights, of their products with kernel values
# and of their quotients with C are numbers.
WEIGHTS_BETWEEN = (1e-100, 1e30)
# What C times the largest weight lies between: interior points multiply it with what its inverse has been in.
PENALTIES_BETWEEN = (1e-100, 1e30)


@dataclass(frozen=True)
class TrainingSet:
    """Rows with their targets and weights.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
        For a precomputed kernel the square matrix of kernel values.
    Y : array of shape (n, k)
        Targets, or labels -1 and +1 against the rest.
    weight : array of shape (n,)
        Positive weights, class weights included.
    rows : array of shape (n,)
        Number each row has in what the user gave.
    codes : array of shape (n,)
        Number of the class of each row, or of its target among the different ones.
    classify : bool
        Whether Y holds labels.
    precomputed : bool
        Whether X holds kernel values.
    distinct : bool
        Whether it is known that no two rows of X are equal.
    """

    X: Rows
    Y: Array
    weight: Array
    rows: Array
    codes: Array
    classify: bool = False
    precomputed: bool = False
    distinct: bool = False

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.weight)

    @property
    def mean(self) -> Array:  # (k,)
        """Weighted mean of the targets."""
        mean: Array = self.weight @ self.Y / self.weight.sum()
        return mean

    def merged_by_row(self) -> TrainingSet:
        """Merge equal rows of X; their target is the weighted mean.

        For the squared loss this is the same problem: the objective changes by a constant only. The order of the
        result depends on the values of the rows and not on their order, of a kernel matrix too.
        """
        first, group = _in_order(self.X, self.Y, self.weight, self.precomputed)
        total = _sums(group, self.weight, first.size)
        means = np.column_stack([_sums(group, self.weight * y, first.size) / total for y in self.Y.T])
        return self._merged(first, total, means, distinct=True)

    def merged_by_row_and_target(self) -> TrainingSet:
        """Merge rows that are equal in X and in their class or target, as `merged_by_row` does for X alone.

        The rows of the first class come first.
        """
        first, group = _in_order(self.X, self.Y, self.weight, self.precomputed)
        kinds, first_of_kind, kind = np.unique(
            self.codes * first.size + group, return_index=True, return_inverse=True
        )
        total = _sums(kind, self.weight, kinds.size)
        return self._merged(first_of_kind, total, self.Y[first_of_kind], distinct=kinds.size == first.size)

    def _merged(self, first: Array, total: Array, Y: Array, *, distinct: bool) -> TrainingSet:
        return replace(
            self,
            X=part_of_rows(self.X, first, self.precomputed),
            Y=Y,
            weight=total,
            rows=self.rows[first],
            codes=self.codes[first],
            distinct=distinct,
        )

    def gram(self, kernel: Kernel, n_threads: int = 1) -> KernelGram:
        """The kernel matrix of the rows."""
        return KernelGram(kernel, self.X, n_threads)

    def vectors(self, chosen: Array) -> Rows:
        """What stands for these rows in an expansion: the rows, or their numbers for a precomputed kernel."""
        return self.rows[chosen][:, None] if self.precomputed else self.X[chosen]


def _sums(group: Array, values: Array, n_groups: int) -> Array:  # (n_groups,)
    """The sum of the values of each group, rounded once: neither order nor repetitions of rows change a bit."""
    sums: Array = np.bincount(group, weights=values, minlength=n_groups)
    counts = np.bincount(group, minlength=n_groups)
    order, ends = np.argsort(group, kind="stable"), np.cumsum(counts)
    for place in np.flatnonzero(counts > 2).tolist():  # two are rounded once as it is
        its = values[order[ends[place] - counts[place] : ends[place]]]
        with contextlib.suppress(OverflowError):  # then it is infinite
            sums[place] = math.fsum(its.tolist())
    return sums


@dataclass(frozen=True)
class Trained:
    """What training ends with.

    Parameters
    ----------
    expansion : KernelExpansion
    support : array of shape (m,) or None
        Number each vector has in what the user gave; None where vectors are no training rows.
    n_iter : int
        Iterations of the method.
    probability : Probability or None
        How the outputs become probabilities.
    extras : mapping
        What only this method knows, by the name of the fitted attribute (`gap_`, `path_`).
    """

    expansion: KernelExpansion
    support: Array | None = None
    n_iter: int = 1
    probability: Probability | None = None
    extras: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def on_rows(
        cls,
        data: TrainingSet,
        kernel: Kernel,
        alpha: Array,  # (m, k)
        intercept: Array,  # (k,)
        *,
        chosen: Array | None = None,  # (m,)
        **options: Any,
    ) -> Trained:
        """An expansion on rows of the training set (all, or those chosen) with coefficients alpha.

        Rows whose coefficients are all zero are left out, and equal rows become one vector.
        """
        used = np.flatnonzero((alpha != 0).any(axis=1))
        rows = used if chosen is None else chosen[used]
        dtype = data.X.dtype
        coef, constant = in_range(alpha[used], dtype), in_range(intercept, dtype)
        expansion = KernelExpansion(kernel, data.vectors(rows), coef, constant)
        compacted, kept = expansion.compact_with_rows()
        return cls(compacted, data.rows[rows][kept], **options)

    def with_coefficients(self, coef: Array, intercept: Array) -> Trained:  # (m, k), (k,)
        """The same vectors with other coefficients."""
        dtype = self.expansion.coef.dtype
        expansion = replace(self.expansion, coef=in_range(coef, dtype), intercept=in_range(intercept, dtype))
        return replace(self, expansion=expansion)


def in_range(coef: Array, dtype: Any, unit: Any = 1.0) -> Array:
    """Coefficients times a unit in the precision of the rows, or that they are too large for it."""
    with np.errstate(over="ignore"):
        found = np.asarray(coef * unit).astype(dtype)
    if np.isinf(found).any() and np.isfinite(coef).all():
        size = np.log10(np.abs(coef).max()) + np.log10(np.abs(unit).max())
        largest = f"1e{size:+.0f}"
        double = "rows in float64, " if np.dtype(dtype) != np.float64 else ""
        raise ValueError(
            f"the coefficients of the model, up to {largest}, are too large for {np.dtype(dtype)}; use "
            f"{double}smaller weights or a smaller C."
        )
    return found


def part_of_rows(X: Rows, rows: Array, precomputed: bool) -> Rows:
    """Some rows of X, and of a kernel matrix the same columns."""
    if len(rows) == X.shape[0] and (rows == np.arange(len(rows))).all():
        return X
    return X[rows][:, rows] if precomputed else X[rows]


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


def check_weights(
    weight: Array,
    between: tuple[float, float] = (0.0, np.inf),
    C: float | None = None,
    penalties: tuple[float, float] = PENALTIES_BETWEEN,
) -> None:
    """Refuse weights that cannot be added up, or the largest of which, alone or times C, is out of range."""
    largest = weight.max()
    with np.errstate(over="ignore"):
        usable = largest >= np.finfo(np.float64).tiny and np.isfinite(weight.sum())
    if not usable or not between[0] <= largest <= between[1]:
        raise ValueError(
            f"sample_weight is too {'small' if largest < 1 else 'large'} to be added up and divided by (the largest is "
            f"{largest:.3g}, class weights included); divide it by its largest entry, and multiply C by that."
        )
    least, most = penalties
    if C is not None and not least / C <= largest <= most / C:
        how = "small" if largest < 1 / C else "large"
        raise ValueError(
            f"C is too {how} to be trained with: times the largest sample_weight ({largest:.3g}, class weights "
            f"included) it must be between {least:.0e} and {most:.0e}, got C={C:.3g}."
        )


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


def hold_out(data: TrainingSet, fraction: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Numbers of the rows to train on and to hold out; at least one row each, and each class in training.

    The rows are distinct and in an order of their own, so that the split depends on neither the order nor
    the repetition of what the user gave; classes follow in the order of their first rows, whatever their names.
    """
    n = len(data.weight)
    held = np.zeros(n, dtype=bool)
    kinds = data.Y.argmax(axis=1) if data.Y.shape[1] > 1 else np.sign(data.Y[:, 0])
    first = np.sort(np.unique(kinds, return_index=True)[1])
    groups = [np.flatnonzero(kinds == kinds[row]) for row in first] if data.classify else [np.arange(n)]
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
