r"""Sparse Bayesian learning: columns enter, change and leave as the marginal likelihood tells.

The model is :math:`f = \Phi w` with priors :math:`w_j \sim N(0, 1/a_j)`; the precisions a maximise the
marginal likelihood, and most end at infinity. For a Gaussian likelihood with precisions b of the rows (in
classification those of Laplace's approximation at the mode, with its working targets) the likelihood as a
function of one precision depends only on

.. math:: S_j = \phi_j^\top C^{-1}\phi_j, \qquad Q_j = \phi_j^\top C^{-1} z, \qquad
    C = \mathrm{diag}(1/b) + \sum_{j\ \mathrm{in}} \phi_j\phi_j^\top / a_j ,

so the best precision of each column and its gain are known in closed form. The inner loop takes the step with
the largest gain and updates S, Q, the posterior mean and covariance by rank-one formulas in O(n m). Only a
new column costs a pass over the dictionary, and only a new b, which the outer loop brings, a pass for all
columns in the model. Nothing of size n x n is needed; a kernel matrix that fits in memory is used if it is
there.

References
----------
Tipping and Faul (2003), *Fast marginal likelihood maximisation for sparse Bayesian models*, AISTATS; Tipping
(2001), *Sparse Bayesian learning and the relevance vector machine*, JMLR 1; MacKay (1992),
doi:10.1162/neco.1992.4.3.415.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg
from scipy.special import expit

from ..problem import KernelGram
from ..rows import Array, block_slices, distinct_rows
from .least_squares import cholesky_factor

# A column whose part outside the model is this small, relative to the column, brings rounding errors only.
ALIGNED = 1e-10
# Candidates whose products with the dictionary are computed together when the kernel matrix is not held:
# the kernel values cost more than the products.
PREFETCH = 16
# Steps of the inner loop for each column in the model, and at least, before b is brought up to date.
STEPS_PER_COLUMN = 5
LEAST_STEPS = 10
# Newton steps for the mode of the posterior; it starts from the last mode, so a few do.
MODE_ITERATIONS = 50
# Rounds of the outer loop without a new best likelihood after which the best is returned. Steps that are best
# for the present b or noise need not be so after these follow: near the end, or where the targets are
# reproduced exactly, the loop may go round in circles. Each such round also halves the number of steps of
# the next.
PATIENCE = 12
# No weight of a usable model is as large as this.
LARGEST_WEIGHT = 1e30
# Gain (in nats) a step must promise near the end.
SMALLEST_GAIN = 1e-5
# Noise precision relative to the variance of the targets: beyond this the targets are reproduced exactly.
LARGEST_PRECISION = 1e10
# Share of the rows that is left to estimate the noise where the weights explain them all.
LEAST_SHARE = 1e-3
# The noise is at first this share of the variance of the targets, as in the reference.
FIRST_NOISE = 0.1


class KernelColumns:
    """The candidates: a constant column, then the kernel with each distinct row.

    Parameters
    ----------
    gram : KernelGram
    """

    def __init__(self, gram: KernelGram) -> None:
        self.gram = gram
        self.rows, _ = distinct_rows(gram.X)
        self.n_rows = gram.n
        self.n_columns = 1 + len(self.rows)
        self.is_held = gram.is_held
        everything = np.array_equal(self.rows, np.arange(gram.n))
        self._K = (gram.dense if everything else gram.dense[:, self.rows]) if self.is_held else None

    def take(self, columns: Array) -> Array:  # (n, k)
        """Some columns."""
        out = np.ones((self.n_rows, len(columns)))
        kernel = np.flatnonzero(columns > 0)
        if len(kernel):
            out[:, kernel] = self.gram.columns(self.rows[columns[kernel] - 1])
        return out

    def project(self, V: Array) -> Array:  # (n, k) -> (n_columns, k)
        """Products of every column with the columns of V."""
        out = np.empty((self.n_columns, V.shape[1]))
        out[0] = V.sum(axis=0)
        if self._K is not None:
            out[1:] = self._K.T @ V
        else:
            out[1:] = (self.gram @ V)[self.rows]  # kernels that are not held are symmetric
        return out

    def squares(self, weight: Array) -> Array:  # (n,) -> (n_columns,)
        """Weighted sum of squares of every column."""
        out = np.empty(self.n_columns)
        out[0] = weight.sum()
        for block in block_slices(len(self.rows), 16 * self.n_rows):
            K = self._K[:, block] if self._K is not None else self.gram.columns(self.rows[block])
            out[1 + block.start : 1 + block.stop] = weight @ np.square(K)
        return out


@dataclass(frozen=True)
class SparseBayes:
    """A sparse Bayesian model.

    Parameters
    ----------
    columns : array of shape (m,)
        Numbers of the columns in the model.
    mean : array of shape (m,)
        Posterior mean of their weights.
    covariance : array of shape (m, m)
    precision : array of shape (m,)
        Of their priors.
    noise_precision : float
        Of the targets; 1 for classification.
    log_marginal_likelihood : float
        Laplace's approximation of it for classification.
    n_iter : int
        Steps of the inner loop, or rounds of EM.
    gain : float
        What the best next step would have gained.
    converged : bool
    """

    columns: Array
    mean: Array
    covariance: Array
    precision: Array
    noise_precision: float
    log_marginal_likelihood: float
    n_iter: int
    gain: float
    converged: bool


class _State:
    """Columns in the model, their posterior, and S and Q of every candidate, for given b and z."""

    def __init__(self, source: KernelColumns) -> None:
        self.source = source
        self.columns = np.empty(0, dtype=np.intp)
        self.precision = np.empty(0)
        self.Phi = np.empty((source.n_rows, 0))
        self.mean = np.empty(0)
        self.covariance = np.empty((0, 0))
        self.G = np.empty((source.n_columns, 0))  # Phi_all' diag(b) Phi
        self._cache: dict[int, Array] = {}

    def weigh(self, b: Array, z: Array) -> None:
        """New precisions of the rows and working targets: everything is computed afresh."""
        self.b = b
        self._cache.clear()
        projected = self.source.project(np.column_stack([b * z, b[:, None] * self.Phi]))
        self.Q0, self.G = projected[:, 0], projected[:, 1:].copy()
        self.S0 = self.source.squares(b)
        self.scale = 1.0
        self.refresh(1.0)

    def refresh(self, scale: float) -> None:
        """Posterior, S and Q from G, with b multiplied by `scale` (the noise precision)."""
        self.scale = scale
        if len(self.columns) == 0:
            self.S, self.Q = scale * self.S0, scale * self.Q0
            return
        H = scale * self.G[self.columns]
        np.einsum("ii->i", H)[:] += self.precision
        L = cholesky_factor(H)
        self.covariance = linalg.cho_solve((L, True), np.eye(len(H)), check_finite=False)
        self.mean = scale * (self.covariance @ self.Q0[self.columns])
        half = linalg.solve_triangular(L, scale * self.G.T, lower=True, check_finite=False)  # (m, M)
        self.S = scale * self.S0 - np.einsum("ij,ij->j", half, half)
        self.Q = scale * (self.Q0 - self.G @ self.mean)

    def best_step(self) -> tuple[int, float, float]:
        """Candidate, its new precision (infinity: leave the model) and the gain: T&F's theta and Delta L."""
        S, Q = np.maximum(self.S, 0.0), self.Q
        theta = Q * Q - S
        with np.errstate(all="ignore"):
            gain = np.where(theta > 0, 0.5 * (theta / S + np.log(S / (Q * Q))), -np.inf)  # enter
            new = np.where(theta > 0, S * S / theta, np.inf)
            gain[S <= ALIGNED * self.scale * self.S0] = -np.inf
            a, J = self.precision, self.columns
            Sj, Qj = np.minimum(S[J], a * (1.0 - ALIGNED)), Q[J]
            s, q = a * Sj / (a - Sj), a * Qj / (a - Sj)
            inside = q * q - s
            better = np.where(inside > 0, s * s / inside, np.inf)
            shift = 1.0 / better - 1.0 / a
            change = 0.5 * (Qj * Qj * shift / (Sj * shift + 1.0) - np.log1p(Sj * shift))  # re-estimate
            leave = 0.5 * (Qj * Qj / (Sj - a) - np.log1p(-Sj / a))
            gain[J] = np.where(inside > 0, change, leave if len(J) > 1 else -np.inf)
            new[J] = better
        gain[~np.isfinite(gain)] = -np.inf
        best = int(gain.argmax())
        return best, float(new[best]), float(gain[best])

    def take_step(self, candidate: int, precision: float) -> None:
        """Enter, re-estimate or leave, by rank-one updates."""
        position = np.flatnonzero(self.columns == candidate)
        if len(position) == 0:
            self._enter(candidate, precision)
            return
        k = int(position[0])
        column = self.covariance[:, k].copy()
        leaves = np.isinf(precision)
        if leaves:
            factor = 1.0 / column[k]
        else:
            change = precision - self.precision[k]
            pivot = 1.0 + change * column[k]
            if pivot < ALIGNED:  # the update would divide by rounding: compute everything afresh
                self.precision = self.precision.copy()
                self.precision[k] = precision
                self.refresh(self.scale)
                return
            factor = change / pivot
        v = self.scale * (self.G @ column)
        self.S += factor * v * v
        self.Q += factor * self.mean[k] * v
        self.mean = self.mean - factor * self.mean[k] * column
        self.covariance = self.covariance - factor * np.multiply.outer(column, column)
        self.precision = self.precision.copy()
        self.precision[k] = precision
        if leaves:
            kept = np.arange(len(self.columns)) != k
            self.columns, self.precision, self.mean = (
                self.columns[kept],
                self.precision[kept],
                self.mean[kept],
            )
            self.covariance = self.covariance[np.ix_(kept, kept)]
            self.Phi, self.G = self.Phi[:, kept], self.G[:, kept]

    def _enter(self, candidate: int, precision: float) -> None:
        g = self._products(candidate)
        variance = 1.0 / (precision + self.S[candidate])
        mean = variance * self.Q[candidate]
        shared = self.scale * (self.covariance @ self.G[candidate])
        v = self.scale * (g - self.G @ shared)
        self.S -= variance * v * v
        self.Q -= mean * v
        m = len(self.columns)
        covariance = np.empty((m + 1, m + 1))
        covariance[:m, :m] = self.covariance + variance * np.multiply.outer(shared, shared)
        covariance[:m, m] = covariance[m, :m] = -variance * shared
        covariance[m, m] = variance
        self.covariance = covariance
        self.mean = np.append(self.mean - mean * shared, mean)
        self.columns = np.append(self.columns, candidate)
        self.precision = np.append(self.precision, precision)
        self.Phi = np.column_stack([self.Phi, self.source.take(np.array([candidate]))])
        self.G = np.column_stack([self.G, g])

    def _products(self, candidate: int) -> Array:  # (n_columns,)
        if candidate not in self._cache:
            wanted = np.array([candidate])
            if not self.source.is_held:  # the next ones are probably among the most promising of now
                promise = np.where(self.S > 0, self.Q**2 / np.maximum(self.S, 1e-300), 0.0)
                promise[self.columns] = 0.0
                promise[candidate] = np.inf
                wanted = np.argsort(-promise, kind="stable")[:PREFETCH]
                self._cache.clear()
            products = self.source.project(self.b[:, None] * self.source.take(wanted))
            self._cache.update({int(j): products[:, k] for k, j in enumerate(wanted)})
        return self._cache[candidate]

    def improve(self, budget: int, tol: float) -> tuple[int, float]:
        """Take up to `budget` steps of at least gain `tol`: steps taken, and the gain of the next one."""
        for taken in range(budget):
            candidate, precision, gain = self.best_step()
            if gain < tol:
                return taken, gain
            self.take_step(candidate, precision)
        return budget, self.best_step()[2]

    def start(self) -> None:
        """Begin with the column most like the targets, at its best precision (the constant if none helps)."""
        with np.errstate(all="ignore"):
            likeness = np.where(self.S > 0, self.Q**2 / self.S, 0.0)
        first = int(likeness.argmax())
        theta = self.Q[first] ** 2 - self.S[first]
        if not theta > 0:
            first = 0
            theta = max(self.Q[0] ** 2 - self.S[0], 1e-3 * self.S[0])
        self.take_step(first, float(self.S[first] ** 2 / theta))


