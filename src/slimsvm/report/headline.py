"""The numbers at the top: score, vectors, bytes, time, beside those of the full model."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score, r2_score

from ..adapters.slim import SlimModel
from ..adapters.whole import as_model
from ..budget import stored_bytes
from ..expansion import KernelExpansion
from ..rounding import lossless
from ..rows import Array
from ..words import size_in_words
from .subject import Subject, inner, last_step, rows_of, take
from .text import factor, share, short

# Microseconds a row are of so many rows together, the middle of a few calls.
TIMED_ROWS = 1000
TIMED_CALLS = 7
TIMING_SECONDS = 0.5
# Where the most frequent class has more than this share, the mean over the classes stands beside the accuracy.
UNEVEN = 0.65


@dataclass(frozen=True)
class Figures:
    """What is told of one model; None where it does not apply.

    Parameters
    ----------
    name : str
    score, error : float or None
        The score and its standard error.
    n_vectors, n_bytes : int or None
    microseconds : float or None
    """

    name: str
    score: float | None = None
    error: float | None = None
    n_vectors: int | None = None
    n_bytes: int | None = None
    microseconds: float | None = None


@dataclass(frozen=True)
class Card:
    """One number of the headline."""

    name: str
    value: str
    beside: str = ""
    note: str = ""


def name_of(estimator: Any) -> str:
    """What a model is called."""
    machine = last_step(estimator)
    if not isinstance(machine, SlimModel):
        return type(machine).__name__
    return "Reduced model" if hasattr(machine, "reduction_") else "Model"


def score_name(subject: Subject) -> str:
    """What the score is called."""
    return {"classes": "accuracy", "values": "R²", "inliers": "inliers", "density": "log-density"}.get(
        subject.kind, ""
    )


def written_score(subject: Subject, value: float) -> str:
    """The score as people read it."""
    return share(value) if subject.kind in ("classes", "inliers") else f"{value:.3f}"


def score_of(subject: Subject, answers: Array) -> tuple[float | None, float | None]:
    """The score of answers to the rows the model is judged by, and its standard error where that is simple."""
    y = subject.y_seen
    if subject.kind == "classes":
        right = np.asarray(answers) == np.asarray(y)
        return _share(right)
    if subject.kind == "values":
        return (float(r2_score(y, answers)), None) if len(answers) > 1 else (None, None)
    if subject.kind == "inliers":
        return _share(np.asarray(answers) > 0)
    return (float(np.mean(answers)), None) if subject.kind == "density" else (None, None)


def _share(right: Array) -> tuple[float, float]:
    p = float(np.mean(right))
    return p, float(np.sqrt(p * (1 - p) / len(right)))


def microseconds_a_row(estimator: Any, X: Any) -> float | None:
    """Time of `predict`, or what the estimator has instead, for each of many rows together."""
    call = next(
        (f for name in ("predict", "score_samples", "transform") if (f := getattr(estimator, name, None))),
        None,
    )
    if call is None:
        return None
    rows = take(X, np.arange(TIMED_ROWS) % rows_of(X))
    call(rows)
    times: list[float] = []
    end = time.perf_counter() + TIMING_SECONDS
    while not times or (len(times) < TIMED_CALLS and time.perf_counter() < end):
        start = time.perf_counter()
        call(rows)
        times.append(time.perf_counter() - start)
    return 1e6 * float(np.median(times)) / TIMED_ROWS


def figures_of(subject: Subject) -> Figures:
    """Those of the model itself."""
    answers = subject.readout.answer(subject.seen_outputs)
    f = subject.model.expansion
    return Figures(
        name_of(subject.trained),
        *score_of(subject, answers),
        f.n_vectors,
        bytes_of(f),
        microseconds_a_row(subject.estimator, subject.X_seen),
    )


def figures_of_reference(subject: Subject, reference: Any) -> Figures | None:
    """Those of the model beside it, of whatever kind it is."""
    if reference is None:
        return None
    reference = inner(reference)
    f = expansion_of(reference)
    answers = np.asarray(reference.predict(subject.X_seen))
    return Figures(
        name_of(reference),
        *score_of(subject, answers),
        None if f is None else f.n_vectors,
        None if f is None else bytes_of(f),
        microseconds_a_row(reference, subject.X_seen),
    )


def bytes_of(f: KernelExpansion) -> int:
    """Bytes of the numbers of an expansion, in the smallest format that loses nothing."""
    return stored_bytes(f, lossless(f).number)


def expansion_of(model: Any) -> KernelExpansion | None:
    """The expansion of a fitted model with its equal vectors merged; None for what is no kernel machine."""
    try:
        return as_model(inner(model)).expansion.compact()
    except (TypeError, ValueError):
        return None


def cards(subject: Subject, own: Figures, other: Figures | None) -> list[Card]:
    """The headline."""
    found = []
    if own.score is not None:
        beside = ""
        if other is not None and other.score is not None:
            beside = f"{other.name}: {written_score(subject, other.score)}"
        note = "" if own.error is None else f"± {100 * own.error:.1f} points, one standard error"
        found.append(Card(score_name(subject), written_score(subject, own.score), beside, note))
    if subject.kind == "classes":
        found += _balanced(subject)
    sizes = (("vectors", "n_vectors"), ("size", "n_bytes"), ("microseconds a row", "microseconds"))
    for name, attribute in sizes:
        mine: float | None = getattr(own, attribute)
        theirs: float | None = getattr(other, attribute, None)
        if mine is None:
            continue
        beside = note = ""
        if other is not None and theirs is not None:
            beside = f"{other.name}: {_written(name, theirs)}"
            note = _ratio(name, theirs / mine) if mine else ""
        found.append(Card(name, _written(name, mine), beside, note))
    return found


def _balanced(subject: Subject) -> list[Card]:
    codes = subject.seen_codes
    if np.bincount(codes).max() <= UNEVEN * len(codes) or len(np.unique(codes)) < 2:
        return []
    winners = subject.readout.winners(subject.seen_outputs)
    value = balanced_accuracy_score(codes, winners)
    return [Card("balanced accuracy", share(float(value)), "", "mean over the classes, which differ in size")]


def _written(name: str, value: float) -> str:
    if name == "size":
        return size_in_words(int(value))
    return (
        f"{value:,.0f}"
        if name == "vectors"
        else short(float(f"{value:.2g}") if value < 100 else round(value))
    )


def _ratio(name: str, ratio: float) -> str:
    less, more = ("faster", "slower") if name == "microseconds a row" else ("smaller", "larger")
    if name == "vectors":
        less, more = "fewer", "as many"
    if ratio >= 1.05:
        return f"{factor(ratio)} times {less}"
    return f"{factor(1 / ratio)} times {more}" if ratio < 0.95 else "the same"
