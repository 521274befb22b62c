r"""Least-squares machines: direct, conjugate gradients and sequential minimal optimisation.

With the squared loss the optimality conditions are linear: for :math:`A = G + \mathrm{diag}(1/C_i)`,

.. math:: A\alpha + b\mathbf 1 = y, \qquad \mathbf 1^\top\alpha = 0 .

All three solvers return the same point. For a kernel that is not positive definite these conditions still
have a solution, a stationary point of the objective: the direct solver then factorises without assuming
definiteness, conjugate gradients give way to MINRES, and SMO, which needs convexity, says so.

References
----------
Suykens and Vandewalle (1999), doi:10.1023/A:1018628609742 (the machine); Suykens et al. (2002), *Least
Squares Support Vector Machines* (conjugate gradients on two systems); Huang et al. (2017),
doi:10.1016/j.acha.2016.09.001 (indefinite kernels); Keerthi and Shevade (2003),
doi:10.1162/089976603762553013 (SMO for least squares).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, eigsh, minres

from ... import _core
from ...linalg import cholesky_factor
from ...problem import KernelGram, Problem, Solution, Status
from ...progress import tell
from ...rows import Array

# Columns of the matrix behind the preconditioner of conjugate gradients.
PRECONDITIONER_RANK = 400
# Columns SMO keeps when the whole matrix is not held.
CACHED_COLUMN_BYTES = 200 * 2**20
# Default budgets of iterations. Exact arithmetic would end conjugate gradients after n + 1; SMO needs a few
# hundred steps a row when C is large, and beyond that the direct solver is the answer.
CG_ITERATIONS = 1000
SMO_ITERATIONS = 20_000
SMO_ITERATIONS_PER_ROW = 300
# Steps of SMO between two that are told.
TOLD = 100

# A solver: (problem, *, tol, max_iter, rng) -> Solution.
Solver: TypeAlias = Callable[..., Solution]


def _gram(problem: Problem) -> KernelGram:
    if not isinstance(problem.gram, KernelGram):
        raise TypeError("the least-squares solvers need the kernel matrix (a KernelGram).")
    return problem.gram


def _with_intercept(problem: Problem, solved: Array) -> tuple[Array, Array]:
    """Dual coefficients and intercepts from A^-1 [y, 1]."""
    k = problem.y.shape[1]
    if not problem.fit_intercept:
        return solved[:, :k], np.zeros(k)
    nu, eta = solved[:, :k], solved[:, k]
    intercept = nu.sum(axis=0) / eta.sum()
    return nu - eta[:, None] * intercept, intercept


def _right_hand_sides(problem: Problem) -> Array:  # (n, k + 1)
    return np.column_stack([problem.y, np.ones(problem.gram.n)])


def _factorised(A: Array, is_positive_definite: bool) -> Callable[[Array], Array]:
    """A function that applies A^-1."""
    if not is_positive_definite:
        try:
            linalg.cholesky(A, lower=True, check_finite=False)
        except linalg.LinAlgError:
            factors = linalg.lu_factor(A, check_finite=False)
            return lambda right: linalg.lu_solve(factors, right, check_finite=False)
    factor = cholesky_factor(A)
    return lambda right: linalg.cho_solve((factor, True), right, check_finite=False)


def solve_cholesky(
    problem: Problem, *, tol: float, max_iter: int | None, rng: np.random.Generator
) -> Solution:
    """Solve with one factorisation of the whole matrix."""
    gram = _gram(problem)
    A = gram.dense.copy()
    np.einsum("ii->i", A)[:] += 1.0 / problem.C
    right = _right_hand_sides(problem)
    solve = _factorised(A, gram.is_positive_definite)
    solved = solve(right)
    solved += solve(right - A @ solved)  # one refinement
    alpha, intercept = _with_intercept(problem, solved)
    return Solution(alpha, intercept, Status.OPTIMAL, 1, 0.0)


def _preconditioner(gram: KernelGram, ridge: Array, rng: np.random.Generator) -> Callable[[Array], Array]:
    """Inverse of U U' + diag(ridge), U U' the matrix's projection on some of its columns."""
    rank = min(PRECONDITIONER_RANK, gram.n)
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
    gram = _gram(problem)
    ridge = 1.0 / problem.C
    right = _right_hand_sides(problem)
    limit = CG_ITERATIONS + 2 * gram.n if max_iter is None else max_iter
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
    alpha, intercept = _with_intercept(problem, x)
    return Solution(alpha, intercept, status, n_iter, best * tol)


def _operator(gram: KernelGram, ridge: Array) -> LinearOperator:
    """The matrix A = G + diag(ridge), applied without holding it."""
    n = gram.n
    return LinearOperator(
        (n, n),
        matvec=lambda v: (gram @ v.reshape(n, 1))[:, 0] + ridge * v.ravel(),
        dtype=np.float64,
    )


