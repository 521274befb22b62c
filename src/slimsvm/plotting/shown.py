"""What is shown of a model's vectors: numbers that people know, with the names of the features."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.utils import _safe_indexing

from ..expansion import KernelExpansion
from ..inputs import Column, Inputs
from ..kernels import Laplacian, Precomputed
from ..kernels.built_in import WidthKernel
from ..model import Model
from ..readout import DensityReadout, FeaturesReadout, InlierReadout, Readout, SignReadout, VotesReadout
from ..relevance import feature_relevance, middle_and_spread, unshifted_numbers
from ..rows import Array, Rows, block_slices, dense, scale_columns, squared_norms

PIXEL = re.compile(r"pixel_(\d+)_(\d+)")
KINDS = ("auto", "vectors", "pre-images", "rows")
# How exactly a pre-image has to meet its vector: the variance left open, in units of the kernel's width, and without
# rows the share of the largest eigenvalue. Directions in which rows hardly differ would otherwise be all one sees.
OPEN = 0.01
OPEN_SHARE = 0.01


@dataclass(frozen=True)
class Shown:
    """Vectors as a table.

    Parameters
    ----------
    what : {"vectors", "pre-images", "rows"}
        The vectors themselves; points with the vectors as their images; the rows whose images are nearest to them.
    values : array of shape (n_vectors, p)
        Raw values; those of rows may be text.
    names : list of str
        The p columns.
    numbers : array of int of shape (n_vectors,)
        What each is called: the number of the row, where it is one, or of the vector.
    middle, spread : array of shape (p,)
        Mean and standard deviation of the columns; NaN where there is none.
    limits : (float, float) or None
        The smallest and the largest value in X.
    n_columns : int
        Columns there were to choose from.
    """

    what: str
    values: Array
    names: list[str]
    numbers: Array
    middle: Array
    spread: Array
    n_columns: int
    limits: tuple[float, float] | None = None


def names_of(given: Sequence[str] | None, n_features: int) -> list[str]:
    """Names of the features, or x0, x1, ..."""
    if given is None:
        return [f"x{j}" for j in range(n_features)]
    if len(given) != n_features:
        raise ValueError(f"feature_names has {len(given)} entries, but there are {n_features} features.")
    return [str(name) for name in given]


def image_shape_of(given: tuple[int, ...] | None, names: list[str]) -> tuple[int, ...] | None:
    """The shape given, or that of features called pixel_0_0, pixel_0_1, ..., as scikit-learn calls them.

    Examples
    --------
    >>> image_shape_of(None, ["pixel_0_0", "pixel_0_1", "pixel_1_0", "pixel_1_1"])
    (2, 2)
    """
    if given is None:
        found = [PIXEL.fullmatch(name) for name in names]
        places = [(int(match[1]), int(match[2])) for match in found if match]
        if not places or len(places) < len(names):
            return None
        height, width = (1 + max(side) for side in zip(*places, strict=True))
        whole = [(i, j) for i in range(height) for j in range(width)]
        return (height, width) if places == whole else None
    shape = tuple(int(side) for side in given)
    if (
        len(shape) not in (2, 3)
        or np.prod(shape) != len(names)
        or (len(shape) == 3 and shape[2] not in (1, 3))
    ):
        raise ValueError(
            f"image_shape must be (height, width) or (height, width, 1 or 3) with as many numbers as the "
            f"{len(names)} features, got {given!r}."
        )
    return shape


def by_class(readout: Readout, coef: Array) -> tuple[Array, list[str]]:  # (m, k)
    """Coefficients with the name of what each column speaks for: a class, a target."""
    if isinstance(readout, SignReadout):
        no, yes = readout.classes
        return coef, [f"+ {yes}, \u2212 {no}"]
    if isinstance(readout, VotesReadout):
        return coef @ readout.class_sums, [str(label) for label in readout.classes]
    if isinstance(readout, FeaturesReadout):
        return coef, list(readout.names(coef.shape[1]))
    if isinstance(readout, InlierReadout | DensityReadout):
        return coef, ["inlier" if isinstance(readout, InlierReadout) else "density"]
    if hasattr(readout, "classes"):
        return coef, [str(label) for label in readout.classes]
    return coef, ["value"] if coef.shape[1] == 1 else [f"target {o}" for o in range(coef.shape[1])]


def shown_vectors(
    model: Model, X: Any, names: list[str], *, show: str = "auto", pictures: bool, max_features: int
) -> Shown:
    """A table of the model's vectors; X is what rows and pre-images are made from."""
    if show not in KINDS:
        raise ValueError(f"show must be one of {', '.join(KINDS)}, got {show!r}.")
    f = model.expansion
    if isinstance(f.kernel, Precomputed):
        nothing = np.empty((f.n_vectors, 0))
        return Shown("vectors", nothing, [], f.vectors[:, 0], nothing[:0], nothing[:0], 0)
    if show == "auto":
        rows_help = X is not None and not pictures
        show = "vectors" if f.projection is None else ("rows" if rows_help else "pre-images")
    if show == "rows" and X is None:
        raise ValueError(
            "show='rows' looks for the nearest rows of X: give X, the rows the model was trained on."
        )
    if show == "vectors" and f.projection is not None:
        return _in_the_image(f)
    space = _Space(model.inputs, names, None if X is None else unshifted_numbers(model.inputs, X))
    most = max(len(space.columns), model.inputs.n_features) if pictures else max_features
    if show == "rows":
        return _nearest(model, X, space, most)
    few = space.choose(model, X, most)
    if f.projection is None:
        values = dense(f.vectors[:, few]) + space.offset[few]
    else:
        values = _pre_images(f, space)(few)
    values = values.astype(np.float64) / space.scale[few]
    middle, spread = middle_and_spread(values) if space.rows is None else space.middle_and_spread(few)
    labels = [space.label(j) for j in few]
    if pictures:
        values, labels = space.in_order(values), names
    kind = "vectors" if f.projection is None else "pre-images"
    return Shown(
        kind, values, labels, np.arange(f.n_vectors), middle, np.sqrt(spread), len(space.columns), space.limits
    )  # fmt: skip


