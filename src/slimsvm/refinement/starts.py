"""Where vectors begin before they are moved: rows that the present function fits worst, or cluster centres."""

from __future__ import annotations

import numpy as np

from ..rows import Array
from .joint import RbfModel
from .losses import SmoothLoss

# Rows looked at as places for new vectors; more of them did not give better models.
CANDIDATES = 256
# Added to the diagonal of a kernel matrix whose vectors may coincide.
NEARLY_EQUAL = 1e-8
# Rounds of Lloyd's algorithm: the centres are moved by refinement afterwards.
CLUSTER_ROUNDS = 5


def constant(Y: Array, weights: Array, log_widths: Array) -> RbfModel:
    """The model without vectors whose outputs are the weighted means."""
    total = weights.sum(axis=0)
    mean = (weights * Y).sum(axis=0) / np.where(total > 0, total, 1.0)
    d, k = len(log_widths), Y.shape[1]
    return RbfModel(np.zeros((0, d)), np.zeros((0, k)), mean, np.asarray(log_widths, dtype=np.float64))


def grow(
    model: RbfModel,
    X: Array,  # (n, d)
    Y: Array,  # (n, k)
    weights: Array,  # (n, k)
    loss: SmoothLoss,
    n_vectors: int,
    rng: np.random.Generator,
) -> RbfModel:
    """Add vectors with coefficients zero until there are `n_vectors`.

    Each new one is the row, of a random choice of rows, along whose kernel function the loss falls fastest;
    what it takes of the gradient is taken out before the next is chosen (matching pursuit).
    """
    n_new = n_vectors - model.n_vectors
    if n_new <= 0:
        return model
    slope = weights * loss.derivative(Y, model.outputs(X) if model.n_vectors else model.intercept[None, :])
    n_candidates = max(CANDIDATES, 4 * n_new)
    places = X[rng.permutation(len(X))[:n_candidates]]
    gradient = model.kernel(places, X) @ slope
    among = model.kernel(places, places) if n_new > 1 else None
    chosen = pursue(gradient, among, n_new)
    return RbfModel(
        np.vstack([model.vectors, places[chosen]]),
        np.vstack([model.coef, np.zeros((len(chosen), Y.shape[1]))]),
        model.intercept,
        model.log_widths,
    )


def pursue(gradient: Array, among: Array | None, n_new: int) -> list[int]:  # (p, k), (p, p)
    """Numbers of places along whose kernel functions, all of one norm, the loss falls fastest.

    What each takes of the gradient, by the kernel values among the places, is taken out before the next is chosen.
    """
    chosen: list[int] = []
    # by a power of two, so that no square overflows and no digit changes
    gradient = np.ldexp(gradient, -int(np.frexp(np.abs(gradient).max(initial=0.0))[1]))
    for _ in range(min(n_new, len(gradient))):
        best = int(np.square(gradient).sum(axis=1).argmax())
        chosen.append(best)
        if among is not None:
            gradient = gradient - np.outer(among[:, best], gradient[best])
        gradient[chosen] = 0.0
    return chosen


def without_weakest(model: RbfModel, n_vectors: int) -> RbfModel:
    r"""The model with only its `n_vectors` strongest vectors.

    The weakest is the one without which the function, its other coefficients fitted again, changes least in
    norm: that change is :math:`\beta_j^2 / (K^{-1})_{jj}`.
    """
    K = model.kernel(model.vectors, model.vectors)
    inverse = np.linalg.inv(K + NEARLY_EQUAL * np.eye(len(K)))
    change = np.square(model.coef).sum(axis=1) / np.diagonal(inverse)
    kept = np.sort(np.argsort(-change, kind="stable")[:n_vectors])
    return RbfModel(model.vectors[kept], model.coef[kept], model.intercept, model.log_widths)


def cluster_centres(
    X: Array, groups: Array, n_vectors: int, rng: np.random.Generator, *, move: bool = True
) -> Array:  # (m, d)
    """Centres of clusters of the rows of each group, as many for each as its share of the rows.

    Parameters
    ----------
    groups : array of shape (n,)
        The class of each row as a number, or zeros.
    move : bool
        False leaves the centres where they begin, at random rows.
    """
    kinds, counts = np.unique(groups, return_counts=True)
    shares = np.maximum(1, np.floor(n_vectors * counts / counts.sum()).astype(np.intp))
    while shares.sum() > n_vectors:
        shares[shares.argmax()] -= 1
    while shares.sum() < n_vectors:
        shares[(counts / shares).argmax()] += 1
    centres = []
    for kind, share in zip(kinds, shares, strict=True):
        rows = X[groups == kind]
        C = rows[rng.permutation(len(rows))[:share]].copy()
        for _ in range(CLUSTER_ROUNDS if len(C) and move else 0):
            nearest = (np.square(C).sum(axis=1) - 2.0 * (rows @ C.T)).argmin(axis=1)
            order = np.argsort(nearest, kind="stable")
            filled, first = np.unique(nearest[order], return_index=True)
            sums = np.add.reduceat(rows[order], first, axis=0)
            C[filled] = sums / np.diff(np.append(first, len(rows)))[:, None]
        centres.append(C)
    return np.vstack(centres)
