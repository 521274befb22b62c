"""Machines in the reduced empirical feature space, and the feature map itself."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import linalg, sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ..expansion import KernelExpansion
from ..kernels import Kernel, Linear, Precomputed
from ..losses import Hinge, SquaredHinge
from ..problem import DENSE_LIMIT_BYTES, FeatureGram, KernelGram, Problem, Solution
from ..rows import Array, Rows, as_rows
from ..selection import SELECTIONS
from ..solvers.dual import HINGE_SOLVERS, solve_hinge
from ..solvers.newton import solve_newton
from .base import KernelClassifier, KernelEstimator, n_threads, one_blas_thread
from .training import with_equal_targets, with_mean_targets

_SELECTION_CONSTRAINTS: dict[str, list[Any]] = {
    "selection": [StrOptions(set(SELECTIONS))],
    "eta": [Interval(Real, 0, None, closed="left")],
    "n_vectors": [Interval(Integral, 1, None, closed="left"), None],
}


def _check_solver(solver: str, loss: str) -> None:
    able = ("auto", "newton") if loss == "squared_hinge" else ("auto", *HINGE_SOLVERS)
    if solver not in able:
        raise ValueError(
            f"solver={solver!r} cannot solve loss={loss!r}; it takes {', '.join(map(repr, able))}."
        )


def _check_memory(n: int, m: int) -> None:
    if 8 * n * m > 4 * DENSE_LIMIT_BYTES:
        raise MemoryError(
            f"the features of {n} rows on {m} vectors need {8 * n * m / 2**30:.3g} GiB, above the limit of "
            f"{4 * DENSE_LIMIT_BYTES / 2**30:.3g} GiB; raise eta or set n_vectors."
        )


class EmpiricalSVC(KernelClassifier):
    r"""Support vector classifier in the reduced empirical feature space.

    Selects linearly independent training rows :math:`x_{i_1}, \dots, x_{i_N}` by a Cholesky factorisation with
    threshold eta, takes :math:`h(x) = (k(x_{i_1}, x), \dots, k(x_{i_N}, x))^\top` as explicit features, and minimises

    .. math:: \tfrac12 |v|^2 + \tfrac{C}{r} \sum_i s_i\, \max(0, 1 - y_i (v^\top h(x_i) + b))^r ,

    with r = 1 (hinge) or r = 2 (squared hinge). The vectors do not depend on C; several classes share them.

    Parameters
    ----------
    C : float, default=1.0
        Larger means less regularisation.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        r = 1 or r = 2 above.
    eta : float, default=1e-3
        A row is kept when its squared distance, in feature space, from the span of those kept exceeds eta. Larger
        means fewer vectors.
    selection : {"cholesky", "pivoted_cholesky", "random_cholesky"}, default="cholesky"
        Rows one after the other; the row of largest distance first; or drawn in proportion to the distance.
    n_vectors : int or None, default=None
        Stop at this many vectors.
    vectors : {"selected", "orthogonal"}, default="selected"
        "orthogonal" is for the linear kernel: the vectors are the unit inputs, h(x) = x, and the machine is the
        linear SVM itself.
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed"}, Kernel or callable
        The kernel; a function gets two arrays of rows and returns their kernel values.
    gamma : {"scale", "auto"}, float or array of shape (n_features,), default="scale"
        Width of the rbf and laplacian kernels (an array gives each feature its own), factor of the others.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels.
    solver : {"auto", "interior_point", "smo", "cd", "newton"}, default="auto"
        The squared hinge is solved by Newton's method, "newton"; the others are for the hinge loss, where "auto" tries
        pairs of coefficients ("smo") where they are quick and takes the interior point otherwise.
    tol : float, default=1e-6
        Relative duality gap at which the solver stops.
    max_iter : int or None, default=None
        Limit of the solver's iterations; None means its own.
    class_weight : "balanced", dict or None, default=None
        Factor on the weights of each class.
    random_state : int, RandomState or None, default=None
        Seeds the random selection.
    n_jobs : int or None, default=None
        Threads; None means 1, -1 all processors.

    Attributes
    ----------
    support_vectors_ : array or CSR of shape (n_vectors, n_features)
    dual_coef_ : array of shape (n_outputs, n_vectors)
        The weights v: coefficients of the vectors, not bounded by C.
    intercept_ : array of shape (n_outputs,)
    support_ : array of shape (n_vectors,)
        Row of the training data each vector was; not there for orthogonal vectors.
    n_vectors_, n_iter_ : int
    gap_ : float
        Largest relative duality gap over the outputs.
    classes_ : array of shape (n_classes,)
    gamma_ : float or array

    Notes
    -----
    The paper's eta and C are eta and C here; its RBF kernel divides gamma by the number of inputs. "L1 SVM" and "L2
    SVM" are the two losses, "OSV" and "NOSV" the orthogonal and selected vectors of the linear kernel. The rows of
    the first class are looked at first, as the paper's counts suggest, and within a class in an order that depends
    on their values alone, so the result does not depend on the order they are given in.

    References
    ----------
    Iwamura and Abe, Sparse support vector machines trained in the reduced empirical feature space, IJCNN (2008),
    doi:10.1109/IJCNN.2008.4634131.

    Examples
    --------
    >>> from slimsvm import EmpiricalSVC
    >>> from slimsvm.datasets import make_banana
    >>> X, y = make_banana(400, random_state=0)
    >>> model = EmpiricalSVC(C=100.0, eta=0.1).fit(X, y)
    >>> model.n_vectors_ < 30, model.score(X, y) > 0.85
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        **_SELECTION_CONSTRAINTS,
        "C": [Interval(Real, 0, None, closed="neither")],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "vectors": [StrOptions({"selected", "orthogonal"})],
        "solver": [StrOptions({"auto", "newton", *HINGE_SOLVERS})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "hinge",
        eta: float = 1e-3,
        selection: str = "cholesky",
        n_vectors: int | None = None,
        vectors: str = "selected",
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.eta = eta
        self.selection = selection
        self.n_vectors = n_vectors
        self.vectors = vectors
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
        _check_solver(self.solver, self.loss)
        X, codes, Y, weight, rows = self._check_classes(X, y, sample_weight)
        data = with_equal_targets(X, codes, Y, weight, rows, precomputed=self._is_precomputed)
        kernel = self._resolved_kernel(data.X, data.weight)
        gram = self._gram(kernel, data, rows)
        if self.vectors == "orthogonal":
            vectors, H, support = _unit_inputs(kernel, data.X)
        else:
            with one_blas_thread():
                vectors, H, support = self._select(gram, data.rows)
        if not np.isfinite(H).all():
            raise ValueError(
                "kernel: some kernel values of X are not finite; scale X (sklearn.preprocessing.StandardScaler "
                "does), or lower degree or gamma."
            )
        with one_blas_thread():
            solution = self._solve(H, data.Y, self.C * data.weight)
        solution.warn_if_unfinished(type(self).__name__, loss=self.loss, C=self.C)
        self.n_iter_, self.gap_ = solution.n_iter, solution.residual
        expansion = KernelExpansion(
            kernel, vectors, (H.T @ solution.alpha).astype(X.dtype), solution.intercept.astype(X.dtype)
        )
        self._store(expansion, support)
        return self

    def _select(self, gram: KernelGram, rows: Array) -> tuple[Any, Array, Array]:
        """Vectors, their features H (n, m), eq. (8), and their row numbers."""
        chosen = SELECTIONS[self.selection](
            gram, eta=self.eta, n_vectors=self.n_vectors, rng=self._rng()
        ).rows
        _check_memory(gram.n, len(chosen))
        vectors = rows[chosen][:, None] if isinstance(gram.kernel, Precomputed) else gram.X[chosen]
        return vectors, gram.columns(chosen), rows[chosen]

    def _solve(self, H: Array, Y: Array, C: Array) -> Solution:
        options: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        if self.loss == "squared_hinge":
            return solve_newton(Problem(FeatureGram(H), Y, SquaredHinge(), C), **options)
        return solve_hinge(Problem(FeatureGram(H), Y, Hinge(), C), solver=self.solver, **options)


def _unit_inputs(kernel: Kernel, X: Rows) -> tuple[Any, Array, None]:
    """Unit vectors and the inputs themselves as features, eq. (13)."""
    if not isinstance(kernel, Linear):
        raise ValueError(
            "vectors='orthogonal' needs kernel='linear': only there the inputs are the features."
        )
    d = X.shape[1]
    _check_memory(X.shape[0], d)
    if sparse.issparse(X):
        return sparse.eye_array(d, format="csr", dtype=X.dtype), X.toarray().astype(np.float64), None
    return np.eye(d, dtype=X.dtype), X.astype(np.float64), None


class EmpiricalFeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    r"""Features of the reduced empirical feature space, as a transformer.

    Selects linearly independent rows as `EmpiricalSVC` does and maps x to
    :math:`h(x) = (k(x_{i_1}, x), \dots, k(x_{i_N}, x))^\top`, or, with `orthonormal=True`, to :math:`L^{-1}h(x)`, where
    :math:`LL^\top` is the kernel matrix of the selected rows: then inner products of features are the kernel's,
    projected on the span of the selected rows (the Nyström approximation).

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
    eta : float, default=1e-3
        A row is kept when its squared distance from the span of those kept exceeds eta.
    selection : {"cholesky", "pivoted_cholesky", "random_cholesky"}, default="cholesky"
        As in `EmpiricalSVC`.
    n_vectors : int or None, default=None
        Stop at this many vectors.
    orthonormal : bool, default=False
        Whether to return the orthonormal coordinates.
    random_state : int, RandomState or None, default=None
        Seeds the random selection.
    n_jobs : int or None, default=None
        Threads; None means 1, -1 all processors.

    Attributes
    ----------
    support_vectors_ : array or CSR of shape (n_vectors, n_features)
    support_ : array of shape (n_vectors,)
    factor_ : array of shape (n_vectors, n_vectors)
        The lower triangular L.
    n_vectors_ : int
    gamma_ : float or array

    References
    ----------
    Iwamura and Abe (2008), doi:10.1109/IJCNN.2008.4634131, eq. (8)-(12).

    Examples
    --------
    >>> from slimsvm import EmpiricalFeatureMap
    >>> from slimsvm.datasets import make_banana
    >>> X, y = make_banana(200, random_state=0)
    >>> EmpiricalFeatureMap(n_vectors=10, selection="pivoted_cholesky").fit_transform(X).shape
    (200, 10)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelEstimator._parameter_constraints,
        **_SELECTION_CONSTRAINTS,
        "orthonormal": ["boolean"],
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        eta: float = 1e-3,
        selection: str = "cholesky",
        n_vectors: int | None = None,
        orthonormal: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.eta = eta
        self.selection = selection
        self.n_vectors = n_vectors
        self.orthonormal = orthonormal
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Select the rows.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)
        y : ignored

        Returns
        -------
        self
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
        if self._is_precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"X must be the square matrix of kernel values for kernel='precomputed', got shape {X.shape}."
            )
        rows, n = np.arange(X.shape[0]), X.shape[0]
        data = with_mean_targets(X, np.zeros((n, 1)), np.ones(n), rows, precomputed=self._is_precomputed)
        kernel = self._resolved_kernel(data.X, data.weight)
        gram = self._gram(kernel, data, rows)
        selection = SELECTIONS[self.selection](gram, eta=self.eta, n_vectors=self.n_vectors, rng=self._rng())
        self.support_ = data.rows[selection.rows]
        precomputed = isinstance(kernel, Precomputed)
        self.support_vectors_ = self.support_[:, None] if precomputed else data.X[selection.rows]
        self.factor_ = selection.factor
        self.n_vectors_ = len(self.support_)
        self._n_features_out = self.n_vectors_
        return self

    def transform(self, X: Any) -> Array:
        """Features of the rows of X.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)

        Returns
        -------
        array of shape (n, n_vectors)
        """
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=False
        )
        H = self._fitted_kernel()(as_rows(X), self.support_vectors_, n_threads=n_threads(self.n_jobs))
        if not self.orthonormal:
            return H
        solved = linalg.solve_triangular(self.factor_, H.T.astype(np.float64), lower=True, check_finite=False)
        return np.ascontiguousarray(solved.T, dtype=H.dtype)
