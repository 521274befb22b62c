"""An order of the rows of a kernel matrix that depends on its values alone.

Rows of features are put in order by their values. The rows of a precomputed kernel matrix cannot be: whoever
permutes the rows permutes the columns too. Here each row gets a colour from its own values as a set; then, as long as
that tells more rows apart, a new one from the pairs (value, colour of its column). This is the colour refinement of
Weisfeiler and Leman for a matrix of numbers, in O(n^2) a round: colours are 64-bit hashes and their sums wrap around,
so that no order of summation can be seen in them.

Values count in single precision first: a matrix that was computed again in another order of the rows, and differs in
its last bits, has the same order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .rows import Array, Rows, block_slices, dense, mixed

# Rounds of refinement at most. Matrices of real numbers need one; those with many equal values, or with symmetries
# that are broken one row at a time, need some more.
MAX_ROUNDS = 16
# The first colour of every row; any fixed number serves.
SEED = 20080601


def kernel_order(K: Rows, rows: Array, labels: Array) -> Array:  # (m,)
    """Positions in `rows` of the first, second, ... row, however the kernel matrix was permuted.

    Rows that the matrix does not tell apart are told apart by their labels; those that have the same label are in
    any order, after one of them was made the first.

    Parameters
    ----------
    K : array or CSR of shape (n, n)
    rows : array of shape (m,)
        Numbers of distinct rows.
    labels : array of shape (m,) of uint64
        What else is known of each row, as from `hashed`.
    """
    colours = np.full(len(rows), SEED, dtype=np.uint64)
    n_colours, refined, left = _refine(K, rows, colours, np.float32, MAX_ROUNDS)
    order_by = [refined]
    for known in (np.zeros_like(labels), labels):
        if n_colours < len(rows) and left > 0:
            n_colours, refined, left = _refine(K, rows, mixed(refined ^ mixed(known)), np.float64, left)
            order_by.append(refined)
    while n_colours < len(rows) and left > 0:
        marked = refined.copy()
        marked[_first_tied(order_by)] ^= np.uint64(1)
        n_colours, refined, left = _refine(K, rows, mixed(marked), np.float64, left)
        order_by.append(refined)
    return np.lexsort(order_by[::-1])


def hashed(numbers: Array) -> Array:  # (n, k) -> (n,) of uint64
    """A hash of each row of numbers."""
    out = np.zeros(len(numbers), dtype=np.uint64)
    for column in numbers.T:
        out = mixed(out ^ mixed(np.ascontiguousarray(column, dtype=np.float64) + 0.0))
    return out


def _first_tied(order_by: list[Array]) -> int:
    """The first row, in the order so far, that shares its place with another."""
    order = np.lexsort(order_by[::-1])
    same = np.all([keys[order][1:] == keys[order][:-1] for keys in order_by], axis=0)
    return int(order[np.argmax(same)])


def _refine(K: Rows, rows: Array, colours: Array, precision: Any, most: int) -> tuple[int, Array, int]:
    """The number of colours after as many rounds as help, the colours, and the rounds left of `most`."""
    n_colours = len(np.unique(colours))
    while most > 0:
        most -= 1
        colours = _next_colours(K, rows, colours, precision)
        before, n_colours = n_colours, len(np.unique(colours))
        if n_colours in (before, len(rows)):
            break
    return n_colours, colours, most


def _next_colours(K: Rows, rows: Array, colours: Array, precision: Any) -> Array:  # (m,) of uint64
    """New colours from those of the row, of its diagonal entry, and of the entries of the row with their columns."""
    out = np.empty(len(rows), dtype=np.uint64)
    everything = len(rows) == K.shape[1] and np.array_equal(rows, np.arange(len(rows)))
    of_column = mixed(colours)
    for block in block_slices(len(rows), 32 * len(rows)):
        values = dense(K[rows[block]])
        with np.errstate(over="ignore", under="ignore"):
            values = (values if everything else values[:, rows]).astype(precision)
        values = values.astype(np.float64) + 0.0  # -0.0 and 0.0 are one value
        own = values[np.arange(len(values)), np.arange(block.start, block.stop)].copy()
        pairs = mixed(mixed(values) + of_column)
        out[block] = mixed(pairs.sum(axis=1, dtype=np.uint64) + mixed(mixed(own) ^ colours[block]))
    return out
