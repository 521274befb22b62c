"""Tables and pictures from the records of benchmarks/compact.py."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from compact_methods import METHODS
from compact_sets import AGAIN, IDA, IDA_AGAIN, MAIN, MAX_VECTORS, SETS, THREADS
from harness import Record, pyplot, table, write_picture

BASE = "svc"
COLOURS = {
    "compact": "#d9822b",
    "limited": "#e9b872",
    "svc": "#22272e",
    "intelex": "#57606a",
    "reduced": "#2f6f9f",
    "nystroem": "#3a8f6b",
    "fastrvm": "#8a5fa8",
    "zero_norm": "#b8433f",
    "greedy": "#56a7d1",
    "lightgbm": "#8c8a2b",
}
INK, GREY, FAINT = "#22272e", "#57606a", "#d8dee4"


def by_method(records: Iterable[Record], name: str) -> dict[str, list[Record]]:
    """The records of one set, in the order of the methods and of the splits."""
    rows = sorted((r for r in records if r["set"] == name), key=lambda r: r["split"])
    found = {key: [r for r in rows if r["method"] == key] for key in METHODS}
    return {key: rows for key, rows in found.items() if rows}


def values(rows: list[Record], key: str) -> np.ndarray:
    return np.array([np.nan if row[key] is None else row[key] for row in rows], dtype=float)


def together(rows: list[Record], others: list[Record]) -> tuple[list[Record], list[Record]]:
    """The records of two methods on the splits that both have."""
    theirs = {row["split"]: row for row in others}
    common = [row for row in rows if row["split"] in theirs]
    return common, [theirs[row["split"]] for row in common]


def ratio(rows: list[Record], others: list[Record], key: str) -> float:
    """Geometric mean of rows / others."""
    rows, others = together(rows, others)
    return float(np.exp(np.mean(np.log(values(rows, key) / values(others, key)))))


def with_error(numbers: np.ndarray, digits: int, sign: str = "") -> str:
    if len(numbers) < 2:
        return f"{numbers[0]:{sign}.{digits}f}"
    return f"{numbers.mean():{sign}.{digits}f} ± {numbers.std(ddof=1) / np.sqrt(len(numbers)):.{digits}f}"


def set_table(name: str, methods: dict[str, list[Record]]) -> list[str]:
    data = SETS[name]
    first = next(iter(methods.values()))[0]
    limit = f"; CompactSVC is limited to {MAX_VECTORS[name]} vectors" if name in MAX_VECTORS else ""
    limit += f" and fitted in {THREADS[name]} threads" if name in THREADS else ""
    lines = [
        f"## {name}",
        "",
        f"{first['n_train']} training rows, {first['n_features']} features; {data.note}{limit}.",
        "",
    ]
    scores = ["R²", "RMSE"] if data.regression else ["accuracy, %"]
    costs = ["vectors", "bytes", "fit, s", "predictions a second", "µs, one row", "splits"]
    rows = []
    for key, found in methods.items():
        cells = (
            [with_error(values(found, "r2"), 4), with_error(values(found, "rmse"), 4)]
            if data.regression
            else [with_error(100.0 * values(found, "accuracy"), 2)]
        )
        vectors = values(found, "vectors").mean()
        rows.append(
            [
                METHODS[key].label(data.regression),
                *cells,
                "-" if np.isnan(vectors) else f"{vectors:,.1f}",
                f"{values(found, 'bytes').mean():,.0f}",
                f"{values(found, 'fit_seconds').mean():,.2f}",
                f"{values(found, 'rows_per_second').mean():,.0f}",
                f"{values(found, 'us_one_row').mean():,.0f}",
                str(len(found)),
            ]
        )
    return [*lines, *table(["method", *scores, *costs], rows)]


def by_set(records: list[Record], names: list[str]) -> list[str]:
    """CompactSVC beside the searched SVC, a row for each of these sets."""
    rows = []
    gathered: list[tuple[float, ...]] = []
    for name in names:
        methods = by_method(records, name)
        if "compact" not in methods or BASE not in methods:
            continue
        ours, base = together(methods["compact"], methods[BASE])
        if not ours:
            continue
        difference = 100.0 * (values(ours, "accuracy") - values(base, "accuracy"))
        numbers = (
            100.0 * values(base, "accuracy").mean(), 100.0 * values(ours, "accuracy").mean(), difference.mean(),
            values(base, "vectors").mean(), values(ours, "vectors").mean(),
            ratio(ours, base, "fit_seconds"), ratio(ours, base, "rows_per_second"),
        )  # fmt: skip
        gathered.append(numbers)
        rows.append(
            [
                name.removeprefix("ida_").removesuffix(AGAIN),
                *_summary_cells(numbers, with_error(difference, 2, "+")),
                str(len(ours)),
            ]
        )
    if not rows:
        return []
    columns = np.array(gathered)
    means = (*columns[:, :5].mean(axis=0), *np.exp(np.log(columns[:, 5:]).mean(axis=0)))
    rows.append(["**mean**", *_summary_cells(means, f"{means[2]:+.2f}"), ""])
    header = ["set", "SVC, %", "CompactSVC, %", "difference", "vectors of SVC", "of CompactSVC", "fit time / SVC's",
              "speed / SVC's", "splits"]  # fmt: skip
    return table(header, rows)


def _summary_cells(numbers: Iterable[float], difference: str) -> list[str]:
    base, ours, _, base_vectors, vectors, fit, speed = numbers
    return [
        f"{base:.2f}",
        f"{ours:.2f}",
        difference,
        f"{base_vectors:.1f}",
        f"{vectors:.1f}",
        f"{fit:.2f}",
        f"{speed:.1f} x",
    ]


def ida_by_method(records: list[Record]) -> list[str]:
    """Every method against the searched SVC, means over the sets both have."""
    rows = []
    for key, method in METHODS.items():
        found = []
        for name in IDA:
            methods = by_method(records, name)
            if key not in methods or BASE not in methods:
                continue
            ours, base = together(methods[key], methods[BASE])
            if ours:
                found.append(
                    (
                        100.0 * (values(ours, "accuracy") - values(base, "accuracy")).mean(),
                        values(ours, "vectors").mean(),
                        np.log(ratio(ours, base, "fit_seconds")),
                        np.log(ratio(ours, base, "rows_per_second")),
                    )
                )
        if found:
            gain, vectors, fit, speed = np.array(found).mean(axis=0)
            size = "-" if np.isnan(vectors) else f"{vectors:.1f}"
            cells = [f"{gain:+.2f}", size, f"{np.exp(fit):.2f}", f"{np.exp(speed):.1f} x", str(len(found))]
            rows.append([method.label(), *cells])
    header = [
        "method",
        "accuracy minus SVC's, points",
        "vectors",
        "fit time / SVC's",
        "speed / SVC's",
        "sets",
    ]
    return table(header, rows) if rows else []


def tables(records: list[Record]) -> list[str]:
    """Everything as lines of Markdown."""
    lines = [
        "# CompactSVC and CompactSVR beside the others",
        "",
        "`python benchmarks/compact.py`, where it is said how the others were searched; `--table` wrote this page from "
        "`compact.jsonl`. One thread. Means over the splits, ± the standard error. Fit times include the search. Bytes "
        "are the numbers a model consists of in float64, for LightGBM its text file; a scaler's numbers are not "
        "counted. Predictions are those of `predict`, with scaling and input checks: so many a second on the test "
        "rows, repeated to 20,000 where they are fewer, and the time of one row.",
        "",
    ]
    summary = by_set(records, IDA)
    if summary:
        lines += [
            "## The 13 IDA sets",
            "",
            *summary,
            "Every method, means over the sets (ratios: geometric).",
            "",
        ]
        lines += ida_by_method(records)
    summary = by_set(records, IDA_AGAIN)
    if summary:
        lines += [
            "## The 13 IDA sets, split again",
            "",
            "All rows of each set split at random, with as many to train with: ten splits of a set of two hundred rows "
            "leave differences of a point to chance.",
            "",
            *summary,
        ]
    for name in MAIN:
        methods = by_method(records, name)
        if methods:
            lines += set_table(name, methods)
            lines += [f"![{name}: score against vectors](compact/{name}.png)", ""]
    return lines


# Pictures


def draw_pictures(records: list[Record], folder: Path) -> None:
    """One picture a set: score against vectors, and which methods no other beats in both."""
    plt = pyplot()
    for name in MAIN:
        methods = by_method(records, name)
        if methods:
            figure, ax = plt.subplots(figsize=(9.6, 4.2), layout="constrained")
            draw_set(ax, name, methods)
            write_picture(figure, folder / f"{name}.png", 110)


def draw_set(ax: Any, name: str, methods: dict[str, list[Record]]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    regression = SETS[name].regression
    points = []
    for key, found in methods.items():
        scores = values(found, "r2") if regression else 100.0 * values(found, "accuracy")
        error = scores.std(ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else 0.0
        vectors, score = values(found, "vectors").mean(), scores.mean()
        style = {"color": COLOURS[key], "label": METHODS[key].label(regression)}
        if np.isnan(vectors):
            ax.axhline(score, linestyle="dotted", linewidth=1.4, **style)
            continue
        points.append((vectors, score))
        ours = key == "compact"
        ax.errorbar(vectors, score, yerr=error or None, fmt="*" if ours else "o", markersize=15 if ours else 7,
                    markeredgecolor="white", markeredgewidth=0.8, capsize=2.5, linewidth=1.1, zorder=4 if ours else 3,
                    **style)  # fmt: skip
    front = pareto_front(points)
    ax.plot(*zip(*front, strict=True), color=FAINT, linewidth=5, solid_capstyle="round", zorder=1)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.4g}"))
    ax.set_xlabel("vectors", color=INK)
    ax.set_ylabel("R² on test rows" if regression else "accuracy on test rows, %", color=INK)
    ax.set_title(name.removeprefix("ida_").removeprefix("reg_").replace("_", " "), loc="left", color=INK)
    ax.grid(color=FAINT, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.tick_params(which="both", colors=GREY, length=0)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(FAINT)
    ax.legend(
        frameon=False,
        fontsize=8,
        labelcolor=INK,
        loc="center left",
        bbox_to_anchor=(1.01, 0.5),
        labelspacing=0.9,
    )


def pareto_front(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other beats in both: fewer vectors and a higher score."""
    front: list[tuple[float, float]] = []
    for vectors, score in sorted(points, key=lambda point: (point[0], -point[1])):
        if not front or score > front[-1][1]:
            front.append((vectors, score))
    return front
