"""Least-squares support vector machines: every training row carries a coefficient."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from ...kernels import Kernel
from ...limits import FEW_VECTORS, announce, pass_seconds
from ...losses import Squared
from ...problem import Problem
from ...training import Trained, TrainingSet
from ..base import KernelClassifier, KernelEstimator, KernelRegressor, Run
from ..documentation import documented
from .solvers import CG_ITERATIONS, SOLVERS, Solver

# Conjugate gradients mostly end after so many iterations with the default tol and C.
LIKELY_ITERATIONS = 30

_LEAST_SQUARES_CONSTRAINTS: dict[str, list[Any]] = {
    "C": [Interval(Real, 0, None, closed="neither")],
    "penalize_intercept": ["boolean"],
    "solver": [StrOptions({"auto", *SOLVERS}), callable],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left"), None],
}


def train(model: Any, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
    """Solve for all outputs at once."""
    gram = data.gram(kernel, run.n_threads)
    name = model.solver
    if isinstance(name, str) and name == "auto":
        name = "cholesky" if gram.is_held else "cg"
    solve = SOLVERS[name] if isinstance(name, str) else name
    if name == "cg" and not gram.is_held:
        announce(
            run.name, "iterations", pass_seconds(gram.X, run.n_threads), LIKELY_ITERATIONS,
            most=CG_ITERATIONS if model.max_iter is None else model.max_iter,
            instead=f"lower C, raise tol, set n_jobs=-1, or use {FEW_VECTORS}",
        )  # fmt: skip
    problem = Problem(
        gram, data.Y, Squared(), model.C * data.weight, penalize_intercept=model.penalize_intercept
    )
    solution = solve(problem, tol=model.tol, max_iter=model.max_iter, rng=run.rng)
    name = getattr(name, "__name__", name)
    run.say(f"solver {name}: {solution.status.name.lower().replace('_', ' ')}")
    solution.warn_if_unfinished(run.name, solver=name, C=model.C)
    return Trained.on_rows(data, kernel, solution.alpha, solution.intercept, n_iter=solution.n_iter)


@documented
class LSSVC(KernelClassifier):
    r"""Least-squares support vector classifier.

    Minimises, for each output,

    .. math:: \tfrac12 |f|^2 + \tfrac{C}{2} \sum_i s_i\, (y_i - f(x_i) - b)^2

    with labels :math:`y_i = \pm 1` and sample weights :math:`s_i`. Every distinct training row becomes a
    vector: accurate, quick to train, and not sparse. It is what the sparse least-squares methods start from
    and are compared with.

    Parameters
    ----------
    <C>
    <kernel>
    penalize_intercept : bool, default=False
        Whether :math:`b^2 / 2` is added to the objective: the intercept is then the sum of the coefficients, and
        the machine that of the kernel k + 1 without intercept. Labels or targets count from 0.
    solver : {"auto", "cholesky", "cg", "smo"} or callable, default="auto"
        "cholesky" holds the whole kernel matrix, "cg" and "smo" only up to 2 GiB of it; "auto" takes
        "cholesky" up to that size and "cg" above. A solver of your own is a function
        ``(problem, *, tol, max_iter, rng) -> Solution``.
    tol : float, default=1e-8
        Largest error of the optimality conditions, relative to the targets ("cg" and "smo").
    max_iter : int or None, default=None
        Limit of the iterations of "cg" and "smo"; None sets one that grows with the rows.
    <class_weight>
    <verbose>
    random_state : int, RandomState or None, default=None
        Seeds the choice of columns that precondition "cg"; the result is the same to the tolerance.
    <n_jobs>

    Attributes
    ----------
    <vectors>
    <support>
    <classes>
    n_iter_ : int

    Notes
    -----
    Suykens' gamma is C here. With ``penalize_intercept=True`` the machine is that of Xia, Li and Irwin, eq. (12) to
    (17), whose gamma is C / 2 in eq. (12) and C in eq. (16); the paper leaves out the 2 between them.

    Equal rows are one vector whose target is their mean, which leaves the problem as it was. For a kernel that is
    not positive definite (sigmoid) the optimality conditions are solved as they stand, by an indefinite factorisation
    or MINRES.

    References
    ----------
    Suykens and Vandewalle, Least squares support vector machine classifiers, Neural Processing Letters 9
    (1999), doi:10.1023/A:1018628609742.

    Xia, Li and Irwin, Improved training of an optimal sparse least squares support vector machine,
    Proceedings of the 17th IFAC World Congress (2008): the penalised intercept.

    Examples
    --------
    >>> from slimsvm import LSSVC
    >>> from slimsvm.datasets import make_banana
    >>> X, y = make_banana(200, random_state=0)
    >>> model = LSSVC(C=10.0).fit(X, y)
    >>> model.n_vectors_, model.score(X, y) > 0.85
    (200, True)
    """

    _merges_equal_targets = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        **_LEAST_SQUARES_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        penalize_intercept: bool = False,
        solver: str | Solver = "auto",
        tol: float = 1e-8,
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
        self.penalize_intercept = penalize_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _train(self, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
        return train(self, data, kernel, run)


@documented
class LSSVR(KernelRegressor):
    r"""Least-squares support vector regression: kernel ridge regression with an intercept, by default not penalised.

    Minimises :math:`\tfrac12 |f|^2 + \tfrac{C}{2} \sum_i s_i\, (y_i - f(x_i) - b)^2` for each target. Every
    distinct training row becomes a vector.

    Parameters
    ----------
    <C>
    <kernel>
    penalize_intercept : bool, default=False
        Whether :math:`b^2 / 2` is added to the objective, as in `LSSVC`: targets then count from 0, not from
        their mean.
    solver : {"auto", "cholesky", "cg", "smo"} or callable, default="auto"
        As in `LSSVC`.
    tol : float, default=1e-8
        Largest error of the optimality conditions, relative to the targets ("cg" and "smo").
    max_iter : int or None, default=None
        Limit of the iterations of "cg" and "smo"; None sets one that grows with the rows.
    <verbose>
    random_state : int, RandomState or None, default=None
        Seeds the choice of columns that precondition "cg".
    <n_jobs>

    Attributes
    ----------
    <vectors>
    <support>
    n_iter_ : int

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

    _merges_equal_targets = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelEstimator._parameter_constraints,
        **_LEAST_SQUARES_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        penalize_intercept: bool = False,
        solver: str | Solver = "auto",
        tol: float = 1e-8,
        max_iter: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.penalize_intercept = penalize_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _train(self, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
        return train(self, data, kernel, run)