def _log_determinant(state: _State) -> float:
    """log|A| - log|H|, with H the inverse covariance."""
    sign, value = np.linalg.slogdet(state.covariance)
    return float(np.log(state.precision).sum() + (value if sign > 0 else -np.inf))


def fit_gaussian(
    source: KernelColumns, y: Array, weight: Array, *, tol: float = SMALLEST_GAIN, max_iter: int = 10_000
) -> SparseBayes:
    """Sparse Bayesian regression with unknown noise; a row of weight w is a row w times.

    Parameters
    ----------
    source : KernelColumns
    y : array of shape (n,)
    weight : array of shape (n,)
    tol : float
        Gain in log marginal likelihood, in nats, below which to stop.
    max_iter : int
        Limit of the steps.
    """
    n = float(weight.sum())
    variance = float(weight @ np.square(y - weight @ y / n)) / n
    ceiling = LARGEST_PRECISION / variance if variance > 0 else 1.0
    beta = 1.0 / (FIRST_NOISE * variance) if variance > 0 else 1.0
    state = _State(source)
    state.weigh(weight, y)
    state.refresh(beta)
    state.start()
    n_iter, watch = 1, _Watch(tol)
    while n_iter < max_iter:
        taken, gain = state.improve(watch.budget(state, max_iter - n_iter), tol)
        n_iter += max(taken, 1)
        error = float(weight @ np.square(y - state.Phi @ state.mean))
        determined = float((1.0 - state.precision * np.diagonal(state.covariance)).sum())
        unexplained = max(n - determined, LEAST_SHARE * n)
        new = unexplained / max(error, unexplained / ceiling)
        moved = abs(np.log(new / beta))
        beta = new
        state.refresh(beta)
        likelihood = _gaussian_likelihood(state, y, weight, beta)
        # half the rows times the squared change of log beta is what the noise could still gain
        settled = gain < tol and 0.5 * n * moved**2 < tol and state.best_step()[2] < tol
        if watch.finished(state, beta, likelihood, n_iter, state.best_step()[2], settled):
            break
    return watch.best(n_iter)


