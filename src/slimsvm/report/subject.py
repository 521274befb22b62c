"""What a report is about: the model, the rows it was trained on and those it is judged by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing

from ..adapters.slim import slim
from ..adapters.whole import as_model
from ..model import Model
from ..reading import Table
from ..readout import DensityReadout, InlierReadout, LabelReadout, SignReadout, ValueReadout, VotesReadout
from ..relevance import feature_relevance
from ..rows import Array, Rows, as_rows

# Training rows that pictures and tables look at; of more, so many are drawn at random.
MOST_ROWS = 2000


def rows_of(X: Any) -> int:
    """Number of rows of an array, CSR or a table."""
    return int(X.shape[0])


def take(X: Any, rows: Array) -> Any:
    """Some rows."""
    return _safe_indexing(X, rows)


def numbers_of(model: Model, X: Any) -> Rows:  # (n, n_numbers)
    """Raw rows as the expansion sees them."""
    inputs = model.inputs
    if inputs.columns is None and hasattr(X, "columns"):
        X = (X if inputs.names is None else X[list(inputs.names)]).to_numpy()
    return as_rows(inputs(X))


def class_scores(readout: LabelReadout, outputs: Array) -> Array:  # (n, n_classes)
    """One score for each class, the largest for the one that wins."""
    if isinstance(readout, SignReadout):
        return np.column_stack([-outputs[:, 0], outputs[:, 0]])
    return readout.class_scores(outputs) if isinstance(readout, VotesReadout) else outputs


def inner(estimator: Any) -> Any:
    """What a search of scikit-learn found, or the estimator itself."""
    while hasattr(estimator, "best_estimator_"):
        estimator = estimator.best_estimator_
    return estimator


def last_step(estimator: Any) -> Any:
    """The machine at the end of a pipeline, or the estimator itself."""
    while hasattr(estimator, "steps"):
        estimator = estimator.steps[-1][1]
    return estimator


def array_of(X: Any) -> Any:
    """Lists and tables of our own as arrays; what others have a shape for stays."""
    if isinstance(X, Table):
        return X.to_numpy()
    if sparse.issparse(X):
        return X.tocsr()
    return X if hasattr(X, "shape") else np.asarray(X)


@dataclass(frozen=True, eq=False)
class Subject:
    """The model and its rows.

    Parameters
    ----------
    estimator : fitted estimator
    model : Model
        What it amounts to.
    trained : estimator
        Whose name and parameters are told.
    X, y
        The training rows and their answers; y is None where there are none.
    X_seen, y_seen
        The rows the model is judged by.
    tested : bool
        Whether these are not the training rows.
    """

    estimator: Any
    model: Model
    trained: Any
    X: Any
    y: Array | None
    X_seen: Any
    y_seen: Array | None
    tested: bool

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, X_test: Any, y_test: Any, trained: Any = None) -> Subject:
        """Check what `write_report` was given."""
        estimator = inner(model)
        whole = as_model(estimator)
        if isinstance(estimator, Model):
            estimator = slim(estimator)
        trained = estimator if trained is None else inner(trained)
        X = array_of(X)
        _check(whole, X, y, "X", "y")
        if X_test is None and y_test is not None:
            raise ValueError("y_test was given without X_test; give both.")
        if X_test is not None:
            X_test = array_of(X_test)
            _check(whole, X_test, y_test, "X_test", "y_test")
        targets = [None if given is None else np.asarray(given) for given in (y, y_test)]
        if X_test is None:
            return cls(estimator, whole, trained, X, targets[0], X, targets[0], False)
        return cls(estimator, whole, trained, X, targets[0], X_test, targets[1], True)

    @property
    def readout(self) -> Any:
        """The readout of the model."""
        return self.model.readout

    @property
    def kind(self) -> str:
        """What the model answers: "classes", "values", "inliers", "density" or "features"."""
        if isinstance(self.readout, LabelReadout):
            return "classes"
        if isinstance(self.readout, ValueReadout):
            return "values"
        if isinstance(self.readout, InlierReadout):
            return "inliers"
        return "density" if isinstance(self.readout, DensityReadout) else "features"

    @property
    def classes(self) -> list[str]:
        """The classes as people read them."""
        return [str(label) for label in self.readout.classes.tolist()] if self.kind == "classes" else []

    @cached_property
    def names(self) -> list[str]:
        """A name for each raw column."""
        if self.model.inputs.names is not None:
            return [str(name) for name in self.model.inputs.names]
        if hasattr(self.X, "columns"):
            return [str(name) for name in self.X.columns]
        return [f"input {j}" for j in range(self.model.inputs.n_features)]

    @cached_property
    def seen_outputs(self) -> Array:  # (n, n_outputs)
        """Outputs for the rows the model is judged by."""
        return self.outputs(self.X_seen)

    @cached_property
    def seen_codes(self) -> Array:  # (n,)
        """Numbers of the true classes of these rows."""
        return np.asarray(self.readout.codes_of(self.y_seen))

    @property
    def seen_words(self) -> str:
        """What these rows are called."""
        return f"{rows_of(self.X_seen):,} {'test' if self.tested else 'training'} rows"

    def outputs(self, X: Any) -> Array:  # (n, n_outputs)
        """Outputs for raw rows."""
        return self.model.expansion(numbers_of(self.model, X)).astype(np.float64)

    @cached_property
    def some(self) -> Array:  # (n,)
        """Numbers of the training rows that pictures look at, in order."""
        n = rows_of(self.X)
        if n <= MOST_ROWS:
            return np.arange(n)
        return np.sort(np.random.default_rng(0).choice(n, MOST_ROWS, replace=False))

    @cached_property
    def some_X(self) -> Any:
        """These rows."""
        return self.X if len(self.some) == rows_of(self.X) else take(self.X, self.some)

    @cached_property
    def some_numbers(self) -> Rows:  # (n, n_numbers)
        """These rows as the expansion sees them."""
        return numbers_of(self.model, self.some_X)

    @cached_property
    def relevance(self) -> Array | None:  # (n_features,)
        """Share of each raw column in what the model sees; None where the kernel does not tell."""
        try:
            return feature_relevance(self.model, self.some_X)
        except ValueError:
            return None

    @cached_property
    def by_relevance(self) -> Array:  # (n_features,)
        """Numbers of the raw columns, the most relevant first; in their order where nothing is known."""
        shares = self.relevance
        d = self.model.inputs.n_features
        if shares is None:
            return np.arange(d)
        return np.argsort(
            -np.round(shares / shares.max(), 6), kind="stable"
        )  # equal ones stay in their order


def _check(model: Model, X: Any, y: Any, X_name: str, y_name: str) -> None:
    d = model.inputs.n_features
    if len(X.shape) != 2 or (X.shape[1] != d and model.inputs.names is None):
        raise ValueError(f"{X_name} must have the shape (rows, {d}), got {tuple(X.shape)}.")
    if not rows_of(X):
        raise ValueError(f"{X_name} has no rows; a report needs some.")
    if y is None:
        if isinstance(model.readout, LabelReadout | ValueReadout):
            raise ValueError(f"{y_name} is needed: the right answers of the rows in {X_name}.")
        return
    if len(y) != rows_of(X):
        raise ValueError(f"{X_name} has {rows_of(X)} rows, but {y_name} has {len(y)} answers.")
    if isinstance(model.readout, LabelReadout):
        model.readout.codes_of(np.asarray(y))
