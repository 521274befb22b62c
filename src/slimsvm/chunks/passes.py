"""Going through all chunks: a function for each, and what it gives merged in a tree of fixed shape."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any, Protocol, TypeVar

import numpy as np

from ..progress import tell
from ..rows import Array, Rows
from ..threads import one_blas_thread
from ..words import count
from .blocks import Block, Reader, read

T = TypeVar("T")

# Rows of a part of what is in memory.
HELD_ROWS = 2**16


class Passes(Protocol):
    """All rows, seen through what a method does with them."""

    def run(self, function: Callable[[Block], T], merge: Callable[[T, T], T], what: str) -> T:
        """Call the function for each chunk that has rows, and merge what it gives, always in the same order.

        Parameters
        ----------
        function, merge : callables
            Pure: called again for the same chunk, they give the same.
        what : str
            What is being done, for progress.
        """
        ...


def fold(parts: Iterable[T], merge: Callable[[T, T], T]) -> T | None:
    """Merge neighbours, then neighbours of what that gave, and so on; None where there is nothing.

    The shape of the tree depends on the number of parts alone; at most its height of them are held at a time.

    Examples
    --------
    >>> fold("abcde", lambda a, b: f"({a}{b})")
    '(((ab)(cd))e)'
    """
    held: list[tuple[int, T]] = []
    for part in parts:
        height = 0
        while held and held[-1][0] == height:
            part, height = merge(held.pop()[1], part), height + 1
        held.append((height, part))
    if not held:
        return None
    last = held.pop()[1]
    while held:
        last = merge(held.pop()[1], last)
    return last


@one_blas_thread()
def of_block(function: Callable[[Block], T], block: Block) -> T | None:
    """What the function gives for a chunk; None for one without rows."""
    return function(block) if block.n else None


@one_blas_thread()
def merged(merge: Callable[[T, T], T], first: T | None, second: T | None) -> T | None:
    """Both merged, or the one there is."""
    if first is None or second is None:
        return second if first is None else first
    return merge(first, second)


class HeldPasses:
    """Passes over the rows of a training set, which are in memory: only their kernel values are too many for it.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
    Y : array of shape (n, k)
    weight : array of shape (n,)
    """

    def __init__(self, X: Rows, Y: Array, weight: Array) -> None:
        self._X, self._Y, self._weight = X, Y, weight

    def run(self, function: Callable[[Block], T], merge: Callable[[T, T], T], what: str) -> T:
        """As `Passes` says."""
        n = len(self._weight)

        def parts() -> Iterator[T]:
            for start in range(0, n, HELD_ROWS):
                rows = slice(start, min(n, start + HELD_ROWS))
                weight = self._weight[rows]
                numbers = np.arange(len(weight))
                yield function(
                    Block(self._X[rows], self._Y[rows], weight, numbers, len(weight), f"rows from {start}")
                )
                tell(what, rows.stop, n)

        found = fold(parts(), merge)
        assert found is not None
        return found


class LocalPasses:
    """Passes on this machine; chunks are read one after the other, and threads share the work on them.

    Parameters
    ----------
    reader : callable
    classify : bool
    n_threads : int
        Chunks that are worked on at once, each by one thread: so many are held in memory, and one more.
    """

    def __init__(self, reader: Reader, *, classify: bool, n_threads: int = 1) -> None:
        self._reader, self._classify, self._n_threads = reader, classify, n_threads
        self._n_chunks: int | None = None
        self._n_rows = 0

    def run(self, function: Callable[[Block], T], merge: Callable[[T, T], T], what: str) -> T:
        """As `Passes` says."""
        n_chunks = n_rows = 0

        def counted() -> Iterator[Block]:
            nonlocal n_chunks, n_rows
            for block in read(self._reader, classify=self._classify):
                yield block
                n_chunks += 1
                n_rows += block.n_rows
                tell(what, n_chunks, self._n_chunks)

        def merge_both(first: T | None, second: T | None) -> T | None:
            return merged(merge, first, second)

        with closing(self._parts(counted(), function)) as parts:
            found = fold(parts, merge_both)
        if self._n_chunks is not None and (self._n_chunks, self._n_rows) != (n_chunks, n_rows):
            raise ValueError(
                f"the reader gave {count(self._n_chunks, 'chunk')} of {count(self._n_rows, 'row')} in the first pass "
                f"and {count(n_chunks, 'chunk')} of {count(n_rows, 'row')} in this one; it must give the same chunks "
                "each time it is called (a generator can be gone through once: return a fresh one)."
            )
        self._n_chunks, self._n_rows = n_chunks, n_rows
        if found is None:
            raise ValueError("there are no rows: the chunks are empty, or all weights are zero.")
        return found

    def _parts(self, blocks: Iterator[Block], function: Callable[[Block], T]) -> Any:
        """What the function gives for each chunk, in their order."""
        if self._n_threads == 1:
            for block in blocks:
                yield of_block(function, block)
            return
        waiting: deque[Future[T | None]] = deque()
        with ThreadPoolExecutor(self._n_threads) as pool:
            try:
                for block in blocks:
                    waiting.append(pool.submit(of_block, function, block))
                    if len(waiting) > self._n_threads:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()
