"""The one `fit`: what all estimators share (`fitted` has the one `predict`).

fit: validate -> TrainingSet -> kernel -> `_train`, which each method writes -> store. A fitted estimator holds two
values, `expansion_` and `readout_`, and what only its method knows; everything else is seen through them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ..expansion import KernelExpansion
from ..kernels import (
    KERNELS,
    Kernel,
    Linear,
    Precomputed,
    as_kernel,
    check_symmetric,
    check_symmetric_matrix,
    resolve_gamma,
)
from ..limits import check_width
from ..problem import check_finite
from ..readout import Readout, ValueReadout, label_readout
from ..rows import Array, as_rows, row_codes, sound
from ..threads import n_threads, one_blas_thread
from ..training import WEIGHTS_BETWEEN, Trained, TrainingSet, check_weights, class_weights, part_of_rows
from ..words import count
from .checks import check_products, check_targets, checked_weight, has_texts, texts_in_y
from .fitted import DecidesMixin, FittedModel, PredictsMixin
from .progress import CallbackSupportMixin, FitProgress

# What stays of a fitted estimator when its model is replaced by a smaller one.
KEPT = ("n_features_in_", "feature_names_in_", "n_iter_", "readout_")


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """Leave the estimator as it was if what is done within fails or is interrupted."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        # what scikit-learn keeps of a fit that is under way has no final underscore, and is taken away by itself
        for name in [name for name in vars(estimator) if name.endswith("_") and name not in before]:
            del vars(estimator)[name]
        vars(estimator).update(before)
        raise


@dataclass
class Run:
    """What a training run is given besides the data.

    Parameters
    ----------
    estimator : estimator
    progress : FitProgress
    """

    estimator: Any
    progress: FitProgress
    known: Any = None

    @cached_property
    def rng(self) -> np.random.Generator:
        """A generator of our own from `random_state`."""
        return np.random.default_rng(check_random_state(self.estimator.random_state).randint(2**31 - 1))

    @property
    def n_threads(self) -> int:
        """Threads for kernel values."""
        return n_threads(self.estimator.n_jobs)

    @property
    def name(self) -> str:
        """Name of the estimator, for messages."""
        return type(self.estimator).__name__

    def say(self, text: str) -> None:
        """Print what was found, if that is wanted."""
        self.progress.say(text)


