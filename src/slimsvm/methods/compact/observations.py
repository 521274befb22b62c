"""The rows a compact model is fitted to, and folds of them that know weights and repetitions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from ...refinement import SmoothLoss
from ...rows import Array, Rows

TINY = np.finfo(np.float64).tiny


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
    count : array of shape (n,)
        How many observations each row stands for, as whole numbers.
    classify : bool
    loss : SmoothLoss
    """

    X: Rows
    Y: Array
    weight: Array
    count: Array
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
        return replace(self, X=self.X[rows], Y=self.Y[rows], weight=self.weight[rows], count=self.count[rows])

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

        A row that stands for several observations is spread over several folds, as if it were repeated.
        """
        held = np.zeros((n_folds, self.n))
        first = 0
        for kind in np.unique(self.groups):
            rows = rng.permutation(np.flatnonzero(self.groups == kind))
            count = self.count[rows]
            place = first + np.concatenate([[0], np.cumsum(count)[:-1]])
            for fold in range(n_folds):
                # observations place, place + 1, ..., place + count - 1 fall in turn on the folds
                before = (fold - place) % n_folds
                falls = np.where(before < count, (count - before + n_folds - 1) // n_folds, 0)
                held[fold, rows] = self.weight[rows] * falls / count
            first += int(count.sum())
        return [(np.where(part >= self.weight, 0.0, self.weight - part), part) for part in held]

    def mistakes(self, outputs: Array) -> Array:  # (n, k) -> (n,)
        """What each row costs: 1 for a wrong class, the mean squared error for targets."""
        if not self.classify:
            return np.square(outputs - self.Y).mean(axis=1)
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


def whole_counts(weight: Array, most: int) -> Array:
    """How many observations each weight stands for, at most `most`.

    Weights that are all whole numbers count observations, in units of their greatest common divisor; others
    are importances, and each row is one observation.

    Examples
    --------
    >>> whole_counts(np.array([2.0, 4.0, 20.0]), 5)
    array([1, 2, 5])
    >>> whole_counts(np.array([0.5, 2.0]), 5)
    array([1, 1])
    """
    if not (np.isfinite(weight).all() and (weight == np.round(weight)).all() and weight.max() < 2**53):
        return np.ones(len(weight), dtype=np.int64)
    numbers = weight.astype(np.int64)
    return np.minimum(numbers // np.gcd.reduce(numbers), most)
