"""Going on from a model that is there: its vectors and metric moved for other rows, its size kept.

`warm_start` goes on from a model that was fitted before, `partial_fit` with every chunk (`stream.py`). Vectors and
metric are moved by some rows, the coefficients are solved for on all; vectors without which the function changes least
can be put where the loss falls fastest.
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
from ...refinement.projection import BATCH_ROWS, Problem, ProjectedModel, Terms, refine_map_in_batches
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

    def take(self, rows: Array) -> Wanted:
        """Some of the rows, which stand for the same."""
        weight = self.weight[rows]
        return replace(
            self, X=self.X[rows], Y=self.Y[rows], weight=weight / weight.mean(),
            penalty=self.penalty * len(rows) / len(self.Y),
        )  # fmt: skip

    @property
    def weights(self) -> Array:  # (n, k)
        """The weights for each output."""
        return np.repeat(self.weight[:, None], self.Y.shape[1], axis=1)


def go_on(
    f: KernelExpansion, wanted: Wanted, rng: np.random.Generator, *, n_epochs: int, n_threads: int = 1
) -> KernelExpansion:
    """The model moved for these rows, with the best coefficients for them."""
    return solved(moved(f, wanted, rng, n_epochs=n_epochs, n_threads=n_threads), wanted, n_threads=n_threads)


def moved(
    f: KernelExpansion,
    wanted: Wanted,
    rng: np.random.Generator,
    *,
    n_epochs: int,
    rate: float = 1.0,
    n_threads: int = 1,
) -> KernelExpansion:
    """The model after passes over these rows in which everything moves; as it was if its vectors cannot.

    Parameters
    ----------
    n_epochs : int
        Passes over the rows, in batches.
    rate : float
        Factor on the steps: less for a model that is nearly right.
    """
    if f.projection is not None:
        return _map_moved(f, wanted, rng, n_epochs, rate, n_threads)
    return _vectors_moved(f, wanted, rng, n_epochs, rate, n_threads) if can_move(f, wanted) else f


def can_move(f: KernelExpansion, wanted: Wanted) -> bool:
    """Whether vectors of this model can be anywhere for rows like these."""
    dense = not sparse.issparse(wanted.X) and not sparse.issparse(f.vectors)
    return f.projection is not None or (isinstance(f.kernel, RBF) and dense)


def solved(
    f: KernelExpansion, wanted: Wanted, *, max_iter: int = COEFFICIENT_ITERATIONS, n_threads: int = 1
) -> KernelExpansion:
    """The model with the best coefficients for these rows."""
    k, dtype = wanted.Y.shape[1], f.coef.dtype
    coef, intercept = fit_coefficients(
        _blocks(f, wanted, n_threads), _among(f), wanted.Y, wanted.weights, wanted.loss,
        np.full(k, wanted.penalty), f.coef.astype(np.float64), f.intercept.astype(np.float64),
        max_iter=max_iter,
    )  # fmt: skip
    return replace(f, coef=coef.astype(dtype), intercept=intercept.astype(dtype))


def objective(f: KernelExpansion, wanted: Wanted, *, n_threads: int = 1) -> float:
    """Sum of the losses of these rows and the penalty."""
    losses, coef = row_losses(f, wanted, n_threads=n_threads).sum(), f.coef.astype(np.float64)
    return float(losses) + 0.5 * wanted.penalty * float(np.vdot(coef, _among(f) @ coef))


def _blocks(f: KernelExpansion, wanted: Wanted, n_threads: int) -> Any:
    X = wanted.X if f.projection is None else f.projection(wanted.X, n_threads=n_threads)
    return kernel_blocks(f.kernel, X, f.vectors, dtype=np.float32, n_threads=n_threads)


def _among(f: KernelExpansion) -> Array:  # (m, m)
    vectors = f.vectors.astype(np.float64)
    return np.asarray(f.kernel(vectors, vectors))


def row_losses(f: KernelExpansion, wanted: Wanted, *, n_threads: int = 1) -> Array:  # (n,)
    """The loss of each row, summed over the outputs, times its weight."""
    outputs = f(wanted.X, n_threads=n_threads)
    found: Array = (wanted.weights * wanted.loss.value(wanted.Y, outputs)).sum(axis=1)
    return found


def with_new_vectors(
    f: KernelExpansion,
    wanted: Wanted,
    n_new: int,
    rng: np.random.Generator,
    *,
    n_kept: int | None = None,
    n_threads: int = 1,
) -> KernelExpansion:
    """The model with vectors where the loss falls fastest, their coefficients zero.

    Parameters
    ----------
    n_kept : int or None
        Of its own vectors only so many stay, those without which the function would change most; None keeps all.
    """
    coef, intercept, dtype = f.coef.astype(np.float64), f.intercept.astype(np.float64), f.coef.dtype
    if f.projection is not None:
        rows = f.projection(wanted.X, n_threads=n_threads).astype(np.float64)
        centre, spread = np.zeros(rows.shape[1]), np.ones(rows.shape[1])
    else:
        rows, centre, spread = _scaled(wanted)
    widths = f.kernel.widths(rows.shape[1]) * np.square(spread)  # type: ignore[attr-defined]
    model = RbfModel((f.vectors - centre) / spread, coef, intercept, np.log(widths))
    if n_kept is not None:
        model = without_weakest(model, n_kept)
    model = grow(model, rows, wanted.Y, wanted.weights, wanted.loss, model.n_vectors + n_new, rng)
    return replace(f, vectors=(model.vectors * spread + centre).astype(dtype), coef=model.coef.astype(dtype))


def _scaled(wanted: Wanted) -> tuple[Array, Array, Array]:
    """Dense rows of mean zero and unit spread, the mean and the spread."""
    X = np.asarray(wanted.X, dtype=np.float64)
    spread = spread_of(X, wanted.weight)
    centre = wanted.weight @ X / wanted.weight.sum()
    return (X - centre) / spread, centre, spread


def _map_moved(
    f: KernelExpansion,
    wanted: Wanted,
    rng: np.random.Generator,
    n_epochs: int,
    rate: float,
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
    n_threads: int,
) -> KernelExpansion:
    rows, centre, spread = _scaled(wanted)
    widths = f.kernel.widths(rows.shape[1]) * np.square(spread)  # type: ignore[attr-defined]
    model = RbfModel(
        (f.vectors - centre) / spread, f.coef.astype(np.float64), f.intercept.astype(np.float64), np.log(widths)
    )  # fmt: skip
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


def as_expansion(start: Any) -> KernelExpansion:
    """The expansion of a fitted estimator, a model or an expansion."""
    for name in ("expansion_", "expansion"):
        if hasattr(start, name):
            return as_expansion(getattr(start, name))
    if isinstance(start, KernelExpansion):
        return start
    raise TypeError(f"warm_start must be False, True or a fitted model, got {type(start).__name__}.")
