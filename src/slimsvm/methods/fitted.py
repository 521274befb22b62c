"""The one `predict`: a fitted model seen from outside, its parts and its answers."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from ..errors import ModelFormatError, check_version
from ..expansion import KernelExpansion
from ..inputs import Inputs
from ..kernels import Precomputed
from ..model import Model
from ..readout import fits_outputs
from ..rows import Array, Rows, as_rows, sound
from ..threads import n_threads, one_blas_thread

# Of what a pickle has: to be raised when the attributes of fitted estimators change.
STATE_VERSION = 1


class ConvertsMixin:
    """What skl2onnx asks an estimator for when it converts a pipeline.

    The answer is in the exports, which know estimators; nothing here knows them before skl2onnx asks.
    """

    def onnx_converter(self) -> Callable[..., None]:
        """How skl2onnx writes this estimator into a graph."""
        return import_module("slimsvm.export.onnx_pipeline").converter(type(self))

    def onnx_shape_calculator(self) -> Callable[..., None]:
        """How skl2onnx knows the types and shapes of what this estimator gives."""
        return import_module("slimsvm.export.onnx_pipeline").shape_calculator(type(self))


class FittedModel(ConvertsMixin, BaseEstimator):
    """A fitted model seen from outside: its parts, and its outputs for rows.

    A subclass has `expansion_` and `readout_` once it is fitted, as attributes or as properties.
    """

    expansion_: KernelExpansion
    readout_: Any
    n_jobs: int | None

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_slimsvm_state": STATE_VERSION}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the state of a pickle, joblib or skops file, if its parts fit together."""
        state = dict(state)
        name = type(self).__name__
        check_version(state.pop("_slimsvm_state", None), STATE_VERSION, f"the pickled {name}")
        super().__setstate__(state)
        if "model" not in state and "expansion_" not in state:  # not fitted
            return
        f, readout = self.expansion_, self.readout_
        features = vars(self).get("n_features_in_", f.n_features)
        names = vars(self).get("feature_names_in_")
        support = vars(self).get("support_")
        fits = (
            isinstance(f, KernelExpansion)
            and (names is None or len(names) == features)
            and (isinstance(f.kernel, Precomputed) or self.model_.inputs.n_numbers == f.n_features)
            and (support is None or np.shape(support) == (f.n_vectors,))
            and fits_outputs(readout, f.n_outputs)
        )
        if not fits:
            raise ModelFormatError(
                f"the parts of the pickled {name} do not fit together; fit it again, or load another copy."
            )

    @property
    def model_(self) -> Model:
        """The whole model as a value: inputs, expansion, readout."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        n_features = getattr(self, "n_features_in_", self.expansion_.n_features)
        return Model(
            Inputs(int(n_features), None if names is None else tuple(names)), self.expansion_, self.readout_
        )

    @property
    def support_vectors_(self) -> Any:
        """The vectors, of shape (n_vectors, n_features)."""
        check_is_fitted(self)
        return self.expansion_.vectors

    @property
    def dual_coef_(self) -> Array:
        """Coefficients of shape (n_outputs, n_vectors)."""
        check_is_fitted(self)
        return self.expansion_.coef.T

    @property
    def intercept_(self) -> Array:
        """Intercepts of shape (n_outputs,), added to the outputs."""
        check_is_fitted(self)
        return self.expansion_.intercept

    @property
    def n_vectors_(self) -> int:
        """Number of vectors."""
        check_is_fitted(self)
        return self.expansion_.n_vectors

    @property
    def gamma_(self) -> float | Array:
        """Width of the kernel, or factor of its products; an array if each feature has its own."""
        check_is_fitted(self)
        gamma = getattr(self.expansion_.kernel, "gamma", None)
        if gamma is None:
            raise AttributeError(f"the kernel of this {type(self).__name__} has no gamma.")
        return np.array(gamma) if isinstance(gamma, tuple) else gamma

    def _rows(self, X: Any) -> Rows:
        """Rows as the model takes them, checked."""
        check_is_fitted(self)
        return as_rows(
            validate_data(
                self, sound(X), accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=False
            )
        )

    def _outputs(self, X: Any) -> Array:  # (n, n_outputs)
        """Outputs of the expansion; rows that need no check take the short way."""
        threads = 1 if self.n_jobs is None else n_threads(self.n_jobs)
        if "feature_names_in_" not in self.__dict__:
            expansion: KernelExpansion | None = getattr(self, "expansion_", None)
            outputs = None if expansion is None else expansion.plain_outputs(X, threads)
            if outputs is not None:
                return outputs
        X = self._rows(X)
        with one_blas_thread():
            return self.expansion_(X, n_threads=threads)


class PredictsMixin:
    """`predict`: what the readout makes of the outputs."""

    def predict(self: Any, X: Any) -> Array:
        """Class or value of each row of X.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)

        Returns
        -------
        array of shape (n,), or (n, n_targets) for a model of several targets
        """
        outputs = self._outputs(X)
        return self.readout_.answer(outputs)


class DecidesMixin(PredictsMixin):
    """Classes, and the outputs that decide between them."""

    @property
    def classes_(self: Any) -> Array:
        """The class labels."""
        check_is_fitted(self)
        classes: Array = self.readout_.classes
        return classes

    def decision_function(self: Any, X: Any) -> Array:
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
        return self.readout_.scores(outputs)


class ProbabilitiesMixin:
    """`predict_proba`, for classifiers whose outputs have a probability."""

    def predict_proba(self: Any, X: Any) -> Array:
        """Probability of each class; the largest is that of the class `predict` gives.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)

        Returns
        -------
        array of shape (n, n_classes)
        """
        outputs = self._outputs(X)
        return self.readout_.probabilities(outputs)
