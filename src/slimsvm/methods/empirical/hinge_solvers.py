"""The hinge loss on explicit features: one contract, several solvers, and which one to take."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...limits import DENSE_LIMIT_BYTES
from ...problem import Problem, Solution
from .active_set import PAIRS_LARGEST_C, solve_active_set
from .coordinate_descent import solve_coordinate_descent
from .interior_point import solve_interior_point
from .pairs import solve_pairs

# Iterations an interior point usually takes, and what its calls cost in each of them, in multiply-adds of a product
# of matrices; it makes about ten passes over H in one.
INTERIOR_ITERATIONS = 15
INTERIOR_CALLS = 6e6
INTERIOR_PASSES = 10
# Two passes of pairs, 8 n^2 multiply-adds, in multiply-adds of a product of matrices, which are five times as quick.
PAIRS_COST = 40.0

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

    "auto" tries the active set where it should cost less (it gives up where the interior point would have ended), and
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
    """Whether H H' fits into memory and the active set should cost less than the interior point."""
    H = problem.gram.H  # type: ignore[attr-defined]
    n, m = H.shape
    steepness = float(problem.C.max()) * float(np.einsum("ij,ij->", H, H)) / n
    # where it starts from nothing, its looks at all rows cost about as much as H H' itself
    steps = PAIRS_COST if steepness <= PAIRS_LARGEST_C else 0.5 * m
    iteration = n * m * (0.5 * m + INTERIOR_PASSES) + INTERIOR_CALLS
    return 8 * n * n <= DENSE_LIMIT_BYTES and n * n * (0.5 * m + steps) <= INTERIOR_ITERATIONS * iteration
