r"""A projection, the vectors in its image, coefficients and intercept, fitted together.

With rows x centred, :math:`z = Px` and the Gaussian kernel of width one in the image, the objective is

.. math:: \frac{1}{n}\sum_{io} w_{io}\,\ell(y_{io}, f_o(x_i)) + \sum_o \lambda\, b_o^\top K_{VV} b_o + \delta\,|P|^2,
    \qquad f(x) = \sum_j b_j \exp(-|Px - v_j|^2) + c .

The last term keeps the map from stretching the inputs until it knows every row by heart. Everything is matrix
products in float32, in one thread: a batch is too short to be worth sharing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..rows import Array, Rows
from .adam import Adam, cosine
from .losses import SmoothLoss
from .starts import cluster_centres

BATCH_ROWS = 256
# Squared distances beyond this count as this: numbers below the normal ones would take a hundred times as long.
FARTHEST = 80.0
# Steps of Adam: of coefficients and vectors, which are of the order of one, and of the matrix in units of its mean
# entry.
STEP, STEP_MATRIX = 0.03, 0.01
WARM_UP = 200  # batches over which the step grows to its size, or a fifth of all where there are few
# The norm of the function costs m^2, a batch m times its rows: it is looked at in every (NORM_SHARE m / rows)-th batch,
# and counts for those between.
NORM_SHARE = 4
# Squared distance of a row to its nearest vector at the start, in units of the kernel's width: the median.
FIRST_DISTANCE = 0.5


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
    X: Rows,
    centre: Array,
    Y: Array,
    weights: Array,
    loss: SmoothLoss,
    terms: Terms,
    unit: float,
) -> tuple[float, tuple[Array, Array, Array, Array]]:
    """Value and gradients on all rows; `unit` is the mean square of the matrix that counts as one."""
    n = len(Y)

    def slope_of(F: Array) -> tuple[float, Array]:
        return float((weights * loss.value(Y, F)).sum()) / n, weights * loss.derivative(Y, F) / n

    value, in_matrix, in_vectors, in_coef, in_intercept = row_gradients(model, X, centre, slope_of)
    norm, norm_vectors, norm_coef = norm_gradients(model.vectors, model.coef)
    decay = terms.decay / (unit * model.matrix.size)
    value += terms.penalty * norm + decay * float(np.square(model.matrix).sum())
    return value, (
        in_matrix + 2.0 * decay * model.matrix,
        in_vectors + terms.penalty * norm_vectors,
        in_coef + terms.penalty * norm_coef,
        in_intercept,
    )


def refine_projection(
    model: ProjectedModel,
    X: Rows,  # (n, d), float32
    centre: Array,  # (d,)
    Y: Array,  # (n, k)
    weights: Array,  # (n, k), of mean one
    loss: SmoothLoss,
    terms: Terms,
    *,
    n_steps: int,
    rng: np.random.Generator,
    progress: Callable[[int], None] | None = None,
) -> ProjectedModel:
    """Move everything by random batches (Adam); the step falls to zero along a cosine.

    Parameters
    ----------
    n_steps : int
        Batches; whole passes over the rows are made, at least one.
    progress : callable or None
        Called with the number of each finished epoch.
    """
    n = X.shape[0]
    variables = [
        np.array(part, dtype=np.float32)
        for part in (model.matrix, model.vectors, model.coef, model.intercept)
    ]
    wanted, weight = np.asarray(Y, dtype=np.float32), np.asarray(weights, dtype=np.float32)
    middle = centre.astype(np.float32)
    entry = float(np.sqrt(np.square(variables[0]).mean()))
    adam = Adam(variables, [STEP_MATRIX * entry, STEP, STEP, STEP])
    decay, penalty = np.float32(2.0 * terms.decay / (entry**2 * variables[0].size)), np.float32(terms.penalty)
    batch = min(BATCH_ROWS, n)
    n_batches = max(1, n // batch)
    n_epochs = max(1, round(n_steps / n_batches))
    warm_up = min(WARM_UP, max(1, n_epochs * n_batches // 5))
    rarely = max(1, NORM_SHARE * model.n_vectors // batch)
    for epoch in range(n_epochs):
        order = rng.permutation(n)
        for b in range(n_batches):
            here = ProjectedModel(*variables)
            picked = np.sort(order[b * batch : (b + 1) * batch])

            def slope_of(F: Array, picked: Array = picked) -> tuple[float, Array]:
                slope = weight[picked] * loss.derivative(wanted[picked], F)
                return 0.0, (slope / batch).astype(np.float32, copy=False)

            _, *gradients = row_gradients(here, X[picked], middle, slope_of)
            done = epoch * n_batches + b + 1
            gradients[0] = gradients[0] + decay * here.matrix
            if done % rarely == 0:
                _, norm_vectors, norm_coef = norm_gradients(here.vectors, here.coef)
                gradients[1] = gradients[1] + rarely * penalty * norm_vectors
                gradients[2] = gradients[2] + rarely * penalty * norm_coef
            adam.step(gradients, cosine(done, n_epochs * n_batches, warm_up))
        if progress is not None:
            progress(epoch + 1)
    return ProjectedModel(*(part.astype(np.float64) for part in variables))


def first_projection(
    X: Rows,  # (n, d)
    centre: Array,  # (d,)
    groups: Array,  # (n,)
    rank: int,
    n_vectors: int,
    n_outputs: int,
    rng: np.random.Generator,
) -> ProjectedModel:
    """Where refinement starts: principal components, cluster centres of each group in their image, no coefficients.

    Parameters
    ----------
    groups : array of shape (n,)
        Numbers from 0: each group gets its share of the vectors.
    """
    matrix = principal_directions(X, centre, rank, rng)
    Z = image(matrix, X, centre)
    vectors = cluster_centres(Z, groups, n_vectors, rng)
    nearest = np.concatenate(
        [
            nearest_squared(Z[rows], vectors)
            for rows in np.array_split(rng.permutation(len(Z))[:NEAREST_ROWS], 8)
        ]
    )
    typical = float(np.median(nearest[nearest > 0])) if (nearest > 0).any() else 1.0
    factor = np.sqrt(FIRST_DISTANCE / typical)
    zeros = np.zeros((len(vectors), n_outputs))
    return ProjectedModel(factor * matrix, factor * vectors, zeros, np.zeros(n_outputs))


# Rows that say how far a row is from its nearest vector.
NEAREST_ROWS = 4000
# Rows from which the principal directions are taken.
DIRECTION_ROWS = 10_000


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
