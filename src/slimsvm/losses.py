r"""The losses: what a wrong output costs, and what that means in the dual.

A machine minimises :math:`\tfrac12 |f|^2 + \sum_i C_i\, \ell(y_i, f(x_i) + b)`. With dual coefficients
:math:`\alpha_i = -C_i\, \partial\ell`, :math:`f = \sum_i \alpha_i k(x_i, \cdot)` and the dual problem is to
maximise :math:`-\tfrac12 \alpha^\top K \alpha - \sum_i \mathrm{conjugate}_i(\alpha_i)`, subject to
:math:`\sum_i \alpha_i = 0` when the intercept b is free. Labels are -1 and +1, targets any number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .rows import Array


class Loss(Protocol):
    """A loss, with its derivative and its part of the dual problem; all arrays broadcast."""

    def value(self, y: Array, f: Array) -> Array:
        """Loss of output f where y is wanted."""
        ...

    def derivative(self, y: Array, f: Array) -> Array:
        """A (sub)derivative of the loss with respect to f."""
        ...

    def conjugate(self, y: Array, alpha: Array, C: Array) -> Array:
        """The dual term; meaningful for alpha inside `project`'s range."""
        ...

    def project(self, y: Array, alpha: Array, C: Array) -> Array:
        """The nearest alpha at which `conjugate` is finite."""
        ...


@dataclass(frozen=True)
class Squared:
    """Half the squared error, (y - f)^2 / 2: least-squares machines.

    Examples
    --------
    >>> float(Squared().value(1.0, 3.0))
    2.0
    """

    def value(self, y: Array, f: Array) -> Array:
        return 0.5 * np.square(np.subtract(y, f))

    def derivative(self, y: Array, f: Array) -> Array:
        return np.subtract(f, y)

    def conjugate(self, y: Array, alpha: Array, C: Array) -> Array:
        return np.square(alpha) / (2.0 * C) - alpha * y

    def project(self, y: Array, alpha: Array, C: Array) -> Array:
        return alpha


@dataclass(frozen=True)
class Hinge:
    """max(0, 1 - y f): the ordinary support vector machine.

    Examples
    --------
    >>> float(Hinge().value(1.0, 0.25))
    0.75
    """

    def value(self, y: Array, f: Array) -> Array:
        return np.maximum(0.0, 1.0 - np.multiply(y, f))

    def derivative(self, y: Array, f: Array) -> Array:
        return np.where(np.multiply(y, f) < 1.0, np.negative(y), 0.0)

    def conjugate(self, y: Array, alpha: Array, C: Array) -> Array:
        return -alpha * y

    def project(self, y: Array, alpha: Array, C: Array) -> Array:
        return y * np.clip(alpha * y, 0.0, C)


@dataclass(frozen=True)
class SquaredHinge:
    """max(0, 1 - y f)^2 / 2: a hard margin on K + I / C.

    Examples
    --------
    >>> float(SquaredHinge().value(1.0, 0.0))
    0.5
    """

    def value(self, y: Array, f: Array) -> Array:
        return 0.5 * np.square(np.maximum(0.0, 1.0 - np.multiply(y, f)))

    def derivative(self, y: Array, f: Array) -> Array:
        return np.negative(y) * np.maximum(0.0, 1.0 - np.multiply(y, f))

    def conjugate(self, y: Array, alpha: Array, C: Array) -> Array:
        return np.square(alpha) / (2.0 * C) - alpha * y

    def project(self, y: Array, alpha: Array, C: Array) -> Array:
        return y * np.maximum(alpha * y, 0.0)
