"""Figures 1 to 5 of Huang et al. (2010)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harness import Array, n_vectors, pyplot, write_picture
from papers.cells import Journal

from . import published as paper
from .examples import TOYS, machines, ripley, ripley_1000, toy
from .tables import SPARSE, gathered

DPI = 110


def draw(journal: Journal, folder: Path) -> None:
    figure_1(folder)
    figure_2(folder)
    if os.environ.get(
        "SLIMSVM_DATA"
    ):  # without it the page can be written all the same, with the picture as it was
        figure_3(folder)
    figure_4(journal, folder)
    figure_5(journal, folder)


def figure_1(folder: Path) -> None:
    """The priors of section 3.1."""
    figure, axes = pyplot().subplots(1, 3, figsize=(10, 2.8), layout="constrained")
    alpha = np.linspace(-4, 4, 801)
    axes[0].plot(alpha, np.exp(-(alpha**2) / 2) / np.sqrt(2 * np.pi), color="k")
    axes[0].set_title("(a) L2: Gaussian")
    axes[1].plot(alpha, 0.5 * np.exp(-np.abs(alpha)), color="k")
    axes[1].set_title("(b) L1: Laplacian")
    # exp(-I) with an indicator: 1 at zero, 1 / e elsewhere
    axes[2].plot(alpha, np.full_like(alpha, np.exp(-1)), color="k")
    axes[2].vlines(0, np.exp(-1), 1, color="k")
    axes[2].plot(0, 1, "o", color="k", markersize=4)
    axes[2].set_title("(c) L0: pulse, up to a factor")
    for axis in axes:
        axis.set(xlabel="coefficient", ylim=(0, None))
    axes[0].set_ylabel("p(coefficient)")
    write_picture(figure, folder / "huang-1.png", DPI)


def machine_panels(axes: Sequence[Any], X: Array, y: Array, sigma: float, C: float) -> None:
    """SVC, SSVC_A and SSVC_B on rows in the plane: f = 0 and f = 1, -1, vectors ringed."""
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    mesh = np.meshgrid(np.linspace(low[0], high[0], 150), np.linspace(low[1], high[1], 150))
    grid = np.column_stack([m.ravel() for m in mesh])
    for axis, (key, model) in zip(axes, machines(sigma, C).items(), strict=True):
        model.fit(X, y)
        f = model.decision_function(grid).reshape(mesh[0].shape)
        axis.contour(*mesh, f, levels=[-1, 0, 1], colors=["0.6", "k", "0.6"], linewidths=[0.8, 1.5, 0.8])
        axis.scatter(*X[y > 0].T, s=14, marker="*", color="C3")
        axis.scatter(*X[y <= 0].T, s=14, marker="h", color="C0")
        axis.scatter(*model.support_vectors_.T, s=70, facecolors="none", edgecolors="k")
        axis.set_title(f"{key}: {n_vectors(model)} vectors", fontsize="medium")
        axis.set(xticks=[], yticks=[])


def figure_2(folder: Path) -> None:
    figure, axes = pyplot().subplots(len(TOYS), 3, figsize=(10, 3.1 * len(TOYS)), layout="constrained")
    for line, shape in zip(axes, TOYS, strict=True):
        machine_panels(line, *toy(shape, 0), *paper.SETTINGS_2)
        line[0].set_ylabel(shape)
    write_picture(figure, folder / "huang-2.png", DPI)


def figure_3(folder: Path) -> None:
    split = ripley()
    figure, axes = pyplot().subplots(1, 3, figsize=(12, 4), layout="constrained")
    machine_panels(axes, split.X, split.y, *paper.SETTINGS_3)
    write_picture(figure, folder / "huang-3.png", DPI)


def figure_4(journal: Journal, folder: Path) -> None:
    found = journal.found(ripley_1000)
    if found is None:
        return
    figure, axis = pyplot().subplots(figsize=(6, 3.8), layout="constrained")
    for key, style in (("SSVC_A", "o-"), ("SSVC_B", "s-"), ("SSVC_W", "x--")):
        axis.semilogy(found[key]["left"], style, label=key)
    axis.axhline(paper.FIGURE_4_VECTORS, color="0.7", linewidth=0.8, zorder=0)
    axis.set(xlabel="round", ylabel="coefficients that are not zero")
    axis.legend()
    write_picture(figure, folder / "huang-4.png", DPI)


def figure_5(journal: Journal, folder: Path) -> None:
    """Bars of all sparse machines: vectors and seconds, the paper's above and ours below."""
    found = gathered(journal, "best")
    if not found:
        return
    figure, axes = pyplot().subplots(2, 2, figsize=(12, 7), layout="constrained", sharey="col")
    places = np.arange(len(paper.TABLE_1))
    for column, field in enumerate(("vectors", "seconds")):
        for k, method in enumerate(SPARSE):
            theirs = [getattr(paper.TABLE_2[title][method], field)[0] for title in paper.TABLE_1]
            ours = [
                np.mean(found[title, method][field]) if (title, method) in found else np.nan
                for title in paper.TABLE_1
            ]
            for axis, values in zip(axes[:, column], (theirs, ours), strict=True):
                axis.bar(places + 0.13 * (k - 2.5), values, 0.13, label=method)
        for axis, who in zip(axes[:, column], ("paper", "ours"), strict=True):
            axis.set_xticks(places, list(paper.TABLE_1), rotation=20)
            axis.set(yscale="log", ylabel=field, title=who, xlim=(-0.6, len(places) - 0.4))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(SPARSE))
    write_picture(figure, folder / "huang-5.png", DPI)
