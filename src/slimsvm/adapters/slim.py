"""Fitted models made of a `Model` alone: what `reduce` gives back for models of scikit-learn."""

from __future__ import annotations

import copy
from typing import Any, NoReturn, Self

import numpy as np
from sklearn.base import ClassifierMixin, OutlierMixin, RegressorMixin, TransformerMixin
from sklearn.utils.validation import check_array

from ..expansion import KernelExpansion
from ..kernels import RBF, Precomputed
from ..methods.density.bandwidth import log_of_sum
from ..methods.fitted import DecidesMixin, FittedModel, PredictsMixin, ProbabilitiesMixin
from ..model import Model
from ..readout import DensityReadout, FeaturesReadout, InlierReadout, Readout, ValueReadout
from ..rows import Array, Rows, as_rows
from ..threads import n_threads, one_blas_thread


class SlimModel(FittedModel):
    """A model with the interface of the estimator it came from; it is fitted and stays so.

    Parameters
    ----------
    model : Model
    n_jobs : int or None
        Threads for predictions; None means 1, -1 all processors.
    """

    model: Model

    def __init__(self, model: Model, *, n_jobs: int | None = None) -> None:
        self.model = model
        self.n_jobs = n_jobs

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> Self:
        return copy.copy(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(self.expansion_.kernel, Precomputed)
        return tags

    def fit(self, X: Any, y: Any = None) -> NoReturn:
        """Refuse: a reduced model has nothing to fit."""
        raise TypeError(
            f"{type(self).__name__} is a reduced model and cannot be fitted; fit the estimator it came "
            "from and call slimsvm.reduce again, or use slimsvm.Reduced(estimator), which does both."
        )

    @property
    def expansion_(self) -> KernelExpansion:  # type: ignore[override]
        """Kernel, vectors, coefficients and intercept."""
        return self.model.expansion

    @property
    def readout_(self) -> Readout:
        """How outputs become answers."""
        return self.model.readout

    @property
    def model_(self) -> Model:
        """The whole model as a value: inputs, expansion, readout."""
        return self.model

    def _outputs(self, X: Any) -> Array:  # (n, n_outputs)
        """Outputs of the expansion; raw rows become numbers first."""
        if self.model.inputs.columns is None:
            return super()._outputs(X)
        rows = self._rows(X)
        with one_blas_thread():
            return self.expansion_(rows, n_threads=n_threads(self.n_jobs))

    def _rows(self, X: Any) -> Rows:
        """Rows as the expansion takes them, checked."""
        if self.model.inputs.columns is None:
            return super()._rows(X)
        return as_rows(check_array(self.model.inputs(X), accept_sparse="csr", dtype=[np.float64, np.float32]))


class SlimClassifier(DecidesMixin, ClassifierMixin, SlimModel):
    """Two classes by sign, several by the votes of all pairs or by the largest output."""


class SlimProbabilisticClassifier(ProbabilitiesMixin, SlimClassifier):
    """The same with probabilities, for a model that had them."""


class SlimRegressor(PredictsMixin, RegressorMixin, SlimModel):
    """One output per target."""


class SlimOutlierDetector(PredictsMixin, OutlierMixin, SlimModel):
    """Positive outputs are inliers."""

    readout_: InlierReadout

    @property
    def offset_(self) -> float:
        """The difference between `score_samples` and `decision_function`."""
        return self.readout_.offset

    def decision_function(self, X: Any) -> Array:
        """Signed distance to the boundary: positive for inliers.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        return self.readout_.scores(self._outputs(X))

    def score_samples(self, X: Any) -> Array:
        """Output without the offset.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        return self.readout_.raw_scores(self._outputs(X))


class SlimTransformer(TransformerMixin, SlimModel):
    """The outputs as new features."""

    readout_: FeaturesReadout

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the new features; `input_features` is not used."""
        return self.readout_.names(self.expansion_.n_outputs)

    def transform(self, X: Any) -> Array:
        """Outputs for the rows of X.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)

        Returns
        -------
        array of shape (n, n_outputs)
        """
        return self.readout_.answer(self._outputs(X))


class SlimDensity(SlimModel):
    """The logarithm of the output as that of a density."""

    readout_: DensityReadout

    def score_samples(self, X: Any) -> Array:
        """Log-density of each row of X.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        f = self.expansion_
        if not (isinstance(f.kernel, RBF) and isinstance(f.kernel.gamma, float) and f.projection is None):
            return self.readout_.answer(self._outputs(X))
        # far from all vectors the output is too small for its type, but not its logarithm
        X, vectors = (as_rows(rows).astype(np.float64) for rows in (self._rows(X), f.vectors))
        logarithm: Array = log_of_sum(X, vectors, f.coef[:, 0].astype(np.float64), f.kernel.gamma)
        return logarithm + self.readout_.log_unit

    def score(self, X: Any, y: Any = None) -> float:
        """Total log-likelihood of the rows of X.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)
        y : ignored

        Returns
        -------
        float
        """
        return float(self.score_samples(X).sum())


def slim(model: Model) -> SlimModel:
    """The estimator around a model that its readout calls for."""
    if isinstance(model.readout, ValueReadout):
        return SlimRegressor(model)
    if isinstance(model.readout, InlierReadout):
        return SlimOutlierDetector(model)
    if isinstance(model.readout, FeaturesReadout):
        return SlimTransformer(model)
    if isinstance(model.readout, DensityReadout):
        return SlimDensity(model)
    if getattr(model.readout, "probability", None) is not None:
        return SlimProbabilisticClassifier(model)
    return SlimClassifier(model)
