"""Plain NumPy truth in float64, written to be read: the fast code is tested against it."""

from __future__ import annotations

import numpy as np


def rbf(X, Z, gamma):
    difference = _differences(X, Z)
    return np.exp(-(np.broadcast_to(gamma, X.shape[1]) * difference**2).sum(axis=2))


def laplacian(X, Z, gamma):
    difference = _differences(X, Z)
    return np.exp(-(np.broadcast_to(gamma, X.shape[1]) * np.abs(difference)).sum(axis=2))


def linear(X, Z):
    return np.array([[sum(x * z) for z in as_float64(Z)] for x in as_float64(X)]).reshape(len(X), len(Z))


def poly(X, Z, gamma, coef0, degree):
    return (gamma * linear(X, Z) + coef0) ** degree


def sigmoid(X, Z, gamma, coef0):
    return np.tanh(gamma * linear(X, Z) + coef0)


def expansion(K, coef, intercept):
    """Weighted sum over the columns of a kernel block K."""
    return as_float64(K) @ as_float64(coef) + as_float64(intercept)


def least_squares_machine(K, Y, C, fit_intercept=True, penalize_intercept=False):
    """Coefficients and intercepts of the least-squares machine from its bordered system.

    [ K + diag(1/C)   1 ] [alpha]   [Y]
    [ 1'             -p ] [  b  ] = [0], p = 1 where the intercept is penalised
    """
    n, k = Y.shape
    A = as_float64(K) + np.diag(1.0 / as_float64(C))
    if not fit_intercept:
        return np.linalg.solve(A, Y), np.zeros(k)
    bordered = np.block(
        [[A, np.ones((n, 1))], [np.ones((1, n)), np.full((1, 1), -float(penalize_intercept))]]
    )
    solved = np.linalg.solve(bordered, np.vstack([Y, np.zeros((1, k))]))
    return solved[:n], solved[n]


def residuals(K, J):
    """Squared distances, in feature space, of all rows from the span of the rows J."""
    if not len(J):
        return np.diag(K).copy()
    return np.diag(K) - np.einsum("ij,ji->i", K[:, J], np.linalg.lstsq(K[np.ix_(J, J)], K[J], rcond=1e-14)[0])


def relative_error(found, wanted):
    """Largest difference, relative to the largest wanted value."""
    found, wanted = as_float64(found), as_float64(wanted)
    assert found.shape == wanted.shape
    if wanted.size == 0:
        return 0.0
    size = np.abs(wanted).max()
    return float(np.abs(found - wanted).max() / (size if size > 0 else 1.0))


def as_float64(values):
    return np.asarray(values, dtype=np.float64)


def _differences(X, Z):
    return as_float64(X)[:, None, :] - as_float64(Z)[None, :, :]


def hinge_gap(Z, t, c, beta) -> float:
    """Relative duality gap of 1/2 |w|^2 + sum c max(0, t - Zw) at w = Z'beta; infinite outside 0 <= beta <= c."""
    if (beta < 0).any() or (beta > c).any():
        return np.inf
    w = Z.T @ beta
    primal = 0.5 * w @ w + c @ np.maximum(t - Z @ w, 0.0)
    return float((primal - (t @ beta - 0.5 * w @ w)) / primal)


def exact_values(kernel, X, Z):
    """Kernel values from the definitions, and the size of what was added up, in the longest floats there are."""
    X, Z = (np.asarray(rows).astype(np.longdouble) for rows in (X, Z))
    if kernel.name in ("rbf", "laplacian"):
        gamma = np.broadcast_to(np.asarray(kernel.gamma, dtype=np.longdouble), X.shape[1])
        distance = np.abs(X[:, None] - Z[None])
        K = np.exp(-(gamma * (distance**2 if kernel.name == "rbf" else distance)).sum(axis=2))
        return K, K
    dot, size = X @ Z.T, np.abs(X) @ np.abs(Z).T
    if kernel.name == "linear":
        return dot, size
    gamma, coef0 = np.longdouble(kernel.gamma), np.longdouble(kernel.coef0)
    inner, most = gamma * dot + coef0, gamma * size + abs(coef0)
    if kernel.name == "sigmoid":
        # an error e of the inner sum is one of e (1 - tanh^2) of the value, which fades where the inner sum is large
        return np.tanh(inner), np.minimum(most / np.cosh(np.minimum(np.abs(inner), 40)) ** 2, 1) + np.abs(
            np.tanh(inner)
        )
    return inner**kernel.degree, most**kernel.degree


def exact_outputs(expansion, X):
    """Outputs of an RBF expansion at the rows of X, by differences in long double."""
    X, vectors = np.asarray(X, dtype=np.longdouble), np.asarray(expansion.vectors, dtype=np.longdouble)
    gamma = np.broadcast_to(np.asarray(expansion.kernel.gamma, dtype=np.longdouble), (X.shape[1],))
    distances = (gamma * np.square(X[:, None, :] - vectors[None, :, :])).sum(axis=2)
    outputs = np.exp(-distances) @ np.asarray(expansion.coef, dtype=np.longdouble) + expansion.intercept
    return outputs.astype(np.float64)
