"""The vectors themselves: as pictures where they are pictures, otherwise as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..adapters.whole import as_model
from ..rows import Array
from ..words import count
from .shown import Shown, by_class, image_shape_of, names_of, shown_vectors
from .style import FAINT, GREY, INK, axes_for, plain_frame, pyplot, two_colours

# Pictures in a line, and the space below each for its label, in heights of a picture.
MOST_ACROSS = 10
LABEL = 0.34
BETWEEN = 0.12
# Inches of a cell of the table.
CELL = (0.68, 0.3)
# of a letter of the names above it, which are slanted, and of title and margins
LETTER, REST = 0.058, 0.75
# Between the values and the coefficients, in cells.
GAP = 0.4
# A cell further from the mean than so many standard deviations has the strongest colour.
STRONGEST = 2.0
# Letters of a category that fit into a cell.
LONGEST = 10
# How light red, green and blue are, and below which lightness writing is white.
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
DARK = 0.5
WHAT = {
    "vectors": "vectors",
    "pre-images": "points that the projection maps to the vectors",
    "rows": "rows nearest to the vectors",
}


class VectorsDisplay:
    """The vectors of a model and their coefficients.

    Vectors that are pictures are drawn as such. Others are a table, a line for each vector with its values by feature
    and its coefficients by class, coloured by how far a value is from the mean, in standard deviations. Made by
    `from_estimator`, which also draws it; `plot` draws it again elsewhere.

    Parameters
    ----------
    shown : Shown
        What the vectors look like in the space of the inputs.
    coef : array of shape (n_vectors, n_outputs)
    output_names : sequence of str
        What the coefficients speak for.
    image_shape : (int, int), (int, int, int) or None, default=None
        Height, width and, where there are several, channels, if the vectors are pictures.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    order_ : array of int
        The vectors drawn, in the order of the picture.
    image_ : AxesImage
        All pictures as one; not there for a table.
    values_, coef_ : AxesImage
        The two halves of the table; not there for pictures.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from slimsvm import GreedyLSSVC, VectorsDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> model = GreedyLSSVC(max_vectors=20).fit(X, y)
    >>> display = VectorsDisplay.from_estimator(model, X, image_shape=(8, 8))  # doctest: +SKIP
    """

    ax_: Any
    figure_: Any
    order_: Array
    image_: Any
    values_: Any
    coef_: Any

    def __init__(
        self,
        shown: Shown,
        coef: Array,
        output_names: Sequence[str],
        *,
        image_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.shown = shown
        self.coef = np.asarray(coef, dtype=np.float64)
        self.output_names = list(output_names)
        self.image_shape = image_shape

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        image_shape: tuple[int, ...] | None = None,
        show: str = "auto",
        feature_names: Sequence[str] | None = None,
        max_vectors: int = 30,
        max_features: int = 12,
        ax: Any = None,
    ) -> Self:
        """Look at a model's vectors and draw them.

        Parameters
        ----------
        estimator : fitted estimator, Pipeline, KernelExpansion or Model
            What `slimsvm.adapters.whole.as_model` takes.
        X : array-like, CSR or table of shape (n, n_features), or None, default=None
            Raw rows, the training rows as a rule.
        image_shape : tuple of int or None, default=None
            (height, width) or (height, width, 3) if the features are the pixels of a picture. Features of the names
            pixel_0_0, pixel_0_1, ... are pixels without it.
        show : {"auto", "vectors", "pre-images", "rows"}, default="auto"
            With a projection vectors lie in its image, where features have no names. "pre-images" are points that the
            projection maps to them, made from the correlations in X where it is given; "rows" are the nearest rows of
            X. "auto" takes the vectors themselves, with a projection rows for a table if X is given, and else
            pre-images.
        feature_names : sequence of str or None, default=None
            None takes those the model was trained with.
        max_features : int, default=12
            Columns of a table; where there are more features, those that matter most.
        max_vectors, ax
            As in `plot`.

        Returns
        -------
        VectorsDisplay
        """
        pyplot(cls.__name__)
        model = as_model(estimator)
        if model.expansion.n_vectors == 0:
            raise ValueError("the model has no vectors to draw.")
        given = feature_names if feature_names is not None else model.inputs.names
        names = names_of(given, model.inputs.n_features)
        shape = (
            None if show == "vectors" and model.expansion.projection else image_shape_of(image_shape, names)
        )
        shown = shown_vectors(
            model, X, names, show=show, pictures=shape is not None, max_features=max_features
        )
        coef, outputs = by_class(model.readout, model.expansion.coef)
        return cls(shown, coef, outputs, image_shape=shape).plot(ax, max_vectors=max_vectors)

    def plot(self, ax: Any = None, *, max_vectors: int = 30) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where; None makes a figure.
        max_vectors : int, default=30
            Vectors to draw, those with the largest coefficients.

        Returns
        -------
        self
        """
        if max_vectors < 1:
            raise ValueError(f"max_vectors must be at least 1, got {max_vectors}.")
        self.order_ = self._order(max_vectors)
        if self.image_shape is not None:
            self._draw_pictures(ax)
        else:
            self._draw_table(ax)
        self.figure_ = self.ax_.figure
        return self

    def _order(self, max_vectors: int) -> Array:
        """Vectors with the largest coefficients, class by class, the largest first."""
        size = np.abs(self.coef).max(axis=1)
        largest = np.argsort(-size, kind="stable")[:max_vectors]
        group = self.coef.argmax(axis=1) if self.coef.shape[1] > 1 else (self.coef[:, 0] <= 0).astype(int)
        return largest[np.argsort(group[largest], kind="stable")]

    def _title(self) -> str:
        m, n, p = len(self.order_), len(self.coef), len(self.shown.names)
        text = WHAT[self.shown.what] if m > 1 or self.shown.what != "vectors" else "vector"
        text = f"{m:,} {text}" if m == n else f"{m:,} of {n:,} {text}, with the largest coefficients"
        if self.image_shape is None and p < self.shown.n_columns:
            text += f"; {p} of {count(self.shown.n_columns, 'feature', ',')}, those that matter most"
        return text

    def _label(self, vector: int) -> str:
        """The class a vector speaks for, and how loudly."""
        if self.coef.shape[1] > 1:
            best = self.coef[vector].argmax()
            return f"{self.output_names[best]}: {self.coef[vector, best]:.2g}"
        return f"{self.coef[vector, 0]:+.2g}"

    def _draw_pictures(self, ax: Any) -> None:
        assert self.image_shape is not None
        height, width = self.image_shape[:2]
        colour = self.image_shape[2:] == (3,)
        across = min(MOST_ACROSS, len(self.order_))
        down = -(-len(self.order_) // across)
        step_y, step_x = height + max(1, round(height * LABEL)), width + max(1, round(width * BETWEEN))
        mosaic = np.full((down * step_y, across * step_x, 3 if colour else 1), np.nan)
        values = self.shown.values[self.order_].astype(np.float64).reshape(-1, height, width, mosaic.shape[2])
        low, high = self._range(values)
        shape = (0.25 + 0.92 * across, 0.5 + 0.92 * down * step_y / step_x)
        self.ax_ = ax = axes_for(type(self).__name__, ax, shape)
        for place, (vector, picture) in enumerate(zip(self.order_, values, strict=True)):
            top, left = place // across * step_y, place % across * step_x
            mosaic[top : top + height, left : left + width] = picture
            ax.text(
                left + width / 2 - 0.5, top + height - 0.3, self._label(vector),
                ha="center", va="top", fontsize="small", color=INK,
            )  # fmt: skip
        if colour:
            mosaic = np.where(np.isnan(mosaic), 1.0, np.clip((mosaic - low) / (high - low), 0.0, 1.0))
        self.image_ = ax.imshow(
            mosaic if colour else mosaic[:, :, 0], cmap="gray_r", vmin=low, vmax=high, interpolation="nearest"
        )
        ax.set(xticks=[], yticks=[])
        plain_frame(ax, ())
        several = len(self.output_names) > 1
        about = "the class it speaks for most, and its coefficient" if several else "its coefficient"
        note = f"below each: {about}" + ("" if several else f" ({self.output_names[0]})")
        ax.set_xlabel(note, color=GREY, fontsize="small", loc="left")
        ax.set_title(self._title(), fontsize="medium", color=INK, loc="left")

    def _range(self, values: Array) -> tuple[float, float]:
        """Values of white and black: those of X, or all but the most extreme."""
        low, high = self.shown.limits or map(float, np.nanpercentile(values, [1, 99]))
        return (low, high) if high > low else (low - 0.5, low + 0.5)

    def _draw_table(self, ax: Any) -> None:
        shown, m, p, k = self.shown, len(self.order_), len(self.shown.names), len(self.output_names)
        start = p + GAP if p else 0.0
        longest = max(len(name) for name in [*shown.names, *self.output_names])
        size = (0.9 + CELL[0] * (start + k) + LETTER * longest, REST + CELL[1] * m + LETTER * longest)
        self.ax_ = ax = axes_for(type(self).__name__, ax, size)
        values, coef = shown.values[self.order_], self.coef[self.order_]
        if p:
            shades = _standardised(values, shown.middle, shown.spread)
            texts = [_written(column, spread) for column, spread in zip(values.T, shown.spread, strict=True)]
            self.values_ = self._cells(shades, texts, 0.0, STRONGEST, _map("PuOr_r"))
        most = float(np.abs(coef).max()) or 1.0
        texts = [_written(column, most / 3) for column in coef.T]
        self.coef_ = self._cells(coef, texts, start, most, two_colours())
        ax.set_xlim(-0.5, start + k - 0.5)
        ax.set_ylim(m - 0.5, -0.5)
        ax.set_aspect("auto")
        places = [*range(p), *(start + o for o in range(k))]
        ax.set_xticks(
            places, [*shown.names, *self.output_names], rotation=45, ha="left", rotation_mode="anchor"
        )
        ax.xaxis.tick_top()
        ax.set_yticks(range(m), [f"{number}" for number in shown.numbers[self.order_]])
        ax.set_ylabel("row" if shown.what == "rows" else "vector", color=INK)
        plain_frame(ax, ())
        ax.tick_params(labelcolor=INK, labelsize="small")
        below = {"va": "top", "color": GREY, "fontsize": "small"}
        if p:
            ax.text(-0.5, m - 0.3, "value; colour: how far from the mean"[: 5 if p < 4 else None], **below)
        ax.text(start + (k - 1) / 2, m - 0.3, "coefficient", ha="center", **below)
        ax.set_title(self._title(), fontsize="medium", color=INK, loc="left")

    def _cells(self, shades: Array, texts: list[list[str]], left: float, most: float, colours: Any) -> Any:
        """A block of coloured cells with what stands in them, column by column."""
        m, p = shades.shape
        image = self.ax_.imshow(
            shades, cmap=colours, vmin=-most, vmax=most, aspect="auto", interpolation="nearest",
            extent=(left - 0.5, left + p - 0.5, m - 0.5, -0.5),
        )  # fmt: skip
        light = image.to_rgba(shades)[:, :, :3] @ LUMINANCE
        for j, column in enumerate(texts):
            for i, text in enumerate(column):
                ink = INK if light[i, j] > DARK else "#ffffff"
                self.ax_.text(left + j, i, text, ha="center", va="center", fontsize="x-small", color=ink)
        return image


def _map(name: str) -> Any:
    """The colours of this name, and a faint one for what has no place among them."""
    from matplotlib import colormaps

    return colormaps[name].with_extremes(bad=FAINT)


def _standardised(values: Array, middle: Array, spread: Array) -> Array:
    """Distance from the mean in standard deviations; NaN for text."""
    known = np.isfinite(spread)
    out = np.full(values.shape, np.nan)
    numbers = values[:, known].astype(np.float64) - middle[known]
    out[:, known] = np.divide(numbers, spread[known], out=np.zeros_like(numbers), where=spread[known] > 0)
    return out


def _written(values: Array, spread: float) -> list[str]:
    """The values of a column, as exactly as their spread asks for.

    Examples
    --------
    >>> _written(np.array([0.123456, -0.0001]), 0.4), _written(np.array([1234567.0]), 300.0)
    (['0.12', '0.00'], ['1,234,567'])
    >>> _written(np.array(["a long category", None], dtype=object), np.nan)
    ['a long ca…', '?']
    """
    if not np.isfinite(spread):
        texts = ["?" if value is None or value != value else str(value) for value in values]
        return [text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…" for text in texts]
    decimals = 2 if spread <= 0 else min(6, max(0, 1 - int(np.floor(np.log10(spread)))))
    numbers = [float("nan" if value is None else value) for value in values]
    return ["?" if x != x else f"{round(x, decimals) + 0.0:,.{decimals}f}" for x in numbers]
