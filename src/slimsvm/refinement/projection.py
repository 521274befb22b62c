r"""A projection, the vectors in its image, coefficients and intercept, fitted together.

With rows x centred, :math:`z = Px` and the Gaussian kernel of width one in the image, the objective is

.. math:: \frac{1}{n}\sum_{io} w_{io}\,\ell(y_{io}, f_o(x_i)) + \sum_o \lambda\, b_o^\top K_{VV} b_o + \delta\,|P|^2,
    \qquad f(x) = \sum_j b_j \exp(-|Px - v_j|^2) + c .

The last term keeps the map from stretching the inputs until it knows every row by heart. `refine_map_whole` takes all
rows at once, `refine_map_in_batches` random ones, with matrix products in float32; a batch is cut in the same pieces
whatever the number of threads, and their gradients are added in order.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg, sparse

from .. import _core
from ..rows import Array, Rows
from .adam import Adam, cosine
from .losses import SmoothLoss, core_loss
from .objectives import factor_gram, minimise
from .starts import cluster_centres

BATCH_ROWS = 256
# A batch is cut into this many pieces, which threads may share, where a piece has more than this many products of rows
# and entries of vectors: with less, threads wait for each other.
PIECES, PIECE_WORK = 2, 2e6
# Squared distances beyond this count as this: numbers below the normal ones would take a hundred times as long.
FARTHEST = 80.0
# Steps of Adam: of coefficients in an orthonormal basis, of a vector as a whole in units of the kernel's width, and of
# the matrix in units of its mean entry.
STEP_COEF, STEP_VECTORS, STEP_MATRIX = 0.03, 0.2, 0.01
WARM_UP = 200  # batches over which the step grows to its size, or a fifth of all where there are few
# Added to the diagonal of the vectors' kernel matrix: vectors that nearly coincide must not blow up in float32.
RIDGE = 1e-4
# How often progress is told.
TOLD = 20
# Steps L-BFGS remembers.
MEMORY = 10
# Squared distance of a row to its nearest vector at the start, in units of the kernel's width: the median.
FIRST_DISTANCE = 0.25
# The decay of a map that is nearly nothing is no larger than this, so that it is a number.
LARGEST_DECAY = 1e300


@dataclass(frozen=True)
class ProjectedModel:
    """An expansion of width one behind a linear map of centred rows.

    Parameters
    ----------
    matrix : array of shape (r, d)
    vectors : array of shape (m, r)
    coef : array of shape (m, k)
    intercept : array of shape (k,)
    """

    matrix: Array
    vectors: Array
    coef: Array
    intercept: Array

    @property
    def n_vectors(self) -> int:
        """Number of vectors."""
        return len(self.vectors)


@dataclass(frozen=True)
class Terms:
    """What is added to the mean loss.

    Parameters
    ----------
    penalty : float
        Factor on the squared norm of the function.
    decay : float
        Factor on the squares of the matrix, in units of what they are at the start: their mean counts as one.
    """

    penalty: float
    decay: float


@dataclass(frozen=True)
class Problem:
    """What a projected model is fitted to.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
    centre : array of shape (d,)
        What is still to be taken off the rows.
    Y, weights : arrays of shape (n, k)
        Weights of mean one.
    loss : SmoothLoss
    terms : Terms
    """

    X: Rows
    centre: Array
    Y: Array
    weights: Array
    loss: SmoothLoss
    terms: Terms


def gaussian(Z: Array, V: Array) -> Array:  # (n, r), (m, r) -> (n, m)
    """exp(-|z - v|^2); rows and vectors are near the origin, so that norms and products lose nothing."""
    D = Z @ V.T
    D *= -2.0
    D += np.einsum("ij,ij->i", Z, Z)[:, None]
    D += np.einsum("ij,ij->i", V, V)[None, :]
    np.clip(D, 0.0, FARTHEST, out=D)
    np.negative(D, out=D)
    return np.exp(D, out=D)


def image(matrix: Array, X: Rows, centre: Array) -> Array:  # (n, r)
    """P (x - centre) for each row."""
    Z = np.asarray(X @ matrix.T)
    return Z if not centre.any() else Z - matrix @ centre


def row_gradients(
    model: ProjectedModel, X: Rows, centre: Array, slope_of: Callable[[Array], tuple[float, Array]]
) -> tuple[float, Array, Array, Array, Array]:
    """Loss of some rows, and its gradients for matrix, vectors, coefficients and intercept.

    Parameters
    ----------
    slope_of : callable
        From outputs (n, k) to the loss and its derivative (n, k).
    """
    Z = image(model.matrix, X, centre)
    K = gaussian(Z, model.vectors)
    value, slope = slope_of(K @ model.coef + model.intercept)
    in_coef, in_intercept = K.T @ slope, slope.sum(axis=0)
    A = slope @ model.coef.T
    A *= K
    in_vectors = 2.0 * (A.T @ Z - model.vectors * A.sum(axis=0)[:, None])
    in_image = 2.0 * (A @ model.vectors - Z * A.sum(axis=1)[:, None])
    in_matrix = np.asarray((X.T @ in_image).T if sparse.issparse(X) else in_image.T @ X)
    if centre.any():
        in_matrix = in_matrix - np.outer(in_image.sum(axis=0), centre)
    return value, in_matrix, in_vectors, in_coef, in_intercept


def norm_gradients(vectors: Array, coef: Array) -> tuple[float, Array, Array]:
    """Sum over the outputs of b' K b, and its gradients for vectors and coefficients."""
    K = gaussian(vectors, vectors)
    KB = K @ coef
    A = (coef @ coef.T) * K
    in_vectors = 4.0 * (A @ vectors - vectors * A.sum(axis=1)[:, None])
    return float((coef * KB).sum()), in_vectors, 2.0 * KB


