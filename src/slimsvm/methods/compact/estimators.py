"""`CompactSVC` and `CompactSVR`: the most accurate model for its size, with nothing to tune."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ...calibration import fit_softmax, per_row
from ...kernels import Kernel, as_kernel
from ...losses import Squared, SquaredHinge
from ...probability import Probability
from ...readout import ValueReadout, label_readout
from ...refinement import RoundedHinge, RoundedInsensitive
from ...rows import Array
from ...training import Trained, TrainingSet
from ..base import KernelClassifier, KernelRegressor, Run
from ..checks import check_targets
from ..chunked import AllRows
from ..fitted import ProbabilitiesMixin
from .constraints import COMPACT_CONSTRAINTS
from .every_row import on_every_row
from .fitting import STAGES, CompactFit
from .observations import of_mean_one
from .online import GoesOn, takes_parts
from .plan import SOME_ROWS
from .scoring import score_by


class Compact(GoesOn):
    """What both estimators share."""

    _stages = STAGES
    _weights_between = (0.0, np.inf)  # they are divided by their mean

    def _kernel_for(self, data: TrainingSet) -> Kernel:
        return as_kernel(self.kernel, 1.0, self.degree, self.coef0)  # its width is searched or learnt

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        found = super()._fit(X, y, sample_weight)
        self.__dict__.pop("_stream", None)  # what partial_fit has seen
        return found

    def _train_on_all(self, data: TrainingSet, kernel: Kernel, run: Run, every: AllRows) -> Trained:
        loss, unit, centre = self._loss_and_unit(data)
        return on_every_row(
            self._train(data, kernel, run), loss, self.number, data, every, (unit, centre), run
        )

    def fast_outputs(self, X: Array) -> Array:  # (n, n_outputs)
        """Outputs without any check of the input: a few microseconds for one row of a small model.

        Parameters
        ----------
        X : array of shape (n, d)
            C-contiguous, of the dtype of `support_vectors_`, finite; kernel "rbf" only.
        """
        check_is_fitted(self)
        return self.expansion_.unchecked_outputs(X)

    def fast_predict(self, X: Array) -> Array:
        """Answer for each row, without any check of the input, for single rows in a hurry.

        Parameters
        ----------
        X : array of shape (n, d)
            C-contiguous, of the dtype of `support_vectors_`, finite; kernel "rbf" only.

        Returns
        -------
        array of shape (n,), or (n, n_targets) if y had two dimensions
        """
        answer: Array = self.readout_.answer(self.fast_outputs(X))
        return answer


class CompactSVC(ProbabilitiesMixin, Compact, KernelClassifier):
    """Classifier with very few vectors, which are learnt; everything left at its default is chosen inside.

    Vectors, coefficients and, if it helps, widths of a Gaussian expansion are optimised together; width,
    regularisation and size are found by cross-validation inside `fit`.

    Parameters
    ----------
    max_vectors : int or None, default=None
        The most vectors. Without a limit, and with one that it meets, the model is the smallest that is nearly as good
        as the best (of at most 512 vectors, or 64 of more than 128 features without a projection); otherwise it is the
        best one within the limit.
    max_bytes : int or None, default=None
        The most bytes of the numbers the model consists of, in the format `number`
        (`slimsvm.budget.stored_bytes`: what constant tables in C take); a limit like `max_vectors`.
    max_latency_us : float or None, default=None
        The most microseconds for one row like those of X through `expansion_` with this kernel, measured on this
        machine. `predict` adds one or two for an RBF kernel and a plain array of the model's dtype, and scikit-learn's
        input checks for everything else.
    C : float or None, default=None
        Inverse of the regularisation, as in scikit-learn; None searches.
    gamma : float, array of shape (n_features,), "scale", "auto" or None, default=None
        Width of the kernel on the inputs as they are scaled inside; None searches.
    metric : {"auto", "one", "per_feature", "linear"}, default="auto"
        How inputs are measured before the kernel: one width (for scaled inputs), one for each feature, or a projection,
        a linear map to `rank` dimensions that is learnt together with the vectors, which lie in its image. "auto"
        decides by cross-validation: between the first two for up to 128 features, and a projection with more features,
        or more than 2,000 rows. It takes CSR rows of any width.
    rank : int or None, default=None
        Dimensions of the image for metric="linear"; None chooses.
    number : {"float64", "float32", "int16", "int8", "int4"} or None, default=None
        What the numbers of the model are to be shipped as. The fitted model has numbers rounded to that format, its
        coefficients solved for again after vectors and metric were rounded, so that `predict` is what ships. None
        counts bytes as float32 and leaves the numbers in the precision of X.
    scoring : str, callable or None, default=None
        What the search is to make large, such as "balanced_accuracy": any scorer of scikit-learn, on outputs for rows
        that were held out. None is the share of right answers.
    refine : bool, default=True
        Whether the vectors move. False keeps training rows, and so does any kernel but "rbf", and CSR input that
        would take more than 512 MiB when dense.
    kernel : str, Kernel or callable, default="rbf"
    degree : int, default=3
    coef0 : float, default=0.0
    scale : bool, default=True
        Whether inputs are scaled inside ("rbf" and "laplacian"); vectors and widths are stored in the units of X.
    class_weight : dict, "balanced" or None, default=None
        Counts in training and in all comparisons on held-out rows. `predict_proba` is fitted with it too: its
        probabilities are those of data in which the classes have these weights.
    warm_start : bool or fitted model, default=False
        Whether a fit begins with the vectors and the metric of this estimator's last one, or of another model: they are
        moved for the new rows, and their number stays; nothing is searched for.
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does: KeyboardInterrupt leaves `fit` and the estimator is as it was, or the best model so far is
        kept, with a ConvergenceWarning (before there is one, "keep" raises too).
    verbose : int, default=0
        Whether to print what the search finds.
    random_state : int, RandomState or None, default=None
    n_jobs : int or None, default=None
        Threads for fitting and predicting; the result does not depend on it.

    Attributes
    ----------
    support_vectors_, dual_coef_, intercept_, n_vectors_, classes_, n_iter_
        As in every estimator of this library; `support_` only where vectors are training rows.
    gamma_ : float or array of shape (n_features,)
        Width in the units of X: one number where one width serves all features, else one for each.
    C_ : float
        The chosen C.
    probability_ : slimsvm.probability.Probability
        What `predict_proba` does with the outputs: a softmax with a `factor` on them and an `offset` for each class,
        fitted to the held-out rows of the search.
    path_ : structured array
        Kind of widths, size, cross-validated error and its standard error of what was tried.

    Examples
    --------
    >>> from slimsvm.datasets import make_ringnorm
    >>> X, y = make_ringnorm(400, random_state=0)
    >>> model = CompactSVC(random_state=0).fit(X, y)
    >>> bool(model.n_vectors_ < 20 and model.score(X, y) > 0.97)
    True
    """

    _needs_every_column = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        **COMPACT_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        max_vectors: int | None = None,
        max_bytes: int | None = None,
        max_latency_us: float | None = None,
        C: float | None = None,
        gamma: Any = None,
        metric: str = "auto",
        rank: int | None = None,
        number: str | None = None,
        scoring: Any = None,
        refine: bool = True,
        kernel: Any = "rbf",
        degree: int = 3,
        coef0: float = 0.0,
        scale: bool = True,
        class_weight: Any = None,
        warm_start: Any = False,
        on_interrupt: str = "raise",
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.max_vectors = max_vectors
        self.max_bytes = max_bytes
        self.max_latency_us = max_latency_us
        self.C = C
        self.gamma = gamma
        self.metric = metric
        self.rank = rank
        self.number = number
        self.scoring = scoring
        self.refine = refine
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.scale = scale
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.on_interrupt = on_interrupt
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _loss_and_unit(self, data: TrainingSet) -> tuple[Any, Array, Array]:
        # wrong labels matter less among many rows, and the squared hinge reached more on the large sets we tried
        loss = RoundedHinge() if data.n <= SOME_ROWS else SquaredHinge()
        k = data.Y.shape[1]
        return loss, np.ones(k), np.zeros(k)

    def _train(self, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
        if (start := self._start()) is not None:
            return self._trained_from(start, data, run)
        loss = self._loss_and_unit(data)[0]
        score = None
        if self.scoring is not None:
            readout = label_readout(run.known)
            score = score_by(self.scoring, readout, run.known[data.codes], data.weight, classify=True)
        trained, held = CompactFit(self, data, loss, run, score=score).train()
        probability = Probability("softmax")
        if held is not None:
            probability = fit_softmax(held.outputs, data.codes[held.rows], per_row(held.weight))
        return replace(trained, probability=probability)

    @available_if(takes_parts)  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on with more rows, in memory that does not grow with their number.

        A sample of all rows so far, of 65,536 at most and 64 MiB, is kept to remember them by. The model is searched
        for anew each time the rows have grown fourfold, as long as all are in the sample; in between and after that it
        is moved for the new rows and some of the sample, and grows within the budget where they ask for it.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)
        y : array-like of shape (n,)
        classes : array-like or None
            All classes, in the first call; needed where its rows do not show them all.
        sample_weight : array-like of shape (n,) or None

        Returns
        -------
        self
        """
        return self._partial_fit(X, y, classes, sample_weight)

    @property
    def probability_(self) -> Probability:
        """Slope and offsets on the outputs in `predict_proba`."""
        check_is_fitted(self)
        probability: Probability = self.readout_.probability
        return probability


