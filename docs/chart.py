"""The chart of "which method should I use": from what somebody has, by what they want, to an estimator."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

INK, GREY, LINE = "#22272e", "#57606a", "#8c959f"
HAVE, WANT, TAKE, FIRST = "#eef1f4", "#ffffff", "#dbe9f3", "#fae8d3"
# What somebody has; then, for each wish, the estimators. The first of all is where to begin.
CHART: dict[str, list[tuple[str, str]]] = {
    "a trained model": [
        ("fewer vectors, the same answers", "reduce"),
        ("the same within a search or a pipeline", "Reduced"),
    ],
    "rows and labels\nor targets": [
        ("small and accurate, nothing to tune, any budget", "CompactSVC  CompactSVR"),
        ("vectors that are rows: as few as possible", "ZeroNormSVC  TwoStageLSSVC"),
        ("error bars; probabilities of a model", "RVR  RVC"),
        ("every size from one fit; many rows and classes", "GreedyLSSVC"),
        ("the hinge loss and a wide kernel", "EmpiricalSVC"),
        ("exactly so many vectors", "FixedSizeLSSVC"),
        ("a bound on the distance to the full machine", "SparseGreedyGPR"),
        ("all vectors: the machine to compare with", "FullSVC  LSSVC"),
    ],
    "rows": [
        ("a density on few points", "SparseKernelDensity"),
        ("kernel features for another model", "EmpiricalFeatureMap"),
    ],
    "too many columns": [("the few that matter", "ZeroNormSelector")],
}
WIDE, STEP, GAP, HIGH = 100.0, 4.6, 2.2, 3.5
COLUMNS = {"have": (1.0, 19.0), "want": (26.0, 40.0), "take": (72.0, 27.0)}  # left edge and width


def box(
    axes: Axes, column: str, y: float, text: str, colour: str, *, code: bool = False, high: float = HIGH
) -> None:
    """A box with a text, its middle at height y."""
    left, wide = COLUMNS[column]
    shape = FancyBboxPatch(
        (left, y - high / 2), wide, high, boxstyle="round,pad=0,rounding_size=0.7", fc=colour, ec=LINE, lw=0.8
    )
    axes.add_patch(shape)
    family = "monospace" if code else "sans-serif"
    axes.text(left + wide / 2, y, text, ha="center", va="center", fontsize=10.5, family=family, color=INK)


def line(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    """A line with one bend, to an arrow's head."""
    bend = 0.5 * (start[0] + end[0])
    axes.plot([start[0], bend, bend, end[0] - 0.8], [start[1], start[1], end[1], end[1]], color=LINE, lw=1.0)
    axes.annotate("", end, (end[0] - 1.6, end[1]), arrowprops={"arrowstyle": "-|>", "color": LINE, "lw": 1.0})


def chart() -> Figure:
    """The whole chart."""
    wishes = sum(map(len, CHART.values()))
    high = wishes * STEP + len(CHART) * GAP + 4.0
    figure = plt.figure(figsize=(10.0, 10.0 * high / WIDE), dpi=150)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, WIDE), ylim=(0, high))
    axes.axis("off")
    for column, text in (("have", "you have"), ("want", "you want"), ("take", "take")):
        left, wide = COLUMNS[column]
        axes.text(
            left + wide / 2,
            high - 2.0,
            text,
            ha="center",
            va="center",
            fontsize=10,
            color=GREY,
            weight="bold",
        )
    y = high - 4.0
    right_of = {name: left + wide for name, (left, wide) in COLUMNS.items()}
    for have, wants in CHART.items():
        middle = y - STEP * len(wants) / 2
        box(axes, "have", middle, have, HAVE, high=HIGH + 1.4 * have.count("\n"))
        for want, take in wants:
            at = y - STEP / 2
            box(axes, "want", at, want, WANT)
            box(axes, "take", at, take, FIRST if take.startswith("CompactSVC") else TAKE, code=True)
            line(axes, (right_of["have"], middle), (COLUMNS["want"][0], at))
            line(axes, (right_of["want"], at), (COLUMNS["take"][0], at))
            y -= STEP
        y -= GAP
    return figure
