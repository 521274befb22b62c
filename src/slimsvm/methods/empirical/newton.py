r"""Newton's method for the squared hinge loss on explicit features.

Minimises :math:`\tfrac12|w|^2 + \tfrac12\sum_i C_i\max(0, 1 - y_i(h_i^\top w + b))^2` (Iwamura & Abe, eq. (16) with
r = 2; its dual is (21)-(22)). The objective is piecewise quadratic: on the rows inside the margin a Newton step is
exact, and with an exact line search five to ten steps end it.

References
----------
Keerthi and DeCoste (2005), JMLR 6:341-361; Chapelle (2007), doi:10.1162/neco.2007.19.5.1155.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from ...linalg import cholesky_factor
from ...problem import FeatureGram, Problem, Solution, Status
from ...progress import tell
from ...rows import Array
from .hinge import balanced, usable

MAX_ITERATIONS = 200


def solve_newton(
    problem: Problem, *, tol: float, max_iter: int | None = None, start: Solution | None = None
) -> Solution:
    """Solve each output to a relative duality gap of tol."""
    gram = problem.gram
    if not isinstance(gram, FeatureGram):
        raise TypeError("Newton's method needs explicit features (a FeatureGram).")
    n, k = problem.y.shape
    features = np.column_stack([gram.H, np.ones(n)]) if problem.fit_intercept else gram.H
    alpha, intercept, gap = np.empty((n, k)), np.zeros(k), np.empty(k)
    C = usable(problem.C, float(np.einsum("ij,ij->", gram.H, gram.H)) / max(1, n))
    most, status = 0, Status.OPTIMAL if C is problem.C else Status.C_TOO_LARGE
    for output in range(k):
        v = np.zeros(features.shape[1])
        if start is not None:
            v[: gram.H.shape[1]] = start.alpha[:, output] @ gram.H
            if problem.fit_intercept:
                v[-1] = start.intercept[output]
        v, alpha[:, output], gap[output], n_iter = _solve_one(
            features,
            problem.y[:, output],
            C,
            problem.fit_intercept,
            v,
            tol,
            max_iter or MAX_ITERATIONS,
        )
        if problem.fit_intercept:
            intercept[output] = v[-1]
        most = max(most, n_iter)
        if gap[output] > tol and status is not Status.C_TOO_LARGE:
            status = Status.ITERATION_LIMIT if n_iter >= (max_iter or MAX_ITERATIONS) else Status.STALLED
    return Solution(alpha, intercept, status, most, float(gap.max()))


def _solve_one(
    features: Array,  # (n, m), the last column 1 where b is free
    y: Array,
    C: Array,
    fit_intercept: bool,
    v: Array,  # (m,)
    tol: float,
    max_iter: int,
) -> tuple[Array, Array, float, int]:
    """Weights, beta = y * alpha, relative gap, iterations."""
    penalised = np.ones(features.shape[1])
    if fit_intercept:
        penalised[-1] = 0.0
    f = features @ v
    best = (np.inf, v, np.zeros_like(y))
    for n_iter in range(1, max_iter + 1):
        slack = np.maximum(0.0, 1.0 - y * f)
        gap, beta = _gap(features, y, C, slack, penalised, v, fit_intercept)
        if gap < best[0]:
            best = (gap, v, beta)
        tell("Newton's method", n_iter, None, f"relative gap {best[0]:.2g}")
        if gap <= tol:
            break
        gradient = penalised * v - (C * slack * y) @ features
        inside = np.flatnonzero(slack > 0)
        B = features[inside] * np.sqrt(C[inside])[:, None]
        M = B.T @ B
        np.einsum("ii->i", M)[:] += penalised
        step = -linalg.cho_solve((cholesky_factor(M), True), gradient, check_finite=False)
        d = features @ step
        length = _line_search(y, C, f, d, float(penalised * v @ step), float(penalised * step @ step))
        if length <= 0:
            break
        v = v + length * step
        f = features @ v
    return best[1], best[2], best[0], n_iter


def _gap(
    features: Array, y: Array, C: Array, slack: Array, penalised: Array, v: Array, fit_intercept: bool
) -> tuple[float, Array]:
    """Relative duality gap of beta = y C slack, made to sum to zero where b is free, and of its w = H' beta."""
    alpha = balanced(y, C * slack) if fit_intercept else C * slack
    beta = alpha * y
    w = beta @ features
    norm = float(penalised * w @ w)
    if fit_intercept:
        w[-1] = v[-1]
    primal = 0.5 * norm + 0.5 * float(C @ np.maximum(0.0, 1.0 - y * (features @ w)) ** 2)
    dual = float(alpha.sum() - 0.5 * (alpha**2 / C).sum()) - 0.5 * norm
    return (primal - dual) / max(abs(primal), np.finfo(np.float64).tiny), beta


def _line_search(y: Array, C: Array, f: Array, d: Array, slope: float, curvature: float) -> float:
    """The exact minimum along f + t d: the root of a piecewise linear, rising derivative.

    Parameters
    ----------
    slope, curvature : float
        Derivative and second derivative of the penalty |w|^2 / 2 at t = 0.
    """
    margin, rate = 1.0 - y * f, y * d  # slack is margin - t rate where positive
    with np.errstate(divide="ignore", invalid="ignore"):
        turns = np.where(rate != 0, margin / rate, np.inf)
    enters = (rate < 0) & (turns > 0)  # slack becomes positive at the turn
    leaves = (rate > 0) & (turns > 0)
    now = (margin > 0) | ((margin == 0) & (rate < 0))
    derivative = slope - float((C * margin * rate)[now].sum())
    second = curvature + float((C * rate**2)[now].sum())
    events = np.flatnonzero(enters | leaves)
    events = events[np.argsort(turns[events])]
    jumps = np.where(enters[events], 1.0, -1.0) * (C * rate**2)[events]
    t = 0.0
    for index, jump in zip(events, jumps, strict=True):
        end = derivative + (turns[index] - t) * second
        if end >= 0:
            break
        derivative, t = end, float(turns[index])
        second = max(second + jump, 0.0)
    return t - derivative / second if second > 0 else t