class TrainedEstimator(CallbackSupportMixin, FittedModel):
    """How an estimator becomes a fitted one, or one around another expansion."""

    def __getattr__(self, name: str) -> Any:
        if name in ("expansion_", "readout_"):
            check_is_fitted(self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _store(self, trained: Trained, readout: Readout) -> None:
        """Become the trained model; nothing of an earlier fit stays."""
        new: dict[str, Any] = {
            "expansion_": trained.expansion,
            "readout_": readout,
            "n_iter_": trained.n_iter,
        }
        if trained.support is not None:
            new["support_"] = trained.support
        self._forget(("n_features_in_", "feature_names_in_"))
        self.__dict__.update(new | dict(trained.extras))

    def _forget(self, keep: tuple[str, ...]) -> None:
        """Drop every fitted attribute but these."""
        for name in [name for name in vars(self) if name.endswith("_") and name not in keep]:
            delattr(self, name)

    def _with_expansion(self, expansion: KernelExpansion, support: Array | None) -> Self:
        """The same estimator around another expansion; what belongs to the old one only is left out."""
        other = copy.copy(self)
        other._forget(KEPT)
        other.expansion_ = expansion
        if support is not None:
            other.__dict__["support_"] = support
        return other


class KernelEstimator(TrainedEstimator):
    """Parameters every kernel machine has, and how it is fitted."""

    kernel: Any
    gamma: Any
    degree: int
    coef0: float
    random_state: Any

    # what `_train` consists of, as scikit-learn's callbacks see it, where that is known beforehand
    _stages: ClassVar[tuple[str, ...] | None] = None
    # whether equal rows become one only where their targets are equal too; otherwise their target is the mean
    _merges_equal_targets: ClassVar[bool] = True
    # whether the method holds numbers for every column of X, those without an entry too
    _needs_every_column: ClassVar[bool] = False
    _weights_between: ClassVar[tuple[float, float]] = WEIGHTS_BETWEEN

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(KERNELS)), HasMethods(["__call__", "diag", "expand"]), callable],
        "gamma": [
            StrOptions({"scale", "auto"}),
            Interval(Real, 0, None, closed="neither"),
            "array-like",
        ],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._is_precomputed
        return tags

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed) or (
            isinstance(self.kernel, str) and self.kernel == "precomputed"
        )

    def _train(self, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
        """Train on data whose equal rows are merged: what a method is."""
        raise NotImplementedError

    def _training_set(self, X: Any, y: Any, sample_weight: Any) -> tuple[TrainingSet, Any]:
        """Validated data without rows of weight zero, and what `_readout` needs to know of y."""
        raise NotImplementedError

    def _readout(self, known: Any, trained: Trained) -> Readout:
        """How the outputs are answered."""
        raise NotImplementedError

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """The way from data to a fitted estimator, the same for all methods."""
        with self._fitting(X, y, sample_weight) as progress:
            data, run = self._prepared(X, y, sample_weight, progress)
            run.say(f"{count(data.n, 'distinct row')} of {count(data.X.shape[1], 'feature')}")
            self._end(self._train(data, self._usable_kernel(data), run), run)
        return self

    @contextmanager
    def _fitting(self, X: Any, y: Any, sample_weight: Any) -> Iterator[FitProgress]:
        """What is around every fit: it changes nothing if it fails, and tells its progress."""
        n_stages = None if self._stages is None else len(self._stages)
        progress = FitProgress(self, n_stages, X, y, sample_weight)
        with unchanged_on_failure(self), one_blas_thread(), progress:
            yield progress
            progress.finish()

    def _prepared(self, X: Any, y: Any, sample_weight: Any, progress: FitProgress) -> tuple[TrainingSet, Run]:
        """The training set with equal rows merged, and the run it is for."""
        data, known = self._training_set(X, y, sample_weight)
        if self._is_precomputed:
            check_symmetric_matrix(data.X, data.rows)
        data = data.merged_by_row_and_target() if self._merges_equal_targets else data.merged_by_row()
        if self._needs_every_column:
            check_width(data.X)
        return data, Run(self, progress, known)

    def _usable_kernel(self, data: TrainingSet) -> Kernel:
        """The kernel for these rows, whose products it can tell from rounding; a user's own is symmetric."""
        kernel = self._kernel_for(data)
        if isinstance(kernel, Linear):
            check_products(data.X)
        if not isinstance(kernel, tuple(KERNELS.values())):
            check_symmetric(kernel, data.X)
        return kernel

    def _end(self, trained: Trained, run: Run) -> None:
        """Say what came of it, and become it."""
        vectors, iterations = count(trained.expansion.n_vectors, "vector"), count(trained.n_iter, "iteration")
        run.say(f"done: {vectors} after {iterations}")
        self._store(trained, self._readout(run.known, trained))

    def _checked(self, X: Any, y: Any, **options: Any) -> Any:
        """X, or X and y, as training takes them."""
        try:
            checked = validate_data(
                self, sound(X), y, accept_sparse="csr", dtype=[np.float64, np.float32],
                order="C", accept_large_sparse=True, **options,
            )  # fmt: skip
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            name = type(self).__name__
            if not has_texts(X):
                raise texts_in_y(name, error) from None
            raise ValueError(
                f"X has texts ({error}), and {name} takes numbers: put a TableEncoder before it, as in "
                f"make_pipeline(TableEncoder(), {name}())."
            ) from None
        rows = as_rows(checked if isinstance(y, str) else checked[0])
        if self._is_precomputed and rows.shape[0] != rows.shape[1]:
            raise ValueError(
                f"X must be the square matrix of kernel values for kernel='precomputed', got shape {rows.shape}."
            )
        if self._is_precomputed:
            check_finite(rows if isinstance(rows, np.ndarray) else rows.data)
        return rows if isinstance(y, str) else (rows, checked[1])

    def _kernel_for(self, data: TrainingSet) -> Kernel:
        """The kernel that `kernel` and `gamma` name, for these rows."""
        gamma: float | Array = 1.0
        if isinstance(self.kernel, str) and self.kernel in ("rbf", "laplacian", "poly", "sigmoid"):
            gamma = resolve_gamma(self.gamma, data.X, data.weight)
            if isinstance(gamma, np.ndarray) and len(gamma) != data.X.shape[1]:
                raise ValueError(f"gamma has {len(gamma)} entries, but X has {data.X.shape[1]} features.")
        return as_kernel(self.kernel, gamma, self.degree, self.coef0)


class _FitsMixin:
    """`fit` on rows and targets."""

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train the machine; an estimator whose fit fails or is interrupted stays as it was.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)
            For kernel="precomputed" the square matrix of kernel values.
        y : array-like of shape (n,), or (n, n_targets) for several targets
            Labels of any type for classifiers, numbers for regression.
        sample_weight : array-like of shape (n,) or None
            A row of weight 2 is a row twice, a row of weight 0 is absent.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)


