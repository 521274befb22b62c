"""Sequential minimal optimisation for the least-squares machine.

A step changes two coefficients and keeps their sum, which is 0. Where the intercept is penalised the sum is free, and
the same steps serve with one more row: target 0, kernel value 0 with every row and itself, C = 1. Its error is -b, so
it adds b^2 / 2 to the objective, and its coefficient -b makes the sum 0 again.

References
----------
Keerthi and Shevade (2003), doi:10.1162/089976603762553013.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import eigsh

from ... import _core
from ...linalg import copied, definite_factor
from ...problem import KernelGram, Problem, Solution, Status
from ...progress import tell
from ...rows import Array
from .system import kernel_gram, operator

# Columns kept when the whole matrix is not held.
CACHED_COLUMN_BYTES = 200 * 2**20
# Default budget: a few hundred steps a row when C is large; beyond that the direct solver is the answer.
SMO_ITERATIONS = 20_000
SMO_ITERATIONS_PER_ROW = 300
# Steps between two that are told.
TOLD = 100


def _is_definite(gram: KernelGram, ridge: Array) -> bool:
    if gram.is_positive_definite:
        return True
    if gram.is_held:
        A = copied(gram.dense)
        np.einsum("ii->i", A)[:] += ridge
        return definite_factor(A) is not None
    start = np.random.default_rng(0).standard_normal(gram.n)
    return bool(eigsh(operator(gram, ridge), k=1, which="SA", v0=start, return_eigenvectors=False)[0] > 0)


class _Columns:
    """Columns of the matrix, with zeros beyond it up to `length`, kept up to a number of bytes."""

    def __init__(self, gram: KernelGram, length: int) -> None:
        self._gram, self._length = gram, length
        self._room = max(2, CACHED_COLUMN_BYTES // (8 * gram.n))
        self._kept: OrderedDict[int, Array] = OrderedDict()

    def __getitem__(self, i: int) -> Array:
        if i in self._kept:
            self._kept.move_to_end(i)
            return self._kept[i]
        column = np.zeros(self._length)
        if i < self._gram.n:
            column[: self._gram.n] = self._gram.column(i)
        self._kept[i] = column
        if len(self._kept) > self._room:
            self._kept.popitem(last=False)
        return self._kept[i]


def solve_smo(problem: Problem, *, tol: float, max_iter: int | None, rng: np.random.Generator) -> Solution:
    """Solve two coefficients at a time: the most violating one and its best partner."""
    if not problem.fit_intercept:
        raise ValueError("solver='smo' works on pairs of coefficients and needs the intercept.")
    gram = kernel_gram(problem)
    ridge = 1.0 / problem.C
    if not _is_definite(gram, ridge):
        raise ValueError(
            "solver='smo' needs a positive definite kernel, and this one is not on these rows; use "
            "solver='cholesky' or 'cg'."
        )
    n, k = problem.y.shape
    limit = SMO_ITERATIONS + SMO_ITERATIONS_PER_ROW * n if max_iter is None else max_iter
    extra = int(problem.penalize_intercept)
    solve = (_smo_held if gram.is_held else _smo_by_columns)(gram, np.append(ridge, np.ones(extra)))
    alpha, intercept = np.zeros((n, k)), np.zeros(k)
    worst, most, status = 0.0, 0, Status.OPTIMAL
    for output in range(k):
        y = np.append(problem.y[:, output], np.zeros(extra))
        size = max(float(np.abs(y - y.mean()).max()), np.finfo(np.float64).tiny)
        found, error, n_iter = solve(y, tol * size, limit)
        if not (np.isfinite(error).all() and np.isfinite(found).all()):
            raise ValueError(
                "solver='smo' has gone beyond all numbers: the kernel values on these rows are so large that nothing "
                "is left of 1/C beside them; scale the rows, choose a smaller gamma, or use solver='cholesky'."
            )
        alpha[:, output] = found[:n]
        # y - A alpha is the intercept everywhere at the optimum
        spread = float(error.max() - error.min()) / size
        middle = 0.5 * (float(error.max()) + float(error.min()))
        intercept[output] = alpha[:, output].sum() if extra else middle  # eq. (15)
        worst, most = max(worst, spread), max(most, n_iter)
        tell("one output after the other", output + 1, k)
        if spread > tol:
            status = Status.ITERATION_LIMIT
    return Solution(alpha, intercept, status, most, worst)


_Smo = Callable[[Array, float, int], tuple[Array, Array, int]]


def _smo_held(gram: KernelGram, ridge: Array) -> _Smo:
    """On the whole matrix, in the compiled core: coefficients, y - A alpha and steps for y, tol and a limit.

    A ridge longer than the matrix has a row of zeros for what is beyond.
    """
    A = np.zeros((len(ridge), len(ridge)))
    A[: gram.n, : gram.n] = gram.dense
    np.einsum("ii->i", A)[:] += ridge
    unbounded = np.full(len(ridge), np.inf)

    def solve(y: Array, tol: float, limit: int) -> tuple[Array, Array, int]:
        alpha, gradient, steps, _ = _core.pair_cd(A, y, -unbounded, unbounded, np.zeros_like(y), tol, limit)
        return alpha, -gradient, max(1, steps)

    return solve


def _smo_by_columns(gram: KernelGram, ridge: Array) -> _Smo:
    """The same on columns computed when they are needed."""
    columns = _Columns(gram, len(ridge))
    diagonal = ridge.copy()
    diagonal[: gram.n] += gram.diagonal()

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
