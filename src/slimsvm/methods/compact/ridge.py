r"""A first width and penalty: ridge regression on few random kernel columns, scored leaving one out.

With the squared loss all penalties of one width cost a single factorisation, and leaving a point out needs no
refitting: with hat matrix H the residual becomes :math:`r_i / (1 - h_{ii})`. Rows of equal inputs leave together: their
leverages add up to h, and with their mean residual r the output falls by :math:`r h / (1 - h)`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from ...refinement import factor_gram
from ...rows import Array
from .observations import Observations

# Columns of the kernel matrix: a compact model has fewer vectors than that. Up to so many rows all are columns.
COLUMNS = 128
FEW_ROWS = 256
# Widths times the number of (scaled) features, and penalties; the optimum lies inside on all data we have seen.
WIDTHS = 2.0 ** np.arange(-8, 6)
PENALTIES = 2.0 ** np.arange(-9, 10)
# Leverages nearer to one than this are rounding.
LEAVE = 1e-6


def column_places(n_rows: int, rng: np.random.Generator) -> Array:
    """Numbers of the rows whose kernel columns serve."""
    return rng.permutation(n_rows)[: n_rows if n_rows <= FEW_ROWS else COLUMNS]


def ridge_search(
    data: Observations,
    columns: Callable[[float], tuple[Array, Array]],
    widths: Array,
    penalties: Array,
) -> tuple[float, float, float, float]:
    """The least squared error on points left out, its width and penalty, and the error as it is scored.

    Parameters
    ----------
    columns : callable
        From a width to the kernel matrix of some places (m, m), and of them against all rows (m, n).
    """
    Y, weight = data.Y, data.weight
    share = weight / weight.sum()
    mean = share @ Y
    root = np.sqrt(weight)[:, None]
    added = _sums_by_point(data.point)
    at_point = added(weight[:, None])
    best = (np.inf, float(widths[0]), float(penalties[0]), np.inf)
    for width in widths:
        among, against_all = columns(float(width))
        features = linalg.solve_triangular(factor_gram(among), against_all, lower=True).T
        features = features - share @ features
        values, vectors = linalg.eigh((features * weight[:, None]).T @ features)
        used = values > 1e-10 * max(values[-1], 1e-300)
        if not used.any():
            continue
        values = values[used]
        U = root * (features @ vectors[:, used]) / np.sqrt(values)
        shrink = values[:, None] / (values[:, None] + penalties)
        leverage = added(np.square(U) @ shrink + share[:, None])
        against = U.T @ (root * (Y - mean))
        for p, penalty in enumerate(penalties):
            residual = (Y - mean) - (U @ (shrink[:, p, None] * against)) / root
            pulled = leverage[:, p, None] / np.maximum(1.0 - leverage[:, p, None], LEAVE)
            left_out = residual + pulled * added(weight[:, None] * residual) / at_point
            error = float(share @ np.square(left_out).sum(axis=1))
            if error < best[0]:
                scored = float(share @ data.mistakes(Y - left_out))
                best = (error, float(width), float(penalty), scored)
    return best


def _sums_by_point(point: Array) -> Callable[[Array], Array]:  # (n,); (n, p) -> (n, p)
    """What replaces the values of each row by their sum over the rows of its point."""
    points, at = np.unique(point, return_inverse=True)
    if len(points) == len(point):
        return lambda values: values

    def added(values: Array) -> Array:
        total = np.zeros((len(points), values.shape[1]))
        np.add.at(total, at, values)
        sums: Array = total[at]
        return sums

    return added