def objective(
    model: ProjectedModel,
    problem: Problem,
    unit: float,
) -> tuple[float, tuple[Array, Array, Array, Array]]:
    """Value and gradients on all rows; `unit` is the mean square of the matrix that counts as one."""
    Y, weights, loss, terms = problem.Y, problem.weights, problem.loss, problem.terms
    n = len(Y)

    def slope_of(F: Array) -> tuple[float, Array]:
        return float((weights * loss.value(Y, F)).sum()) / n, weights * loss.derivative(Y, F) / n

    value, in_matrix, in_vectors, in_coef, in_intercept = row_gradients(
        model, problem.X, problem.centre, slope_of
    )
    norm, norm_vectors, norm_coef = norm_gradients(model.vectors, model.coef)
    decay = terms.decay / (unit * model.matrix.size)
    value += terms.penalty * norm + decay * float(np.square(model.matrix).sum())
    return value, (
        in_matrix + 2.0 * decay * model.matrix,
        in_vectors + terms.penalty * norm_vectors,
        in_coef + terms.penalty * norm_coef,
        in_intercept,
    )


def refine_map_whole(
    model: ProjectedModel,
    problem: Problem,
    *,
    max_iter: int,
    tol: float = 1e-5,
) -> ProjectedModel:
    """Move everything on all rows at once (L-BFGS), for problems small enough: rows are made dense.

    The compiled core does it for the losses that it knows, matrix products for others.
    """
    X = problem.X.toarray() if sparse.issparse(problem.X) else problem.X
    wide = replace(problem, X=X.astype(np.float64) - problem.centre, centre=np.zeros(X.shape[1]))
    known = core_loss(problem.loss)
    if known is None:
        return refine_map_by_products(model, wide, max_iter=max_iter, tol=tol)
    n, k = problem.Y.shape
    # sums over the rows instead of means: the first step then has the length of one unit
    decay = n * problem.terms.decay
    square = float(np.square(model.matrix).sum())  # none at all, where the map is nothing
    decay /= max(square, decay / LARGEST_DECAY, float(np.finfo(np.float64).tiny))
    starts = (model.matrix, model.vectors, model.coef, model.intercept, _factor(model.vectors))
    X, Y, weights, matrix, vectors, coef, intercept, factor = (
        np.require(array, np.float64, ("C", "A")) for array in (wide.X, wide.Y, wide.weights, *starts)
    )
    penalty = np.full(k, 2.0 * n * wide.terms.penalty)
    parts = _core.refine_map(
        X, Y, weights, penalty, *known, matrix, decay, vectors, coef, intercept, factor, max_iter, tol, MEMORY
    )
    return ProjectedModel(*parts[:4])


