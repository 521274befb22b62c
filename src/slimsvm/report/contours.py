"""Where a function on a grid is positive, as polygons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from ..rows import Array

Edge: TypeAlias = tuple[
    int, int, int
]  # 0 for an edge along a row of the grid, 1 for one down a column; its node

# Which edges of a cell the outline enters and leaves by, with the inside to its right. The corners that are inside are
# the bits 1, 2, 4, 8 from the upper left clockwise; the edges are 0 to 3, from the upper one clockwise.
_WAYS: dict[int, tuple[tuple[int, int], ...]] = {
    1: ((0, 3),), 2: ((1, 0),), 3: ((1, 3),), 4: ((2, 1),), 5: ((0, 3), (2, 1)), 6: ((2, 0),), 7: ((2, 3),),
    8: ((3, 2),), 9: ((0, 2),), 10: ((1, 0), (3, 2)), 11: ((1, 2),), 12: ((3, 1),), 13: ((0, 1),), 14: ((3, 0),),
}  # fmt: skip
# Beside the grid everything is this much outside, so that outlines close along its border.
_OUTSIDE = -1e12


def outlines(values: Array) -> list[Array]:  # (n_rows, n_columns) -> each (n_points, 2)
    """Closed polygons around the places where the values are positive; what is inside an even number of them is not.

    Parameters
    ----------
    values : array of shape (n_rows, n_columns)
        Values at the nodes; between them they are taken to be linear along the edges.

    Returns
    -------
    list of arrays of shape (n_points, 2)
        Column and row of each point, in units of the grid.

    Examples
    --------
    >>> [polygon] = outlines(np.array([[-1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, -1.0]]))
    >>> sorted(map(tuple, polygon.tolist()))
    [(0.5, 1.0), (1.0, 0.5), (1.0, 1.5), (1.5, 1.0)]
    """
    values = np.asarray(values, dtype=np.float64)
    top = np.abs(values).max(initial=0.0) or 1.0
    padded = np.pad(values / top, 1, constant_values=_OUTSIDE)
    following = dict(_segments(padded > 0))
    found = []
    while following:
        first, edge = following.popitem()
        edges = [first]
        while edge != first:
            edges.append(edge)
            edge = following.pop(edge)
        points = np.array([_crossing(padded, edge) for edge in edges]) - 1.0
        found.append(np.clip(points, 0.0, [values.shape[1] - 1.0, values.shape[0] - 1.0]))
    return found


def _segments(inside: Array) -> Iterator[tuple[Edge, Edge]]:
    code = inside[:-1, :-1] + 2 * inside[:-1, 1:] + 4 * inside[1:, 1:] + 8 * inside[1:, :-1]
    for i, j in np.argwhere((code > 0) & (code < 15)).tolist():
        edges: tuple[Edge, ...] = ((0, i, j), (1, i, j + 1), (0, i + 1, j), (1, i, j))
        for start, end in _WAYS[int(code[i, j])]:
            yield edges[start], edges[end]


def _crossing(values: Array, edge: Edge) -> tuple[float, float]:
    down, i, j = edge
    here = float(values[i, j])
    there = float(values[i + 1, j] if down else values[i, j + 1])
    share = here / (here - there)
    return (float(j), i + share) if down else (j + share, float(i))


def simplified(points: Array, tolerance: float) -> Array:  # (n, 2)
    """The polygon without the points that lie within the tolerance of the line between their neighbours.

    Examples
    --------
    >>> simplified(np.array([[0.0, 0.0], [1.0, 0.01], [2.0, 0.0], [2.0, 2.0]]), 0.1).tolist()
    [[0.0, 0.0], [2.0, 0.0], [2.0, 2.0]]
    """
    kept = [points[0]]
    start = 0
    for k in range(2, len(points)):
        between = points[start + 1 : k] - points[start]
        along = points[k] - points[start]
        length = float(np.hypot(*along)) or 1.0
        off = np.abs(between[:, 0] * along[1] - between[:, 1] * along[0]) / length
        if off.max(initial=0.0) > tolerance:
            kept.append(points[k - 1])
            start = k - 1
    kept.append(points[-1])
    return np.array(kept)
