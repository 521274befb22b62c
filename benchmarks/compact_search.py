"""What the methods of benchmarks/compact.py share: the job, what a fit gives, and the search of a grid."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from compact_sets import PIXELS
from harness import Record
from slimsvm.budget import stored_bytes
from slimsvm.expansion import KernelExpansion

# Searched by everybody who has them: C, and gamma as a multiple of 1 / n_features on standardised features; for
# regression also epsilon, in standard deviations of the target.
C_VALUES = [10.0**e for e in range(-1, 4)]
GAMMA_VALUES = [4.0**e for e in range(-2, 3)]
EPSILON_VALUES = [0.01, 0.1, 0.3]
N_FOLDS = 5
# Above so many rows the search sees a sample of this size.
SEARCH_ROWS, SEARCH_SAMPLE = 5000, 2000
# Iterations of libsvm in the search: the largest C on noisy labels may take minutes, and is then not chosen.
SEARCH_MAX_ITER = 200_000


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
    memory: bool = (
        False  # whether the process is there for this job alone, and its peak memory says something
    )

    @property
    def n_features(self) -> int:
        return self.X.shape[1]

    @property
    def n_outputs(self) -> int:
        """Outputs of a machine that has one for each of several classes, and one for two."""
        n_classes = 2 if self.regression else len(np.unique(self.y))
        return n_classes if n_classes > 2 else 1


@dataclass(frozen=True)
class Size:
    """Bytes of a model whose numbers are float32, and of one whose numbers are int8."""

    float32: int
    int8: int

    @classmethod
    def of_numbers(cls, numbers: int) -> Size:
        """Four bytes or one for each number: what a model of others takes at least."""
        return cls(4 * int(numbers), int(numbers))

    @classmethod
    def of_expansion(cls, expansion: KernelExpansion) -> Size:
        """As `slimsvm.budget` counts: in int8 with the float32 numbers that give the integers their units."""
        # the one place that needs `number=` of slimsvm.budget
        return cls(
            stored_bytes(expansion.astype("float32")),
            stored_bytes(expansion, number="int8"),
        )

    @classmethod
    def of_file(cls, n_bytes: int) -> Size:
        """A model that is a text and not a table of numbers."""
        return cls(n_bytes, n_bytes)


@dataclass
class Fitted:
    """A model, its size (vectors None where it has none), and the parameters that were chosen."""

    model: Any
    vectors: int | None
    size: Size
    parameters: dict[str, float] = field(default_factory=dict)
    # where it builds on what another method found: the seconds of both
    seconds: float | None = None
    # what else is kept in the record
    more: Record = field(default_factory=dict)


def needed(job: Job, method: str) -> Record:
    """The record of another method on the same split."""
    record = job.known.get(method, {})
    if "fit_seconds" not in record:
        raise RuntimeError(f"this needs what {method} found on the same split; run it first")
    return record


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


def stratified(job: Job, least: float) -> np.ndarray | None:
    """The classes, by which a part of this share is drawn; None for regression, or if a class has too few rows."""
    if job.regression:
        return None
    counts = np.unique(job.y, return_counts=True)[1]
    return job.y if least * counts.min() >= 1.0 else None


def searched(job: Job, estimator: Any, grid: dict[str, list[float]], **final: Any) -> tuple[Any, dict]:
    """The best of the grid by GridSearchCV, fitted to all rows with the parameters `final` besides."""
    X, y = job.X, job.y
    if len(X) > (SEARCH_SAMPLE if job.regression else SEARCH_ROWS):
        labels = stratified(job, SEARCH_SAMPLE / len(X))
        X, _, y, _ = train_test_split(X, y, train_size=SEARCH_SAMPLE, random_state=0, stratify=labels)
    folds = (KFold if job.regression else StratifiedKFold)(N_FOLDS, shuffle=True, random_state=0)
    search = GridSearchCV(estimator, full_names(estimator, grid), cv=folds, refit=False).fit(X, y)
    best = {name.rpartition("__")[2]: value for name, value in search.best_params_.items()}
    model = clone(estimator).set_params(**full_names(estimator, {**best, **final}))
    return model.fit(job.X, job.y), best
