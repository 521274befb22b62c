"""The model at other sizes: what fewer vectors cost, and what more would bring."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..adapters.reduce import reduce
from ..adapters.slim import slim
from ..adapters.whole import as_model
from ..expansion import KernelExpansion
from ..inputs import Inputs
from ..kernels import Precomputed
from ..model import Model
from ..rounding import BITS, lossless, rounded
from ..rows import Array
from ..words import count
from . import svg
from .headline import Figures, bytes_of, microseconds_a_row, name_of, score_name, score_of, written_score
from .subject import Subject, inner, numbers_of

# Sizes beyond the model's own, from the full model, go up to this many times its own.
MOST_TIMES = 4
# No further size is begun when this much time has passed.
MOST_SECONDS = 10.0
# Vectors x features x outputs x rows that one reduction may look at: a few seconds.
MOST_WORK = 5e8
FEWEST_ROWS = 200
# Of the picture.
WIDTH, HEIGHT = 760.0, 350.0
# A model without vectors is drawn here: the axis of sizes is logarithmic.
LEAST_SIZE = 0.5
# Values that are predicted worse than this are drawn here.
WORST_VALUE = -1.0


@dataclass(frozen=True, eq=False)
class Step:
    """A model of some size.

    Parameters
    ----------
    model : Model
    score : float
    n_bytes : int
    microseconds : float or None
    origin : str
        What it was made from.
    own : bool
        Whether it is the model of the report.
    """

    model: Model
    score: float
    n_bytes: int
    microseconds: float | None
    origin: str
    own: bool = False

    @property
    def n_vectors(self) -> int:
        """Its vectors."""
        return self.model.expansion.n_vectors


def steps(
    subject: Subject,
    own: Figures,
    reference: Any,
    sizes: Iterable[int] | str,
    progress: Callable[[str], None],
) -> tuple[list[Step], list[int]]:
    """Models of growing size: this one made smaller, and the full one made as small as a few times this one.

    Parameters
    ----------
    subject : Subject
    own : Figures
        Those of the model itself.
    reference : fitted estimator or None
    sizes : "auto" or iterable of int
    progress : callable
        Told what is being done.

    Returns
    -------
    list of Step, list of int
        The models, and the sizes that would have taken too long.
    """
    n = subject.model.expansion.n_vectors
    full = _kernel_model(reference)
    most = n if full is None else min(full.expansion.n_vectors - 1, MOST_TIMES * n)
    if isinstance(sizes, str):
        wanted = [size for size in (2**k for k in range(20)) if size < n or n < size <= most]
    else:
        wanted = sorted({int(size) for size in sizes} - {n})
    if own.score is None or isinstance(subject.model.expansion.kernel, Precomputed):
        return [], []
    found = {n: _step(subject, subject.model, "this model", own=True)}
    late: list[int] = []
    end = time.perf_counter() + MOST_SECONDS
    for size in wanted:
        start = subject.model if size < n else full
        if start is None or start.expansion.n_vectors <= size:
            continue
        if time.perf_counter() > end:
            late.append(size)
            continue
        progress(f"the model with {count(size, 'vector')}")
        smaller = _reduced(start, subject, size)
        if smaller is not None and smaller.expansion.n_vectors not in found:
            origin = "this model" if size < n else name_of(inner(reference))
            found[smaller.expansion.n_vectors] = _step(subject, smaller, f"{origin}, reduced")
    return ([found[size] for size in sorted(found)] if len(found) > 1 else []), late


def size_score_name(subject: Subject) -> str:
    """What models of several sizes are compared by."""
    return "same answers" if subject.kind == "inliers" else score_name(subject)


def _step(subject: Subject, model: Model, origin: str, *, own: bool = False) -> Step:
    answers = subject.seen_outputs if own else model.expansion(numbers_of(model, subject.X_seen))
    score = _score(subject, model.readout.answer(answers))
    return Step(model, score, bytes_of(model.expansion), _microseconds(model, subject), origin, own)


def _score(subject: Subject, answers: Array) -> float:
    """The score of a model of some size; without right answers, how often it says what the model says."""
    if subject.kind == "inliers":
        return float(np.mean(answers == subject.readout.answer(subject.seen_outputs)))
    score, _ = score_of(subject, answers)
    assert score is not None
    return score


def _microseconds(model: Model, subject: Subject) -> float | None:
    """Time of a model for each row, without the steps of a pipeline before it."""
    return microseconds_a_row(slim(replace(model, inputs=_plain(model))), numbers_of(model, subject.X_seen))


def _kernel_model(reference: Any) -> Model | None:
    if reference is None:
        return None
    try:
        model = as_model(inner(reference))
    except (TypeError, ValueError):
        return None
    return replace(model, expansion=model.expansion.compact())


def _plain(model: Model) -> Inputs:
    return Inputs(model.inputs.n_numbers)


def _reduced(start: Model, subject: Subject, size: int) -> Model | None:
    """A model of so many vectors; None where it cannot be reduced, or not in reasonable time."""
    n_vectors, d = start.expansion.vectors.shape
    work = n_vectors * d * start.expansion.n_outputs
    n = int(min(len(subject.some), MOST_WORK // max(1, work)))
    if n < min(FEWEST_ROWS, len(subject.some)):
        return None
    rows = subject.some if n == len(subject.some) else _even(subject.some, n)
    X = numbers_of(start, subject.some_X)[np.searchsorted(subject.some, rows)]
    y = None if subject.y is None or subject.kind not in ("classes", "values") else subject.y[rows]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a size that is not worth much is part of the picture
            smaller = as_model(reduce(slim(replace(start, inputs=_plain(start))), X, y, max_vectors=size))
    except (TypeError, ValueError):
        return None
    return replace(smaller, inputs=start.inputs, expansion=_as_stored(smaller.expansion, subject))


def _as_stored(f: KernelExpansion, subject: Subject) -> KernelExpansion:
    """The expansion with its numbers in the format of those of the model, where that is one of whole numbers."""
    number = lossless(subject.model.expansion).number
    try:
        return rounded(f, number).expansion if BITS[number] < 32 else f
    except ValueError:  # a kernel or numbers that the format cannot have
        return f


def _even(rows: Array, n: int) -> Array:
    return rows[np.linspace(0, len(rows) - 1, n).round().astype(int)]


def curve(subject: Subject, found: list[Step], other: Figures | None) -> str:
    """Score against size, the model marked."""
    own = next(k for k, step in enumerate(found) if step.own)
    floor = WORST_VALUE if subject.kind == "values" else -np.inf
    points = np.array([(max(step.n_vectors, LEAST_SIZE), max(step.score, floor)) for step in found])
    full = np.empty((0, 2))
    if other is not None and other.n_vectors and other.score is not None and subject.kind != "inliers":
        full = np.array([(other.n_vectors, max(other.score, floor))])
    everything = np.vstack([points, full])
    (x0, x1), (y0, y1) = svg.area(WIDTH, HEIGHT)
    x = svg.Scale(0.8 * everything[:, 0].min(), 1.25 * everything[:, 0].max(), x0, x1, log=True)
    y = svg.Scale(*svg.padded(everything[:, 1], 0.08), y0, y1)
    form = "g"
    if subject.kind in ("classes", "inliers"):
        form = ".1%" if y.high - y.low < 0.05 else ".0%"
    parts = [svg.axes(x, y, "vectors", size_score_name(subject), y_format=form)]
    for line, class_ in (
        (points[: own + 1], "curve c0"),
        (np.vstack([points[own + 1 :], full]), "curve dashed c1"),
    ):
        if len(line) > 1:
            parts.append(svg.line(x(line[:, 0]), y(line[:, 1]), class_=class_))
    places = np.column_stack([x(points[:, 0]), y(points[:, 1])])
    for k, (px, py) in enumerate(places.tolist()):
        class_ = f"dot solid {'c0' if k <= own else 'c1'}"
        parts.append(svg.tag("circle", cx=px, cy=py, r=4.5, class_=class_, data_step=k))
    parts.append(svg.tag("circle", cx=places[own, 0], cy=places[own, 1], r=9.0, class_="ring", id="at-size"))
    if other is not None and len(full):
        parts.append(_square(other.name, float(x(full[0, 0])), float(y(full[0, 1])), (x0 + x1) / 2, y1 + 40))
    title = (
        f"{size_score_name(subject)} against the number of vectors: {written_score(subject, found[own].score)} with "
        f"{found[own].n_vectors}"
    )
    return svg.picture(*parts, title=title, width=WIDTH, height=HEIGHT, class_="chart broad")


def _square(name: str, x: float, y: float, middle: float, high: float) -> str:
    """The full model with its name, which goes to the side where there is room."""
    mark = svg.tag("rect", x=x - 5, y=y - 5, width=10, height=10, class_="dot solid c1")
    side = (x + 5, "name end") if x > middle else (x - 5, "name")
    return mark + svg.label(name, side[0], y + (22 if y < high else -13), class_=side[1])
