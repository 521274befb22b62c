"""The methods of benchmarks/compact.py: each fits its model and says how big it is."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import accuracy_score, r2_score, root_mean_squared_error
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from compact_sets import MAX_VECTORS, PIXELS, SECOND_LIMIT, THREADS
from harness import ROWS_TIMED, Record, repeated, timed
from slimsvm import CompactSVC, CompactSVR, GreedyLSSVC, GreedyLSSVR, ZeroNormSVC, ZeroNormSVR, reduce
from slimsvm.budget import bytes_for, stored_bytes

# Searched by everybody who has them: C, and gamma as a multiple of 1 / n_features on standardised features.
C_VALUES = [10.0**e for e in range(-1, 4)]
GAMMA_VALUES = [4.0**e for e in range(-2, 3)]
N_FOLDS = 5
# Above so many rows the search sees a sample of this size.
SEARCH_ROWS, SEARCH_SAMPLE = 5000, 2000
# Iterations of libsvm in the search: the largest C on noisy labels may take minutes, and is then not chosen.
SEARCH_MAX_ITER = 200_000
LINEAR_MAX_ITER = 5000
# A rate is of calls that together take at least this long.
TIMED_SECONDS = 0.3
SINGLE_ROW_CALLS = 101


@dataclass
class Job:
    """One split of one set, and what is known of it from the records of other methods."""

    name: str
    regression: bool
    X: np.ndarray
    X_test: np.ndarray
    y: np.ndarray
    y_test: np.ndarray
    known: dict[str, Record] = field(default_factory=dict)

    @property
    def n_features(self) -> int:
        return self.X.shape[1]


@dataclass
class Fitted:
    """A model, its size (vectors None where it has none), and the parameters that were chosen."""

    model: Any
    vectors: int | None
    bytes: int
    parameters: dict[str, float] = field(default_factory=dict)
    # where it builds on what another method found: the seconds of both
    seconds: float | None = None


# Searching


def scaled(job: Job, *steps: Any) -> Any:
    """The steps on standardised features (pixels as they are) and, for regression, a standardised target."""
    pipeline = make_pipeline("passthrough" if job.name in PIXELS else StandardScaler(), *steps)
    return TransformedTargetRegressor(pipeline, transformer=StandardScaler()) if job.regression else pipeline


def last_steps(model: Any) -> list[Any]:
    """The fitted steps after the scaler."""
    pipeline = model.regressor_ if isinstance(model, TransformedTargetRegressor) else model
    return [step for _, step in pipeline.steps[1:]]


def full_names(estimator: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters of the step that has them, as `set_params` of the pipeline takes them."""
    names = {name.rpartition("__")[2]: name for name in estimator.get_params()}
    return {names[name]: value for name, value in parameters.items()}


def grid_of(job: Job) -> dict[str, list[float]]:
    variance = float(job.X.var()) if job.name in PIXELS else 1.0
    return {"C": C_VALUES, "gamma": [value / (job.n_features * variance) for value in GAMMA_VALUES]}


def searched(job: Job, estimator: Any, grid: dict[str, list[float]], **final: Any) -> tuple[Any, dict]:
    """The best of the grid by GridSearchCV, fitted to all rows with the parameters `final` besides."""
    X, y = job.X, job.y
    if len(X) > SEARCH_ROWS:
        labels = None if job.regression else y
        # shuttle has classes of so few rows that a sample cannot keep their shares
        if labels is not None and SEARCH_SAMPLE * np.unique(labels, return_counts=True)[1].min() < len(X):
            labels = None
        X, _, y, _ = train_test_split(X, y, train_size=SEARCH_SAMPLE, random_state=0, stratify=labels)
    folds = (KFold if job.regression else StratifiedKFold)(N_FOLDS, shuffle=True, random_state=0)
    search = GridSearchCV(estimator, full_names(estimator, grid), cv=folds, refit=False).fit(X, y)
    best = {name.rpartition("__")[2]: value for name, value in search.best_params_.items()}
    model = clone(estimator).set_params(**full_names(estimator, {**best, **final}))
    return model.fit(job.X, job.y), best


# Methods


def needed(job: Job, method: str) -> Record:
    record = job.known.get(method, {})
    if "fit_seconds" not in record:
        raise RuntimeError(f"this needs what {method} found on the same split; run it first")
    return record


def fit_compact(job: Job) -> Fitted:
    kind = CompactSVR if job.regression else CompactSVC
    model = kind(max_vectors=MAX_VECTORS.get(job.name), n_jobs=THREADS.get(job.name), random_state=0)
    model.fit(job.X, job.y)
    return Fitted(model, model.n_vectors_, stored_bytes(model.expansion_))


