"""The sparse probit classifier: Jeffreys' prior and expectation-maximisation."""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ...kernels import Kernel
from ...probability import Probability
from ...problem import make_dictionary
from ...solvers.reweighted import reweighted, trained_on_columns, warn_empty, without_effect
from ...training import Trained, TrainingSet
from ..base import KernelClassifier, Run
from ..documentation import documented
from ..fitted import ProbabilitiesMixin
from .expectation_maximisation import probit_round


@documented
class SparseProbitClassifier(ProbabilitiesMixin, KernelClassifier):
    r"""Sparse probit classifier: Jeffreys' prior on the variances of the coefficients, by EM.

    The probability of the second class is :math:`\Phi(f(x))`, the normal distribution function of
    :math:`f(x) = \alpha_0 + \sum_j \alpha_j k(x_j, x)`, with :math:`\alpha_j \sim N(0, \tau_j)` and
    :math:`p(\tau_j) \propto 1/\tau_j`. There is nothing to tune but the kernel.

    Parameters
    ----------
    <kernel>
    tol : float, default=1e-3
        Change of the coefficients between rounds, relative to them in the two-norm, at which to stop.
    max_iter : int, default=2000
        Limit of the rounds; all but the first few are cheap.
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
    n_columns_ : array of shape (n_iter + 1,)
        Coefficients left before the first round and after each, summed over the outputs.

    Notes
    -----
    Equation (17) of Huang et al. with the columns [1, K]; Lambda is :math:`1/\alpha_j^2` of the round before.

    References
    ----------
    Figueiredo, Adaptive sparseness for supervised learning, IEEE Transactions on Pattern Analysis and Machine
    Intelligence 25 (2003), doi:10.1109/TPAMI.2003.1227989.

    Examples
    --------
    >>> from slimsvm import SparseProbitClassifier
    >>> from slimsvm.datasets import make_ripley
    >>> X, y = make_ripley(250, random_state=0)
    >>> model = SparseProbitClassifier(gamma=2.0).fit(X, y)
    >>> model.n_vectors_ < 10, model.score(X, y) > 0.85
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = 2000,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
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
        A = dictionary.columns
        results = []
        for labels in data.Y.T:
            result = reweighted(
                A.shape[1],
                probit_round(A, labels, data.weight),
                tol=self.tol,
                max_iter=self.max_iter,
                vanished=partial(without_effect, A),
                report=run.say,
            )
            shift = 0.0
            if not result.coef.any():
                shift = float(np.sign(data.weight @ labels))
                warn_empty(run.name, "predicts the heavier class", "change gamma")
            results.append((result, shift))
        return trained_on_columns(
            data, kernel, dictionary, results, run.name, probability=Probability("normal")
        )
