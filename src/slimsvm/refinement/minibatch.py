"""Joint refinement on random batches (Adam), for problems where a pass over all rows is slow.

Each batch is cut into fixed pieces that threads share, and their gradients are added in order: the bits do not
depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from scipy import linalg

from ..rows import Array
from .adam import Adam, cosine
from .joint import RbfModel, row_gradient
from .losses import SmoothLoss
from .objectives import factor_gram

BATCH_ROWS = 512
PIECES = 2
# Steps in units of the coefficients in a basis orthonormal at the start, which are of the order of one, and of
# the length over which the kernel changes: that is how far a vector moves as a whole, so that in d features each
# moves 1 / sqrt(d) of it.
STEP_COEF, STEP_VECTORS, STEP_WIDTHS = 0.01, 0.14, 0.01
WARM_UP = 100  # batches over which the step grows to its size
# A basis of the start in float32: vectors that nearly coincide must not blow up.
RIDGE = 1e-4


def refine_in_batches(
    model: RbfModel,
    X: Array,  # (n, d)
    Y: Array,  # (n, k)
    weights: Array,  # (n, k)
    loss: SmoothLoss,
    penalty: Array,  # (k,)
    *,
    widths: str = "fixed",
    n_epochs: int,
    rng: np.random.Generator,
    n_threads: int = 1,
    rate: float = 1.0,
    progress: Callable[[int], None] | None = None,
) -> RbfModel:
    """Move vectors, coefficients, intercept and widths; the step falls to zero along a cosine.

    Parameters
    ----------
    widths : {"fixed", "one", "per_feature"}
    n_epochs : int
        Passes over the rows.
    rate : float
        Factor on all steps.
    progress : callable or None
        Called with the number of each finished epoch.
    """
    n, m = len(X), model.n_vectors
    centre = X.mean(axis=0)
    rows, wanted, weight = (
        np.asarray(a, dtype=np.float32) for a in (X - centre, Y, weights / weights.mean())
    )
    share = (penalty / weights.mean() / n).astype(np.float32)
    length = (np.exp(-0.5 * model.log_widths) / np.sqrt(2.0)).astype(np.float32)
    K = model.kernel(model.vectors, model.vectors) + RIDGE * np.eye(m)
    basis = linalg.solve_triangular(factor_gram(K), np.eye(m), lower=True).astype(np.float32)  # L^-1
    start = model.log_widths.astype(np.float32)
    moving = np.zeros({"fixed": 0, "one": 1, "per_feature": X.shape[1]}[widths], dtype=np.float32)
    variables = [
        linalg.solve_triangular(basis, model.coef.astype(np.float32), lower=True, trans="T"),
        model.intercept.astype(np.float32),
        ((model.vectors - centre) / length).astype(np.float32),
        moving,
    ]
    adam = Adam(variables, [STEP_COEF, STEP_COEF, STEP_VECTORS / np.sqrt(X.shape[1]), STEP_WIDTHS])
    batch = min(BATCH_ROWS, n)
    n_batches = n // batch
    with ThreadPoolExecutor(n_threads) as pool:
        for epoch in range(n_epochs):
            order = rng.permutation(n)
            for b in range(n_batches):
                T, intercept, Z, moved = variables
                root = np.exp(0.5 * (start + moved)) if moving.size else np.exp(0.5 * start)
                coef, scaled = basis.T @ T, Z * (length * root)

                def of_piece(
                    rows_of_piece: Array, root: Array = root, coef: Array = coef, scaled: Array = scaled,
                    intercept: Array = intercept,
                ) -> tuple[float, Array, Array, Array, Array | None]:  # fmt: skip
                    def loss_of(F: Array) -> tuple[float, Array]:
                        slope = weight[rows_of_piece] * loss.derivative(wanted[rows_of_piece], F)
                        return 0.0, (slope / batch).astype(np.float32, copy=False)

                    return row_gradient(
                        rows[rows_of_piece] * root, scaled, coef, intercept, loss_of, bool(moving.size)
                    )

                picked = np.sort(order[b * batch : (b + 1) * batch])
                pieces = np.array_split(picked, PIECES)
                parts: list[tuple[Any, ...]] = list(pool.map(of_piece, pieces))
                in_vectors, in_coef, in_intercept = (sum(part[i] for part in parts) for i in (1, 2, 3))
                gradient = [basis @ in_coef + share * T, in_intercept, in_vectors * (length * root)]
                in_widths = sum(part[4] for part in parts) if moving.size else moving
                gradient.append(in_widths.sum(keepdims=True) if widths == "one" else in_widths)
                done = epoch * n_batches + b + 1
                adam.step(gradient, rate * cosine(done, n_epochs * n_batches, WARM_UP))
            if progress is not None:
                progress(epoch + 1)
    T, intercept, Z, moved = variables
    # the start as it was: rounding would make one width many
    log_widths = model.log_widths + (moved.astype(np.float64) if moving.size else 0.0)
    return RbfModel(
        Z.astype(np.float64) * length + centre,
        (basis.T @ T).astype(np.float64),
        intercept.astype(np.float64),
        log_widths,
    )
