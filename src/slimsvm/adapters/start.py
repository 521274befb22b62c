"""From a fitted model and the user's rows to what a reduction starts from, checked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from ..expansion import KernelExpansion
from ..kernels import Precomputed
from ..projection import Projection
from ..readout import LabelReadout, LargestReadout, Readout, ValueReadout, VotesReadout
from ..reduction.start import ByClass, Options, Start
from ..reduction.task import Margins, Mistakes, Targets, Task
from ..rows import Array, Rows, as_rows, sound
from .models import Reducible, as_reducible

# Outputs are compared by their squares, and those added up and multiplied.
LARGEST_COEFFICIENT = 1e60


def start_of(
    model: Any, X: Any, y: Any, sample_weight: Any, scoring: Any, n_threads: int, options: Options
) -> tuple[Start, Reducible]:
    """Check the model and the data."""
    if X is None and (y is not None or sample_weight is not None):
        raise ValueError("X is needed where y or sample_weight is given: they belong to its rows.")
    reducible = as_reducible(model, X)
    whole = reducible.expansion
    original = reducible.build(whole, np.arange(whole.n_vectors))
    X = _checked_rows(original, whole, X)
    if y is not None:
        check_consistent_length(X, y)
    if sample_weight is not None and not np.any(sample_weight):
        raise ValueError("sample_weight must be positive for at least one row; all weights are zero.")
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    rows = X
    projection = whole.projection
    if projection is not None:  # everything happens in its image, where the vectors lie
        X = X if X is whole.vectors else projection(X, n_threads=n_threads)
        whole, reducible = replace(whole, projection=None), _behind(reducible, projection)
    _check_size(whole)
    expansion, distinct = whole.compact_with_rows()
    task, outputs = _task(reducible, whole, X, y, weight, n_threads)
    scored = scoring is not None or options.min_score is not None
    if scored and rows is X and projection is not None:
        raise ValueError("X is needed for scoring a model with a projection: its vectors are no rows.")
    score = _score(reducible, rows, y, scoring) if scored else None
    by_class = None
    if options.method == "auto" and options.refit is not False and isinstance(task, Margins):
        by_class = _by_class(reducible, task, rows, y, scoring, scored)
        largest = isinstance(reducible.model.readout, LargestReadout)
        task = Mistakes(task.signs, task.weight, largest)
    other_bytes = 0 if projection is None else projection.nbytes
    start = Start(whole, expansion, distinct, X, task, outputs, n_threads, score, by_class, other_bytes)
    return start, reducible


def _check_size(expansion: KernelExpansion) -> None:
    largest = max(float(np.abs(part).max(initial=0.0)) for part in (expansion.coef, expansion.intercept))
    if largest > LARGEST_COEFFICIENT:
        raise ValueError(
            f"the coefficients or intercepts of the model reach {largest:.3g}, too large for sums of squares of its "
            f"outputs (the limit is {LARGEST_COEFFICIENT:.0e}); divide y by its scale, and fit the model again."
        )


def _behind(reducible: Reducible, projection: Projection) -> Reducible:
    """The same for expansions in the image of a projection."""

    def build(smaller: KernelExpansion, kept: Array | None) -> Any:
        return reducible.build(replace(smaller, projection=projection), kept)

    return replace(reducible, build=build)


def readout_by_class(readout: VotesReadout) -> LargestReadout:
    """The readout of one output for each class."""
    return LargestReadout(readout.classes, readout.probability)


def _by_class(
    reducible: Reducible, task: Margins, X: Rows, y: Any, scoring: Any, scored: bool
) -> ByClass | None:
    """One output for each class, where that is fewer and where nobody asked for those of the pairs."""
    readout = reducible.model.readout
    if not isinstance(readout, VotesReadout) or reducible.with_readout is None:
        return None
    sums = readout.class_sums
    if readout.one_for_each_pair or sums.shape[1] >= sums.shape[0]:
        return None
    # the class of a row is the only one that none of its pairs speaks against
    codes = (np.sign(task.signs) @ sums).argmax(axis=1)
    largest = readout_by_class(readout)
    judged = Mistakes(largest.signs(codes), task.weight, by_class=True)
    return ByClass(sums, judged, _score(reducible, X, y, scoring, largest) if scored else None)


def _score(reducible: Reducible, X: Rows, y: Any, scoring: Any, other: Readout | None = None) -> Any:
    """From an expansion, and the numbers of its vectors, to the score of the model made of it."""
    if y is None and isinstance(reducible.model.readout, LabelReadout | ValueReadout):
        raise ValueError("y is needed for scoring; give X and y, best rows kept for validation.")
    bare = replace(reducible.expansion, projection=None)
    scorer = check_scoring(reducible.build(bare, None), scoring=scoring)
    if other is not None:
        with_readout = reducible.with_readout
        assert with_readout is not None
        return lambda smaller, numbers: float(scorer(with_readout(smaller, other), X, y))
    return lambda smaller, numbers: float(scorer(reducible.build(smaller, numbers), X, y))


def _checked_rows(original: Any, expansion: KernelExpansion, X: Any) -> Rows:
    """The rows on which the model is judged."""
    precomputed = isinstance(expansion.kernel, Precomputed)
    if X is None:
        if precomputed:
            raise ValueError(
                "X is needed for a model with a precomputed kernel: give the square matrix of kernel "
                "values it was fitted to."
            )
        if expansion.n_vectors == 0:  # a constant: the same wherever it is judged
            return np.zeros((1, expansion.n_features))
        return expansion.vectors
    if hasattr(original, "n_features_in_"):
        X = validate_data(
            original, sound(X), accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=False
        )
    X = as_rows(X)
    if precomputed and (X.shape[0] != X.shape[1] or X.shape[0] <= int(expansion.vectors.max())):
        raise ValueError(
            "X must be the square matrix of kernel values the model was fitted to, because its kernel is "
            f"precomputed; got shape {X.shape}."
        )
    if not precomputed and X.shape[1] != expansion.n_features:
        raise ValueError(f"X has {X.shape[1]} features, but the model has {expansion.n_features}.")
    return X


def _task(
    reducible: Reducible, whole: KernelExpansion, X: Rows, y: Any, weight: Array, n_threads: int
) -> tuple[Task, Array]:
    """How the outputs are judged, and what the model says now."""
    outputs = whole(X, n_threads=n_threads).astype(np.float64)
    readout = reducible.model.readout
    if isinstance(readout, LabelReadout):
        if y is not None:
            labels = column_or_1d(y, warn=True)
        elif X is whole.vectors and reducible.vector_labels is not None:
            labels = reducible.vector_labels
        else:
            labels = readout.answer(outputs)
        return Margins(readout.signs(readout.codes_of(labels)), weight), outputs
    if isinstance(readout, ValueReadout) and y is not None:
        values = np.asarray(y, dtype=np.float64).reshape(len(outputs), -1)
        if values.shape != outputs.shape:
            raise ValueError(
                f"y must have {outputs.shape[1]} targets, as the model has, got {values.shape[1]}."
            )
        return Targets.of(values, weight), outputs
    return Targets.of(outputs, weight), outputs