def _gaussian_likelihood(state: _State, y: Array, weight: Array, beta: float) -> float:
    error = float(weight @ np.square(y - state.Phi @ state.mean))
    fit = float(weight.sum()) * np.log(beta / (2.0 * np.pi)) - beta * error
    return 0.5 * (fit - float(state.precision @ state.mean**2) + _log_determinant(state))


class _Watch:
    """The best model so far, and when to stop looking for a better one."""

    def __init__(self, tol: float) -> None:
        self.tol = tol
        self.idle = 0
        self.converged = False
        self.kept: SparseBayes | None = None

    def budget(self, state: _State, left: int) -> int:
        """Steps of the next round."""
        steps = (LEAST_STEPS + STEPS_PER_COLUMN * len(state.columns)) >> self.idle
        return max(1, min(left, steps))

    def finished(
        self, state: _State, beta: float, likelihood: float, n_iter: int, gain: float, settled: bool
    ) -> bool:
        """Take note of a round; whether it was the last."""
        best = -np.inf if self.kept is None else self.kept.log_marginal_likelihood
        self.idle = 0 if likelihood > best + self.tol else self.idle + 1
        if self.kept is None or likelihood > best:
            self.kept = SparseBayes(
                state.columns.copy(), state.mean.copy(), state.covariance.copy(), state.precision.copy(),
                beta, likelihood, n_iter, gain, False,
            )  # fmt: skip
        self.converged = settled or self.idle >= PATIENCE
        return self.converged

    def best(self, n_iter: int) -> SparseBayes:
        """The best model met."""
        assert self.kept is not None
        return replace(self.kept, n_iter=n_iter, converged=self.converged)


