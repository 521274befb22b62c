"""Draw the pictures of the documentation; every number in them is measured here.

Run from anywhere: ``python docs/pictures.py`` (needs the extra ``plot``), with names (``zero-norm``) for some of them
only. It takes a minute and writes into ``docs/pictures/``.
"""

from __future__ import annotations

import argparse
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
    LPSVC,
    RVC,
    CompactSVC,
    FixedSizeLSSVC,
    GreedyLSSVC,
    Reduced,
    SizeScoreDisplay,
    TwoStageLSSVC,
    ZeroNormSVC,
)
from slimsvm.cli import demo
from slimsvm.datasets import make_banana, make_ripley

PICTURES = Path(__file__).parent / "pictures"
CLASS_COLOURS = ("#2f6f9f", "#d9822b")  # blue and orange: distinct for colour-blind readers too
REGION_COLOURS = ("#dbe9f3", "#fae8d3")
INK = "#22272e"
GREY = "#57606a"
N_COLOURS = 64
SIZES = (2, 4, 8, 16, 32, 64)

N_BANANA, N_RIPLEY, N_TEST = 400, 250, 20_000
RIPLEY_X, RIPLEY_Y = (-1.3, 1.0), (-0.35, 1.3)
# what each is called in the picture is how it is called in code
RIPLEY_MODELS: dict[str, Any] = {
    "SVC(C=10, gamma=4)": SVC(C=10, gamma=4),
    "ZeroNormSVC(C=10, gamma=4)": ZeroNormSVC(C=10, gamma=4),
    "LPSVC(C=10, gamma=4)": LPSVC(C=10, gamma=4),
    "RVC(gamma=4)": RVC(gamma=4),
}


def draw_regions(axes: Axes, model: Any, X: np.ndarray, y: np.ndarray) -> None:
    """Draw the regions of both classes, the training rows, and a ring around each vector."""
    across, up = np.linspace(*RIPLEY_X, 300), np.linspace(*RIPLEY_Y, 300)
    grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    f = model.decision_function(grid).reshape(len(up), -1)
    axes.contourf(across, up, f > 0, levels=[-0.5, 0.5, 1.5], cmap=ListedColormap(REGION_COLOURS))
    axes.contour(across, up, f, levels=[0.0], colors=INK, linewidths=1.6)
    axes.scatter(*X.T, s=6, c=[CLASS_COLOURS[int(label > 0)] for label in y], linewidths=0, zorder=2)
    axes.scatter(*model.support_vectors_.T, s=34, facecolors="none", edgecolors=INK, linewidths=1.0, zorder=3)
    axes.set(xlim=RIPLEY_X, ylim=RIPLEY_Y, xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set_color("#d0d7de")


def write_png(figure: Figure, path: Path) -> None:
    """Write with a palette: a third of the bytes, and the flat colours stay as they are."""
    figure.canvas.draw()
    with_palette(Image.fromarray(np.asarray(figure.canvas.buffer_rgba()))).save(path, optimize=True)
    plt.close(figure)


def with_palette(picture: Image.Image) -> Image.Image:
    """The picture in few colours."""
    return picture.convert("RGB").quantize(N_COLOURS, dither=Image.Dither.NONE)


def draw_demo(path: Path) -> None:
    """Run the demonstration, which draws its own picture."""
    demo.main(["--output", str(path)])
    with_palette(Image.open(path)).save(path, optimize=True)


def draw_zero_norm(path: Path) -> None:
    """Draw an ordinary SVM and three sparse machines on the same rows, with their size and accuracy."""
    X, y = make_ripley(N_RIPLEY, random_state=0)
    X_test, y_test = make_ripley(N_TEST, random_state=1)
    figure, panels = plt.subplots(1, len(RIPLEY_MODELS), figsize=(12.0, 3.7), dpi=100)
    for axes, (name, model) in zip(panels, RIPLEY_MODELS.items(), strict=True):
        model.fit(X, y)
        draw_regions(axes, model, X, y)
        found = f"{len(model.support_)} vectors, {100 * model.score(X_test, y_test):.1f} % accuracy"
        axes.set_title(name, fontsize=10, family="monospace", color=INK, pad=8)
        axes.set_xlabel(found, fontsize=10.5, color=INK, labelpad=7)
        print(f"{name}: {found}")
    note = f"{N_RIPLEY} training rows of make_ripley; rings mark the vectors; accuracy on {N_TEST:,} new rows"
    figure.text(0.5, 0.03, note, ha="center", fontsize=9, color=GREY)
    figure.subplots_adjust(left=0.01, right=0.99, top=0.91, bottom=0.17, wspace=0.05)
    write_png(figure, path)


def draw_size_score(path: Path) -> None:
    """Draw score against size for five methods, with the SVC they are measured by."""
    X, y = make_banana(N_BANANA, random_state=0)
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


DRAWN: dict[str, Callable[[Path], None]] = {
    "demo": draw_demo,
    "size-score": draw_size_score,
    "zero-norm": draw_zero_norm,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "names", nargs="*", default=list(DRAWN), help=f"of {', '.join(DRAWN)}; all by default"
    )
    PICTURES.mkdir(exist_ok=True)
    for name in parser.parse_args().names:
        DRAWN[name](PICTURES / f"{name}.png")
