"""The ordinary kernel SVM on scikit-learn's solver, for comparison."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import linalg
from sklearn.svm import SVC
from sklearn.utils._param_validation import Interval, StrOptions

from ...kernels import RBF, Kernel, Linear, Polynomial, Sigmoid
from ...limits import announce_libsvm
from ...losses import Hinge, SquaredHinge
from ...problem import KernelGram, Problem, Solution, Status, unusable_kernel_values
from ...progress import tell
from ...rows import dense_if_crowded, narrowed, scale_columns, squared_norms
from ...training import Trained, TrainingSet
from ...words import count
from ..base import KernelClassifier, Run
from ..documentation import documented

# No bound for the coefficients: what libsvm takes for a hard margin.
UNBOUNDED = 1e100
# libsvm takes distances from squared norms and products: up to this norm their rounding, in double precision, stays
# below its own tolerance. Rows farther out get kernel values that were computed here.
SURE_NORM = 1e9
# What libsvm can count to.
MOST_ITERATIONS = 2**31 - 1
# libsvm keeps kernel values in float32.
LARGEST_KERNEL_VALUE = float(np.finfo(np.float32).max)
# An indefinite kernel matrix is shifted this much beyond its most negative eigenvalue.
SHIFT_MARGIN = 1e-3


@documented
class FullSVC(KernelClassifier):
    r"""The ordinary kernel support vector classifier, one-versus-rest on shared vectors.

    Minimises :math:`\tfrac12 |f|^2 + C \sum_i s_i\, \ell(y_i, f(x_i) + b)` for each output, with the hinge
    loss :math:`\max(0, 1 - yf)` or half the squared hinge loss :math:`\tfrac12\max(0, 1 - yf)^2`.

    Parameters
    ----------
    <C>
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The squared hinge is a hard margin on K + I / C, so it holds the kernel matrix.
    <kernel>
    kkt_tol : float, default=1e-3
        Largest violation of the optimality conditions at which libsvm stops.
    max_iter : int, default=1_000_000
        Limit of the solver's iterations for each output.
    cache_size : float, default=200
        Megabytes for the solver's cache.
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
    Unlike `sklearn.svm.SVC` the result does not depend on the order of the rows, a row twice is a row of
    weight 2, and several classes share one set of vectors. The solver itself cannot be interrupted before it
    ends; `max_iter` bounds it.

    References
    ----------
    Chang and Lin, LIBSVM: a library for support vector machines (2011), doi:10.1145/1961189.1961199.

    Examples
    --------
    >>> from slimsvm import FullSVC
    >>> from slimsvm.datasets import make_banana
    >>> X, y = make_banana(200, random_state=0)
    >>> model = FullSVC(C=10.0).fit(X, y)
    >>> model.n_vectors_ < 200, model.score(X, y) > 0.85
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "kkt_tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: str = "hinge",
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        kkt_tol: float = 1e-3,
        max_iter: int = 1_000_000,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kkt_tol = kkt_tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _train(self, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
        loss = Hinge() if self.loss == "hinge" else SquaredHinge()
        gram = data.gram(kernel, run.n_threads)
        problem = Problem(gram, data.Y, loss, self.C * data.weight)
        solution = self._solve(problem, kernel, gram, run)
        solution.warn_if_unfinished(run.name, loss=self.loss, C=self.C)
        return Trained.on_rows(data, kernel, solution.alpha, solution.intercept, n_iter=solution.n_iter)

    def _solve(self, problem: Problem, kernel: Kernel, gram: KernelGram, run: Run) -> Solution:
        n, k = problem.y.shape
        inputs, options = self._as_libsvm(problem, kernel, gram)
        _check_range(inputs, options["kernel"], gram)
        announce_libsvm(run.name, inputs, self.max_iter, self.cache_size, n_outputs=k)
        bound = problem.C if self.loss == "hinge" else np.ones(n)
        unit = 1.0 if self.loss == "hinge" else UNBOUNDED
        alpha, intercept, n_iter = np.zeros((n, k)), np.zeros(k), 0
        finished = True
        for output in range(k):
            machine = _Libsvm(
                C=unit,
                tol=self.kkt_tol,
                max_iter=min(self.max_iter, MOST_ITERATIONS),
                cache_size=self.cache_size,
                **options,
            )
            machine.fit(inputs, problem.y[:, output], sample_weight=bound)
            finished &= machine.fit_status_ == 0
            coef = machine.dual_coef_
            alpha[machine.support_, output] = (coef.toarray() if hasattr(coef, "toarray") else coef)[0]
            intercept[output] = machine.intercept_[0]
            n_iter = max(n_iter, int(machine.n_iter_[0]))
            run.say(f"output {output + 1} of {k}: {count(len(machine.support_), 'vector')}")
            tell("one output after the other", output + 1, k)
        status = Status.OPTIMAL if finished else Status.ITERATION_LIMIT
        gap = 0.0 if finished else float(problem.optimality(alpha, intercept).max())
        return Solution(alpha, intercept, status, n_iter, gap)

    def _as_libsvm(self, problem: Problem, kernel: Kernel, gram: KernelGram) -> tuple[Any, dict[str, Any]]:
        """The rows and kernel options that make scikit-learn's SVC solve this problem."""
        X = dense_if_crowded(gram.X)  # libsvm's two ways to add up differ in their last digits
        if self.loss == "hinge":
            if np.ndim(getattr(kernel, "gamma", 0.0)) == 0:  # scikit-learn may take a number for each column
                X = narrowed(X, X[:0])[0]
            if isinstance(kernel, RBF):
                with np.errstate(over="ignore"):
                    scaled = scale_columns(X, np.sqrt(kernel.widths(X.shape[1])))
                    near = squared_norms(scaled).max() <= SURE_NORM
                if near:
                    return scaled, {"kernel": "rbf", "gamma": 1.0}
            if isinstance(kernel, Linear):
                return X, {"kernel": "linear"}
            if isinstance(kernel, Polynomial):
                return X, {"kernel": "poly", "gamma": kernel.gamma, "coef0": kernel.coef0,
                           "degree": kernel.degree}  # fmt: skip
            if isinstance(kernel, Sigmoid):
                return X, {"kernel": "sigmoid", "gamma": kernel.gamma, "coef0": kernel.coef0}
        K = gram.dense.copy()
        if self.loss == "squared_hinge":
            diagonal = np.einsum("ii->i", K)
            diagonal += 1.0 / problem.C
            if not gram.is_positive_definite:  # a hard margin needs a convex problem
                lowest = float(linalg.eigvalsh(K, subset_by_index=(0, 0))[0])
                diagonal += max(0.0, -lowest) * (1.0 + SHIFT_MARGIN)
        return K, {"kernel": "precomputed"}


class _Libsvm(SVC):
    """scikit-learn's machine without its warning that libsvm did not finish: ours says what was reached.

    `warnings.catch_warnings` would change what all threads of the process hear.
    """

    def _warn_from_fit_status(self) -> None:
        pass


def _check_range(inputs: Any, kernel: str, gram: KernelGram) -> None:
    """Refuse what would overflow in libsvm: products of rows, or kernel values."""
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.abs(inputs) if kernel == "precomputed" else squared_norms(inputs)
        largest = max(float(sizes.max()), float(np.abs(gram.diagonal()).max()))
    if not largest <= LARGEST_KERNEL_VALUE:
        raise unusable_kernel_values(
            f"X are not finite or too large for the solver (above {LARGEST_KERNEL_VALUE:.1g})"
        )
