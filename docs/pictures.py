"""Draw the pictures of the documentation; every number in them is measured here.

Run from anywhere: ``python docs/pictures.py`` (needs the extra ``plot``), with names (``zero-norm``) for some of them
only. It writes into ``docs/pictures/``, and the numbers that are drawn into ``benchmarks/results/pictures.json``.
``browser`` needs Chromium.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from chart import chart
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from PIL import Image
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_digits, load_wine, make_classification
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from slimsvm import (
    LPSVC,
    LSSVC,
    RVC,
    RVR,
    CompactSVC,
    EmpiricalSVC,
    FixedSizeLSSVC,
    FullSVC,
    GreedyLSSVC,
    MatchingPursuitSVR,
    PrunedLSSVC,
    Reduced,
    RelevanceDisplay,
    SizeScoreDisplay,
    SparseGreedyGPR,
    SparseKernelDensity,
    TwoStageLSSVC,
    VectorsDisplay,
    ZeroNormSVC,
    ZeroNormSVR,
)
from slimsvm.budget import stored_bytes
from slimsvm.cli import demo
from slimsvm.datasets import make_banana, make_ripley

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
FOUND = ROOT / "benchmarks" / "results" / "pictures.json"
CLASS_COLOURS = ("#2f6f9f", "#d9822b")  # blue and orange: distinct for colour-blind readers too
REGION_COLOURS = ("#dbe9f3", "#fae8d3")
INK = "#22272e"
GREY = "#57606a"
FAINT = "#d0d7de"
N_COLOURS = 64
SIZES = (2, 4, 8, 16, 32, 64)

# A hand that draws a three into the page of examples/web_page.py.
STROKES = """
const at = (x, y, type) => pad[type]({ buttons: 1, offsetX: x, offsetY: y });
at(85, 60, "onpointerdown");
for (let a = -2.4; a < 1.6; a += 0.1) at(125 + 42 * Math.cos(a), 82 + 42 * Math.sin(a), "onpointermove");
for (let a = -1.5; a < 2.5; a += 0.1) at(125 + 48 * Math.cos(a), 170 + 46 * Math.sin(a), "onpointermove");
"""

# What is drawn, by the names in the picture: sizes, accuracies in per cent.
Found = dict[str, Any]

N_TEST = 20_000
SETS: dict[str, tuple[Callable[..., Any], int]] = {"banana": (make_banana, 400), "ripley": (make_ripley, 250)}
# what each is called in the picture is how it is called in code
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "zero-norm": (
        "ripley",
        {
            "SVC(C=10, gamma=4)": SVC(C=10, gamma=4),
            "ZeroNormSVC(C=10, gamma=4)": ZeroNormSVC(C=10, gamma=4),
            "LPSVC(C=10, gamma=4)": LPSVC(C=10, gamma=4),
            "RVC(gamma=4)": RVC(gamma=4),
        },
    ),
    "compact": (
        "banana",
        {
            "SVC(C=10)": SVC(C=10),
            "CompactSVC(max_vectors=2)": CompactSVC(max_vectors=2, random_state=0),
            "CompactSVC(max_vectors=3)": CompactSVC(max_vectors=3, random_state=0),
            "CompactSVC()": CompactSVC(random_state=0),
        },
    ),
    "empirical": (
        "banana",
        {
            "SVC(C=100)": SVC(C=100),
            "EmpiricalSVC(C=100, eta=0.01)": EmpiricalSVC(C=100, eta=0.01),
            "EmpiricalSVC(C=100, eta=0.1)": EmpiricalSVC(C=100, eta=0.1),
            "EmpiricalSVC(C=100, eta=0.5)": EmpiricalSVC(C=100, eta=0.5),
        },
    ),
    "full": (
        "banana",
        {
            "FullSVC(C=0.1)": FullSVC(C=0.1),
            "FullSVC(C=10)": FullSVC(C=10),
            'FullSVC(C=10, loss="squared_hinge")': FullSVC(C=10, loss="squared_hinge"),
        },
    ),
    "sparse-least-squares": (
        "banana",
        {
            "LSSVC(gamma=0.5)": LSSVC(gamma=0.5),
            "GreedyLSSVC(gamma=0.5)": GreedyLSSVC(gamma=0.5),
            "TwoStageLSSVC(gamma=0.5)": TwoStageLSSVC(gamma=0.5),
            "TwoStageLSSVC(gamma=0.5, n_vectors=5)": TwoStageLSSVC(gamma=0.5, n_vectors=5),
        },
    ),
    "fixed-size": (
        "banana",
        {
            "FixedSizeLSSVC(C=10, n_vectors=20)": FixedSizeLSSVC(C=10, n_vectors=20, random_state=0),
            "FixedSizeLSSVC(C=10, n_vectors=40)": FixedSizeLSSVC(C=10, n_vectors=40, random_state=0),
            "PrunedLSSVC(C=10, n_vectors=40)": PrunedLSSVC(C=10, n_vectors=40),
            "PrunedLSSVC(C=10, n_vectors=100)": PrunedLSSVC(C=10, n_vectors=100),
        },
    ),
    "reduction": (
        "banana",
        {
            "SVC(C=10)": SVC(C=10),
            "reduce(svc, X, y, max_vectors=20)": Reduced(SVC(C=10), max_vectors=20),
            "reduce(svc, X, y)": Reduced(SVC(C=10)),
            "reduce(svc, X, y, max_vectors=3)": Reduced(SVC(C=10), max_vectors=3),
        },
    ),
}


def draw_regions(axes: Axes, model: Any, X: np.ndarray, y: np.ndarray) -> None:
    """Draw the regions of both classes, the training rows, and a ring around each vector."""
    vectors = model.support_vectors_
    both = np.vstack([X, vectors])
    low, high = both.min(axis=0), both.max(axis=0)
    low, high = low - 0.06 * (high - low), high + 0.06 * (high - low)
    across, up = (np.linspace(low[i], high[i], 300) for i in range(2))
    grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    f = model.decision_function(grid).reshape(len(up), -1)
    axes.contourf(across, up, f > 0, levels=[-0.5, 0.5, 1.5], cmap=ListedColormap(REGION_COLOURS))
    axes.contour(across, up, f, levels=[0.0], colors=INK, linewidths=1.6)
    axes.scatter(*X.T, s=6, c=[CLASS_COLOURS[int(label > 0)] for label in y], linewidths=0, zorder=2)
    axes.scatter(*vectors.T, s=34, facecolors="none", edgecolors=INK, linewidths=1.0, zorder=3)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set_color(FAINT)


def write_png(figure: Figure, path: Path) -> None:
    """Write with a palette: a third of the bytes, and the flat colours stay as they are."""
    figure.canvas.draw()
    with_palette(Image.fromarray(np.asarray(figure.canvas.buffer_rgba()))).save(path, optimize=True)
    plt.close(figure)


def with_palette(picture: Image.Image) -> Image.Image:
    """The picture in few colours."""
    return picture.convert("RGB").quantize(N_COLOURS, dither=Image.Dither.NONE)


def plain_axes(axes: Axes, *, title: str = "", across: str = "", up: str = "") -> None:
    """Axes as all pictures have them."""
    axes.set_title(title, fontsize=10.5, color=INK, pad=8)
    axes.set_xlabel(across, fontsize=10, color=INK)
    axes.set_ylabel(up, fontsize=10, color=INK)
    axes.grid(color="#eaeef2", linewidth=0.8)
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_color(FAINT)


def draw_demo(path: Path) -> Found:
    """Run the demonstration, which draws its own picture; of its table the first problem is kept."""
    with contextlib.redirect_stdout(io.StringIO()) as said:
        demo.run(path.parent)
    print(said.getvalue())
    (path.parent / demo.PICTURE).rename(path)
    (path.parent / demo.REPORT).unlink()
    with_palette(Image.open(path)).save(path, optimize=True)
    rows = re.findall(r"^  (\w.*?) +([\d.]+) % +([\d,]+) ", said.getvalue(), re.MULTILINE)[:3]
    return {
        name: {"vectors": int(n.replace(",", "")), "accuracy": float(accuracy)} for name, accuracy, n in rows
    }


def draw_family(path: Path) -> Found:
    """Draw several machines on the same rows, with their size and accuracy."""
    numbers: Found = {}
    which, models = FAMILIES[path.stem]
    make, n = SETS[which]
    X, y = make(n, random_state=0)
    X_test, y_test = make(N_TEST, random_state=1)
    figure, panels = plt.subplots(1, len(models), figsize=(3.0 * len(models), 3.7), dpi=100)
    for axes, (name, model) in zip(panels, models.items(), strict=True):
        model.fit(X, y)
        draw_regions(axes, model, X, y)
        n_vectors, accuracy = len(model.support_vectors_), 100 * model.score(X_test, y_test)
        found = f"{n_vectors} vectors, {accuracy:.1f} % accuracy"
        numbers[name] = {"vectors": n_vectors, "accuracy": round(accuracy, 2)}
        axes.set_title(name, fontsize=10 if len(name) < 30 else 8.2, family="monospace", color=INK, pad=8)
        axes.set_xlabel(found, fontsize=10.5, color=INK, labelpad=7)
        print(f"{name}: {found}")
    note = f"{n} training rows of make_{which}; rings mark the vectors; accuracy on {N_TEST:,} new rows"
    figure.text(0.5, 0.03, note, ha="center", fontsize=9, color=GREY)
    figure.subplots_adjust(left=0.01, right=0.99, top=0.91, bottom=0.17, wspace=0.05)
    write_png(figure, path)
    return numbers


def draw_size_score(path: Path) -> Found:
    """Draw score against size for five methods, with the SVC they are measured by."""
    make, n = SETS["banana"]
    X, y = make(n, random_state=0)
    methods = {
        "CompactSVC()": CompactSVC(),
        "Reduced(SVC(C=10))": Reduced(SVC(C=10)),
        "TwoStageLSSVC(gamma=0.5)": TwoStageLSSVC(gamma=0.5),
        "FixedSizeLSSVC(C=10)": FixedSizeLSSVC(C=10),
        "GreedyLSSVC(C=10)": GreedyLSSVC(C=10),
    }
    display = SizeScoreDisplay.from_estimator(
        methods, X, y, reference={"SVC(C=10)": SVC(C=10)}, sizes=SIZES, random_state=0
    )
    for name, found in display.paths.items():
        print(f"{name}\n{found}")
    display.figure_.set_dpi(100)
    write_png(display.figure_, path)
    return {
        name: {"vectors": found.n_vectors.tolist(), "accuracy": (100 * found.scores).round(2).tolist()}
        for name, found in display.paths.items()
    }


def waves(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Noisy rows of one feature with a gap."""
    rng = np.random.default_rng(seed)
    x = np.sort(np.concatenate([rng.uniform(-10, -1.5, n // 2), rng.uniform(3, 10, n - n // 2)]))
    return x, np.sinc(x / np.pi) + 0.08 * rng.standard_normal(n)


def draw_relevance(path: Path) -> Found:
    """Draw error bars of a regression, and probabilities of a classifier."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.0, 3.9), dpi=100)
    x, t = waves(110, 0)
    model = RVR(gamma=0.15).fit(x[:, None], t)
    grid = np.linspace(-11, 11, 400)
    mean, deviation = model.predict(grid[:, None], return_std=True)
    left.fill_between(grid, mean - 2 * deviation, mean + 2 * deviation, color=REGION_COLOURS[0])
    left.plot(grid, np.sinc(grid / np.pi), color=GREY, linestyle="--", linewidth=1)
    left.plot(grid, mean, color=CLASS_COLOURS[0], linewidth=1.8)
    left.scatter(x, t, s=6, color=INK, linewidths=0)
    left.scatter(x[model.support_], t[model.support_], s=50, facecolors="none", edgecolors=INK)
    found = f"RVR(gamma=0.15): {model.n_vectors_} of {len(x)} rows, ± two deviations"
    plain_axes(left, title=found)
    make, n = SETS["ripley"]
    X, y = make(n, random_state=0)
    classifier = RVC(gamma=4).fit(X, y)
    low, high = X.min(axis=0) - 0.1, X.max(axis=0) + 0.1
    across, up = (np.linspace(low[i], high[i], 200) for i in range(2))
    places = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    P = classifier.predict_proba(places)[:, 1].reshape(len(up), -1)
    filled = right.contourf(across, up, P, levels=np.linspace(0, 1, 11), cmap="RdYlBu_r", alpha=0.55)
    right.contour(across, up, P, levels=[0.5], colors=INK, linewidths=1.4)
    right.scatter(*X.T, s=6, c=[CLASS_COLOURS[int(label > 0)] for label in y], linewidths=0)
    right.scatter(*classifier.support_vectors_.T, s=50, facecolors="none", edgecolors=INK)
    plain_axes(right, title=f"RVC(gamma=4).predict_proba: {classifier.n_vectors_} of {n} rows")
    figure.colorbar(filled, ax=right, ticks=[0, 0.25, 0.5, 0.75, 1])
    figure.tight_layout()
    print(found, classifier.n_vectors_)
    write_png(figure, path)
    return {
        "RVR(gamma=0.15)": {"vectors": model.n_vectors_, "rows": len(x)},
        "RVC(gamma=4)": {"vectors": classifier.n_vectors_, "rows": n},
    }


def draw_pursuit(path: Path) -> Found:
    """Draw how matching pursuit adds vectors, and where the Gaussian process stops."""
    numbers: Found = {}
    x, t = waves(110, 0)
    grid = np.linspace(-11, 11, 400)
    models = {
        "MatchingPursuitSVR(max_vectors=3)": MatchingPursuitSVR(gamma=0.15, C=100.0, max_vectors=3),
        "MatchingPursuitSVR(max_vectors=8)": MatchingPursuitSVR(gamma=0.15, C=100.0, max_vectors=8),
        "SparseGreedyGPR(), gap_ below 0.025": SparseGreedyGPR(gamma=0.15, C=100.0, n_candidates=None),
    }
    figure, panels = plt.subplots(1, len(models), figsize=(12.0, 3.4), dpi=100, sharey=True)
    for axes, (name, model) in zip(panels, models.items(), strict=True):
        model.fit(x[:, None], t)
        axes.plot(grid, np.sinc(grid / np.pi), color=GREY, linestyle="--", linewidth=1)
        axes.plot(grid, model.predict(grid[:, None]), color=CLASS_COLOURS[0], linewidth=1.8)
        axes.scatter(x, t, s=6, color=INK, linewidths=0)
        axes.scatter(x[model.support_], t[model.support_], s=50, facecolors="none", edgecolors=INK)
        error = np.sqrt(np.mean((model.predict(x[:, None]) - t) ** 2))
        plain_axes(axes, title=name, across=f"{model.n_vectors_} of {len(x)} rows, error {error:.3f}")
        numbers[name] = {"vectors": model.n_vectors_, "rows": len(x), "error": round(float(error), 3)}
    print(numbers)
    figure.tight_layout()
    write_png(figure, path)
    return numbers


def draw_least_squares(path: Path) -> Found:
    """Draw the coefficients of the least-squares machine beside those of the ordinary one."""
    numbers: Found = {}
    make, n = SETS["banana"]
    X, y = make(n, random_state=0)
    X_test, y_test = make(N_TEST, random_state=1)
    figure, panels = plt.subplots(1, 2, figsize=(10.0, 3.4), dpi=100)
    for axes, (name, model) in zip(
        panels, {"FullSVC(C=10)": FullSVC(C=10), "LSSVC(C=10)": LSSVC(C=10)}.items(), strict=True
    ):
        model.fit(X, y)
        sizes = np.sort(np.abs(model.dual_coef_[0]))[::-1]
        axes.bar(np.arange(len(sizes)), sizes, width=1.0, color=CLASS_COLOURS[0])
        axes.set_xlim(0, n)
        accuracy = 100 * model.score(X_test, y_test)
        found = f"{name}: {model.n_vectors_} of {n} rows, {accuracy:.1f} % accuracy"
        numbers[name] = {"vectors": model.n_vectors_, "rows": n, "accuracy": round(accuracy, 2)}
        plain_axes(axes, title=found, across="training rows, by size of coefficient", up="|coefficient|")
        print(found)
    figure.tight_layout()
    write_png(figure, path)
    return numbers


def draw_density(path: Path) -> Found:
    """Draw a density with a kernel on every row, and on few."""
    numbers: Found = {}
    from sklearn.neighbors import KernelDensity

    X, _ = make_ripley(1000, random_state=0)
    X_test, _ = make_ripley(N_TEST, random_state=1)
    sparse = SparseKernelDensity().fit(X)
    bandwidth = round(
        SparseKernelDensity(bandwidth="full").fit(X).bandwidth_, 3
    )  # the likeliest for all rows
    full = KernelDensity(bandwidth=bandwidth).fit(X)
    low, high = X.min(axis=0) - 0.2, X.max(axis=0) + 0.2
    across, up = (np.linspace(low[i], high[i], 200) for i in range(2))
    places = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    figure, panels = plt.subplots(1, 2, figsize=(10.0, 3.9), dpi=100)
    name = f"sklearn.neighbors.KernelDensity(bandwidth={bandwidth})"
    named = {name: (full, X), "SparseKernelDensity()": (sparse, sparse.support_vectors_)}
    for axes, (name, (model, vectors)) in zip(panels, named.items(), strict=True):
        p = np.exp(model.score_samples(places)).reshape(len(up), -1)
        axes.contourf(across, up, p, levels=10, cmap="Blues")
        axes.scatter(*X.T, s=2, color=GREY, linewidths=0, alpha=0.6)
        axes.scatter(
            *vectors.T, s=34 if len(vectors) < 100 else 8, facecolors="none", edgecolors=INK, linewidths=0.8
        )
        likelihood = model.score_samples(X_test).mean()
        found = f"{len(vectors)} vectors, log-likelihood of new rows {likelihood:.3f}"
        numbers[name] = {"vectors": len(vectors), "log-likelihood": round(float(likelihood), 3)}
        plain_axes(axes, title=name, across=found)
        print(name, found)
    figure.tight_layout()
    write_png(figure, path)
    return numbers


def draw_few_bytes(path: Path) -> Found:
    """Draw accuracy against bytes for digits, in three number formats, and where the SVC is."""
    numbers: Found = {}
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    figure, axes = plt.subplots(figsize=(8.0, 3.8), dpi=100)
    for number, colour, marker in (
        ("float32", GREY, "s"),
        ("int8", *CLASS_COLOURS[:1], "o"),
        ("int4", CLASS_COLOURS[1], "D"),
    ):
        points = []
        for limit in (512, 1024, 2048, 4096, 8192):
            model = CompactSVC(max_bytes=limit, number=number, random_state=0).fit(X, y)
            points.append((stored_bytes(model.expansion_, number), 100 * model.score(X_test, y_test)))
            print(number, limit, *points[-1], model.expansion_)
        numbers[number] = {
            "bytes": [size for size, _ in points],
            "accuracy": [round(score, 2) for _, score in points],
        }
        axes.plot(
            *zip(*points, strict=True), color=colour, marker=marker, label=f'CompactSVC, number="{number}"'
        )
    svc = SVC().fit(X, y)
    size = 4 * (svc.support_vectors_.size + svc.dual_coef_.size + svc.intercept_.size)
    score = 100 * svc.score(X_test, y_test)
    axes.plot([size], [score], color=INK, marker="*", markersize=11, linestyle="none", label="SVC, float32")
    axes.set_xscale("log", base=2)
    axes.set_xticks(
        [512, 2048, 4096, 8192, 32768, 131072], ["512 B", "2 kB", "4 kB", "8 kB", "32 kB", "128 kB"]
    )
    axes.legend(fontsize=9, loc="lower right")
    plain_axes(axes, across="bytes of the numbers the model consists of", up="accuracy, %")
    axes.axvline(4096, color=FAINT, linewidth=1.2)
    axes.set_ylim(80, 100)
    figure.tight_layout()
    numbers["SVC"] = {"bytes": size, "kB": round(size / 1024), "accuracy": round(score, 2)}
    print(numbers)
    write_png(figure, path)
    return numbers


def draw_imbalanced(path: Path) -> Found:
    """Draw what the probabilities of a model with a rare class are worth, and what thresholds find."""
    X, y = make_classification(
        8000,
        n_features=8,
        n_informative=5,
        n_redundant=0,
        weights=[0.95],
        class_sep=0.7,
        flip_y=0.01,
        random_state=0,
    )
    X, X_test, y, y_test = train_test_split(X, y, train_size=1000, stratify=y, random_state=0)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.0, 4.0), dpi=100)
    for name, weight, colour, marker in (
        ("CompactSVC()", None, CLASS_COLOURS[0], "o"),
        ('CompactSVC(class_weight="balanced")', "balanced", CLASS_COLOURS[1], "D"),
    ):
        model = CompactSVC(class_weight=weight, random_state=0).fit(X, y)
        P = model.predict_proba(X_test)[:, 1]
        left.plot(*calibration_curve(y_test, P, n_bins=8)[::-1], color=colour, marker=marker, label=name)
        if weight is None:
            at = np.linspace(0.01, 0.99, 99)
            found = [(P >= t) for t in at]
            right.plot(
                at, [y_test[f].mean() if f.any() else np.nan for f in found], color=GREY, label="precision"
            )
            right.plot(at, [f[y_test == 1].mean() for f in found], color=colour, label="recall")
    left.plot([0, 1], [0, 1], color=FAINT, zorder=0)
    left.legend(fontsize=9)
    right.legend(fontsize=9)
    plain_axes(
        left, title="what a stated probability is worth", across="predict_proba", up="share of the rare class"
    )
    plain_axes(right, title="CompactSVC(): what a threshold finds", across="threshold on predict_proba")
    figure.tight_layout()
    write_png(figure, path)
    return {"rows": {"to learn from": len(y), "rare among them": int(y.sum())}}


def draw_text(path: Path) -> Found:
    """Draw texts in the plane that a projection of rank two learns."""
    found: dict[str, Any] = {}
    page = (Path(__file__).parent / "sparse-text.md").read_text()
    for block in page.split("```python\n")[1:]:  # the page's own examples, as they stand
        exec(block.split("```")[0], found)
    model, rows, about = found["model"][-1], found["model"][0].transform(found["new"]), found["new_topics"]
    f = model.expansion_
    places = f.projection(rows)
    figure, axes = plt.subplots(figsize=(7.0, 4.0), dpi=100)
    for topic, colour in zip(sorted(set(about)), (*CLASS_COLOURS, "#3a8f6b"), strict=True):
        axes.scatter(*places[about == topic].T, s=6, color=colour, linewidths=0, label=topic)
    low, high = places.min(axis=0), places.max(axis=0)
    low, high = low - 0.15 * (high - low), high + 0.15 * (high - low)
    outside = int(((f.vectors < low) | (f.vectors > high)).any(axis=1).sum())
    label = f"vectors; {outside} of {f.n_vectors} lie outside" if outside else "vectors"
    axes.scatter(*f.vectors.T, s=60, facecolors="none", edgecolors=INK, linewidths=1.4, label=label)
    axes.legend(fontsize=9)
    plain_axes(
        axes, title=f"{len(about):,} new texts of {rows.shape[1]} words, seen through the learnt projection"
    )
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    axes.set(xticks=[], yticks=[])
    figure.tight_layout()
    write_png(figure, path)
    return {"new texts": len(about), "words": rows.shape[1], "vectors": f.n_vectors}


def draw_browser(path: Path) -> Found:
    """Take a picture of the page that reads digits, with a digit drawn in it."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print(f"{path.name} stays as it is: no Chromium here to take a picture of the page")
        return {}
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "digits.html"
        sys.argv = ["web_page.py", "--output", str(page)]
        runpy.run_path(str(ROOT / "examples" / "web_page.py"), run_name="__main__")
        text = page.read_text().replace("clear();\n</script>", f"clear();\n{STROKES}</script>")
        page.write_text(text)
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        options = ["--window-size=640,430", "--virtual-time-budget=3000", f"--screenshot={path}"]
        subprocess.run([*command, *options, page.as_uri()], check=True, capture_output=True, timeout=120)
    with_palette(Image.open(path)).save(path, optimize=True)
    return {}


def draw_which_method(path: Path) -> Found:
    """Draw the chart that leads to an estimator."""
    write_png(chart(), path)
    return {}


def draw_features(path: Path) -> Found:
    """Draw which features of the wines matter to a model with a width per feature."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = CompactSVC(metric="per_feature", random_state=0).fit(X, y)
    display = RelevanceDisplay.from_estimator(model, X, max_features=8)
    shares = {name: round(100 * share) for name, share in zip(X.columns, display.relevance, strict=True)}
    print(f"wine: {model.n_vectors_} vectors, {shares}")
    display.figure_.set_dpi(100)
    write_png(display.figure_, path)
    return {"vectors": model.n_vectors_, "shares in per cent": shares}


def draw_vectors(path: Path) -> Found:
    """Draw the vectors of a model of the digits, and which pixels matter to it."""
    X, y = load_digits(return_X_y=True)
    model = CompactSVC(metric="linear", rank=16, max_vectors=20, random_state=0).fit(X, y)
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11.5, 2.9), dpi=100, layout="constrained", width_ratios=(2.6, 1)
    )
    VectorsDisplay.from_estimator(model, X, image_shape=(8, 8), ax=left)
    RelevanceDisplay.from_estimator(model, X, image_shape=(8, 8), ax=right)
    right.set_title("which pixels matter", fontsize="medium", color=INK, loc="left")
    print(f"digits: {model.n_vectors_} vectors")
    write_png(figure, path)
    return {"vectors": model.n_vectors_}


def draw_zero_norm_variants(path: Path) -> Found:
    """Draw a curve on few rows, and how large the coefficients are for each norm."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.0, 3.9), dpi=100, layout="constrained")
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-10, 10, 200))
    t = np.sinc(x / np.pi) + 0.05 * rng.standard_normal(200)
    model = ZeroNormSVR(C=50, epsilon=0.05, gamma=0.2).fit(x[:, None], t)
    left.plot(x, np.sinc(x / np.pi), color=GREY, linestyle="--", linewidth=1)
    left.plot(x, model.predict(x[:, None]), color=CLASS_COLOURS[0], linewidth=1.8)
    left.scatter(x, t, s=6, color=INK, linewidths=0)
    left.scatter(x[model.support_], t[model.support_], s=50, facecolors="none", edgecolors=INK)
    plain_axes(left, title=f"ZeroNormSVR(C=50, epsilon=0.05, gamma=0.2): {model.n_vectors_} of 200 rows")
    numbers: Found = {
        "ZeroNormSVR(C=50, epsilon=0.05, gamma=0.2)": {"vectors": model.n_vectors_, "rows": len(x)}
    }
    X, y = make_ripley(250, random_state=0)
    for p, style in ((0, "o-"), (1, "s-"), (1.25, "-"), (1.5, "--"), (2, ":")):
        classifier = ZeroNormSVC(gamma=2, p=p).fit(X, y)
        sizes = np.sort(np.abs(classifier.dual_coef_[0]))[::-1]
        right.loglog(
            1 + np.arange(len(sizes)), sizes, style, markersize=4, label=f"p={p}: {len(sizes)} vectors"
        )
        numbers[f"ZeroNormSVC(gamma=2, p={p})"] = {"vectors": len(sizes), "rows": len(X)}
    plain_axes(right, title="ZeroNormSVC(gamma=2, p=p)", across="rank", up="size of the coefficient")
    right.set_ylim(1e-3, 10)
    right.legend(frameon=False, fontsize=9)
    print(numbers)
    write_png(figure, path)
    return numbers


def keep(name: str, found: Found) -> None:
    """Keep the numbers of a picture beside those of the others."""
    kept = json.loads(FOUND.read_text(encoding="utf-8")) if FOUND.exists() else {}
    kept[name] = found
    ordered = {each: kept[each] for each in DRAWN if kept.get(each)}
    FOUND.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


DRAWN: dict[str, Callable[[Path], Found]] = {
    "demo": draw_demo,
    "size-score": draw_size_score,
    "which-method": draw_which_method,
    "few-bytes": draw_few_bytes,
    "imbalanced": draw_imbalanced,
    "sparse-text": draw_text,
    "browser": draw_browser,
    "relevance": draw_relevance,
    "pursuit": draw_pursuit,
    "least-squares": draw_least_squares,
    "density": draw_density,
    **dict.fromkeys(FAMILIES, draw_family),
    "features": draw_features,
    "vectors": draw_vectors,
    "zero-norm-variants": draw_zero_norm_variants,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "names", nargs="*", default=list(DRAWN), help=f"of {', '.join(DRAWN)}; all by default"
    )
    PICTURES.mkdir(exist_ok=True)
    for name in parser.parse_args().names:
        keep(name, DRAWN[name](PICTURES / f"{name}.png"))
