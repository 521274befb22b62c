"""Sparse least-squares machines by two-stage selection: forward, then exchanges."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from ...kernels import Kernel
from ...problem import DENSE_LIMIT_BYTES, KernelGram
from ...progress import tell
from ...rows import Array
from ...training import Trained, TrainingSet, held_out_score
from ...words import count
from ..base import KernelClassifier, KernelEstimator, KernelRegressor, Run
from ..documentation import documented
from .selection import TwoStage, press

# "loo" and "cv" try no more vectors than this, and "loo" ends earlier when its error has not fallen for the
# larger of these steps and this share of the steps so far.
MOST_VECTORS_TRIED = 500
PATIENCE_STEPS = 10
PATIENCE_SHARE = 0.25

_TWO_STAGE_CONSTRAINTS: dict[str, list[Any]] = {
    "n_vectors": [Interval(Integral, 1, None, closed="left"), None],
    "choose_by": [StrOptions({"loo", "cv"})],
    "refine": ["boolean"],
    "n_candidates": [Interval(Integral, 1, None, closed="left"), None],
    "n_folds": [Interval(Integral, 2, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
}


def dictionary(gram: KernelGram, candidates: Array, rows: Array, weight: Array) -> Array:  # (p, n)
    """Columns of K + 1 (eq. 32) for the candidates, one in each row, times the roots of the weights."""
    needed = 8 * len(candidates) * len(rows)
    if needed > DENSE_LIMIT_BYTES:
        raise MemoryError(
            f"the dictionary of {len(candidates)} candidates on {len(rows)} rows needs "
            f"{needed / 2**30:.3g} GiB, above the limit of {DENSE_LIMIT_BYTES / 2**30:.3g} GiB; "
            "lower n_candidates."
        )
    D = gram.block(candidates, rows)
    D += 1.0
    D *= np.sqrt(weight)
    return D


def forward(selection: TwoStage, n_steps: int) -> Array:
    """Run the forward stage for at most so many steps; the loss after each."""
    losses: list[float] = []
    while len(losses) < n_steps and selection.forward_step():
        losses.append(selection.loss)
        tell("adding vectors", len(losses), n_steps)
    return np.array(losses)


def size_by_press(selection: TwoStage, most: int) -> tuple[int, Array]:
    """Run forward until the leave-one-out error stops falling; the best size and the errors."""
    errors: list[float] = []
    best = 0
    while len(errors) < most and selection.forward_step():
        errors.append(press(selection.residual, selection.leverage))
        tell("looking for the number of vectors", len(errors))
        best = int(np.argmin(errors))
        if len(errors) - best > max(PATIENCE_STEPS, PATIENCE_SHARE * len(errors)):
            break
    return best + 1, np.array(errors)


def size_by_folds(
    gram: KernelGram,
    data: TrainingSet,
    candidates: Array,
    n_folds: int,
    rng: np.random.Generator,
) -> tuple[int, Array]:
    """The size that scores best on average when a fold at a time is left out, and the mean scores."""
    n = gram.n
    folds = np.array_split(rng.permutation(n), min(n_folds, n))
    paths = []
    for fold in folds:
        train = np.setdiff1d(np.arange(n), fold)
        own = np.intersect1d(candidates, train)
        root = np.sqrt(data.weight[train])[:, None]
        shift = np.zeros(data.Y.shape[1]) if data.classify else data.mean
        selection = TwoStage(dictionary(gram, own, train, data.weight[train]), (data.Y[train] - shift) * root)
        forward(selection, min(MOST_VECTORS_TRIED, len(own)))
        R, Z = selection.triangle()
        basis = linalg.solve_triangular(
            R, gram.block(own[selection.chosen], fold) + 1.0, trans="T", check_finite=False
        )  # (m, len(fold)): the orthonormal basis, continued to the fold
        outputs = shift + np.zeros((len(fold), len(shift)))
        scores = []
        for row, z in zip(basis, Z, strict=True):
            outputs = outputs + np.outer(row, z)
            scores.append(held_out_score(outputs, data.Y[fold], data.weight[fold], data.classify))
        paths.append(scores)
    shortest = min(len(scores) for scores in paths)
    if shortest == 0:
        return 1, np.zeros(0)
    weights = np.array([data.weight[fold].sum() for fold in folds])
    mean = weights @ np.array([scores[:shortest] for scores in paths]) / weights.sum()
    return int(np.argmax(mean)) + 1, mean


def train(model: Any, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
    """Both stages, at the size that is given or found."""
    gram, rng, n = data.gram(kernel, run.n_threads), run.rng, data.n
    candidates, everything = np.arange(n), np.arange(n)
    if model.n_candidates is not None and model.n_candidates < n:
        candidates = np.sort(rng.choice(n, size=model.n_candidates, replace=False))
    # labels are counted from 0 as in the paper, other targets from their mean
    shift = np.zeros(data.Y.shape[1]) if data.classify else data.mean
    targets = (data.Y - shift) * np.sqrt(data.weight)[:, None]
    most = min(MOST_VECTORS_TRIED, len(candidates))
    size, extras = model.n_vectors, dict[str, Any]()
    if size is None and model.choose_by == "cv":
        size, extras["cv_scores_"] = size_by_folds(gram, data, candidates, model.n_folds, rng)
    if size is None:
        trial = TwoStage(dictionary(gram, candidates, everything, data.weight), targets)
        size, extras["press_"] = size_by_press(trial, most)
        del trial
    selection = TwoStage(dictionary(gram, candidates, everything, data.weight), targets)
    extras["forward_loss_"] = forward(selection, min(size, len(candidates)))
    run.say(f"forward: {count(len(selection.chosen), 'vector')}, sum of squares {selection.loss:.6g}")
    n_iter = second_stage(selection, model.max_iter, run.name) if model.refine and selection.chosen else 0
    extras["loss_"] = selection.loss
    run.say(f"exchanged: sum of squares {selection.loss:.6g}")
    chosen = candidates[selection.chosen]
    D = dictionary(gram, chosen, everything, data.weight).T
    coef = linalg.lstsq(D, targets, check_finite=False)[0] if len(chosen) else np.zeros((0, len(shift)))
    intercept = coef.sum(axis=0) + shift  # eq. (36)
    return Trained.on_rows(data, kernel, coef, intercept, chosen=chosen, n_iter=n_iter, extras=extras)


def second_stage(selection: TwoStage, max_iter: int, name: str) -> int:
    """Rounds until one changes nothing."""
    for n_rounds in range(1, max_iter + 1):
        exchanged = selection.refine_round()
        tell("exchanging vectors", n_rounds, None, f"{count(exchanged, 'vector')} exchanged")
        if exchanged == 0:
            return n_rounds
    warnings.warn(
        f"{name}: the second stage still exchanged vectors in round {max_iter}; raise max_iter.",
        ConvergenceWarning,
        stacklevel=4,
    )
    return max_iter


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
        Number of vectors; None chooses it.
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
        Rounds of the second stage.
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
        Number of vectors; None chooses it.
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
        Rounds of the second stage.
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