@dataclass(frozen=True)
class _Space:
    """The numbers that an expansion sees, without the shifts of the inputs.

    Parameters
    ----------
    inputs : Inputs
    names : list of str
        Of the raw columns.
    rows : array, CSR or None
    """

    inputs: Inputs
    names: list[str]
    rows: Rows | None

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.inputs.columns or tuple(map(Column, range(self.inputs.n_features)))

    @cached_property
    def scale(self) -> Array:  # (n_numbers,)
        scale = np.array([column.scale for column in self.columns])
        return np.where(scale == 0, 1.0, scale)

    @cached_property
    def offset(self) -> Array:  # (n_numbers,)
        """What is to be added to the numbers the expansion sees to have those without shifts."""
        return np.array([column.shift * column.scale for column in self.columns])

    @property
    def limits(self) -> tuple[float, float] | None:
        if self.rows is None:
            return None
        ends = np.array([dense(end(axis=0)).ravel() for end in (self.rows.min, self.rows.max)]) / self.scale
        return float(ends.min()), float(ends.max())

    def label(self, j: int) -> str:
        column = self.columns[j]
        name = self.names[column.source]
        return name if column.category is None else f"{name} = {column.category}"

    def choose(self, model: Model, X: Any, most: int) -> Array:
        """So many columns: all in their order, or those of the most relevant features."""
        if len(self.columns) <= most:
            return np.arange(len(self.columns))
        source = np.array([column.source for column in self.columns])
        return largest(_relevance(model, X)[source], most)

    def middle_and_spread(self, few: Array) -> tuple[Array, Array]:
        assert self.rows is not None
        middle, spread = middle_and_spread(self.rows)
        return middle[few] / self.scale[few], spread[few] / self.scale[few] ** 2

    def in_order(self, values: Array) -> Array:  # (m, n_features)
        """Raw columns in their order; NaN where the model does not look."""
        out = np.full((len(values), self.inputs.n_features), np.nan)
        for j, column in enumerate(self.columns):
            out[:, column.source] = values[:, j]
        return out


def largest(shares: Array, most: int) -> Array:
    """Positions of the largest; equal ones, rounding aside, in their order."""
    return np.argsort(-shares.round(9), kind="stable")[:most]


def _relevance(model: Model, X: Any) -> Array:  # (n_features,)
    try:
        return feature_relevance(model, X)
    except ValueError:  # a kernel without shares
        f = model.expansion
        out = np.zeros(model.inputs.n_features)
        if f.projection is None:
            sources = [column.source for column in model.inputs.columns or ()] or range(len(out))
            np.add.at(out, np.array(sources), middle_and_spread(f.vectors)[1])
        return out


