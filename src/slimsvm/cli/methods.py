"""The methods by the names they have on the command line, and how their parameters are found."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import slimsvm

from ..adapters.slim import slim
from ..adapters.table_encoder import TableEncoder
from ..adapters.whole import folded
from ..errors import BudgetError
from ..evaluation import size_parameter
from ..inputs import Column, Inputs
from ..model import Model
from ..rows import Array
from .names import METHODS
from .options import Limits

# What is tried where C and gamma are not given: factors on 1 and on 1 / n_features, in so many folds, on at most so
# many rows.
C_VALUES = (0.1, 1.0, 10.0, 100.0, 1000.0)
GAMMA_VALUES = (1 / 16, 1 / 4, 1.0, 4.0)
N_FOLDS = 5
SEARCHED_ROWS = 2000
# An SVC on more rows takes minutes.
MOST_FULL_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model, and how it came about."""

    model: Model
    estimator: Any
    seconds: float
    searched: dict[str, float]


def estimator_for(method: str, *, classify: bool, limits: Limits, seed: int | None, jobs: int | None) -> Any:
    """An estimator of a method with these limits."""
    name = METHODS[method].classifier if classify else METHODS[method].regressor
    if name is None:
        kind = "classification" if classify else "regression"
        able = [m for m, known in METHODS.items() if (known.classifier if classify else known.regressor)]
        raise BudgetError(f"the method {method} does no {kind}; {', '.join(able)} do.")
    kind = getattr(slimsvm, name)
    known = kind().get_params()
    given = {"random_state": seed, "n_jobs": jobs}
    made = kind(**{key: value for key, value in given.items() if key in known})
    compact = method == "compact"
    if not compact and (limits.max_bytes or limits.max_latency_us or limits.number):
        raise BudgetError(
            f"limits in bytes and microseconds and number formats are for the method compact, not {method}; fit "
            "without them and use `slimsvm reduce --max-bytes`, or `slimsvm export --number`."
        )
    if limits.max_vectors is not None:
        try:
            made.set_params(**{size_parameter(made): limits.max_vectors})
        except ValueError:
            raise BudgetError(
                f"the method {method} has no limit of vectors; fit without it and use `slimsvm reduce --max-vectors`."
            ) from None
    if compact:
        made.set_params(
            max_bytes=limits.max_bytes, max_latency_us=limits.max_latency_us, number=limits.number,
            on_interrupt="keep",
        )  # fmt: skip
    return made


def fit(estimator: Any, inputs: Inputs | None, X: Any, y: Array) -> Fitted:
    """Fit, with scaled numbers and a search of C and gamma where the method does not do that itself."""
    start = time.perf_counter()
    compact = type(estimator).__name__.startswith("Compact")
    scaler = None if compact or sparse.issparse(X) else StandardScaler().fit(X)
    rows = X if scaler is None else scaler.transform(X)
    fitted, found = fit_numbers(estimator, rows, y)
    model = fitted.model_
    if scaler is not None:
        scaled = tuple(
            Column(j, None, float(scaler.mean_[j]), float(1.0 / scaler.scale_[j])) for j in range(X.shape[1])
        )
        model = folded(Inputs(X.shape[1], columns=scaled), model)
    if inputs is not None:
        model = folded(inputs, model)
    return Fitted(model, fitted, time.perf_counter() - start, found)


def fit_numbers(estimator: Any, X: Any, y: Array) -> tuple[Any, dict[str, float]]:
    """The estimator fitted to scaled numbers, and what was searched for it."""
    found = {} if type(estimator).__name__.startswith("Compact") else searched(estimator, X, y)
    return clone(estimator).set_params(**found).fit(X, y), found


def full_machine(inputs: Inputs | None, X: Any, y: Array, *, classify: bool) -> Any:
    """The searched SVC or SVR of scikit-learn that takes the same raw rows; None where there are too many rows."""
    if X.shape[0] > MOST_FULL_ROWS:
        return None
    scaler = None if sparse.issparse(X) else StandardScaler().fit(X)
    rows = X if scaler is None else scaler.transform(X)
    machine, _ = fit_numbers(SVC() if classify else SVR(), rows, y)
    steps = [machine] if scaler is None else [scaler, machine]
    if inputs is not None and inputs.columns is not None:
        encoder = TableEncoder()
        encoder.inputs_, encoder.n_features_in_ = inputs, inputs.n_features
        steps.insert(0, encoder)
    return make_pipeline(*steps)


def searched(estimator: Any, X: Any, y: Array) -> dict[str, float]:
    """C and gamma by cross-validation, of those the method has."""
    known = estimator.get_params()
    grid: dict[str, list[float]] = {}
    if "C" in known:
        grid["C"] = list(C_VALUES)
    if "gamma" in known and known.get("kernel", "rbf") == "rbf":
        grid["gamma"] = [value / X.shape[1] for value in GAMMA_VALUES]
    if not grid:
        return {}
    classify = is_classifier(estimator)
    if X.shape[0] > SEARCHED_ROWS:
        chosen = np.random.default_rng(0).choice(X.shape[0], SEARCHED_ROWS, replace=False)
        X, y = X[chosen], y[chosen]
    n_folds = N_FOLDS
    if classify:
        n_folds = max(2, min(N_FOLDS, int(np.unique(y, return_counts=True)[1].min())))
    folds = (StratifiedKFold if classify else KFold)(n_folds, shuffle=True, random_state=0)
    return dict(GridSearchCV(estimator, grid, cv=folds, refit=False).fit(X, y).best_params_)


def score_of(model: Model, numbers: Any, y: Array, *, classify: bool) -> float:
    """Share of right answers, or R^2, on rows as the expansion takes them."""
    from sklearn.metrics import accuracy_score, r2_score

    found = slim(Model(Inputs(model.inputs.n_numbers), model.expansion, model.readout)).predict(numbers)
    return float(accuracy_score(y, found) if classify else r2_score(y, found))


def score_in_words(score: float, *, classify: bool) -> str:
    """A score as people read it.

    Examples
    --------
    >>> score_in_words(0.9312, classify=True), score_in_words(0.9312, classify=False)
    ('93.1 %', 'R² 0.931')
    """
    return f"{100 * score:.1f} %" if classify else f"R² {score:.3f}"
