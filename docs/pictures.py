"""Draw the pictures of the documentation; every number in them is measured here.

Run from anywhere: ``python docs/pictures.py`` (needs the extra ``plot``). It takes a few seconds and writes
into ``docs/pictures/``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from PIL import Image
from sklearn.svm import SVC

from slimsvm import (
    CompactSVC,
    EmpiricalSVC,
    FixedSizeLSSVC,
    GreedyLSSVC,
    KernelExpansion,
    Reduced,
    SizeScoreDisplay,
    TwoStageLSSVC,
    reduce,
)
from slimsvm.datasets import make_banana
from slimsvm.kernels import RBF

PICTURES = Path(__file__).parent / "pictures"
CLASS_COLOURS = ("#2f6f9f", "#d9822b")  # blue and orange: distinct for colour-blind readers too
REGION_COLOURS = ("#dbe9f3", "#fae8d3")
INK = "#22272e"
GREY = "#57606a"
N_COLOURS = 64
SIZES = (2, 4, 8, 16, 32, 64)

N_TRAIN, N_TEST = 400, 20_000
REACH = 2.9  # half the width of the square that is drawn
# each is made from the rows; what it is called in the picture is how it is called in code
MODELS: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "SVC(C=10).fit(X, y)": lambda X, y: SVC(C=10).fit(X, y),
    "slimsvm.reduce(svc, X, y)": lambda X, y: reduce(SVC(C=10).fit(X, y), X, y),
    "EmpiricalSVC(C=10, eta=0.1)": lambda X, y: EmpiricalSVC(C=10, eta=0.1).fit(X, y),
}


def draw_regions(axes: Axes, model: Any, vectors: np.ndarray, X: np.ndarray, y: np.ndarray) -> None:
    """Draw the regions of both classes, the training rows, and a ring around each vector."""
    ticks = np.linspace(-REACH, REACH, 400)
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    f = model.decision_function(grid).reshape(len(ticks), -1)
    axes.contourf(ticks, ticks, f > 0, levels=[-0.5, 0.5, 1.5], cmap=ListedColormap(REGION_COLOURS))
    axes.contour(ticks, ticks, f, levels=[0.0], colors=INK, linewidths=1.6)
    axes.contour(ticks, ticks, f, levels=[-1.0, 1.0], colors=INK, linewidths=0.7, linestyles="dashed")
    axes.scatter(*X.T, s=7, c=[CLASS_COLOURS[int(label > 0)] for label in y], linewidths=0, zorder=2)
    axes.scatter(*vectors.T, s=26, facecolors="none", edgecolors=INK, linewidths=0.7, zorder=3)
    axes.set(xlim=(-REACH, REACH), ylim=(-REACH, REACH), xticks=[], yticks=[], aspect="equal")
    for spine in axes.spines.values():
        spine.set_color("#d0d7de")


def expansion(model: Any) -> KernelExpansion:
    """The model as a value, scikit-learn's SVC too."""
    if not isinstance(model, SVC):
        return model.expansion_
    return KernelExpansion(RBF(model._gamma), model.support_vectors_, model.dual_coef_.T, model.intercept_)


def write_png(figure: Figure, path: Path) -> None:
    """Write with a palette: a third of the bytes, and the flat colours stay as they are."""
    figure.canvas.draw()
    pixels = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")
    pixels.quantize(N_COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    plt.close(figure)


def draw_overview(path: Path) -> None:
    """Draw an ordinary SVM and two small ones, side by side on the same rows, with their size and accuracy."""
    X, y = make_banana(N_TRAIN, random_state=0)
    X_test, y_test = make_banana(N_TEST, random_state=1)
    figure, panels = plt.subplots(1, len(MODELS), figsize=(10.0, 4.2), dpi=100)
    for axes, (name, fit) in zip(panels, MODELS.items(), strict=True):
        model = fit(X, y)
        f = expansion(model)
        draw_regions(axes, model, f.vectors, X, y)
        axes.set_title(name, fontsize=10.5, family="monospace", color=INK, pad=8)
        axes.set_xlabel(
            f"{f.n_vectors} vectors   {f.nbytes:,} bytes   {100 * model.score(X_test, y_test):.1f} % right",
            fontsize=10.5,
            color=INK,
            labelpad=7,
        )
        print(f"{name}: {f.n_vectors} vectors, {f.nbytes} bytes, {model.score(X_test, y_test):.4f}")
    figure.text(
        0.5,
        0.03,
        f"{N_TRAIN} training rows of make_banana; rings mark the vectors a model keeps; "
        f"solid: f = 0, dashed: f = ±1; accuracy on {N_TEST:,} new rows",
        ha="center",
        fontsize=9,
        color=GREY,
    )
    figure.subplots_adjust(left=0.012, right=0.988, top=0.93, bottom=0.145, wspace=0.04)
    write_png(figure, path)


def draw_size_score(path: Path) -> None:
    """Draw score against size for five methods, with the SVC they are measured by."""
    X, y = make_banana(N_TRAIN, random_state=0)
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


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    draw_overview(PICTURES / "overview.png")
    draw_size_score(PICTURES / "size-score.png")
