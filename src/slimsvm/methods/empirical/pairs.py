r"""Pairs of coefficients for the hinge loss on explicit features.

Sequential minimal optimisation (`pair_cd` in the compiled core, double precision) on the matrix H H' of the
features. Where the free coefficients are few or the features are of like size it needs a few passes; where they
are not it crawls. The active set starts with it and takes fewer steps to the end.

References
----------
Fan, Chen and Lin (2005), JMLR 6:1889-1918 (second-order choice of the pair).
"""

from __future__ import annotations

import numpy as np

from ... import _core
from ...limits import check_memory
from ...problem import FeatureGram, Problem, Solution, Status
from ...progress import tell
from ...rows import Array
from .hinge import HingePoint

# Passes (n steps each) at most, by default.
MAX_PASSES = 1000
# The violation is a difference of margins, and the gap it leaves is smaller than it: no need to look before.
WORTH_MEASURING = 100.0


def solve_pairs(
    problem: Problem,
    *,
    tol: float,
    max_iter: int | None = None,
    start: Solution | None = None,
) -> Solution:
    """Solve each output to a relative duality gap of tol; `max_iter` counts passes of n steps."""
    gram = problem.gram
    if not isinstance(gram, FeatureGram):
        raise TypeError("the solver needs explicit features (a FeatureGram).")
    if not problem.fit_intercept:
        raise ValueError("solver='smo' moves pairs of coefficients and needs a free intercept.")
    n, k = problem.y.shape
    check_memory(
        8.0 * n * n,
        f"solver='smo' holds a square matrix, which for {n} rows needs",
        "use solver='interior_point'",
    )
    G = gram.H @ gram.H.T
    alpha, intercept, gap = np.zeros((n, k)), np.zeros(k), np.full(k, np.inf)
    most, status = 0, Status.OPTIMAL
    for output in range(k):
        beta = np.zeros(n) if start is None else start.alpha[:, output].copy()
        point, passes, ended = _solve_one(
            G, gram.H, problem.y[:, output], problem.C, beta, tol, max_iter or MAX_PASSES
        )
        alpha[:, output], intercept[output], gap[output] = point.beta, point.b, point.gap
        most = max(most, passes)
        if ended is not Status.OPTIMAL:
            status = ended
    return Solution(alpha, intercept, status, most, float(gap.max()))


def _solve_one(
    G: Array, H: Array, y: Array, C: Array, beta: Array, tol: float, max_passes: int
) -> tuple[HingePoint, int, Status]:
    y = np.ascontiguousarray(y)
    lower, upper = np.minimum(0.0, y * C), np.maximum(0.0, y * C)
    beta = np.clip(beta, lower, upper)
    beta -= beta if abs(beta.sum()) > 1e-12 * max(1.0, np.abs(beta).sum()) else 0.0  # the sum must be 0
    best = HingePoint(beta, 0.0, np.inf)
    wanted = WORTH_MEASURING * tol
    for passes in range(1, max_passes + 1):
        beta, _, _, violation = _core.pair_cd(G, y, lower, upper, beta, wanted, len(y))
        tell("coordinate descent on pairs", passes)
        if violation <= wanted:
            point = HingePoint.measure(H, y, C, beta, fit_intercept=True)
            best = min(best, point, key=lambda p: p.gap)
            if best.gap <= tol:
                return best, passes, Status.OPTIMAL
            if violation == 0.0:
                return best, passes, Status.STALLED
            wanted = 0.1 * violation
    point = HingePoint.measure(H, y, C, beta, fit_intercept=True)
    best = min(best, point, key=lambda p: p.gap)
    return best, passes, Status.OPTIMAL if best.gap <= tol else Status.ITERATION_LIMIT