def _minres_to_tolerance(
    operator: LinearOperator, target: Array, tol: float, limit: int
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
        step, _ = minres(operator, left, rtol=1e-3 * tol, maxiter=limit - steps, callback=count)
        remaining = target - operator.matvec(x + step)
        reached = float(np.abs(remaining).max()) / size
        if not reached < error:
            break
        x, left, error = x + step, remaining, reached
    return x, error, steps


def _solve_minres(
    problem: Problem, gram: KernelGram, ridge: Array, right: Array, tol: float, limit: int
) -> Solution:
    """The same conditions where the matrix may be indefinite, one right-hand side after the other."""
    operator = _operator(gram, ridge)
    solved = np.zeros_like(right)
    worst, most = 0.0, 0
    for column, target in enumerate(right.T):
        solved[:, column], error, steps = _minres_to_tolerance(operator, target, tol, limit)
        worst, most = max(worst, error), max(most, steps)
    status = Status.OPTIMAL if worst <= tol else Status.ITERATION_LIMIT if most >= limit else Status.STALLED
    alpha, intercept = _with_intercept(problem, solved)
    return Solution(alpha, intercept, status, most, worst)


def _is_definite(gram: KernelGram, ridge: Array) -> bool:
    if gram.is_positive_definite:
        return True
    if gram.is_held:
        A = gram.dense.copy()
        np.einsum("ii->i", A)[:] += ridge
        try:
            linalg.cholesky(A, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            return False
        return True
    start = np.random.default_rng(0).standard_normal(gram.n)
    return bool(eigsh(_operator(gram, ridge), k=1, which="SA", v0=start, return_eigenvectors=False)[0] > 0)


class _Columns:
    """Columns of the matrix, kept up to a number of bytes."""

    def __init__(self, gram: KernelGram) -> None:
        self._gram = gram
        self._room = max(2, CACHED_COLUMN_BYTES // (8 * gram.n))
        self._kept: OrderedDict[int, Array] = OrderedDict()

    def __getitem__(self, i: int) -> Array:
        if i in self._kept:
            self._kept.move_to_end(i)
            return self._kept[i]
        self._kept[i] = self._gram.column(i)
        if len(self._kept) > self._room:
            self._kept.popitem(last=False)
        return self._kept[i]


def solve_smo(problem: Problem, *, tol: float, max_iter: int | None, rng: np.random.Generator) -> Solution:
    """Solve two coefficients at a time: the most violating one and its best partner."""
    if not problem.fit_intercept:
        raise ValueError("solver='smo' works on pairs of coefficients and needs the intercept.")
    gram = _gram(problem)
    ridge = 1.0 / problem.C
    if not _is_definite(gram, ridge):
        raise ValueError(
            "solver='smo' needs a positive definite kernel, and this one is not on these rows; use "
            "solver='cholesky' or 'cg'."
        )
    n, k = problem.y.shape
    limit = SMO_ITERATIONS + SMO_ITERATIONS_PER_ROW * n if max_iter is None else max_iter
    solve = _smo_held(gram, ridge) if gram.is_held else _smo_by_columns(gram, ridge)
    alpha, intercept = np.zeros((n, k)), np.zeros(k)
    worst, most, status = 0.0, 0, Status.OPTIMAL
    for output in range(k):
        y = np.ascontiguousarray(problem.y[:, output])
        size = max(float(np.abs(y - y.mean()).max()), np.finfo(np.float64).tiny)
        alpha[:, output], error, n_iter = solve(y, tol * size, limit)
        # y - A alpha is the intercept everywhere at the optimum
        spread = float(error.max() - error.min()) / size
        intercept[output] = 0.5 * (float(error.max()) + float(error.min()))
        worst, most = max(worst, spread), max(most, n_iter)
        tell("one output after the other", output + 1, k)
        if spread > tol:
            status = Status.ITERATION_LIMIT
    return Solution(alpha, intercept, status, most, worst)


_Smo = Callable[[Array, float, int], tuple[Array, Array, int]]


def _smo_held(gram: KernelGram, ridge: Array) -> _Smo:
    """On the whole matrix, in the compiled core: coefficients, y - A alpha and steps for y, tol and a limit."""
    A = np.ascontiguousarray(gram.dense).copy()
    np.einsum("ii->i", A)[:] += ridge
    unbounded = np.full(gram.n, np.inf)

    def solve(y: Array, tol: float, limit: int) -> tuple[Array, Array, int]:
        alpha, gradient, steps, _ = _core.pair_cd(A, y, -unbounded, unbounded, np.zeros_like(y), tol, limit)
        return alpha, -gradient, max(1, steps)

    return solve


def _smo_by_columns(gram: KernelGram, ridge: Array) -> _Smo:
    """The same on columns computed when they are needed."""
    columns = _Columns(gram)
    diagonal = gram.diagonal() + ridge

    def solve(y: Array, tol: float, limit: int) -> tuple[Array, Array, int]:
        alpha = np.zeros(len(y))
        error = y.copy()
        n_iter = 0
        for n_iter in range(1, limit + 1):
            if n_iter % TOLD == 0:
                tell("SMO", n_iter)
            i = int(error.argmax())
            column_i = columns[i]
            fall = error[i] - error
            if float(fall.max()) <= tol:
                break
            # the partner that lowers the objective most: fall^2 / curvature along the pair
            curvature = diagonal[i] + diagonal - 2.0 * column_i
            curvature[i] = np.inf
            j = int((fall * fall / np.maximum(curvature, np.finfo(np.float64).tiny)).argmax())
            step = fall[j] / curvature[j]
            alpha[i] += step
            alpha[j] -= step
            error -= step * (column_i - columns[j])
            error[i] -= step * ridge[i]
            error[j] += step * ridge[j]
        return alpha, error, n_iter

    return solve


SOLVERS: dict[str, Solver] = {"cholesky": solve_cholesky, "cg": solve_cg, "smo": solve_smo}
