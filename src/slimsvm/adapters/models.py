"""How a fitted model becomes an expansion, and a smaller expansion that model again.

One function per family of models; `as_reducible` is the one place that looks at types.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn

import numpy as np
from scipy import sparse
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from sklearn.utils.validation import check_is_fitted

from ..expansion import KernelExpansion
from ..inputs import Inputs
from ..kernels import RBF, FunctionKernel, Kernel, Precomputed, as_kernel
from ..limits import check_memory
from ..methods.base import KernelEstimator
from ..methods.density.estimators import SparseKernelDensity
from ..methods.zero_norm.selector import ZeroNormSelector
from ..model import Model
from ..readout import FeaturesReadout, InlierReadout, Readout, SignReadout, ValueReadout, VotesReadout
from ..rows import Array, Rows, as_rows
from .slim import SlimModel, slim

ACCEPTED = (
    "SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelRidge, KernelPCA, GaussianProcessRegressor, a Pipeline that "
    "ends in one of these, an estimator of slimsvm, or a KernelExpansion"
)


@dataclass(frozen=True)
class Reducible:
    """A fitted estimator seen by the reduction.

    Parameters
    ----------
    model : Model
        Its expansion as it is stored, with equal vectors not merged.
    build : callable
        From an expansion and, where its vectors are among the original ones, their numbers (else None), the
        fitted estimator.
    vector_labels : array of shape (m,) or None
        The labels of the vectors, where the estimator tells them.
    with_readout : callable or None
        From an expansion and another readout the fitted estimator, where it may have another.
    probabilities : callable or None
        Probabilities of the classes of rows, where the estimator has probabilities that are not in its readout.
    """

    model: Model
    build: Callable[[KernelExpansion, Array | None], Any]
    vector_labels: Array | None = None
    with_readout: Callable[[KernelExpansion, Readout], Any] | None = None
    probabilities: Callable[[Rows], Array] | None = None

    @property
    def expansion(self) -> KernelExpansion:
        """The expansion of the model."""
        return self.model.expansion


def as_reducible(model: Any, X: Any = None) -> Reducible:
    """Look at a fitted model; X is what it was trained on, which some kernels need."""
    if isinstance(model, KernelExpansion):
        width = model.n_features
        return _as_slim(Model(Inputs(width), model, FeaturesReadout()), None)
    for kinds, adapter in _ADAPTERS:
        if isinstance(model, kinds):
            check_is_fitted(model)
            return adapter(model, X)
    hint = ""
    if hasattr(model, "best_estimator_"):
        hint = "; for a search give its best_estimator_"
    raise TypeError(f"model must be {ACCEPTED}; got {type(model).__name__}{hint}.")


def _as_slim(
    model: Model, original: Any, vector_labels: Array | None = None, probabilities: Any = None
) -> Reducible:
    """A model whose smaller versions are slim estimators that know the features of the original."""

    def with_readout(smaller: KernelExpansion, readout: Readout) -> Any:
        made = slim(replace(model, expansion=smaller, readout=readout))
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(original, name):
                setattr(made, name, copy.copy(getattr(original, name)))
        return made

    def build(smaller: KernelExpansion, kept: Array | None) -> Any:
        return with_readout(smaller, model.readout)

    return Reducible(model, build, vector_labels, with_readout, probabilities)


def _model_of(original: Any, expansion: KernelExpansion, readout: Readout) -> Model:
    names = getattr(original, "feature_names_in_", None)
    n_features = getattr(original, "n_features_in_", expansion.n_features)
    return Model(Inputs(int(n_features), None if names is None else tuple(names)), expansion, readout)


def _trained_rows(model: Any, X: Any, numbers: Array, n_trained: int) -> Rows:
    """The model's vectors, taken from the training rows where the model itself does not keep them."""
    if X is None:
        raise ValueError(
            f"X is needed: with a callable kernel {type(model).__name__} does not keep its vectors; give "
            "the X it was fitted to."
        )
    X = as_rows(X)
    if X.shape[0] != n_trained:
        raise ValueError(
            f"X must be what {type(model).__name__} was fitted to, because with a callable kernel it does "
            f"not keep its vectors: it was fitted to {n_trained} rows, X has {X.shape[0]}."
        )
    return X[numbers]


def _libsvm_kernel(model: Any) -> Kernel:
    if callable(model.kernel):
        return FunctionKernel(model.kernel)
    if model._gamma == 0 and model.kernel not in ("linear", "precomputed"):
        raise ValueError(
            f"{type(model).__name__} was fitted to rows so large that gamma='scale' became 0; divide X by its scale "
            "(sklearn.preprocessing.StandardScaler does), or give gamma as a number, and fit it again."
        )
    return as_kernel(model.kernel, model._gamma, model.degree, model.coef0)