def refine_map_by_products(
    model: ProjectedModel, problem: Problem, *, max_iter: int, tol: float
) -> ProjectedModel:
    """The same with matrix products and SciPy's L-BFGS."""
    unit = float(np.square(model.matrix).mean())
    entry, L = np.sqrt(unit), _factor(model.vectors)

    def unpack(parts: list[Array]) -> ProjectedModel:
        M, V, T, b = parts
        return ProjectedModel(entry * M, V, linalg.solve_triangular(L, T, lower=True, trans="T"), b)

    def value_and_gradient(parts: list[Array]) -> tuple[float, list[Array]]:
        value, (in_matrix, in_vectors, in_coef, in_intercept) = objective(unpack(parts), problem, unit)
        in_basis = linalg.solve_triangular(L, in_coef, lower=True)
        return value, [entry * in_matrix, in_vectors, in_basis, in_intercept]

    start = [model.matrix / entry, model.vectors, L.T @ model.coef, model.intercept]
    parts, _ = minimise(value_and_gradient, start, max_iter=max_iter, tol=tol)
    return unpack(parts)


def _factor(vectors: Array) -> Array:  # (m, m)
    """The basis in which steps of the coefficients are counted: orthonormal for the vectors as they are."""
    return factor_gram(gaussian(vectors, vectors) + RIDGE * np.eye(len(vectors)))


