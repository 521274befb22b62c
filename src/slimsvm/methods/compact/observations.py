"""The rows a compact model is fitted to, and folds of them that keep copies together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from ...refinement import SmoothLoss
from ...rows import Array, Rows, distinct_rows

TINY = np.finfo(np.float64).tiny
# A model that is off by more counts as very bad, and as a number: errors are squared, and their squares once more.
ASTRAY = 1e60
# Models are compared with errors blurred by this share of the mean margin; if that is less, by this many times the
# share of mistakes that are expected, or this many times one by the square root of the number of rows.
BLUR, NOISE_BLUR = 0.15, 1.5


@dataclass(frozen=True)
class Observations:
    """Distinct rows with what is wanted of them.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
    Y : array of shape (n, k)
        Labels -1 and +1 against the rest, or targets.
    weight : array of shape (n,)
        Weight of each row in the loss and in the score.
    point : array of shape (n,)
        Number of the point each row lies at: rows of equal inputs, which then differ in Y, have the same.
    classify : bool
    loss : SmoothLoss
    """

    X: Rows
    Y: Array
    weight: Array
    point: Array
    classify: bool
    loss: SmoothLoss

    @property
    def n(self) -> int:
        """Number of distinct rows."""
        return len(self.weight)

    @property
    def groups(self) -> Array:  # (n,)
        """The class of each row as a number; zeros for targets."""
        if not self.classify:
            return np.zeros(self.n, dtype=np.intp)
        return self.Y.argmax(axis=1) if self.Y.shape[1] > 1 else (self.Y[:, 0] > 0).astype(np.intp)

    def take(self, rows: Array) -> Observations:
        """These rows alone."""
        return replace(self, X=self.X[rows], Y=self.Y[rows], weight=self.weight[rows], point=self.point[rows])

    def sample(self, size: int, rng: np.random.Generator) -> Array:
        """Numbers of `size` rows, of each class its share and at least one."""
        if size >= self.n:
            return np.arange(self.n)
        chosen = []
        for kind in np.unique(self.groups):
            rows = np.flatnonzero(self.groups == kind)
            chosen.append(rng.permutation(rows)[: max(1, round(size * len(rows) / self.n))])
        return np.sort(np.concatenate(chosen))

    def folds(self, n_folds: int, rng: np.random.Generator) -> list[tuple[Array, Array]]:
        """Weights to train with and weights to test with, each of shape (n,), for each fold.

        All rows of one point are in one fold: a copy of a row that was trained on says nothing about new rows.
        """
        points, at = np.unique(self.point, return_inverse=True)
        if len(points) == 1:  # nothing else can be held out
            points, at = np.arange(self.n), np.arange(self.n)
        kinds = self._heaviest_class(at, len(points))
        fold_of = np.zeros(len(points), dtype=np.intp)
        first = 0
        for kind in np.unique(kinds):
            members = rng.permutation(np.flatnonzero(kinds == kind))
            fold_of[members] = (first + np.arange(len(members))) % n_folds
            first += len(members)
        held = [np.where(fold_of[at] == fold, self.weight, 0.0) for fold in range(n_folds)]
        return [(self.weight - part, part) for part in held]

    def _heaviest_class(self, at: Array, n_points: int) -> Array:  # (n_points,)
        """The class that weighs most at each point."""
        groups = self.groups
        total = np.zeros((n_points, int(groups.max()) + 1))
        np.add.at(total, (at, groups), self.weight)
        return total.argmax(axis=1)

    def mistakes(self, outputs: Array) -> Array:  # (n, k) -> (n,)
        """What each row costs: 1 for a wrong class, the mean squared error for targets."""
        if not self.classify:
            apart = (outputs - self.Y).astype(np.float64, copy=False)
            return np.square(np.clip(apart, -ASTRAY, ASTRAY)).mean(axis=1)
        if self.Y.shape[1] == 1:
            return ((outputs[:, 0] > 0) != (self.Y[:, 0] > 0)).astype(np.float64)
        return (outputs.argmax(axis=1) != self.groups).astype(np.float64)

    def errors(self, outputs: Array, blur: float) -> Array:  # (n, k) -> (n,)
        """The same without jumps, to compare models by: a row near the boundary counts in part.

        For classes it is the probability of a mistake if the margin had a normal error of `blur` times the mean
        size of the margins: whether a row is just right or just wrong is chance.
        """
        if not self.classify:
            return self.mistakes(outputs)
        margins = self._margins(outputs)
        size = float(np.abs(margins).sum()) / max(len(margins), 1)
        return special.ndtr(-margins / max(blur * size, TINY))

    def _margins(self, outputs: Array) -> Array:  # (n,)
        if self.Y.shape[1] == 1:
            return np.where(self.Y[:, 0] > 0, 1.0, -1.0) * outputs[:, 0]
        rows, own = np.arange(len(outputs)), self.groups
        others = np.array(outputs, dtype=np.float64)
        others[rows, own] = -np.inf
        return outputs[rows, own] - others.max(axis=1)


def blur_for(mistakes: float, n_rows: int) -> float:
    """How much blur is right where so many mistakes are expected: the more noise, the more of it is chance."""
    return min(BLUR, NOISE_BLUR * max(mistakes, 1.0 / np.sqrt(n_rows)))


def points_of(X: Rows) -> Array:  # (n,)
    """Number of the first row that is equal to each row.

    Examples
    --------
    >>> points_of(np.array([[1.0], [2.0], [1.0]])).tolist()
    [0, 1, 0]
    """
    _, group = distinct_rows(X)
    _, first, at = np.unique(group, return_index=True, return_inverse=True)
    points: Array = first[at]
    return points


def of_mean_one(weight: Array) -> tuple[Array, float]:  # (n,)
    """The weights in units of their mean, and that unit: all alike are exactly one, however small or large.

    Examples
    --------
    >>> of_mean_one(np.array([1e-9, 3e-9]))
    (array([0.5, 1.5]), 2e-09)
    """
    share = weight / weight.max()
    mean = float(share.mean())
    return share / mean, float(weight.max()) * mean
