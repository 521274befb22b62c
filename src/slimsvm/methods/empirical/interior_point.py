r"""Interior point for the hinge loss on explicit features.

The machine :math:`\min \tfrac12|w|^2 + \sum_i C_i \max(0, 1 - y_i(h_i^\top w + b))` has the dual

.. math:: \min_\alpha \tfrac12 |A^\top\alpha|^2 - \mathbf 1^\top\alpha, \quad 0 \le \alpha_i \le C_i, \quad
          y^\top\alpha = 0 \text{ if b is free}, \qquad A = \mathrm{diag}(y) H

(Iwamura & Abe, eq. (19)-(20), with h the features). Mehrotra's predictor-corrector method needs a few dozen
iterations whatever C is; each solves one (m + 1) x (m + 1) system, O(n m^2). Coordinate descent crawls where this
does not, at large C on features of very different size.

References
----------
Fine and Scheinberg (2001), JMLR 2:243-264; Mehrotra (1992), doi:10.1137/0802028.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, lapack

from ...linalg import cholesky_factor
from ...problem import FeatureGram, Problem, Solution, Status
from ...progress import tell
from ...rows import Array
from .hinge import HingePoint, usable

MAX_ITERATIONS = 200
# Step to the boundary of the positive orthant.
STEP = 0.995
# Multipliers at the start: of the size of the margin, 1.
START_MULTIPLIER = 2.0
# A coefficient counts as free when it weighs this much in A' D^-1 A beside the identity.
FREE_WEIGHT = 1e4
# With more free coefficients than this times what can be free at the end, they are not told apart yet.
MANY_FREE = 1.2
# Rows that together weigh less than this beside the identity are left out of A' D^-1 A: towards the end that is
# most of them, and the direction keeps three digits.
NEGLIGIBLE = 1e-3
# Iterations without progress after which rounding has won.
PATIENCE = 12
# Weighted rows that are held at a time take this many bytes.
BLOCK_BYTES = 2**24
# A warm start is pulled this far into the interior, relative to C.
INTERIOR = 1e-3


def solve_interior_point(
    problem: Problem, *, tol: float, max_iter: int | None = None, start: Solution | None = None
) -> Solution:
    """Solve each output to a relative duality gap of tol.

    Parameters
    ----------
    problem : Problem
        With hinge loss on a `FeatureGram`.
    start : Solution or None
        A nearby solution, for instance that of another C.
    """
    gram = problem.gram
    if not isinstance(gram, FeatureGram):
        raise TypeError("the interior-point solver needs explicit features (a FeatureGram).")
    n, k = problem.y.shape
    # features of mean squared length 1: alpha and C scale with its square, w with its inverse
    squares = np.einsum("ij,ij->i", gram.H, gram.H)
    scale = float(np.sqrt(squares.mean())) or 1.0
    C = usable(problem.C, scale**2)
    H = gram.H / scale
    alpha, intercept, gap = np.empty((n, k)), np.empty(k), np.empty(k)
    most, status = 0, Status.OPTIMAL if C is problem.C else Status.C_TOO_LARGE
    for output in range(k):
        y = problem.y[:, output]
        state = _State(H, y, C * scale**2, problem.fit_intercept)
        if start is not None:
            state.warm_start(np.abs(start.alpha[:, output]) * scale**2, float(start.intercept[output]))
        n_iter, ended = state.run(tol, MAX_ITERATIONS if max_iter is None else max_iter)
        best = state.best
        alpha[:, output], intercept[output], gap[output] = best.beta / scale**2, best.b, best.gap
        most = max(most, n_iter)
        if status is Status.OPTIMAL:
            status = ended
    return Solution(alpha, intercept, status, most, float(gap.max()))


class _State:
    """The iterates of one output: alpha in (0, C), the multipliers s and t of its bounds, and b."""

    def __init__(self, H: Array, y: Array, C: Array, fit_intercept: bool) -> None:
        self.H, self.y, self.C, self.fit_intercept = H, y, C, fit_intercept
        self.lengths = np.einsum("ij,ij->i", H, H)
        # the middle of the box and equal multipliers: a central point, far from none of the bounds
        self.alpha = 0.5 * C
        self.room = C - self.alpha  # kept apart: C - alpha would round to 0 at large C
        self.s = np.full_like(C, START_MULTIPLIER)
        self.t = np.full_like(C, START_MULTIPLIER)
        self.b = 0.0
        self._set_margin()
        self.best = HingePoint(self.alpha * y, 0.0, np.inf)

    def warm_start(self, alpha: Array, b: float) -> None:
        """Begin near these coefficients."""
        self.alpha = np.clip(alpha, INTERIOR * self.C, (1.0 - INTERIOR) * self.C)
        self.room = self.C - self.alpha
        self.b = b
        self._set_margin()
        excess = self.margin + b * self.y - 1.0
        self.s, self.t = np.maximum(excess, 0.0) + INTERIOR, np.maximum(-excess, 0.0) + INTERIOR

    def _set_margin(self) -> None:
        self.w = (self.alpha * self.y) @ self.H
        self.margin = self.y * (self.H @ self.w)  # without b

    def _rough_gap(self) -> float:
        """The relative gap as if alpha were balanced and b the best one; one pass cheaper than the exact one."""
        norm = float(self.w @ self.w)
        primal = 0.5 * norm + float(self.C @ np.maximum(0.0, 1.0 - self.margin - self.b * self.y))
        gap = primal - (float(self.alpha.sum()) - 0.5 * norm)
        return abs(gap) / max(primal, np.finfo(np.float64).tiny)

    def measure(self) -> float:
        """Relative duality gap of the nearest feasible point; keeps the best point seen."""
        beta = self.alpha * self.y
        point = HingePoint.measure(self.H, self.y, self.C, beta, fit_intercept=self.fit_intercept)
        if point.gap < self.best.gap:
            self.best = point
        return point.gap

    def run(self, tol: float, max_iter: int) -> tuple[int, Status]:
        """Iterate until the gap is at most tol."""
        idle, least, status = 0, np.inf, Status.ITERATION_LIMIT
        for n_iter in range(1, max_iter + 1):
            rough = self._rough_gap()
            tell("interior point", n_iter, None, f"relative gap about {rough:.2g}")
            if rough <= 10.0 * tol and self.measure() <= tol:
                return n_iter, Status.OPTIMAL
            # far from the solution complementarity is what falls, near it the gap
            distance = rough if rough < 0.5 else float(self.alpha @ self.s + self.room @ self.t)
            idle = 0 if distance < 0.9 * least else idle + 1
            least = min(least, distance)
            if idle >= PATIENCE or not self._step():
                status = Status.STALLED
                break
        solved = self.measure() <= tol
        return n_iter, Status.OPTIMAL if solved else status

    def _step(self) -> bool:
        alpha, s, t, room = self.alpha, self.s, self.t, self.room
        stationarity = self.margin + self.b * self.y - 1.0 - s + t
        imbalance = float(self.y @ alpha)
        mu = float(alpha @ s + room @ t) / (2 * len(alpha))
        newton = _NewtonSystem(
            self.H, self.y, self.lengths, s / alpha + t / room, fit_intercept=self.fit_intercept
        )
        if newton.singular:  # weights of very different sizes: nothing more can be had in these numbers
            return False

        def direction(lower: Array, upper: Array) -> tuple[Array, float, Array, Array]:
            g = -stationarity + lower / alpha - upper / room
            d_alpha, d_b = newton.solve(g, imbalance)
            return d_alpha, d_b, (lower - s * d_alpha) / alpha, (upper + t * d_alpha) / room

        # predictor: straight at complementarity 0
        d_alpha, _, d_s, d_t = direction(-alpha * s, -room * t)
        step = self._largest_step(d_alpha, d_s, d_t)
        ahead = (alpha + step * d_alpha) @ (s + step * d_s) + (room - step * d_alpha) @ (t + step * d_t)
        centre = mu * min(1.0, float(ahead) / (2 * len(alpha) * mu)) ** 3
        # corrector: second-order terms and centring
        d_alpha, d_b, d_s, d_t = direction(
            -alpha * s + centre - d_alpha * d_s, -room * t + centre + d_alpha * d_t
        )
        if not (np.isfinite(d_alpha).all() and np.isfinite(d_s).all() and np.isfinite(d_t).all()):
            return False
        step = min(1.0, STEP * self._largest_step(d_alpha, d_s, d_t))
        self.alpha, self.room = alpha + step * d_alpha, room - step * d_alpha
        self.s, self.t, self.b = s + step * d_s, t + step * d_t, self.b + step * d_b
        self._set_margin()
        return bool((self.alpha > 0).all() and (self.room > 0).all())

    def _largest_step(self, d_alpha: Array, d_s: Array, d_t: Array) -> float:
        """Largest step, at most 1 / STEP, that keeps alpha, C - alpha, s and t from becoming negative."""
        shrink = max(
            float((-d_alpha / self.alpha).max()),
            float((d_alpha / self.room).max()),
            float((-d_s / self.s).max()),
            float((-d_t / self.t).max()),
            STEP,
        )
        return 1.0 / shrink


class _NewtonSystem:
    r"""The linear system of one iteration, (A A' + D) da + y db = g, y'da = -imbalance.

    D is tiny for coefficients strictly between their bounds and large for the others. The others, "rest", are
    eliminated through the m x m matrix M = I + A_r' D_r^{-1} A_r; the free ones keep a system of their own. So
    neither matrix mixes numbers of very different size, which is what makes large C solvable in double. A = diag(y) H
    is never formed, nor is D_r^{-1/2} A_r but for a few rows at a time: for many rows H alone is what fits into memory.
    """

    def __init__(self, H: Array, y: Array, lengths: Array, D: Array, *, fit_intercept: bool) -> None:
        most = H.shape[1] + fit_intercept  # so many coefficients can be strictly free
        weight = lengths / D
        free = weight > FREE_WEIGHT
        count = np.count_nonzero(free)
        if (
            count > MANY_FREE * most
        ):  # at the start all are free, of like weight, and M is well scaled as it is
            free = np.zeros_like(free)
        elif count > most:
            free = weight >= np.partition(weight, -most)[-most]
        self.H, self.y, self.fit_intercept, self.free = H, y, fit_intercept, np.flatnonzero(free)
        self.inverse = np.where(free, 0.0, 1.0 / D)  # D^-1 of the rest
        used = _heaviest(np.where(free, 0.0, weight))
        M = _weighted_products(H, used, np.sqrt(self.inverse[used]))
        np.einsum("ii->i", M)[:] += 1.0
        self.M = np.asfortranarray(cholesky_factor(M))
        self.Z = self._half(np.asfortranarray((H[self.free] * y[self.free, None]).T))  # (m, f)
        f = len(self.free)
        S = np.zeros((f + 1, f + 1))  # the free coefficients, bordered by b
        S[:f, :f] = self.Z.T @ self.Z
        np.einsum("ii->i", S)[:f] += D[self.free]
        S[f, f] = -1.0
        if fit_intercept:
            self.v = self._half(self.inverse @ H)
            S[f, :f] = S[:f, f] = y[self.free] - self.Z.T @ self.v
            S[f, f] = float(self.v @ self.v - self.inverse.sum())
        self.S, self.pivots, info = lapack.dgetrf(S)
        self.singular = info != 0

    def _half(self, right: Array) -> Array:
        """L^-1 right, with M = L L'."""
        if right.ndim == 1:
            return blas.dtrsv(self.M, right, lower=1)
        return blas.dtrsm(1.0, self.M, right, lower=1, overwrite_b=1) if right.size else right

    def solve(self, g: Array, imbalance: float) -> tuple[Array, float]:
        """The direction (da, db)."""
        scaled = g * self.inverse
        u = self._half((scaled * self.y) @ self.H)
        right = np.append(g[self.free] - self.Z.T @ u, 0.0)
        if self.fit_intercept:
            right[-1] = self.v @ u - imbalance - self.y @ scaled
        solved, _ = lapack.dgetrs(self.S, self.pivots, right)
        d_free, d_b = solved[:-1], float(solved[-1])
        inner = u + self.Z @ d_free
        if self.fit_intercept:
            inner -= self.v * d_b
        d_w = blas.dtrsv(self.M, inner, lower=1, trans=1)
        remaining = g - self.y * (self.H @ d_w)
        if self.fit_intercept:
            remaining -= self.y * d_b
        d_alpha = remaining * self.inverse
        d_alpha[self.free] = d_free
        return d_alpha, d_b


def _weighted_products(H: Array, rows: Array, root: Array) -> Array:  # (m, m)
    """B'B with B these rows, each times its root, a few at a time."""
    step = max(1, BLOCK_BYTES // (H.itemsize * H.shape[1]))
    found = np.zeros((H.shape[1], H.shape[1]))
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        B = H[part] * root[start : start + step, None]
        found += B.T @ B
    return found


def _heaviest(weight: Array) -> Array:
    """Rows without those whose joint weight is negligible."""
    order = np.argsort(weight)
    first = int(np.searchsorted(np.cumsum(weight[order]), NEGLIGIBLE))
    return np.sort(order[first:])