def _in_the_image(f: KernelExpansion) -> Shown:
    values = np.asarray(f.vectors, dtype=np.float64)
    middle, spread = middle_and_spread(values)
    names = [f"dimension {j}" for j in range(values.shape[1])]
    return Shown("vectors", values, names, np.arange(len(values)), middle, np.sqrt(spread), len(names))


def _pre_images(f: KernelExpansion, space: _Space) -> Any:
    """From column numbers to those columns of points whose images are near the vectors.

    With rows, the point is the mean of the rows plus what their regression on their images says; without, it is a short
    point.
    """
    assert f.projection is not None
    matrix = f.projection.matrix.astype(np.float64)
    vectors = np.asarray(f.vectors, dtype=np.float64)
    rank = np.eye(len(matrix))
    if space.rows is None:
        inner = matrix @ matrix.T
        inner += OPEN_SHARE * np.linalg.eigvalsh(inner)[-1] * rank
        points = matrix.T @ np.linalg.solve(inner, (vectors + f.projection.shift).T)  # (n_numbers, m)
        return lambda few: points[few].T + space.offset[few]
    middle = middle_and_spread(space.rows)[0]
    images = f.projection(space.rows).astype(np.float64) - matrix @ space.offset
    centre = images.mean(axis=0)
    images -= centre
    assert isinstance(f.kernel, WidthKernel)
    width = f.kernel.widths(len(rank))
    left_open = OPEN / (width**2 if isinstance(f.kernel, Laplacian) else width)
    among = images.T @ images / len(images) + left_open * rank
    steps = np.linalg.solve(among, (vectors - centre).T)  # (r, m)
    points = np.asarray(space.rows.T @ (images @ steps)) / len(images)
    return lambda few: middle[few] + points[few].T


def nearest_rows(model: Model, X: Any) -> Array:  # (n_vectors,)
    """For each vector the number of the row of X that the model's metric puts nearest to it."""
    return _nearest_numbers(model.expansion, _Space(model.inputs, [], unshifted_numbers(model.inputs, X)))


def _nearest_numbers(f: KernelExpansion, space: _Space) -> Array:
    assert space.rows is not None
    cityblock = isinstance(f.kernel, Laplacian)
    weights = np.ones(f.vectors.shape[1])
    if isinstance(f.kernel, WidthKernel):
        weights = f.kernel.widths(len(weights))
    weights = weights if cityblock else np.sqrt(weights)
    rows, vectors = space.rows, f.vectors.astype(np.float64)
    if f.projection is not None:
        rows = f.projection(rows)
        vectors = vectors + f.projection.matrix.astype(np.float64) @ space.offset
    elif space.offset.any():
        vectors = dense(vectors) + space.offset
    vectors = scale_columns(vectors, weights)
    best, least = np.zeros(f.n_vectors, dtype=np.intp), np.full(f.n_vectors, np.inf)
    for part in block_slices(rows.shape[0], 8 * (f.n_vectors + rows.shape[1])):
        block = scale_columns(rows[part].astype(np.float64), weights)
        if sparse.issparse(block) and not cityblock:
            products = block @ vectors.T
            products = products.toarray() if sparse.issparse(products) else np.asarray(products)
            distances = squared_norms(block)[:, None] - 2 * products + squared_norms(vectors)
        else:
            distances = cdist(dense(block), dense(vectors), "cityblock" if cityblock else "sqeuclidean")
        nearest = distances.argmin(axis=0)
        found = distances[nearest, np.arange(f.n_vectors)]
        best = np.where(found < least, part.start + nearest, best)
        least = np.minimum(found, least)
    return best


def _nearest(model: Model, X: Any, space: _Space, max_features: int) -> Shown:
    """The raw rows nearest to the vectors."""
    numbers = _nearest_numbers(model.expansion, space)
    whole = model.inputs if model.inputs.columns else Inputs(model.inputs.n_features, model.inputs.names)
    raw = whole._raw(_safe_indexing(X, numbers))
    d = model.inputs.n_features
    few = np.arange(d)
    if d > max_features:
        few = largest(_relevance(model, X), max_features)
    middle, spread = np.full(d, np.nan), np.full(d, np.nan)
    known = [j for j, column in enumerate(space.columns) if column.category is None]
    found = space.middle_and_spread(np.array(known, dtype=np.intp))
    sources = [space.columns[j].source for j in known]
    middle[sources], spread[sources] = found
    values = dense(raw[:, few]) if sparse.issparse(raw) else np.asarray(raw)[:, few]
    names = [space.names[j] for j in few]
    return Shown("rows", values, names, numbers, middle[few], np.sqrt(spread[few]), d)
