"""The hinge loss on explicit features: one contract, several solvers, and which one to take."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...problem import DENSE_LIMIT_BYTES, Problem, Solution, Status
from .coordinate_descent import solve_coordinate_descent
from .interior_point import solve_interior_point
from .pairs import solve_pairs

# Above this C times mean squared length of the features, pairs of coefficients rarely get through.
PAIRS_LARGEST_C = 1e5
# Pairs need H H', whose n^2 m product must not cost more than the interior point's own n m^2 per iteration
# times this.
PAIRS_COST = 40.0

HINGE_SOLVERS: dict[str, Callable[..., Solution]] = {
    "interior_point": solve_interior_point,
    "smo": solve_pairs,
    "cd": solve_coordinate_descent,
}


def solve_hinge(
    problem: Problem,
    *,
    solver: str = "auto",
    tol: float,
    max_iter: int | None = None,
    start: Solution | None = None,
) -> Solution:
    """Solve to a relative duality gap of tol.

    "auto" tries pairs of coefficients where H H' is affordable and C not too large for them (whether they get
    through shows after two passes), and takes the interior point, which always does, otherwise.
    """
    if solver != "auto":
        return HINGE_SOLVERS[solver](problem, tol=tol, max_iter=max_iter, start=start)
    H = problem.gram.H  # type: ignore[attr-defined]
    n, m = H.shape
    affordable = 8 * n * n <= DENSE_LIMIT_BYTES and n <= PAIRS_COST * m
    steepness = float(problem.C.max()) * float(np.einsum("ij,ij->", H, H)) / n
    if problem.fit_intercept and affordable and steepness <= PAIRS_LARGEST_C:
        solution = solve_pairs(problem, tol=tol, max_iter=max_iter, start=start, on_trial=True)
        if solution.status is Status.OPTIMAL:
            return solution
    return solve_interior_point(problem, tol=tol, max_iter=max_iter, start=start)
