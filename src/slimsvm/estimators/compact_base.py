"""What `CompactSVC` and `CompactSVR` share: budgets, scaling, the search, and storing what it found."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..budget import bytes_for, kernel_numbers, max_vectors_for, single_row_latency_us
from ..compact import (
    Choice,
    Limits,
    Machine,
    MovedVectors,
    Observations,
    RowModel,
    SelectedRows,
    choose,
)
from ..compact.search import LARGEST
from ..errors import BudgetError
from ..expansion import KernelExpansion
from ..kernels import RBF, Kernel, Laplacian, as_kernel, one_if_equal, resolve_gamma
from ..refinement import RbfModel
from ..rows import Array, Rows
from ..words import count as counted
from .base import KernelEstimator, n_threads, one_blas_thread
from .progress import CallbackSupportMixin, FitProgress
from .training import TrainingSet

# CSR rows are made dense, so that vectors can move, if they then take at most this.
DENSE_BYTES = 2**29
# widths="auto" tries a width for each of at most this many features: those of more, such as pixels, are learnt
# at a cost that has not paid.
LEARNT_FEATURES = 128
# A feature whose standard deviation is more than this many times what its quartiles say has gross outliers.
OUTLIERS = 10.0
# Features whose variances are within this factor are on one scale already.
SAME_SCALE = 2.0
# Standard deviations between the quartiles of a normal distribution.
QUARTILES = 1.349
# What a fit consists of, as callbacks see it.
STAGES = ("search of settings and sizes", "last refinement")
# A measured latency may vary by this share; models are kept that far below the limit.
LATENCY_MARGIN = 0.8


class Compact(CallbackSupportMixin, KernelEstimator):
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

    def _fit_compact(
        self, data: TrainingSet, count: Array, classify: bool, loss: Any, progress: FitProgress
    ) -> Choice:
        """Search, train and store; the targets are labels, or already of variance one."""
        rng = self._rng()
        best: tuple[Any, int] | None = None  # model and iterations
        searching = True

        def report(text: str) -> None:
            self._say(text)
            # a callback that asks to stop is as good as Ctrl-C, once there is something to keep
            if progress.step(text) and (searching or best is not None):
                raise KeyboardInterrupt

        progress.stage(STAGES[0])
        self._data_dtype = data.X.dtype
        moved = self.refine and self.kernel == "rbf" and _can_be_dense(data.X)
        with one_blas_thread():
            make = self._moved if moved else self._selected
            machine: Machine = make(data, count, classify, loss)
            kinds = self._kinds(moved, data.X.shape[1])
            width = self._given_width(data.X)
            penalty = None if self.C is None else 1.0 / self.C
            largest = self._largest(data, moved)
            limits = Limits(largest, self.max_vectors is not None, width, penalty, kinds)
            threads = n_threads(self.n_jobs)
            choice = choose(machine, limits, rng, n_threads=threads, report=report)
            searching = False
            self._say(f"chosen: {counted(choice.sizes[-1], 'vector')}, widths {choice.setting.widths}")
            interrupted = progress.stage(STAGES[1]) or choice.interrupted
            try:
                for best in choice.machine.last(
                    choice.setting, choice.sizes, rng, report, to_the_end=choice.to_the_end
                ):
                    if interrupted:
                        break
                    if progress.step(f"a model of {counted(best[0].n_vectors, 'vector')}"):
                        raise KeyboardInterrupt
            except KeyboardInterrupt:
                if best is None:
                    raise
                interrupted = True
        assert best is not None
        if interrupted:
            warnings.warn(
                f"{type(self).__name__} was interrupted; the model has {counted(best[0].n_vectors, 'vector')}, "
                "chosen by what was known by then. Fit again without interruption for the best one.",
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

    def _kinds(self, moved: bool, n_features: int) -> tuple[str, ...]:
        if not moved:
            return ("fixed",)
        if self.widths == "per_feature":
            return ("per_feature",)
        one = "one" if self.gamma is None else "fixed"
        both = self.widths == "auto" and 1 < n_features <= LEARNT_FEATURES
        return (one, "per_feature") if both else (one,)

    def _given_width(self, X: Rows) -> float | None:
        """The width that `gamma` names; one width for each feature is the scaling's, and the factor on it 1."""
        if self.gamma is None:
            return None
        if np.ndim(self.gamma) == 1:
            return 1.0
        # on scaled inputs "scale" is "auto"
        return float(resolve_gamma("auto", X) if isinstance(self.gamma, str) else self.gamma)

    def _given_widths(self, X: Rows) -> Array | None:  # (d,)
        """The widths of the features that `gamma` names, if it does."""
        if np.ndim(self.gamma) != 1:
            return None
        given = np.asarray(resolve_gamma(self.gamma, X))
        if len(given) != X.shape[1]:
            raise ValueError(f"gamma has {len(given)} entries, but X has {X.shape[1]} features.")
        return given

    def _shape(self, X: Rows, weight: Array) -> Array:  # (d,)
        """Width of each feature relative to that of the setting, in the units of X."""
        spread = _spread(X, weight) if self.scale else np.ones(X.shape[1])
        shape = 1.0 / (spread if self.kernel == "laplacian" else np.square(spread))
        given = self._given_widths(X)
        return shape if given is None else shape * given

    def _moved(self, data: TrainingSet, count: Array, classify: bool, loss: Any) -> MovedVectors:
        X = data.X.toarray() if sparse.issparse(data.X) else data.X
        X = np.ascontiguousarray(X, dtype=np.float64)
        self._centre = (data.weight @ X) / data.weight.sum()
        spread = _spread(X, data.weight) if self.scale else np.ones(X.shape[1])
        self._unit = spread
        # each feature by its own spread, or all by one: ridge regression decides
        shapes = [np.ones(X.shape[1])]
        if self.scale:
            raw = np.maximum(np.square(spread), 1e-12 * np.square(spread).max())
            if raw.max() > SAME_SCALE * raw.min():
                shapes.append(raw / raw.mean())
        given = self._given_widths(X)
        if given is not None:
            shapes = [np.maximum(given, 1e-12 * given.max())]
        scaled = (X - self._centre) / spread
        observations = Observations(scaled, data.Y, data.weight, count, classify, loss)
        return MovedVectors(observations, shapes, n_threads(self.n_jobs))

    def _selected(self, data: TrainingSet, count: Array, classify: bool, loss: Any) -> SelectedRows:
        named = self.kernel if isinstance(self.kernel, str) else ""
        has_width = named in ("rbf", "laplacian", "poly", "sigmoid")
        shape = self._shape(data.X, data.weight) if named in ("rbf", "laplacian") else None
        X = data.X
        if self._is_precomputed:
            X = X[:, np.searchsorted(self._kept_rows, data.rows)]

        def kernel_of(width: float) -> Kernel:
            if shape is not None:
                widths = one_if_equal(width * shape)
                return RBF(widths) if named == "rbf" else Laplacian(widths)
            return as_kernel(self.kernel, width, self.degree, self.coef0)

        observations = Observations(X, data.Y, data.weight, count, classify, loss)
        return SelectedRows(
            observations, kernel_of, has_width=has_width, n_features=data.X.shape[1],
            n_threads=n_threads(self.n_jobs),
        )  # fmt: skip

    def _largest(self, data: TrainingSet, moved: bool) -> int:
        """The most vectors the budgets allow."""
        n, d = data.X.shape
        d = 1 if self._is_precomputed else d
        k = data.Y.shape[1]
        n_widths = kernel_numbers(self._widest_kernel(d))
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
            largest = min(largest, self._fastest(largest, data, moved))
        return largest

    def _widest_kernel(self, d: int) -> Kernel:
        """The kernel with as many widths as it may have for d features."""
        per_feature = isinstance(self.kernel, str) and self.kernel in ("rbf", "laplacian")
        return as_kernel(self.kernel, (1.0,) * d if per_feature else 1.0, self.degree, self.coef0)

    def _fastest(self, largest: int, data: TrainingSet, moved: bool) -> int:
        """The most vectors whose single-row latency, measured here, stays below the limit.

        The models measured have training rows as vectors and the estimator's kernel; the row is a training row.
        """
        assert self.max_latency_us is not None
        wanted = LATENCY_MARGIN * self.max_latency_us
        d, k = data.X.shape[1], data.Y.shape[1]
        kernel = self._widest_kernel(d)
        row = data.X[:1]

        def latency(m: int) -> float:
            vectors: Rows = np.arange(m)[:, None] if self._is_precomputed else data.X[:m]
            if moved and sparse.issparse(vectors):
                vectors = vectors.toarray()
            coef = np.ones((m, k), dtype=self._data_dtype)
            expansion = KernelExpansion(kernel, vectors, coef, np.zeros(k, dtype=self._data_dtype))
            return single_row_latency_us(expansion, row=row)

        if latency(largest) <= wanted:
            return largest
        least = latency(1)
        if least > wanted:
            raise BudgetError(
                f"max_latency_us={self.max_latency_us:g} is too small: one row of {d} features takes "
                f"{least / LATENCY_MARGIN:.3g} microseconds on this machine with a single vector. Raise it to at "
                "least that."
            )
        low, high = 1, largest
        while high - low > max(1, low // 16):
            middle = (low + high) // 2
            low, high = (middle, high) if latency(middle) <= wanted else (low, middle)
        return low

    def _store_model(self, model: Any, data: TrainingSet, choice: Choice) -> None:
        dtype = self._data_dtype
        centre, unit = self._target_scale
        coef, intercept = model.coef * unit, model.intercept * unit + centre
        if isinstance(model, RbfModel):
            self.gamma_ = one_if_equal(np.exp(model.log_widths) / np.square(self._unit))
            vectors = (model.vectors * self._unit + self._centre).astype(dtype)
            expansion = KernelExpansion(
                RBF(self.gamma_), vectors, coef.astype(dtype), intercept.astype(dtype)
            )
            self._store(expansion.compact(), None)
            del self._centre, self._unit
        else:
            assert isinstance(model, RowModel)
            self.gamma_ = np.asarray(getattr(model.kernel, "gamma", 1.0))[()]
            self._store_rows(data.X[model.rows], data.rows[model.rows], model.kernel, coef, intercept)
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
