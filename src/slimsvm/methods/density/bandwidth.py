"""Bandwidth of a kernel density by the likelihood of rows it was not made from.

`full_bandwidth` is that of the estimate with a kernel on every row. A mixture of few kernels needs a larger
one: its weights are fitted, so wide kernels, few of them, can follow the density as closely, where on every
row they would only blur it. `sparse_bandwidth` chooses among widths by fitting the mixture itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from ...kernels.distances import squared_distances
from ...limits import DENSE_LIMIT_BYTES
from ...progress import tell
from ...rows import Array, Rows, block_slices, squared_norms
from .mixture_support import SparseMixture

# Logarithm of the largest factor of a density that is part of its coefficients: they are numbers of float32 then.
LARGEST_LOG = math.log(1e30)
# Rows whose left-out likelihood chooses the bandwidth of the full estimate; all rows take part in it.
ROWS_LEFT_OUT = 1000
# Its range as multiples of Scott's rule, and the precision of its logarithm.
BANDWIDTH_RANGE = (0.05, 3.0)
BANDWIDTH_PRECISION = 0.02
# The square of its inverse is a number.
SMALLEST_BANDWIDTH = 1e-150
# Rows on which bandwidths of the mixture are compared: one in HELD_OUT is held out, the mixture has the rest.
ROWS_COMPARED = 5000
HELD_OUT = 5
# Bandwidths tried fall by this factor.
STEP = math.sqrt(2.0)
# Bandwidths in a row without a better likelihood after which no smaller one is tried.
PATIENCE = 2
# Seed of the direction along which rows are drawn; any fixed number serves.
_DIRECTION_SEED = 20100601


def mixture_log_density(X: Rows, Z: Rows, weights: Array, bandwidth: float) -> Array:  # (n,)
    """Log-density of rows X under Gaussians of this bandwidth at the rows of Z, both in float64."""
    return log_of_sum(X, Z, weights, 0.5 / bandwidth**2) + log_factor(bandwidth, X.shape[1])


def log_factor(bandwidth: float, n_features: int) -> float:
    """Logarithm of the factor that makes a kernel integrate to one."""
    return -n_features * (0.5 * math.log(2.0 * math.pi) + math.log(bandwidth))


def log_unit(factor: float) -> float:
    """Logarithm of the unit of the outputs: that of the factor where it would be no number, else nothing.

    Examples
    --------
    >>> log_unit(log_factor(1.0, 2)), round(log_unit(log_factor(1.0, 1000)))
    (0.0, -919)
    """
    return 0.0 if abs(factor) <= LARGEST_LOG else factor


def log_of_sum(X: Rows, Z: Rows, coef: Array, gamma: float) -> Array:  # (n,)
    """Logarithm of the sum of coef_j exp(-gamma |x - z_j|^2), finite also where the sum underflows."""
    out = np.empty(X.shape[0])
    for block in block_slices(X.shape[0], 8 * Z.shape[0]):
        out[block] = logsumexp(-gamma * squared_distances(X[block], Z), axis=1, b=coef)
    return out


def spread_rows(X: Rows, count: int) -> Array:
    """Numbers of `count` rows, evenly along a fixed random direction.

    They depend neither on the order of the rows nor on their origin or scale.
    """
    n, d = X.shape
    direction = np.random.default_rng(_DIRECTION_SEED).standard_normal(d)
    order = np.argsort(np.asarray(X @ direction), kind="stable")
    return order[((np.arange(count) + 0.5) * (n / count)).astype(np.intp)]


def deviation(X: Rows, weight: Array) -> float:
    """Root of the mean variance of the features."""
    total = float(weight.sum())
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.asarray(weight @ X / total)
        if isinstance(X, np.ndarray):
            second = float(weight @ np.square(X - mean).sum(axis=1)) / total
        else:
            second = float(weight @ squared_norms(X)) / total - float(mean @ mean)
    if not math.isfinite(second):
        raise ValueError(
            "X has entries so large that its variance, and with it the bandwidth, overflows; divide X by its scale "
            "(sklearn.preprocessing.MaxAbsScaler does), or give bandwidth as a number."
        )
    return math.sqrt(max(second, 0.0) / X.shape[1])


def full_bandwidth(X: Rows, weight: Array) -> float:
    """The bandwidth under which left-out rows are likeliest in the kernel estimate on all other rows.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
        Distinct rows that are not all alike.
    weight : array of shape (n,)
        A row of weight 2 is a row twice.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((500, 1))
    >>> bool(0.1 < full_bandwidth(X, np.ones(500)) < 0.5)
    True
    """
    n, d = X.shape
    total = float(weight.sum())
    scott = deviation(X, weight) * (total ** (-1.0 / (d + 4)) if total > 1 else 1.0)
    most = max(1, DENSE_LIMIT_BYTES // (8 * n))  # their distances from all rows are held
    chosen = np.sort(spread_rows(X, min(n, ROWS_LEFT_OUT, most)))
    blocks = []
    for block in block_slices(len(chosen), 8 * n):
        own = chosen[block]
        squared = squared_distances(X[own], X)
        at = np.arange(len(own)), own
        left = np.maximum(weight[own] - 1.0, 0.0)  # what remains of the row itself
        squared[at] = np.where(left > 0, 0.0, np.inf)
        nearest = squared.min(axis=1)
        squared -= nearest[:, None]
        squared[at] = np.inf
        blocks.append((own, squared, nearest, left))

    def left_out(log_h: float) -> float:
        """Mean negative log-likelihood of each chosen row when it is left out once."""
        rate = 0.5 * math.exp(-2.0 * log_h)
        value = 0.0
        for own, squared, nearest, left in blocks:
            sums = np.exp(-rate * squared) @ weight + left
            value -= float(weight[own] @ (np.log(sums) - rate * nearest))
        return value / float(weight[chosen].sum()) + d * log_h

    if scott * min(BANDWIDTH_RANGE) < SMALLEST_BANDWIDTH:
        raise ValueError(
            "X has entries so near to each other that the bandwidth is out of the range of numbers; divide X by its "
            "scale (sklearn.preprocessing.MaxAbsScaler does)."
        )
    bounds = tuple(math.log(scott * factor) for factor in BANDWIDTH_RANGE)
    found = minimize_scalar(left_out, bounds=bounds, method="bounded", options={"xatol": BANDWIDTH_PRECISION})
    return math.exp(float(found.x))


def sparse_bandwidth(X: Rows, weight: Array, fit: Callable[[Rows, Array, float], SparseMixture]) -> float:
    """The largest bandwidth whose mixture is as likely on held-out rows as the best, within a standard error.

    The bandwidths fall from the deviation of the rows to that of the full estimate; wide kernels are few, so
    that most of the search is cheap. Where the smallest is best, that is it.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
        Distinct rows that are not all alike.
    weight : array of shape (n,)
    fit : function
        Rows, weights and bandwidth -> mixture.
    """
    smallest = full_bandwidth(X, weight)
    drawn = spread_rows(X, min(X.shape[0], ROWS_COMPARED))
    # the middle one of every few along the direction
    held = drawn[HELD_OUT // 2 :: HELD_OUT]
    rest = np.setdiff1d(drawn, held)
    if len(held) < 2:
        return smallest
    bandwidth = deviation(X, weight)
    tried: list[tuple[float, Array]] = []
    best = idle = 0
    while idle < PATIENCE:
        bandwidth = max(bandwidth, smallest)
        found = fit(X[rest], weight[rest], bandwidth)
        tried.append(
            (bandwidth, mixture_log_density(X[held], X[rest][found.support], found.weights, bandwidth))
        )
        tell("trying bandwidths", len(tried))
        if float(weight[held] @ (tried[-1][1] - tried[best][1])) > 0:
            best, idle = len(tried) - 1, 0
        else:
            idle += len(tried) > 1
        if bandwidth == smallest:
            break
        bandwidth /= STEP
    share = weight[held] / weight[held].sum()
    for bandwidth, likelihood in tried[:best]:
        difference = tried[best][1] - likelihood
        mean = float(share @ difference)
        error = math.sqrt(float(share**2 @ np.square(difference - mean)))
        if mean <= error:
            return bandwidth
    return tried[best][0]
