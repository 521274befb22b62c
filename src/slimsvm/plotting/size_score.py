"""Score against size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from ..evaluation import folds_for, full_model, vector_path
from ..path import FullModel, VectorPath
from ..words import count
from .style import COLOURS, FAINT, GREY, INK, MARKERS, axes_for, plain_frame, pyplot

# What the size can be measured in: attribute of a path, and what the axis says.
AXES = {
    "n_vectors": "vectors",
    "sizes": "vectors asked for",
    "bytes": "bytes",
    "latency_us": "microseconds a row",
}
# An axis with fewer powers of two than this has round numbers as ticks instead.
FEWEST_TICKS = 3
# A model without vectors is drawn here: the axis of sizes is logarithmic.
LEAST_SIZE = 0.5


class SizeScoreDisplay:
    """Score against size: one line with error bars for each method, the chosen sizes marked.

    Made by `from_path` or `from_estimator`, which also draw it; `plot` draws it again elsewhere.

    Parameters
    ----------
    paths : mapping of str to VectorPath
        What is drawn, by the name of the method.
    reference : mapping of str to FullModel, or None, default=None
        Full models, each a horizontal line; the legend says how many vectors it has.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : dict of str to Line2D
        The line of each method.
    error_bars_ : dict of str to ErrorbarContainer
        What the lines belong to.
    chosen_points_ : dict of str to Line2D
        The ring around each chosen size.
    reference_lines_ : dict of str to Line2D

    Examples
    --------
    >>> from slimsvm import GreedyLSSVC, SizeScoreDisplay
    >>> from slimsvm.datasets import make_banana
    >>> X, y = make_banana(200, random_state=0)
    >>> display = SizeScoreDisplay.from_estimator(GreedyLSSVC(), X, y, sizes=[2, 8, 32])  # doctest: +SKIP
    """

    ax_: Any
    figure_: Any
    lines_: dict[str, Any]
    error_bars_: dict[str, Any]
    chosen_points_: dict[str, Any]
    reference_lines_: dict[str, Any]

    def __init__(
        self, paths: Mapping[str, VectorPath], *, reference: Mapping[str, FullModel] | None = None
    ) -> None:
        self.paths = dict(paths)
        self.reference = dict(reference or {})

    @classmethod
    def from_path(
        cls,
        paths: VectorPath | Mapping[str, VectorPath],
        *,
        reference: FullModel | Mapping[str, FullModel] | None = None,
        against: str = "n_vectors",
        ax: Any = None,
    ) -> Self:
        """Draw paths that are there already.

        Parameters
        ----------
        paths : VectorPath or mapping of str to VectorPath
            One path, or several by the name of their method.
        reference : FullModel, mapping of str to FullModel, or None, default=None
            The full model, of the name SVC unless a mapping gives another.
        against, ax
            As in `plot`.

        Returns
        -------
        SizeScoreDisplay
        """
        named = {"model": paths} if isinstance(paths, VectorPath) else paths
        full = {"SVC": reference} if isinstance(reference, FullModel) else reference
        return cls(named, reference=full).plot(ax, against=against)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        reference: Any = None,
        sizes: Iterable[int] | None = None,
        cv: Any = 5,
        scoring: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        against: str = "n_vectors",
        ax: Any = None,
    ) -> Self:
        """Cross-validate estimators at several sizes, all on the same folds, and draw what comes out.

        Parameters
        ----------
        estimator : estimator or mapping of str to estimator
            Estimators with a size, as in `vector_path`.
        X, y, sizes, cv, scoring, n_jobs, random_state
            As in `vector_path`.
        reference : estimator, mapping of str to estimator, or None, default=None
            A full machine to compare with, such as `SVC()`.
        against, ax
            As in `plot`.

        Returns
        -------
        SizeScoreDisplay
        """
        pyplot(cls.__name__)  # before the work
        estimators, full = _by_name(estimator), {} if reference is None else _by_name(reference)
        rng = check_random_state(random_state)
        folds = folds_for(next(iter(estimators.values())), X, y, cv, rng)
        seed = int(rng.randint(2**31 - 1))
        options = {"cv": folds, "scoring": scoring, "n_jobs": n_jobs, "random_state": seed}
        sizes = None if sizes is None else list(sizes)
        paths = {name: vector_path(e, X, y, sizes=sizes, **options) for name, e in estimators.items()}
        references = {name: full_model(e, X, y, **options) for name, e in full.items()}
        return cls(paths, reference=references).plot(ax, against=against)

    def plot(self, ax: Any = None, *, against: str = "n_vectors") -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where; None makes a figure.
        against : {"n_vectors", "sizes", "bytes", "latency_us"}, default="n_vectors"
            What the size is measured in: vectors really used, vectors asked for, bytes, microseconds a row.

        Returns
        -------
        self
        """
        if against not in AXES:
            raise ValueError(f"against must be one of {', '.join(AXES)}, got {against!r}.")
        self.ax_ = axes_for(type(self).__name__, ax, (7.0, 4.4))
        self.figure_ = self.ax_.figure
        self.lines_, self.error_bars_, self.chosen_points_, self.reference_lines_ = {}, {}, {}, {}
        for name, full in self.reference.items():
            self._draw_reference(name, full)
        for number, (name, path) in enumerate(self.paths.items()):
            self._draw_path(name, path, np.maximum(getattr(path, against), LEAST_SIZE), number)
        self._dress(against)
        return self

    def _draw_reference(self, name: str, full: FullModel) -> None:
        dash = ("dashed", "dotted", "dashdot")[len(self.reference_lines_) % 3]
        if full.error:
            band = full.score - full.error, full.score + full.error
            self.ax_.axhspan(*band, color=GREY, alpha=0.08, linewidth=0, zorder=0)
        self.reference_lines_[name] = self.ax_.axhline(
            full.score,
            color=GREY,
            linewidth=1.3,
            linestyle=dash,
            zorder=1,
            label=f"{name}: {count(full.n_vectors, 'vector', ',.0f')}",
        )

    def _draw_path(self, name: str, path: VectorPath, sizes: Any, number: int) -> None:
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        order = np.argsort(sizes, kind="stable")  # a larger model may be measured as the faster one
        bars = self.ax_.errorbar(
            sizes[order],
            path.scores[order],
            yerr=path.errors[order],
            color=colour,
            marker=marker,
            markersize=4.5,
            linewidth=1.7,
            elinewidth=0.9,
            capsize=2.5,
            zorder=3,
            label=f"{name}: {count(path.n_vectors[path.chosen], 'vector', ',.0f')} chosen",
        )
        self.error_bars_[name], self.lines_[name] = bars, bars.lines[0]
        (self.chosen_points_[name],) = self.ax_.plot(
            sizes[path.chosen],
            path.scores[path.chosen],
            linestyle="none",
            marker="o",
            markersize=13,
            markerfacecolor="none",
            markeredgecolor=colour,
            markeredgewidth=1.8,
            zorder=4,
            label="_chosen",
        )

    def _dress(self, against: str) -> None:
        from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

        ax = self.ax_
        ax.set_xscale("log", base=2)
        low, high = np.log2(ax.get_xlim())
        doublings = np.floor(high) - np.ceil(low) + 1
        wide = doublings >= FEWEST_TICKS
        ax.xaxis.set_major_locator(LogLocator(base=2, numticks=12) if wide else MaxNLocator(5, min_n_ticks=3))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(FuncFormatter(lambda size, _: f"{size:,.4g}"))
        names = {path.score_name for path in self.paths.values()}
        score = names.pop() if len(names) == 1 else "score"
        folds = {path.fold_scores.shape[1] for path in self.paths.values()}
        how = f", {folds.pop()} folds" if len(folds) == 1 else ""
        ax.set_xlabel(AXES[against], color=INK)
        ax.set_ylabel(f"{score}{how}", color=INK)
        ax.grid(color=FAINT, linewidth=0.7)
        ax.set_axisbelow(True)
        plain_frame(ax)
        ax.legend(frameon=False, labelcolor=INK, fontsize="small", loc="lower right")


def _by_name(estimator: Any) -> dict[str, Any]:
    """Name a single estimator after its class; that of a pipeline after its last step."""
    if isinstance(estimator, Mapping):
        return dict(estimator)
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    return {type(last).__name__: estimator}
