"""What a reduction must preserve: how outputs on the data are judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np
from scipy import special

from ..losses import Hinge
from ..rows import Array
from ..words import count

# The error of a margin in units of the mean margin. With 0.3 the rise of `Mistakes` on the training rows was about the
# loss of accuracy on other rows (ten digits, C=1: 0.9 and 0.7 points with 20 vectors, 2.0 and 2.1 with 12).
BLUR = 0.3
TINY = np.finfo(np.float64).tiny


class Task(Protocol):
    """Judges the outputs of a model on fixed rows."""

    @property
    def name(self) -> str:
        """What `loss` measures, in words."""
        ...

    @property
    def weight(self) -> Array:  # (n,)
        """Weight of each row."""
        ...

    @property
    def scale(self) -> Array:  # (k,)
        """Size of each output."""
        ...

    @property
    def max_rise(self) -> float:
        """How much the loss may rise unless the user says otherwise."""
        ...

    def loss(self, outputs: Array) -> float:  # (n, k)
        """A loss that does not depend on the number of rows or outputs, or on their units."""
        ...


@dataclass(frozen=True)
class Margins:
    """Mean hinge loss over rows and the outputs that concern them, eq. (9).

    Parameters
    ----------
    signs : array of shape (n, k)
        -1 or +1, or 0 where a row does not concern an output (a pair of other classes).
    weight : array of shape (n,)
    """

    signs: Array
    weight: Array
    name: ClassVar[str] = "mean hinge loss"
    max_rise: ClassVar[float] = 0.025

    @property
    def scale(self) -> Array:
        """One: margins have no unit."""
        return np.ones(self.signs.shape[1])

    def loss(self, outputs: Array) -> float:
        """Mean of max(0, 1 - sign * output)."""
        hinge = np.abs(self.signs) * Hinge().value(self.signs, outputs)
        return float(self.weight @ hinge.sum(axis=1) / (self.weight @ np.abs(self.signs).sum(axis=1)))


@dataclass(frozen=True)
class Mistakes(Margins):
    """Share of the rows that get a wrong class, where a row near the boundary counts in part.

    It is the probability of a mistake if the margin between the class of a row and the strongest of the others had a
    normal error of `BLUR` times the mean size of the margins. Whether a row is just right or just wrong is chance, so
    it tells sizes apart where a count of mistakes does not; and it does not depend on the units of the outputs.

    Parameters
    ----------
    signs, weight
        As in `Margins`.
    by_class : bool
        Whether there is one output for each class; otherwise one for each pair, or one.
    """

    by_class: bool = False
    name: ClassVar[str] = "blurred share of mistakes"
    max_rise: ClassVar[float] = 0.01

    def take(self, rows: Array) -> Mistakes:
        """These rows alone."""
        return replace(self, signs=self.signs[rows], weight=self.weight[rows])

    def loss(self, outputs: Array) -> float:
        """Mean probability of a mistake."""
        return float(self.weight @ self.errors(outputs) / self.weight.sum())

    def errors(self, outputs: Array) -> Array:  # (n, k) -> (n,)
        """Probability of a mistake in each row."""
        if self.by_class:
            own = np.where(self.signs > 0, outputs, -np.inf).max(axis=1)
            margins = own - np.where(self.signs > 0, -np.inf, outputs).max(axis=1)
        else:
            margins = np.where(self.signs != 0, self.signs * outputs, np.inf).min(axis=1)
        size = float(self.weight @ np.abs(margins) / self.weight.sum())
        return special.ndtr(-margins / max(BLUR * size, TINY))


@dataclass(frozen=True)
class Targets:
    """Mean squared error over rows and outputs, each output in units of its variance (1 - R^2).

    Parameters
    ----------
    values : array of shape (n, k)
    variance : array of shape (k,)
    weight : array of shape (n,)
    """

    values: Array
    variance: Array
    weight: Array
    name: ClassVar[str] = "mean squared error / variance"
    max_rise: ClassVar[float] = 0.025

    @staticmethod
    def of(values: Array, weight: Array) -> Targets:
        """Targets with their own variance; a constant one counts as it is."""
        share = weight / weight.sum()
        variance = share @ np.square(values - share @ values)
        return Targets(values, np.where(variance > 0, variance, 1.0), weight)

    @property
    def scale(self) -> Array:
        """Standard deviation of each output."""
        return np.sqrt(self.variance)

    def loss(self, outputs: Array) -> float:
        """Mean of (output - value)^2 / variance."""
        errors = (np.square(outputs - self.values) / self.variance).mean(axis=1)
        return float(self.weight @ errors / self.weight.sum())


@dataclass(frozen=True)
class Reduction:
    """How a model was reduced.

    Parameters
    ----------
    method : str
    measure : str
        What `values` holds.
    n_before, n_after : int
        Numbers of vectors.
    sizes : array
        Numbers of vectors at which the measure was taken, the first is the original.
    values : array
        The measure at each of them.
    removed : array
        Numbers in the model of the vectors removed, in order; equal vectors, which are merged before, not
        among them.
    seconds : float
        Wall time.
    """

    method: str
    measure: str
    n_before: int
    n_after: int
    sizes: Array
    values: Array
    removed: Array
    seconds: float

    def with_time(self, seconds: float) -> Reduction:
        """Return the report with this time."""
        return replace(self, seconds=seconds)

    def __str__(self) -> str:
        text = f"{self.method}: {self.n_before} to {count(self.n_after, 'vector')} in {self.seconds:.3g} s"
        if len(self.values):
            text += f", {self.measure} {self.values[0]:.4g} to {self.values[-1]:.4g}"
        if self.method == "exact" and self.n_after == self.n_before:
            text += (
                "; nothing removed: no vector is a combination of others, method='auto' allows a small change"
            )
        return text
