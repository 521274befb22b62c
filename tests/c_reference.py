"""The arithmetic of the whole-number formats in plain NumPy: what a header must give, number for number."""

from __future__ import annotations

import numpy as np

from slimsvm.export.c.whole import (
    image_limits,
    is_signed,
    largest_whole,
    product_limits,
    units_for,
    value_bits,
)
from slimsvm.kernels import RBF, Laplacian, Polynomial

F32 = np.float32


def dense(whole):
    return (whole.toarray() if hasattr(whole, "toarray") else np.asarray(whole)).astype(np.int64)


def nearest(t):
    """Whole numbers nearest to float32 numbers, halves away from zero, by the sum that C makes."""
    return np.trunc(t + np.where(t < 0, F32(-0.5), F32(0.5)).astype(F32)).astype(np.int64)


def whole_products(rows, table, usual, bits):  # (n, d), (m, d) -> (n, m) in float32, (n, 1)
    """Products of rows, in units of a power of two, with whole numbers."""
    largest = np.abs(rows).max(axis=1, initial=0)
    exponent = np.maximum(np.where(largest > 0, np.frexp(largest)[1], -126), -90)
    exponent = exponent - np.where(largest <= F32(usual), bits, 30)
    unit = np.ldexp(F32(1), exponent)[:, None].astype(F32)
    return (nearest(rows / unit) @ table.T).astype(F32), unit


def outputs(small, rows, fine=False):  # (n, d) -> (n, k)
    """Outputs of a rounded expansion for rows in float32."""
    f, rows = small.expansion, np.asarray(rows, dtype=F32)
    if isinstance(f.kernel, RBF | Laplacian):
        values = distances(small, rows, fine)
    else:
        usual, bits = product_limits(small.vectors)
        sums, unit = whole_products(rows * small.vectors.step, dense(small.vectors.whole), usual, bits)
        values = products(f.kernel, sums * unit)
    coef, step = dense(small.coef.whole), small.coef.step
    if fine or isinstance(f.kernel, Polynomial) or f.kernel.name == "linear":
        return values.astype(np.float64) @ coef * step + f.intercept
    bits, _ = value_bits(small.coef)
    return (nearest(values * F32(2.0**bits)) @ coef) * (step * F32(2.0**-bits)) + f.intercept


def products(kernel, sums):
    if kernel.name == "linear":
        return sums
    inner = F32(kernel.gamma) * sums + F32(kernel.coef0)
    return inner**kernel.degree if isinstance(kernel, Polynomial) else np.tanh(inner)


def distances(small, rows, fine):  # (n, d) -> (n, m)
    f, vectors = small.expansion, small.vectors
    grid, units = units_for(small, fine_outputs=fine)
    if f.projection is None:
        t = (rows - vectors.base) * units
    else:
        roots = units.astype(np.float64) * grid.step / 2.0**grid.bits
        if isinstance(f.kernel.gamma, float):
            roots = roots * (np.sqrt(f.kernel.gamma) if isinstance(f.kernel, RBF) else f.kernel.gamma)
        sums, unit = whole_products(rows, dense(small.matrix.whole), *image_limits(small.matrix, roots))
        t = (sums * (small.matrix.step * unit) - f.projection.shift.astype(F32)) * units
    high = (largest_whole(vectors) << grid.bits) + grid.reach
    low = -high if is_signed(vectors) else -grid.reach
    q = nearest(np.clip(t, F32(low), F32(high)))
    apart = q[:, None, :] - dense(vectors.whole)[None] * 2**grid.bits
    sums = (apart**2 if isinstance(f.kernel, RBF) else np.abs(apart)).sum(axis=2)
    values = np.exp(-(sums.astype(F32) * F32(grid.scale)))
    return np.where((sums >= grid.limit) & grid.ends, F32(0), values)
