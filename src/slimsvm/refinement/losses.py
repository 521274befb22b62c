"""Losses with a continuous derivative: what refinement can minimise by L-BFGS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..losses import Squared, SquaredHinge
from ..rows import Array

# Half the width of the parabola that rounds a corner: smooth enough for L-BFGS, and nowhere more than a
# quarter of this above the loss with the corner.
ROUNDING = 0.25


class SmoothLoss(Protocol):
    """A loss with a continuous derivative; arrays broadcast."""

    def value(self, y: Array, f: Array) -> Array:
        """Loss of output f where y is wanted."""
        ...

    def derivative(self, y: Array, f: Array) -> Array:
        """Derivative with respect to f."""
        ...


@dataclass(frozen=True)
class RoundedHinge:
    """The hinge max(0, 1 - y f) with a parabola from 1 - `rounding` to 1 + `rounding` in place of its corner.

    Examples
    --------
    >>> RoundedHinge(0.5).value(1.0, np.array([2.0, 1.0, 0.0]))
    array([0.   , 0.125, 1.   ])
    """

    rounding: float = ROUNDING

    def value(self, y: Array, f: Array) -> Array:
        """Loss of output f where the sign y is wanted."""
        h = self.rounding
        short = np.maximum(0.0, 1.0 + h - np.multiply(y, f))
        return np.where(short < 2.0 * h, np.square(short) / (4.0 * h), short - h)

    def derivative(self, y: Array, f: Array) -> Array:
        """Derivative with respect to f."""
        h = self.rounding
        return -np.asarray(y) * np.clip(1.0 + h - np.multiply(y, f), 0.0, 2.0 * h) / (2.0 * h)


@dataclass(frozen=True)
class RoundedInsensitive:
    """max(0, |y - f| - epsilon) with parabolas of half-width `rounding` in place of its corners.

    Examples
    --------
    >>> RoundedInsensitive(1.0, 0.5).value(0.0, np.array([0.25, 1.0, -3.0]))
    array([0.   , 0.125, 2.   ])
    """

    epsilon: float
    rounding: float = ROUNDING

    def value(self, y: Array, f: Array) -> Array:
        """Loss of output f where y is wanted."""
        h = self.rounding
        excess = np.maximum(0.0, np.abs(np.subtract(f, y)) - self.epsilon + h)
        return np.where(excess < 2.0 * h, np.square(excess) / (4.0 * h), excess - h)

    def derivative(self, y: Array, f: Array) -> Array:
        """Derivative with respect to f."""
        h, error = self.rounding, np.subtract(f, y)
        slope: Array = np.sign(error) * np.clip(np.abs(error) - self.epsilon + h, 0.0, 2.0 * h) / (2.0 * h)
        return slope


def core_loss(loss: SmoothLoss) -> tuple[str, float, float] | None:
    """Name, rounding and epsilon of the loss as the compiled core takes them; None if it does not know it."""
    if isinstance(loss, RoundedHinge):
        return "rounded_hinge", loss.rounding, 0.0
    if isinstance(loss, RoundedInsensitive):
        return "insensitive", loss.rounding, loss.epsilon
    if isinstance(loss, SquaredHinge):
        return "squared_hinge", 0.0, 0.0
    return ("squared", 0.0, 0.0) if isinstance(loss, Squared) else None
