r"""A metric before the vectors: the width of each feature by the marginal likelihood of a Gaussian process.

With targets Y (labels -1 and +1 are targets too) of variance one, centred, and :math:`A = s\,K + \nu I` for the
Gaussian kernel with a width for each feature, the widths, the share s of the signal and that of the noise :math:`\nu`
minimise

.. math:: \tfrac{1}{2}\,\mathrm{tr}(Y^\top A^{-1} Y) + \tfrac{k}{2} \log |A| .

The gradient costs a few products of the size of the kernel matrix, so a few hundred rows and iterations take a part of
a second; more rows than that did not find better widths.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg, optimize

from ...rows import Array

# Rows that are looked at, drawn evenly from those given, and iterations of L-BFGS.
ROWS, ITERATIONS = 200, 30
# Logarithms of widths, relative to the start, and of the shares of signal and noise stay within these.
WIDTH_RANGE, SHARE_RANGE = 12.0, (-12.0, 4.0)
# The share of noise it begins with. With little of it the first step goes to widths at which rows have nothing in
# common and all is noise, an optimum that it does not leave.
NOISE = 0.3
TINY = 1e-10
# An entry this many spreads from the mean is far from everything else at any width; more would only cost digits.
FARTHEST = 1e6


def likely_widths(X: Array, Y: Array, weight: Array, start: Array) -> Array:  # (d,)
    """Logarithm of the width of each feature, from these on.

    Parameters
    ----------
    X, Y, weight : arrays of shape (n, d), (n, k), (n,)
        Heavier rows have less noise.
    start : array of shape (d,)
    """
    rows = np.unique(np.linspace(0, len(X) - 1, min(ROWS, len(X))).astype(np.intp))
    X, Y, weight = np.clip(X[rows], -FARTHEST, FARTHEST), Y[rows], weight[rows]
    Y = (Y - Y.mean(axis=0)) / np.maximum(Y.std(axis=0), TINY)
    level = weight.mean() / weight

    def objective(parameters: Array) -> tuple[float, Array]:
        return negative_log_likelihood(parameters[:-2], parameters[-2], parameters[-1], X, Y, level)

    bounds = [(width - WIDTH_RANGE, width + WIDTH_RANGE) for width in start] + [SHARE_RANGE] * 2
    found = optimize.minimize(
        objective, np.concatenate([start, [0.0, np.log(NOISE)]]), jac=True, method="L-BFGS-B", bounds=bounds,
        options={"maxiter": ITERATIONS},
    )  # fmt: skip
    widths: Array = found.x[:-2]
    return widths


def negative_log_likelihood(
    log_widths: Array, log_signal: float, log_noise: float, X: Array, Y: Array, level: Array
) -> tuple[float, Array]:
    """The value, and its gradient in the logarithms of widths, signal and noise."""
    k = Y.shape[1]
    widths = np.exp(log_widths)
    scaled = X * np.sqrt(widths)
    squares = np.square(scaled).sum(axis=1)
    D = np.maximum(squares[:, None] + squares - 2.0 * (scaled @ scaled.T), 0.0)
    K = np.exp(log_signal - D)
    noise = np.exp(log_noise) * level
    A = K + np.diag(noise + TINY)
    factor, failed = linalg.lapack.dpotrf(A, lower=True)
    if failed:
        return np.inf, np.zeros(len(log_widths) + 2)
    inverse, _ = linalg.lapack.dpotri(factor, lower=True)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    solved = inverse @ Y
    value = 0.5 * float((Y * solved).sum()) + k * float(np.log(np.diagonal(factor)).sum())
    # the derivative in A is (k A^-1 - A^-1 Y Y' A^-1) / 2
    slope = 0.5 * (k * inverse - solved @ solved.T)
    in_kernel = slope * K
    total = in_kernel.sum(axis=1)
    # sum over pairs of slope * K * -(w (x - x')^2)
    in_widths = -2.0 * widths * (total @ np.square(X) - (X * (in_kernel @ X)).sum(axis=0))
    in_noise = float(np.diagonal(slope) @ noise)
    return value, np.concatenate([in_widths, [float(in_kernel.sum()), in_noise]])