def fit_limited(job: Job) -> Fitted:
    model = CompactSVC(max_vectors=SECOND_LIMIT[job.name], random_state=0).fit(job.X, job.y)
    return Fitted(model, model.n_vectors_, stored_bytes(model.expansion_))


def _fit_svm(job: Job, kind: Any) -> Fitted:
    estimator = scaled(job, kind(max_iter=SEARCH_MAX_ITER))
    model, best = searched(job, estimator, grid_of(job), max_iter=-1)
    (svm,) = last_steps(model)
    # each vector has one coefficient less than there are classes
    numbers = svm.support_vectors_.size + np.size(svm.dual_coef_) + np.size(svm.intercept_) + 1
    return Fitted(model, len(svm.support_), int(8 * numbers), best)


def fit_svc(job: Job) -> Fitted:
    return _fit_svm(job, SVR if job.regression else SVC)


def fit_intelex(job: Job) -> Fitted:
    from sklearnex import svm

    return _fit_svm(job, svm.SVR if job.regression else svm.SVC)


def fit_reduced(job: Job) -> Fitted:
    """The searched SVC, reduced: its time is that of the record of svc and of the reduction."""
    record = needed(job, "svc")
    estimator = scaled(job, SVR() if job.regression else SVC())
    full = estimator.set_params(**full_names(estimator, record["parameters"])).fit(job.X, job.y)
    if job.regression:
        # reduce knows pipelines; what is around it scales the target as before
        target = full.transformer_.transform(job.y[:, None])[:, 0]
        slim, seconds = timed(lambda: reduce(full.regressor_, job.X, target))
        full.regressor_ = slim
    else:
        slim, seconds = timed(lambda: reduce(full, job.X, job.y))
        full = slim
    f = slim[-1].expansion_
    return Fitted(full, f.n_vectors, stored_bytes(f), record["parameters"], record["fit_seconds"] + seconds)


def fit_nystroem(job: Job) -> Fitted:
    m = int(needed(job, "compact")["vectors"])
    machine = (
        # the other loss has no primal solver, and takes minutes
        LinearSVR(loss="squared_epsilon_insensitive", dual=False, max_iter=LINEAR_MAX_ITER, random_state=0)
        if job.regression
        else LinearSVC(dual="auto", max_iter=LINEAR_MAX_ITER, random_state=0)
    )
    # no more landmarks than the rows of a fold
    landmarks = Nystroem(n_components=min(m, int(0.8 * min(len(job.X), SEARCH_SAMPLE))), random_state=0)
    final = {"n_components": m}
    model, best = searched(job, scaled(job, landmarks, machine), grid_of(job), **final)
    landmarks, machine = last_steps(model)
    arrays = landmarks.components_, landmarks.normalization_, machine.coef_, machine.intercept_
    return Fitted(model, m, int(8 * (sum(np.size(array) for array in arrays) + 1)), best)


def fit_fastrvm(job: Job) -> Fitted:
    import fastrvm

    record = needed(job, "svc")  # a search of its own takes minutes on a hundred rows
    kind = fastrvm.RVR if job.regression else fastrvm.RVC
    width = {"gamma": record["parameters"]["gamma"]}
    model, seconds = timed(lambda: scaled(job, kind(fit_intercept=True, **width)).fit(job.X, job.y))
    vectors = len(np.unique(last_steps(model)[0].relevance_))
    size = bytes_for(vectors, n_features=job.n_features, number="float64")
    return Fitted(model, vectors, size, width, record["fit_seconds"] + seconds)


def fit_lightgbm(job: Job) -> Fitted:
    import lightgbm

    kind = lightgbm.LGBMRegressor if job.regression else lightgbm.LGBMClassifier
    model = kind(n_jobs=1, verbosity=-1, random_state=0).fit(job.X, job.y)
    return Fitted(model, None, len(model.booster_.model_to_string()))


def fit_zero_norm(job: Job) -> Fitted:
    record = needed(job, "svc")
    width = {"gamma": record["parameters"]["gamma"]}
    machine = ZeroNormSVR(**width) if job.regression else ZeroNormSVC(**width)
    (model, best), seconds = timed(lambda: searched(job, scaled(job, machine), {"C": C_VALUES}))
    f = last_steps(model)[0].expansion_
    return Fitted(model, f.n_vectors, stored_bytes(f), {**width, **best}, record["fit_seconds"] + seconds)


