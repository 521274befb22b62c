"""The picture of the demonstration: decision regions with their vectors, score against size, sizes on every problem."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from sklearn.svm import SVC

from ..adapters.reduced import Reduced
from ..evaluation import vector_path
from ..methods.compact.estimators import CompactSVC
from ..path import FullModel
from ..plotting import COLOURS, FAINT, GREY, INK, SizeScoreDisplay
from ..rows import Array
from ..words import count

if TYPE_CHECKING:
    from .demo import Comparison

SIZES = (1, 2, 4, 8, 16, 32)
CLASS_COLOURS = COLOURS[0], COLOURS[1]
REGION_COLOURS = "#dbe9f3", "#fae8d3"
# of the models, apart from those of the classes
MODEL_COLOURS = {"SVC, searched": GREY, "CompactSVC": COLOURS[4], "reduce(SVC)": COLOURS[3]}
MODEL_MARKERS = {"SVC, searched": "s", "CompactSVC": "*", "reduce(SVC)": "o"}
TICKS = 300


def draw(comparisons: list[Comparison], output: Path) -> None:
    """Draw the first problem, which must have two inputs, and the sizes on all of them."""
    figure: Any = Figure(figsize=(12.0, 8.2), layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.1))
    FigureCanvasAgg(figure)
    top, bottom = figure.subfigures(2, 1, height_ratios=(1.0, 0.92))
    first = comparisons[0]
    for ax, name in zip(top.subplots(1, len(first.machines)), first.machines, strict=True):
        draw_regions(ax, first, name)
    left, right = bottom.subplots(1, 2, width_ratios=(1.15, 1.0))
    draw_path(left, first)
    draw_sizes(right, comparisons)
    figure.suptitle(
        "A searched SVC, and models with a few vectors",
        x=0.012,
        ha="left",
        fontsize=15,
        color=INK,
        weight="bold",
    )
    figure.savefig(output, dpi=120)


def draw_regions(ax: Any, comparison: Comparison, name: str) -> None:
    """Draw what a model says everywhere, the rows it learnt from, and a ring around each vector."""
    problem, row = comparison.problem, comparison.rows[name]
    vectors = np.asarray(row.model.support_vectors_)
    reach = 1.08 * float(np.abs(problem.X).max())
    ticks = np.linspace(-reach, reach, TICKS)
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    f: Array = row.model.decision_function(grid).reshape(TICKS, TICKS)
    ax.contourf(ticks, ticks, f > 0, levels=[-0.5, 0.5, 1.5], cmap=ListedColormap(REGION_COLOURS))
    ax.contour(ticks, ticks, f, levels=[0.0], colors=INK, linewidths=1.6)
    colours = [CLASS_COLOURS[int(label == problem.y.max())] for label in problem.y]
    ax.scatter(*problem.X.T, s=9, c=colours, linewidths=0, alpha=0.75, zorder=2)
    few = len(vectors) < 40
    ax.scatter(
        *vectors.T,
        s=110 if few else 34,
        facecolors="#ffffffb0" if few else "none",
        edgecolors=INK,
        linewidths=1.6 if few else 0.8,
        zorder=3,
    )
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), xticks=[], yticks=[], aspect="equal")
    ax.set_title(name, color=INK, fontsize=12, weight="bold", pad=7)
    ax.set_xlabel(
        f"{count(row.n_vectors, 'vector')},  {row.bytes:,} bytes,  {100 * row.accuracy:.1f} % accuracy",
        color=INK,
        fontsize=10.5,
        labelpad=6,
    )
    for spine in ax.spines.values():
        spine.set_color(FAINT)


def draw_path(ax: Any, comparison: Comparison) -> None:
    """Draw the accuracy on the test rows against the vectors a model may have."""
    problem, full = comparison.problem, comparison.rows["SVC, searched"]
    X, y = np.vstack([problem.X, problem.X_test]), np.concatenate([problem.y, problem.y_test])
    n = len(problem.y)
    split = [(np.arange(n), np.arange(n, len(y)))]
    machines = {
        "CompactSVC(max_vectors=m)": CompactSVC(),
        "reduce(SVC, max_vectors=m)": Reduced(SVC(C=full.model.C, gamma=full.model.gamma)),
    }
    paths = {
        name: vector_path(machine, X, y, sizes=SIZES, cv=split, random_state=0)
        for name, machine in machines.items()
    }
    reference = {"SVC, searched": FullModel(full.n_vectors, full.accuracy)}
    display = SizeScoreDisplay.from_path(paths, reference=reference, ax=ax)
    for line, colour in zip(display.lines_.values(), list(MODEL_COLOURS.values())[1:], strict=True):
        line.set_color(colour)
    for ring in display.chosen_points_.values():
        ring.set_visible(False)  # these rows are for testing, not for choosing
    own = comparison.rows["CompactSVC"]
    (star,) = ax.plot(own.n_vectors, own.accuracy, linestyle="none", marker="*", markersize=19, zorder=5,
                      color=MODEL_COLOURS["CompactSVC"], markeredgecolor="white")  # fmt: skip
    lines = [*display.reference_lines_.values(), star, *display.lines_.values()]
    names = [f"SVC, searched: {count(full.n_vectors, 'vector')}", "CompactSVC: its own choice", *machines]
    ax.legend(lines, names, frameon=False, labelcolor=INK, loc="lower right")
    ax.set_ylabel("accuracy on test rows", color=INK)
    ax.set_title(f"{problem.name}: what the size costs", loc="left", color=INK, fontsize=11.5, pad=10)


def draw_sizes(ax: Any, comparisons: list[Comparison]) -> None:
    """Draw, for every problem, how many vectors each model has and how accurate it is."""
    for place, comparison in enumerate(comparisons):
        sizes = [row.n_vectors for row in comparison.machines.values()]
        ax.plot([min(sizes), max(sizes)], [-place] * 2, color=FAINT, linewidth=4, zorder=1)
        for name, row in comparison.machines.items():
            ax.plot(
                row.n_vectors,
                -place,
                linestyle="none",
                marker=MODEL_MARKERS[name],
                markersize=15 if name == "CompactSVC" else 9,
                color=MODEL_COLOURS[name],
                markeredgecolor="white",
                zorder=3,
                label=name if place == 0 else None,
            )
            ax.annotate(
                f"{100 * row.accuracy:.1f} %",
                (row.n_vectors, -place),
                xytext=(0, 11 if name == "reduce(SVC)" else -18),
                textcoords="offset points",
                ha="center",
                fontsize=8.5,
                color=MODEL_COLOURS[name],
            )
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.4g}"))
    ax.set_yticks(range(0, -len(comparisons), -1), [c.problem.name for c in comparisons], color=INK)
    ax.set_ylim(-len(comparisons) + 0.4, 0.95)
    ax.margins(x=0.09)
    ax.grid(axis="x", color=FAINT, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.tick_params(which="both", colors=GREY, length=0, labelcolor=INK)
    for side, spine in ax.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(FAINT)
    ax.set_xlabel("vectors", color=INK)
    ax.set_title("every problem: vectors, and accuracy", loc="left", color=INK, fontsize=11.5, pad=10)
    ax.legend(frameon=False, labelcolor=INK, loc="upper center", ncols=3, fontsize=9, handletextpad=0.2)
