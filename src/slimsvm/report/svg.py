"""Pictures as SVG that takes its colours from the page, so that they are right in light and in dark."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..rows import Array

# Numbers of a picture's own units: pixels on a wide screen.
WIDTH, HEIGHT = 560.0, 360.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 14.0, 32.0, 44.0
# Classes beyond these share colours.
N_COLOURS = 10


def tag(name: str, *inside: str, **attributes: object) -> str:
    """An element; attributes are escaped, `class_` is class, and `_` becomes `-`."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{''.join(inside)}</{name}>" if inside else f"<{name}{written}/>"


def _text(value: object) -> str:
    if not isinstance(value, float | np.floating):
        return str(value)
    short = f"{value:.1f}"
    return short.removesuffix(".0")


def label(text: object, x: float, y: float, **attributes: object) -> str:
    """A text at a place."""
    return tag("text", html.escape(str(text)), x=x, y=y, **attributes)


def picture(
    *inside: str, title: str, width: float = WIDTH, height: float = HEIGHT, class_: str = "chart"
) -> str:
    """The whole picture; the title is what a screen reader says."""
    return tag(
        "svg",
        *inside,
        viewBox=f"0 0 {_text(width)} {_text(height)}",
        class_=class_,
        role="img",
        aria_label=title,
    )


@dataclass(frozen=True)
class Scale:
    """From values to places in the picture.

    Parameters
    ----------
    low, high : float
    start, end : float
        Where they are drawn.
    log : bool
        Whether equal factors are equally far apart.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: Array | float) -> Array:
        """Places of values."""
        values = np.asarray(value, dtype=np.float64)
        low, high = self.low, self.high
        if self.log:
            values, low, high = np.log(values), float(np.log(low)), float(np.log(high))
        share: Array = (values - low) / ((high - low) or 1.0)
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = 6) -> list[float]:
        """Round numbers within the range."""
        if self.log:
            powers = np.arange(np.ceil(np.log2(self.low) - 1e-9), np.floor(np.log2(self.high) + 1e-9) + 1)
            return [float(2.0**power) for power in powers[:: -(-len(powers) // most) or 1]]
        rough = (self.high - self.low) / most or 1.0
        unit = 10.0 ** np.floor(np.log10(rough))
        step = unit * next(factor for factor in (1.0, 2.0, 5.0, 10.0) if factor * unit >= rough * (1 - 1e-9))
        first, last = np.ceil(self.low / step - 1e-9), np.floor(self.high / step + 1e-9)
        return [float(k * step) + 0.0 for k in np.arange(first, last + 1)]


def padded(values: Array, share: float = 0.04) -> tuple[float, float]:
    """Lowest and highest value with a little room around them."""
    low, high = float(np.min(values)), float(np.max(values))
    room = share * (high - low) or 0.5 * max(abs(low), 1.0)
    return low - room, high + room


def axes(
    x: Scale,
    y: Scale,
    x_name: str,
    y_name: str,
    *,
    x_format: str = "g",
    y_format: str = "g",
    x_ticks: Sequence[float] | None = None,
    grid: bool = True,
) -> str:
    """Ticks, their numbers, faint lines and the names of both axes."""
    parts = []
    for value in y.ticks(5):
        at = float(y(value))
        if grid:
            parts.append(tag("line", class_="grid", x1=x.start, x2=x.end, y1=at, y2=at))
        parts.append(label(tick(value, y_format), x.start - 7, at + 4, class_="tick end"))
    for value in x.ticks() if x_ticks is None else x_ticks:
        at = float(x(value))
        parts.append(label(tick(value, x_format), at, y.start + 17, class_="tick middle"))
    parts.append(tag("line", class_="axis", x1=x.start, x2=x.end, y1=y.start, y2=y.start))
    parts.append(label(x_name, (x.start + x.end) / 2, y.start + 36, class_="name middle"))
    parts.append(label(y_name, 0.0, y.end - 14, class_="name"))
    return "".join(parts)


def tick(value: float, form: str) -> str:
    """A number at an axis."""
    value += 0.0  # no minus before a zero
    if form.endswith("g"):
        rounded = float(f"{value:.6g}")
        return f"{rounded:,.0f}" if rounded == round(rounded) and abs(rounded) < 1e7 else f"{rounded:.4g}"
    return format(value, form)


def area(width: float = WIDTH, height: float = HEIGHT) -> tuple[tuple[float, float], tuple[float, float]]:
    """Where the axes of a picture of this size go: start and end of x, and of y."""
    return (LEFT, width - RIGHT), (height - BOTTOM, TOP)


def path(points: Iterable[Sequence[float]], *, closed: bool = False) -> str:
    """What the attribute `d` of a path through points is."""
    text = "L".join(f"{_text(float(px))} {_text(float(py))}" for px, py in points)
    return f"M{text}{'Z' if closed else ''}" if text else ""


def line(x: Array, y: Array, **attributes: object) -> str:
    """A line through points."""
    return tag("path", d=path(zip(x, y, strict=True)), **{"fill": "none", **attributes})


def dots(
    x: Array, y: Array, classes: Sequence[str] | None = None, *, r: float = 3.0, class_: str = "dot"
) -> str:
    """A small circle at each point; `classes` are added one to each."""
    return "".join(
        tag(
            "circle",
            cx=float(x[k]),
            cy=float(y[k]),
            r=r,
            class_=f"{class_} {classes[k]}" if classes else class_,
        )
        for k in range(len(x))
    )


def colour(k: int) -> str:
    """The class of the style sheet for the colour of class k."""
    return f"c{k % N_COLOURS}"
