"""Least-squares machines of a fixed size, their vectors chosen by entropy."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ...chunks.coefficients import least_squares, least_squares_of_rows
from ...chunks.statistics import Features
from ...kernels import Kernel
from ...limits import check_columns
from ...solvers.primal import primal_solution
from ...training import Trained, TrainingSet
from ..base import KernelClassifier, KernelEstimator, KernelRegressor, Run
from ..chunked import AllRows, FitsInChunks
from ..documentation import documented
from .entropy import select_by_entropy

# Arrays as large as the kernel values of the rows with the vectors that are there at the same time.
COPIES = 3

_SIZE_CONSTRAINTS: dict[str, list[Any]] = {
    "n_vectors": [Interval(Integral, 1, None, closed="left")],
    "C": [Interval(Real, 0, None, closed="neither")],
}


def train(model: Any, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
    """Choose vectors by entropy and solve in the primal."""
    gram = data.gram(kernel, run.n_threads)
    check_columns(gram.n, min(model.n_vectors, gram.n), "lower n_vectors", times=COPIES)
    chosen = select_by_entropy(gram, min(model.n_vectors, gram.n), run.rng)
    penalty = 1.0 / model.C
    solved = least_squares_of_rows(data, kernel, chosen, penalty, in_function_space=True)
    if solved is not None:
        return Trained.on_rows(data, kernel, solved.coef, solved.intercept, chosen=chosen)
    coef, intercept = primal_solution(
        gram.block(chosen, np.arange(gram.n)),
        gram.block(chosen, chosen),
        data.Y,
        data.weight,
        penalty,
        in_function_space=True,
    )
    return Trained.on_rows(data, kernel, coef, intercept, chosen=chosen)


class FixedSize(FitsInChunks):
    """What both estimators share."""

    n_vectors: int
    C: float

    def _train(self, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
        return train(self, data, kernel, run)

    def _train_on_all(self, data: TrainingSet, kernel: Kernel, run: Run, every: AllRows) -> Trained:
        chosen = select_by_entropy(data.gram(kernel, run.n_threads), min(self.n_vectors, data.n), run.rng)
        features = Features(kernel, data.vectors(chosen))
        solved = least_squares(every.passes, features, every.targets, 1.0 / self.C, in_function_space=True)
        return Trained.on_rows(data, kernel, solved.coef, solved.intercept, chosen=chosen)


@documented
class FixedSizeLSSVC(FixedSize, KernelClassifier):
    r"""Fixed-size least-squares classifier: vectors of large entropy, the machine solved in the primal.

    On vectors P chosen for their quadratic Renyi entropy, without a look at the labels, it minimises

    .. math:: \tfrac12 |f|^2 + \tfrac{C}{2} \sum_i s_i\, |y_i - f(x_i) - b|^2,
              \qquad f = \sum_{j \in P} \alpha_j k(x_j, \cdot)

    over all rows, with labels :math:`\pm 1` and sample weights s.

    Parameters
    ----------
    n_vectors : int, default=100
        Number of vectors; all rows where there are no more.
    <C>
    <kernel>
    <class_weight>
    <verbose>
    random_state : int, RandomState or None, default=None
        Seeds the order in which rows are offered.
    <n_jobs>

    Attributes
    ----------
    <vectors>
    <support>
    <classes>
    n_iter_ : int

    Notes
    -----
    This is ridge regression on the Nystrom features of P, which span the functions f above; Suykens' gamma
    is C.

    References
    ----------
    Suykens et al., *Least Squares Support Vector Machines*, World Scientific (2002), chapter 6; De Brabanter
    et al., Optimized fixed-size kernel models for large data sets, Computational Statistics and Data
    Analysis 54 (2010), doi:10.1016/j.csda.2010.01.024.

    Examples
    --------
    >>> from slimsvm import FixedSizeLSSVC
    >>> from slimsvm.datasets import make_ringnorm
    >>> X, y = make_ringnorm(400, random_state=0)
    >>> model = FixedSizeLSSVC(n_vectors=30, random_state=0).fit(X, y)
    >>> model.n_vectors_, model.score(X, y) > 0.9
    (30, True)
    """

    _merges_equal_targets = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        **_SIZE_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        n_vectors: int = 100,
        C: float = 1.0,
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
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs


@documented
class FixedSizeLSSVR(FixedSize, KernelRegressor):
    """Fixed-size least-squares regression: as `FixedSizeLSSVC`, with targets in place of labels.

    Parameters
    ----------
    n_vectors : int, default=100
        Number of vectors; all rows where there are no more.
    <C>
    <kernel>
    <verbose>
    random_state : int, RandomState or None, default=None
        Seeds the order in which rows are offered.
    <n_jobs>

    Attributes
    ----------
    <vectors>
    <support>
    n_iter_ : int

    References
    ----------
    Suykens et al., *Least Squares Support Vector Machines*, World Scientific (2002), chapter 6; De Brabanter
    et al., Optimized fixed-size kernel models for large data sets, Computational Statistics and Data
    Analysis 54 (2010), doi:10.1016/j.csda.2010.01.024.

    Examples
    --------
    >>> import numpy as np
    >>> from slimsvm import FixedSizeLSSVR
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> model = FixedSizeLSSVR(n_vectors=12, C=100.0, gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.05)
    True
    """

    _merges_equal_targets = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelEstimator._parameter_constraints,
        **_SIZE_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        n_vectors: int = 100,
        C: float = 1.0,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_vectors = n_vectors
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
