r"""Sparse Bayesian learning: columns enter, change and leave as the marginal likelihood tells.

The model is :math:`f = \Phi w` with priors :math:`w_j \sim N(0, 1/a_j)`; the precisions a maximise the
marginal likelihood, and most end at infinity. The likelihood is Gaussian with precisions b of the rows; in
classification those are of Laplace's approximation at the mode, with its working targets. The inner loop takes
the step with the largest gain (`sparse_bayes.GrowingModel`); the outer loop brings b, or the noise, up to date.

References
----------
Tipping and Faul (2003), *Fast marginal likelihood maximisation for sparse Bayesian models*, AISTATS; Tipping
(2001), *Sparse Bayesian learning and the relevance vector machine*, JMLR 1; MacKay (1992),
doi:10.1162/neco.1992.4.3.415.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import linalg
from scipy.special import expit

from ...linalg import cholesky_factor, lower_gram
from ...progress import tell
from ...rows import Array
from .sparse_bayes import CandidateColumns, GrowingModel, SparseBayes

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
# What the steps are called where progress is told.
CLIMB = "raising the marginal likelihood"
# A restart leaves out every third column of the model, another third each time.
SHARES = 3
# Gain (in nats) a step must promise near the end.
SMALLEST_GAIN = 1e-5
# Noise precision relative to the variance of the targets: beyond this the targets are reproduced exactly.
LARGEST_PRECISION = 1e10
# Share of the rows that is left to estimate the noise where the weights explain them all.
LEAST_SHARE = 1e-3
# The noise is at first this share of the variance of the targets, as in the reference.
FIRST_NOISE = 0.1


def _log_determinant(state: GrowingModel) -> float:
    """log|A| - log|H|, with H the inverse covariance."""
    sign, value = np.linalg.slogdet(state.covariance)
    if not (sign > 0 and (state.precision > 0).all()):
        return -np.inf
    return float(np.log(state.precision).sum() + value)


def _restarted(
    climb: Callable[[SparseBayes | None, Array, int], SparseBayes], n_restarts: int, max_iter: int
) -> SparseBayes:
    """The best of several climbs: the first from nothing, each other from two thirds of the best so far.

    The steps look at one column at a time, so they end in one of many maxima.

    Parameters
    ----------
    climb : function
        Model and columns of it to begin with (None: from nothing) and limit of the steps -> model.
    """
    best = climb(None, np.empty(0, dtype=np.intp), max_iter)
    n_iter = best.n_iter
    for restart in range(n_restarts):
        kept = np.flatnonzero(np.arange(len(best.columns)) % SHARES != restart % SHARES)
        if n_iter >= max_iter or not 0 < len(kept) < len(best.columns):
            continue
        new = climb(best, kept, max_iter - n_iter)
        n_iter += new.n_iter
        if new.log_marginal_likelihood > best.log_marginal_likelihood:
            best = new
    return replace(best, n_iter=n_iter)


def fit_gaussian(
    source: CandidateColumns, y: Array, weight: Array, *, tol: float = SMALLEST_GAIN, max_iter: int = 10_000,
    n_restarts: int = 0,
) -> SparseBayes:  # fmt: skip
    """Sparse Bayesian regression with unknown noise; a row of weight w is a row w times.

    Parameters
    ----------
    source : CandidateColumns
    y : array of shape (n,)
    weight : array of shape (n,)
    tol : float
        Gain in log marginal likelihood, in nats, below which to stop.
    max_iter : int
        Limit of the steps.
    n_restarts : int
        Climbs from a part of the best model, after the first from nothing.
    """
    n = float(weight.sum())
    variance = float(weight @ np.square(y - weight @ y / n)) / n
    ceiling = LARGEST_PRECISION / variance if variance > 0 else 1.0

    def climb(model: SparseBayes | None, kept: Array, max_iter: int) -> SparseBayes:
        state = GrowingModel(source)
        if model is None:
            beta = 1.0 / (FIRST_NOISE * variance) if variance > 0 else 1.0
            state.weigh(weight, y)
            state.refresh(beta)
            state.start()
        else:
            beta = model.noise_precision
            state.resume(model, kept)
            state.weigh(weight, y)
            state.refresh(beta)
        n_iter, watch = 1, _Watch(tol)
        while n_iter < max_iter or watch.kept is None:
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
            tell(CLIMB, n_iter, None, f"log marginal likelihood {likelihood:.6g}")
            # half the rows times the squared change of log beta is what the noise could still gain
            settled = gain < tol and 0.5 * n * moved**2 < tol and state.best_step()[2] < tol
            if watch.finished(state, beta, likelihood, n_iter, state.best_step()[2], settled):
                break
        return watch.best(n_iter)

    return _restarted(climb, n_restarts, max_iter)


def _gaussian_likelihood(state: GrowingModel, y: Array, weight: Array, beta: float) -> float:
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

    def budget(self, state: GrowingModel, left: int) -> int:
        """Steps of the next round."""
        steps = (LEAST_STEPS + STEPS_PER_COLUMN * len(state.columns)) >> self.idle
        return max(1, min(left, steps))

    def finished(
        self, state: GrowingModel, beta: float, likelihood: float, n_iter: int, gain: float, settled: bool
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
    Phi: Array, y: Array, weight: Array, precision: Array, start: Array, *, max_iter: int = MODE_ITERATIONS
) -> tuple[Array, Array, float]:
    """Mode of a logistic model by Newton's method: weights, outputs, penalised log-likelihood."""

    def value(f: Array, w: Array) -> float:
        with np.errstate(over="ignore", invalid="ignore"):  # a step far too long is worth -inf, and shortened
            return -float(weight @ np.logaddexp(0.0, -y * f)) - 0.5 * float(precision @ w**2)

    with np.errstate(over="ignore", invalid="ignore"):
        w, f = start, Phi @ start
    current = value(f, w)
    nothing = value(np.zeros_like(f), np.zeros_like(w))
    if not current >= nothing:  # rank-one updates of a singular posterior can end anywhere
        w, f, current = np.zeros_like(w), np.zeros_like(f), nothing
    for _ in range(max_iter):
        slope = weight * y * expit(-y * f)
        curvature = weight * expit(f) * expit(-f)
        H = lower_gram(Phi.T, curvature)
        np.einsum("ii->i", H)[:] += precision
        gradient = Phi.T @ slope - precision * w
        step = linalg.cho_solve((cholesky_factor(H), True), gradient, check_finite=False)
        promise = float(gradient @ step)
        lost = np.finfo(np.float64).eps * abs(current)  # of heavy rows: less than this is rounding
        if not np.isfinite(step).all():  # weights near the largest there may be leave none
            break
        length, f_step = 1.0, Phi @ step
        while length > 1e-8:
            new = value(f + length * f_step, w + length * step)
            if new >= current + 1e-4 * length * promise or promise < max(1e-12, lost):
                break
            length *= 0.5
        if length <= 1e-8:
            break
        w, f = w + length * step, f + length * f_step
        current = value(f, w)
        if promise < max(1e-10, lost):
            break
    return w, f, current