def _libsvm_vectors(model: Any, kernel: Kernel, X: Any) -> Rows:
    if isinstance(kernel, Precomputed):
        return model.support_[:, None].astype(np.int64)
    if isinstance(kernel, FunctionKernel):
        return _trained_rows(model, X, model.support_, model.shape_fit_[0])
    return model.support_vectors_


def _libsvm_coef(model: Any) -> Array:  # (rows as stored, m)
    coef = model.dual_coef_
    return coef.toarray() if sparse.issparse(coef) else np.asarray(coef)


def pair_coefficients(dual_coef: Array, n_support: Array) -> Array:  # (c - 1, m), (c,) -> (m, n_pairs)
    """One column of coefficients for each pair of classes, from the way libsvm stores them.

    The vectors are sorted by class. A vector of class i has c - 1 coefficients, one for each other class: in
    the pair i < j a vector of class i uses row j - 1, a vector of class j row i.
    """
    n_classes = len(n_support)
    m, n_pairs = dual_coef.shape[1], n_classes * (n_classes - 1) // 2
    check_memory(
        8.0 * m * n_pairs,
        f"the coefficients of {m} vectors for {n_pairs} pairs of classes need",
        "reduce a machine of fewer classes, or one of a class against the rest",
    )
    of_class = np.repeat(np.arange(n_classes), n_support)
    first, second = np.triu_indices(n_classes, 1)
    coef = np.zeros((m, n_pairs))
    for pair, (i, j) in enumerate(zip(first, second, strict=True)):
        coef[of_class == i, pair] = dual_coef[j - 1, of_class == i]
        coef[of_class == j, pair] = dual_coef[i, of_class == j]
    return coef


def _classifier(model: Any, X: Any) -> Reducible:
    kernel = _libsvm_kernel(model)
    dual_coef = _libsvm_coef(model)
    two = len(model.classes_) == 2
    coef = dual_coef.T if two else pair_coefficients(dual_coef, model.n_support_)
    expansion = KernelExpansion(kernel, _libsvm_vectors(model, kernel, X), coef, model.intercept_)
    readout: Readout = SignReadout(model.classes_, zero=1)
    if not two:
        by_pairs = model.decision_function_shape == "ovo"
        readout = VotesReadout(model.classes_, break_ties=model.break_ties, one_for_each_pair=by_pairs)
    labels = np.repeat(model.classes_, model.n_support_)
    known = model.predict_proba if len(model._probA) else None  # probA_ warns since scikit-learn 1.9
    return _as_slim(_model_of(model, expansion, readout), model, labels, known)


def _support_regressor(model: Any, X: Any) -> Reducible:
    kernel = _libsvm_kernel(model)
    vectors = _libsvm_vectors(model, kernel, X)
    expansion = KernelExpansion(kernel, vectors, _libsvm_coef(model).T, model.intercept_)
    return _as_slim(_model_of(model, expansion, ValueReadout()), model)


def _one_class(model: Any, X: Any) -> Reducible:
    kernel = _libsvm_kernel(model)
    vectors = _libsvm_vectors(model, kernel, X)
    expansion = KernelExpansion(kernel, vectors, _libsvm_coef(model).T, model.intercept_)
    offset = float(np.ravel(model.offset_)[0])
    return _as_slim(_model_of(model, expansion, InlierReadout(offset)), model)


def _pairwise_kernel(model: Any, gamma: float | None) -> Kernel:
    """The kernel of KernelRidge and KernelPCA: names of ours, or scikit-learn's own function."""
    name = {"polynomial": "poly"}.get(model.kernel, model.kernel) if isinstance(model.kernel, str) else None
    if name in ("rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed"):
        width = 1.0 / model.n_features_in_ if gamma is None else gamma
        degree = model.degree
        if name != "poly" or float(degree).is_integer():
            return as_kernel(name, width, int(degree), float(model.coef0))
    if callable(model.kernel):
        options = model.kernel_params or {}
    else:
        options = {"filter_params": True, "gamma": gamma, "degree": model.degree, "coef0": model.coef0}
    return FunctionKernel(partial(_pairwise, metric=model.kernel, **options))


def _pairwise(X: Rows, Z: Rows, **options: Any) -> Array:
    """Call scikit-learn's function; some of those refuse arrays that cannot be written to."""
    X, Z = (rows if sparse.issparse(rows) else np.require(rows, requirements="W") for rows in (X, Z))
    return pairwise_kernels(X, Z, **options)


def _fitted_rows(model: Any, kernel: Kernel) -> Rows:
    if isinstance(kernel, Precomputed):
        return np.arange(model.X_fit_.shape[0])[:, None]
    return model.X_fit_


