"""Relevance vector machines: sparsity from a Bayesian prior."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ..rows import Array, as_rows
from ..solvers.expectation_maximisation import fit_em
from ..solvers.marginal_likelihood import fit_bernoulli, fit_gaussian
from ..solvers.sparse_bayes import KernelColumns, SparseBayes
from ..words import count
from .base import KernelClassifier, KernelEstimator, KernelRegressor, n_threads
from .probabilities import class_probabilities
from .training import TrainingSet, with_equal_targets

_RELEVANCE_CONSTRAINTS: dict[str, list[Any]] = {
    "method": [StrOptions({"fast", "em"})],
    "n_restarts": [Interval(Integral, 0, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
}


def _store_relevance(
    model: Any, data: TrainingSet, kernel: Any, source: KernelColumns, fits: list[SparseBayes], shift: Array
) -> None:
    """Store the union of the vectors and the posterior of each output."""
    name = type(model).__name__
    for fit in fits:
        if not fit.converged:
            advice = "gain of the next step" if model.method == "fast" else "last change of log precision"
            warnings.warn(
                f"{name}: stopped after {count(fit.n_iter, 'iteration')} ({advice} {fit.gain:.2g}); "
                "raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
            break
    alpha = np.zeros((len(data.rows), len(fits)))
    intercept = shift.copy()
    for output, fit in enumerate(fits):
        vectors = fit.columns > 0
        alpha[source.rows[fit.columns[vectors] - 1], output] = fit.mean[vectors]
        intercept[output] += fit.mean[~vectors].sum()
    model.n_iter_ = max(fit.n_iter for fit in fits)
    model.log_marginal_likelihood_ = np.array([fit.log_marginal_likelihood for fit in fits])
    model._store_rows(data.X, data.rows, kernel, alpha, intercept)
    model.precision_ = np.full((len(fits), model.n_vectors_), np.inf)
    model.intercept_precision_ = np.full(len(fits), np.inf)
    for output, fit in enumerate(fits):
        at = _places(model, data, source, fit)
        model.precision_[output, at[at > 0] - 1] = fit.precision[at > 0]
        model.intercept_precision_[output] = fit.precision[at == 0].sum() if (at == 0).any() else np.inf


def _places(model: Any, data: TrainingSet, source: KernelColumns, fit: SparseBayes) -> Array:
    """For each column of a fit: 0 for the intercept, k for vector k - 1.

    -1 is a vector whose mean is exactly zero: it is not stored.
    """
    place = {int(row): 1 + k for k, row in enumerate(model.support_)}
    at = np.zeros(len(fit.columns), dtype=np.intp)
    rows = data.rows[source.rows[fit.columns[fit.columns > 0] - 1]]
    at[fit.columns > 0] = [place.get(int(row), -1) for row in rows]
    return at


class RVC(KernelClassifier):
    r"""Relevance vector classifier.

    The output is the log-odds :math:`f(x) = w_0 + \sum_j w_j k(x_j, x)` with priors :math:`w_j \sim N(0,
    1/a_j)`; the precisions maximise the marginal likelihood

    .. math:: p(y \mid a) = \int \prod_i \sigma(y_i f(x_i))^{s_i}\; p(w \mid a)\, dw

    (by Laplace's approximation), which sends most of them to infinity: those rows leave the model. There is
    nothing to tune but the kernel.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed"}, Kernel or callable
        The kernel; a function gets two arrays of rows and returns their kernel values.
    gamma : {"scale", "auto"}, float or array of shape (n_features,), default="scale"
        Width of the rbf and laplacian kernels (an array gives each feature its own), factor of the others.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels.
    method : {"fast", "em"}, default="fast"
        "fast" adds, re-estimates and deletes one vector at a time in memory O(n m); "em" starts from all rows
        and updates all precisions together, with O(n^3) work in the first rounds.
    n_restarts : int, default=1
        "fast" only: searches from two thirds of the best model, after the first from nothing; the model with
        the largest marginal likelihood is kept.
    tol : float, default=1e-4
        "fast": gain in log marginal likelihood below which to stop; "em": ten times the change of the
        logarithm of a precision.
    max_iter : int, default=10_000
        Limit of the steps ("fast", all searches together) or rounds ("em").
    class_weight : "balanced", dict or None, default=None
        Factor on the weights of each class.
    random_state : int, RandomState or None, default=None
        Not used: the method has no randomness.
    n_jobs : int or None, default=None
        Threads for kernel values; None means 1, -1 all processors.

    Attributes
    ----------
    support_vectors_ : array or CSR of shape (n_vectors, n_features)
    dual_coef_ : array of shape (n_outputs, n_vectors)
        Posterior mode of the weights.
    intercept_ : array of shape (n_outputs,)
    support_ : array of shape (n_vectors,)
        Row of the training data each vector was.
    n_vectors_, n_iter_ : int
    log_marginal_likelihood_ : array of shape (n_outputs,)
    precision_ : array of shape (n_outputs, n_vectors)
        Prior precision of each weight; infinite where an output does not use a vector.
    intercept_precision_ : array of shape (n_outputs,)
    classes_ : array of shape (n_classes,)
    gamma_ : float or array

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
        tol: float = 1e-4,
        max_iter: int = 10_000,
        class_weight: Any = None,
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
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,) or None
            A row of weight 2 is a row twice.

        Returns
        -------
        self
        """
        X, codes, Y, weight, rows = self._check_classes(X, y, sample_weight)
        data = with_equal_targets(X, codes, Y, weight, rows, precomputed=self._is_precomputed)
        kernel = self._resolved_kernel(data.X, data.weight)
        source = KernelColumns(self._gram(kernel, data, rows))

        def solve(labels: Array) -> SparseBayes:
            if self.method == "em":
                return fit_em(
                    source, labels, data.weight, gaussian=False, tol=10 * self.tol, max_iter=self.max_iter
                )
            return fit_bernoulli(
                source, labels, data.weight, tol=self.tol, max_iter=self.max_iter, n_restarts=self.n_restarts
            )

        fits = [solve(labels) for labels in data.Y.T]
        _store_relevance(self, data, kernel, source, fits, np.zeros(len(fits)))
        return self

    def predict_proba(self, X: Any) -> Array:
        """Probability of each class.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)

        Returns
        -------
        array of shape (n, n_classes)
        """
        return class_probabilities(self._outputs(X), expit)


class RVR(KernelRegressor):
    r"""Relevance vector regression, with a standard deviation for each prediction.

    The model is :math:`y = w_0 + \sum_j w_j k(x_j, x) + \varepsilon` with Gaussian noise and priors
    :math:`w_j \sim N(0, 1/a_j)`; precisions and noise maximise the marginal likelihood.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed"}, Kernel or callable
        The kernel; a function gets two arrays of rows and returns their kernel values.
    gamma : {"scale", "auto"}, float or array of shape (n_features,), default="scale"
        Width of the rbf and laplacian kernels (an array gives each feature its own), factor of the others.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels.
    method : {"fast", "em"}, default="fast"
        As in `RVC`.
    n_restarts : int, default=1
        "fast" only: searches from two thirds of the best model, after the first from nothing; the model with
        the largest marginal likelihood is kept.
    tol : float, default=1e-4
        "fast": gain in log marginal likelihood below which to stop; "em": ten times the change of the
        logarithm of a precision.
    max_iter : int, default=10_000
        Limit of the steps ("fast", all searches together) or rounds ("em").
    random_state : int, RandomState or None, default=None
        Not used: the method has no randomness.
    n_jobs : int or None, default=None
        Threads for kernel values; None means 1, -1 all processors.

    Attributes
    ----------
    support_vectors_ : array or CSR of shape (n_vectors, n_features)
    dual_coef_ : array of shape (n_outputs, n_vectors)
        Posterior mean of the weights.
    intercept_ : array of shape (n_outputs,)
    support_ : array of shape (n_vectors,)
    n_vectors_, n_iter_ : int
    noise_ : array of shape (n_outputs,)
        Standard deviation of the noise.
    log_marginal_likelihood_ : array of shape (n_outputs,)
    precision_ : array of shape (n_outputs, n_vectors)
        Prior precision of each weight; infinite where an output does not use a vector.
    intercept_precision_ : array of shape (n_outputs,)
    gamma_ : float or array

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
        tol: float = 1e-4,
        max_iter: int = 10_000,
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
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : array-like of shape (n,) or None
            A row of weight 2 is a row twice.

        Returns
        -------
        self
        """
        X, Y, weight, rows = self._check_targets(X, y, sample_weight)
        _, kinds = np.unique(Y, axis=0, return_inverse=True)
        data = with_equal_targets(X, kinds.ravel(), Y, weight, rows, precomputed=self._is_precomputed)
        kernel = self._resolved_kernel(data.X, data.weight)
        source = KernelColumns(self._gram(kernel, data, rows))
        means = data.weight @ data.Y / data.weight.sum()

        def solve(targets: Array) -> SparseBayes:
            if self.method == "em":
                return fit_em(
                    source, targets, data.weight, gaussian=True, tol=10 * self.tol, max_iter=self.max_iter
                )
            return fit_gaussian(
                source, targets, data.weight, tol=self.tol, max_iter=self.max_iter, n_restarts=self.n_restarts
            )

        fits = [solve(targets) for targets in (data.Y - means).T]
        self.noise_ = np.array([fit.noise_precision**-0.5 for fit in fits])
        _store_relevance(self, data, kernel, source, fits, means)
        self._store_covariance(data, source, fits)
        return self

    def _store_covariance(self, data: TrainingSet, source: KernelColumns, fits: list[SparseBayes]) -> None:
        """Posterior covariance of intercept and weights of each output, in the order of the vectors."""
        self._covariance = np.zeros((len(fits), 1 + self.n_vectors_, 1 + self.n_vectors_))
        for output, fit in enumerate(fits):
            at = _places(self, data, source, fit)
            known = at >= 0
            self._covariance[output][np.ix_(at[known], at[known])] = fit.covariance[np.ix_(known, known)]

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
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=False
        )
        kernel = self._fitted_kernel()
        columns = np.ones((X.shape[0], 1 + self.n_vectors_))
        columns[:, 1:] = kernel(as_rows(X), self.support_vectors_, n_threads=n_threads(self.n_jobs))
        variance = np.einsum("ij,ojk,ik->io", columns, self._covariance, columns, optimize=True)
        deviation = np.sqrt(np.maximum(variance, 0.0) + self.noise_**2).astype(mean.dtype)
        return mean, deviation[:, 0] if self._one_target else deviation
