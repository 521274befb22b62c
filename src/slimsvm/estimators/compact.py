"""`CompactSVC` and `CompactSVR`: the most accurate model for its size, with nothing to tune."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..budget import bytes_for, max_vectors_for, single_row_latency_us
from ..compact import (
    Choice,
    Limits,
    MovedVectors,
    Observations,
    SelectedRows,
    choose,
    fit_temperature,
    probabilities,
)
from ..compact.machines import RowModel
from ..compact.observations import whole_counts
from ..compact.search import FOLDS, LARGEST
from ..errors import BudgetError
from ..expansion import KernelExpansion
from ..kernels import RBF, Kernel, Laplacian, as_kernel, resolve_gamma
from ..losses import Squared
from ..refinement import RbfModel, RoundedHinge, RoundedInsensitive
from ..rows import Array, Rows
from .base import KernelClassifier, KernelEstimator, KernelRegressor, n_threads, one_blas_thread
from .training import TrainingSet, with_equal_targets

# CSR rows are made dense, so that vectors can move, if they then take at most this.
DENSE_BYTES = 2**29
# A feature whose standard deviation is more than this many times what its quartiles say has gross outliers.
OUTLIERS = 10.0
# Standard deviations between the quartiles of a normal distribution.
QUARTILES = 1.349
# A measured latency may vary by this share; models are kept that far below the limit.
LATENCY_MARGIN = 0.8


class _Compact(KernelEstimator):
    """What both estimators do."""

    max_vectors: int | None
    max_bytes: int | None
    max_latency_us: float | None
    C: float | None
    widths: str
    refine: bool
    scale: bool
    verbose: int

    _compact_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_vectors": [Interval(Integral, 1, None, closed="left"), None],
        "max_bytes": [Interval(Integral, 1, None, closed="left"), None],
        "max_latency_us": [Interval(Real, 0, None, closed="neither"), None],
        "C": [Interval(Real, 0, None, closed="neither"), None],
        "gamma": [*KernelEstimator._parameter_constraints["gamma"], None],
        "widths": [StrOptions({"one", "per_feature", "auto"})],
        "refine": ["boolean"],
        "scale": ["boolean"],
        "verbose": ["verbose"],
    }

    def _say(self, text: str) -> None:
        if self.verbose:
            print(f"[{type(self).__name__}] {text}", flush=True)

    def _fit_compact(self, data: TrainingSet, count: Array, classify: bool, loss: Any) -> Choice:
        """Search, train and store; the targets are labels, or already of variance one."""
        rng = self._rng()
        self._data_dtype = data.X.dtype
        moved = self.refine and self.kernel == "rbf" and _can_be_dense(data.X)
        with one_blas_thread():
            machine = self._moved(data, count, classify, loss) if moved else None
            if machine is None:
                machine = self._selected(data, count, classify, loss)
            kinds = self._kinds(moved)
            width = None if self.gamma is None or np.ndim(self.gamma) == 1 else self._given_width(data.X)
            if np.ndim(self.gamma) == 1:
                width = 1.0
            limits = Limits(
                self._largest(data, kinds), width, None if self.C is None else 1.0 / self.C, kinds
            )
            threads = n_threads(self.n_jobs)
            choice = choose(machine, limits, rng, n_threads=threads, report=self._say)
            self._say(f"chosen: {choice.sizes[-1]} vectors, widths {choice.setting.widths}")
            interrupted = choice.interrupted
            best = None
            try:
                for best in machine.last(choice.setting, choice.sizes, rng, self._say):
                    if interrupted:
                        break
            except KeyboardInterrupt:
                if best is None:
                    raise
                interrupted = True
        assert best is not None
        if interrupted:
            warnings.warn(
                f"{type(self).__name__} was interrupted; the model has {best[0].n_vectors} vectors, chosen by "
                "what was known by then. Fit again without interruption for the best one.",
                ConvergenceWarning,
                stacklevel=4,
            )
        self.n_iter_ = max(1, int(best[1]))
        self.C_ = 1.0 / choice.setting.penalty
        self.path_ = np.array(
            [(kind, size, error, spread) for kind, size, error, spread in choice.table],
            dtype=[("widths", "U11"), ("n_vectors", np.int64), ("error", float), ("standard_error", float)],
        )
        self._store_model(best[0], data, choice)
        return choice

    def _kinds(self, moved: bool) -> tuple[str, ...]:
        if not moved:
            return ("fixed",)
        kinds = {"one": ("fixed", "one"), "per_feature": ("per_feature",)}
        return kinds.get(self.widths, ("fixed", "per_feature"))

    def _given_width(self, X: Rows) -> float:
        gamma = resolve_gamma("auto", X) if isinstance(self.gamma, str) else self.gamma
        return float(gamma)

    def _shape(self, X: Rows, weight: Array) -> Array:  # (d,)
        """Width of each feature relative to that of the setting, in the units of X."""
        spread = np.ones(X.shape[1])
        if self.scale:
            spread = _spread(X, weight)
            if isinstance(self.kernel, str) and self.kernel == "laplacian":
                spread = np.sqrt(spread)
        shape = 1.0 / np.square(spread)
        if np.ndim(self.gamma) == 1:
            shape = shape * resolve_gamma(self.gamma, X)
            if len(np.asarray(self.gamma)) != X.shape[1]:
                raise ValueError(f"gamma has {len(self.gamma)} entries, but X has {X.shape[1]} features.")
        return shape

    def _moved(self, data: TrainingSet, count: Array, classify: bool, loss: Any) -> MovedVectors:
        X = data.X.toarray() if sparse.issparse(data.X) else data.X
        X = np.ascontiguousarray(X, dtype=np.float64)
        self._centre = (data.weight @ X) / data.weight.sum()
        spread = _spread(X, data.weight) if self.scale else np.ones(X.shape[1])
        self._unit = spread
        shape = np.ones(X.shape[1])
        if np.ndim(self.gamma) == 1:
            given = np.asarray(resolve_gamma(self.gamma, X))
            if len(given) != X.shape[1]:
                raise ValueError(f"gamma has {len(given)} entries, but X has {X.shape[1]} features.")
            shape = np.maximum(given, 1e-12 * given.max())
        scaled = (X - self._centre) / spread
        observations = Observations(scaled, data.Y, data.weight, count, classify, loss)
        return MovedVectors(observations, shape, n_threads(self.n_jobs))

    def _selected(self, data: TrainingSet, count: Array, classify: bool, loss: Any) -> SelectedRows:
        named = self.kernel if isinstance(self.kernel, str) else ""
        has_width = named in ("rbf", "laplacian", "poly", "sigmoid")
        shape = self._shape(data.X, data.weight) if named in ("rbf", "laplacian") else None
        X = data.X
        if self._is_precomputed:
            X = X[:, np.searchsorted(self._kept_rows, data.rows)]

        def kernel_of(width: float) -> Kernel:
            if shape is not None:
                widths = tuple((width * shape).tolist())
                return RBF(widths) if named == "rbf" else Laplacian(widths)
            return as_kernel(self.kernel, width, self.degree, self.coef0)

        self._kernel_of = kernel_of
        observations = Observations(X, data.Y, data.weight, count, classify, loss)
        return SelectedRows(
            observations, kernel_of, has_width=has_width, n_features=data.X.shape[1],
            n_threads=n_threads(self.n_jobs),
        )  # fmt: skip

    def _largest(self, data: TrainingSet, kinds: tuple[str, ...]) -> int:
        """The most vectors the budgets allow."""
        n, d = data.X.shape
        d = 1 if self._is_precomputed else d
        k = data.Y.shape[1]
        n_widths = d if isinstance(self.kernel, str) and self.kernel in ("rbf", "laplacian") else 1
        largest = min(n, LARGEST if self.max_vectors is None else self.max_vectors)
        if self.max_bytes is not None:
            shape = {"n_features": d, "n_outputs": k, "dtype": self._data_dtype, "n_widths": n_widths}
            fits = max_vectors_for(bytes=self.max_bytes, **shape)
            if fits < 1:
                raise BudgetError(
                    f"max_bytes={self.max_bytes} is too small: a model of one vector with {d} features and {k} "
                    f"output(s) takes {bytes_for(1, **shape)} bytes in {np.dtype(self._data_dtype).name}. Raise it, "
                    "choose fewer features, or give X as float32."
                )
            largest = min(largest, fits)
        if self.max_latency_us is not None:
            largest = min(largest, self._fastest(largest, d, k))
        return largest

    def _fastest(self, largest: int, d: int, k: int) -> int:
        """The most vectors whose single-row latency, measured here, stays below the limit."""
        assert self.max_latency_us is not None
        wanted = LATENCY_MARGIN * self.max_latency_us

        def latency(m: int) -> float:
            zeros = np.zeros((m, d), dtype=self._data_dtype)
            ones = np.ones((m, k), dtype=self._data_dtype)
            expansion = KernelExpansion(
                RBF(tuple([1.0] * d)), zeros, ones, np.zeros(k, dtype=self._data_dtype)
            )
            return single_row_latency_us(expansion)

        low, high = 0, largest
        if latency(largest) <= wanted:
            return largest
        least = latency(1)
        if least > wanted:
            raise BudgetError(
                f"max_latency_us={self.max_latency_us:g} is too small: one row of {d} features takes "
                f"{least / LATENCY_MARGIN:.3g} microseconds on this machine with a single vector. Raise it to at "
                "least that."
            )
        low = 1
        while high - low > max(1, low // 16):
            middle = (low + high) // 2
            low, high = (middle, high) if latency(middle) <= wanted else (low, middle)
        return low

    def _store_model(self, model: Any, data: TrainingSet, choice: Choice) -> None:
        dtype = self._data_dtype
        centre, unit = self._target_scale
        coef, intercept = model.coef * unit, model.intercept * unit + centre
        if isinstance(model, RbfModel):
            self.gamma_ = np.exp(model.log_widths) / np.square(self._unit)
            vectors = (model.vectors * self._unit + self._centre).astype(dtype)
            expansion = KernelExpansion(RBF(self.gamma_), vectors, coef.astype(dtype), intercept.astype(dtype))
            self._store(expansion.compact(), None)
            del self._centre, self._unit
        else:
            assert isinstance(model, RowModel)
            kernel = self._kernel_of(choice.setting.width)
            self.gamma_ = np.asarray(getattr(kernel, "gamma", 1.0))[()]
            self._store_rows(
                data.X[model.rows], data.rows[model.rows], kernel, coef, intercept
            )
            del self._kernel_of
        del self._target_scale, self._data_dtype
        self._fast: tuple[Any, ...] | None = None

    def fast_outputs(self, X: Array) -> Array:  # (n, n_outputs)
        """Outputs without any check of the input: a few microseconds for one row of a small model.

        Parameters
        ----------
        X : array of shape (n, d)
            C-contiguous, of the dtype of `support_vectors_`, finite; kernel "rbf" only.
        """
        fast = getattr(self, "_fast", None)
        if fast is None:
            check_is_fitted(self)
            if not isinstance(self._fitted_kernel(), RBF):
                raise ValueError("fast_outputs is there for kernel='rbf'; use expansion_ for other kernels.")
            widths = np.broadcast_to(np.asarray(self.gamma_, dtype=np.float64), (self.n_features_in_,))
            fast = self._fast = (
                np.ascontiguousarray(widths), np.ascontiguousarray(self.support_vectors_),
                np.ascontiguousarray(self.dual_coef_.T), self.intercept_,
            )  # fmt: skip
        widths, vectors, coef, intercept = fast
        return _core.expansion("rbf", 0.0, 0.0, 0, widths, X, vectors, coef, intercept, 1)


def _can_be_dense(X: Rows) -> bool:
    return not sparse.issparse(X) or 8 * X.shape[0] * X.shape[1] <= DENSE_BYTES


def _spread(X: Rows, weight: Array) -> Array:  # (d,)
    """Standard deviation of each feature, or what its quartiles say where there are gross outliers."""
    share = weight / weight.sum()
    if sparse.issparse(X):
        X64 = X.astype(np.float64)
        mean = np.asarray(share @ X64).ravel()
        spread = np.sqrt(np.maximum(np.asarray(share @ X64.power(2)).ravel() - np.square(mean), 0.0))
    else:
        X64 = np.asarray(X, dtype=np.float64)
        mean = share @ X64
        spread = np.sqrt(share @ np.square(X64 - mean))
        low, high = np.quantile(X64, [0.25, 0.75], axis=0)
        robust = (high - low) / QUARTILES
        spread = np.where((robust > 0) & (spread > OUTLIERS * robust), robust, spread)
    size = np.abs(mean)
    return np.where(spread > 1e-12 * np.maximum(size, 1e-300), spread, 1.0)


class CompactSVC(_Compact, KernelClassifier):
    """Classifier with very few vectors, which are learnt; everything left at its default is chosen inside.

    Vectors, coefficients and, if it helps, widths of a Gaussian expansion are optimised together; width,
    regularisation and size are found by cross-validation inside `fit`.

    Parameters
    ----------
    max_vectors : int or None, default=None
        The most vectors; None lets cross-validation decide alone.
    max_bytes : int or None, default=None
        The most bytes of the numbers the model consists of, in the dtype of X (`slimsvm.budget.stored_bytes`:
        what constant tables in C take).
    max_latency_us : float or None, default=None
        The most microseconds for one row through `expansion_`, measured on this machine.
    C : float or None, default=None
        Inverse of the regularisation, as in scikit-learn; None searches.
    gamma : float, array of shape (n_features,), "scale", "auto" or None, default=None
        Width of the kernel on the inputs as they are scaled inside; None searches.
    widths : {"auto", "one", "per_feature"}, default="auto"
        Whether the kernel has one width (for scaled inputs) or learns one for each feature; "auto" decides by
        cross-validation.
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
    gamma_ : array of shape (n_features,) or float
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
        **_Compact._compact_constraints,
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

    @_fit_context(prefer_skip_nested_validation=True)
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
        X, codes, Y, weight, rows = self._check_classes(X, y, sample_weight)
        given = np.ones(len(weight))
        if sample_weight is not None:
            given = np.asarray(sample_weight, dtype=np.float64)[rows]
        self._kept_rows = rows
        data = with_equal_targets(X, codes, Y, weight, rows)
        groups = data.Y.argmax(axis=1) if data.Y.shape[1] > 1 else (data.Y[:, 0] > 0).astype(np.intp)
        first = [int(np.flatnonzero(codes == kind)[0]) for kind in range(len(self.classes_))]
        factor = (weight / given)[first]
        count = whole_counts(np.round(data.weight / factor[groups], 9), FOLDS)
        self._target_scale = (0.0, 1.0)
        choice = self._fit_compact(data, count, True, RoundedHinge())
        del self._kept_rows
        enough = len(choice.outputs) > 0
        self.temperature_ = fit_temperature(choice.outputs, choice.groups, choice.weight) if enough else 1.0
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
        codes = (outputs[:, 0] > 0).view(np.int8) if outputs.shape[1] == 1 else outputs.argmax(axis=1)
        predicted: Array = self.classes_[codes]
        return predicted


class CompactSVR(_Compact, KernelRegressor):
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
        **_Compact._compact_constraints,
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

    @_fit_context(prefer_skip_nested_validation=True)
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
        X, Y, weight, rows = self._check_targets(X, y, sample_weight)
        self._kept_rows = rows
        share = weight / weight.sum()
        centre = share @ Y
        unit = np.sqrt(share @ np.square(Y - centre))
        unit = np.where(unit > 1e-12 * np.maximum(np.abs(centre), 1e-300), unit, 1.0)
        self._target_scale = (centre, unit)
        _, codes = np.unique(Y, axis=0, return_inverse=True)
        data = with_equal_targets(X, codes.ravel(), (Y - centre) / unit, weight, rows)
        loss: Any = Squared()
        if self.loss == "epsilon_insensitive":
            epsilon = self.epsilon / float(unit.mean())
            loss = RoundedInsensitive(epsilon, rounding=max(0.05, min(0.25, epsilon)))
        self._fit_compact(data, whole_counts(np.round(data.weight, 9), FOLDS), False, loss)
        del self._kept_rows
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
