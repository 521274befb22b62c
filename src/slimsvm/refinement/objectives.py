r"""Refinement: moving the vectors.

Two objectives with their analytic gradients, and one optimiser, all functions on arrays. `distance` is how
far an expansion on vectors Z stays from a given one in the feature space when its coefficients are the best
possible, so Z is its only variable; `regularised_loss` is what a kernel machine minimises, as a function of
vectors, coefficients, intercept and the widths of the kernel. All outputs are treated together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, optimize

from ..kernels import RBF, Kernel, Linear, Polynomial, Sigmoid
from ..linalg import cholesky_factor
from ..rows import Array, Rows, block_slices
from .losses import SmoothLoss

# Added to the kernel matrix of the vectors relative to its mean diagonal, so that vectors that meet while
# they move leave it invertible.
JITTER = 1e-8
# Gradients below this have squares that are no normal numbers: L-BFGS would divide by zero.
FLAT = float(np.sqrt(np.finfo(np.float64).tiny))
# Pairs of steps L-BFGS remembers: the problems have few directions of strong curvature.
L_BFGS_MEMORY = 20
# Kernel values computed at a time while coefficients are fitted, and those that are kept.
BLOCK_BYTES, HELD_BYTES = 64 * 2**20, 2 * 2**30


def has_gradient(kernel: Kernel) -> bool:
    """Whether `pull_back` knows the derivative of the kernel."""
    return isinstance(kernel, RBF | Linear | Polynomial | Sigmoid)


def pull_back(
    kernel: Kernel,
    X: Array,  # (n, d)
    Z: Array,  # (m, d)
    K: Array,  # (n, m) = kernel(X, Z)
    weights: Array,  # (n, m)
) -> tuple[Array, Array]:  # (m, d), (d,)
    """Gradient of sum(weights * kernel(X, Z)) in Z, and in the widths of an RBF kernel (else zeros)."""
    if isinstance(kernel, RBF):
        widths = kernel.widths(X.shape[1])
        M = weights * K
        moved, total = M.T @ X, M.sum(axis=0)[:, None]
        in_vectors = 2.0 * widths * (moved - total * Z)
        in_widths = -(
            M.sum(axis=1) @ np.square(X) + (total * np.square(Z)).sum(axis=0) - 2.0 * (moved * Z).sum(axis=0)
        )
        return in_vectors, in_widths
    if isinstance(kernel, Linear):
        slope = np.ones_like(K)
    elif isinstance(kernel, Polynomial):
        products = kernel.gamma * (X @ Z.T) + kernel.coef0
        slope = kernel.gamma * kernel.degree * products ** max(kernel.degree - 1, 0)
    elif isinstance(kernel, Sigmoid):
        slope = kernel.gamma * (1.0 - np.square(K))
    else:
        raise ValueError(
            f"kernel: vectors can be moved for 'rbf', 'linear', 'poly' and 'sigmoid', not for {kernel!r}; "
            "use method='prune'."
        )
    return (weights * slope).T @ X, np.zeros(X.shape[1])


def factor_gram(Kzz: Array) -> Array:  # (m, m) -> (m, m)
    """Lower Cholesky factor of Kzz with the smallest jitter that works."""
    return cholesky_factor(Kzz, JITTER)


def distance(
    kernel: Kernel,
    S: Array,  # (n, d)
    A: Array,  # (n, k)
    Z: Array,  # (m, d)
) -> tuple[float, Array, Array]:  # value, gradient (m, d), coefficients (m, k)
    r"""Squared distance between :math:`\sum_i a_i \phi(s_i)` and the nearest expansion on Z.

    The term that does not depend on Z is left out, so the value is negative. With the best coefficients
    :math:`B = (K_{ZZ} + \epsilon I)^{-1} K_{ZS} A` it is :math:`-\mathrm{tr}(B^\top K_{ZS} A)`, and at the
    best B the gradient is the one with B held fixed.
    """
    R = np.zeros((len(Z), A.shape[1]))
    for rows in block_slices(len(S), 8 * len(Z)):
        R += kernel(S[rows], Z).T @ A[rows]
    Kzz = kernel(Z, Z)
    B: Array = linalg.cho_solve((factor_gram(Kzz), True), R)
    gradient = 2.0 * pull_back(kernel, Z, Z, Kzz, B @ B.T)[0]
    for rows in block_slices(len(S), 8 * len(Z)):
        K = kernel(S[rows], Z)
        gradient -= 2.0 * pull_back(kernel, S[rows], Z, K, A[rows] @ B.T)[0]
    return -float(np.vdot(B, R)), gradient, B


@dataclass(frozen=True)
class LossGradient:
    """Gradient of `regularised_loss` in each of its variables."""

    vectors: Array  # (m, d)
    coef: Array  # (m, k)
    intercept: Array  # (k,)
    widths: Array  # (d,)


def regularised_loss(
    kernel: Kernel,
    X: Array,  # (n, d)
    Y: Array,  # (n, k)
    weights: Array,  # (n, k)
    loss: SmoothLoss,
    penalty: Array,  # (k,)
    Z: Array,  # (m, d)
    B: Array,  # (m, k)
    intercept: Array,  # (k,)
) -> tuple[float, LossGradient]:
    r"""Return :math:`\sum_o \tfrac12 p_o |f_o|^2 + \sum_{io} w_{io}\, \ell(y_{io}, f_o(x_i) + b_o)`.

    Penalties p and weights w are those of each output. The rows of X are worked through in blocks.
    """
    Kzz = kernel(Z, Z)
    KB = Kzz @ B
    value = 0.5 * float(np.einsum("jo,jo,o->", B, KB, penalty))
    in_coef = KB * penalty
    # half of sum_o p_o b_o b_o' in both arguments of k(z, z): once in one argument
    in_vectors, in_widths = pull_back(kernel, Z, Z, Kzz, (B * penalty) @ B.T)
    in_widths *= 0.5
    in_intercept = np.zeros(B.shape[1])
    for rows in block_slices(len(X), 8 * len(Z)):
        K = kernel(X[rows], Z)
        F = K @ B + intercept
        value += float(np.vdot(weights[rows], loss.value(Y[rows], F)))
        slope = weights[rows] * loss.derivative(Y[rows], F)
        in_coef += K.T @ slope
        in_intercept += slope.sum(axis=0)
        moved, widened = pull_back(kernel, X[rows], Z, K, slope @ B.T)
        in_vectors += moved
        in_widths += widened
    return value, LossGradient(in_vectors, in_coef, in_intercept, in_widths)


Objective = Callable[[list[Array]], tuple[float, list[Array]]]


def minimise(
    objective: Objective, start: Sequence[Array], *, max_iter: int, tol: float = 1e-6
) -> tuple[list[Array], float]:
    """L-BFGS over several arrays at once; returns the arrays and the value.

    Parameters
    ----------
    objective : callable
        From a list of arrays to the value and the gradient as such a list.
    start : sequence of arrays
    max_iter : int
    tol : float
        Ends when the relative decrease of the value is below this.
    """
    shapes = [np.shape(part) for part in start]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]

    def unpack(packed: Array) -> list[Array]:
        return [part.reshape(shape) for part, shape in zip(np.split(packed, ends), shapes, strict=True)]

    def packed_objective(packed: Array) -> tuple[float, Array]:
        value, gradient = objective(unpack(packed))
        return value, np.concatenate([part.ravel() for part in gradient])

    result = optimize.minimize(
        packed_objective,
        np.concatenate([np.ravel(part) for part in start]),
        jac=True,
        method="L-BFGS-B",
        options={
            "maxiter": max_iter,
            "maxfun": 2 * max_iter,
            "maxcor": L_BFGS_MEMORY,
            "ftol": tol,
            "gtol": FLAT,
        },
    )
    return unpack(result.x), float(result.fun)


def length_unit(kernel: Kernel, X: Array) -> Array:  # (d,)
    """A length for each feature over which the kernel changes: the unit for steps of the optimiser."""
    if isinstance(kernel, RBF):
        widths = kernel.widths(X.shape[1])
        return 1.0 / np.sqrt(2.0 * np.where(widths > 0, widths, 1.0))
    return np.full(X.shape[1], max(float(X.std()), np.finfo(np.float32).tiny))


def nearest_vectors(
    kernel: Kernel,
    S: Array,  # (n, d)
    A: Array,  # (n, k)
    Z: Array,  # (m, d)
    *,
    max_iter: int,
) -> tuple[Array, Array]:  # (m, d), (m, k)
    """Move Z until the best expansion on it is nearest to that on S; returns vectors and coefficients."""
    unit = length_unit(kernel, S)
    scale = max(-distance(kernel, S, A, Z)[0], np.finfo(np.float64).tiny)

    def objective(parts: list[Array]) -> tuple[float, list[Array]]:
        value, gradient, _ = distance(kernel, S, A, parts[0] * unit)
        return value / scale, [gradient * unit / scale]

    (moved,), _ = minimise(objective, [Z / unit], max_iter=max_iter)
    Z = moved * unit
    return Z, distance(kernel, S, A, Z)[2]


def fit_expansion(
    kernel: Kernel,
    X: Array,  # (n, d)
    Y: Array,  # (n, k)
    weights: Array,  # (n, k)
    loss: SmoothLoss,
    penalty: Array,  # (k,)
    Z: Array,  # (m, d)
    B: Array,  # (m, k)
    intercept: Array,  # (k,)
    *,
    max_iter: int,
) -> tuple[Array, Array, Array]:  # (m, d), (m, k), (k,)
    """Minimise `regularised_loss` over vectors, coefficients and intercept.

    The coefficients are those of a basis that is orthonormal in the feature space at the start, which makes
    the problem well conditioned.
    """
    unit = length_unit(kernel, X)
    L = factor_gram(kernel(Z, Z))

    def coefficients(T: Array) -> Array:
        return linalg.solve_triangular(L, T, lower=True, trans="T")

    def objective(parts: list[Array]) -> tuple[float, list[Array]]:
        T, b, scaled = parts
        value, gradient = regularised_loss(
            kernel, X, Y, weights, loss, penalty, scaled * unit, coefficients(T), b
        )
        in_basis = linalg.solve_triangular(L, gradient.coef, lower=True)
        return value, [in_basis, gradient.intercept, gradient.vectors * unit]

    (T, b, scaled), _ = minimise(objective, [L.T @ B, intercept, Z / unit], max_iter=max_iter)
    return scaled * unit, coefficients(T), b


Blocks = Callable[[], Iterator[tuple[slice, Array]]]


def kernel_blocks(kernel: Kernel, X: Rows, Z: Rows, *, dtype: Any = np.float64, n_threads: int = 1) -> Blocks:
    """Kernel values of the rows of X and the vectors Z in blocks of rows; those within `HELD_BYTES` are kept."""
    n, m = X.shape[0], Z.shape[0]
    step = max(1, min(n, BLOCK_BYTES // (8 * max(m, 1))))
    held: dict[int, Array] = {}

    def blocks() -> Iterator[tuple[slice, Array]]:
        for start in range(0, n, step):
            rows = slice(start, min(n, start + step))
            K = held.get(start)
            if K is None:
                K = kernel(X[rows], Z, n_threads=n_threads).astype(dtype, copy=False)
                if K.itemsize * m * rows.stop <= HELD_BYTES:
                    held[start] = K
            yield rows, K

    return blocks


def fit_coefficients(
    blocks: Blocks,
    Kzz: Array,  # (m, m)
    Y: Array,  # (n, k)
    weights: Array,  # (n, k)
    loss: SmoothLoss,
    penalty: Array,  # (k,)
    B: Array,  # (m, k)
    intercept: Array,  # (k,)
    *,
    max_iter: int,
) -> tuple[Array, Array]:  # (m, k), (k,)
    """Minimise `regularised_loss` over coefficients and intercept, with the vectors as they are.

    Parameters
    ----------
    blocks : callable
        Each call yields slices of the rows with their kernel values (rows, m).
    Kzz : array of shape (m, m)
        Kernel matrix of the vectors.
    """
    L = factor_gram(Kzz)

    def coefficients(T: Array) -> Array:
        return linalg.solve_triangular(L, T, lower=True, trans="T")

    def objective(parts: list[Array]) -> tuple[float, list[Array]]:
        T, b = parts
        current = coefficients(T)
        value = 0.5 * float(np.einsum("jo,jo,o->", T, T, penalty))  # |f|^2 in the orthonormal basis
        in_coef, in_intercept = np.zeros_like(current), np.zeros_like(b)
        for rows, K in blocks():
            F = K @ current.astype(K.dtype, copy=False) + b
            value += float(np.vdot(weights[rows], loss.value(Y[rows], F)))
            slope = weights[rows] * loss.derivative(Y[rows], F)
            in_coef += K.T @ slope.astype(K.dtype, copy=False)
            in_intercept += slope.sum(axis=0)
        return value, [linalg.solve_triangular(L, in_coef, lower=True) + T * penalty, in_intercept]

    (T, b), _ = minimise(objective, [L.T @ B, intercept], max_iter=max_iter)
    return coefficients(T), b
