"""Fitted models made of an expansion alone: what `reduce` gives back for models of scikit-learn."""

from __future__ import annotations

import copy
from typing import Any, NoReturn, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin, TransformerMixin
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import validate_data

from ..expansion import KernelExpansion
from ..kernels import RBF, Precomputed
from ..methods.base import n_threads
from ..plain_rows import plain_outputs
from ..rows import Array, as_rows


class SlimModel(BaseEstimator):
    """An expansion with the interface of the model it came from; it is fitted and stays so.

    Parameters
    ----------
    expansion : KernelExpansion
    n_jobs : int or None
        Threads for predictions; None means 1, -1 all processors.
    """

    expansion: KernelExpansion
    n_jobs: int | None

    def __init__(self, expansion: KernelExpansion, *, n_jobs: int | None = None) -> None:
        self.expansion = expansion
        self.n_jobs = n_jobs

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> Self:
        return copy.copy(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(self.expansion.kernel, Precomputed)
        return tags

    def fit(self, X: Any, y: Any = None) -> NoReturn:
        """Refuse: a reduced model has nothing to fit."""
        raise TypeError(
            f"{type(self).__name__} is a reduced model and cannot be fitted; fit the estimator it came "
            "from and call slimsvm.reduce again, or use slimsvm.Reduced(estimator), which does both."
        )

    @property
    def expansion_(self) -> KernelExpansion:
        """The model as a value."""
        return self.expansion

    @property
    def support_vectors_(self) -> Any:
        """The vectors, of shape (n_vectors, n_features)."""
        return self.expansion.vectors

    @property
    def dual_coef_(self) -> Array:
        """Coefficients of shape (n_outputs, n_vectors)."""
        return self.expansion.coef.T

    @property
    def intercept_(self) -> Array:
        """Intercepts of shape (n_outputs,)."""
        return self.expansion.intercept

    @property
    def n_vectors_(self) -> int:
        """Number of vectors."""
        return self.expansion.n_vectors

    def _outputs(self, X: Any) -> Array:  # (n, n_outputs)
        f = self.expansion
        if type(f.kernel) is RBF and "feature_names_in_" not in vars(self):
            threads = n_threads(self.n_jobs)
            outputs = plain_outputs(X, f.kernel.gamma, f.vectors, f.coef, f.intercept, threads)
            if outputs is not None:
                return outputs
        X = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=False
        )
        return self.expansion(as_rows(X), n_threads=n_threads(self.n_jobs))


class SlimClassifier(ClassifierMixin, SlimModel):
    """Two classes by sign, or several by the votes of all pairs, as `sklearn.svm.SVC` does it.

    Parameters
    ----------
    expansion : KernelExpansion
        One output for two classes (positive means the second), one for each pair i < j of more classes in
        the order (0, 1), (0, 2), ..., (1, 2), ... (positive means i).
    classes : array of shape (n_classes,)
    decision_function_shape : {"ovr", "ovo"}
        What `decision_function` gives for more than two classes.
    break_ties : bool
        Whether equal votes are decided by the outputs; otherwise the first class wins.
    n_jobs : int or None
    """

    def __init__(
        self,
        expansion: KernelExpansion,
        classes: Array,
        *,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(expansion, n_jobs=n_jobs)
        self.classes = classes
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties

    @property
    def classes_(self) -> Array:
        """The class labels."""
        return self.classes

    def decision_function(self, X: Any) -> Array:
        """Outputs for the rows of X, as the original model gives them.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)

        Returns
        -------
        array of shape (n,), (n, n_classes) or (n, n_classes * (n_classes - 1) / 2)
        """
        outputs = self._outputs(X)
        if len(self.classes) == 2:
            return outputs[:, 0]
        return self._by_class(outputs) if self.decision_function_shape == "ovr" else outputs

    def _by_class(self, outputs: Array) -> Array:  # (n, n_pairs) -> (n, n_classes)
        scores: Array = _ovr_decision_function(outputs < 0, -outputs, len(self.classes))
        return scores

    def predict(self, X: Any) -> Array:
        """Class of each row of X.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        outputs = self._outputs(X)
        k = len(self.classes)
        if k == 2:
            codes = (outputs[:, 0] >= 0).astype(np.intp)
        elif self.break_ties and self.decision_function_shape == "ovr":
            codes = self._by_class(outputs).argmax(axis=1)
        else:
            codes = _votes(outputs, k).argmax(axis=1)  # the first of equals
        predicted: Array = self.classes[codes]
        return predicted


def _votes(outputs: Array, n_classes: int) -> Array:  # (n, n_pairs) -> (n, n_classes)
    """Pairs won by each class; a pair whose output is not positive goes to its second class."""
    votes = np.zeros((len(outputs), n_classes), dtype=np.intp)
    first, second = np.triu_indices(n_classes, 1)
    for pair, (i, j) in enumerate(zip(first, second, strict=True)):
        won = outputs[:, pair] > 0
        votes[:, i] += won
        votes[:, j] += ~won
    return votes


class SlimRegressor(RegressorMixin, SlimModel):
    """One output per target.

    Parameters
    ----------
    expansion : KernelExpansion
    one_target : bool
        Whether `predict` gives shape (n,).
    n_jobs : int or None
    """

    def __init__(
        self, expansion: KernelExpansion, *, one_target: bool = True, n_jobs: int | None = None
    ) -> None:
        super().__init__(expansion, n_jobs=n_jobs)
        self.one_target = one_target

    def predict(self, X: Any) -> Array:
        """Predicted target of each row of X.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)

        Returns
        -------
        array of shape (n,) or (n, n_targets)
        """
        outputs = self._outputs(X)
        return outputs[:, 0] if self.one_target else outputs


class SlimOutlierDetector(OutlierMixin, SlimModel):
    """Positive outputs are inliers.

    Parameters
    ----------
    expansion : KernelExpansion
    offset : float
        `score_samples` is the output plus this.
    n_jobs : int or None
    """

    def __init__(self, expansion: KernelExpansion, *, offset: float = 0.0, n_jobs: int | None = None) -> None:
        super().__init__(expansion, n_jobs=n_jobs)
        self.offset = offset

    @property
    def offset_(self) -> float:
        """The difference between `score_samples` and `decision_function`."""
        return self.offset

    def decision_function(self, X: Any) -> Array:
        """Signed distance to the boundary: positive for inliers.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        return self._outputs(X)[:, 0]

    def score_samples(self, X: Any) -> Array:
        """Output without the offset.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        return self.decision_function(X) + self.offset

    def predict(self, X: Any) -> Array:
        """+1 for inliers, -1 for outliers.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        return np.where(self.decision_function(X) > 0, 1, -1)


class SlimTransformer(TransformerMixin, SlimModel):
    """The outputs as new features.

    Parameters
    ----------
    expansion : KernelExpansion
    prefix : str
        The names of the new features are this and a number.
    n_jobs : int or None
    """

    def __init__(
        self, expansion: KernelExpansion, *, prefix: str = "output", n_jobs: int | None = None
    ) -> None:
        super().__init__(expansion, n_jobs=n_jobs)
        self.prefix = prefix

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the new features; `input_features` is not used."""
        return np.array([f"{self.prefix}{o}" for o in range(self.expansion.n_outputs)], dtype=object)

    def transform(self, X: Any) -> Array:
        """Outputs for the rows of X.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)

        Returns
        -------
        array of shape (n, n_outputs)
        """
        return self._outputs(X)