class CompactSVR(Compact, KernelRegressor):
    """Regressor with very few vectors, which are learnt; everything left at its default is chosen inside.

    Parameters
    ----------
    max_vectors, max_bytes, max_latency_us, C, gamma, metric, rank, number, scoring, refine, kernel, degree, coef0, \
scale, warm_start, on_interrupt, verbose, random_state, n_jobs
        As in `CompactSVC`; C counts targets in units of their standard deviation.
    loss : {"squared", "epsilon_insensitive"}, default="squared"
    epsilon : float, default=0.1
        Errors up to this cost nothing with loss="epsilon_insensitive"; in units of the targets.

    Attributes
    ----------
    support_vectors_, dual_coef_, intercept_, n_vectors_, n_iter_, gamma_, C_, path_
        As in `CompactSVC`.

    Examples
    --------
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> model = CompactSVR(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(model.n_vectors_ < 10 and model.score(X, np.sin(X[:, 0])) > 0.99)
    True
    """

    _needs_every_column = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelRegressor._parameter_constraints,
        **COMPACT_CONSTRAINTS,
        "loss": [StrOptions({"squared", "epsilon_insensitive"})],
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        max_vectors: int | None = None,
        max_bytes: int | None = None,
        max_latency_us: float | None = None,
        C: float | None = None,
        gamma: Any = None,
        metric: str = "auto",
        rank: int | None = None,
        number: str | None = None,
        scoring: Any = None,
        refine: bool = True,
        loss: str = "squared",
        epsilon: float = 0.1,
        kernel: Any = "rbf",
        degree: int = 3,
        coef0: float = 0.0,
        scale: bool = True,
        warm_start: Any = False,
        on_interrupt: str = "raise",
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.max_vectors = max_vectors
        self.max_bytes = max_bytes
        self.max_latency_us = max_latency_us
        self.C = C
        self.gamma = gamma
        self.metric = metric
        self.rank = rank
        self.number = number
        self.scoring = scoring
        self.refine = refine
        self.loss = loss
        self.epsilon = epsilon
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.scale = scale
        self.warm_start = warm_start
        self.on_interrupt = on_interrupt
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _loss_and_unit(self, data: TrainingSet) -> tuple[Any, Array, Array]:
        share = of_mean_one(data.weight)[0] / data.n
        centre = share @ data.Y
        unit = np.sqrt(share @ np.square(data.Y - centre))
        unit = np.where(unit > 1e-12 * np.maximum(np.abs(centre), 1e-300), unit, 1.0)
        if self.loss == "squared":
            return Squared(), unit, centre
        epsilon = self.epsilon / float(unit.mean())
        return RoundedInsensitive(epsilon, rounding=max(0.05, min(0.25, epsilon))), unit, centre

    def _train(self, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
        if data.n < 2:
            raise ValueError(
                "CompactSVR needs at least two different rows to hold some out, got n_samples = 1 of them."
            )
        if (start := self._start()) is not None:
            return self._trained_from(start, data, run)
        if self.number not in (None, "float64"):  # which are scaled by numbers in float32
            check_targets(data.Y, np.dtype(np.float32))
        loss, unit, centre = self._loss_and_unit(data)
        given, data = data.Y, replace(data, Y=(data.Y - centre) / unit)
        score: Callable[[Array, Array], float] | None = None
        if self.scoring is not None:
            targets = given[:, 0] if run.known else given
            of_values = score_by(self.scoring, ValueReadout(run.known), targets, data.weight, classify=False)

            def score(outputs: Array, rows: Array) -> float:
                return of_values(outputs * unit + centre, rows)

        return CompactFit(self, data, loss, run, (unit, centre), score).train()[0]

    @available_if(takes_parts)  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Go on with more rows, as `CompactSVC.partial_fit` does.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : array-like of shape (n,) or None

        Returns
        -------
        self
        """
        return self._partial_fit(X, y, None, sample_weight)
