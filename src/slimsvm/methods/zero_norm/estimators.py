"""Zero-norm machines: iterative reweighting until few coefficients are left."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ...kernels import Kernel
from ...problem import make_dictionary
from ...rows import Array
from ...solvers.reweighted import trained_on_columns, warn_empty
from ...training import Trained, TrainingSet
from ..base import KernelClassifier, KernelEstimator, KernelRegressor, Run
from ..documentation import documented
from .machine import CONSTRAINTS, check_combination, solve


@documented
class ZeroNormSVC(KernelClassifier):
    r"""Support vector classifier that counts its vectors: the zero-norm in place of the margin.

    Looks, for each output, for a small value of

    .. math:: \tfrac12\,\#\{j : \alpha_j \ne 0\} + C \sum_i s_i\,\max(0,\; 1 - y_i f(x_i)), \qquad
        f(x) = \alpha_0 + \sum_j \alpha_j k(x_j, x)

    by convex problems that weigh each coefficient by its value in the round before; they descend on
    :math:`\sum_j \log|\alpha_j|` in place of the number. It keeps a handful of vectors, which lie inside the classes
    like prototypes rather than at the margin.

    Parameters
    ----------
    <C>
    variant : {"quadratic", "linear", "multiplicative"}, default="quadratic"
        "quadratic" solves a quadratic program in each round (SSVC_A); "linear" a linear program (SSVC_B);
        "multiplicative" the same by scaling the kernel columns (SSVC_W). The last two agree.
    p : float, default=0.0
        The norm of the coefficients that is penalised, 0 to 2, or infinity: :math:`\tfrac1p\sum_j|\alpha_j|^p` takes
        the place of the number. For the quadratic variant, and up to 1 for the linear one, which near 1 needs
        far fewer rounds. From 1 on the problem is convex; only p <= 1 gives few vectors.
    margin : float, default=0.0
        Weight of the margin term :math:`\tfrac12\alpha^\top K\alpha` added to the penalty; for the quadratic
        variant and positive definite kernels.
    solver : {"auto", "smo"}, default="auto"
        What solves a quadratic round. "auto" ends at a relative duality gap of 1e-6. "smo" is the paper's modified
        SMO (equations 11 to 13), one coefficient of the dual at a time until no gradient breaks its condition
        by more than 0.001 or for 9,999 steps: slower and less exact, for comparisons with the paper. It often
        keeps coefficients moving by more than the default `tol`, until `max_iter`.
    floor : float or None, default=None
        None lets a coefficient below a millionth of the largest leave for good. A number is the paper's epsilon: a
        coefficient nearer to zero weighs in the next round as if it were this large, none leaves, and those
        that end below it are left out of the model. For the quadratic and linear variants.
    <kernel>
    tol : float, default=1e-4
        Change of the coefficients between rounds, relative to them in the two-norm, at which to stop.
    max_iter : int, default=50
        Limit of the rounds.
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
        Rounds.
    n_columns_ : array of shape (n_iter + 1,)
        Coefficients that are not zero, the intercept among them, before the first round and after each,
        summed over the outputs.

    Notes
    -----
    The paper's C and alpha are C and the coefficients here, and lambda is :math:`1/\alpha_j^2` (equation 9)
    or :math:`1/|\alpha_j|` (equation 10) of the round before. As in the paper the intercept is one of the
    coefficients and may be zero. In the paper's mixed objective, :math:`\tfrac12\alpha^\top K\alpha +
    C_1\alpha^\top\mathrm{diag}(\lambda)\alpha + C\sum\xi`, `margin` is :math:`1/(2C_1)` and C is
    :math:`C/(2C_1)`. The paper's update for the infinity norm does not descend; p=inf is solved as a linear
    program instead. So is p=1 (with a margin term, by an interior point), unless `solver` or `floor` ask for the
    paper's rounds of equation (21). The paper's epsilon (step 3 of its implementations A and B) is `floor`, since
    epsilon is the insensitivity of a loss here. It stops where the two-norm of the change is below 1e-4; the
    coefficients have a two-norm of about 10 where outputs are about 1, so tol=1e-5 is as strict. If every
    coefficient goes to zero, which a small C does, the model is the constant of the heavier class, with a warning.

    Where the rounds end, the slope of C times the loss along each coefficient left is :math:`-1/\alpha_j`: the loss
    would still fall if the coefficients grew. At a local minimum of the objective above it would not, since there
    the number of coefficients is constant along those that are not zero.

    References
    ----------
    Huang, Zheng, Sun, Hotta, Fujimoto and Naoi, Sparse learning for support vector classification, Pattern
    Recognition Letters 31 (2010), doi:10.1016/j.patrec.2010.06.017.

    Weston, Elisseeff, Schölkopf and Tipping, Use of the zero-norm with linear models and kernel methods,
    Journal of Machine Learning Research 3 (2003).

    Examples
    --------
    >>> from slimsvm import ZeroNormSVC
    >>> from slimsvm.datasets import make_ripley
    >>> X, y = make_ripley(250, random_state=0)
    >>> model = ZeroNormSVC(C=1.0, gamma=2.0).fit(X, y)
    >>> model.n_vectors_ <= 5, model.score(X, y) > 0.85
    (True, True)
    """

    _half_digits = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        **CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        variant: str = "quadratic",
        p: float = 0.0,
        margin: float = 0.0,
        solver: str = "auto",
        floor: float | None = None,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-4,
        max_iter: int = 50,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.variant = variant
        self.p = p
        self.margin = margin
        self.solver = solver
        self.floor = floor
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
        check_combination(self)
        dictionary = make_dictionary(data.gram(kernel, run.n_threads), distinct=data.distinct)
        t, c = np.ones(data.n), self.C * data.weight
        results = []
        for labels in data.Y.T:
            result = solve(self, np.ascontiguousarray(labels), t, c, dictionary, run)
            heavier = 0.0
            if not result.coef.any():
                heavier = float(np.sign(c @ labels))
                warn_empty(run.name, "predicts the heavier class", f"raise C (it is {self.C:g})")
            results.append((result, heavier))
        return trained_on_columns(data, kernel, dictionary, results, run.name)


@documented
class ZeroNormSVR(KernelRegressor):
    r"""Support vector regression that counts its vectors.

    As `ZeroNormSVC` with the epsilon-insensitive loss :math:`\max(0, |y - f(x)| - \epsilon)`.

    Parameters
    ----------
    <C>
    epsilon : float, default=0.1
        Errors up to this cost nothing.
    variant : {"quadratic", "linear", "multiplicative"}, default="quadratic"
        As in `ZeroNormSVC`.
    p : float, default=0.0
        The norm that is penalised, 0 to 2, or infinity; for the quadratic variant, and up to 1 for the linear one.
    margin : float, default=0.0
        Weight of the margin term; for the quadratic variant and positive definite kernels.
    solver : {"auto", "smo"}, default="auto"
        What solves a quadratic round; "smo" is the paper's modified SMO, as in `ZeroNormSVC`, with its tolerance
        relative to the largest target.
    floor : float or None, default=None
        The paper's epsilon, as in `ZeroNormSVC`; None lets negligible coefficients leave for good.
    <kernel>
    tol : float, default=1e-4
        Change of the coefficients between rounds, relative to them in the two-norm, at which to stop.
    max_iter : int, default=50
        Limit of the rounds.
    <verbose>
    <no randomness>
    <n_jobs>

    Attributes
    ----------
    <vectors>
    <support>
    n_iter_ : int
    n_columns_ : array of shape (n_iter + 1,)
        Coefficients left before the first round and after each, summed over the outputs.

    Notes
    -----
    The paper gives the framework (equation 5) and names regression as a use of it. The targets are centred by
    their weighted median first, so that adding a constant to them adds it to the predictions; the intercept
    of what remains is one of the coefficients.

    References
    ----------
    Huang et al., Sparse learning for support vector classification, Pattern Recognition Letters 31 (2010),
    doi:10.1016/j.patrec.2010.06.017.

    Examples
    --------
    >>> import numpy as np
    >>> from slimsvm import ZeroNormSVR
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> model = ZeroNormSVR(C=100.0, epsilon=0.05, gamma=0.5).fit(X, np.sin(X[:, 0]))
    >>> model.n_vectors_ <= 6, bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.1)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelEstimator._parameter_constraints,
        **CONSTRAINTS,
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        variant: str = "quadratic",
        p: float = 0.0,
        margin: float = 0.0,
        solver: str = "auto",
        floor: float | None = None,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-4,
        max_iter: int = 50,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.variant = variant
        self.p = p
        self.margin = margin
        self.solver = solver
        self.floor = floor
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _train(self, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
        check_combination(self)
        dictionary = make_dictionary(data.gram(kernel, run.n_threads), distinct=data.distinct)
        c = self.C * data.weight
        sign = np.repeat([1.0, -1.0], len(c))
        results = []
        for targets in data.Y.T:
            middle = weighted_median(targets, data.weight)
            centred = targets - middle
            # |y - f| - epsilon is the larger of two hinges
            t = np.concatenate([centred - self.epsilon, -centred - self.epsilon])
            result = solve(self, sign, t, np.concatenate([c, c]), dictionary, run)
            if not result.coef.any() and np.abs(centred).max() > self.epsilon:
                warn_empty(run.name, "predicts the median", f"raise C (it is {self.C:g})")
            results.append((result, middle))
        return trained_on_columns(data, kernel, dictionary, results, run.name)


def weighted_median(values: Array, weight: Array) -> float:
    """The middle of the values at which half of the weight lies on each side.

    Examples
    --------
    >>> weighted_median(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]))
    2.0
    """
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weight[order])
    half = 0.5 * below[-1]
    low = values[order][np.searchsorted(below, half)]
    high = values[order][np.searchsorted(below, half * (1.0 + 1e-12), side="right").clip(max=len(values) - 1)]
    return float(0.5 * (low + high))
