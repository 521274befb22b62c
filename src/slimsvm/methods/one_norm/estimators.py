"""One-norm machines: the sum of the absolute coefficients in place of, or beside, the margin."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ...kernels import Kernel, is_positive_definite
from ...linalg import gram, scaled
from ...problem import Dictionary, Solution, Status, make_dictionary
from ...rows import Array
from ...solvers.hinge_no_bias import MAX_ITERATIONS
from ...solvers.linear_program import solve_one_norm
from ...solvers.one_norm_margin import solve_one_norm_margin
from ...training import Trained, TrainingSet
from ..base import KernelClassifier, Run
from ..documentation import documented

_ONE_NORM_CONSTRAINTS: dict[str, list[Any]] = {
    "C": [Interval(Real, 0, None, closed="neither")],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left"), None],
}


def trained(
    model: Any, data: TrainingSet, kernel: Kernel, dictionary: Dictionary, solutions: list[Any]
) -> Trained:
    """The union of the vectors of all outputs; the first solution that is unfinished is told."""
    alpha = np.zeros((data.n, len(solutions)))
    for output, solution in enumerate(solutions):
        alpha[dictionary.rows, output] = solution.alpha
    intercept = np.array([solution.intercept for solution in solutions])
    n_iter = max(1, *(solution.n_iter for solution in solutions))
    for solution in solutions:
        if solution.status is not Status.OPTIMAL:
            report = Solution(alpha, intercept, solution.status, n_iter, solution.gap)
            report.warn_if_unfinished(type(model).__name__, C=model.C)
            break
    return Trained.on_rows(data, kernel, alpha, intercept, n_iter=n_iter)


@documented
class LPSVC(KernelClassifier):
    r"""Linear-programming support vector classifier: the one-norm of the coefficients as the penalty.

    Minimises, for each output,

    .. math:: \sum_j |\alpha_j| + C \sum_i s_i\,\max(0,\; 1 - y_i f(x_i)), \qquad
        f(x) = b + \sum_j \alpha_j k(x_j, x) .

    The minimum is global and a corner of a polyhedron, so many coefficients are exactly zero, though fewer
    than with the zero-norm. The kernel need not be positive definite.

    Parameters
    ----------
    <C>
    <kernel>
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int or None, default=None
        Limit of the steps of the simplex method; None means 100 for each row and each vector.
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
        Steps of the simplex method.

    Notes
    -----
    The intercept is not penalised. Solved by a simplex method that knows the hinge. A corner leaves many rows
    exactly on the margin, of several classes at once; of outputs that are equal but for rounding the first wins.

    References
    ----------
    Kecman and Hadzic, Support vectors selection by linear programming, IJCNN 2000,
    doi:10.1109/IJCNN.2000.859396.

    Examples
    --------
    >>> from slimsvm import LPSVC
    >>> from slimsvm.datasets import make_ripley
    >>> X, y = make_ripley(250, random_state=0)
    >>> model = LPSVC(C=1.0, gamma=2.0).fit(X, y)
    >>> model.n_vectors_ < 20, model.score(X, y) > 0.85
    (True, True)
    """

    _half_digits = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        **_ONE_NORM_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-6,
        max_iter: int | None = None,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _train(self, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
        dictionary = make_dictionary(data.gram(kernel, run.n_threads), distinct=data.distinct)
        c = self.C * data.weight

        def solve(labels: Array) -> Any:
            B = scaled(dictionary.K, labels, None)
            return solve_one_norm(
                B, np.ones(len(B)), c, np.ones(B.shape[1]), free=labels, tol=self.tol, max_iter=self.max_iter
            )

        return trained(self, data, kernel, dictionary, [solve(labels) for labels in data.Y.T])


@documented
class SparsityControlledSVC(KernelClassifier):
    r"""Support vector classifier whose sparsity is set by a one-norm beside the margin.

    Minimises, for each output,

    .. math:: \tfrac12\alpha^\top K\alpha + D\sum_j |\alpha_j| + C \sum_i s_i\,\max(0,\; 1 - y_i f(x_i)),
        \qquad f(x) = b + \sum_j \alpha_j k(x_j, x) .

    D = 0 would be the ordinary machine, a large D is `LPSVC`.

    Parameters
    ----------
    <C>
    D : float, default=1.0
        Weight of the one-norm: larger means fewer vectors.
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed"}, Kernel or callable
        The kernel, which must be positive semi-definite on the training rows; for others the part of the
        margin term that is not is left out (see Notes).
    gamma : {"scale", "auto"}, float or array of shape (n_features,), default="scale"
        Width of the rbf and laplacian kernels (an array gives each feature its own), factor of the others.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int or None, default=None
        Limit of the interior point's iterations; None means 100.
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

    Notes
    -----
    Solved by an interior point, with O(n^3) work an iteration. For a kernel
    that is not known to be positive semi-definite (sigmoid, functions, precomputed) negative eigenvalues of K
    are set to zero in the margin term only, which keeps the problem convex.

    References
    ----------
    Drezet and Harrison, A new method for sparsity control in support vector classification and regression,
    Pattern Recognition 34 (2001), doi:10.1016/S0031-3203(99)00203-5.

    Examples
    --------
    >>> from slimsvm import SparsityControlledSVC
    >>> from slimsvm.datasets import make_ripley
    >>> X, y = make_ripley(250, random_state=0)
    >>> few = SparsityControlledSVC(C=1.0, D=1.0, gamma=2.0).fit(X, y)
    >>> many = SparsityControlledSVC(C=1.0, D=0.01, gamma=2.0).fit(X, y)
    >>> few.n_vectors_ < many.n_vectors_, few.score(X, y) > 0.85
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        **_ONE_NORM_CONSTRAINTS,
        "D": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        D: float = 1.0,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-6,
        max_iter: int | None = None,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.D = D
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _train(self, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
        dictionary = make_dictionary(data.gram(kernel, run.n_threads), distinct=data.distinct)
        P = dictionary.kernel[1:, 1:]
        if not is_positive_definite(kernel):
            values, vectors = np.linalg.eigh(0.5 * (P + P.T))
            P = gram(scaled(vectors, None, np.sqrt(np.maximum(values, 0.0))))
        c = self.C * data.weight
        t = np.ones(len(c))
        max_iter = MAX_ITERATIONS if self.max_iter is None else self.max_iter

        def solve(labels: Array) -> Any:
            B = scaled(dictionary.K, labels, None)
            return solve_one_norm_margin(P, B, t, c, self.D, labels, tol=self.tol, max_iter=max_iter)

        solutions = [solve(labels) for labels in data.Y.T]
        return trained(self, data, kernel, dictionary, solutions)
