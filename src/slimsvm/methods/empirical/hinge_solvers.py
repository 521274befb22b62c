"""The hinge loss on explicit features: one contract, several solvers, and which one to take."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...problem import DENSE_LIMIT_BYTES, Problem, Solution
from .active_set import PAIRS_LARGEST_C, solve_active_set
from .coordinate_descent import solve_coordinate_descent
from .interior_point import solve_interior_point
from .pairs import solve_pairs

# The active set needs H H': its n^2 m product must not cost more than the interior point's own n m^2 per iteration
# times this; less where it starts from nothing (large C), because then its steps cost as much again.
GRAM_COST = 40.0
GRAM_COST_AT_LARGE_C = 8.0
# On few rows the calls of the interior point cost more than this many multiply-adds.
FEW_ROWS = 1e7

HINGE_SOLVERS: dict[str, Callable[..., Solution]] = {
    "active_set": solve_active_set,
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

    "auto" tries the active set where H H' is affordable (it gives up where the interior point would have ended), and
    takes the interior point, which always gets through, otherwise.
    """
    if solver != "auto":
        return HINGE_SOLVERS[solver](problem, tol=tol, max_iter=max_iter, start=start)
    if problem.fit_intercept and _affordable(problem):
        solution = solve_active_set(problem, tol=tol, max_iter=max_iter, start=start, on_trial=True)
        if solution.residual <= tol:
            return solution
        other = solve_interior_point(problem, tol=tol, max_iter=max_iter, start=start)
        return min(other, solution, key=lambda s: s.residual)
    return solve_interior_point(problem, tol=tol, max_iter=max_iter, start=start)


def _affordable(problem: Problem) -> bool:
    H = problem.gram.H  # type: ignore[attr-defined]
    n, m = H.shape
    steepness = float(problem.C.max()) * float(np.einsum("ij,ij->", H, H)) / n
    cost = GRAM_COST if steepness <= PAIRS_LARGEST_C else GRAM_COST_AT_LARGE_C
    return 8 * n * n <= DENSE_LIMIT_BYTES and n * n * m <= cost * n * m * m + FEW_ROWS
