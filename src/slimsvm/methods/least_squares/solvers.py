r"""Least-squares machines: direct, conjugate gradients and sequential minimal optimisation.

With the squared loss the optimality conditions are linear: for :math:`A = G + \mathrm{diag}(1/C_i)`,

.. math:: A\alpha + b\mathbf 1 = y, \qquad \mathbf 1^\top\alpha = 0,

or :math:`\mathbf 1^\top\alpha = b` where the objective has :math:`b^2 / 2` (Xia, Li and Irwin, eq. 15). All
three solvers return the same point. For a kernel that is not positive definite these conditions still have a
solution, a stationary point of the objective: the direct solver then factorises without assuming definiteness,
conjugate gradients give way to MINRES, and SMO, which needs convexity, says so.

References
----------
Suykens and Vandewalle (1999), doi:10.1023/A:1018628609742 (the machine); Suykens et al. (2002), *Least
Squares Support Vector Machines* (conjugate gradients on two systems); Huang et al. (2017),
doi:10.1016/j.acha.2016.09.001 (indefinite kernels); Xia, Li and Irwin, Improved training of an optimal sparse
least squares support vector machine, 17th IFAC World Congress (2008) (the penalised intercept).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, minres

from ...limits import FEW_VECTORS, check_columns
from ...linalg import cholesky_factor, copied, definite_factor
from ...problem import KernelGram, Problem, Solution, Status
from ...progress import tell
from ...rows import Array
from .smo import solve_smo
from .system import kernel_gram, operator, right_hand_sides, with_intercept

# Columns of the matrix behind the preconditioner of conjugate gradients.
PRECONDITIONER_RANK = 400
# Default budget of iterations; exact arithmetic would end after n + 1, so a matrix that is held has 2 n more. One that
# is not is computed anew in each.
CG_ITERATIONS = 1000

# A solver: (problem, *, tol, max_iter, rng) -> Solution.
Solver: TypeAlias = Callable[..., Solution]


def _factorised(A: Array, is_positive_definite: bool) -> Callable[[Array], Array]:
    """A function that applies A^-1, or the inverse on what A tells from rounding where it is singular."""
    if not is_positive_definite:
        factor = definite_factor(A)
        if factor is None:
            lu, pivots, zero = linalg.lapack.dgetrf(A)
            if zero:  # the ridge is lost in the rounding of K
                inverse = linalg.pinvh(A, check_finite=False)
                return lambda right: inverse @ right
            return lambda right: linalg.lu_solve((lu, pivots), right, check_finite=False)
    else:
        factor = cholesky_factor(A)
    return lambda right: linalg.cho_solve((factor, True), right, check_finite=False)


def solve_cholesky(
    problem: Problem, *, tol: float, max_iter: int | None, rng: np.random.Generator
) -> Solution:
    """Solve with one factorisation of the whole matrix."""
    gram = kernel_gram(problem)
    A = copied(gram.dense)
    np.einsum("ii->i", A)[:] += 1.0 / problem.C
    right = right_hand_sides(problem)
    solve = _factorised(A, gram.is_positive_definite)
    solved = solve(right)
    solved += solve(right - A @ solved)  # one refinement
    alpha, intercept = with_intercept(problem, solved)
    return Solution(alpha, intercept, Status.OPTIMAL, 1, 0.0)


def _preconditioner(gram: KernelGram, ridge: Array, rng: np.random.Generator) -> Callable[[Array], Array]:
    """Inverse of U U' + diag(ridge), U U' the matrix's projection on some of its columns."""
    rank = min(PRECONDITIONER_RANK, gram.n)
    check_columns(
        gram.n, rank, f"use {FEW_VECTORS}", times=4
    )  # itself, solved, weighted, and one for the way
    chosen = np.sort(rng.choice(gram.n, size=rank, replace=False))
    columns = gram.columns(chosen)
    factor = cholesky_factor(columns[chosen])
    U = linalg.solve_triangular(factor, columns.T, lower=True, check_finite=False).T  # (n, r)
    weighted = U / ridge[:, None]
    inner = U.T @ weighted
    np.einsum("ii->i", inner)[:] += 1.0
    inner_factor = cholesky_factor(inner)

    def apply(V: Array) -> Array:
        inside = linalg.cho_solve((inner_factor, True), weighted.T @ V, check_finite=False)
        result: Array = V / ridge[:, None] - weighted @ inside
        return result

    return apply


