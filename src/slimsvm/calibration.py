"""Probabilities fitted to outputs: a softmax with a slope and an offset for each class.

With one slope a and an offset b_c for each class, p_c is proportional to exp(a f_c + b_c); both come from maximum
likelihood on rows the model was not trained on. Few rows, or rows that the outputs separate without a mistake, would
make them infinite: the targets t of n rows and K classes are therefore smoothed to (n t + 1 / K) / (n + 1), which is
worth one row of which nothing is known. The problem stays convex and has one finite solution.

References
----------
J. Platt, Probabilistic outputs for support vector machines, Advances in Large Margin Classifiers (1999): slope and
offset on smoothed targets.
R. Kass and L. Wasserman, A reference Bayesian test for nested hypotheses and its relationship to the Schwarz criterion,
Journal of the American Statistical Association 90 (1995), doi:10.1080/01621459.1995.10476592: a prior worth one row.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg
from scipy.special import logsumexp

from .linalg import cholesky_factor
from .probability import Probability, behind_the_largest, two_columns
from .rows import Array

# Newton's method is done when a step promises less than this, per unit of weight; it takes about ten.
TOLERANCE = 1e-14
MOST_STEPS = 200
# Outputs that are all alike say nothing of the slope: this much of the mean curvature keeps the step finite.
RIDGE = 1e-12


def per_row(weight: Array) -> Array:  # (n,)
    """Weights whose mean is one: rows count as rows, however the weights are scaled."""
    return weight / weight.mean() if weight.size and weight.sum() > 0 else weight


def fit_softmax(outputs: Array, groups: Array, weight: Array) -> Probability:
    """The slope and offsets under whose softmax the classes of the rows are most likely.

    Parameters
    ----------
    outputs : array of shape (n, k)
        Of rows the model was not trained on; one column means two classes.
    groups : array of shape (n,)
        The class of each row as a number.
    weight : array of shape (n,)
        A row of weight 2 is two rows.

    Examples
    --------
    >>> outputs, groups = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0, 1, 1, 1])
    >>> fit_softmax(outputs, groups, np.ones(4))(outputs).round(2)
    array([[0.67, 0.33],
           [0.5 , 0.5 ],
           [0.08, 0.92],
           [0.03, 0.97]])
    """
    n_classes = max(2, outputs.shape[1])
    return follow_probabilities(outputs, (groups[:, None] == np.arange(n_classes)).astype(np.float64), weight)


def follow_probabilities(outputs: Array, probabilities: Array, weight: Array) -> Probability:
    """The slope and offsets whose softmax is nearest, in cross entropy, to given probabilities.

    Parameters
    ----------
    outputs : array of shape (n, k)
        One column means two classes.
    probabilities : array of shape (n, n_classes)
    weight : array of shape (n,)
        A row of weight 2 is two rows.
    """
    n, k = weight.sum(), probabilities.shape[1]
    if not n > 0:
        return Probability("softmax")
    targets = (n * probabilities + 1.0 / k) / (n + 1.0)
    F = behind_the_largest(two_columns(outputs.astype(np.float64)))
    unit = max(float(np.abs(F).max()), np.finfo(np.float64).tiny)
    slope, offset = _newton(F / unit, targets, weight)
    if slope < 0:  # outputs that say the contrary: a convex problem is then solved on the border
        slope, offset = 0.0, np.log(weight @ targets / n)
    offset = offset - offset.mean()
    factor = min(slope / unit, float(np.finfo(np.float64).max))
    return Probability("softmax", factor, offset[1:] - offset[:1] if outputs.shape[1] == 1 else offset)


def _newton(F: Array, targets: Array, weight: Array) -> tuple[float, Array]:
    """Slope and offsets of the least cross entropy; the offset of the first class is 0."""
    k, total = F.shape[1], weight.sum()
    mine = np.einsum("nc,nc->n", targets, F)
    shares = weight @ targets

    def loss(at: Array) -> tuple[float, Array]:
        logits = at[0] * F + np.append(0.0, at[1:])
        norm = logsumexp(logits, axis=1)
        value = weight @ norm - at[0] * (weight @ mine) - at[1:] @ shares[1:]
        return float(value), np.exp(logits - norm[:, None])

    at = np.zeros(k)
    value, P = loss(at)
    for _ in range(MOST_STEPS):
        mean = np.einsum("nc,nc->n", P, F)
        gradient = np.append(weight @ (mean - mine), (weight @ P - shares)[1:])
        W = P * weight[:, None]
        away = F - mean[:, None]
        curvature = np.empty((k, k))
        curvature[0, 0] = np.einsum("nc,nc,nc->", W, away, away)
        curvature[0, 1:] = curvature[1:, 0] = np.einsum("nc,nc->c", W, away)[1:]
        curvature[1:, 1:] = (np.diag(W.sum(axis=0)) - W.T @ P)[1:, 1:]
        curvature[np.diag_indices(k)] += RIDGE * (np.trace(curvature) / k + np.finfo(np.float64).tiny)
        # outputs that are all but equal leave a singular matrix
        step = -linalg.cho_solve((cholesky_factor(curvature), True), gradient, check_finite=False)
        promised = -gradient @ step
        if not promised > TOLERANCE * total:
            at = at + step
            break
        length = 1.0
        while True:
            new_value, new_P = loss(at + length * step)
            if new_value <= value - 1e-4 * length * promised or length < 1e-10:
                break
            length /= 2
        if new_value >= value:
            break  # no digits left
        at, value, P = at + length * step, new_value, new_P
    return float(at[0]), np.append(0.0, at[1:])
