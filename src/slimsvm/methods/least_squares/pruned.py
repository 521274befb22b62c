"""Least-squares machines pruned by their support value spectrum."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ...kernels import Kernel
from ...losses import Squared
from ...problem import KernelGram, Problem
from ...progress import tell
from ...rows import Array
from ...training import Trained, TrainingSet
from ...words import count
from ..base import KernelClassifier, Run
from ..documentation import documented
from .solvers import solve_cholesky


def prune_by_support_values(
    gram: KernelGram, Y: Array, C: Array, n_vectors: int, share: float, rng: np.random.Generator
) -> tuple[Array, Array, Array, int]:
    """Rows kept, their coefficients, the intercepts and the number of machines solved."""
    rows = np.arange(gram.n)
    n_rounds = 0
    while True:
        part = gram if len(rows) == gram.n else gram.part(rows)
        problem = Problem(part, Y[rows], Squared(), C[rows])
        solution = solve_cholesky(problem, tol=0.0, max_iter=None, rng=rng)
        n_rounds += 1
        tell("pruning", gram.n - len(rows) + 1, gram.n - n_vectors + 1, f"{count(len(rows), 'vector')} left")
        if len(rows) <= n_vectors:
            return rows, solution.alpha, solution.intercept, n_rounds
        support = np.sqrt((solution.alpha**2).sum(axis=1))  # over the outputs, which share their vectors
        dropped = max(1, min(len(rows) - n_vectors, round(share * len(rows))))
        rows = np.sort(rows[np.argsort(support, kind="stable")[dropped:]])


@documented
class PrunedLSSVC(KernelClassifier):
    r"""Least-squares support vector classifier pruned by its support value spectrum (SVS).

    Solves `LSSVC`, drops the rows with the smallest coefficients, and solves again on the rest, until
    `n_vectors` are left. It is the simplest way to a sparse machine and a baseline for the others: each
    round costs a whole solution, and what the dropped rows said is lost.

    Parameters
    ----------
    n_vectors : int, default=100
        Number of vectors to end with; with no more rows than that it is `LSSVC`.
    <C>
    share : float, default=0.05
        Share of the rows dropped in a round.
    <kernel>
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
    With several outputs a row's support value is the norm of its coefficients over them, so that they share
    their vectors; Jiao et al. prune each two-class machine by itself. The kernel matrix is held in memory.

    References
    ----------
    Suykens, Lukas and Vandewalle, Sparse approximation using least squares support vector machines, IEEE
    International Symposium on Circuits and Systems (2000), doi:10.1109/ISCAS.2000.856439.

    Examples
    --------
    >>> from slimsvm import PrunedLSSVC
    >>> from slimsvm.datasets import make_ringnorm
    >>> X, y = make_ringnorm(400, random_state=0)
    >>> model = PrunedLSSVC(n_vectors=100).fit(X, y)
    >>> model.n_vectors_, model.score(X, y) > 0.9
    (100, True)
    """

    _merges_equal_targets = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        "n_vectors": [Interval(Integral, 1, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "share": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        *,
        n_vectors: int = 100,
        C: float = 1.0,
        share: float = 0.05,
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
        self.C = C
        self.share = share
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # the rows with large coefficients are the hard ones: few of them do not say what the classes are
        tags.classifier_tags.poor_score = True
        return tags

    def _train(self, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
        gram = data.gram(kernel, run.n_threads)
        kept, alpha, intercept, n_rounds = prune_by_support_values(
            gram, data.Y, self.C * data.weight, self.n_vectors, self.share, run.rng
        )
        return Trained.on_rows(data, kernel, alpha, intercept, chosen=kept, n_iter=n_rounds)
