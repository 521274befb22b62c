"""Refinement: moving the vectors.

`objectives` has what can be minimised, with analytic gradients, for any kernel that has a derivative; `joint`
fits vectors, coefficients, intercept and widths of an RBF expansion together, by L-BFGS on all rows;
`minibatch` does the same on random batches where the rows are many; `starts` says where the vectors begin.
"""

from .joint import RbfModel, refine_jointly
from .losses import RoundedHinge, RoundedInsensitive, SmoothLoss
from .minibatch import refine_in_batches
from .objectives import (
    distance,
    factor_gram,
    fit_coefficients,
    fit_expansion,
    has_gradient,
    kernel_blocks,
    minimise,
    nearest_vectors,
    pull_back,
    regularised_loss,
)

__all__ = [
    "RbfModel",
    "RoundedHinge",
    "RoundedInsensitive",
    "SmoothLoss",
    "distance",
    "factor_gram",
    "fit_coefficients",
    "fit_expansion",
    "has_gradient",
    "kernel_blocks",
    "minimise",
    "nearest_vectors",
    "pull_back",
    "refine_in_batches",
    "refine_jointly",
    "regularised_loss",
]
