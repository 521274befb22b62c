"""Relevance vector machines: sparsity from a Bayesian prior."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from ...kernels import Kernel, outputs_that_fit
from ...limits import FEW_VECTORS, announce, check_memory, pass_seconds
from ...probability import Probability
from ...rows import Array
from ...threads import n_threads
from ...training import Trained, TrainingSet
from ...words import count
from ..base import KernelClassifier, KernelEstimator, KernelRegressor, Run
from ..documentation import documented
from ..fitted import ProbabilitiesMixin
from .expectation_maximisation import fit_em
from .marginal_likelihood import fit_bernoulli, fit_gaussian
from .sparse_bayes import CandidateColumns, SparseBayes

_RELEVANCE_CONSTRAINTS: dict[str, list[Any]] = {
    "method": [StrOptions({"fast", "em"})],
    "n_restarts": [Interval(Integral, 0, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left"), None],
}

# "em" stops when no precision changes by more than this times `tol`, relative to itself.
EM_FACTOR = 1e3
# Steps, or rounds, which cost more, where `max_iter` is None; ordinary data need a few hundred to 1,800 rounds.
MOST_STEPS = {"fast": 10_000, "em": 2_000}
# Passes over the kernel matrix of an output: for every few vectors that enter, and every round of the likelihood.
LIKELY_PASSES = 50


def variances(columns: Array, covariance: Array) -> Array:  # (n, k)
    """Variance of each row's output, c' S c for its columns c and the posterior S of each output, as a sum of squares.

    Terms of the quadratic form itself cancel far from the vectors, to a rest that is another for a row alone than among
    others.
    """
    size = np.sqrt(np.maximum(np.einsum("ojj->oj", covariance), 0.0))
    unit = np.where(size > 0, size, 1.0)
    values, directions = np.linalg.eigh(covariance / (unit[:, :, None] * unit[:, None, :]))
    reach = (columns * size[:, None, :]) @ directions
    found: Array = (np.square(reach) @ np.maximum(values, 0.0)[:, :, None])[:, :, 0].T
    return found


def train(
    model: Any,
    data: TrainingSet,
    kernel: Kernel,
    run: Run,
    targets: Array,  # (n, k)
    shift: Array,  # (k,)
    *,
    gaussian: bool,
) -> Trained:
    """Fit each output, and put the union of their vectors and their posteriors together."""
    gram = data.gram(kernel, run.n_threads)
    if model.method == "em":
        check_memory(
            8.0 * gram.n**2, f"method='em' starts from all {gram.n} rows and needs", "use method='fast'"
        )
    elif not gram.is_held:
        announce(
            run.name, "passes over the kernel matrix", pass_seconds(gram.X, run.n_threads),
            LIKELY_PASSES * targets.shape[1],
            instead=f"set n_jobs=-1, raise tol, give fewer rows, or use {FEW_VECTORS}",
        )  # fmt: skip
    source = CandidateColumns(gram)
    smallest_gain = model.tol * float(data.weight.sum())
    max_iter = model.max_iter or MOST_STEPS[model.method]

    def fitted(y: Array) -> SparseBayes:
        if model.method == "em":
            return fit_em(
                source, y, data.weight, gaussian=gaussian, tol=EM_FACTOR * model.tol, max_iter=max_iter
            )
        fit = fit_gaussian if gaussian else fit_bernoulli
        return fit(source, y, data.weight, tol=smallest_gain, max_iter=max_iter, n_restarts=model.n_restarts)

    fits = []
    for output, y in enumerate(targets.T, start=1):
        fits.append(fitted(y))
        run.say(
            f"output {output} of {targets.shape[1]}: {count(len(fits[-1].columns), 'weight')} after "
            f"{count(fits[-1].n_iter, 'step')}, log marginal likelihood {fits[-1].log_marginal_likelihood:.6g}"
        )
    warn_if_unfinished(fits, run.name, model.method)
    alpha, intercept = np.zeros((data.n, len(fits))), shift.copy()
    for output, fit in enumerate(fits):
        vectors = fit.columns > 0
        alpha[source.rows[fit.columns[vectors] - 1], output] = fit.mean[vectors]
        intercept[output] += fit.mean[~vectors].sum()
    trained = Trained.on_rows(
        data, kernel, alpha, intercept,
        n_iter=max(fit.n_iter for fit in fits),
        probability=None if gaussian else Probability("logistic"),
    )  # fmt: skip
    return replace(trained, extras=posterior(trained, data, source, fits, gaussian=gaussian))


def posterior(
    trained: Trained, data: TrainingSet, source: CandidateColumns, fits: list[SparseBayes], *, gaussian: bool
) -> dict[str, Any]:
    """Precisions, evidence and, for regression, noise and covariance, in the order of the vectors."""
    m = trained.expansion.n_vectors
    precision, intercept_precision = np.full((len(fits), m), np.inf), np.full(len(fits), np.inf)
    covariance = np.zeros((len(fits), 1 + m, 1 + m))
    for output, fit in enumerate(fits):
        at = places(trained, data, source, fit)
        precision[output, at[at > 0] - 1] = fit.precision[at > 0]
        if (at == 0).any():
            intercept_precision[output] = fit.precision[at == 0].sum()
        known = at >= 0
        covariance[output][np.ix_(at[known], at[known])] = fit.covariance[np.ix_(known, known)]
    extras = {
        "log_marginal_likelihood_": np.array([fit.log_marginal_likelihood for fit in fits]),
        "precision_": precision,
        "intercept_precision_": intercept_precision,
    }
    if gaussian:
        extras["noise_"] = np.array([fit.noise_precision**-0.5 for fit in fits])
        extras["covariance_"] = covariance
    return extras


def places(trained: Trained, data: TrainingSet, source: CandidateColumns, fit: SparseBayes) -> Array:
    """For each column of a fit: 0 for the intercept, k for vector k - 1.

    -1 is a vector whose mean is exactly zero: it is not stored.
    """
    assert trained.support is not None
    place = {int(row): 1 + k for k, row in enumerate(trained.support)}
    at = np.zeros(len(fit.columns), dtype=np.intp)
    rows = data.rows[source.rows[fit.columns[fit.columns > 0] - 1]]
    at[fit.columns > 0] = [place.get(int(row), -1) for row in rows]
    return at


def warn_if_unfinished(fits: list[SparseBayes], name: str, method: str) -> None:
    """Say of the first fit that has not converged what it reached and what to change."""
    for fit in fits:
        if not fit.converged:
            what = "gain of the next step" if method == "fast" else "last change of log precision"
            warnings.warn(
                f"{name}: stopped after {count(fit.n_iter, 'iteration')} ({what} {fit.gain:.2g}); "
                "raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
            break


@documented
class RVC(ProbabilitiesMixin, KernelClassifier):
    r"""Relevance vector classifier.

    The output is the log-odds :math:`f(x) = w_0 + \sum_j w_j k(x_j, x)` with priors :math:`w_j \sim N(0,
    1/a_j)`; the precisions maximise the marginal likelihood

    .. math:: p(y \mid a) = \int \prod_i \sigma(y_i f(x_i))^{s_i}\; p(w \mid a)\, dw

    (by Laplace's approximation), which sends most of them to infinity: those rows leave the model. There is
    nothing to tune but the kernel.

    Parameters
    ----------
    <kernel>
    method : {"fast", "em"}, default="fast"
        "fast" adds, re-estimates and deletes one vector at a time in memory O(n m); "em" starts from all rows
        and updates all precisions together, with O(n^3) work in the first rounds.
    n_restarts : int, default=1
        "fast" only: searches from two thirds of the best model, after the first from nothing; the model with
        the largest marginal likelihood is kept.
    tol : float, default=1e-6
        Gain in log marginal likelihood, divided by the number of rows, at which to stop; for "em" a thousandth of
        the relative change of a precision.
    max_iter : int or None, default=None
        Limit of the steps ("fast", all searches together) or rounds ("em", from each start); None is 10,000 steps or
        2,000 rounds.
    <class_weight>
    <verbose>
    <no randomness>
    <n_jobs>

    Attributes
    ----------
    <vectors>
    <support>
    <classes>
    n_iter_ : int
    log_marginal_likelihood_ : array of shape (n_outputs,)
    precision_ : array of shape (n_outputs, n_vectors)
        Prior precision of each weight; infinite where an output does not use a vector.
    intercept_precision_ : array of shape (n_outputs,)

    Notes
    -----
    Tipping's alpha is the precision a, and his w_0 is the intercept, which has a prior like the others and
    may leave. Several classes are one-versus-rest; their probabilities are the separate ones, scaled to sum
    to one. The kernel need not be positive definite.

    References
    ----------
    Tipping, Sparse Bayesian learning and the relevance vector machine, JMLR 1 (2001), 211-244.

    Tipping and Faul, Fast marginal likelihood maximisation for sparse Bayesian models, AISTATS (2003).

    Examples
    --------
    >>> from slimsvm import RVC
    >>> from slimsvm.datasets import make_ripley
    >>> X, y = make_ripley(250, random_state=0)
    >>> model = RVC(gamma=2.0).fit(X, y)
    >>> model.n_vectors_ < 10, model.score(X, y) > 0.85
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        **_RELEVANCE_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        method: str = "fast",
        n_restarts: int = 1,
        tol: float = 1e-6,
        max_iter: int | None = None,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.method = method
        self.n_restarts = n_restarts
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _train(self, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
        return train(self, data, kernel, run, data.Y, np.zeros(data.Y.shape[1]), gaussian=False)


@documented
class RVR(KernelRegressor):
    r"""Relevance vector regression, with a standard deviation for each prediction.

    The model is :math:`y = w_0 + \sum_j w_j k(x_j, x) + \varepsilon` with Gaussian noise and priors
    :math:`w_j \sim N(0, 1/a_j)`; precisions and noise maximise the marginal likelihood.

    Parameters
    ----------
    <kernel>
    method : {"fast", "em"}, default="fast"
        As in `RVC`.
    n_restarts : int, default=1
        "fast" only: searches from two thirds of the best model, after the first from nothing; the model with
        the largest marginal likelihood is kept.
    tol : float, default=1e-6
        Gain in log marginal likelihood, divided by the number of rows, at which to stop; for "em" a thousandth of
        the relative change of a precision.
    max_iter : int or None, default=None
        Limit of the steps ("fast", all searches together) or rounds ("em", from each start); None is 10,000 steps or
        2,000 rounds.
    <verbose>
    <no randomness>
    <n_jobs>

    Attributes
    ----------
    <vectors>
    <support>
    n_iter_ : int
    noise_ : array of shape (n_outputs,)
        Standard deviation of the noise.
    log_marginal_likelihood_ : array of shape (n_outputs,)
    precision_ : array of shape (n_outputs, n_vectors)
        Prior precision of each weight; infinite where an output does not use a vector.
    intercept_precision_ : array of shape (n_outputs,)
    covariance_ : array of shape (n_outputs, 1 + n_vectors, 1 + n_vectors)
        Posterior covariance of intercept and weights.

    Notes
    -----
    Tipping's alpha is a, his beta is ``noise_ ** -2``. The targets are centred by their mean first; the
    intercept of what remains has a prior like the other weights and may leave.

    References
    ----------
    Tipping, Sparse Bayesian learning and the relevance vector machine, JMLR 1 (2001), 211-244.

    Tipping and Faul, Fast marginal likelihood maximisation for sparse Bayesian models, AISTATS (2003).

    Examples
    --------
    >>> import numpy as np
    >>> from slimsvm import RVR
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(100)
    >>> model = RVR(gamma=0.5).fit(X, y)
    >>> mean, deviation = model.predict([[1.5]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.5)) < 0.1), bool(0.05 < deviation[0] < 0.2), model.n_vectors_ < 10
    (True, True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelEstimator._parameter_constraints,
        **_RELEVANCE_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        method: str = "fast",
        n_restarts: int = 1,
        tol: float = 1e-6,
        max_iter: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.method = method
        self.n_restarts = n_restarts
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _train(self, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
        return train(self, data, kernel, run, data.Y - data.mean, data.mean, gaussian=True)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predicted target of each row of X.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)
        return_std : bool, default=False
            Whether to return the standard deviations of the predictive distribution, noise included, too.

        Returns
        -------
        mean : array of shape (n,), or (n, n_targets) if y had two dimensions
        deviation : array of the same shape, only if `return_std`
        """
        mean = super().predict(X)
        if not return_std:
            return mean
        if not hasattr(self, "covariance_"):
            raise ValueError(
                "return_std=True needs the posterior of the vectors the machine was trained with, and this one was "
                "reduced; take the deviations from the machine before its reduction."
            )
        columns = np.ones((mean.shape[0], 1 + self.n_vectors_))
        columns[:, 1:] = self.expansion_.kernel(
            self._rows(X), self.support_vectors_, n_threads=n_threads(self.n_jobs)
        )
        with np.errstate(over="ignore", invalid="ignore"):
            variance = variances(columns, self.covariance_)
            deviation = np.sqrt(variance + self.noise_**2).astype(mean.dtype)
        outputs_that_fit(deviation, self._rows(X), self.expansion_.kernel)
        return mean, self.readout_.answer(deviation)