def solve_cg(problem: Problem, *, tol: float, max_iter: int | None, rng: np.random.Generator) -> Solution:
    """Solve by preconditioned conjugate gradients, all right-hand sides at once."""
    gram = kernel_gram(problem)
    ridge = 1.0 / problem.C
    right = right_hand_sides(problem)
    limit = CG_ITERATIONS + (2 * gram.n if gram.is_held else 0) if max_iter is None else max_iter
    if not gram.is_positive_definite:
        return _solve_minres(problem, gram, ridge, right, tol, limit)
    precondition = _preconditioner(gram, ridge, rng)
    goal = tol * np.maximum(np.abs(right).max(axis=0), np.finfo(np.float64).tiny)

    x = np.zeros_like(right)
    r = right.copy()
    z = precondition(r)
    p = z.copy()
    rz = np.einsum("ij,ij->j", r, z)
    best, n_iter = np.inf, 0
    status = Status.ITERATION_LIMIT
    for n_iter in range(1, limit + 1):
        Ap = gram @ p + ridge[:, None] * p
        curvature = np.einsum("ij,ij->j", p, Ap)
        step = np.divide(rz, curvature, out=np.zeros_like(rz), where=curvature > 0)
        x += step * p
        r -= step * Ap
        reached = np.abs(r).max(axis=0) / goal
        best = min(best, float(reached.max()))
        tell("conjugate gradients", n_iter, None, f"largest residual {best * tol:.2g}")
        if (reached <= 1.0).all():
            status = Status.OPTIMAL
            break
        if not (step > 0).any():
            status = Status.STALLED
            break
        z = precondition(r)
        new = np.einsum("ij,ij->j", r, z)
        p = z + np.divide(new, rz, out=np.zeros_like(rz), where=rz > 0) * p
        rz = new
    alpha, intercept = with_intercept(problem, x)
    return Solution(alpha, intercept, status, n_iter, best * tol)


def _minres_to_tolerance(
    A: LinearOperator, target: Array, tol: float, limit: int
) -> tuple[Array, float, int]:
    """One right-hand side: solution, largest residual relative to the target, iterations.

    MINRES measures its residual against |A| |x|, which may be far above the target; it is restarted on
    what is left as long as that helps.
    """
    size = max(float(np.abs(target).max()), np.finfo(np.float64).tiny)
    x, left = np.zeros_like(target), target
    error, steps = np.inf, 0

    def count(_: Array) -> None:
        nonlocal steps
        steps += 1
        tell("MINRES", steps)

    while error > tol and steps < limit:
        step, _ = minres(A, left, rtol=1e-3 * tol, maxiter=limit - steps, callback=count)
        remaining = target - A.matvec(x + step)
        reached = float(np.abs(remaining).max()) / size
        if not reached < error:
            break
        x, left, error = x + step, remaining, reached
    return x, error, steps


def _solve_minres(
    problem: Problem, gram: KernelGram, ridge: Array, right: Array, tol: float, limit: int
) -> Solution:
    """The same conditions where the matrix may be indefinite, one right-hand side after the other."""
    A = operator(gram, ridge)
    solved = np.zeros_like(right)
    worst, most = 0.0, 0
    for column, target in enumerate(right.T):
        solved[:, column], error, steps = _minres_to_tolerance(A, target, tol, limit)
        worst, most = max(worst, error), max(most, steps)
    status = Status.OPTIMAL if worst <= tol else Status.ITERATION_LIMIT if most >= limit else Status.STALLED
    alpha, intercept = with_intercept(problem, solved)
    return Solution(alpha, intercept, status, most, worst)


SOLVERS: dict[str, Solver] = {"cholesky": solve_cholesky, "cg": solve_cg, "smo": solve_smo}
