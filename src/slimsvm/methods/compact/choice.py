"""What the search is told and what it answers, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ...rows import Array
from .machines import Machine, Setting

# What `path_` tells of each size that was tried.
PATH_FIELDS = [("metric", "U11"), ("n_vectors", np.int64), ("error", float), ("standard_error", float)]


class EndedByCallback(Exception):
    """A callback has asked to stop: what is known by then decides."""


# What ends a search or a fit and keeps the best so far, by the parameter `on_interrupt`.
KEEPS: dict[str, tuple[type[BaseException], ...]] = {
    "raise": (EndedByCallback,),
    "keep": (EndedByCallback, KeyboardInterrupt),
}


@dataclass(frozen=True)
class Choice:
    """What was chosen, and how it did on held-out rows.

    Parameters
    ----------
    machine : Machine
        With the chosen scaling.
    setting : Setting
    sizes : list of int
        Sizes to grow through; the last is the chosen one.
    outputs, groups, weight : arrays of shape (n_held, k), (n_held,), (n_held,)
        Held-out outputs of the chosen setting and size, with classes and weights.
    table : list of (kind of widths, size, error, standard error)
    interrupted : bool
    to_the_end : bool
        Whether the last fit goes on until nothing is gained. Where mistakes are many, ending early is part of what
        the folds have tried: more iterations fit the noise.
    """

    machine: Machine
    setting: Setting
    sizes: list[int]
    outputs: Array
    groups: Array
    weight: Array
    table: list[tuple[str, int, float, float]] = field(default_factory=list)
    interrupted: bool = False
    to_the_end: bool = True


@dataclass(frozen=True)
class Limits:
    """What the user has fixed: None means that it is searched for.

    Parameters
    ----------
    most : mapping
        The most vectors, by kind of widths: 0 where not even one is allowed.
    width, penalty : float or None
    kinds : tuple of str
        Kinds of widths to choose from, the ones that learn less first.
    wished : bool
        Whether the user has named a number of vectors: if it is too large to be tried, it is taken where the largest
        that was tried is the best.
    binding : bool
        Whether it is known that the model would be larger without these limits: then the best size up to them is taken,
        and not the smallest that is nearly as good.
    """

    most: Mapping[str, int]
    width: float | None
    penalty: float | None
    kinds: tuple[str, ...]
    wished: bool = False
    binding: bool = False

    def within(self, budget: Mapping[str, int]) -> Limits:
        """The same with no more vectors than this for each kind, without the kinds that have none."""
        kinds = tuple(kind for kind in self.kinds if budget[kind] > 0)
        return replace(self, most=budget, kinds=kinds)


def ladder(largest: int, *, halves: bool = True) -> list[int]:
    """Sizes 1, 2, 3, 4, 6, 8, 12, ... up to and including `largest`; without halves 1, 2, 4, 8, ...

    Examples
    --------
    >>> ladder(10)
    [1, 2, 3, 4, 6, 8, 10]
    """
    sizes = {largest, *(2**i for i in range(31)), *(3 * 2**i for i in range(30) if halves)}
    return sorted(size for size in sizes if size <= largest)
