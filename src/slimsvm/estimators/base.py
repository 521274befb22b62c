"""What all estimators share: parameters, validation, labels, weights, prediction.

A fitted estimator holds plain arrays; `expansion_` puts them together as a `KernelExpansion`, which does all
the evaluating.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from ..expansion import KernelExpansion
from ..kernels import KERNELS, RBF, Kernel, Precomputed, as_kernel, resolve_gamma
from ..plain_rows import plain_outputs
from ..problem import KernelGram
from ..rows import Array, Rows, as_rows
from ..threads import n_threads as n_threads
from ..threads import one_blas_thread as one_blas_thread
from .training import TrainingSet, class_weights


class KernelEstimator(BaseEstimator):
    """Parameters every kernel machine has, and what follows from them alone."""

    kernel: Any
    gamma: Any
    degree: int
    coef0: float
    random_state: Any
    n_jobs: int | None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(KERNELS)), HasMethods(["__call__", "diag", "expand"]), callable],
        "gamma": [
            StrOptions({"scale", "auto"}),
            Interval(Real, 0, None, closed="neither"),
            "array-like",
        ],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
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

    def _rng(self) -> np.random.Generator:
        """A generator of our own from `random_state`."""
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))

    def _check_fit_input(self, X: Any, y: Any, **y_options: Any) -> tuple[Rows, Any]:
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C",
            accept_large_sparse=True, **y_options,
        )  # fmt: skip
        if self._is_precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"X must be the square matrix of kernel values for kernel='precomputed', got shape {X.shape}."
            )
        return as_rows(X), y

    def _check_weight(self, sample_weight: Any, X: Rows) -> Array:
        """Sample weights as float64; at least one must be positive."""
        if sample_weight is None:
            return np.ones(X.shape[0])
        weight: Array = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not (weight > 0).any():
            raise ValueError("sample_weight must be positive for at least one row; all weights are zero.")
        return weight

    def _resolved_kernel(self, X: Rows, weight: Array) -> Kernel:
        """The kernel for these rows; stores `gamma_`."""
        if isinstance(self.kernel, str) and self.kernel in ("rbf", "laplacian", "poly", "sigmoid"):
            self.gamma_ = resolve_gamma(self.gamma, X, weight)
            if isinstance(self.gamma_, np.ndarray) and len(self.gamma_) != X.shape[1]:
                raise ValueError(f"gamma has {len(self.gamma_)} entries, but X has {X.shape[1]} features.")
        return self._fitted_kernel()

    def _fitted_kernel(self) -> Kernel:
        return as_kernel(self.kernel, getattr(self, "gamma_", 1.0), self.degree, self.coef0)

    def _gram(self, kernel: Kernel, data: TrainingSet, rows: Array) -> KernelGram:
        """The kernel matrix of the training set; `rows` numbers the rows it was made from."""
        X = data.X
        if isinstance(kernel, Precomputed):
            X = X[:, np.searchsorted(rows, data.rows)]
        return KernelGram(kernel, X, n_threads(self.n_jobs))

    def _store(self, expansion: KernelExpansion, support: Array | None) -> None:
        self.support_vectors_ = expansion.vectors
        self.dual_coef_ = expansion.coef.T.copy()
        self.intercept_ = expansion.intercept.copy()
        self.n_vectors_ = expansion.n_vectors
        if support is not None:
            self.support_ = support

    def _store_rows(self, X: Rows, rows: Array, kernel: Kernel, alpha: Array, intercept: Array) -> None:
        """Store the expansion over training rows `rows` (X holds them) with coefficients alpha.

        Rows whose coefficients are all zero are left out, and equal rows become one vector.
        """
        used = np.flatnonzero((alpha != 0).any(axis=1))
        vectors = rows[used][:, None] if isinstance(kernel, Precomputed) else X[used]
        dtype = X.dtype
        expansion = KernelExpansion(kernel, vectors, alpha[used].astype(dtype), intercept.astype(dtype))
        compacted, kept = expansion.compact_with_rows()
        self._store(compacted, rows[used][kept])

    @property
    def expansion_(self) -> KernelExpansion:
        """The fitted model as a value."""
        check_is_fitted(self)
        return KernelExpansion(
            self._fitted_kernel(), self.support_vectors_, self.dual_coef_.T, self.intercept_
        )

    def _plain_outputs(self, X: Any) -> Array | None:  # (n, n_outputs)
        """Outputs for rows that need no check; None where `_outputs` has to take the careful way."""
        fitted = vars(self)
        if "support_vectors_" not in fitted or "feature_names_in_" in fitted:
            return None
        if isinstance(self.kernel, str):
            gamma = fitted.get("gamma_") if self.kernel == "rbf" else None
        else:
            gamma = self.kernel.gamma if type(self.kernel) is RBF else None
        if gamma is None:
            return None
        return plain_outputs(
            X, gamma, self.support_vectors_, self.dual_coef_.T, self.intercept_, n_threads(self.n_jobs)
        )

    def _outputs(self, X: Any) -> Array:  # (n, n_outputs)
        outputs = self._plain_outputs(X)
        if outputs is not None:
            return outputs
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=False
        )
        return self.expansion_(as_rows(X), n_threads=n_threads(self.n_jobs))


class KernelClassifier(ClassifierMixin, KernelEstimator):
    """Labels, class weights and the decision: the sign for two classes, the largest output for more."""

    class_weight: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelEstimator._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def _check_classes(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, Array, Array, Array, Array]:
        """Validated X, class codes, labels Y (n, k), weights and row numbers, without zero weights.

        Stores `classes_`. Rows of weight zero are as if absent.
        """
        X, y = self._check_fit_input(X, y)
        check_classification_targets(y)
        y = column_or_1d(y, warn=True)
        weight = self._check_weight(sample_weight, X)
        rows = np.flatnonzero(weight > 0)
        classes, codes = np.unique(y[rows], return_inverse=True)
        factors = class_weights(self.class_weight, classes, codes, weight[rows])
        if (factors == 0).any():
            rows = rows[factors[codes] > 0]
            classes, codes = np.unique(y[rows], return_inverse=True)
            factors = factors[factors > 0]
        if len(classes) < 2:
            raise ValueError(
                "y must have at least two classes among the rows of positive weight, but it has one class: "
                f"{classes.tolist()[0]!r}."
            )
        self.classes_ = classes
        labels = codes[:, None] == np.arange(len(classes))
        Y = np.where(labels[:, 1:] if len(classes) == 2 else labels, 1.0, -1.0)
        return (
            _rows_of(X, rows, self._is_precomputed),
            codes,
            Y,
            weight[rows] * factors[codes],
            rows,
        )

    def decision_function(self, X: Any) -> Array:
        """Outputs for the rows of X.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)

        Returns
        -------
        array of shape (n,) for two classes, (n, n_classes) for more
            Positive means the second class of `classes_`; with more classes the largest wins.
        """
        outputs = self._outputs(X)
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def predict(self, X: Any) -> Array:
        """Class of each row of X.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        outputs = self.decision_function(X)
        codes = self._winner(outputs) if outputs.ndim == 2 else outputs > 0
        predicted: Array = self.classes_.take(codes)
        return predicted

    def _winner(self, outputs: Array) -> Array:  # (n, n_classes) -> (n,)
        """The number of the class that wins each row."""
        winner: Array = outputs.argmax(axis=1)
        return winner


class KernelRegressor(RegressorMixin, KernelEstimator):
    """One output per target."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        # tanh of a product saturates: it is a poor basis for regression whatever the solver
        tags.regressor_tags.poor_score = isinstance(self.kernel, str) and self.kernel == "sigmoid"
        return tags

    def _check_targets(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, Array, Array, Array]:
        """Validated X, targets Y (n, k), weights and row numbers, without zero weights."""
        X, y = self._check_fit_input(X, y, multi_output=True, y_numeric=True)
        self._one_target = y.ndim == 1
        weight = self._check_weight(sample_weight, X)
        rows = np.flatnonzero(weight > 0)
        Y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)[rows]
        return _rows_of(X, rows, self._is_precomputed), Y, weight[rows], rows

    def predict(self, X: Any) -> Array:
        """Predicted target of each row of X.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)

        Returns
        -------
        array of shape (n,), or (n, n_targets) if y had two dimensions
        """
        outputs = self._outputs(X)
        return outputs[:, 0] if self._one_target else outputs


def _rows_of(X: Rows, rows: Array, precomputed: bool) -> Rows:
    if len(rows) == X.shape[0]:
        return X
    return X[rows][:, rows] if precomputed else X[rows]
