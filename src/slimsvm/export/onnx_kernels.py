"""The outputs of an expansion as ONNX operators.

The rbf kernel takes |x|^2 + |v|^2 - 2 x v about a centre near which the vectors lie, where that is exact enough, and
differences for vectors that lie far from it; laplacian takes differences. Columns of rows beyond the reach of every
vector are clipped to where all kernel values are still 0, so that nothing overflows. Products (linear, poly, sigmoid,
projections) are added up in double precision.
"""

from __future__ import annotations

import numpy as np

from ..kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid
from ..rows import Array
from .geometry import Distances, Geometry, distances, without_projection
from .onnx_graph import Graph, onnx

# exp(-REACH^2) is 0 for the type.
REACH = {"float32": 11.0, "float64": 28.0}
# The error of the exponent by norms and products is a few times eps times the squared norms of the vectors: up to NEAR
# it is some 1e-13 in double precision, up to NEAR_SINGLE some 1e-6 in single precision.
NEAR = 1000.0
NEAR_SINGLE = 32.0
# Coefficients of this size times exp(NEAR_SINGLE) have all their digits in single precision.
LEAST_COEF = 1e-30
# Differences need this many numbers for each row at once; with more, the rows come one after the other.
DIFFERENCES_AT_ONCE = 2**14
# What is added up and raised to powers in double precision stays below this.
LARGEST = 1e300


def expansion_outputs(g: Graph, u: str, kernel: object, geometry: Geometry) -> str:  # (n, k)
    """Outputs, in the type of the graph, for raw columns u."""
    if geometry.matrix is not None:
        u, geometry = _image(g, u, geometry), without_projection(geometry)
    if isinstance(kernel, RBF | Laplacian):
        f = distances(kernel, geometry)
        if not len(f.coef):
            return _constant_outputs(g, u, f.intercept)
        all_used = len(f.used) == geometry.vectors.shape[1]
        return _by_distances(g, u if all_used else g.add("Gather", u, f.used, axis=1), f)
    if not len(geometry.coef):
        return _constant_outputs(g, u, geometry.intercept)
    if isinstance(kernel, Linear):
        return g.narrow(_linear(g, u, geometry))
    assert isinstance(kernel, Polynomial | Sigmoid)
    return g.narrow(_products(g, u, kernel, geometry))


def _constant_outputs(g: Graph, u: str, intercept: Array) -> str:
    """The intercept for each row."""
    n = g.add("Shape", u, start=0, end=1)
    shape = g.add("Concat", n, np.array([len(intercept)]), axis=0)
    return str(g.add("Expand", g.number(intercept)[None, :], shape))


# ---------------------------------------------------------------------------- products


def _from_shift(g: Graph, u: str, shift: Array, most: float) -> str:
    """Columns in double precision, less their shift, of at most this size."""
    x = g.wide(u)
    if shift.any():
        x = g.add("Sub", x, shift)
    return g.clip(x, most) if most < 2 * float(np.finfo(g.dtype).max) else x


def _most(weights: Array) -> float:  # (..., d)
    """Size of columns whose weighted sums do not overflow."""
    return LARGEST / max(1.0, float(np.abs(weights).sum(axis=-1).max(initial=0.0)))


def _image(g: Graph, u: str, geometry: Geometry) -> str:  # (n, r)
    """The image of the projection, in the type of the graph."""
    assert geometry.matrix is not None
    assert geometry.origin is not None
    matrix = geometry.matrix * geometry.scale
    x = _from_shift(g, u, geometry.shift, _most(matrix))
    exact = (matrix == matrix.astype(g.dtype)).all()
    weights = g.wide(matrix.T) if exact else np.ascontiguousarray(matrix.T)
    return g.narrow(g.add("Gemm", x, weights, -geometry.origin))


def _linear(g: Graph, u: str, geometry: Geometry) -> str:  # (n, k)
    with np.errstate(over="ignore", invalid="ignore"):
        weights = (geometry.vectors * geometry.scale).T @ geometry.coef
    if not np.isfinite(weights).all():
        raise ValueError(
            "the vectors of this linear machine are so large that their weighted sum overflows; scale X."
        )
    return str(
        g.add("Gemm", _from_shift(g, u, geometry.shift, _most(weights.T)), weights, geometry.intercept)
    )


def _products(g: Graph, u: str, kernel: Polynomial | Sigmoid, geometry: Geometry) -> str:  # (n, k)
    factor = kernel.gamma * geometry.scale
    x = _from_shift(g, u, geometry.shift, _most(geometry.vectors * factor) / 2)
    inner = g.add("Gemm", g.add("Mul", x, factor), g.wide(geometry.vectors.T), np.array([kernel.coef0]))
    if isinstance(kernel, Sigmoid):
        values = g.add("Tanh", inner)
    else:
        values = _power(g, inner, kernel.degree, 1.0 + float(np.abs(geometry.coef).sum()))
    return str(g.add("Gemm", values, g.wide(geometry.coef), geometry.intercept))


def _power(g: Graph, x: str, degree: int, weight: float) -> str:
    """A whole power by squares, of values whose power times the weight does not overflow."""
    if degree == 0:
        return str(g.add("Add", g.add("Mul", g.clip(x, 1.0), np.array(0.0)), np.array(1.0)))
    x = g.clip(x, (LARGEST / weight) ** (1.0 / degree))
    result: str | None = None
    while degree:
        if degree & 1:
            result = x if result is None else g.add("Mul", result, x)
        degree >>= 1
        x = g.add("Mul", x, x) if degree else x
    assert result is not None
    return result


# ---------------------------------------------------------------------------- distances