def _at_mode(state: GrowingModel, y: Array, weight: Array) -> float:
    """Move to the mode, renew b and z there, and return the log marginal likelihood by Laplace."""
    mode, f, value = posterior_mode(state.Phi, y, weight, state.precision, state.mean)
    b = np.maximum(weight * expit(f) * expit(-f), np.finfo(np.float64).tiny ** 0.5 * weight)
    state.weigh(b, f + weight * y * expit(-y * f) / b)
    state.mean = mode
    return value + 0.5 * _log_determinant(state)


def fit_bernoulli(
    source: CandidateColumns, y: Array, weight: Array, *, tol: float = SMALLEST_GAIN, max_iter: int = 10_000,
    n_restarts: int = 0,
) -> SparseBayes:  # fmt: skip
    """Sparse Bayesian classification, labels -1 and +1, by Laplace's approximation; parameters as above."""

    def climb(model: SparseBayes | None, kept: Array, max_iter: int) -> SparseBayes:
        state = GrowingModel(source)
        if model is None:
            state.weigh(0.25 * weight, 2.0 * y)  # the approximation at f = 0
            state.start()
        else:
            state.resume(model, kept)
        n_iter, watch = 1, _Watch(tol)
        likelihood = _at_mode(state, y, weight)
        watch.finished(state, 1.0, likelihood, 1, np.inf, False)
        while n_iter < max_iter:
            taken, _ = state.improve(watch.budget(state, max_iter - n_iter), tol)
            n_iter += max(taken, 1)
            likelihood = _at_mode(state, y, weight)
            tell(CLIMB, n_iter, None, f"log marginal likelihood {likelihood:.6g}")
            gain = state.best_step()[2]
            if watch.finished(state, 1.0, likelihood, n_iter, gain, gain < tol):
                break
        return watch.best(n_iter)

    return _restarted(climb, n_restarts, max_iter)
