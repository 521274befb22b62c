r"""Coordinate descent for the hinge loss on explicit features: cheap steps, best when C is moderate.

With :math:`\beta_i = y_i\alpha_i` the dual is a box-constrained quadratic in :math:`\beta`, solved by `box_cd` in
the compiled core. The free intercept is the multiplier of :math:`\sum_i\beta_i = 0`: an augmented Lagrangian adds
the feature :math:`\sqrt\rho` to every row and moves b after each round.

References
----------
Hsieh, Chang, Lin, Keerthi and Sundararajan (2008), doi:10.1145/1390156.1390208 (coordinate descent); Bertsekas,
*Constrained Optimization and Lagrange Multiplier Methods* (1982).
"""

from __future__ import annotations

import numpy as np

from ... import _core
from ...problem import FeatureGram, Problem, Solution, Status
from ...progress import tell
from ...rows import Array
from .hinge import HingePoint

# Total epochs over all rounds.
MAX_EPOCHS = 10_000
# Epochs of one round at most; a round that needs more is worth a look at the gap.
EPOCHS_PER_ROUND = 200
# Projected gradient allowed in the first round, and its fall from one round to the next. Margins are about 1.
FIRST_TOLERANCE = 0.1
TOLERANCE_FALL = 0.2
SMALLEST_TOLERANCE = 1e-13


def solve_coordinate_descent(
    problem: Problem,
    *,
    tol: float,
    max_iter: int | None = None,
    start: Solution | None = None,
    seed: int = 0,
) -> Solution:
    """Solve each output to a relative duality gap of tol; `max_iter` counts epochs."""
    gram = problem.gram
    if not isinstance(gram, FeatureGram):
        raise TypeError("coordinate descent needs explicit features (a FeatureGram).")
    n, k = problem.y.shape
    H = np.ascontiguousarray(gram.H)
    rho = float(np.einsum("ij,ij->", H, H) / max(1, n)) or 1.0
    if problem.fit_intercept:
        H = np.column_stack([H, np.full(n, np.sqrt(rho))])
    alpha, intercept, gap = np.empty((n, k)), np.empty(k), np.empty(k)
    most, status = 0, Status.OPTIMAL
    for output in range(k):
        best, epochs = _solve_one(
            gram.H, H, problem.y[:, output], problem.C, rho if problem.fit_intercept else 0.0, tol,
            MAX_EPOCHS if max_iter is None else max_iter, seed,
            None if start is None else start.alpha[:, output],
            0.0 if start is None else float(start.intercept[output]),
        )  # fmt: skip
        alpha[:, output], intercept[output], gap[output] = best.beta, best.b, best.gap
        most = max(most, epochs)
        if best.gap > tol:
            status = Status.ITERATION_LIMIT
    return Solution(alpha, intercept, status, most, float(gap.max()))


def _solve_one(
    H: Array,  # (n, m)
    augmented: Array,  # (n, m + 1) with the constant feature, or H itself
    y: Array,
    C: Array,
    rho: float,
    tol: float,
    max_epochs: int,
    seed: int,
    start: Array | None,
    b: float,
) -> tuple[HingePoint, int]:
    lower, upper = np.minimum(0.0, y * C), np.maximum(0.0, y * C)
    beta = np.zeros_like(y) if start is None else np.clip(start, lower, upper)
    ridge = np.zeros_like(y)
    best = HingePoint(beta, b, np.inf)
    epochs, inner = 0, FIRST_TOLERANCE
    while epochs < max_epochs:
        rounds = min(EPOCHS_PER_ROUND, max_epochs - epochs)
        beta, _, used, violation = _core.box_cd(
            augmented, y - b, ridge, lower, upper, beta, inner, rounds, seed + epochs
        )
        epochs += used
        b += rho * float(beta.sum())
        point = HingePoint.measure(H, y, C, beta, fit_intercept=rho > 0)
        if point.gap < best.gap:
            best = point
        tell("coordinate descent", epochs, None, f"relative gap {best.gap:.2g}")
        if best.gap <= tol:
            break
        if violation <= inner:
            inner = max(SMALLEST_TOLERANCE, TOLERANCE_FALL * inner)
    return best, epochs
