"""Machines in the reduced empirical feature space, and the feature map itself."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from ...chunks.statistics import Features
from ...expansion import KernelExpansion
from ...kernels import Kernel, outputs_that_fit
from ...limits import PRODUCT_SECONDS, announce, check_columns
from ...losses import Hinge, SquaredHinge
from ...problem import FeatureGram, Problem, Solution, check_finite
from ...readout import FeaturesReadout, Readout
from ...rows import Array
from ...threads import n_threads, one_blas_thread
from ...training import Trained, TrainingSet
from ...words import count
from ..base import KernelClassifier, KernelEstimator, Run
from ..chunked import AllRows, FitsInChunks
from ..documentation import documented
from .cholesky import FEWER, SELECTIONS, Rule, as_rule
from .every_row import machine_of_all_rows
from .hinge_solvers import HINGE_SOLVERS, solve_hinge
from .newton import solve_newton
from .unit_inputs import unit_inputs, unit_vectors

# Steps of the interior point and of Newton's method, each of which costs n m^2.
LIKELY_STEPS = 30

_SELECTION_CONSTRAINTS: dict[str, list[Any]] = {
    "selection": [StrOptions(set(SELECTIONS)), callable],
    "eta": [Interval(Real, 0, None, closed="left")],
    "max_vectors": [Interval(Integral, 1, None, closed="left"), None],
}


def _check_solver(solver: Any, loss: str) -> None:
    if callable(solver):
        return
    able = ("auto", "newton") if loss == "squared_hinge" else ("auto", *HINGE_SOLVERS)
    if solver not in able:
        raise ValueError(
            f"solver={solver!r} cannot solve loss={loss!r}; it takes {', '.join(map(repr, able))}."
        )


# What the compiled core can count to.
MOST_ITERATIONS = 2**31 - 1


@documented
class EmpiricalSVC(FitsInChunks, KernelClassifier):
    r"""Support vector classifier in the reduced empirical feature space.

    Selects linearly independent training rows :math:`x_{i_1}, \dots, x_{i_N}` by a Cholesky factorisation with
    threshold eta, takes :math:`h(x) = (k(x_{i_1}, x), \dots, k(x_{i_N}, x))^\top` as explicit features, and minimises

    .. math:: \tfrac12 |v|^2 + \tfrac{C}{r} \sum_i s_i\, \max(0, 1 - y_i (v^\top h(x_i) + b))^r ,

    with r = 1 (hinge) or r = 2 (squared hinge). The vectors do not depend on C; several classes share them.

    Parameters
    ----------
    <C>
    loss : {"hinge", "squared_hinge"}, default="hinge"
        r = 1 or r = 2 above.
    eta : float, default=1e-3
        A row is kept when its squared distance, in feature space, from the span of those kept exceeds eta. Larger
        means fewer vectors.
    selection : {"cholesky", "pivoted_cholesky", "random_cholesky"} or callable, default="cholesky"
        Rows one after the other; the row of largest distance first; or drawn in proportion to the distance. A rule of
        your own is a function ``(gram, *, eta, max_vectors, rng) -> Selection``.
    max_vectors : int or None, default=None
        Stop at this many vectors.
    vectors : {"selected", "orthogonal"}, default="selected"
        "orthogonal" is for the linear kernel: the vectors are the unit inputs, h(x) = x, and the machine is the
        linear SVM itself.
    <kernel>
    solver : {"auto", "active_set", "interior_point", "smo", "cd", "newton"} or callable, default="auto"
        The squared hinge is solved by Newton's method, "newton"; the others are for the hinge loss, where "auto" tries
        the active set unless there are far more rows than vectors, and takes the interior point otherwise. A solver of
        your own is a function ``(problem, *, tol, max_iter, rng) -> Solution``.
    tol : float, default=1e-6
        Relative duality gap at which the solver stops.
    max_iter : int or None, default=None
        Limit of the solver's iterations; None means its own.
    <class_weight>
    <verbose>
    random_state : int, RandomState or None, default=None
        Seeds the random selection.
    <n_jobs>

    Attributes
    ----------
    <vectors>
    <support>
    <classes>
    n_iter_ : int
    gap_ : float
        Largest relative duality gap over the outputs.

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
        "solver": [StrOptions({"auto", "newton", *HINGE_SOLVERS}), callable],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: str = "hinge",
        eta: float = 1e-3,
        selection: str | Rule = "cholesky",
        max_vectors: int | None = None,
        vectors: str = "selected",
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        solver: str | Callable[..., Solution] = "auto",
        tol: float = 1e-6,
        max_iter: int | None = None,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.eta = eta
        self.selection = selection
        self.max_vectors = max_vectors
        self.vectors = vectors
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _train(self, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
        _check_solver(self.solver, self.loss)
        if self.vectors == "orthogonal":
            vectors, H, support = unit_inputs(kernel, data.X)
        else:
            vectors, H, support = self._select(data, kernel, run)
        check_finite(H)
        run.say(f"selected {count(H.shape[1], 'vector')}")
        announce(
            run.name, "steps of the solver", PRODUCT_SECONDS * H.size * H.shape[1], LIKELY_STEPS * data.Y.shape[1],
            instead=FEWER,
        )  # fmt: skip
        solution = self._solve(H, data.Y, self.C * data.weight, run)
        run.say(f"solved to a relative gap of {solution.residual:.2g}")
        solution.warn_if_unfinished(run.name, loss=self.loss, C=self.C)
        dtype = data.X.dtype
        coef, intercept = (H.T @ solution.alpha).astype(dtype), solution.intercept.astype(dtype)
        return Trained(
            KernelExpansion(kernel, vectors, coef, intercept),
            support,
            solution.n_iter,
            extras={"gap_": solution.residual},
        )

    def _train_on_all(self, data: TrainingSet, kernel: Kernel, run: Run, every: AllRows) -> Trained:
        _check_solver(self.solver, self.loss)
        if self.vectors == "orthogonal":
            vectors, support = unit_vectors(kernel, data.X), None
        else:
            gram, select = data.gram(kernel, run.n_threads), as_rule(self.selection)
            chosen = select(gram, eta=self.eta, max_vectors=self.max_vectors, rng=run.rng).rows
            vectors, support = data.vectors(chosen), data.rows[chosen]
        return machine_of_all_rows(self, data, Features(kernel, vectors), support, run, every)

    def _select(self, data: TrainingSet, kernel: Kernel, run: Run) -> tuple[Any, Array, Array]:
        """Vectors, their features H (n, m), eq. (8), and their row numbers."""
        gram = data.gram(kernel, run.n_threads)
        select = as_rule(self.selection)
        chosen = select(gram, eta=self.eta, max_vectors=self.max_vectors, rng=run.rng).rows
        check_columns(gram.n, len(chosen), FEWER)
        return data.vectors(chosen), gram.columns(chosen), data.rows[chosen]

    def _solve(self, H: Array, Y: Array, C: Array, run: Run) -> Solution:
        most = None if self.max_iter is None else min(self.max_iter, MOST_ITERATIONS)
        options: dict[str, Any] = {"tol": self.tol, "max_iter": most}
        loss = SquaredHinge() if self.loss == "squared_hinge" else Hinge()
        problem = Problem(FeatureGram(H), Y, loss, C)
        if not isinstance(self.solver, str):
            return self.solver(problem, rng=run.rng, **options)
        if self.loss == "squared_hinge":
            return solve_newton(problem, **options)
        return solve_hinge(problem, solver=self.solver, **options)


@documented
class EmpiricalFeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    r"""Features of the reduced empirical feature space, as a transformer.

    Selects linearly independent rows as `EmpiricalSVC` does and maps x to
    :math:`h(x) = (k(x_{i_1}, x), \dots, k(x_{i_N}, x))^\top`, or, with `orthonormal=True`, to :math:`L^{-1}h(x)`, where
    :math:`LL^\top` is the kernel matrix of the selected rows: then inner products of features are the kernel's,
    projected on the span of the selected rows (the Nyström approximation).

    Parameters
    ----------
    <kernel>
    eta : float, default=1e-3
        A row is kept when its squared distance from the span of those kept exceeds eta.
    selection : {"cholesky", "pivoted_cholesky", "random_cholesky"} or callable, default="cholesky"
        As in `EmpiricalSVC`.
    max_vectors : int or None, default=None
        Stop at this many vectors.
    orthonormal : bool, default=False
        Whether to return the orthonormal coordinates.
    <verbose>
    random_state : int, RandomState or None, default=None
        Seeds the random selection.
    <n_jobs>

    Attributes
    ----------
    <vectors>
    <support>
    factor_ : array of shape (n_vectors, n_vectors)
        The lower triangular L.

    References
    ----------
    Iwamura and Abe (2008), doi:10.1109/IJCNN.2008.4634131, eq. (8)-(12).

    Examples
    --------
    >>> from slimsvm import EmpiricalFeatureMap
    >>> from slimsvm.datasets import make_banana
    >>> X, y = make_banana(200, random_state=0)
    >>> EmpiricalFeatureMap(max_vectors=10, selection="pivoted_cholesky").fit_transform(X).shape
    (200, 10)
    """

    _merges_equal_targets = False
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
        selection: str | Rule = "cholesky",
        max_vectors: int | None = None,
        orthonormal: bool = False,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.eta = eta
        self.selection = selection
        self.max_vectors = max_vectors
        self.orthonormal = orthonormal
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Select the rows; an estimator whose fit fails or is interrupted stays as it was.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)
        y : ignored

        Returns
        -------
        self
        """
        return self._fit(X, None, None)

    def _training_set(self, X: Any, y: Any, sample_weight: Any) -> tuple[TrainingSet, None]:
        X = self._checked(X, "no_validation")
        n = X.shape[0]
        rows, ones = np.arange(n), np.ones(n)
        data = TrainingSet(
            X, np.zeros((n, 1)), ones, rows, np.zeros(n, dtype=np.intp),
            precomputed=self._is_precomputed,
        )  # fmt: skip
        return data, None

    def _readout(self, known: None, trained: Trained) -> Readout:
        return FeaturesReadout(type(self).__name__.lower())

    def _train(self, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
        gram = data.gram(kernel, run.n_threads)
        select = as_rule(self.selection)
        selection = select(gram, eta=self.eta, max_vectors=self.max_vectors, rng=run.rng)
        m = len(selection.rows)
        coef = np.eye(m)
        if self.orthonormal:  # h(x)' L^-T
            coef = linalg.solve_triangular(selection.factor, coef, lower=True, check_finite=False).T
        expansion = KernelExpansion(
            kernel, data.vectors(selection.rows), coef.astype(data.X.dtype), np.zeros(m, dtype=data.X.dtype)
        )
        return Trained(expansion, data.rows[selection.rows], extras={"factor_": selection.factor})

    @property
    def _n_features_out(self) -> int:
        return self.expansion_.n_outputs

    def transform(self, X: Any) -> Array:
        """Features of the rows of X.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)

        Returns
        -------
        array of shape (n, n_vectors)
        """
        X = self._rows(X)
        f = self.expansion_
        if not hasattr(self, "factor_"):  # reduced
            return f(X, n_threads=n_threads(self.n_jobs))
        with np.errstate(over="ignore"):
            H = outputs_that_fit(f.kernel(X, f.vectors, n_threads=n_threads(self.n_jobs)), X, f.kernel)
        if (f.coef == np.eye(f.n_vectors)).all():
            return H
        with one_blas_thread():
            solved = linalg.solve_triangular(
                self.factor_, H.T.astype(np.float64), lower=True, check_finite=False
            )
        return np.ascontiguousarray(solved.T, dtype=H.dtype)