class KernelClassifier(_FitsMixin, DecidesMixin, ClassifierMixin, KernelEstimator):
    """Labels, class weights and the decision: the sign for two classes, the largest output for more."""

    class_weight: Any

    # whether outputs are compared to half their digits
    _half_digits: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelEstimator._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def _training_set(self, X: Any, y: Any, sample_weight: Any) -> tuple[TrainingSet, Array]:
        return classified(self, X, y, sample_weight)

    def _readout(self, known: Array, trained: Trained) -> Readout:
        return label_readout(known, trained.probability, half_digits=self._half_digits)


def classified(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[TrainingSet, Array]:
    """The training set of a classifier, and its classes."""
    X, y = model._checked(X, y)
    check_classification_targets(y)
    y = column_or_1d(y, warn=True)
    weight = checked_weight(sample_weight, X)
    rows = np.flatnonzero(weight > 0)
    classes, codes = np.unique(y[rows], return_inverse=True)
    factors = class_weights(model.class_weight, classes, codes, weight[rows])
    if (factors == 0).any():
        rows = rows[factors[codes] > 0]
        classes, codes = np.unique(y[rows], return_inverse=True)
        factors = factors[factors > 0]
    if len(classes) < 2:
        raise ValueError(
            "y must have at least two classes among the rows of positive weight, but it has one class: "
            f"{classes.tolist()[0]!r}."
        )
    with np.errstate(over="ignore"):
        weight = weight[rows] * factors[codes]
    check_weights(weight, model._weights_between, getattr(model, "C", None))
    data = TrainingSet(
        X=part_of_rows(X, rows, model._is_precomputed),
        Y=label_readout(classes).signs(codes),
        weight=weight,
        rows=rows,
        codes=codes,
        classify=True,
        precomputed=model._is_precomputed,
    )
    return data, classes


class KernelRegressor(_FitsMixin, PredictsMixin, RegressorMixin, KernelEstimator):
    """One output per target."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        # tanh of a product saturates: it is a poor basis for regression whatever the solver
        tags.regressor_tags.poor_score = isinstance(self.kernel, str) and self.kernel == "sigmoid"
        return tags

    def _training_set(self, X: Any, y: Any, sample_weight: Any) -> tuple[TrainingSet, bool]:
        X, y = self._checked(X, sound(y, "y"), multi_output=True, y_numeric=True)
        weight = checked_weight(sample_weight, X, self._weights_between)
        rows = np.flatnonzero(weight > 0)
        check_weights(weight, C=getattr(self, "C", None))
        try:
            Y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)[rows]
        except ValueError as error:
            raise texts_in_y(type(self).__name__, error) from None
        check_targets(Y, X.dtype)
        data = TrainingSet(
            X=part_of_rows(X, rows, self._is_precomputed),
            Y=Y,
            weight=weight[rows],
            rows=rows,
            codes=row_codes(Y),
            precomputed=self._is_precomputed,
        )
        return data, y.ndim == 1

    def _readout(self, known: bool, trained: Trained) -> Readout:
        return ValueReadout(one_target=known)
