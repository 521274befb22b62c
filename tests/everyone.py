"""The one list of all estimators, from the package itself: what the laws run over.

A new estimator is on it as soon as it is public; settings that keep the tests quick are the only thing said here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.svm import SVC, SVR, OneClassSVM

import slimsvm
from slimsvm import Reduced

# Small sizes and fixed seeds; whatever is not named here is at its default.
QUICK: dict[str, dict[str, Any]] = {
    "CompactSVC": {"max_vectors": 4},
    "CompactSVR": {"max_vectors": 4},
    "FixedSizeLSSVC": {"n_vectors": 10},
    "FixedSizeLSSVR": {"n_vectors": 10},
    "GreedyLSSVC": {"max_vectors": 12},
    "GreedyLSSVR": {"max_vectors": 12},
    "MatchingPursuitSVC": {"max_vectors": 8},
    "MatchingPursuitSVR": {"max_vectors": 8},
    "PrunedLSSVC": {"n_vectors": 20},
    "SparseGreedyGPC": {"max_vectors": 8, "n_candidates": None},
    "SparseGreedyGPR": {"max_vectors": 8, "n_candidates": None},
    "SparseKernelDensity": {"bandwidth": 0.7},
    "TwoStageLSSVC": {"n_vectors": 8},
    "TwoStageLSSVR": {"n_vectors": 8},
    "ZeroNormSVC": {"C": 10.0},
    "ZeroNormSVR": {"C": 10.0},
}
# What `Reduced` is tried around.
WRAPPED = {
    "Reduced SVC": lambda: Reduced(SVC(), max_vectors=8),
    "Reduced SVR": lambda: Reduced(SVR(), max_vectors=8),
    "Reduced OneClassSVM": lambda: Reduced(OneClassSVM(), max_vectors=8),
}

# What is made around a machine, and what comes before one.
NO_MACHINES = ("Reduced", "TableEncoder")
KINDS = {
    name: kind
    for name in slimsvm.__all__
    if inspect.isclass(kind := getattr(slimsvm, name)) and hasattr(kind, "fit") and name not in NO_MACHINES
}
NAMES = [*KINDS, *WRAPPED]
# The methods through which a fitted model answers.
ANSWERS = ("predict", "decision_function", "predict_proba", "transform", "score_samples")


@contextmanager
def also(kind: type, **quick: Any) -> Iterator[str]:
    """Put one more estimator on the list; its name is given to the laws."""
    name = kind.__name__
    KINDS[name], QUICK[name] = kind, quick
    try:
        yield name
    finally:
        del KINDS[name], QUICK[name]


def make(name: str, **parameters: Any) -> Any:
    """An estimator of this name, unfitted."""
    if name in WRAPPED:
        return WRAPPED[name]().set_params(**parameters)
    known = inspect.signature(KINDS[name]).parameters
    seed = {"random_state": 0} if "random_state" in known else {}
    return KINDS[name](**{**QUICK.get(name, {}), **seed, **parameters})


def has(name: str, parameter: str) -> bool:
    """Whether the estimator has this parameter."""
    return parameter in make(name).get_params()


def takes(name: str, argument: str) -> bool:
    """Whether `fit` has this argument, or passes it on."""
    return name in WRAPPED or argument in inspect.signature(KINDS[name].fit).parameters


def data(name: str, *, n: int = 60, n_classes: int = 2, seed: int = 0) -> tuple[Any, Any, Any, Any]:
    """Rows, targets as this estimator takes them (None if it takes none), weights, and rows to answer."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y: Any = np.sin(2 * X[:, 0]) + X[:, 1] + 0.4 * rng.standard_normal(n)
    estimator = make(name)
    if is_regressor(estimator):
        y = np.column_stack([y, np.cos(X[:, 2])]) if n_classes == 3 and not name.startswith("Reduced") else y
    elif is_classifier(estimator) or name == "ZeroNormSelector":
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    else:
        y = None
    return X, y, rng.uniform(0.2, 3.0, n), rng.standard_normal((23, 3))


def fit(name: str, X: Any, y: Any, weight: Any = None, **parameters: Any) -> Any:
    """A fitted estimator of this name."""
    options = {"sample_weight": weight} if weight is not None and takes(name, "sample_weight") else {}
    return make(name, **parameters).fit(X, y, **options)


def known(name: str, n_classes: int = 2) -> Any:
    """The model of `data(name, n_classes=n_classes)` with its weights, fitted once for all tests: to be asked only."""
    return _known(name, WRAPPED.get(name) or KINDS[name], n_classes)


@functools.cache
def _known(name: str, _: Any, n_classes: int) -> Any:
    X, y, weight, _ = data(name, n_classes=n_classes)
    return fit(name, X, y, weight)


def answers(model: Any, T: Any) -> dict[str, Any]:
    """Everything a model says about some rows."""
    found = {method: getattr(model, method)(T) for method in ANSWERS if hasattr(model, method)}
    found = {
        method: answer.toarray() if sparse.issparse(answer) else answer for method, answer in found.items()
    }
    if hasattr(model, "covariance_"):
        found["deviation"] = model.predict(T, return_std=True)[1]
    return found


def same_bits(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """All answers are equal to the last bit."""
    assert found.keys() == wanted.keys()
    for method, answer in wanted.items():
        assert found[method].dtype == answer.dtype, method
        np.testing.assert_array_equal(found[method], answer, err_msg=method)


def size(model: Any, T: Any) -> float:
    """The largest sum of the absolute terms of an output: what its rounding is measured by."""
    if not hasattr(model, "expansion_"):
        return 0.0
    f = model.expansion_
    return float(replace(f, coef=np.abs(f.coef), intercept=np.abs(f.intercept))(T).max())


def close(found: dict[str, Any], wanted: dict[str, Any], accuracy: float, size: float = 0.0) -> None:
    """Numbers agree to this share of the largest, or of `size`; labels agree but for a few.

    Labels of two classes agree wherever the output is not zero to that accuracy.
    """
    assert found.keys() == wanted.keys()
    for method, answer in wanted.items():
        outputs = np.asarray(wanted.get("decision_function", 0.0))
        if method == "predict" and outputs.ndim == 1:
            clear = np.abs(outputs) > accuracy * max(1e-300, size, float(np.abs(outputs).max(initial=0.0)))
            np.testing.assert_array_equal(found[method][clear], answer[clear])
        elif np.asarray(answer).dtype.kind in "fc":
            scale = max(1e-300, size, float(np.abs(answer[np.isfinite(answer)]).max(initial=0.0)))
            error = np.abs(np.asarray(found[method], dtype=float) - answer).max() / scale
            assert error <= accuracy, f"{method}: {error:.3g}"
        else:
            assert np.mean(found[method] != answer) <= 0.05, method
