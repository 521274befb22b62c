"""What the search is told and what it answers, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ...rows import Array
from ...words import count
from .machines import Machine, Setting
from .plan import LARGEST
from .telling import METRICS

# What `path_` tells of each size that was tried.
PATH_FIELDS = [("metric", "U11"), ("n_vectors", np.int64), ("error", float), ("standard_error", float)]
Table = list[tuple[str, int, float, float]]


class EndedByCallback(Exception):
    """A callback has asked to stop: what is known by then decides."""


# What ends a search or a fit and keeps the best so far, by the parameter `on_interrupt`.
KEEPS: dict[str, tuple[type[BaseException], ...]] = {
    "raise": (EndedByCallback,),
    "keep": (EndedByCallback, KeyboardInterrupt),
}


@dataclass(frozen=True)
class HeldOut:
    """Outputs of a model on held-out rows.

    Parameters
    ----------
    outputs, rows, weight : arrays of shape (n_held, k), (n_held,), (n_held,)
        With numbers and weights of the rows.
    """

    outputs: Array
    rows: Array
    weight: Array


@dataclass(frozen=True)
class Choice:
    """What was chosen among models with widths, and how it did on held-out rows.

    Parameters
    ----------
    machine : Machine
    setting : Setting
    sizes : list of int
        Sizes to grow through; the last is the chosen one.
    held : HeldOut or None
        Of the chosen setting and size; None if the search ended before.
    errors : array of shape (n_held,) or None
        By which it was compared.
    table : list of (metric, size, error, standard error)
    interrupted : bool
    to_the_end : bool
        Whether the last fit goes on until nothing is gained. Where mistakes are many, ending early is part of what
        the folds have tried: more iterations fit the noise.
    expected : float
        Mistakes that a model without bad luck has at most on the rows it was trained on.
    why : str
        Why this size, in words.
    """

    machine: Machine
    setting: Setting
    sizes: list[int]
    held: HeldOut | None = None
    errors: Array | None = None
    table: Table = field(default_factory=list)
    interrupted: bool = False
    to_the_end: bool = True
    expected: float = np.inf
    why: str = ""

    def __str__(self) -> str:
        return f"{count(self.sizes[-1], 'vector')}, {METRICS[self.setting.widths]}: {self.why}"


@dataclass(frozen=True)
class Limits:
    """What the user has fixed: None means that it is searched for.

    Parameters
    ----------
    budgets : sequence of mappings
        For each scaling the most vectors that are allowed, by metric: 0 where not even one is.
    width, penalty : float or None
    metrics : tuple of str
        To choose from, the ones that learn less first.
    wished : bool
        Whether the user has named a number of vectors: if it is too large to be tried, it is taken where the largest
        that was tried is the best.
    largest : int
        The most vectors that are tried where nothing is fixed.
    """

    budgets: tuple[Mapping[str, int], ...]
    width: float | None
    penalty: float | None
    metrics: tuple[str, ...]
    wished: bool = False
    largest: int = LARGEST

    @property
    def most(self) -> int:
        """The most vectors that any model may have."""
        return max(budget[metric] for budget in self.budgets for metric in self.metrics)

    def allowed(self, setting: Setting) -> int:
        """The most vectors of a model with this setting."""
        return self.budgets[min(setting.scaling, len(self.budgets) - 1)][setting.widths]

    def free(self, most: int) -> Limits:
        """The same with `most` vectors for every model."""
        return replace(
            self, budgets=tuple(dict.fromkeys(budget, most) for budget in self.budgets), wished=False
        )
