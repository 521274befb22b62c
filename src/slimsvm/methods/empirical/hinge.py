"""What the solvers of the hinge loss share: how good a point is, and the best intercept for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...rows import Array

# C times the mean squared length of the features at most: coefficients of this size still leave w = H'(y alpha),
# a number near 1, enough digits for a gap of 1e-6.
LARGEST_C = 1e10
# A slope this small, relative to the sum of C, is zero.
ROUNDING = 1e-14


def best_intercept(y: Array, f: Array, C: Array) -> float:
    """The b that minimises sum_i C_i max(0, 1 - y_i (f_i + b)); the middle of an interval of them."""
    turns = y - f  # each row's loss bends here, and the slope rises by C_i
    order = np.argsort(turns)
    slope = np.cumsum(C[order]) - C[y > 0].sum()
    total = float(C.sum())
    first = min(int(np.searchsorted(slope, -ROUNDING * total)), len(order) - 1)
    last = min(int(np.searchsorted(slope, ROUNDING * total, side="right")), len(order) - 1)
    return float(0.5 * (turns[order[first]] + turns[order[last]]))


def usable(C: Array, mean_square: float) -> Array:
    """C, scaled down where it is too large for features of this mean squared length."""
    largest = float(C.max(initial=0.0)) * mean_square
    return C if largest <= LARGEST_C else C * (LARGEST_C / largest)


def balanced(y: Array, alpha: Array) -> Array:
    """Alpha with y'alpha = 0: the side that sums to more is scaled down."""
    positive, negative = alpha[y > 0].sum(), alpha[y < 0].sum()
    if min(positive, negative) <= 0:
        return np.zeros_like(alpha)
    return alpha * np.where(y > 0, min(1.0, negative / positive), min(1.0, positive / negative))


@dataclass(frozen=True)
class HingePoint:
    """A feasible point of one output and its relative duality gap.

    Parameters
    ----------
    beta : array of shape (n,)
        y * alpha, with 0 <= alpha <= C and a zero sum where the intercept is free.
    b : float
        The best intercept for w = H' beta.
    gap : float
    """

    beta: Array
    b: float
    gap: float

    @staticmethod
    def measure(H: Array, y: Array, C: Array, beta: Array, *, fit_intercept: bool) -> HingePoint:
        """Make beta feasible and measure it."""
        alpha = np.clip(beta * y, 0.0, C)
        if fit_intercept:
            alpha = balanced(y, alpha)
        beta = alpha * y
        w = beta @ H
        f = H @ w
        b = best_intercept(y, f, C) if fit_intercept else 0.0
        norm = float(w @ w)
        primal = 0.5 * norm + float(C @ np.maximum(0.0, 1.0 - y * (f + b)))
        gap = primal - (float(alpha.sum()) - 0.5 * norm)
        return HingePoint(beta, b, gap / max(abs(primal), np.finfo(np.float64).tiny))
