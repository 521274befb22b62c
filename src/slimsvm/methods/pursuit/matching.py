"""Kernel matching pursuit: least squares on vectors added one at a time."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ...chunks.coefficients import least_squares
from ...chunks.sample import Size
from ...chunks.statistics import Features
from ...kernels import Kernel
from ...progress import tell
from ...training import Trained, TrainingSet, held_out_score, hold_out
from ..base import KernelClassifier, KernelEstimator, KernelRegressor, Run
from ..chunked import AllRows, FitsInChunks
from ..documentation import documented
from .search import Pursuit, PursuitRule, check_size
from .solution import PURSUIT_CONSTRAINTS, trained

_MATCHING_CONSTRAINTS: dict[str, list[Any]] = {
    **PURSUIT_CONSTRAINTS,
    "C": [Interval(Real, 0, None, closed="neither"), None],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither"), None],
}


def train(model: Any, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
    """Add vectors one at a time; with rows held out, keep as many as score best on them."""
    gram = data.gram(kernel, run.n_threads)
    rng, part_rows, extras = run.rng, np.arange(gram.n), {}
    if model.validation_fraction is not None:
        part_rows, held = hold_out(data, model.validation_fraction, rng)
    penalty = 0.0 if model.C is None else 1.0 / model.C
    rule = PursuitRule(penalty, False, model.fitting == "prefitting", model.n_candidates)
    part = gram if len(part_rows) == gram.n else gram.part(part_rows)
    # the gradient and the curvature of all rows, and after each vector the gradient
    n_passes = model.max_vectors + 2 if model.n_candidates is None else 0
    check_size(run.name, part, model.max_vectors, n_passes, "set n_candidates=59")
    search = Pursuit(part, data.Y[part_rows], data.weight[part_rows], rule, rng)
    while search.m < model.max_vectors and search.step():
        tell("adding vectors", search.m, model.max_vectors)
    chosen = part_rows[search.chosen]
    if model.validation_fraction is not None:
        K = gram.block(chosen, held)
        scores = [
            held_out_score(outputs, data.Y[held], data.weight[held], data.classify)
            for outputs in search.path_outputs(K)
        ]
        extras["validation_scores_"] = np.array(scores)
        chosen = chosen[: int(np.argmax(scores))]
    return trained(data, gram, part_rows, chosen, penalty, False, extras)


class MatchingPursuit(FitsInChunks):
    """What both estimators share."""

    C: float | None

    # a step without candidates looks at all pairs of rows
    _sample_size = Size(rows=2**14)

    def _train(self, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
        return train(self, data, kernel, run)

    def _train_on_all(self, data: TrainingSet, kernel: Kernel, run: Run, every: AllRows) -> Trained:
        found = self._train(data, kernel, run)
        features = Features(kernel, found.expansion.vectors)
        penalty = 0.0 if self.C is None else 1.0 / self.C
        solved = least_squares(every.passes, features, every.targets, penalty, in_function_space=False)
        return found.with_coefficients(solved.coef, solved.intercept)


@documented
class MatchingPursuitSVC(MatchingPursuit, KernelClassifier):
    r"""Kernel matching pursuit: least squares on vectors added one at a time (KMP).

    Over `max_vectors` training rows P, chosen greedily, it minimises

    .. math:: \tfrac12 |\alpha|^2 + \tfrac{C}{2} \sum_i s_i\, |y_i - \sum_{j \in P} \alpha_j k(x_j, x_i) - b|^2

    with labels :math:`\pm 1` for each class against the rest, sample weights s and a free intercept b;
    without C the first term is absent. All outputs share their vectors.

    Parameters
    ----------
    max_vectors : int, default=100
        Number of vectors; fewer where no row is left that adds anything.
    C : float or None, default=1.0
        Larger means less regularisation; None means none.
    fitting : {"backfitting", "prefitting"}, default="backfitting"
        Whether a vector is chosen by what its own coefficient gains, or by what solving all of them gains;
        all are solved after it is chosen either way.
    n_candidates : int or None, default=None
        Random rows looked at in a step; None looks at all.
    validation_fraction : float or None, default=None
        Share of the rows held out: of the machines of 0 to `max_vectors` vectors, the one that scores best on
        them is kept.
    <kernel>
    <class_weight>
    <verbose>
    random_state : int, RandomState or None, default=None
        Seeds the candidates and the rows held out.
    <n_jobs>

    Attributes
    ----------
    <vectors>
    <support>
    <classes>
    n_iter_ : int
    validation_scores_ : array of shape (n_steps + 1,)
        Score on the rows held out with 0, 1, ... vectors; with `validation_fraction` only.

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
    >>> model = MatchingPursuitSVC(max_vectors=20, random_state=0).fit(X, y)
    >>> model.n_vectors_, model.score(X, y) > 0.9
    (20, True)
    """

    _merges_equal_targets = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        **_MATCHING_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        max_vectors: int = 100,
        C: float | None = 1.0,
        fitting: str = "backfitting",
        n_candidates: int | None = None,
        validation_fraction: float | None = None,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.max_vectors = max_vectors
        self.C = C
        self.fitting = fitting
        self.n_candidates = n_candidates
        self.validation_fraction = validation_fraction
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs


@documented
class MatchingPursuitSVR(MatchingPursuit, KernelRegressor):
    """Kernel matching pursuit for regression (KMP): as `MatchingPursuitSVC`, with targets for labels.

    Parameters
    ----------
    max_vectors : int, default=100
        Number of vectors; fewer where no row is left that adds anything.
    C : float or None, default=1.0
        Larger means less regularisation; None means none.
    fitting : {"backfitting", "prefitting"}, default="backfitting"
        Whether a vector is chosen by what its own coefficient gains, or by what solving all of them gains;
        all are solved after it is chosen either way.
    n_candidates : int or None, default=None
        Random rows looked at in a step; None looks at all.
    validation_fraction : float or None, default=None
        Share of the rows held out: of the machines of 0 to `max_vectors` vectors, the one that scores best on
        them is kept.
    <kernel>
    <verbose>
    random_state : int, RandomState or None, default=None
        Seeds the candidates and the rows held out.
    <n_jobs>

    Attributes
    ----------
    <vectors>
    <support>
    n_iter_ : int
    validation_scores_ : array of shape (n_steps + 1,)
        Score on the rows held out with 0, 1, ... vectors; with `validation_fraction` only.

    References
    ----------
    Vincent and Bengio, Kernel matching pursuit, Machine Learning 48 (2002), doi:10.1023/A:1013955821559.

    Examples
    --------
    >>> import numpy as np
    >>> from slimsvm import MatchingPursuitSVR
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> model = MatchingPursuitSVR(max_vectors=8, gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.05)
    True
    """

    _merges_equal_targets = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelEstimator._parameter_constraints,
        **_MATCHING_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        max_vectors: int = 100,
        C: float | None = 1.0,
        fitting: str = "backfitting",
        n_candidates: int | None = None,
        validation_fraction: float | None = None,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.max_vectors = max_vectors
        self.C = C
        self.fitting = fitting
        self.n_candidates = n_candidates
        self.validation_fraction = validation_fraction
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