def posterior_mode(
    Phi: Array, y: Array, weight: Array, precision: Array, start: Array
) -> tuple[Array, Array, float]:
    """Mode of a logistic model by Newton's method: weights, outputs, penalised log-likelihood."""

    def value(f: Array, w: Array) -> float:
        with np.errstate(over="ignore"):  # a step far too long has the value -inf, and is shortened
            return -float(weight @ np.logaddexp(0.0, -y * f)) - 0.5 * float(precision @ w**2)

    if not np.abs(start).max(initial=0.0) < LARGEST_WEIGHT:  # rank-one updates of a singular posterior
        start = np.zeros_like(start)
    w, f = start, Phi @ start
    current = value(f, w)
    for _ in range(MODE_ITERATIONS):
        slope = weight * y * expit(-y * f)
        curvature = weight * expit(f) * expit(-f)
        H = (Phi.T * curvature) @ Phi
        np.einsum("ii->i", H)[:] += precision
        gradient = Phi.T @ slope - precision * w
        step = linalg.cho_solve((cholesky_factor(H), True), gradient, check_finite=False)
        promise = float(gradient @ step)
        length, f_step = 1.0, Phi @ step
        while length > 1e-8:
            new = value(f + length * f_step, w + length * step)
            if new >= current + 1e-4 * length * promise or promise < 1e-12:
                break
            length *= 0.5
        if length <= 1e-8:
            break
        w, f = w + length * step, f + length * f_step
        current = value(f, w)
        if promise < 1e-10:
            break
    return w, f, current


def _at_mode(state: _State, y: Array, weight: Array) -> float:
    """Move to the mode, renew b and z there, and return the log marginal likelihood by Laplace."""
    mode, f, value = posterior_mode(state.Phi, y, weight, state.precision, state.mean)
    b = np.maximum(weight * expit(f) * expit(-f), np.finfo(np.float64).tiny ** 0.5 * weight)
    state.weigh(b, f + weight * y * expit(-y * f) / b)
    state.mean = mode
    return value + 0.5 * _log_determinant(state)


def fit_bernoulli(
    source: KernelColumns, y: Array, weight: Array, *, tol: float = SMALLEST_GAIN, max_iter: int = 10_000
) -> SparseBayes:
    """Sparse Bayesian classification, labels -1 and +1, by Laplace's approximation; parameters as above."""
    state = _State(source)
    state.weigh(0.25 * weight, 2.0 * y)  # the approximation at f = 0
    state.start()
    n_iter, watch = 1, _Watch(tol)
    likelihood = _at_mode(state, y, weight)
    watch.finished(state, 1.0, likelihood, 1, np.inf, False)
    while n_iter < max_iter:
        taken, _ = state.improve(watch.budget(state, max_iter - n_iter), tol)
        n_iter += max(taken, 1)
        likelihood = _at_mode(state, y, weight)
        gain = state.best_step()[2]
        if watch.finished(state, 1.0, likelihood, n_iter, gain, gain < tol):
            break
    return watch.best(n_iter)
