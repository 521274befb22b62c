r"""Active set for the hinge loss on explicit features: the quickest solver where few rows end free.

The dual is a quadratic in :math:`\beta_i = y_i\alpha_i` with the matrix G = H H', a box and
:math:`\sum_i\beta_i = 0`. At the optimum most coefficients are at a bound and few are free, so `active_set` in the
compiled core keeps a Cholesky factor for the free ones alone and changes it as they come and go. Unlike descent in
pairs it does not mind how steep the problem is (large C, features of very different size): it needs a few steps for
each coefficient that moves. Where pairs are quick, two passes of them find most of the free ones first.

References
----------
Scheinberg (2006), JMLR 7:2237-2257 (active set with an updated factor); Fan, Chen and Lin (2005), JMLR 6:1889-1918.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from ... import _core
from ...limits import check_memory
from ...problem import FeatureGram, Problem, Solution, Status
from ...progress import tell
from ...rows import Array
from .hinge import HingePoint, usable

# Above this C times mean squared length of the features, pairs of coefficients rarely get through.
PAIRS_LARGEST_C = 1e5
# Passes of n pairs to start with; a violation above HOPELESS, in units of the margin, means that they crawl.
PAIR_PASSES = 2
HOPELESS = 1.0
# Looks at all rows at most, for each row: a row that ends above its bound takes about two, some come and go.
LOOKS_PER_ROW = 20
# Rows of H span m dimensions, so m + 1 rows can be free at once; what is freed together comes on top.
FREED_TOGETHER = 64
# The violation of a margin asked for first, in units of tol, and how much less if the gap is then too large.
FIRST_VIOLATION = 0.1
VIOLATION_FALL = 1e-3
ATTEMPTS = 3
# Of w, in units of the violation: twice is enough for margins that are short by it.
STRETCH = 2.0
# The core's own relative addition to the diagonal of what it factorises, for the rows that are free at the start.
RIDGE = 1e-11
# On trial the core may do so many multiply-adds: what the interior point, a few dozen iterations of n m^2 / 2 in
# products ten times as quick, would cost, and what its calls cost on few rows.
TRIAL_WORK = 2.0
TRIAL_WORK_ON_FEW_ROWS = 2e7


def solve_active_set(
    problem: Problem,
    *,
    tol: float,
    max_iter: int | None = None,
    start: Solution | None = None,
    on_trial: bool = False,
) -> Solution:
    """Solve each output to a relative duality gap of tol; `max_iter` counts looks at all rows.

    With `on_trial` the solver gives up where the interior point would have ended.
    """
    gram = problem.gram
    if not isinstance(gram, FeatureGram):
        raise TypeError("the solver needs explicit features (a FeatureGram).")
    if not problem.fit_intercept:
        raise ValueError("solver='active_set' keeps the sum of the coefficients and needs a free intercept.")
    H = gram.H
    (n, m), k = H.shape, problem.y.shape[1]
    check_memory(
        8.0 * n * n,
        f"solver='active_set' holds a square matrix, which for {n} rows needs",
        "use solver='interior_point'",
    )
    G = H @ H.T
    mean_square = float(np.trace(G)) / n
    C = usable(problem.C, mean_square)
    steep = float(C.max()) * mean_square > PAIRS_LARGEST_C
    max_work = TRIAL_WORK * n * m * m + TRIAL_WORK_ON_FEW_ROWS if on_trial else np.inf
    max_looks = LOOKS_PER_ROW * n if max_iter is None else max_iter
    alpha, intercept, gap = np.zeros((n, k)), np.zeros(k), np.full(k, np.inf)
    most, status = 0, Status.OPTIMAL if C is problem.C else Status.C_TOO_LARGE
    for output in range(k):
        y = np.ascontiguousarray(problem.y[:, output])
        lower, upper = np.minimum(0.0, y * C), np.maximum(0.0, y * C)
        if start is not None:
            beta = _summing_to_zero(np.clip(start.alpha[:, output], lower, upper))
        else:
            beta = np.zeros(n)
        if not steep:
            beta = _by_pairs(G, y, lower, upper, beta, tol)
        point, looks = _solve_one(G, H, y, C, lower, upper, beta, tol, max_looks, max_work)
        alpha[:, output], intercept[output], gap[output] = point.beta, point.b, point.gap
        most = max(most, looks)
        if point.gap > tol:
            if status is Status.OPTIMAL:
                status = Status.ITERATION_LIMIT if looks >= max_looks else Status.STALLED
            if on_trial:
                break
    return Solution(alpha, intercept, status, most, float(gap.max()))


def _summing_to_zero(beta: Array) -> Array:
    """Beta if its sum is 0 up to rounding, else zeros."""
    return beta if abs(beta.sum()) <= 1e-12 * np.abs(beta).sum() else np.zeros_like(beta)


def _by_pairs(G: Array, y: Array, lower: Array, upper: Array, beta: Array, tol: float) -> Array:
    """Where a few passes of pairs lead from beta, or beta where they crawl."""
    moved, _, _, violation = _core.pair_cd(G, y, lower, upper, beta, tol, PAIR_PASSES * len(y))
    return moved if violation <= HOPELESS else beta


def _solve_one(
    G: Array,
    H: Array,
    y: Array,
    C: Array,
    lower: Array,
    upper: Array,
    beta: Array,
    tol: float,
    max_looks: int,
    max_work: float,
) -> tuple[HingePoint, int]:
    """The best point found and the number of looks it took."""
    most_free = max(2, min(len(y), H.shape[1] + 1 + FREED_TOGETHER))
    wanted, total = FIRST_VIOLATION * tol, 0
    best = HingePoint(beta, 0.0, np.inf)
    for _ in range(ATTEMPTS):
        free, factor = _factorised(G, np.flatnonzero((beta > lower) & (beta < upper)), most_free)
        beta, _, looks, violation = _core.active_set(
            G, y, lower, upper, beta, free, factor, most_free, wanted, max_looks - total, max_work
        )
        total += looks
        # a margin that is short by rounding costs C times as much: a hair longer w is better at large C
        for longer in (1.0, 1.0 + STRETCH * (violation + np.finfo(np.float64).eps)):
            if best.gap > tol:
                point = HingePoint.measure(H, y, C, longer * beta, fit_intercept=True)
                best = min(best, point, key=lambda p: p.gap)
        tell("active set", total, None, f"relative gap {best.gap:.2g}")
        if best.gap <= tol or violation > wanted or total >= max_looks:
            break
        wanted *= VIOLATION_FALL
    return best, total


def _factorised(G: Array, free: Array, most: int) -> tuple[Array, Array]:
    """Free rows with the upper Cholesky factor of their part of G; none where they depend on each other."""
    if 0 < len(free) <= most:
        part = G[np.ix_(free, free)]
        np.einsum("ii->i", part)[:] *= 1.0 + RIDGE
        factor, failed = lapack.dpotrf(part.T, lower=1, clean=0, overwrite_a=1)
        if not failed:
            return free, np.ascontiguousarray(factor.T)
    return np.empty(0, dtype=np.int64), np.empty((0, 0))
