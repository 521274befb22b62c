"""Pictures from the records of benchmarks/compact.py: score against bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from compact_methods import METHODS
from compact_records import BASE, by_method, differences, values
from compact_sets import IDA, MAIN, REGRESSION, SETS
from harness import Record, pyplot, write_picture

COLOURS = {
    "compact": "#d9822b",
    "limited": "#e9b872",
    "svc": "#22272e",
    "intelex": "#8b949e",
    "reduced": "#2f6f9f",
    "nystroem": "#3a8f6b",
    "fastrvm": "#8a5fa8",
    "zero_norm": "#b8433f",
    "greedy": "#56a7d1",
    "lightgbm": "#8c8a2b",
    "lightgbm_searched": "#5d5c12",
    "mlp": "#c2569b",
}
IN_BYTES = "#a34f0c"  # CompactSVC in so many bytes
OURS = ("compact", "limited")
INK, GREY, FAINT = "#22272e", "#57606a", "#d8dee4"
DPI = 110


class Point(NamedTuple):
    """Where a method lies."""

    method: str
    bytes: float
    score: float
    error: float = 0.0


def standard_error(numbers: np.ndarray) -> float:
    return float(numbers.std(ddof=1) / np.sqrt(len(numbers))) if len(numbers) > 1 else 0.0


def size_of(method: str, found: list[Record]) -> np.ndarray:
    """Bytes, each number as the method stores it."""
    return values(found, f"bytes_{METHODS[method].stored}")


def points_of_set(name: str, methods: dict[str, list[Record]]) -> list[Point]:
    points = []
    for key, found in methods.items():
        scores = values(found, "r2") if SETS[name].regression else 100.0 * values(found, "accuracy")
        points.append(
            Point(key, float(size_of(key, found).mean()), float(scores.mean()), standard_error(scores))
        )
    return points


def points_over(records: list[Record], names: list[str]) -> list[Point]:
    """Score minus the searched SVC's and bytes (geometric mean), over the sets that both have."""
    points = []
    for key in METHODS:
        gains, sizes = [], []
        for name in names:
            methods = by_method(records, name)
            if key not in methods or BASE not in methods:
                continue
            score, unit = ("r2", 1.0) if SETS[name].regression else ("accuracy", 100.0)
            gain = unit * differences(methods[key], methods[BASE], score)
            if len(gain):
                gains.append(gain.mean())
                sizes.append(np.log(size_of(key, methods[key])).mean())
        # a method that ran on a few of the sets says nothing about all
        if len(gains) > len(names) / 2:
            points.append(Point(key, float(np.exp(np.mean(sizes))), float(np.mean(gains))))
    return points


def pareto_front(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other beats in both: fewer bytes and a higher score."""
    front: list[tuple[float, float]] = []
    for size, score in sorted(points, key=lambda point: (point[0], -point[1])):
        if not front or score > front[-1][1]:
            front.append((size, score))
    return front


def draw(ax: Any, points: list[Point], title: str, score: str, *, regression: bool = False) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    for key, size, value, error in points:
        method = METHODS[key]
        ours = key in OURS or method.stored == "int8"
        ax.errorbar(
            size,
            value,
            yerr=error or None,
            fmt="*" if ours else "o",
            markersize=15 if ours else 7,
            markeredgecolor="white",
            markeredgewidth=0.8,
            capsize=2.5,
            linewidth=1.1,
            zorder=5 if ours else 4 if key == BASE else 3,
            color=COLOURS.get(key, IN_BYTES),
            label=method.label(regression),
        )
    front = pareto_front([(point.bytes, point.score) for point in points])
    ax.plot(*zip(*front, strict=True), color=FAINT, linewidth=5, solid_capstyle="round", zorder=1)
    ax.set_xscale("log")
    ax.margins(x=0.08)
    ax.xaxis.set_major_locator(LogLocator())
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.set_xlabel("bytes of the model, 4 for a number (int8: 1)", color=INK)
    ax.set_ylabel(score, color=INK)
    ax.set_title(title, loc="left", color=INK)
    ax.grid(color=FAINT, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.tick_params(which="both", colors=GREY, length=0)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(FAINT)


def draw_legend(ax: Any) -> None:
    ax.legend(
        frameon=False,
        fontsize=8,
        labelcolor=INK,
        loc="center left",
        bbox_to_anchor=(1.01, 0.5),
        labelspacing=0.9,
    )


def draw_pictures(records: list[Record], folder: Path) -> None:
    """A picture of each set, and one of the means over the sets."""
    plt = pyplot()
    for name in MAIN:
        methods = by_method(records, name)
        if methods:
            regression = SETS[name].regression
            figure, ax = plt.subplots(figsize=(9.6, 4.2), layout="constrained")
            title = name.removeprefix("ida_").removeprefix("reg_").replace("_", " ")
            score = "R² on test rows" if regression else "accuracy on test rows, %"
            draw(ax, points_of_set(name, methods), title, score, regression=regression)
            draw_legend(ax)
            write_picture(figure, folder / f"{name}.png", DPI, svg=True)
    draw_overview(records, folder)


def draw_overview(records: list[Record], folder: Path) -> None:
    larger = [
        name for name in MAIN if name not in IDA and not SETS[name].regression and not SETS[name].methods
    ]
    kinds = [
        ("The 13 IDA sets", IDA, "accuracy minus the searched SVC's, points"),
        ("Other sets of classes", larger, "accuracy minus the searched SVC's, points"),
        ("Sets for regression", REGRESSION, "R² minus the searched SVR's"),
    ]
    found = [(title, points_over(records, names), score) for title, names, score in kinds]
    found = [panel for panel in found if panel[1]]
    if not found:
        return
    plt = pyplot()
    figure, axes = plt.subplots(
        1, len(found), figsize=(1.0 + 4.4 * len(found), 5.2), layout="constrained", squeeze=False
    )
    labels: dict[str, Any] = {}
    for ax, (title, points, score) in zip(axes[0], found, strict=True):
        draw(ax, points, title, score)
        handles, names = ax.get_legend_handles_labels()
        labels.update(zip(names, handles, strict=True))
    figure.legend(labels.values(), labels.keys(), loc="outside lower center", ncols=3, frameon=False, fontsize=8,
                  labelcolor=INK)  # fmt: skip
    write_picture(figure, folder / "overview.png", DPI, svg=True)
