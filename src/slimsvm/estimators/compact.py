"""`CompactSVC` and `CompactSVR`: the most accurate model for its size, with nothing to tune."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from ..compact import fit_temperature, probabilities
from ..compact.observations import whole_counts
from ..compact.search import SETTING_ROWS
from ..compact.trial import FOLDS
from ..losses import Squared, SquaredHinge
from ..refinement import RoundedHinge, RoundedInsensitive
from ..rows import Array
from .base import KernelClassifier, KernelRegressor
from .compact_base import STAGES, Compact
from .progress import FitProgress
from .training import with_equal_targets


class CompactSVC(Compact, KernelClassifier):
    """Classifier with very few vectors, which are learnt; everything left at its default is chosen inside.

    Vectors, coefficients and, if it helps, widths of a Gaussian expansion are optimised together; width,
    regularisation and size are found by cross-validation inside `fit`.

    Parameters
    ----------
    max_vectors : int or None, default=None
        The most vectors: the best size up to it is taken, of more than 2,000 rows the largest that is nearly as good as
        the best. None takes the smallest that is.
    max_bytes : int or None, default=None
        The most bytes of the numbers the model consists of, in the dtype of X (`slimsvm.budget.stored_bytes`:
        what constant tables in C take).
    max_latency_us : float or None, default=None
        The most microseconds for one row like those of X through `expansion_` with this kernel, measured on this
        machine. `predict` adds one or two for an RBF kernel and a plain array of the model's dtype, and scikit-learn's
        input checks for everything else.
    C : float or None, default=None
        Inverse of the regularisation, as in scikit-learn; None searches.
    gamma : float, array of shape (n_features,), "scale", "auto" or None, default=None
        Width of the kernel on the inputs as they are scaled inside; None searches.
    widths : {"auto", "one", "per_feature"}, default="auto"
        Whether the kernel has one width (for scaled inputs) or learns one for each feature; "auto" decides by
        cross-validation, for up to 128 features.
    refine : bool, default=True
        Whether the vectors move. False keeps training rows, and so does any kernel but "rbf", and CSR input that
        would take more than 512 MiB when dense.
    kernel : str, Kernel or callable, default="rbf"
    degree : int, default=3
    coef0 : float, default=0.0
    scale : bool, default=True
        Whether inputs are scaled inside ("rbf" and "laplacian"); vectors and widths are stored in the units of X.
    class_weight : dict, "balanced" or None, default=None
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
        One number where one width serves all features, else one for each.
        Width of each feature in the units of X.
    C_ : float
        The chosen C.
    temperature_ : float
        Factor on the outputs in `predict_proba`.
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        **Compact._compact_constraints,
    }

    def __init__(
        self,
        max_vectors: int | None = None,
        *,
        max_bytes: int | None = None,
        max_latency_us: float | None = None,
        C: float | None = None,
        gamma: Any = None,
        widths: str = "auto",
        refine: bool = True,
        kernel: Any = "rbf",
        degree: int = 3,
        coef0: float = 0.0,
        scale: bool = True,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.max_vectors = max_vectors
        self.max_bytes = max_bytes
        self.max_latency_us = max_latency_us
        self.C = C
        self.gamma = gamma
        self.widths = widths
        self.refine = refine
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.scale = scale
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose and train the model.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)
        y : array-like of shape (n,)
            Classes.
        sample_weight : array-like of shape (n,) or None
            Weights; if all are whole numbers they count observations.

        Returns
        -------
        self
        """
        progress = FitProgress(self, len(STAGES), X, y, sample_weight)
        X, codes, Y, weight, rows = self._check_classes(X, y, sample_weight)
        given = np.ones(len(weight))
        if sample_weight is not None:
            every = np.asarray(sample_weight, dtype=np.float64)
            given = every[rows] if every.ndim else np.full(len(rows), float(every))
        self._kept_rows = rows
        data = with_equal_targets(X, codes, Y, weight, rows, precomputed=self._is_precomputed)
        groups = data.Y.argmax(axis=1) if data.Y.shape[1] > 1 else (data.Y[:, 0] > 0).astype(np.intp)
        first = [int(np.flatnonzero(codes == kind)[0]) for kind in range(len(self.classes_))]
        factor = (weight / given)[first]
        count = whole_counts(np.round(data.weight / factor[groups], 9), FOLDS)
        self._target_scale = (0.0, 1.0)
        # wrong labels matter less among many rows, and the squared hinge reached more on the large sets we tried
        loss = RoundedHinge() if len(data.weight) <= SETTING_ROWS else SquaredHinge()
        choice = self._fit_compact(data, count, True, loss, progress)
        del self._kept_rows
        enough = len(choice.outputs) > 0
        self.temperature_ = fit_temperature(choice.outputs, choice.groups, choice.weight) if enough else 1.0
        progress.finish()
        return self

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, calibrated on the folds of the search.

        The largest is always that of the class `predict` gives.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)

        Returns
        -------
        array of shape (n, n_classes)
        """
        return probabilities(self._outputs(X), self.temperature_)

    def fast_predict(self, X: Array) -> Array:
        """Class of each row, without any check of the input, for single rows in a hurry.

        Parameters
        ----------
        X : array of shape (n, d)
            C-contiguous, of the dtype of `support_vectors_`, finite.

        Returns
        -------
        array of shape (n,)
        """
        outputs = self.fast_outputs(X)
        codes = outputs[:, 0] > 0 if outputs.shape[1] == 1 else outputs.argmax(axis=1)
        predicted: Array = self.classes_.take(codes)
        return predicted


