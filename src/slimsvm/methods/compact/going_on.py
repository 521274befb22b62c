"""Going on from a model that is there: its vectors and metric moved for other rows, its size kept.

`partial_fit` goes on with every chunk, `warm_start` from a model that was fitted before. A few of the vectors, those
without which the function changes least, are put where the loss of the new rows is largest; then everything moves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ...expansion import KernelExpansion
from ...kernels import RBF, one_if_equal
from ...projection import Projection
from ...refinement import (
    RbfModel,
    SmoothLoss,
    fit_coefficients,
    kernel_blocks,
    refine_in_batches,
    refine_jointly,
)
from ...refinement.joint import CORE_WORK
from ...refinement.projection import BATCH_ROWS, Problem, ProjectedModel, Terms, image, refine_map_in_batches
from ...refinement.starts import grow, without_weakest
from ...rows import Array, Rows
from .linear import DECAY_ROWS
from .scaling import spread_of

# Iterations of L-BFGS that count as a pass in batches, where all rows are taken at once.
WHOLE_ITERATIONS = 2
# Iterations of L-BFGS for the coefficients.
COEFFICIENT_ITERATIONS = 50


@dataclass(frozen=True)
class Wanted:
    """What a model goes on to.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
    Y : array of shape (n, k)
    weight : array of shape (n,)
        Of mean one.
    loss : SmoothLoss
    penalty : float
        On half the squared norm of the function, beside the sum of the losses of these rows.
    n_stands_for : float
        Rows that these stand for.
    """

    X: Rows
    Y: Array
    weight: Array
    loss: SmoothLoss
    penalty: float
    n_stands_for: float

    @property
    def weights(self) -> Array:  # (n, k)
        """The weights for each output."""
        return np.repeat(self.weight[:, None], self.Y.shape[1], axis=1)


def go_on(
    f: KernelExpansion,
    wanted: Wanted,
    rng: np.random.Generator,
    *,
    n_epochs: int,
    rate: float = 1.0,
    n_placed: int = 0,
    n_threads: int = 1,
) -> KernelExpansion:
    """The model moved for these rows.

    Parameters
    ----------
    n_epochs : int
        Passes over the rows, in batches; with 0 only the coefficients are solved for.
    rate : float
        Factor on the steps: less for a model that is nearly right.
    n_placed : int
        Vectors that are put elsewhere first.
    """
    if n_epochs == 0:
        moved = f
    elif f.projection is not None:
        moved = _map_moved(f, wanted, rng, n_epochs, rate, n_placed, n_threads)
    elif isinstance(f.kernel, RBF) and not sparse.issparse(wanted.X) and not sparse.issparse(f.vectors):
        moved = _vectors_moved(f, wanted, rng, n_epochs, rate, n_placed, n_threads)
    else:
        moved = f
    return solved(moved, wanted, n_threads=n_threads)


def solved(f: KernelExpansion, wanted: Wanted, *, n_threads: int = 1) -> KernelExpansion:
    """The model with the best coefficients for these rows."""
    X = wanted.X if f.projection is None else f.projection(wanted.X, n_threads=n_threads)
    k, dtype = wanted.Y.shape[1], f.coef.dtype
    vectors = f.vectors.astype(np.float64)
    coef, intercept = fit_coefficients(
        kernel_blocks(f.kernel, X, f.vectors, dtype=np.float32, n_threads=n_threads),
        f.kernel(vectors, vectors), wanted.Y, wanted.weights, wanted.loss, np.full(k, wanted.penalty),
        f.coef.astype(np.float64), f.intercept.astype(np.float64), max_iter=COEFFICIENT_ITERATIONS,
    )  # fmt: skip
    return replace(f, coef=coef.astype(dtype), intercept=intercept.astype(dtype))


def _map_moved(
    f: KernelExpansion,
    wanted: Wanted,
    rng: np.random.Generator,
    n_epochs: int,
    rate: float,
    n_placed: int,
    n_threads: int,
) -> KernelExpansion:
    assert f.projection is not None
    X = wanted.X
    spread = spread_of(X, wanted.weight)
    share = wanted.weight / wanted.weight.sum()
    middle = np.asarray(share @ X.astype(np.float64)).ravel()
    matrix = f.projection.matrix.astype(np.float64)
    # the image of the middle becomes the origin; vectors move with it
    off = matrix @ middle - f.projection.shift
    if sparse.issparse(X):
        scaled, left = (X @ sparse.diags_array(1.0 / spread)).tocsr().astype(np.float32), middle / spread
    else:
        scaled, left = ((X - middle) / spread).astype(np.float32), np.zeros(X.shape[1])
    model = ProjectedModel(
        matrix * spread, f.vectors.astype(np.float64) - off, f.coef.astype(np.float64), f.intercept.astype(np.float64)
    )  # fmt: skip
    if n_placed:
        Z = image(model.matrix, scaled.astype(np.float64), left)
        inner = RbfModel(model.vectors, model.coef, model.intercept, np.zeros(len(model.matrix)))
        placed = _placed(inner, Z, wanted, n_placed, rng)
        model = replace(model, vectors=placed.vectors, coef=placed.coef)
    n = wanted.n_stands_for
    terms = Terms(0.5 * wanted.penalty / len(wanted.Y), DECAY_ROWS / n)
    problem = Problem(scaled, left, wanted.Y, wanted.weights, wanted.loss, terms)
    n_steps = max(1, n_epochs * len(wanted.Y) // BATCH_ROWS)
    model = refine_map_in_batches(model, problem, n_steps=n_steps, rng=rng, n_threads=n_threads, rate=rate)
    dtype, matrix = f.coef.dtype, model.matrix / spread
    vectors, coef, intercept = (part.astype(dtype) for part in (model.vectors, model.coef, model.intercept))
    projection = Projection(matrix.astype(dtype), matrix @ middle)
    return KernelExpansion(f.kernel, vectors, coef, intercept, projection)


def _vectors_moved(
    f: KernelExpansion,
    wanted: Wanted,
    rng: np.random.Generator,
    n_epochs: int,
    rate: float,
    n_placed: int,
    n_threads: int,
) -> KernelExpansion:
    X = np.asarray(wanted.X, dtype=np.float64)
    spread = spread_of(X, wanted.weight)
    centre = wanted.weight @ X / wanted.weight.sum()
    rows = (X - centre) / spread
    widths = f.kernel.widths(X.shape[1]) * np.square(spread)  # type: ignore[attr-defined]
    model = RbfModel(
        (f.vectors - centre) / spread, f.coef.astype(np.float64), f.intercept.astype(np.float64), np.log(widths)
    )  # fmt: skip
    if n_placed:
        model = _placed(model, rows, wanted, n_placed, rng)
    penalty, kind = np.full(wanted.Y.shape[1], wanted.penalty), "one"
    if np.size(one_if_equal(np.asarray(f.kernel.gamma, dtype=np.float64))) > 1:  # type: ignore[attr-defined]
        kind = "per_feature"
    if len(rows) * model.vectors.size <= CORE_WORK:
        model, _, _ = refine_jointly(
            model, rows, wanted.Y, wanted.weights, wanted.loss, penalty, widths=kind,
            max_iter=WHOLE_ITERATIONS * n_epochs, n_threads=n_threads,
        )  # fmt: skip
    else:
        model = refine_in_batches(
            model, rows, wanted.Y, wanted.weights, wanted.loss, penalty, widths=kind, n_epochs=n_epochs, rng=rng,
            n_threads=n_threads, rate=rate,
        )  # fmt: skip
    dtype = f.coef.dtype
    gamma = one_if_equal(np.exp(model.log_widths) / np.square(spread))
    vectors = (model.vectors * spread + centre).astype(dtype)
    return KernelExpansion(RBF(gamma), vectors, model.coef.astype(dtype), model.intercept.astype(dtype))


def _placed(model: RbfModel, X: Array, wanted: Wanted, n_placed: int, rng: np.random.Generator) -> RbfModel:
    """The model with its weakest vectors where the loss is largest."""
    kept = without_weakest(model, max(1, model.n_vectors - n_placed))
    return grow(kept, X, wanted.Y, wanted.weights, wanted.loss, model.n_vectors, rng)


def as_expansion(start: Any) -> KernelExpansion:
    """The expansion of a fitted estimator, a model or an expansion."""
    for name in ("expansion_", "expansion"):
        if hasattr(start, name):
            return as_expansion(getattr(start, name))
    if isinstance(start, KernelExpansion):
        return start
    raise TypeError(f"warm_start must be False, True or a fitted model, got {type(start).__name__}.")
