"""The vectors themselves: as images where the rows are images, otherwise as a table beside the nearest rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ..kernels import RBF, Laplacian, Precomputed
from ..model import Model
from ..readout import LargestReadout, SignReadout, VotesReadout
from ..rows import Array
from .plane import affine, sources, vectors_as_numbers
from .png import grey_png, shades, sheet
from .subject import Subject
from .text import share, short

# Vectors and columns of the table, and images.
MOST_VECTORS = 40
MOST_COLUMNS = 6
MOST_IMAGES = 120
# Rows are images if their side is at least this,
SMALLEST_SIDE = 8
# and pixels side by side differ by less than these shares of what pixels in any two places differ by: in either
# direction, and in the mean of both. Columns in no particular order have about 1.
SMOOTH = 0.92
SMOOTH_MEAN = 0.85


@dataclass(frozen=True)
class Entry:
    """A vector as the report shows it.

    Parameters
    ----------
    number : int
    toward : str
        The class it speaks for, or the sign of its coefficient.
    colour : int
    weight : str
    cells : list of str
        Its values in the columns shown.
    nearest : int
        Number of the training row that is most like it.
    nearest_is : str
        The answer of that row.
    likeness : str
    image : str
        Address of the image, if it is one.
    """

    number: int
    toward: str
    colour: int
    weight: str
    cells: list[str]
    nearest: int
    nearest_is: str
    likeness: str
    image: str = ""


@dataclass(frozen=True)
class Pixels:
    """How a row is an image."""

    shape: tuple[int, int]
    low: float
    high: float


def pixels_of(subject: Subject, image_shape: tuple[int, int] | None) -> Pixels | None:
    """How the rows are images, as told or found by looking at them; None if they are not."""
    inputs, d = subject.model.inputs, subject.model.inputs.n_features
    if image_shape is not None:
        h, w = (int(side) for side in image_shape)
        if h < 1 or w < 1 or h * w != d:
            raise ValueError(f"image_shape must be of {d} pixels in all, got {image_shape!r}.")
    else:
        h = w = round(d**0.5)
        if h < SMALLEST_SIDE or h * w != d:
            return None
    if inputs.has_categories or sparse.issparse(subject.some_X):
        return None
    rows = subject.some_X.to_numpy() if hasattr(subject.some_X, "to_numpy") else np.asarray(subject.some_X)
    if rows.dtype.kind not in "fiub":
        return None
    rows = rows.astype(np.float64)
    low, high = float(rows.min()), float(rows.max())
    if image_shape is None and not _smooth(rows.reshape(-1, h, w)):
        return None
    return Pixels((h, w), low, high) if high > low else None


def _smooth(images: Array) -> bool:  # (n, h, w)
    flat = images.reshape(len(images), -1)
    mixed = np.random.default_rng(0).permutation(flat.shape[1])
    anywhere = np.abs(flat - flat[:, mixed]).mean()
    beside = np.array([np.abs(np.diff(images, axis=axis)).mean() for axis in (1, 2)])
    return bool(beside.max() < SMOOTH * anywhere and beside.mean() < SMOOTH_MEAN * anywhere)


def raw_values(model: Model, origin: Array | None) -> Array | None:  # (m, n_features)
    """The vectors in the units of the raw columns; NaN for columns the model does not use; None with categories."""
    numbers = vectors_as_numbers(model, origin)
    if numbers is None or model.inputs.has_categories:
        return None
    shift, scale = affine(model.inputs)
    out = np.full((len(numbers), model.inputs.n_features), np.nan)
    out[:, sources(model.inputs)] = numbers / scale + shift
    return out


def _origin(subject: Subject) -> Array | None:
    if subject.model.expansion.projection is None:
        return None
    return np.asarray(subject.some_numbers.mean(axis=0), dtype=np.float64).ravel()


def by_class(model: Model) -> Array:  # (m, n_classes or n_outputs)
    """What each vector adds to each class, or to each output."""
    coef = model.expansion.coef.astype(np.float64)
    if isinstance(model.readout, SignReadout):
        return np.column_stack([-coef[:, 0], coef[:, 0]])
    if isinstance(model.readout, VotesReadout):
        return np.asarray(coef @ model.readout.class_sums)
    return coef


def heaviest(model: Model, most: int) -> tuple[Array, Model]:
    """Numbers of the vectors that weigh most, the heaviest first, and the model with these alone."""
    weights = np.abs(by_class(model)).max(axis=1, initial=0.0)
    order = np.argsort(-weights, kind="stable")[:most]
    return order, replace(model, expansion=model.expansion.take(order))


def entries(subject: Subject, pixels: Pixels | None) -> tuple[list[str], list[Entry]]:
    """Names of the columns shown, and the vectors that weigh most, the heaviest first."""
    if isinstance(subject.model.expansion.kernel, Precomputed):
        return [], []
    order, model = heaviest(subject.model, MOST_IMAGES if pixels else MOST_VECTORS)
    columns = [] if pixels else subject.by_relevance[:MOST_COLUMNS].tolist()
    if len(columns) == model.inputs.n_features:
        columns = sorted(columns)
    added, cells = by_class(model), _cells(model, columns, _origin(subject))
    nearest, likeness = _nearest(subject, model)
    images = None if pixels is None else _images(model, pixels, _origin(subject))
    found = []
    for k, j in enumerate(order.tolist()):
        toward, colour = _toward(subject, added[k])
        row = int(subject.some[nearest[k]])
        image = (
            "" if images is None or pixels is None else grey_png(shades(images[k], pixels.low, pixels.high))
        )
        weight = short(float(np.abs(added[k]).max()), 3)
        found.append(
            Entry(j, toward, colour, weight, cells[k], row, _answer(subject, row), likeness[k], image)
        )
    return [subject.names[j] for j in columns], found


def _images(model: Model, pixels: Pixels, origin: Array | None) -> Array | None:  # (m, height, width)
    raw = raw_values(model, origin)
    return None if raw is None else np.nan_to_num(raw, nan=pixels.low).reshape(-1, *pixels.shape)


def _toward(subject: Subject, added: Array) -> tuple[str, int]:
    if isinstance(subject.readout, SignReadout | LargestReadout | VotesReadout):
        best = int(np.argmax(added))
        return subject.classes[best], best
    return ("larger", 0) if added[np.argmax(np.abs(added))] > 0 else ("smaller", 1)


def _answer(subject: Subject, row: int) -> str:
    if subject.y is None:
        return ""
    value: Any = subject.y[row]
    if np.ndim(value):
        return ", ".join(short(float(v)) for v in value)
    return short(value.item() if hasattr(value, "item") else value)


def _cells(model: Model, columns: list[int], origin: Array | None) -> list[list[str]]:
    """What the table says of each vector in these raw columns."""
    inputs = model.inputs
    numbers = vectors_as_numbers(model, origin)
    if numbers is None:
        return [[] for _ in range(model.expansion.n_vectors)]
    shift, scale = affine(inputs)
    plain = numbers / scale + shift
    source = sources(inputs)
    out: list[list[str]] = [[] for _ in range(len(numbers))]
    for column in columns:
        own = np.flatnonzero(source == column)
        names = [] if inputs.columns is None else [inputs.columns[k].category for k in own]
        for j, cells in enumerate(out):
            if not len(own):
                cells.append("not used")
            elif names and names[0] is not None:
                best = int(np.argmax(plain[j, own]))
                cells.append(f"{names[best]} ({plain[j, own[best]]:.2f})")
            else:
                cells.append(short(float(plain[j, own[0]])))
    return out


def _nearest(subject: Subject, model: Model) -> tuple[Array, list[str]]:
    """For each vector the training row that is nearest as the kernel sees it, by its place among those looked at."""
    f = model.expansion
    rows = subject.some_numbers
    seen = rows if f.projection is None else f.projection(rows)
    values = np.asarray(f.kernel(seen, f.vectors), dtype=np.float64)  # (n, m)
    if isinstance(f.kernel, RBF | Laplacian):
        nearest = values.argmax(axis=0)
        best = values[nearest, np.arange(values.shape[1])]
        return nearest, [share(float(value), 0) for value in best]
    squared = np.asarray(f.kernel.diag(seen), dtype=np.float64)[:, None] - 2 * values
    return squared.argmin(axis=0), [""] * values.shape[1]


def sheet_columns(n: int) -> int:
    """Images side by side in a sheet of so many."""
    return min(n, 6 if n <= 36 else 12)


def montage(subject: Subject, model: Model, pixels: Pixels) -> str:
    """All vectors of a model in one image, the heaviest first."""
    images = _images(heaviest(model, MOST_IMAGES)[1], pixels, _origin(subject))
    if images is None or not len(images):
        return ""
    return grey_png(sheet(images, pixels.low, pixels.high, sheet_columns(len(images))))
