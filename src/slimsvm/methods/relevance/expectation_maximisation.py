r"""Expectation-maximisation for sparse Bayesian models: all coefficients at once.

For the relevance vector machine the hidden variables are the weights: each round computes their posterior and
sets the precision of column j to :math:`1 / (\mu_j^2 + \Sigma_{jj})`. For the sparse probit classifier they
are the latent outputs and the prior variances, and the round is a reweighted ridge regression on the expected
outputs.

References
----------
Tipping (2001), *Sparse Bayesian learning and the relevance vector machine*, JMLR 1, appendix A; Figueiredo
(2003), doi:10.1109/TPAMI.2003.1227989.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg
from scipy.special import erfcx, expit

from ...linalg import (
    cholesky_factor,
    column_squares,
    columns_of,
    gram,
    inverse_of_factored,
    lower_gram,
    scaled,
)
from ...progress import tell
from ...rows import Array
from ...solvers.reweighted import Round
from ...words import count
from .marginal_likelihood import FIRST_NOISE, LARGEST_PRECISION, MODE_ITERATIONS, posterior_mode
from .sparse_bayes import CandidateColumns, SparseBayes

# EM raises the precision of a useless column by about s a round, without end: at this multiple of s (its
# information in the data) the column leaves.
USELESS = 100.0
# Columns whose sums of squares are within this factor begin with one precision. Beyond it, one precision would hold the
# small ones (the constant beside products of large numbers) at zero until they leave as useless: then precisions in
# proportion to the sums of squares are a second start, and the likelier model is kept.
SAME_SIZE = 10.0
# Laplace's approximation at the mode is no expectation: its rounds may overshoot, and go in circles for ever. Where a
# round takes back what the last one did to a precision, half the share of the step (in logarithms) is taken; where it
# goes on, the share grows by this factor until it is 1. Where the rounds end is the same.
LONGER = 1.2
SHORTEST = 1e-3
# Newton steps for the mode after the first round, which begin at the last mode.
FEW_STEPS = 3
# In so many rounds, three times what a useless column needs, a column must leave or the likelihood gain this share of
# itself. Where rows weigh so much, or columns are so alike, that rounding moves the precisions, these never rest.
WAITING = 300
LEAST_GAIN = 1e-5
# EM steps of the first round of the probit classifier, at one factorisation.
FIRST_ROUND = 100


def fit_em(
    source: CandidateColumns,
    y: Array,
    weight: Array,
    *,
    gaussian: bool,
    tol: float = 1e-3,
    max_iter: int = 1000,
) -> SparseBayes:
    """The sparse Bayesian model of `fit_gaussian` or `fit_bernoulli` by EM; holds all columns.

    Parameters
    ----------
    source : CandidateColumns
    y : array of shape (n,)
        Targets, or labels -1 and +1.
    weight : array of shape (n,)
    gaussian : bool
        Whether to fit targets (with unknown noise) or labels.
    tol : float
        Largest change of the logarithm of a precision at which to stop.
    max_iter : int
        Limit of the rounds.
    """
    columns = np.arange(source.n_columns)
    Phi = source.take(columns)
    size = column_squares(Phi, weight)
    if not (size > 0).all():
        columns, Phi, size = columns[size > 0], columns_of(Phi, np.flatnonzero(size > 0)), size[size > 0]
    starts = [np.full(len(columns), float(size.mean()))]
    if size.max(initial=0.0) > SAME_SIZE * size.min(initial=np.inf):
        starts.append(size)
    fits = [
        _from_start(columns, Phi, y, weight, start / len(columns), gaussian, tol, max_iter)
        for start in starts
    ]
    return max(fits, key=lambda fit: fit.log_marginal_likelihood)


def _from_start(
    columns: Array, Phi: Array, y: Array, weight: Array, start: Array, gaussian: bool, tol: float, max_iter: int
) -> SparseBayes:  # fmt: skip
    """EM from these precisions, which are counted in those of the noise."""
    n = float(weight.sum())
    variance = float(weight @ np.square(y - weight @ y / n)) / n if gaussian else 1.0
    beta = 1.0 / (FIRST_NOISE * variance) if variance > 0 and gaussian else 1.0
    precision = beta * start
    mean = np.zeros(len(columns))
    moved, n_iter, converged = np.inf, 0, False
    best, gained = -float(np.finfo(float).max), 0
    # changes of the logarithms of the precisions, and the share of them that is taken
    last, taken = np.zeros(len(columns)), np.ones(len(columns))
    for n_iter in range(1, max_iter + 1):
        if gaussian:
            b, z = beta * weight, y
        else:
            steps = MODE_ITERATIONS if n_iter == 1 else FEW_STEPS
            mean, f, fit = posterior_mode(Phi, y, weight, precision, mean, max_iter=steps)
            b, z = weight * expit(f) * expit(-f), None
        covariance, log_determinant = _covariance(Phi, b, precision)
        if z is not None:
            mean = covariance @ (Phi.T @ (b * z))
            error = float(weight @ np.square(y - Phi @ mean))
            fit = 0.5 * (n * float(np.log(beta)) - beta * error - float(precision @ mean**2))
        likelihood = fit + 0.5 * (float(np.log(precision).sum()) + log_determinant)
        if not likelihood <= best + LEAST_GAIN * abs(best):
            best, gained = likelihood, n_iter
        diagonal = np.maximum(np.diagonal(covariance), np.finfo(float).tiny)
        information = np.maximum(1.0 / diagonal - precision, 0.0)  # s of Tipping and Faul
        theta = np.square(mean / diagonal) - information
        new = 1.0 / (mean**2 + diagonal)
        useful = (theta > 0) | (new < USELESS * information)
        if not useful.any():
            useful[np.argmax(mean**2 / diagonal)] = True
        change = np.log(new / precision)
        moved = float(np.abs(change)[useful].max())
        if gaussian and variance > 0:
            determined = float((1.0 - precision * diagonal).sum())
            old = beta
            with np.errstate(over="ignore"):
                noise = (error + determined / beta) / n
            beta = min(1.0 / max(noise, np.finfo(float).tiny), LARGEST_PRECISION / variance)
            beta = max(beta, np.finfo(float).tiny)  # beside weights of nothing there is no limit to the noise
            moved = max(moved, abs(np.log(beta / old)))
        if not useful.all():
            gained = n_iter
        if not gaussian:
            taken = np.clip(np.where(change * last < 0, taken / 2.0, taken * LONGER), SHORTEST, 1.0)
            new = np.where(taken < 1.0, precision * np.exp(taken * change), new)
        columns, Phi, mean, precision = columns[useful], Phi[:, useful], mean[useful], new[useful]
        last, taken = change[useful], taken[useful]
        tell("expectation maximisation", n_iter, None, f"{count(len(columns), 'weight')} left")
        if moved <= tol or n_iter - gained >= WAITING:
            converged = True
            break
    return _finished(columns, Phi, mean, precision, beta, y, weight, gaussian, n_iter, moved, converged)


def _covariance(Phi: Array, b: Array, precision: Array) -> tuple[Array, float]:
    """Posterior covariance (m, m) of the weights, and the logarithm of its determinant."""
    H = lower_gram(Phi.T, b)
    np.einsum("ii->i", H)[:] += precision
    L = cholesky_factor(H)
    return inverse_of_factored(L), -2.0 * float(np.log(np.diagonal(L)).sum())


def _finished(
    columns: Array, Phi: Array, mean: Array, precision: Array, beta: float, y: Array, weight: Array,
    gaussian: bool, n_iter: int, moved: float, converged: bool,
) -> SparseBayes:  # fmt: skip
    """Posterior and marginal likelihood at the final precisions."""
    if gaussian:
        # by orthogonal factors: where targets have no noise, products would leave nothing but rounding
        root = np.sqrt(beta * weight)
        scale = 1.0 / np.sqrt(precision)
        Q, R = linalg.qr(
            np.vstack([root[:, None] * Phi * scale, np.eye(len(scale))]), mode="economic", check_finite=False
        )
        mean = scale * linalg.solve_triangular(R, Q[: len(y)].T @ (root * y), check_finite=False)
        half = scale[:, None] * linalg.solve_triangular(R, np.eye(len(scale)), check_finite=False)
        covariance = gram(half)
        log_determinant = 2.0 * float(np.log(scale / np.abs(np.diagonal(R))).sum())
        error = float(weight @ np.square(y - Phi @ mean))
        fit = 0.5 * (float(weight.sum()) * np.log(beta / (2.0 * np.pi)) - beta * error)
        fit -= 0.5 * float(precision @ mean**2)
    else:
        mean, f, fit = posterior_mode(Phi, y, weight, precision, mean)
        covariance, _ = _covariance(Phi, weight * expit(f) * expit(-f), precision)
        sign, log_determinant = np.linalg.slogdet(covariance)
        log_determinant = float(log_determinant) if sign > 0 else -np.inf
    likelihood = fit + 0.5 * (float(np.log(precision).sum()) + log_determinant)
    return SparseBayes(columns, mean, covariance, precision, beta, likelihood, n_iter, moved, converged)


def probit_round(A: Array, y: Array, weight: Array) -> Round:
    """One round of the sparse probit classifier, equation (17): E-step, then reweighted ridge regression.

    Parameters
    ----------
    A : array of shape (n, n_columns)
    y : array of shape (n,)
        Labels -1 and +1.
    weight : array of shape (n,)
    """
    f = np.zeros(len(y))
    first = True
    root = np.sqrt(weight)

    def solve(columns: Array, previous: Array) -> tuple[Array, float]:
        nonlocal f, first
        taken = A if len(columns) == A.shape[1] else columns_of(A, columns)
        features = scaled(taken, root, np.abs(previous))
        n, m = features.shape
        inner = lower_gram(features.T if m <= n else features)
        np.einsum("ii->i", inner)[:] += 1.0
        L = cholesky_factor(inner)
        coef = np.zeros(m)
        # the first round, whose weights are one, is solved to the end: the prior should not shrink
        # coefficients that have not yet been found
        for _ in range(FIRST_ROUND if first else 1):
            # expected latent output; the ratio of density and distribution by erfcx, which is right however far f is
            with np.errstate(over="ignore"):
                z = f + y * np.sqrt(2.0 / np.pi) / erfcx(-y * f / np.sqrt(2.0))
            target = root * z
            if m <= n:
                w = linalg.cho_solve((L, True), features.T @ target, check_finite=False)
            else:
                w = features.T @ linalg.cho_solve((L, True), target, check_finite=False)
            coef = np.abs(previous) * w
            f = taken @ coef
        first = False
        return coef, 0.0

    return solve
