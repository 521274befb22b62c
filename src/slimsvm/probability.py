"""How outputs become probabilities of classes, in an order that agrees with the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, ndtr

from .rows import Array


@dataclass(frozen=True)
class Probability:
    """How outputs become probabilities of the classes.

    Parameters
    ----------
    link : {"logistic", "normal", "softmax"}
        A distribution function of each output (several classes are scaled to sum to one), or a softmax.
    factor : float, default=1.0
        On the outputs, for "softmax"; not negative.
    offset : float or tuple of floats, default=()
        Added to the outputs times the factor, for "softmax": one for each class, or one number for two classes with one
        output. Empty means none.

    Notes
    -----
    Where the offsets would make another class the most likely one, the class that wins by the outputs is ahead by the
    least possible: it and those ahead of it share what they have equally.

    Examples
    --------
    >>> outputs = np.array([[-1.0], [0.5]])
    >>> Probability("softmax", 2.0)(outputs).round(2), Probability("softmax", 2.0, -0.5)(outputs).round(2)
    (array([[0.88, 0.12],
           [0.27, 0.73]]), array([[0.92, 0.08],
           [0.38, 0.62]]))
    """

    link: str
    factor: float = 1.0
    offset: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "offset", tuple(map(float, np.atleast_1d(self.offset))))
        if not (self.factor >= 0 and np.isfinite([self.factor, *self.offset]).all()):
            raise ValueError(
                f"factor and offset must be finite, the factor not negative, got {self.factor!r} and {self.offset!r}."
            )

    def __call__(self, outputs: Array, winner: Array | None = None) -> Array:  # (n, k) -> (n, n_classes)
        """Probabilities; one output means two classes. The largest is that of the class that wins.

        `winner` has the numbers of the classes that win where that is not simply the largest output.
        """
        if self.link == "softmax":
            return softmax(outputs, self.factor, self.offset, winner)
        return by_distribution(outputs, expit if self.link == "logistic" else ndtr, winner)


def by_distribution(
    outputs: Array,  # (n, k)
    distribution: Any,
    winner: Array | None = None,  # (n,)
) -> Array:  # (n, n_classes)
    """Probabilities from a distribution function of each output; several classes are scaled to one.

    Where outputs are so near to each other, or so large, that rounding makes probabilities equal, the class that wins
    is ahead by the least possible.
    """
    winner = two_columns(outputs).argmax(axis=1) if winner is None else winner
    if outputs.shape[1] == 1:
        second = distribution(outputs[:, 0])
        first = distribution(-outputs[:, 0])
        return _with_winner_ahead(np.column_stack([first, second]), winner)
    each = np.maximum(distribution(outputs), np.finfo(outputs.dtype).tiny)
    return _with_winner_ahead(each / each.sum(axis=1, keepdims=True), winner)


def two_columns(outputs: Array) -> Array:  # (n, k) -> (n, n_classes)
    """One output for each class: the first of two has the output 0."""
    return np.hstack([np.zeros_like(outputs), outputs]) if outputs.shape[1] == 1 else outputs


def behind_the_largest(F: Array) -> Array:  # (n, n_classes)
    """How far each output lies behind the largest of its row, as a finite number."""
    with np.errstate(over="ignore"):
        return np.maximum(F - F.max(axis=1, keepdims=True), -np.finfo(np.float64).max)


def softmax(
    outputs: Array,  # (n, k)
    factor: float,
    offset: tuple[float, ...] = (),
    winner: Array | None = None,  # (n,)
) -> Array:  # (n, n_classes)
    """Softmax of the outputs times a factor plus an offset; the largest is always that of the class that wins."""
    F = two_columns(outputs.astype(np.float64))
    winner = F.argmax(axis=1) if winner is None else winner
    with np.errstate(over="ignore"):
        logits = factor * behind_the_largest(F)
    if offset:
        logits = logits + (offset if len(offset) > 1 else (0.0, *offset))
        logits -= logits.max(axis=1, keepdims=True)
    P = np.exp(logits)
    P /= P.sum(axis=1, keepdims=True)
    return _with_winner_ahead(P, winner)


def _with_winner_ahead(P: Array, winner: Array) -> Array:  # (n, n_classes), (n,)
    """The probabilities nearest to P in which the winner is ahead of all others, if by one digit only."""
    rows = np.arange(len(P))
    others = P.copy()
    others[rows, winner] = -np.inf
    late = np.flatnonzero(others.max(axis=1, initial=-np.inf) >= P[rows, winner])
    if not late.size:
        return P
    winner = winner[late]
    # the winner and the j classes that are furthest ahead of it share equally, j as small as suffices
    ahead = -np.sort(-others[late], axis=1)  # the last is that of the winner itself
    shares = np.cumsum(np.column_stack([P[late, winner], ahead[:, :-1]]), axis=1)
    shares /= np.arange(1, shares.shape[1] + 1)
    enough = shares >= ahead
    level = shares[np.arange(len(late)), np.maximum(enough.argmax(axis=1), 1)]
    P[late] = np.minimum(P[late], level[:, None])
    P[late, winner] = np.nextafter(level, 2.0)
    return P