def refine_map_in_batches(
    model: ProjectedModel,
    problem: Problem,
    *,
    n_steps: int,
    rng: np.random.Generator,
    n_threads: int = 1,
    rate: float = 1.0,
    progress: Callable[[float], None] | None = None,
) -> ProjectedModel:
    """Move everything by random batches (Adam); the step falls to zero along a cosine.

    The norm of the function is that of its coefficients in the basis of the start: the vectors do not move far, and
    coefficients are solved for exactly in the end.

    Parameters
    ----------
    n_steps : int
        Batches of BATCH_ROWS rows; large models take larger batches, and fewer of them.
    rate : float
        Factor on all steps.
    progress : callable or None
        Called now and then with the share that is done.
    """
    X, loss, terms = problem.X, problem.loss, problem.terms
    n = X.shape[0]
    inverse = linalg.solve_triangular(_factor(model.vectors), np.eye(model.n_vectors), lower=True)
    basis = inverse.astype(np.float32)
    variables = [
        np.array(part, dtype=np.float32)
        for part in (
            model.matrix,
            model.vectors,
            linalg.solve_triangular(inverse, model.coef, lower=True, trans="T"),
            model.intercept,
        )
    ]
    wanted, weight, middle = (
        np.asarray(part, dtype=np.float32) for part in (problem.Y, problem.weights, problem.centre)
    )
    entry = float(np.sqrt(np.square(variables[0]).mean()))
    rank = model.matrix.shape[0]
    adam = Adam(variables, [STEP_MATRIX * entry, STEP_VECTORS / np.sqrt(rank), STEP_COEF, STEP_COEF])
    decay, penalty = np.float32(2.0 * terms.decay / (entry**2 * variables[0].size)), 2.0 * terms.penalty
    n_pieces = PIECES if BATCH_ROWS * model.vectors.size > PIECE_WORK else 1
    batch = min(n_pieces * BATCH_ROWS, n)
    n_steps = max(1, n_steps // n_pieces)
    warm_up = min(WARM_UP, max(1, n_steps // 5))
    order, at = rng.permutation(n), 0
    with ThreadPoolExecutor(min(n_threads, n_pieces)) as pool:
        run = pool.map if min(n_threads, n_pieces) > 1 else map
        for done in range(1, n_steps + 1):
            if at + batch > n:
                order, at = rng.permutation(n), 0
            picked, at = np.sort(order[at : at + batch]), at + batch
            matrix, vectors, T, intercept = variables
            here = ProjectedModel(matrix, vectors, basis.T @ T, intercept)

            def of_piece(rows: Array, here: ProjectedModel = here) -> tuple[Any, ...]:
                def slope_of(F: Array) -> tuple[float, Array]:
                    slope = weight[rows] * loss.derivative(wanted[rows], F)
                    return 0.0, (slope / batch).astype(np.float32, copy=False)

                return row_gradients(here, X[rows], middle, slope_of)

            parts = list(run(of_piece, np.array_split(picked, n_pieces)))
            in_matrix, in_vectors, in_coef, in_intercept = (
                sum(part[i] for part in parts) for i in (1, 2, 3, 4)
            )
            gradients = [in_matrix + decay * matrix, in_vectors, basis @ in_coef + penalty * T, in_intercept]
            adam.step(gradients, rate * cosine(done, n_steps, warm_up))
            if progress is not None and done % max(1, n_steps // TOLD) == 0:
                progress(done / n_steps)
    found = [part.astype(np.float64) for part in variables]
    return ProjectedModel(found[0], found[1], inverse.T @ found[2], found[3])


def placed(
    matrix: Array,  # (r, d)
    X: Rows,  # (n, d)
    centre: Array,  # (d,)
    Y: Array,  # (n, k)
    weights: Array,  # (n, k)
    groups: Array,  # (n,)
    n_vectors: int,
    penalty: float,
    rng: np.random.Generator,
) -> ProjectedModel:
    """Where refinement starts: cluster centres of each group in the image of a map, coefficients by ridge regression.

    The map is multiplied by what makes the median squared distance of a row to its nearest vector FIRST_DISTANCE.

    Parameters
    ----------
    groups : array of shape (n,)
        Numbers from 0: each group gets its share of the vectors.
    """
    if X.shape[0] > FIRST_ROWS:
        some = np.sort(rng.permutation(X.shape[0])[:FIRST_ROWS])
        X, Y, weights, groups = X[some], Y[some], weights[some], groups[some]
    Z = image(matrix, X.astype(np.float64), centre)
    # a map that the decay has shrunk to nearly nothing still has its directions; powers of two change no digit
    power = -int(np.frexp(np.abs(Z).max(initial=0.0))[1])
    matrix, Z = np.ldexp(matrix, power), np.ldexp(Z, power)
    vectors = cluster_centres(Z, groups, n_vectors, rng)
    nearest = np.concatenate(
        [
            nearest_squared(Z[rows], vectors)
            for rows in np.array_split(rng.permutation(len(Z))[:NEAREST_ROWS], 8)
        ]
    )
    typical = float(np.median(nearest[nearest > 0])) if (nearest > 0).any() else 1.0
    factor = np.sqrt(FIRST_DISTANCE / typical)
    Z, vectors = factor * Z, factor * vectors
    A = np.column_stack([gaussian(Z, vectors), np.ones(len(Z))])
    share = weights.mean(axis=1, keepdims=True) / len(Z)
    normal = (A * share).T @ A
    normal[:-1, :-1] += penalty * gaussian(vectors, vectors)
    normal[np.diag_indices(len(normal))] += RIDGE * 1e-2 * np.trace(normal) / len(normal)
    solved = linalg.solve(normal, (A * share).T @ Y, assume_a="pos")
    return ProjectedModel(factor * matrix, vectors, solved[:-1], solved[-1])


# Rows that say how far a row is from its nearest vector.
NEAREST_ROWS = 4000
# Rows from which the principal directions are taken, and the first vectors.
DIRECTION_ROWS, FIRST_ROWS = 10_000, 20_000


def nearest_squared(Z: Array, vectors: Array) -> Array:  # (n,)
    """Squared distance of each row to its nearest vector."""
    squares = np.square(Z).sum(axis=1)[:, None] + np.square(vectors).sum(axis=1) - 2.0 * (Z @ vectors.T)
    nearest: Array = np.maximum(squares, 0.0).min(axis=1, initial=np.inf)
    return nearest


def principal_directions(X: Rows, centre: Array, rank: int, rng: np.random.Generator) -> Array:  # (rank, d)
    """Directions of largest variance around the centre, by a randomised range finder; rows are never made dense."""
    if X.shape[0] > DIRECTION_ROWS:
        X = X[np.sort(rng.permutation(X.shape[0])[:DIRECTION_ROWS])]
    X = X.astype(np.float64)
    n, d = X.shape
    width = min(d, n, rank + 8)
    Q = np.linalg.qr(rng.standard_normal((d, width)))[0]
    for _ in range(4):
        Y = np.asarray(X @ Q) - centre @ Q
        Q = np.linalg.qr(np.asarray(X.T @ Y) - np.outer(centre, Y.sum(axis=0)))[0]
    Y = np.asarray(X @ Q) - centre @ Q
    values, inner = np.linalg.eigh(Y.T @ Y)
    order = np.argsort(-values, kind="stable")[:rank]
    directions: Array = (Q @ inner[:, order]).T
    signs = np.sign(directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)])
    return directions * signs[:, None]
