"""Least-squares support vector machines: every training row carries a coefficient."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from ...losses import Squared
from ...problem import Problem
from ...rows import Array, Rows
from ...threads import one_blas_thread
from ...training import with_mean_targets
from ..base import KernelClassifier, KernelEstimator, KernelRegressor
from .solvers import SOLVERS

_LEAST_SQUARES_CONSTRAINTS: dict[str, list[Any]] = {
    "C": [Interval(Real, 0, None, closed="neither")],
    "solver": [StrOptions({"auto", *SOLVERS})],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left"), None],
}


@one_blas_thread()
def _fit_least_squares(model: Any, X: Rows, Y: Array, weight: Array, rows: Array) -> None:
    """Solve for all outputs at once and store the expansion."""
    data = with_mean_targets(X, Y, weight, rows, precomputed=model._is_precomputed)
    kernel = model._resolved_kernel(data.X, data.weight)
    gram = model._gram(kernel, data, rows)
    name = model.solver
    if name == "auto":
        name = "cholesky" if gram.is_held else "cg"
    problem = Problem(gram, data.Y, Squared(), model.C * data.weight)
    solution = SOLVERS[name](problem, tol=model.tol, max_iter=model.max_iter, rng=model._rng())
    solution.warn_if_unfinished(type(model).__name__, solver=name, C=model.C)
    model.n_iter_ = solution.n_iter
    model._store_rows(data.X, data.rows, kernel, solution.alpha, solution.intercept)


class LSSVC(KernelClassifier):
    r"""Least-squares support vector classifier.

    Minimises, for each output,

    .. math:: \tfrac12 |f|^2 + \tfrac{C}{2} \sum_i s_i\, (y_i - f(x_i) - b)^2

    with labels :math:`y_i = \pm 1` and sample weights :math:`s_i`. Every distinct training row becomes a
    vector: accurate, quick to train, and not sparse. It is what the sparse least-squares methods start from
    and are compared with.

    Parameters
    ----------
    C : float, default=1.0
        Larger means less regularisation.
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed"}, Kernel or callable
        The kernel; a function gets two arrays of rows and returns their kernel values.
    gamma : {"scale", "auto"}, float or array of shape (n_features,), default="scale"
        Width of the rbf and laplacian kernels (an array gives each feature its own), factor of the others.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels.
    solver : {"auto", "cholesky", "cg", "smo"}, default="auto"
        "cholesky" holds the whole kernel matrix, "cg" and "smo" only up to 2 GiB of it; "auto" takes
        "cholesky" up to that size and "cg" above.
    tol : float, default=1e-8
        Largest error of the optimality conditions, relative to the targets ("cg" and "smo").
    max_iter : int or None, default=None
        Limit of the iterations of "cg" and "smo"; None sets one that grows with the rows.
    class_weight : "balanced", dict or None, default=None
        Factor on the weights of each class.
    random_state : int, RandomState or None, default=None
        Seeds the choice of columns that precondition "cg"; the result is the same to the tolerance.
    n_jobs : int or None, default=None
        Threads; None means 1, -1 all processors.

    Attributes
    ----------
    support_vectors_ : array or CSR of shape (n_vectors, n_features)
    dual_coef_ : array of shape (n_outputs, n_vectors)
    intercept_ : array of shape (n_outputs,)
    support_ : array of shape (n_vectors,)
        Row of the training data each vector was.
    n_vectors_, n_iter_ : int
    classes_ : array of shape (n_classes,)
    gamma_ : float or array
        The width in use.

    Notes
    -----
    Suykens' gamma is C here. Equal rows are one vector whose target is their mean, which leaves the problem
    as it was. For a kernel that is not positive definite (sigmoid) the optimality conditions are solved as
    they stand, by an indefinite factorisation or MINRES.

    References
    ----------
    Suykens and Vandewalle, Least squares support vector machine classifiers, Neural Processing Letters 9
    (1999), doi:10.1023/A:1018628609742.

    Examples
    --------
    >>> from slimsvm import LSSVC
    >>> from slimsvm.datasets import make_banana
    >>> X, y = make_banana(200, random_state=0)
    >>> model = LSSVC(C=10.0).fit(X, y)
    >>> model.n_vectors_, model.score(X, y) > 0.85
    (200, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        **_LEAST_SQUARES_CONSTRAINTS,
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.solver = solver
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

        Returns
        -------
        self
        """
        X, _, Y, weight, rows = self._check_classes(X, y, sample_weight)
        _fit_least_squares(self, X, Y, weight, rows)
        return self


class LSSVR(KernelRegressor):
    r"""Least-squares support vector regression: kernel ridge regression with an unpenalised intercept.

    Minimises :math:`\tfrac12 |f|^2 + \tfrac{C}{2} \sum_i s_i\, (y_i - f(x_i) - b)^2` for each target. Every
    distinct training row becomes a vector.

    Parameters
    ----------
    C : float, default=1.0
        Larger means less regularisation.
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed"}, Kernel or callable
        The kernel; a function gets two arrays of rows and returns their kernel values.
    gamma : {"scale", "auto"}, float or array of shape (n_features,), default="scale"
        Width of the rbf and laplacian kernels (an array gives each feature its own), factor of the others.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels.
    solver : {"auto", "cholesky", "cg", "smo"}, default="auto"
        As in `LSSVC`.
    tol : float, default=1e-8
        Largest error of the optimality conditions, relative to the targets ("cg" and "smo").
    max_iter : int or None, default=None
        Limit of the iterations of "cg" and "smo"; None sets one that grows with the rows.
    random_state : int, RandomState or None, default=None
        Seeds the choice of columns that precondition "cg".
    n_jobs : int or None, default=None
        Threads; None means 1, -1 all processors.

    Attributes
    ----------
    support_vectors_ : array or CSR of shape (n_vectors, n_features)
    dual_coef_ : array of shape (n_outputs, n_vectors)
    intercept_ : array of shape (n_outputs,)
    support_ : array of shape (n_vectors,)
    n_vectors_, n_iter_ : int
    gamma_ : float or array

    References
    ----------
    Suykens et al., *Least Squares Support Vector Machines*, World Scientific (2002).

    Examples
    --------
    >>> import numpy as np
    >>> from slimsvm import LSSVR
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = LSSVR(C=100.0, gamma=1.0).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.01)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelEstimator._parameter_constraints,
        **_LEAST_SQUARES_CONSTRAINTS,
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.solver = solver
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

        Returns
        -------
        self
        """
        X, Y, weight, rows = self._check_targets(X, y, sample_weight)
        _fit_least_squares(self, X, Y, weight, rows)
        return self
