"""Arrays as whole numbers times a step: the grids behind the integer formats.

Each function gives the whole numbers with their steps, and the values in float32 that they stand for. Values that are
on such a grid keep it, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .rows import Array, Rows, frozen

# What the largest value may be cut to, so that all others have a finer step: of these the least squared error wins. In
# four bits, for the vectors in the image of a projection and for its matrix: there it took a sixth off the error of the
# outputs (digits, 12 models). In eight bits it never won; vectors without a projection, of which a few far ones carry
# much, were as often worse as better, and coefficients were worse.
CUTS = (0.9, 0.8, 0.7, 0.6, 0.5)
CUT_BITS = 4
# Products and quotients in double precision are equal if they differ by no more, relatively.
NOISE = 2.0**-48
# A range this near to a whole number of steps, in steps, begins on the grid.
ON_GRID = 1 / 64
# Rounding moves the ends of the range by the last digit of float32, and that may move the step: once, as a rule.
MOST_PASSES = 16
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class Whole:
    """Whole numbers, and the step (and base) that make them values: base + step * whole, in the units of the kernel.

    Parameters
    ----------
    whole : integer array or CSR of shape (rows, columns)
        Unsigned above the lowest value of each column, signed about zero.
    step : float32 array
        One for all, or one for each column (each row of a projection's matrix). 1 where all is zero.
    base : float32 array
        For each column; empty where none is stored.
    bits : int
    """

    whole: Rows
    step: Array
    base: Array
    bits: int

    def __post_init__(self) -> None:
        for name in ("whole", "step", "base"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @property
    def nbytes(self) -> int:
        """Bytes that ship: the whole numbers as `packed`, and the float32 ones."""
        rows, columns = self.whole.shape
        return -(-rows * columns * self.bits // 8) + self.step.nbytes + self.base.nbytes

    def packed(self) -> bytes:
        """The whole numbers row by row, the lowest byte first; of two in one byte the first has the low bits."""
        whole = self.whole.toarray() if sparse.issparse(self.whole) else self.whole
        if self.bits >= 8:
            return whole.astype(whole.dtype.newbyteorder("<")).tobytes()
        return two_in_a_byte(whole).tobytes()

    def values(self, root: Array) -> Rows:  # (columns,) -> of the shape of `whole`
        """The values in float32 that the whole numbers stand for; root as in `about_zero`, for each column."""
        csr = sparse.issparse(self.whole)
        q, columns = (self.whole.data, self.whole.indices) if csr else (self.whole, slice(None))
        step = self.step.astype(np.float64)
        base = self.base.astype(np.float64) if self.base.size and not csr else np.zeros(1)
        size = _value(
            np.abs(q.astype(np.float64)), base, step if step.size == 1 else step[columns], root[columns]
        )
        signed = np.where(q < 0, -size, size)
        if not csr:
            return signed
        return sparse.csr_array((signed, self.whole.indices, self.whole.indptr), shape=self.whole.shape)


def two_in_a_byte(whole: Array) -> Array:  # (ceil(size / 2),) of uint8
    """Whole numbers of four bits row by row, of two in one byte the first in the low bits."""
    low = (whole.ravel() & 0xF).astype(np.uint8)
    low = np.append(low, np.zeros(low.size % 2, dtype=np.uint8))
    return low[::2] | low[1::2] << 4


def one_in_a_byte(packed: Array, size: int, *, signed: bool) -> Array:  # (size,)
    """What `two_in_a_byte` packed."""
    halves = np.column_stack([packed & 0xF, packed >> 4]).ravel()[:size]
    return ((halves ^ 8).astype(np.int8) - 8).astype(np.int8) if signed else halves


def by_column(values: Array, bits: int, *, cut: bool = False) -> tuple[Whole, Array]:
    """A step for each column of an array."""
    rows, columns = values.shape
    group = np.tile(np.arange(columns), rows)
    q, back, step = about_zero(values.ravel(), np.ones(values.size), group, columns, bits, cut=cut)
    return Whole(q.reshape(values.shape), step, np.empty(0, np.float32), bits), back.reshape(values.shape)


def of_csr(csr: Rows, root: Array, group: Array, n_groups: int, bits: int) -> tuple[Whole, Rows]:
    """CSR rows, whose zeros stay zeros; root and group are those of each stored entry, as in `about_zero`."""
    q, back, step = about_zero(csr.data, root, group, n_groups, bits)
    parts = (csr.indices, csr.indptr)
    whole, values = (sparse.csr_array((data, *parts), shape=csr.shape) for data in (q, back))
    return Whole(whole, step, np.empty(0, np.float32), bits), values


def about_zero(
    values: Array,  # (n,)
    root: Array,  # (n,): the units of the kernel per unit of the value
    group: Array,  # (n,): values of one group have one step
    n_groups: int,
    bits: int,
    *,
    cut: bool = False,  # whether the largest may be cut
) -> tuple[Array, Array, Array]:
    """Signed whole numbers, the values they stand for, and the step of each group."""
    most = 2 ** (bits - 1) - 1
    cuts = CUTS if cut and bits <= CUT_BITS else ()

    def attempt(size: Array, ratio: float = 1.0) -> tuple[Array, Array, Array, Array]:
        largest = np.zeros(n_groups)
        np.maximum.at(largest, group, size.astype(np.float64) * root)
        step = _step(ratio * largest / most)
        q, back = _nearest(size, np.zeros(1), step[group].astype(np.float64), root, most)
        missed = np.square((back.astype(np.float64) - size) * root)
        return q, back, step, np.bincount(group, missed, minlength=n_groups)

    def best(size: Array) -> tuple[Array, ...]:
        q, back, step, error = attempt(size)
        for ratio in cuts if error.any() else ():
            its_q, its_back, its_step, its_error = attempt(size, ratio)
            better = its_error < error
            q, back = np.where(better[group], its_q, q), np.where(better[group], its_back, back)
            step, error = np.where(better, its_step, step), np.where(better, its_error, error)
        return q, back, step

    q, size, step = _settled(best, np.abs(values.astype(np.float32)))
    sign = np.where(values < 0, -1, 1)
    signed = np.where(q > 0, sign * size, np.float32(0)).astype(np.float32)
    return (sign * q).astype(np.int16 if bits == 16 else np.int8), signed, step


def above_a_base(
    values: Array,  # (m, d)
    root: Array,  # (d,)
    bits: int,
) -> tuple[Whole, Array]:
    """Unsigned whole numbers above a base for each column, with one step for all in the units of the kernel."""
    most = 2**bits - 1

    def best(values: Array) -> tuple[Array, ...]:
        low, high = values.min(axis=0).astype(np.float64), values.max(axis=0).astype(np.float64)
        step = _step(np.max((high - low) * root, initial=0.0, keepdims=True) / most)
        # the grid lies in the middle of the range, unless the range is on it already
        levels = np.minimum(np.rint((high - low) * root / step), most)
        each = np.divide(step, root, out=np.full(len(root), np.inf), where=root > 0)
        spare = high - low - np.multiply(levels, each, out=np.zeros(len(root)), where=levels > 0)
        digit = np.spacing(np.maximum(np.abs(low), np.abs(high)).astype(np.float32))
        on_grid = np.abs(spare) <= np.maximum(ON_GRID * each, 2.0 * digit)
        base = single(np.clip(np.where(on_grid, low, low + spare / 2), -LARGEST, LARGEST)) + 0.0
        q, back = _nearest(values, base, step.astype(np.float64), root, most)
        return q, back, step, base.astype(np.float32)

    if len(values):
        q, back, step, base = _settled(best, values)
    else:
        q, back, step, base = values, values, np.ones(1, np.float32), np.zeros(len(root), np.float32)
    return Whole(q.astype(np.uint16 if bits == 16 else np.uint8), step, base, bits), back


def single(values: Array) -> Array:
    """The values a float32 can hold, in double precision."""
    return values.astype(np.float32).astype(np.float64)


def _settled(best: Callable[[Array], tuple[Array, ...]], values: Array) -> tuple[Array, ...]:
    """Round until nothing moves any more; what `best` gives are whole numbers, values, and the rest."""
    found = best(values)
    for _ in range(MOST_PASSES):
        again = best(found[1])
        if all(np.array_equal(a, b) for a, b in zip(found, again, strict=True)):
            break
        found = again
    return found


def _step(wanted: Array) -> Array:
    """The next float32 at or above each wanted step, 1 in the place of 0."""
    wanted = np.minimum(wanted, LARGEST)
    step = wanted.astype(np.float32)
    step = np.where(step < wanted * (1 - NOISE), np.nextafter(step, np.float32(np.inf)), step)
    return np.where(step > 0, step, np.float32(1))


def _below(values: Array) -> Array:
    """The next float32 at or below each value."""
    values = np.clip(values, -LARGEST, LARGEST)
    nearest = values.astype(np.float32)
    above = nearest > values + NOISE * np.abs(values)
    return np.where(above, np.nextafter(nearest, np.float32(-np.inf)), nearest)


def _nearest(
    values: Array, base: Array, step: Array, root: Array, most: int
) -> tuple[Array, Array]:  # of the shape of `values`
    """Whole numbers q of 0 .. most for which base + q step / root is nearest to the values, and that in float32.

    It is rounded towards the base, so that the largest never asks for a larger step when it is rounded again.
    """
    q = np.clip(np.rint((values.astype(np.float64) - base) * root / step), 0, most)
    found = _value(q, base, step, root)
    # where the step is finer than the last digit of float32, the next one up may be the value itself
    following = np.minimum(q + 1, most)
    exact = (found != values) & (_value(following, base, step, root) == values)
    q = np.where(exact, following, q)
    return q, np.where(exact, values, found)


def _value(q: Array, base: Array, step: Array, root: Array) -> Array:  # of the shape of `q`
    """What whole numbers of at least 0 stand for, in float32; a column without units has the value of its base."""
    units = np.broadcast_to(root, q.shape)
    return _below(base + np.divide(q * step, units, out=np.zeros(q.shape), where=(q > 0) & (units > 0)))