def fit_greedy(job: Job) -> Fitted:
    kind = GreedyLSSVR if job.regression else GreedyLSSVC
    machine = kind(n_candidates=146, random_state=0)
    model, best = searched(job, scaled(job, machine), grid_of(job))
    f = last_steps(model)[0].expansion_
    return Fitted(model, f.n_vectors, stored_bytes(f), best)


@dataclass(frozen=True)
class Method:
    """What it is called in tables, how it is fitted, and up to how many training rows."""

    classifier: str
    fit: Callable[[Job], Fitted]
    max_rows: int = 10**9
    two_classes: bool = False
    max_svc_vectors: int = 10**9  # of the searched SVC it starts from
    sets: tuple[str, ...] = ()  # all if empty

    def label(self, regression: bool = False) -> str:
        return self.classifier.replace("SVC", "SVR") if regression else self.classifier

    def takes(self, job: Job) -> bool:
        several = not job.regression and len(np.unique(job.y)) > 2
        start = job.known.get("svc", {}).get("vectors", 0)
        small = len(job.X) <= self.max_rows and start <= self.max_svc_vectors
        wanted = not self.sets or job.name in self.sets
        return wanted and small and not (self.two_classes and several)


# In the order in which they run: later ones use the records of earlier ones.
METHODS: dict[str, Method] = {
    "compact": Method("CompactSVC", fit_compact),
    "limited": Method("CompactSVC, limited", fit_limited, sets=tuple(SECOND_LIMIT)),
    "svc": Method("SVC, searched", fit_svc),
    "intelex": Method("SVC of scikit-learn-intelex, searched", fit_intelex),
    "reduced": Method("reduce(SVC, searched)", fit_reduced, max_svc_vectors=8000),
    "nystroem": Method("Nystroem + LinearSVC, as many vectors, searched", fit_nystroem),
    "fastrvm": Method("fastrvm, width of the SVC", fit_fastrvm, 1000, two_classes=True),
    "zero_norm": Method("ZeroNormSVC, width of the SVC, C searched", fit_zero_norm, 1500),
    "greedy": Method("GreedyLSSVC (146 candidates), searched", fit_greedy, 20_000),
    "lightgbm": Method("LightGBM, defaults", fit_lightgbm),
}


# Measuring


def measure(job: Job, method: Method) -> Record:
    """Fit, score and time one method."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of pairs in the search that are then not chosen
        warnings.filterwarnings("ignore", message="The least populated class")  # shuttle
        warnings.filterwarnings("ignore", message="X does not have valid feature names")  # LightGBM
        fitted, elapsed = timed(lambda: method.fit(job))
    seconds = elapsed if fitted.seconds is None else fitted.seconds
    predicted, elapsed = timed(lambda: fitted.model.predict(job.X_test))
    rate = _rows_per_second(fitted.model, job.X_test, elapsed)
    if job.regression:
        scores = {
            "r2": r2_score(job.y_test, predicted),
            "rmse": root_mean_squared_error(job.y_test, predicted),
        }
    else:
        scores = {"accuracy": accuracy_score(job.y_test, predicted)}
    return {
        **{name: float(value) for name, value in scores.items()},
        "vectors": fitted.vectors,
        "bytes": fitted.bytes,
        "fit_seconds": seconds,
        "rows_per_second": rate,
        "us_one_row": _one_row(fitted.model, job.X_test[:1]),
        "parameters": fitted.parameters,
        "n_train": len(job.X),
        "n_features": job.n_features,
    }


def _rows_per_second(model: Any, X: np.ndarray, elapsed: float) -> float:
    """Predictions a second: calls of `predict` on the test rows, repeated to ROWS_TIMED, for TIMED_SECONDS.

    The same rows and the same clock for every method. Only where one call on the test rows, which took `elapsed`, is
    already that long, it is the measurement: a fixed cost does not show in it, and MNIST takes SVC minutes.
    """
    if elapsed >= TIMED_SECONDS:
        return len(X) / elapsed
    many = repeated(X, max(len(X), ROWS_TIMED))
    calls, elapsed, start = 0, 0.0, time.perf_counter()
    while elapsed < TIMED_SECONDS:
        model.predict(many)
        calls, elapsed = calls + 1, time.perf_counter() - start
    return calls * len(many) / elapsed


def _one_row(model: Any, row: np.ndarray) -> float:
    """Median microseconds of a prediction for one row, input checks and scaling included."""
    times = []
    end = time.perf_counter() + TIMED_SECONDS
    while len(times) < SINGLE_ROW_CALLS and (len(times) < 3 or time.perf_counter() < end):
        start = time.perf_counter_ns()
        model.predict(row)
        times.append(time.perf_counter_ns() - start)
    return float(np.median(times)) / 1000.0
