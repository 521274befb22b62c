"""The plane in which a model is drawn: its two inputs, or the two principal directions of the training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from sklearn.utils import _safe_indexing

from ..inputs import Inputs
from ..kernels import Precomputed
from ..model import Model
from ..rows import Array, Rows, dense
from .subject import Subject
from .svg import padded

# Wider rows are not drawn: two of that many directions say nothing.
MOST_NUMBERS = 2000
# The part of the rows that the picture must show along each direction; the rest may lie outside.
SHOWN = (0.5, 99.5)


@dataclass(frozen=True, eq=False)
class Plane:
    """A plane through the space of the expansion's numbers.

    Parameters
    ----------
    origin : array of shape (d,)
    directions : array of shape (2, d)
        A point (u, v) of the plane is the row origin + u directions[0] + v directions[1].
    back : array of shape (d, 2)
        From a row, less the origin, to its point.
    x, y : (float, float)
        What of it is drawn.
    names : (str, str)
        Of the two axes.
    says : str
        What the plane is, and what is held fixed.
    """

    origin: Array
    directions: Array
    back: Array
    x: tuple[float, float]
    y: tuple[float, float]
    names: tuple[str, str]
    says: str

    def points(self, numbers: Rows) -> Array:  # (n, 2)
        """Where rows lie, seen along the directions that are held fixed."""
        return (dense(numbers).astype(np.float64) - self.origin) @ self.back

    def grid(self, n: int) -> Array:  # (n * n, d)
        """Rows at the nodes of a grid, from the upper left, line by line."""
        u, v = np.meshgrid(np.linspace(*self.x, n), np.linspace(self.y[1], self.y[0], n))
        rows: Array = self.origin + np.column_stack([u.ravel(), v.ravel()]) @ self.directions
        return rows


def plane_of(subject: Subject, *, one_unit: bool = False) -> Plane | None:
    """The plane for a model, or None where there is none to draw; `one_unit` if all columns have the same."""
    numbers, inputs = subject.some_numbers, subject.model.inputs
    d = numbers.shape[1]
    precomputed = isinstance(subject.model.expansion.kernel, Precomputed)  # its rows are kernel values
    if precomputed or d < 2 or d > MOST_NUMBERS or numbers.shape[0] < 3:
        return None
    rows = dense(numbers).astype(np.float64)
    if inputs.n_features == 2 and d == 2 and not inputs.has_categories:
        return _two_inputs(subject, rows)
    return _principal(rows, one_unit)


def _two_inputs(subject: Subject, rows: Array) -> Plane:
    shift, scale = affine(subject.model.inputs)
    order = sources(subject.model.inputs)
    raw = rows / scale + shift
    names = [subject.names[j] for j in order]
    return Plane(
        -shift * scale,
        np.diag(scale),
        np.diag(1 / scale),
        padded(raw[:, 0], 0.08),
        padded(raw[:, 1], 0.08),
        (names[0], names[1]),
        "The plane of the two inputs: nothing is held fixed.",
    )


def _principal(rows: Array, one_unit: bool) -> Plane | None:
    origin, spread = rows.mean(axis=0), rows.std(axis=0)
    varies = spread > 1e-12 * np.maximum(1.0, np.abs(origin))
    if varies.sum() < 2:
        return None
    units = np.where(varies & (not one_unit), spread, 1.0)
    standard = np.where(varies, (rows - origin) / units, 0.0)
    across, shares = _directions(standard)
    points = standard @ across.T
    low, high = np.percentile(points, SHOWN, axis=0)
    room = 0.12 * (high - low)
    scaled = "" if one_unit else ", each number divided by its standard deviation"
    low, high = low - room, high + room
    return Plane(
        origin,
        across * units,
        (across / units).T,
        (float(low[0]), float(high[0])),
        (float(low[1]), float(high[1])),
        (f"first direction, {shares[0]:.0%} of the spread", f"second direction, {shares[1]:.0%}"),
        f"The plane of the two principal directions of the training rows{scaled}; all other directions are held at the "
        "mean row. Rows are seen along those directions, so that one may lie in a region that is not its answer.",
    )


def _directions(rows: Array) -> tuple[Array, Array]:  # (n, d) -> (2, d), (2,)
    """The two principal directions of centred rows, and their shares of the spread."""
    n, d = rows.shape
    products = rows.T @ rows if d <= n else rows @ rows.T
    last = len(products) - 1
    size, found = eigh(products, subset_by_index=[last - 1, last])
    across = (found if d <= n else rows.T @ found).T[::-1]
    across = across / np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-300)
    signs = np.where(across.sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
    return across * signs, np.maximum(size[::-1], 0.0) / np.trace(products)


def affine(inputs: Inputs) -> tuple[Array, Array]:  # (n_numbers,) each
    """Shift and scale of each number of the expansion; a scale of 0 counts as 1."""
    if inputs.columns is None:
        return np.zeros(inputs.n_features), np.ones(inputs.n_features)
    shift, scale = (np.array([getattr(c, name) for c in inputs.columns]) for name in ("shift", "scale"))
    return shift, np.where(scale == 0, 1.0, scale)


def sources(inputs: Inputs) -> Array:  # (n_numbers,)
    """The raw column behind each number of the expansion."""
    if inputs.columns is None:
        return np.arange(inputs.n_features)
    return np.array([column.source for column in inputs.columns])


def translated(numbers: Array, source: Inputs, target: Inputs) -> Array | None:  # (n, n_numbers)
    """What one model sees as these numbers, as another sees it; None where categories are in the way."""
    if source.columns == target.columns:
        return numbers
    if source.has_categories or target.has_categories or source.n_features != target.n_features:
        return None
    shift, scale = affine(source)
    raw = np.zeros((len(numbers), source.n_features))
    raw[:, sources(source)] = numbers / scale + shift
    return np.asarray(target(raw))


def vectors_as_numbers(model: Model, origin: Array | None) -> Array | None:  # (m, n_numbers)
    """The vectors among the rows the expansion sees; behind a projection the rows nearest the origin that lead there.

    Returns
    -------
    array of shape (n_vectors, n_numbers) or None
        None for kernels whose vectors are no rows.
    """
    f = model.expansion
    if f.projection is None:
        same = f.vectors.shape[1] == model.inputs.n_numbers
        return dense(f.vectors).astype(np.float64) if same else None
    matrix, shift = f.projection.matrix.astype(np.float64), f.projection.shift
    origin = np.zeros(matrix.shape[1]) if origin is None else origin
    step = dense(f.vectors).astype(np.float64) + shift - matrix @ origin
    return np.asarray(origin + step @ np.linalg.pinv(matrix).T)


def raw_column(X: Any, j: int, name: str) -> Array:  # (n,)
    """One raw column of an array, CSR or a table."""
    if sparse.issparse(X):
        return np.asarray(X[:, [j]].toarray()[:, 0])
    if hasattr(X, "columns"):
        named = X[name] if name in list(X.columns) else _safe_indexing(X, j, axis=1)
        return np.asarray(named.to_numpy())
    return np.asarray(X)[:, j]
