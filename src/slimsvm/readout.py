"""Probabilities of the classes from the outputs of a machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from .rows import Array


def class_probabilities(outputs: Array, link: Any) -> Array:  # (n, k) -> (n, n_classes)
    """Probabilities from outputs whose link is a distribution function; several classes are scaled to one.

    The class of the largest probability is the one `predict` gives.
    """
    if outputs.shape[1] == 1:
        second = link(outputs[:, 0])
        first = link(-outputs[:, 0])
        return np.column_stack([first, second])
    each = np.maximum(link(outputs), np.finfo(outputs.dtype).tiny)
    probabilities: Array = each / each.sum(axis=1, keepdims=True)
    return probabilities
