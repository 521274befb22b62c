"""Sparse greedy Gaussian processes: few vectors, and a bound on the distance to the process on all rows."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ...kernels import Kernel
from ...problem import KernelGram
from ...progress import tell
from ...rows import Array
from ...training import Trained, TrainingSet
from ...words import count
from ..base import KernelClassifier, KernelEstimator, KernelRegressor, Run
from ..documentation import documented
from .search import Pursuit, PursuitRule, check_size
from .solution import PURSUIT_CONSTRAINTS, trained

# The bound on the gap costs a pass over the kernel matrix: it is computed after growth by this share.
GROWTH_BETWEEN_BOUNDS = 0.1

_PROCESS_CONSTRAINTS: dict[str, list[Any]] = {
    **PURSUIT_CONSTRAINTS,
    "C": [Interval(Real, 0, None, closed="neither")],
    "tol": [Interval(Real, 0, None, closed="left")],
}


def duality_gap(gram: KernelGram, search: Pursuit, weight: Array, C: float, Y: Array) -> float:
    r"""Share by which the objective may exceed the smallest possible.

    The residual gives a point of the dual: :math:`a = C s r`, whose value is a bound from below.
    """
    coef = search.coefficients()
    own = gram.block(np.array(search.chosen), np.array(search.chosen))
    r = search.residual
    primal = 0.5 * np.einsum("ij,ij->", coef, own @ coef) + 0.5 * C * weight @ (r**2).sum(axis=1)
    a = C * weight[:, None] * r
    dual = (a * Y).sum() - 0.5 * np.einsum("ij,ij->", a, gram @ a) - 0.5 * (a * r).sum()
    if primal <= 0.0:  # a kernel that is not positive definite has no bound
        return math.inf
    return float(max(0.0, primal - dual) / primal)


def train(model: Any, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
    """Add vectors one at a time until the bound on the gap is small enough."""
    gram = data.gram(kernel, run.n_threads)
    rule = PursuitRule(1.0 / model.C, True, model.fitting == "prefitting", model.n_candidates)
    for_gradients = model.max_vectors + 2 if model.n_candidates is None else 1
    for_bounds = math.log(model.max_vectors, 1.0 + GROWTH_BETWEEN_BOUNDS) if model.tol > 0 else 0
    check_size(run.name, gram, model.max_vectors, for_gradients + for_bounds, "set tol=0 and n_candidates=59")
    search = Pursuit(gram, data.Y, data.weight, rule, run.rng)
    looked_at = 0
    while search.m < model.max_vectors and search.step():
        tell("adding vectors", search.m, model.max_vectors)
        if search.m >= (1.0 + GROWTH_BETWEEN_BOUNDS) * looked_at and model.tol > 0:
            looked_at = search.m
            gap = duality_gap(gram, search, data.weight, model.C, data.Y)
            run.say(f"{count(search.m, 'vector')}: relative gap at most {gap:.3g}")
            if gap <= model.tol:
                break
    gap = duality_gap(gram, search, data.weight, model.C, data.Y) if search.m else 0.0
    chosen = np.array(search.chosen, dtype=np.intp)
    return trained(data, gram, np.arange(gram.n), chosen, rule.penalty, True, {"gap_": gap})


@documented
class SparseGreedyGPC(KernelClassifier):
    r"""Sparse greedy Gaussian process on labels (SGGP).

    Over training rows P, chosen greedily, it minimises

    .. math:: \tfrac12 |f|^2 + \tfrac{C}{2} \sum_i s_i\, |y_i - f(x_i) - b|^2,
              \qquad f = \sum_{j \in P} \alpha_j k(x_j, \cdot),

    the objective of `LSSVC` restricted to few vectors: the mean of a Gaussian process with noise of variance
    1 / C and a constant mean b. A bound says how far it is from the process on all rows. All outputs share
    their vectors.

    Parameters
    ----------
    max_vectors : int, default=100
        Limit of the number of vectors.
    C : float, default=1.0
        Larger means less regularisation: one over the variance of the noise.
    tol : float, default=0.025
        The search ends when the objective is known to be within this share of the smallest possible; 0 goes
        on to `max_vectors`.
    fitting : {"prefitting", "backfitting"}, default="prefitting"
        Whether a vector is chosen by what solving all coefficients gains, or by what its own gains.
    n_candidates : int or None, default=59
        Random rows looked at in a step (59 finds one of the best 5 % with 95 % confidence); None looks at
        all.
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
    gap_ : float
        Bound on the share by which the objective exceeds the smallest possible.

    Notes
    -----
    The :math:`\gamma` of Jiao et al., eq. 37, is C. Smola and Bartlett bound the gap by a second sparse
    machine for the dual; the residual of the first, times C, is a point of the dual too, costs one product
    with the kernel matrix, and is the solution when the first is.

    References
    ----------
    Smola and Bartlett, Sparse greedy Gaussian process regression, Advances in Neural Information Processing
    Systems 13 (2001).

    Examples
    --------
    >>> from slimsvm import SparseGreedyGPC
    >>> from slimsvm.datasets import make_ringnorm
    >>> X, y = make_ringnorm(400, random_state=0)
    >>> model = SparseGreedyGPC(max_vectors=20, tol=0, random_state=0).fit(X, y)
    >>> model.n_vectors_, model.score(X, y) > 0.9
    (20, True)
    """

    _merges_equal_targets = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        **_PROCESS_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        max_vectors: int = 100,
        C: float = 1.0,
        tol: float = 0.025,
        fitting: str = "prefitting",
        n_candidates: int | None = 59,
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
        self.tol = tol
        self.fitting = fitting
        self.n_candidates = n_candidates
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
class SparseGreedyGPR(KernelRegressor):
    """Sparse greedy Gaussian process regression (SGGP): as `SparseGreedyGPC`, with targets for labels.

    Parameters
    ----------
    max_vectors : int, default=100
        Limit of the number of vectors.
    C : float, default=1.0
        Larger means less regularisation: one over the variance of the noise.
    tol : float, default=0.025
        The search ends when the objective is known to be within this share of the smallest possible; 0 goes
        on to `max_vectors`.
    fitting : {"prefitting", "backfitting"}, default="prefitting"
        Whether a vector is chosen by what solving all coefficients gains, or by what its own gains.
    n_candidates : int or None, default=59
        Random rows looked at in a step (59 finds one of the best 5 % with 95 % confidence); None looks at
        all.
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
    gap_ : float
        Bound on the share by which the objective exceeds the smallest possible.

    References
    ----------
    Smola and Bartlett, Sparse greedy Gaussian process regression, Advances in Neural Information Processing
    Systems 13 (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from slimsvm import SparseGreedyGPR
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> model = SparseGreedyGPR(max_vectors=12, gamma=1.0, C=100.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.05)
    True
    """

    _merges_equal_targets = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelEstimator._parameter_constraints,
        **_PROCESS_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        max_vectors: int = 100,
        C: float = 1.0,
        tol: float = 0.025,
        fitting: str = "prefitting",
        n_candidates: int | None = 59,
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
        self.tol = tol
        self.fitting = fitting
        self.n_candidates = n_candidates
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _train(self, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
        return train(self, data, kernel, run)
