"""Vectors, coefficients, intercept and widths of an RBF expansion, fitted together on all rows.

Small problems run whole in the compiled core. Large ones take matrix products in float32, in fixed blocks of
rows that threads share: the bits do not depend on their number.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from .. import _core
from ..kernels import RBF
from ..rows import Array
from .losses import SmoothLoss, core_loss
from .objectives import factor_gram, minimise

# Products n m d up to which the core is faster than matrix products.
CORE_WORK = 2e7
# Coefficients are those of a basis that is orthonormal for the vectors' kernel matrix plus this: without it,
# vectors near each other make a basis in which the smallest move of one is a large change.
RIDGE = 1e-2
# Steps L-BFGS remembers.
MEMORY = 10
# Rows of a block when matrix products are used.
BLOCK_ROWS = 1024


@dataclass(frozen=True)
class RbfModel:
    """An RBF expansion as refinement sees it, all in float64.

    Parameters
    ----------
    vectors : array of shape (m, d)
    coef : array of shape (m, k)
    intercept : array of shape (k,)
    log_widths : array of shape (d,)
        Logarithm of gamma for each feature.
    """

    vectors: Array
    coef: Array
    intercept: Array
    log_widths: Array

    @property
    def n_vectors(self) -> int:
        """Number of vectors."""
        return len(self.vectors)

    @property
    def kernel(self) -> RBF:
        """The kernel."""
        return RBF(tuple(np.exp(self.log_widths).tolist()))

    def outputs(self, X: Array, *, n_threads: int = 1) -> Array:  # (n, k)
        """The function at the rows of X."""
        return self.kernel.expand(X, self.vectors, self.coef, self.intercept, n_threads=n_threads)


def refine_jointly(
    model: RbfModel,
    X: Array,  # (n, d)
    Y: Array,  # (n, k)
    weights: Array,  # (n, k)
    loss: SmoothLoss,
    penalty: Array,  # (k,)
    *,
    widths: str = "fixed",
    eliminate: bool = False,
    max_iter: int = 100,
    tol: float = 1e-5,
    n_threads: int = 1,
) -> tuple[RbfModel, float, int]:
    """Minimise `regularised_loss` from this model on; returns the model, the value and the iterations.

    Parameters
    ----------
    widths : {"fixed", "one", "per_feature"}
        Which widths move: none, all by one factor, or each by its own.
    eliminate : bool
        Whether small problems solve for the coefficients at each step (variable projection), so that only vectors
        and widths are searched for. For the squared loss, and weights and a penalty that are the same for all
        outputs; it takes four to nine times fewer steps, each of up to three times the time
        (`benchmarks/refinement.py`).
    tol : float
        Ends when the relative decrease is below this.
    """
    known = core_loss(loss)
    if known is not None and len(X) * model.vectors.size <= CORE_WORK:
        factor = _basis(model)
        vectors, coef, intercept, log_widths, value, n_iter, _ = _core.refine(
            X, Y, weights, penalty, *known, model.vectors, np.ascontiguousarray(model.coef),
            model.intercept, model.log_widths, factor, widths, eliminate, max_iter, tol, MEMORY,
        )  # fmt: skip
        return RbfModel(vectors, coef, intercept, log_widths), value, n_iter
    with ThreadPoolExecutor(n_threads) as pool:
        return _by_products(model, X, Y, weights, loss, penalty, widths, max_iter, tol, pool.map)


def _basis(model: RbfModel) -> Array:  # (m, m)
    K = model.kernel(model.vectors, model.vectors)
    return np.ascontiguousarray(factor_gram(K + RIDGE * np.eye(len(K))))


def row_gradient(
    X: Array,  # (n, d) of the scaled, centred rows
    Z: Array,  # (m, d) of the scaled, centred vectors
    coef: Array,  # (m, k)
    intercept: Array,  # (k,)
    loss_of: Callable[[Array], tuple[float, Array]],
    learn_widths: bool,
) -> tuple[float, Array, Array, Array, Array | None]:
    """Loss of some rows and its gradients in Z, coefficients, intercept and, in scaled units, log widths.

    Scaled means times the square root of the widths, so that the kernel is exp(-|x - z|^2).
    """
    K = X @ Z.T
    K *= 2.0
    K -= np.einsum("ij,ij->i", X, X)[:, None]
    K -= np.einsum("ij,ij->i", Z, Z)
    np.minimum(K, 0.0, out=K)
    np.exp(K, out=K)
    value, slope = loss_of(K @ coef + intercept)
    in_coef = K.T @ slope
    K *= slope @ coef.T
    moved, total = K.T @ X, K.sum(axis=0)[:, None]
    in_vectors = 2.0 * (moved - total * Z)
    in_widths = None
    if learn_widths:
        in_widths = -(
            K.sum(axis=1) @ np.square(X) + (total * np.square(Z)).sum(axis=0) - 2.0 * (moved * Z).sum(axis=0)
        )
    return value, in_vectors, in_coef, slope.sum(axis=0), in_widths


def _by_products(
    model: RbfModel,
    X: Array,
    Y: Array,
    weights: Array,
    loss: SmoothLoss,
    penalty: Array,
    widths: str,
    max_iter: int,
    tol: float,
    run: Callable[..., Any],
) -> tuple[RbfModel, float, int]:
    centre = X.mean(axis=0)
    rows, wanted, weight = (np.asarray(a, dtype=np.float32) for a in (X - centre, Y, weights))
    blocks = [slice(s, min(len(X), s + BLOCK_ROWS)) for s in range(0, len(X), BLOCK_ROWS)]
    unit = np.exp(-0.5 * model.log_widths) / np.sqrt(2.0)
    L = _basis(model)
    learn = widths != "fixed"
    n_iter = 0

    def unpack(parts: list[Array]) -> RbfModel:
        T, b, Z, log_widths = parts
        coef = linalg.solve_triangular(L, T, lower=True, trans="T")
        log_widths = model.log_widths + (log_widths if learn else 0.0)
        return RbfModel(Z * unit, coef, b, log_widths)

    def objective(parts: list[Array]) -> tuple[float, list[Array]]:
        nonlocal n_iter
        n_iter += 1
        here = unpack(parts)
        root = np.exp(0.5 * here.log_widths)
        Z = ((here.vectors - centre) * root).astype(np.float32)
        scale, coef, b = (a.astype(np.float32) for a in (root, here.coef, here.intercept))

        def of_block(block: slice) -> tuple[float, Array, Array, Array, Array | None]:
            def loss_of(F: Array) -> tuple[float, Array]:
                value = float(np.vdot(weight[block], loss.value(wanted[block], F)))
                slope = weight[block] * loss.derivative(wanted[block], F)
                return value, slope.astype(np.float32, copy=False)

            return row_gradient(rows[block] * scale, Z, coef, b, loss_of, learn)

        value, in_vectors, in_coef = 0.0, np.zeros(here.vectors.shape), np.zeros(here.coef.shape)
        in_intercept, in_widths = np.zeros(len(b)), np.zeros(len(root))
        for found in run(of_block, blocks):
            value += found[0]
            in_vectors += found[1]
            in_coef += found[2]
            in_intercept += found[3]
            if found[4] is not None:
                in_widths += found[4]
        norm, on_vectors, on_coef, on_widths = _norm_gradient(here, penalty)
        value += norm
        in_vectors = in_vectors * root + on_vectors
        in_basis = linalg.solve_triangular(L, in_coef + on_coef, lower=True)
        in_widths = in_widths + on_widths
        if widths == "one":
            in_widths = np.array([in_widths.sum()])
        return value, [in_basis, in_intercept, in_vectors * unit, in_widths if learn else np.zeros(0)]

    moving = np.zeros({"fixed": 0, "one": 1, "per_feature": X.shape[1]}[widths])
    start = [L.T @ model.coef, model.intercept, model.vectors / unit, moving]
    parts, value = minimise(objective, start, max_iter=max_iter, tol=tol)
    return unpack(parts), value, n_iter


def _norm_gradient(model: RbfModel, penalty: Array) -> tuple[float, Array, Array, Array]:
    """Half the penalised squared norm, and its gradients in vectors, coefficients and log widths."""
    Z, B = model.vectors, model.coef
    K = model.kernel(Z, Z)
    KB = K @ B
    M = K * ((B * penalty) @ B.T)
    MZ, total = M @ Z, M.sum(axis=1)
    widths = np.exp(model.log_widths)
    in_vectors = 2.0 * widths * (MZ - total[:, None] * Z)
    in_widths = -widths * (total @ np.square(Z) - (MZ * Z).sum(axis=0))
    return 0.5 * float(np.einsum("jo,jo,o->", B, KB, penalty)), in_vectors, KB * penalty, in_widths
