"""What a model says everywhere in a plane, or along its one input."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model import Model
from ..rows import Array, dense
from . import svg
from .contours import outlines, simplified
from .plane import Plane, affine, translated, vectors_as_numbers
from .subject import Subject, class_scores

# Nodes of the grid along each side.
NODES = 90
# Rows and vectors drawn at most.
MOST_DOTS = 300
MOST_RINGS = 200
# Bands of a value.
LEVELS = 7
# Points of an outline that are this near to a straight line, in pixels, are left out.
TOLERANCE = 0.25
SIDE = 460.0


class Regions:
    """Draws models in one plane, so that they can be compared.

    Parameters
    ----------
    subject : Subject
    plane : Plane
    """

    def __init__(self, subject: Subject, plane: Plane) -> None:
        self.subject, self.plane = subject, plane
        (x0, x1), (y0, y1) = svg.area(SIDE + 60, SIDE)
        self.x, self.y = svg.Scale(*plane.x, x0, x1), svg.Scale(*plane.y, y0, y1)
        self.nodes = plane.grid(NODES)
        self.levels: list[float] = []
        self.rows = self._rows()

    def draw(self, model: Model, title: str) -> str:
        """The picture of a model, empty where it does not see what this plane is of."""
        nodes = translated(self.nodes, self.subject.model.inputs, model.inputs)
        if nodes is None:
            return ""
        outputs = model.expansion(nodes).astype(np.float64)
        parts = [*self._fields(model, outputs), self.rows, self._rings(model)]
        return svg.picture(
            *parts,
            svg.axes(self.x, self.y, *self.plane.names, grid=False),
            title=title,
            width=SIDE + 60,
            height=SIDE,
            class_="chart plane",
        )

    def _fields(self, model: Model, outputs: Array) -> list[str]:
        readout: Any = model.readout
        if self.subject.kind == "classes":
            scores = class_scores(readout, outputs)
            rest = np.array([np.delete(scores, c, axis=1).max(axis=1) for c in range(scores.shape[1])]).T
            return [
                self._filled(scores[:, c] - rest[:, c], f"region {svg.colour(c)}")
                for c in range(scores.shape[1])
            ]
        if self.subject.kind == "inliers":
            return [self._filled(outputs[:, 0], "region c0")]
        values = outputs[:, 0]
        if not self.levels:
            low, high = np.percentile(values, (2, 98))
            self.levels = [float(level) for level in np.linspace(low, high, LEVELS + 2)[1:-1]]
        return [self._filled(values - level, "band c0") for level in self.levels]

    def _filled(self, field: Array, class_: str) -> str:  # (NODES * NODES,)
        d = []
        step_x = (self.x.end - self.x.start) / (NODES - 1)
        step_y = (self.y.start - self.y.end) / (NODES - 1)
        for polygon in outlines(field.reshape(NODES, NODES)):
            points = polygon * [step_x, step_y] + [self.x.start, self.y.end]
            d.append(svg.path(simplified(points, TOLERANCE), closed=True))
        return svg.tag("path", d="".join(d), class_=class_) if d else ""

    def _inside(self, points: Array) -> Array:
        u, v = points.T
        return (
            (u >= self.plane.x[0]) & (u <= self.plane.x[1]) & (v >= self.plane.y[0]) & (v <= self.plane.y[1])
        )

    def _rows(self) -> str:
        numbers, some = self.subject.some_numbers, np.arange(len(self.subject.some))
        if len(some) > MOST_DOTS:
            some = np.sort(np.random.default_rng(1).choice(len(some), MOST_DOTS, replace=False))
        points = self.plane.points(numbers[some])
        kept = self._inside(points)
        points, some = points[kept], self.subject.some[some[kept]]
        classes = None
        if self.subject.kind == "classes":
            assert self.subject.y is not None
            classes = [svg.colour(c) for c in self.subject.readout.codes_of(self.subject.y[some]).tolist()]
        return svg.dots(self.x(points[:, 0]), self.y(points[:, 1]), classes, r=2.4)

    def _rings(self, model: Model) -> str:
        own = self.subject.model.inputs
        origin = translated(self.plane.origin[None, :], own, model.inputs)
        vectors = vectors_as_numbers(model, None if origin is None else origin[0])
        if vectors is not None:
            vectors = translated(vectors, model.inputs, own)
        if vectors is None or len(vectors) > MOST_RINGS:
            return ""
        points = self.plane.points(vectors)
        points = points[self._inside(points)]
        return svg.dots(self.x(points[:, 0]), self.y(points[:, 1]), r=6.5, class_="ring")


def along_one_input(subject: Subject) -> str:
    """What the model gives along its only input."""
    numbers = dense(subject.some_numbers)[:, 0].astype(np.float64)
    shift, scale = affine(subject.model.inputs)
    raw = numbers / scale[0] + shift[0]
    low, high = svg.padded(raw, 0.05)
    at = np.linspace(low, high, 240)
    outputs = subject.model.expansion(((at - shift[0]) * scale[0])[:, None]).astype(np.float64)
    curves = class_scores(subject.readout, outputs) if subject.kind == "classes" else outputs
    shown = subject.y[subject.some] if subject.kind == "values" and subject.y is not None else None
    heights = curves.ravel() if shown is None else np.concatenate([curves.ravel(), shown.ravel()])
    (x0, x1), (y0, y1) = svg.area()
    x, y = svg.Scale(low, high, x0, x1), svg.Scale(*svg.padded(heights), y0, y1)
    parts = [svg.axes(x, y, subject.names[0], "score" if subject.kind == "classes" else "value")]
    if shown is not None and shown.ndim == 1:
        few = np.arange(len(raw))[:: -(-len(raw) // MOST_DOTS)]
        parts.append(svg.dots(x(raw[few]), y(shown[few]), r=2.4, class_="dot faint"))
    for k in range(curves.shape[1]):
        parts.append(svg.line(x(at), y(curves[:, k]), class_=f"curve {svg.colour(k)}"))
    return svg.picture(*parts, title=f"What the model gives along {subject.names[0]}")
