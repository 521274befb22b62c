"""What a kernel machine is made of, as plain arrays in double precision, seen from the raw columns.

The shift and scale of `Inputs` are folded into it: x is (u - shift) * scale for raw columns u, indicators of categories
among them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..inputs import Column, Inputs
from ..kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid
from ..model import Model
from ..rows import Array, dense

EXPORTED = (RBF, Laplacian, Linear, Polynomial, Sigmoid)


@dataclass(frozen=True, eq=False)
class Geometry:
    """An expansion over raw columns.

    Parameters
    ----------
    shift, scale : array of shape (d,)
    vectors : array of shape (m, d), or (m, r) with a projection
    coef : array of shape (m, k)
    intercept : array of shape (k,)
    matrix : array of shape (r, d) or None
        Of the projection; its shift is `origin`.
    origin : array of shape (r,) or None
    """

    shift: Array
    scale: Array
    vectors: Array
    coef: Array
    intercept: Array
    matrix: Array | None = None
    origin: Array | None = None


def check_exportable(model: Model, caller: str) -> None:
    """Refuse kernels that are code or need the training rows."""
    kernel = model.expansion.kernel
    if type(kernel) not in EXPORTED:
        name = getattr(kernel, "name", type(kernel).__name__)
        raise ValueError(
            f"{caller} writes the kernels rbf, laplacian, linear, poly and sigmoid, not {name}, which is no formula; "
            "train the model with one of these."
        )


def columns_of(inputs: Inputs) -> tuple[Column, ...]:
    """The columns of the expansion, also where the raw row is all there is to it."""
    if inputs.columns is not None:
        return inputs.columns
    return tuple(Column(j) for j in range(inputs.n_features))


def geometry(model: Model, order: Array) -> Geometry:
    """The model as arrays, its columns in another order."""
    f = model.expansion
    columns = [columns_of(model.inputs)[j] for j in order]
    vectors = dense(f.vectors).astype(np.float64)
    matrix = origin = None
    if f.projection is None:
        vectors = np.ascontiguousarray(vectors[:, order])
    else:
        matrix = f.projection.matrix.astype(np.float64)[:, order]
        origin = f.projection.shift
    return Geometry(
        shift=np.array([column.shift for column in columns]),
        scale=np.array([column.scale for column in columns]),
        vectors=vectors,
        coef=f.coef.astype(np.float64),
        intercept=f.intercept.astype(np.float64),
        matrix=matrix,
        origin=origin,
    )


@dataclass(frozen=True, eq=False)
class Distances:
    """Vectors of a kernel of distances in the units of the raw columns.

    The exponent of vector i is the sum over `used` columns of widths_j |(u_j - shift_j) - vectors_ij|^power.
    """

    used: Array  # (d_used,)
    shift: Array  # (d_used,)
    widths: Array  # (d_used,)
    vectors: Array  # (m, d_used)
    coef: Array  # (m, k)
    intercept: Array  # (k,)
    power: int


def distances(kernel: RBF | Laplacian, g: Geometry) -> Distances:
    """The vectors in raw units; columns that do not count are left out, what is constant goes into the coefficients."""
    power = 2 if isinstance(kernel, RBF) else 1
    gamma = kernel.widths(g.vectors.shape[1])
    scale = g.scale if g.matrix is None else np.ones(len(gamma))
    shift = g.shift if g.matrix is None else np.zeros(len(gamma))
    flat = (scale == 0) & (gamma > 0)
    used = np.flatnonzero((scale != 0) & (gamma > 0))
    constant = np.exp(-np.sum(gamma[flat] * np.abs(g.vectors[:, flat]) ** power, axis=1))
    coef, intercept, vectors = g.coef * constant[:, None], g.intercept, g.vectors
    if not used.size or not len(coef):
        intercept = intercept + coef.sum(axis=0)
        coef, vectors = coef[:0], vectors[:0]
    return Distances(
        used=used,
        shift=shift[used],
        widths=gamma[used] * np.abs(scale[used]) ** power,
        vectors=vectors[:, used] / scale[used],
        coef=coef,
        intercept=intercept,
        power=power,
    )


def without_projection(g: Geometry) -> Geometry:
    """The same seen from the image of the projection."""
    d = g.vectors.shape[1]
    return replace(g, shift=np.zeros(d), scale=np.ones(d), matrix=None, origin=None)
