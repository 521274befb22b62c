"""Which features matter, as bars or, for pictures, pixel by pixel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..adapters.whole import as_model
from ..relevance import feature_relevance
from ..rows import Array
from ..words import count
from .shown import image_shape_of, largest, names_of
from .style import COLOURS, GREY, INK, axes_for, plain_frame

# Inches of a bar with its space.
BAR = 0.29


class RelevanceDisplay:
    """Each feature's share of what a model sees of the difference between two rows.

    Made by `from_estimator` or `from_relevance`, which also draw it; `plot` draws it again elsewhere.

    Parameters
    ----------
    relevance : array of shape (n_features,)
        Shares, as `slimsvm.feature_relevance` gives them.
    feature_names : sequence of str or None, default=None
        None means x0, x1, ...
    image_shape : (int, int), (int, int, int) or None, default=None
        Height, width and, where there are several, channels, if the features are the pixels of a picture.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : BarContainer
        The bars from top to bottom; not there for pixels.
    image_ : AxesImage
        The picture; not there for bars.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from slimsvm import CompactSVC, RelevanceDisplay
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = CompactSVC(random_state=0).fit(X, y)
    >>> display = RelevanceDisplay.from_estimator(model, X)  # doctest: +SKIP
    """

    ax_: Any
    figure_: Any
    bars_: Any
    image_: Any

    def __init__(
        self,
        relevance: Any,
        *,
        feature_names: Sequence[str] | None = None,
        image_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.relevance = np.asarray(relevance, dtype=np.float64)
        self.feature_names = names_of(feature_names, len(self.relevance))
        self.image_shape = image_shape_of(image_shape, self.feature_names)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        feature_names: Sequence[str] | None = None,
        image_shape: tuple[int, ...] | None = None,
        max_features: int = 15,
        ax: Any = None,
    ) -> Self:
        """Measure and draw.

        Parameters
        ----------
        estimator, X
            A fitted model and raw rows, as in `slimsvm.feature_relevance`.
        feature_names : sequence of str or None, default=None
            None takes those the model was trained with.
        image_shape : tuple of int or None, default=None
            As in the class. Features of the names pixel_0_0, pixel_0_1, ... are pixels without it.
        max_features, ax
            As in `plot`.

        Returns
        -------
        RelevanceDisplay
        """
        model = as_model(estimator)
        names = feature_names if feature_names is not None else model.inputs.names
        return cls.from_relevance(
            feature_relevance(model, X),
            feature_names=names,
            image_shape=image_shape,
            max_features=max_features,
            ax=ax,
        )

    @classmethod
    def from_relevance(
        cls,
        relevance: Any,
        *,
        feature_names: Sequence[str] | None = None,
        image_shape: tuple[int, ...] | None = None,
        max_features: int = 15,
        ax: Any = None,
    ) -> Self:
        """Draw shares that are there already.

        Parameters
        ----------
        relevance, feature_names, image_shape
            As in the class.
        max_features, ax
            As in `plot`.

        Returns
        -------
        RelevanceDisplay
        """
        display = cls(relevance, feature_names=feature_names, image_shape=image_shape)
        return display.plot(ax, max_features=max_features)

    def plot(self, ax: Any = None, *, max_features: int = 15) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where; None makes a figure.
        max_features : int, default=15
            Bars to draw, the largest first; one more is for all others together.

        Returns
        -------
        self
        """
        if max_features < 1:
            raise ValueError(f"max_features must be at least 1, got {max_features}.")
        if self.image_shape is not None:
            self._draw_pixels(ax)
        else:
            self._draw_bars(ax, max_features)
        self.figure_ = self.ax_.figure
        return self

    def _draw_bars(self, ax: Any, max_features: int) -> None:
        order = largest(self.relevance, len(self.relevance))  # equal ones in the order of the columns
        shown, rest = order[:max_features], order[max_features:]
        shares, names = self.relevance[shown], [self.feature_names[j] for j in shown]
        if len(rest):
            names.append(f"the other {count(len(rest), 'feature')}" if len(rest) > 1 else "the other feature")
        self.ax_ = ax = axes_for(type(self).__name__, ax, (6.4, 0.9 + BAR * len(names)))
        self.bars_ = ax.barh(np.arange(len(shown)), shares, height=0.68, color=COLOURS[0], zorder=2)
        texts = [(share, _percent(share)) for share in shares]
        if len(rest):  # without a bar, which would be the longest of all
            texts.append((0.0, f"{_percent(self.relevance[rest].sum())} together"))
        for place, (share, text) in enumerate(texts):
            ax.annotate(
                text, (share, place), xytext=(4, 0), textcoords="offset points",
                va="center", fontsize="small", color=GREY,
            )  # fmt: skip
        ax.set_yticks(np.arange(len(names)), names)
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.set_xlim(0.0, 1.12 * shares.max())
        ax.set_xticks([])
        ax.set_xlabel("share of the distance between two rows", color=INK)
        plain_frame(ax, ("left",))
        ax.tick_params(axis="y", labelcolor=INK)

    def _draw_pixels(self, ax: Any) -> None:
        assert self.image_shape is not None
        height, width = self.image_shape[:2]
        pixels: Array = self.relevance.reshape(height, width, -1).sum(axis=2)
        self.ax_ = ax = axes_for(type(self).__name__, ax, (4.6, 0.6 + 4.0 * height / width))
        self.image_ = ax.imshow(pixels, cmap="Blues", vmin=0.0, interpolation="nearest")
        ax.set(xticks=[], yticks=[])
        plain_frame(ax, ("left", "right", "top", "bottom"))
        bar = ax.figure.colorbar(self.image_, ax=ax, shrink=0.85, format=lambda share, _: _percent(share))
        bar.set_label("share of the distance", color=INK)
        bar.ax.tick_params(colors=GREY, length=0)
        bar.outline.set_visible(False)


def _percent(share: float) -> str:
    """A share as people write it.

    Examples
    --------
    >>> _percent(0.423), _percent(0.0312), _percent(0.0004), _percent(0.0)
    ('42 %', '3.1 %', '< 0.1 %', '0 %')
    """
    if share >= 0.0995:
        return f"{100 * share:.0f} %"
    if share == 0.0:
        return "0 %"
    return f"{100 * share:.1f} %" if share >= 0.001 else "< 0.1 %"