def _by_distances(g: Graph, u: str, f: Distances) -> str:  # (n, k)
    near, centre = _near(f)
    order = np.concatenate([np.flatnonzero(near), np.flatnonzero(~near)])
    coef, exponents = f.coef[order], []
    if near.any():
        exponent, factor = _by_products(g, u, f, centre, f.vectors[near], coef[: near.sum()])
        coef[: near.sum()] *= factor
        exponents.append(exponent)
    if not near.all():
        exponents.append(g.add("Neg", _by_differences(g, u, f, f.vectors[~near])))
    exponent = exponents[0] if len(exponents) == 1 else g.add("Concat", *exponents, axis=1)
    return str(g.add("Gemm", g.add("Exp", exponent), g.number(coef), g.number(f.intercept)))


def _squares(f: Distances, centre: Array) -> Array:  # (m,)
    """Squared distances of the vectors from a centre, in the units of the kernel."""
    with np.errstate(over="ignore"):
        return (f.widths * np.square(f.vectors - centre)).sum(axis=1)


def _near(f: Distances) -> tuple[Array, Array]:  # (m,), (d,)
    """Which vectors may be compared by norms and products, and the centre for that."""
    if f.power == 1:
        return np.zeros(len(f.vectors), dtype=bool), f.vectors[0]
    if not f.shift.any() and (_squares(f, np.zeros(len(f.widths))) <= NEAR_SINGLE).all():
        return np.ones(len(f.vectors), dtype=bool), np.zeros(len(f.widths))
    centre = np.median(f.vectors, axis=0)
    near = _squares(f, centre) <= NEAR
    if near.any():
        centre = f.vectors[near].mean(axis=0)
    return _squares(f, centre) <= NEAR, centre


def _by_products(
    g: Graph,
    u: str,
    f: Distances,
    centre: Array,  # (d,)
    vectors: Array,  # (m, d)
    coef: Array,  # (m, k)
) -> tuple[str, Array]:  # (n, m), (m, 1)
    """Exponents by norms and products about the centre, and factors that belong on the coefficients.

    Where the vectors are near enough, exp(-|v|^2) is such a factor: there are fewer operators then, and fewer passes.
    """
    wide = (
        g.dtype == np.float32
        and float((f.widths * np.square(vectors - centre)).sum(axis=1).max()) > NEAR_SINGLE
    )
    dtype = np.dtype(np.float64) if wide else g.dtype
    away = (f.shift + centre).astype(dtype)  # what is taken off the columns, exactly
    root = np.minimum(np.sqrt(f.widths), np.finfo(dtype).max)
    scaled = ((vectors - (away.astype(np.float64) - f.shift)) * root).astype(dtype)
    x = g.wide(u) if wide else u
    if away.any():
        x = g.add("Sub", x, away)
    if (root != 1).any():
        x = g.add("Mul", x, root.astype(dtype))
    x = g.clip(x, float(np.abs(scaled).max()) + REACH[g.dtype.name], dtype)
    squares = g.add("ReduceSumSquare", x, np.array([1]))
    norms = np.square(scaled.astype(np.float64)).sum(axis=1)
    twice = np.ascontiguousarray(2 * scaled.T)
    factor = np.exp(-norms)[:, None]
    least = np.abs(coef * factor).min(initial=1.0, where=coef != 0)
    if norms.max() <= NEAR_SINGLE and least > LEAST_COEF:
        return g.add("Gemm", x, twice, squares, beta=-1.0), factor
    products = g.add("Gemm", x, twice, -norms.astype(dtype))
    exponent = g.add("Min", g.add("Sub", products, squares), np.zeros((), dtype))
    return g.cast(exponent, g.dtype) if wide else exponent, np.ones((len(vectors), 1))


def _by_differences(g: Graph, u: str, f: Distances, vectors: Array) -> str:  # (n, m)
    """Weighted sums of squared or absolute differences."""
    away = f.shift.astype(g.dtype)
    vectors = vectors + (f.shift - away)
    high = vectors.astype(g.dtype)
    low = (vectors - high).astype(g.dtype)
    factor = np.minimum(f.widths ** (1.0 / f.power), np.finfo(g.dtype).max).astype(g.dtype)
    x = g.add("Sub", u, away) if away.any() else u
    if vectors.size <= DIFFERENCES_AT_ONCE:
        # columns, rows, vectors: the sum over the first axis is one of whole blocks
        columns = g.add("Unsqueeze", g.add("Transpose", x, perm=[1, 0]), np.array([2]))
        high, low = (np.ascontiguousarray(part.T)[:, None, :] for part in (high, low))
        return _summed(g, columns, high, low, factor[:, None, None], f.power, axis=0)
    body = Graph(g.dtype.name, g.unique)
    row = g.unique("row")
    total = _summed(body, row, high, low, factor, f.power, axis=1)
    o = onnx()
    kind = o.helper.np_dtype_to_tensor_dtype(g.dtype)
    described = o.helper.make_tensor_value_info
    graph = o.helper.make_graph(
        body.protos(),
        "differences_of_one_row",
        [described(row, kind, [len(f.used)])],
        [described(total, kind, [len(vectors)])],
        body.tensors(),
    )
    return str(g.add("Scan", x, body=graph, num_scan_inputs=1))


def _summed(g: Graph, x: str, high: Array, low: Array, factor: Array, power: int, *, axis: int) -> str:
    difference = g.add("Sub", x, high)
    if low.any():
        difference = g.add("Sub", difference, low)
    bounded = g.clip(difference, float(np.finfo(g.dtype).max), g.dtype)
    weighed = g.add("Mul", bounded, factor)
    return str(g.add("ReduceSumSquare" if power == 2 else "ReduceL1", weighed, np.array([axis]), keepdims=0))