def _ridge(model: Any, X: Any) -> Reducible:
    kernel = _pairwise_kernel(model, model.gamma)
    coef = np.asarray(model.dual_coef_)
    one_target = coef.ndim == 1
    coef = coef.reshape(len(coef), -1)
    expansion = KernelExpansion(kernel, _fitted_rows(model, kernel), coef, np.zeros(coef.shape[1]))
    return _as_slim(_model_of(model, expansion, ValueReadout(one_target)), model)


def _principal_components(model: Any, X: Any) -> Reducible:
    """Centring in the feature space is a change of the coefficients and an intercept."""
    kernel = _pairwise_kernel(model, model.gamma_ if hasattr(model, "gamma_") else model.gamma)
    values = model.eigenvalues_
    used = values > 0
    scaled = np.zeros_like(model.eigenvectors_)
    scaled[:, used] = model.eigenvectors_[:, used] / np.sqrt(values[used])
    centerer = model._centerer
    intercept = centerer.K_fit_all_ * scaled.sum(axis=0) - centerer.K_fit_rows_ @ scaled
    expansion = KernelExpansion(kernel, _fitted_rows(model, kernel), scaled - scaled.mean(axis=0), intercept)
    return _as_slim(_model_of(model, expansion, FeaturesReadout("kernelpca")), model)


def _gaussian_process(model: Any, X: Any) -> Reducible:
    """The mean of a Gaussian process; its variance is not a kernel expansion and is not kept."""
    if not hasattr(model, "X_train_"):
        raise ValueError("model: the GaussianProcessRegressor is not fitted; call fit first.")
    factor, kernel = _process_kernel(model.kernel_, model.X_train_.shape[1])
    alpha = np.asarray(model.alpha_)
    one_target = alpha.ndim == 1
    alpha = alpha.reshape(len(alpha), -1)
    scale, shift = np.atleast_1d(model._y_train_std), np.atleast_1d(model._y_train_mean)
    intercept = np.broadcast_to(shift, (alpha.shape[1],)).astype(np.float64)
    expansion = KernelExpansion(kernel, as_rows(model.X_train_), factor * alpha * scale, intercept)
    return _as_slim(_model_of(model, expansion, ValueReadout(one_target)), model)


def _process_kernel(kernel: Any, d: int) -> tuple[float, Kernel]:
    """A kernel of scikit-learn's Gaussian processes as constant times kernel.

    White noise is nought between different sets of rows. Anything beyond constant times RBF is called as a
    function.
    """
    if isinstance(kernel, gp.Sum):
        for noise, rest in ((kernel.k1, kernel.k2), (kernel.k2, kernel.k1)):
            if isinstance(noise, gp.WhiteKernel):
                return _process_kernel(rest, d)
    if isinstance(kernel, gp.Product):
        for constant, rest in ((kernel.k1, kernel.k2), (kernel.k2, kernel.k1)):
            if isinstance(constant, gp.ConstantKernel):
                factor, base = _process_kernel(rest, d)
                return float(constant.constant_value) * factor, base
    if type(kernel) is gp.RBF:
        widths = 0.5 / np.square(np.asarray(kernel.length_scale, dtype=np.float64))
        return 1.0, RBF(float(widths) if widths.ndim == 0 or widths.size == 1 else tuple(widths.tolist()))
    return 1.0, FunctionKernel(kernel)


def _ours(model: Any, X: Any) -> Reducible:
    """An estimator of this library: the same around another expansion."""

    def build(smaller: KernelExpansion, kept: Array | None) -> Any:
        support = getattr(model, "support_", None)
        return model._with_expansion(smaller, None if support is None or kept is None else support[kept])

    return Reducible(model.model_, build)


def _slim(model: Any, X: Any) -> Reducible:
    """A model that was reduced before."""
    return _as_slim(model.model, model)


def _refused(model: Any, X: Any) -> NoReturn:
    why = {
        "SparseKernelDensity": "its weights must stay a density; fit it again with max_vectors",
        "ZeroNormSelector": "it selects features and has no vectors",
    }[type(model).__name__]
    raise TypeError(f"{type(model).__name__} cannot be reduced: {why}.")


_ADAPTERS: list[tuple[Any, Callable[[Any, Any], Reducible]]] = [
    ((SVC, NuSVC), _classifier),
    ((SVR, NuSVR), _support_regressor),
    ((OneClassSVM,), _one_class),
    ((KernelRidge,), _ridge),
    ((KernelPCA,), _principal_components),
    ((GaussianProcessRegressor,), _gaussian_process),
    ((SparseKernelDensity, ZeroNormSelector), _refused),
    ((KernelEstimator,), _ours),
    ((SlimModel,), _slim),
]
