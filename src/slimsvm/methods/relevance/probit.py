"""The sparse probit classifier: Jeffreys' prior and expectation-maximisation."""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from ...kernels import Kernel
from ...problem import make_dictionary
from ...readout import Probability
from ...solvers.reweighted import reweighted, trained_on_columns, warn_empty, without_effect
from ...training import Trained, TrainingSet
from ..base import KernelClassifier, ProbabilitiesMixin, Run
from .expectation_maximisation import probit_round


class SparseProbitClassifier(ProbabilitiesMixin, KernelClassifier):
    r"""Sparse probit classifier: Jeffreys' prior on the variances of the coefficients, by EM.

    The probability of the second class is :math:`\Phi(f(x))`, the normal distribution function of
    :math:`f(x) = \alpha_0 + \sum_j \alpha_j k(x_j, x)`, with :math:`\alpha_j \sim N(0, \tau_j)` and
    :math:`p(\tau_j) \propto 1/\tau_j`. There is nothing to tune but the kernel.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed"}, Kernel or callable
        The kernel; a function gets two arrays of rows and returns their kernel values.
    gamma : {"scale", "auto"}, float or array of shape (n_features,), default="scale"
        Width of the rbf and laplacian kernels (an array gives each feature its own), factor of the others.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels.
    tol : float, default=1e-3
        Change of the coefficients between rounds, relative to them in the two-norm, at which to stop.
    max_iter : int, default=2000
        Limit of the rounds; all but the first few are cheap.
    class_weight : "balanced", dict or None, default=None
        Factor on the weights of each class.
    random_state : int, RandomState or None, default=None
        Not used: the method has no randomness.
    n_jobs : int or None, default=None
        Threads for kernel values; None means 1, -1 all processors.

    Attributes
    ----------
    support_vectors_ : array or CSR of shape (n_vectors, n_features)
    dual_coef_ : array of shape (n_outputs, n_vectors)
    intercept_ : array of shape (n_outputs,)
    support_ : array of shape (n_vectors,)
        Row of the training data each vector was.
    n_vectors_, n_iter_ : int
    n_columns_ : array of shape (n_iter_ + 1,)
        Coefficients left before the first round and after each, summed over the outputs.
    classes_ : array of shape (n_classes,)
    gamma_ : float or array

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
            )
            shift = 0.0
            if not result.coef.any():
                shift = 1.0 if data.weight @ labels > 0 else -1.0
                warn_empty(run.name, "predicts the heavier class", "change gamma")
            results.append((result, shift))
        return trained_on_columns(
            data, kernel, dictionary, results, run.name, probability=Probability("normal")
        )
