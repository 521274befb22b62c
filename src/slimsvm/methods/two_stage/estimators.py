"""Sparse least-squares machines by two-stage selection: forward, then exchanges."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from ...kernels import Kernel
from ...training import Trained, TrainingSet
from ..base import KernelClassifier, KernelEstimator, KernelRegressor, Run
from ..documentation import documented
from .machine import train

_TWO_STAGE_CONSTRAINTS: dict[str, list[Any]] = {
    "n_vectors": [Interval(Integral, 1, None, closed="left"), None],
    "choose_by": [StrOptions({"loo", "cv"})],
    "refine": ["boolean"],
    "n_candidates": [Interval(Integral, 1, None, closed="left"), None],
    "n_folds": [Interval(Integral, 2, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
}


@documented
class TwoStageLSSVC(KernelClassifier):
    r"""Sparse least-squares classifier whose vectors are chosen forward and then exchanged.

    Over sets P of `n_vectors` training rows and coefficients it lowers

    .. math:: \sum_i s_i \sum_o \Bigl(y_{io} - \sum_{j \in P} \beta_{jo}\, (k(x_j, x_i) + 1)\Bigr)^2

    with labels :math:`y = \pm 1` and sample weights s: first one vector at a time, each time the best one;
    then each vector in turn is exchanged for the one that serves best in its place, until no exchange lowers
    the sum. There is nothing else to choose: the number of vectors is the regularisation.

    Parameters
    ----------
    n_vectors : int or None, default=None
        Number of vectors; None chooses it. Where fewer can be had, a warning says why.
    choose_by : {"loo", "cv"}, default="loo"
        How the number is chosen: by the smallest leave-one-out error on the way forward (in closed form, PRESS),
        or by the best score over `n_folds` folds.
    refine : bool, default=True
        Whether the second stage runs.
    n_candidates : int or None, default=None
        Random rows that may become vectors, the rectangular dictionary; None lets all.
    n_folds : int, default=10
        Folds for ``choose_by="cv"``.
    max_iter : int, default=100
        Limit of the rounds of the second stage.
    <kernel>
    <class_weight>
    <verbose>
    random_state : int, RandomState or None, default=None
        Seeds the candidates and the folds.
    <n_jobs>

    Attributes
    ----------
    <vectors>
    <support>
    <classes>
    n_iter_ : int
        Rounds of the second stage; with ``refine=False`` the steps of the first.
    forward_loss_ : array of shape (n_steps,)
        Weighted sum of squares after each step of the forward stage.
    loss_ : float
        The same at the end.
    press_ : array of shape (n_steps,)
        Leave-one-out sum of squares after each step; with ``choose_by="loo"`` only.
    cv_scores_ : array of shape (n_steps,)
        Mean score over the folds after each step; with ``choose_by="cv"`` only.

    Notes
    -----
    The columns are those of D = K + 1 (eq. 32), so that the intercept is the sum of the coefficients (eq.
    36, 37). The paper's sigma is 1 / sqrt(2 gamma). All classes share their vectors: the sum above is over
    them. The dictionary is held in memory, 8 bytes for each row and candidate.

    References
    ----------
    Xia, Li and Irwin, Improved training of an optimal sparse least squares support vector machine,
    Proceedings of the 17th IFAC World Congress (2008). Li, Peng and Bai, A two-stage algorithm for
    identification of nonlinear dynamic systems, Automatica 42 (2006), doi:10.1016/j.automatica.2006.03.004.

    Examples
    --------
    >>> from slimsvm import TwoStageLSSVC
    >>> from slimsvm.datasets import make_two_spirals
    >>> X, y = make_two_spirals()
    >>> model = TwoStageLSSVC(n_vectors=72, gamma=0.5).fit(X, y)
    >>> model.n_vectors_, model.score(X, y)
    (72, 1.0)
    """

    _merges_equal_targets = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        **_TWO_STAGE_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        n_vectors: int | None = None,
        choose_by: str = "loo",
        refine: bool = True,
        n_candidates: int | None = None,
        n_folds: int = 10,
        max_iter: int = 100,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_vectors = n_vectors
        self.choose_by = choose_by
        self.refine = refine
        self.n_candidates = n_candidates
        self.n_folds = n_folds
        self.max_iter = max_iter
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _train(self, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
        return train(self, data, kernel, run)


@documented
class TwoStageLSSVR(KernelRegressor):
    r"""Sparse least-squares regression whose vectors are chosen forward and then exchanged.

    As `TwoStageLSSVC`, with targets, counted from their mean, in place of labels.

    Parameters
    ----------
    n_vectors : int or None, default=None
        Number of vectors; None chooses it. Where fewer can be had, a warning says why.
    choose_by : {"loo", "cv"}, default="loo"
        How the number is chosen: by the smallest leave-one-out error on the way forward (in closed form, PRESS),
        or by the best score over `n_folds` folds.
    refine : bool, default=True
        Whether the second stage runs.
    n_candidates : int or None, default=None
        Random rows that may become vectors, the rectangular dictionary; None lets all.
    n_folds : int, default=10
        Folds for ``choose_by="cv"``.
    max_iter : int, default=100
        Limit of the rounds of the second stage.
    <kernel>
    <verbose>
    random_state : int, RandomState or None, default=None
        Seeds the candidates and the folds.
    <n_jobs>

    Attributes
    ----------
    <vectors>
    <support>
    n_iter_ : int
        Rounds of the second stage; with ``refine=False`` the steps of the first.
    forward_loss_ : array of shape (n_steps,)
        Weighted sum of squares after each step of the forward stage.
    loss_ : float
        The same at the end.
    press_ : array of shape (n_steps,)
        Leave-one-out sum of squares after each step; with ``choose_by="loo"`` only.
    cv_scores_ : array of shape (n_steps,)
        Mean score over the folds after each step; with ``choose_by="cv"`` only.

    References
    ----------
    Xia, Li and Irwin, Improved training of an optimal sparse least squares support vector machine,
    Proceedings of the 17th IFAC World Congress (2008). Li, Peng and Bai, A two-stage algorithm for
    identification of nonlinear dynamic systems, Automatica 42 (2006), doi:10.1016/j.automatica.2006.03.004.

    Examples
    --------
    >>> import numpy as np
    >>> from slimsvm import TwoStageLSSVR
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> model = TwoStageLSSVR(n_vectors=8, gamma=1.0).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.01)
    True
    """

    _merges_equal_targets = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelEstimator._parameter_constraints,
        **_TWO_STAGE_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        n_vectors: int | None = None,
        choose_by: str = "loo",
        refine: bool = True,
        n_candidates: int | None = None,
        n_folds: int = 10,
        max_iter: int = 100,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_vectors = n_vectors
        self.choose_by = choose_by
        self.refine = refine
        self.n_candidates = n_candidates
        self.n_folds = n_folds
        self.max_iter = max_iter
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _train(self, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
        return train(self, data, kernel, run)
