"""Machines whose vectors are chosen greedily in the primal: matching pursuit and sparse greedy processes."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import linalg
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from ..problem import KernelGram
from ..rows import Array, Rows
from ..selection.growing import kernel_block, part_of
from ..selection.pursuit import Pursuit, PursuitRule
from ..solvers.least_squares import cholesky_factor
from . import holdout
from .base import KernelClassifier, KernelEstimator, KernelRegressor
from .training import TrainingSet, with_mean_targets

# The bound on the gap costs a pass over the kernel matrix: it is computed after growth by this share.
GROWTH_BETWEEN_BOUNDS = 0.1

_PURSUIT_CONSTRAINTS: dict[str, list[Any]] = {
    "n_vectors": [Interval(Integral, 1, None, closed="left")],
    "fitting": [StrOptions({"backfitting", "prefitting"})],
    "n_candidates": [Interval(Integral, 1, None, closed="left"), None],
}
_MATCHING_CONSTRAINTS: dict[str, list[Any]] = {
    **_PURSUIT_CONSTRAINTS,
    "C": [Interval(Real, 0, None, closed="neither"), None],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither"), None],
}
_PROCESS_CONSTRAINTS: dict[str, list[Any]] = {
    **_PURSUIT_CONSTRAINTS,
    "C": [Interval(Real, 0, None, closed="neither")],
    "tol": [Interval(Real, 0, None, closed="left")],
}


def primal_solution(
    K: Array,  # (m, n)
    own: Array,  # (m, m)
    Y: Array,  # (n, k)
    weight: Array,  # (n,)
    penalty: float,
    in_function_space: bool,
) -> tuple[Array, Array]:
    """Coefficients (m, k) and intercepts (k,) on given vectors, solved from the start."""
    total = weight.sum()
    means, mean = K @ weight / total, weight @ Y / total
    root = np.sqrt(weight)
    A = ((K - means[:, None]) * root).T
    right = (Y - mean) * root[:, None]
    if penalty == 0.0:
        coef = linalg.lstsq(A, right, check_finite=False)[0]
    else:
        B = A.T @ A + penalty * (own if in_function_space else np.eye(len(K)))
        coef = linalg.cho_solve((cholesky_factor(B), True), A.T @ right, check_finite=False)
    return coef, mean - means @ coef


def duality_gap(gram: KernelGram, search: Pursuit, weight: Array, C: float, Y: Array) -> float:
    r"""Share by which the objective may exceed the smallest possible.

    The residual gives a point of the dual: :math:`a = C s r`, whose value is a bound from below.
    """
    coef = search.coefficients()
    own = kernel_block(gram, np.array(search.chosen), np.array(search.chosen))
    r = search.residual
    primal = 0.5 * np.einsum("ij,ij->", coef, own @ coef) + 0.5 * C * weight @ (r**2).sum(axis=1)
    a = C * weight[:, None] * r
    dual = (a * Y).sum() - 0.5 * np.einsum("ij,ij->", a, gram @ a) - 0.5 * (a * r).sum()
    if primal <= 0.0:  # a kernel that is not positive definite has no bound
        return math.inf
    return float(max(0.0, primal - dual) / primal)


def _start(model: Any, X: Rows, Y: Array, weight: Array, rows: Array) -> tuple[TrainingSet, KernelGram]:
    data = with_mean_targets(X, Y, weight, rows)
    return data, model._gram(model._resolved_kernel(data.X, data.weight), data, rows)


def _finish(
    model: Any,
    data: TrainingSet,
    gram: KernelGram,
    train: Array,
    chosen: Array,
    penalty: float,
    in_space: bool,
) -> None:
    """Solve on the chosen rows of the training part and store the machine."""
    if len(chosen):
        coef, intercept = primal_solution(
            kernel_block(gram, chosen, train),
            kernel_block(gram, chosen, chosen),
            data.Y[train],
            data.weight[train],
            penalty,
            in_space,
        )
    else:
        coef, intercept = np.zeros((0, data.Y.shape[1])), data.weight @ data.Y / data.weight.sum()
    model.n_iter_ = len(chosen)
    model._store_rows(data.X[chosen], data.rows[chosen], gram.kernel, coef, intercept)


def _fit_matching(model: Any, X: Rows, Y: Array, weight: Array, rows: Array, classify: bool) -> None:
    data, gram = _start(model, X, Y, weight, rows)
    rng, train = model._rng(), np.arange(gram.n)
    if model.validation_fraction is not None:
        train, held = holdout.split(data, model.validation_fraction, rng, classify)
    penalty = 0.0 if model.C is None else 1.0 / model.C
    rule = PursuitRule(penalty, False, model.fitting == "prefitting", model.n_candidates)
    part = gram if len(train) == gram.n else part_of(gram, train)
    search = Pursuit(part, data.Y[train], data.weight[train], rule, rng)
    while search.m < model.n_vectors and search.step():
        pass
    chosen = train[search.chosen]
    if model.validation_fraction is not None:
        K = kernel_block(gram, chosen, held)
        model.validation_scores_ = np.array(
            [
                holdout.score(outputs, data.Y[held], data.weight[held], classify)
                for outputs in search.path_outputs(K)
            ]
        )
        chosen = chosen[: int(np.argmax(model.validation_scores_))]
    _finish(model, data, gram, train, chosen, penalty, False)


def _fit_process(model: Any, X: Rows, Y: Array, weight: Array, rows: Array) -> None:
    data, gram = _start(model, X, Y, weight, rows)
    rule = PursuitRule(1.0 / model.C, True, model.fitting == "prefitting", model.n_candidates)
    search = Pursuit(gram, data.Y, data.weight, rule, model._rng())
    model.gap_, looked_at = 1.0, 0
    while search.m < model.n_vectors and search.step():
        if search.m >= (1.0 + GROWTH_BETWEEN_BOUNDS) * looked_at and model.tol > 0:
            model.gap_, looked_at = duality_gap(gram, search, data.weight, model.C, data.Y), search.m
            if model.gap_ <= model.tol:
                break
    model.gap_ = duality_gap(gram, search, data.weight, model.C, data.Y) if search.m else 0.0
    _finish(model, data, gram, np.arange(gram.n), np.array(search.chosen, dtype=np.intp), rule.penalty, True)


class MatchingPursuitSVC(KernelClassifier):
    r"""Kernel matching pursuit: least squares on vectors added one at a time (KMP).

    Over `n_vectors` training rows P, chosen greedily, it minimises

    .. math:: \tfrac12 |\alpha|^2 + \tfrac{C}{2} \sum_i s_i\, |y_i - \sum_{j \in P} \alpha_j k(x_j, x_i) -
    b|^2

    with labels :math:`\pm 1` for each class against the rest, sample weights s and a free intercept b;
    without C the first term is absent. All outputs share their vectors.

    Parameters
    ----------
    n_vectors : int, default=100
        Number of vectors; fewer where no row is left that adds anything.
    C : float or None, default=1.0
        Larger means less regularisation; None means none.
    fitting : {"backfitting", "prefitting"}, default="backfitting"
        Whether a vector is chosen by what its own coefficient gains, or by what solving all of them gains;
        all are solved after it is chosen either way.
    n_candidates : int or None, default=None
        Random rows looked at in a step; None looks at all.
    validation_fraction : float or None, default=None
        Share of the rows held out: of the machines of 0 to `n_vectors` vectors, the one that scores best on
        them is kept.
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed"}, Kernel or callable
        The kernel; a function gets two arrays of rows and returns their kernel values.
    gamma : {"scale", "auto"}, float or array of shape (n_features,), default="scale"
        Width of the rbf and laplacian kernels (an array gives each feature its own), factor of the others.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels.
    class_weight : "balanced", dict or None, default=None
        Factor on the weights of each class.
    random_state : int, RandomState or None, default=None
        Seeds the candidates and the rows held out.
    n_jobs : int or None, default=None
        Threads for kernel values; None means 1, -1 all processors.

    Attributes
    ----------
    support_vectors_ : array or CSR of shape (n_vectors, n_features)
    dual_coef_ : array of shape (n_outputs, n_vectors)
    intercept_ : array of shape (n_outputs,)
    support_ : array of shape (n_vectors,)
        Row of the training data each vector was.
    n_vectors_, n_iter_ : int
    validation_scores_ : array of shape (n_steps + 1,)
        Score on the rows held out with 0, 1, ... vectors; with `validation_fraction` only.
    classes_ : array of shape (n_classes,)
    gamma_ : float or array
        The width in use.

    Notes
    -----
    The :math:`\gamma` of Jiao et al., eq. 36, is C. The intercept is the constant function Vincent and
    Bengio put first into the dictionary. Columns within 1e-5 of the span of the chosen ones are passed over.

    References
    ----------
    Vincent and Bengio, Kernel matching pursuit, Machine Learning 48 (2002), doi:10.1023/A:1013955821559.

    Examples
    --------
    >>> from slimsvm import MatchingPursuitSVC
    >>> from slimsvm.datasets import make_ringnorm
    >>> X, y = make_ringnorm(400, random_state=0)
    >>> model = MatchingPursuitSVC(n_vectors=20, random_state=0).fit(X, y)
    >>> model.n_vectors_, model.score(X, y) > 0.9
    (20, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        **_MATCHING_CONSTRAINTS,
    }

    def __init__(
        self,
        n_vectors: int = 100,
        *,
        C: float | None = 1.0,
        fitting: str = "backfitting",
        n_candidates: int | None = None,
        validation_fraction: float | None = None,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_vectors = n_vectors
        self.C = C
        self.fitting = fitting
        self.n_candidates = n_candidates
        self.validation_fraction = validation_fraction
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
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

        Returns
        -------
        self
        """
        X, _, Y, weight, rows = self._check_classes(X, y, sample_weight)
        _fit_matching(self, X, Y, weight, rows, classify=True)
        return self


class MatchingPursuitSVR(KernelRegressor):
    """Kernel matching pursuit for regression (KMP): as `MatchingPursuitSVC`, with targets for labels.

    Parameters
    ----------
    n_vectors : int, default=100
        Number of vectors; fewer where no row is left that adds anything.
    C : float or None, default=1.0
        Larger means less regularisation; None means none.
    fitting : {"backfitting", "prefitting"}, default="backfitting"
        Whether a vector is chosen by what its own coefficient gains, or by what solving all of them gains;
        all are solved after it is chosen either way.
    n_candidates : int or None, default=None
        Random rows looked at in a step; None looks at all.
    validation_fraction : float or None, default=None
        Share of the rows held out: of the machines of 0 to `n_vectors` vectors, the one that scores best on
        them is kept.
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed"}, Kernel or callable
        The kernel; a function gets two arrays of rows and returns their kernel values.
    gamma : {"scale", "auto"}, float or array of shape (n_features,), default="scale"
        Width of the rbf and laplacian kernels (an array gives each feature its own), factor of the others.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels.
    random_state : int, RandomState or None, default=None
        Seeds the candidates and the rows held out.
    n_jobs : int or None, default=None
        Threads for kernel values; None means 1, -1 all processors.

    Attributes
    ----------
    support_vectors_ : array or CSR of shape (n_vectors, n_features)
    dual_coef_ : array of shape (n_outputs, n_vectors)
    intercept_ : array of shape (n_outputs,)
    support_ : array of shape (n_vectors,)
        Row of the training data each vector was.
    n_vectors_, n_iter_ : int
    validation_scores_ : array of shape (n_steps + 1,)
        Score on the rows held out with 0, 1, ... vectors; with `validation_fraction` only.
    gamma_ : float or array
        The width in use.

    References
    ----------
    Vincent and Bengio, Kernel matching pursuit, Machine Learning 48 (2002), doi:10.1023/A:1013955821559.

    Examples
    --------
    >>> import numpy as np
    >>> from slimsvm import MatchingPursuitSVR
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> model = MatchingPursuitSVR(n_vectors=8, gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.05)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelEstimator._parameter_constraints,
        **_MATCHING_CONSTRAINTS,
    }

    def __init__(
        self,
        n_vectors: int = 100,
        *,
        C: float | None = 1.0,
        fitting: str = "backfitting",
        n_candidates: int | None = None,
        validation_fraction: float | None = None,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_vectors = n_vectors
        self.C = C
        self.fitting = fitting
        self.n_candidates = n_candidates
        self.validation_fraction = validation_fraction
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
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

        Returns
        -------
        self
        """
        X, Y, weight, rows = self._check_targets(X, y, sample_weight)
        _fit_matching(self, X, Y, weight, rows, classify=False)
        return self


class SparseGreedyGPC(KernelClassifier):
    r"""Sparse greedy Gaussian process on labels (SGGP).

    Over training rows P, chosen greedily, it minimises

    .. math:: \tfrac12 |f|^2 + \tfrac{C}{2} \sum_i s_i\, |y_i - f(x_i) - b|^2,
              \qquad f = \sum_{j \in P} \alpha_j k(x_j, \cdot),

    the objective of `LSSVC` restricted to few vectors: the mean of a Gaussian process with noise of variance
    1 / C and a constant mean b. A bound says how far it is from the process on all rows. All outputs share
    their vectors.

    Parameters
    ----------
    n_vectors : int, default=100
        Limit of the number of vectors.
    C : float, default=1.0
        Larger means less regularisation: one over the variance of the noise.
    tol : float, default=0.025
        The search ends when the objective is known to be within this share of the smallest possible; 0 goes
        on to `n_vectors`.
    fitting : {"prefitting", "backfitting"}, default="prefitting"
        Whether a vector is chosen by what solving all coefficients gains, or by what its own gains.
    n_candidates : int or None, default=59
        Random rows looked at in a step (59 finds one of the best 5 % with 95 % confidence); None looks at
        all.
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed"}, Kernel or callable
        The kernel; a function gets two arrays of rows and returns their kernel values.
    gamma : {"scale", "auto"}, float or array of shape (n_features,), default="scale"
        Width of the rbf and laplacian kernels (an array gives each feature its own), factor of the others.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels.
    class_weight : "balanced", dict or None, default=None
        Factor on the weights of each class.
    random_state : int, RandomState or None, default=None
        Seeds the candidates and the rows held out.
    n_jobs : int or None, default=None
        Threads for kernel values; None means 1, -1 all processors.

    Attributes
    ----------
    support_vectors_ : array or CSR of shape (n_vectors, n_features)
    dual_coef_ : array of shape (n_outputs, n_vectors)
    intercept_ : array of shape (n_outputs,)
    support_ : array of shape (n_vectors,)
        Row of the training data each vector was.
    n_vectors_, n_iter_ : int
    gap_ : float
        Bound on the share by which the objective exceeds the smallest possible.
    classes_ : array of shape (n_classes,)
    gamma_ : float or array
        The width in use.

    Notes
    -----
    The :math:`\gamma` of Jiao et al., eq. 37, is C. Smola and Bartlett bound the gap by a second sparse
    machine for the dual; the residual of the first, times C, is a point of the dual too, costs one product
    with the kernel matrix, and is the solution when the first is.

    References
    ----------
    Smola and Bartlett, Sparse greedy Gaussian process regression, Advances in Neural Information Processing
    Systems 13 (2001).

    Examples
    --------
    >>> from slimsvm import SparseGreedyGPC
    >>> from slimsvm.datasets import make_ringnorm
    >>> X, y = make_ringnorm(400, random_state=0)
    >>> model = SparseGreedyGPC(n_vectors=20, tol=0, random_state=0).fit(X, y)
    >>> model.n_vectors_, model.score(X, y) > 0.9
    (20, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        **_PROCESS_CONSTRAINTS,
    }

    def __init__(
        self,
        n_vectors: int = 100,
        *,
        C: float = 1.0,
        tol: float = 0.025,
        fitting: str = "prefitting",
        n_candidates: int | None = 59,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_vectors = n_vectors
        self.C = C
        self.tol = tol
        self.fitting = fitting
        self.n_candidates = n_candidates
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
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

        Returns
        -------
        self
        """
        X, _, Y, weight, rows = self._check_classes(X, y, sample_weight)
        _fit_process(self, X, Y, weight, rows)
        return self


class SparseGreedyGPR(KernelRegressor):
    """Sparse greedy Gaussian process regression (SGGP): as `SparseGreedyGPC`, with targets for labels.

    Parameters
    ----------
    n_vectors : int, default=100
        Limit of the number of vectors.
    C : float, default=1.0
        Larger means less regularisation: one over the variance of the noise.
    tol : float, default=0.025
        The search ends when the objective is known to be within this share of the smallest possible; 0 goes
        on to `n_vectors`.
    fitting : {"prefitting", "backfitting"}, default="prefitting"
        Whether a vector is chosen by what solving all coefficients gains, or by what its own gains.
    n_candidates : int or None, default=59
        Random rows looked at in a step (59 finds one of the best 5 % with 95 % confidence); None looks at
        all.
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed"}, Kernel or callable
        The kernel; a function gets two arrays of rows and returns their kernel values.
    gamma : {"scale", "auto"}, float or array of shape (n_features,), default="scale"
        Width of the rbf and laplacian kernels (an array gives each feature its own), factor of the others.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels.
    random_state : int, RandomState or None, default=None
        Seeds the candidates and the rows held out.
    n_jobs : int or None, default=None
        Threads for kernel values; None means 1, -1 all processors.

    Attributes
    ----------
    support_vectors_ : array or CSR of shape (n_vectors, n_features)
    dual_coef_ : array of shape (n_outputs, n_vectors)
    intercept_ : array of shape (n_outputs,)
    support_ : array of shape (n_vectors,)
        Row of the training data each vector was.
    n_vectors_, n_iter_ : int
    gap_ : float
        Bound on the share by which the objective exceeds the smallest possible.
    gamma_ : float or array
        The width in use.

    References
    ----------
    Smola and Bartlett, Sparse greedy Gaussian process regression, Advances in Neural Information Processing
    Systems 13 (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from slimsvm import SparseGreedyGPR
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> model = SparseGreedyGPR(n_vectors=12, gamma=1.0, C=100.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.05)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelEstimator._parameter_constraints,
        **_PROCESS_CONSTRAINTS,
    }

    def __init__(
        self,
        n_vectors: int = 100,
        *,
        C: float = 1.0,
        tol: float = 0.025,
        fitting: str = "prefitting",
        n_candidates: int | None = 59,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_vectors = n_vectors
        self.C = C
        self.tol = tol
        self.fitting = fitting
        self.n_candidates = n_candidates
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
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

        Returns
        -------
        self
        """
        X, Y, weight, rows = self._check_targets(X, y, sample_weight)
        _fit_process(self, X, Y, weight, rows)
        return self
