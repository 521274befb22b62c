"""How good the answers are: confusion, ROC and calibration; predicted against true values; scores of inliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import auc, confusion_matrix, roc_curve

from ..rows import Array
from . import svg
from .subject import Subject, class_scores
from .text import share

# Classes in the table of confusions, and curves in one picture.
MOST_CLASSES = 30
MOST_CURVES = 10
# A point of the calibration curve stands for about equally many rows.
BINS = 10
# Points of a scattered picture.
MOST_DOTS = 600
SHADES = 10
# A curve has no more points than can be seen.
MOST_POINTS = 150


@dataclass(frozen=True)
class Confusion:
    """Rows by true class (lines) and answer (columns), with a shade from 0 to 9 for each."""

    classes: list[str]
    counts: list[list[int]]
    shades: list[list[int]]
    recall: list[str]


@dataclass(frozen=True)
class Drawing:
    """A picture with its heading, and a sentence below it."""

    heading: str
    svg: str
    says: str
    legend: tuple[tuple[str, str], ...] = ()


def confusion(subject: Subject) -> Confusion | None:
    """The table of confusions of a classifier."""
    if subject.kind != "classes" or len(subject.classes) > MOST_CLASSES:
        return None
    winners = subject.readout.winners(subject.seen_outputs)
    return _confusion(subject.seen_codes, winners, subject.classes)


def _confusion(true: Array, answered: Array, classes: list[str]) -> Confusion:
    counts = confusion_matrix(true, answered, labels=np.arange(len(classes)))
    total = counts.sum(axis=1)
    shares = counts / np.maximum(total, 1)[:, None]
    shades = np.minimum(SHADES - 1, np.ceil(shares * (SHADES - 1))).astype(int)
    recall = [share(float(shares[c, c])) if total[c] else "no rows" for c in range(len(classes))]
    return Confusion(classes, counts.tolist(), shades.tolist(), recall)


def drawings(subject: Subject) -> list[Drawing]:
    """The pictures for this kind of model."""
    if subject.kind == "classes":
        return [drawing for drawing in (_roc(subject), _calibration(subject)) if drawing is not None]
    if subject.kind == "values":
        return _values(subject)
    return [_scores(subject)] if subject.kind in ("inliers", "density") else []


def _square() -> tuple[svg.Scale, svg.Scale]:
    (x0, x1), (y0, y1) = svg.area(420.0, 380.0)
    return svg.Scale(0.0, 1.0, x0, x1), svg.Scale(0.0, 1.0, y0, y1)


def _thinned(*arrays: Array) -> list[Array]:
    n = len(arrays[0])
    kept = np.unique(np.linspace(0, n - 1, min(n, MOST_POINTS)).round().astype(int))
    return [array[kept] for array in arrays]


def _roc(subject: Subject) -> Drawing | None:
    codes = subject.seen_codes
    scores = class_scores(subject.readout, subject.seen_outputs)
    present = [c for c in range(scores.shape[1]) if 0 < np.sum(codes == c) < len(codes)]
    if not present:
        return None
    chosen = [1] if scores.shape[1] == 2 else present[:MOST_CURVES]
    x, y = _square()
    parts = [svg.axes(x, y, "false alarms", "found")]
    parts.append(svg.line(x(np.array([0.0, 1.0])), y(np.array([0.0, 1.0])), class_="chance"))
    legend, areas = [], []
    for c in chosen:
        wrong, found, _ = roc_curve(codes == c, scores[:, c])
        areas.append(float(auc(wrong, found)))
        wrong, found = _thinned(wrong, found)
        mark = svg.colour(0 if len(chosen) == 1 else c)
        parts.append(svg.line(x(wrong), y(found), class_=f"curve {mark}"))
        legend.append((mark, f"{subject.classes[c]}: {areas[-1]:.3f}"))
    if len(chosen) == 1:
        says = (
            f"Rows of class {subject.classes[1]} found, against rows of {subject.classes[0]} taken for it, at every "
            f"threshold of the score. The area below the curve is {areas[0]:.3f}; 0.5 is chance."
        )
        legend = []
    else:
        which = "Each class" if len(chosen) == scores.shape[1] else f"Each of {len(chosen)} classes"
        says = f"{which} against the rest, with the area below its curve; their mean is {np.mean(areas):.3f}."
    title = f"ROC curve, area {np.mean(areas):.3f}"
    return Drawing(
        "ROC curve", svg.picture(*parts, title=title, width=420.0, height=380.0), says, tuple(legend)
    )


def _calibration(subject: Subject) -> Drawing | None:
    if subject.readout.probability is None:
        return None
    P = subject.readout.probabilities(subject.seen_outputs)
    codes = subject.seen_codes
    two = P.shape[1] == 2
    said = P[:, 1] if two else P.max(axis=1)
    true = (codes == 1) if two else (subject.readout.winners(subject.seen_outputs) == codes)
    order = np.argsort(said, kind="stable")
    parts = np.array_split(order, max(1, min(BINS, len(order) // 5)))
    mean = np.array([said[part].mean() for part in parts])
    rate = np.array([true[part].mean() for part in parts])
    error = np.array([np.sqrt(r * (1 - r) / len(p)) for r, p in zip(rate, parts, strict=True)])
    off = float(sum(len(p) * abs(m - r) for p, m, r in zip(parts, mean, rate, strict=True)) / len(order))
    x, y = _square()
    what = f"class {subject.classes[1]}" if two else "the class it names"
    drawn = [svg.axes(x, y, "probability the model gives", "share that is true")]
    drawn.append(svg.line(x(np.array([0.0, 1.0])), y(np.array([0.0, 1.0])), class_="chance"))
    for m, r, e in zip(mean, rate, error, strict=True):
        ends = np.clip([r - e, r + e], 0.0, 1.0)
        drawn.append(svg.line(x(np.array([m, m])), y(ends), class_="curve thin c0"))
    drawn.append(svg.line(x(mean), y(rate), class_="curve c0"))
    drawn.append(svg.dots(x(mean), y(rate), r=4.0, class_="dot solid c0"))
    says = (
        f"How often {what} is true, against the probability the model gives it: on the diagonal the probabilities can "
        f"be taken at their word. Each point is about {len(parts[0])} rows, with one standard error; the mean "
        f"distance is {100 * off:.1f} points."
    )
    title = f"Calibration curve, mean distance {off:.3f}"
    return Drawing("Calibration", svg.picture(*drawn, title=title, width=420.0, height=380.0), says)


def _values(subject: Subject) -> list[Drawing]:
    answers, y = subject.readout.answer(subject.seen_outputs), subject.y_seen
    assert y is not None
    if y.ndim == 1:
        answers, y = answers.reshape(-1, 1), y.reshape(-1, 1)
    found = []
    for t in range(min(y.shape[1], MOST_CURVES)):
        name = f" of target {t}" if y.shape[1] > 1 else ""
        found.append(_against(y[:, t].astype(np.float64), answers[:, t], name))
    if y.shape[1] == 1:
        off = answers[:, 0] - y[:, 0].astype(np.float64)
        found.append(
            Drawing(
                "Errors",
                _histogram([(off, "c0")], "predicted minus true", 0.0),
                f"Half of the errors are below {np.median(np.abs(off)):.4g} in size, nine of ten below "
                f"{np.percentile(np.abs(off), 90):.4g}.",
            )
        )
    return found


def _against(true: Array, answers: Array, name: str) -> Drawing:
    some = np.arange(len(true))
    if len(some) > MOST_DOTS:
        some = np.sort(np.random.default_rng(0).choice(some, MOST_DOTS, replace=False))
    low, high = svg.padded(np.concatenate([true[some], answers[some]]))
    (x0, x1), (y0, y1) = svg.area(420.0, 380.0)
    x, y = svg.Scale(low, high, x0, x1), svg.Scale(low, high, y0, y1)
    parts = [svg.axes(x, y, f"true value{name}", "predicted")]
    parts.append(svg.line(x(np.array([low, high])), y(np.array([low, high])), class_="chance"))
    parts.append(svg.dots(x(true[some]), y(answers[some]), r=2.8, class_="dot c0"))
    root = float(np.sqrt(np.mean((true - answers) ** 2)))
    says = f"On the diagonal predictions are right. The root of the mean squared error is {root:.4g}."
    drawn = svg.picture(*parts, title=f"Predicted against true values{name}", width=420.0, height=380.0)
    return Drawing(f"Predicted against true{name}", drawn, says)


def _scores(subject: Subject) -> Drawing:
    if subject.kind == "density":
        values = subject.readout.answer(subject.seen_outputs)
        values = values[np.isfinite(values)]
        drawn = _histogram([(values, "c0")], "logarithm of the density", None)
        return Drawing("Densities", drawn, f"What the model gives for the {subject.seen_words}.")
    scores: Array = subject.seen_outputs[:, 0]
    y: Any = subject.y_seen
    groups, legend = [(scores, "c0")], []
    says = "Rows with a positive score are inliers."
    if y is not None and len(np.unique(y)) == 2:
        low, high = np.unique(y).tolist()
        groups = [(scores[y == high], "c0"), (scores[y == low], "c1")]
        legend = [("c0", f"answer {high}"), ("c1", f"answer {low}")]
        wrong, found, _ = roc_curve(y == high, scores)
        says += f" The area below the ROC curve is {auc(wrong, found):.3f}."
    return Drawing("Scores", _histogram(groups, "score", 0.0), says, tuple(legend))


def _histogram(groups: list[tuple[Array, str]], name: str, mark: float | None) -> str:
    together = np.concatenate([values for values, _ in groups])
    low, high = svg.padded(together) if len(together) else (0.0, 1.0)
    edges = np.linspace(low, high, 31)
    counts = [np.histogram(values, edges)[0] for values, _ in groups]
    (x0, x1), (y0, y1) = svg.area(420.0, 380.0)
    x = svg.Scale(low, high, x0, x1)
    y = svg.Scale(0.0, 1.05 * max(1, max(int(c.max()) for c in counts)), y0, y1)
    parts = [svg.axes(x, y, name, "rows")]
    for heights, (_, mark_class) in zip(counts, groups, strict=True):
        for k, n in enumerate(heights.tolist()):
            left, right, top = float(x(edges[k])), float(x(edges[k + 1])), float(y(n))
            if n:
                parts.append(
                    svg.tag(
                        "rect",
                        x=left + 0.5,
                        y=top,
                        width=right - left - 1,
                        height=y0 - top,
                        class_=f"bar {mark_class}",
                    )
                )
    if mark is not None and low < mark < high:
        parts.append(svg.line(x(np.array([mark, mark])), np.array([y0, y1]), class_="chance"))
    return svg.picture(*parts, title=f"Histogram: {name}", width=420.0, height=380.0)
