"""Coefficients on given vectors, solved for on all rows by passes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import linalg

from ..kernels import Kernel
from ..linalg import cholesky_factor
from ..losses import SquaredHinge
from ..problem import Status
from ..refinement import RoundedHinge, SmoothLoss, minimise
from ..rows import Array
from ..training import TrainingSet
from .passes import HeldPasses, Passes
from .statistics import (
    Features,
    LossSums,
    NewtonSums,
    NormalEquations,
    Targets,
    added,
    losses_along,
)

# Half the width of the parabola that rounds the hinge at first, the factor from one to the next, and the least.
FIRST_ROUNDING, SHARPER, LEAST_ROUNDING = 0.5, 0.5, 1e-8
# Newton's method at one rounding ends when a step gains less of the objective than this share of the rounding.
SMALL_STEP = 1e-3
# Lengths of a step that are tried at once where the whole one does not lower the objective.
LENGTHS = 0.5 ** np.arange(1, 13)
# Kernel values of all rows with all vectors that are held at once where all rows are in memory.
WHOLE_BYTES = 2**28
# The most passes of Newton's method.
MOST_PASSES = 200
# Steps of L-BFGS on smooth losses: where rows of the sample say how the loss bends, a few are enough.
SMOOTH_ITERATIONS, SMOOTH_TOLERANCE = 15, 1e-5


@dataclass(frozen=True, eq=False)
class Solved:
    """Coefficients, and how they were found.

    Parameters
    ----------
    coef : array of shape (m, k)
    intercept : array of shape (k,)
    n_passes : int
    gap : float
        Relative duality gap, where it is known.
    status : Status
    """

    coef: Array
    intercept: Array
    n_passes: int = 1
    gap: float = 0.0
    status: Status = Status.OPTIMAL


def least_squares(
    passes: Passes, features: Features, targets: Targets, penalty: float, *, in_function_space: bool
) -> Solved:
    """Minimise half the weighted squared errors, plus the penalty on half the squared norm; one pass.

    Parameters
    ----------
    in_function_space : bool
        Whether the norm is the function's, or that of the coefficients.
    """
    sums = passes.run(
        partial(NormalEquations.of, features, targets), NormalEquations.merge, "solving for the coefficients"
    )
    own = features.among() if in_function_space else np.eye(features.m)
    factor = cholesky_factor(sums.products + penalty * own)
    coef = linalg.cho_solve((factor, True), sums.right, check_finite=False)
    return Solved(coef, sums.mean - sums.means @ coef)


def least_squares_of_rows(
    data: TrainingSet, kernel: Kernel, chosen: Array, penalty: float, *, in_function_space: bool
) -> Solved | None:
    """The same for rows that are in memory, where their kernel values are too many to be; None where they are not."""
    if data.precomputed or 8 * data.n * len(chosen) <= WHOLE_BYTES:
        return None
    features = Features(kernel, data.vectors(chosen))
    passes = HeldPasses(data.X, data.Y, data.weight)
    return least_squares(passes, features, Targets(), penalty, in_function_space=in_function_space)


def smooth(
    passes: Passes,
    features: Features,
    targets: Targets,
    loss: SmoothLoss,
    penalty: float,
    start: Solved,
    bend: Array,  # (m, m)
) -> Solved:
    """Minimise the weighted losses plus the penalty on half the squared norm of the function, by L-BFGS.

    Parameters
    ----------
    bend : array of shape (m, m)
        About what the second derivatives of the losses are: steps are counted in a basis in which they are one.
    """
    among = features.among()
    L = cholesky_factor(bend + penalty * among, 1e-10)
    n_passes, count = 0, float(np.trace(bend)) / len(bend)

    def objective(parts: list[Array]) -> tuple[float, list[Array]]:
        nonlocal n_passes
        n_passes += 1
        coef, b = linalg.solve_triangular(L, parts[0], lower=True, trans="T"), parts[1] / np.sqrt(count)
        sums = passes.run(
            partial(LossSums.of, features, targets, loss, coef, b),
            LossSums.merge,
            "solving for the coefficients",
        )
        norm = among @ coef
        value = sums.value + 0.5 * penalty * float((coef * norm).sum())
        in_basis = linalg.solve_triangular(L, sums.in_coef + penalty * norm, lower=True)
        return value, [in_basis, sums.in_intercept / np.sqrt(count)]

    first = [L.T @ start.coef, start.intercept * np.sqrt(count)]
    (T, b), _ = minimise(objective, first, max_iter=SMOOTH_ITERATIONS, tol=SMOOTH_TOLERANCE)
    coef = linalg.solve_triangular(L, T, lower=True, trans="T")
    return Solved(coef, b / np.sqrt(count), n_passes)


def margin(
    passes: Passes,
    features: Features,
    targets: Targets,
    C: float,
    *,
    squared: bool,
    start: Solved,
    tol: float,
) -> Solved:
    r"""Minimise :math:`\tfrac12|v|^2 + C\sum_i s_i\,\ell(y_i, v^\top h_i + b)` for the hinge or its square.

    Newton's method; the hinge has its corner rounded by a parabola that becomes narrower. From any point
    :math:`\alpha_i = -C s_i\,\ell'` is a dual point, so the gap to the optimum of the hinge itself is known.
    """
    solver = _Margin(passes, features, targets, C)
    loss: SmoothLoss = SquaredHinge() if squared else RoundedHinge(FIRST_ROUNDING)
    x = np.vstack([start.coef, start.intercept])
    sums = solver.sums(loss, x)
    best, least = x, np.inf
    while True:
        gap = solver.gap(sums, x)
        if gap < least:
            best, least = x, gap
        if least <= tol or solver.n_passes >= MOST_PASSES:
            break
        moved = solver.step(loss, x, sums)
        if moved is not None:
            x, sums, gained = moved
        if moved is None or gained <= SMALL_STEP * getattr(loss, "rounding", 0.0):
            if squared or (isinstance(loss, RoundedHinge) and loss.rounding <= LEAST_ROUNDING):
                if moved is None:
                    break
                continue
            assert isinstance(loss, RoundedHinge)
            x = solver.followed(x, sums)
            loss = RoundedHinge(SHARPER * loss.rounding)
            sums = solver.sums(loss, x)
    status = Status.OPTIMAL
    if least > tol:
        status = Status.ITERATION_LIMIT if solver.n_passes >= MOST_PASSES else Status.STALLED
    return Solved(best[:-1], best[-1], solver.n_passes, float(least), status)


class _Margin:
    """The objective of `margin`, through passes."""

    def __init__(self, passes: Passes, features: Features, targets: Targets, C: float) -> None:
        self._passes, self._features, self._targets, self._C = passes, features, targets, C
        self.n_passes = 0

    def sums(self, loss: SmoothLoss, x: Array) -> NewtonSums:
        self.n_passes += 1
        function = partial(NewtonSums.of, self._features, self._targets, loss, x[:-1], x[-1])
        return self._passes.run(function, NewtonSums.merge, "solving for the coefficients")

    def value(self, sums: NewtonSums, x: Array) -> Array:  # (k,)
        found: Array = 0.5 * np.square(x[:-1]).sum(axis=0) + self._C * sums.value
        return found

    def gap(self, sums: NewtonSums, x: Array) -> float:
        """Relative duality gap and violation of the dual's constraint, the largest over the outputs."""
        C = self._C
        primal = 0.5 * np.square(x[:-1]).sum(axis=0) + C * sums.plain
        w = -C * sums.gradient  # sum of alpha_i y_i h_i, and of alpha_i y_i
        dual = C * (sums.multipliers - sums.conjugate) - 0.5 * np.square(w[:, :-1]).sum(axis=1)
        unbalanced = np.abs(w[:, -1]) / np.maximum(C * sums.multipliers, np.finfo(np.float64).tiny)
        relative = np.abs(primal - dual) / np.maximum(np.abs(primal), np.finfo(np.float64).tiny)
        return float((relative + unbalanced).max())

    def _by_curvature(self, sums: NewtonSums, right: Array) -> Array:  # (m + 1, k)
        """Solve with the second derivatives of each output."""
        found = np.empty_like(right)
        penalty = np.append(np.ones(len(right) - 1), 0.0)
        for output in range(right.shape[1]):
            H = self._C * sums.hessian[output] + np.diag(penalty)
            # the jitter of the factor keeps an intercept that no row holds where it is
            found[:, output] = linalg.cho_solve((cholesky_factor(H, 1e-14), True), right[:, output])
        return found

    def followed(self, x: Array, sums: NewtonSums) -> Array:
        """Where the optimum goes, to first order, as the rounding becomes less: the rows on the parabola stay on it."""
        return x - (SHARPER - 1.0) * self._by_curvature(sums, self._C * sums.drift.T)

    def step(self, loss: SmoothLoss, x: Array, sums: NewtonSums) -> tuple[Array, NewtonSums, float] | None:
        """The point after a step, its sums and the relative gain; None where no step lowers the objective."""
        C, before = self._C, self.value(sums, x)
        penalty = np.append(np.ones(len(x) - 1), 0.0)
        step = -self._by_curvature(sums, C * sums.gradient.T + penalty[:, None] * x)
        after = x + step
        new = self.sums(loss, after)
        worse = ~(self.value(new, after) < before)
        if worse.any():
            self.n_passes += 1
            function = partial(
                losses_along, self._features, self._targets, loss, x[:-1], x[-1], step, LENGTHS
            )
            tried = C * self._passes.run(function, added, "solving for the coefficients")
            moved = x[:-1] + LENGTHS[:, None, None] * step[:-1]
            tried += 0.5 * np.square(moved).sum(axis=1)
            best = tried.argmin(axis=0)
            length = np.where(worse, np.where(tried.min(axis=0) < before, LENGTHS[best], 0.0), 1.0)
            if not length.any():
                return None
            after = x + length * step
            new = self.sums(loss, after)
        gained = (before - self.value(new, after)) / np.maximum(np.abs(before), np.finfo(np.float64).tiny)
        return after, new, float(gained.max())