class CompactSVR(Compact, KernelRegressor):
    """Regressor with very few vectors, which are learnt; everything left at its default is chosen inside.

    Parameters
    ----------
    max_vectors, max_bytes, max_latency_us, C, gamma, widths, refine, kernel, degree, coef0, scale, verbose, \
random_state, n_jobs
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelRegressor._parameter_constraints,
        **Compact._compact_constraints,
        "loss": [StrOptions({"squared", "epsilon_insensitive"})],
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        max_vectors: int | None = None,
        *,
        max_bytes: int | None = None,
        max_latency_us: float | None = None,
        C: float | None = None,
        gamma: Any = None,
        widths: str = "auto",
        refine: bool = True,
        loss: str = "squared",
        epsilon: float = 0.1,
        kernel: Any = "rbf",
        degree: int = 3,
        coef0: float = 0.0,
        scale: bool = True,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.max_vectors = max_vectors
        self.max_bytes = max_bytes
        self.max_latency_us = max_latency_us
        self.C = C
        self.gamma = gamma
        self.widths = widths
        self.refine = refine
        self.loss = loss
        self.epsilon = epsilon
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.scale = scale
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose and train the model.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : array-like of shape (n,) or None
            Weights; if all are whole numbers they count observations.

        Returns
        -------
        self
        """
        progress = FitProgress(self, len(STAGES), X, y, sample_weight)
        X, Y, weight, rows = self._check_targets(X, y, sample_weight)
        self._kept_rows = rows
        _, codes = np.unique(Y, axis=0, return_inverse=True)
        data = with_equal_targets(X, codes.ravel(), Y, weight, rows, precomputed=self._is_precomputed)
        if len(data.weight) < 2:
            raise ValueError(
                "CompactSVR needs at least two different rows to hold some out, got n_samples = 1 of them."
            )
        share = data.weight / data.weight.sum()
        centre = share @ data.Y
        unit = np.sqrt(share @ np.square(data.Y - centre))
        unit = np.where(unit > 1e-12 * np.maximum(np.abs(centre), 1e-300), unit, 1.0)
        self._target_scale = (centre, unit)
        data = replace(data, Y=(data.Y - centre) / unit)
        loss: Any = Squared()
        if self.loss == "epsilon_insensitive":
            epsilon = self.epsilon / float(unit.mean())
            loss = RoundedInsensitive(epsilon, rounding=max(0.05, min(0.25, epsilon)))
        self._fit_compact(data, whole_counts(np.round(data.weight, 9), FOLDS), False, loss, progress)
        del self._kept_rows
        progress.finish()
        return self

    def fast_predict(self, X: Array) -> Array:
        """Predicted target of each row, without any check of the input, for single rows in a hurry.

        Parameters
        ----------
        X : array of shape (n, d)
            C-contiguous, of the dtype of `support_vectors_`, finite.

        Returns
        -------
        array of shape (n,), or (n, n_targets) if y had two dimensions
        """
        outputs = self.fast_outputs(X)
        return outputs[:, 0] if self._one_target else outputs
