"""Fit a kernel machine and reduce it at once: the meta-estimator around `reduce`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from numbers import Integral, Real
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, MetaEstimatorMixin, _fit_context, clone, is_regressor
from sklearn.svm._base import BaseLibSVM
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, _routing_enabled, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..expansion import KernelExpansion
from ..limits import announce_libsvm
from ..methods.base import unchanged_on_failure
from ..methods.fitted import ConvertsMixin
from ..methods.progress import CallbackSupportMixin, FitProgress
from ..model import Model
from ..reduction.prune import CRITERIA, RIDGE
from ..reduction.start import METHODS, Options
from ..rows import Array, sound, summed
from ..threads import n_threads
from .reduce import options_of, reduced


def _delegates(name: str) -> Any:
    """Whether the estimator, fitted or not, has this method."""

    def has(self: Any) -> bool:
        getattr(self.estimator, name)
        return True

    return has


class Reduced(CallbackSupportMixin, ConvertsMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Fits an estimator, then makes it smaller with `reduce`; for pipelines and searches.

    With f the function of the fitted estimator, the result is :math:`\sum_{j \le m} c_j k(v_j, \cdot) + b`
    with the fewest vectors m whose loss on the training rows is at most `max_loss` above that of f, or with
    m = `max_vectors`.

    Parameters
    ----------
    estimator : estimator
        Anything `reduce` accepts: kernel machines of scikit-learn and of this library, also at the end of a
        `Pipeline`.
    method : {"auto", "prune", "exact", "refine"}, default="auto"
        As in `reduce`, like all that follow.
    criterion : {"damage", "redundancy", "distance"}, default="damage"
        Which vector goes next.
    max_loss : float or None, default=None
        How much the loss may rise, or the score may fall; None is 0.01 of the share of mistakes for classifiers by
        "auto", else 0.025. Not used when one of the next three is given.
    max_vectors : int or None, default=None
        Reduce to this number of vectors, whatever the loss.
    max_bytes : int or None, default=None
        Reduce to as many vectors as fit into so many bytes, whatever the loss.
    min_score : float or None, default=None
        The smallest score on the training rows that the result may have, by `scoring` or the estimator's own.
    scoring : str, callable or None, default=None
        Stop by this score on the training rows instead of by the loss.
    refit : bool or None, default=None
        Whether to fit the coefficients again at the end; None is what the method needs.
    ridge : float, default=1e-5
        Added to the diagonal of the kernel matrix, relative to its mean.
    rank_tol : float or None, default=None
        For "exact": the share of k(s, s) that counts as rounding.
    max_iter : int, default=200
        For "auto", "refine" and `refit`: limit of the optimiser's iterations at each size.
    verbose : int, default=0
        Whether to print what the reduction finds, and how far it is; the estimator has its own.
    n_jobs : int or None, default=None
        Threads for the kernel values of the reduction; None means 1, -1 all processors.

    Attributes
    ----------
    estimator_ : fitted estimator
        The reduced model.
    reduction_ : Reduction
        Sizes, losses and time.
    support_vectors_, dual_coef_, intercept_ : arrays
    n_vectors_ : int
    expansion_ : KernelExpansion
    readout_, model_
        How outputs become answers, and inputs, expansion and readout as one value.
    gamma_ : float or array
        Width of the kernel, which "auto" may have changed.
    classes_ : array
        For classifiers.
    n_iter_ : int
        Number of vectors removed, at least 1.
    n_features_in_, feature_names_in_
        As of the estimator.

    Notes
    -----
    The paper's tau is `max_loss`, its lambda is `ridge`.

    References
    ----------
    Kobayashi and Otsu, Efficient reduction of support vectors in kernel-based methods, 16th IEEE
    International Conference on Image Processing (2009).

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from slimsvm import Reduced
    >>> from slimsvm.datasets import make_banana
    >>> X, y = make_banana(400, random_state=0)
    >>> model = Reduced(SVC(C=10.0), max_vectors=16).fit(X, y)
    >>> model.n_vectors_, model.score(X, y) > 0.85
    (16, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit"])],
        "method": [StrOptions(set(METHODS))],
        "criterion": [StrOptions(set(CRITERIA))],
        "max_loss": [Interval(Real, 0, None, closed="left"), None],
        "max_vectors": [Interval(Integral, 1, None, closed="left"), None],
        "scoring": [str, callable, None],
        "min_score": [Interval(Real, None, None, closed="neither"), None],
        "max_bytes": [Interval(Integral, 1, None, closed="left"), None],
        "refit": ["boolean", None],
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "rank_tol": [Interval(Real, 0, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "auto",
        criterion: str = "damage",
        max_loss: float | None = None,
        max_vectors: int | None = None,
        max_bytes: int | None = None,
        min_score: float | None = None,
        scoring: Any = None,
        refit: bool | None = None,
        ridge: float = RIDGE,
        rank_tol: float | None = None,
        max_iter: int = 200,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.criterion = criterion
        self.max_loss = max_loss
        self.max_vectors = max_vectors
        self.max_bytes = max_bytes
        self.min_score = min_score
        self.scoring = scoring
        self.refit = refit
        self.ridge = ridge
        self.rank_tol = rank_tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "transformer_tags"):
            setattr(tags, name, getattr(inner, name))
        tags.target_tags, tags.input_tags = inner.target_tags, inner.input_tags
        return tags

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> Self:
        """Fit the estimator and reduce it.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)
        y : array-like of shape (n,) or (n, n_targets) or None
        **fit_params
            Given to the estimator's `fit`; `sample_weight` also counts in the loss of the reduction.

        Returns
        -------
        self
        """
        routed = fit_params
        if _routing_enabled():
            routed = process_routing(self, "fit", **fit_params).estimator.fit
        progress = FitProgress(self, None, X, y, fit_params.get("sample_weight"))
        with unchanged_on_failure(self), progress:
            progress.stage("fitting the estimator")
            if is_regressor(self):
                y = sound(y, "y")
            if isinstance(self.estimator, BaseLibSVM) and hasattr(X, "shape") and len(X.shape) == 2:
                announce_libsvm(type(self).__name__, X, self.estimator.max_iter, self.estimator.cache_size)
            try:
                X = summed(X)  # libsvm takes such entries one by one
                fitted = clone(self.estimator).fit(X, y, **routed)
            except ValueError as error:
                if "sample_weight" not in fit_params:
                    raise
                name = type(self.estimator).__name__
                raise ValueError(f"{name} could not be fitted with this sample_weight: {error}") from error
            options = options_of(**{field.name: getattr(self, field.name) for field in fields(Options)})
            self.estimator_ = reduced(
                fitted, X, y, fit_params.get("sample_weight"), self.scoring, n_threads(self.n_jobs), options
            )
            progress.say(str(self.reduction_))
            for name in ("n_features_in_", "feature_names_in_", "classes_", "offset_"):
                if hasattr(fitted, name):
                    setattr(self, name, getattr(fitted, name))
                elif hasattr(self, name):
                    delattr(self, name)
            self.n_iter_ = max(1, len(self.reduction_.removed))
            progress.finish()
        return self

    def onnx_parser(self) -> Callable[..., Any]:
        """What skl2onnx cannot know from the class: whether this is a classifier."""
        return import_module("slimsvm.export.onnx_pipeline").parser(self)

    def get_metadata_routing(self) -> MetadataRouter:
        """What is passed on to the estimator, by `fit` and by `score`.

        Returns
        -------
        MetadataRouter
        """
        both = MethodMapping().add(caller="fit", callee="fit").add(caller="score", callee="score")
        return MetadataRouter(owner=type(self).__name__).add(estimator=self.estimator, method_mapping=both)

    @property
    def _slim(self) -> Any:
        check_is_fitted(self)
        return self.estimator_.steps[-1][1] if hasattr(self.estimator_, "steps") else self.estimator_

    @property
    def reduction_(self) -> Any:
        """How the model was reduced."""
        return self._slim.reduction_

    @property
    def expansion_(self) -> KernelExpansion:
        """Kernel, vectors, coefficients and intercept."""
        expansion: KernelExpansion = self._slim.expansion_
        return expansion

    @property
    def readout_(self) -> Any:
        """How outputs become answers."""
        return self._slim.readout_

    @property
    def model_(self) -> Model:
        """The reduced model as a value: inputs, expansion, readout; of a pipeline, that of its last step."""
        model: Model = self._slim.model_
        return model

    @property
    def gamma_(self) -> float | Array:
        """Width of the kernel, or factor of its products; an array if each feature has its own."""
        gamma: float | Array = self._slim.gamma_
        return gamma

    @property
    def support_vectors_(self) -> Any:
        """The vectors, of shape (n_vectors, n_features)."""
        return self._slim.support_vectors_

    @property
    def dual_coef_(self) -> Array:
        """Coefficients of shape (n_outputs, n_vectors)."""
        coef: Array = self._slim.dual_coef_
        return coef

    @property
    def intercept_(self) -> Array:
        """Intercepts of shape (n_outputs,)."""
        intercept: Array = self._slim.intercept_
        return intercept

    @property
    def n_vectors_(self) -> int:
        """Number of vectors."""
        return int(self._slim.n_vectors_)

    @available_if(_delegates("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Array:
        """Predict with the reduced model."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @available_if(_delegates("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Array:
        """Outputs of the reduced model."""
        check_is_fitted(self)
        return self.estimator_.decision_function(X)

    @available_if(_delegates("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Probability of each class by the reduced model."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    @available_if(_delegates("score_samples"))  # type: ignore[untyped-decorator]
    def score_samples(self, X: Any) -> Array:
        """Scores of the rows by the reduced model."""
        check_is_fitted(self)
        return self.estimator_.score_samples(X)

    @available_if(_delegates("transform"))  # type: ignore[untyped-decorator]
    def transform(self, X: Any) -> Array:
        """Transform with the reduced model."""
        check_is_fitted(self)
        return self.estimator_.transform(X)

    @available_if(_delegates("transform"))  # type: ignore[untyped-decorator]
    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Fit, and transform with the reduced model."""
        transformed: Array = self.fit(X, y, **fit_params).transform(X)
        return transformed

    @available_if(_delegates("score"))  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any = None, **score_params: Any) -> float:
        """Score of the reduced model: accuracy or R^2.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)
        y : array-like of shape (n,) or (n, n_targets) or None
        **score_params
            Given to the model's `score`: `sample_weight`, for instance.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        if _routing_enabled():
            score_params = process_routing(self, "score", **score_params).estimator.score
        return float(self.estimator_.score(X, y, **score_params))
