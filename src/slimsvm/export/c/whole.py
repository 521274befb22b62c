"""Where arithmetic in whole numbers takes place: grids for distances, bits for products and kernel values."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np

from ...grid import Whole
from ...kernels import RBF, Laplacian
from ...rounding import Rounded
from ...rows import Array
from .text import dense_rows

# A kernel value of exp(-NOTHING) is far below the rounding of any coefficient, by bits of a number; where logarithms of
# outputs are wanted, all that float32 can hold counts.
NOTHING = {16: 40.0, 8: 17.0, 4: 17.0}
NOTHING_FINE = 87.0
# The finest grid that is useful, in bits below the step of the vectors, the coarsest on which sums need not end early,
# and the coarsest for which they need not have 64 bits, by bits of a number.
FINEST, FINE, COARSEST = {16: 6, 8: 6, 4: 10}, {16: 0, 8: 3, 4: 6}, {16: 0, 8: 1, 4: 4}
# Rounding a row may move its image by so much, in units of the kernel; rows that would move more take 64 bits.
MOVES = 2e-3
# Rows whose products with the steps are up to so many times as large as those of the vectors take 32 bits.
USUAL = 4.0
# Bits of a row, and of a kernel value, that 32-bit sums must leave room for; otherwise sums have 64.
LEAST_ROW_BITS = 12
LEAST_VALUE_BITS = {16: 20, 8: 14, 4: 14}
MOST_VALUE_BITS = 24


@dataclass(frozen=True)
class Grid:
    """The grid on which distances are whole numbers.

    Parameters
    ----------
    bits : int
        Below the step of the vectors.
    step : float
        Of the vectors, in the units of the kernel of width one.
    reach : int
        A row is cut off so many units beyond the vectors.
    limit : int
        A sum from which on the kernel value is nothing.
    ends : bool
        Whether sums must end there, because their terms may be too large for all of them.
    row, sum : str
        Types of a row and of a sum.
    scale : float
        Exponent of one unit of the sum.
    """

    bits: int
    step: float
    reach: int
    limit: int
    ends: bool
    row: str
    sum: str
    scale: float


def grid_for(vectors: Whole, *, squares: bool, gamma: float, nothing: float) -> Grid:
    """The finest grid on which sums fit; gamma is 1 where each feature has a width."""
    whole, most, signed = dense_rows(vectors.whole), largest_whole(vectors), is_signed(vectors)
    step = float(vectors.step[0])
    if not whole.any():  # all vectors at the base: any step will do
        step = (1 / gamma) ** (0.5 if squares else 1.0) / most
    power = 2 if squares else 1
    sides = 2 if signed else 1

    def attempt(bits: int, room: int, ends: bool, row: str, total: str) -> Grid:
        reach = room - sides * (most << bits)
        scale = gamma * step**power * 2.0 ** (-power * bits)
        return Grid(bits, step, reach, reach**power if reach > 0 else 0, ends, row, total, scale)

    ways = [(2**28, True, "int32_t", "int32_t", 0)]
    if squares:
        d = vectors.whole.shape[1]
        room = min(2**15 - 1, isqrt((2**31 - 1) // max(1, d)))  # of which d squares fit
        narrow = [
            (room, False, "int16_t", "int32_t", FINE[vectors.bits]),
            (2**15 - 1, True, "int16_t", "int32_t", COARSEST[vectors.bits]),
        ]
        ways = [*(narrow if vectors.bits < 16 else []), (2**29, True, "int32_t", "int64_t", 0)]
    for room, ends, row, total, coarsest in ways:
        for bits in range(FINEST[vectors.bits], coarsest - 1, -1):
            grid = attempt(bits, room, ends, row, total)
            if grid.reach >= room // 4 and grid.scale * grid.limit >= nothing:
                return grid
    raise ValueError(
        "the vectors are too near to each other, in units of the kernel, for arithmetic in whole numbers; take "
        "number='float32'."
    )


def is_signed(whole: Whole) -> bool:
    """Whether whole numbers may be below zero."""
    return bool(whole.whole.dtype.kind == "i")


def largest_whole(whole: Whole) -> int:
    """The largest whole number of the format."""
    return int(2 ** (whole.bits - int(is_signed(whole))) - 1)


def units_for(small: Rounded, *, fine_outputs: bool = False) -> tuple[Grid, Array]:
    """The grid of the vectors, and units of it per unit of each feature (one for all where there is one width)."""
    kernel, vectors = small.expansion.kernel, small.vectors
    assert vectors is not None
    assert isinstance(kernel, RBF | Laplacian)
    squares, one = isinstance(kernel, RBF), isinstance(kernel.gamma, float)
    nothing = NOTHING_FINE if fine_outputs else NOTHING[vectors.bits]
    grid = grid_for(vectors, squares=squares, gamma=kernel.gamma if one else 1.0, nothing=nothing)
    widths = np.ones(1) if one else np.asarray(kernel.gamma, dtype=np.float64)
    units = (np.sqrt(widths) if squares else widths) * 2.0**grid.bits / grid.step
    with np.errstate(over="ignore"):
        single, scale = units.astype(np.float32), np.float32(grid.scale)
    if not (np.isfinite(single).all() and single.max() > 0 and 0 < scale < np.inf):
        raise ValueError(
            "the numbers of the kernel are too large or too small for whole numbers; take 'float32'."
        )
    return grid, single


def row_bits(table: Whole) -> int:
    """Bits of a row whose products with any row of the table fit into 32 bits; 0 where these are too few."""
    most = int(np.abs(dense_rows(table.whole).astype(np.int64)).sum(axis=1).max(initial=1))
    bits = min(24, int(np.floor(np.log2((2**31 - 1) / max(1, most)))))
    return bits if bits >= LEAST_ROW_BITS else 0


def image_limits(matrix: Whole, roots: Array) -> tuple[float, int]:
    """Up to which size the numbers of a row take 32 bits, and how many of them the row has."""
    bits = row_bits(matrix)
    lengths = np.sqrt(np.square(dense_rows(matrix.whole).astype(np.float64)).sum(axis=1))
    moves = float((lengths * matrix.step.astype(np.float64) * roots).max(initial=0.0)) * 2.0**-bits * 0.3
    return (min(1e30, MOVES / moves) if moves > 0 else 1e30) if bits else -1.0, bits


def product_limits(vectors: Whole) -> tuple[float, int]:
    """The same for kernels of products; rows are thought of as large as the vectors are."""
    bits = row_bits(vectors)
    step = vectors.step.astype(np.float64)
    largest = np.abs(dense_rows(vectors.whole).astype(np.float64) * step**2).max(initial=0.0)
    return float(min(1e30, USUAL * largest)) if bits else -1.0, bits


def value_bits(coef: Whole) -> tuple[int, str]:
    """Bits of a kernel value that meet the coefficients, and the type of their sums."""
    most = int(np.abs(dense_rows(coef.whole).astype(np.int64)).sum(axis=0).max(initial=1))
    bits = min(MOST_VALUE_BITS, int(np.floor(np.log2((2**31 - 1) / max(1, most)))))
    return (bits, "int32_t") if bits >= LEAST_VALUE_BITS[coef.bits] else (MOST_VALUE_BITS, "int64_t")
