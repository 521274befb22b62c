"""Probabilities whose order is that of the outputs: a softmax with one temperature, fitted."""

from __future__ import annotations

import numpy as np
from scipy import optimize

from .readout import two_columns
from .rows import Array

# Logarithms of the factor on the outputs: beyond them every probability is one half, or zero and one.
FACTOR_RANGE = (-7.0, 7.0)


def fit_temperature(outputs: Array, groups: Array, weight: Array) -> float:
    """The factor on the outputs under whose softmax the classes of the rows are most likely.

    Parameters
    ----------
    outputs : array of shape (n, k)
        Of rows the model was not trained on; one column means two classes.
    groups : array of shape (n,)
        The class of each row as a number.
    weight : array of shape (n,)
    """
    F = two_columns(outputs)
    own = F[np.arange(len(F)), groups]

    def surprise(log_factor: float) -> float:
        scaled = np.exp(log_factor) * (F - own[:, None])
        highest = scaled.max(axis=1, keepdims=True)
        return float(weight @ (np.log(np.exp(scaled - highest).sum(axis=1)) + highest[:, 0]))

    found = optimize.minimize_scalar(surprise, bounds=FACTOR_RANGE, method="bounded")
    return float(np.exp(found.x))


def follow_probabilities(outputs: Array, probabilities: Array, weight: Array) -> float:
    """The factor on the outputs whose softmax is nearest, in cross entropy, to given probabilities.

    Parameters
    ----------
    outputs : array of shape (n, k)
        One column means two classes.
    probabilities : array of shape (n, n_classes)
    weight : array of shape (n,)
    """
    n, k = probabilities.shape
    each = np.repeat(outputs, k, axis=0)
    return fit_temperature(each, np.tile(np.arange(k), n), (weight[:, None] * probabilities).ravel())
