"""The last part of a fit with a learnt projection: the race's winner trained on all rows, in the numbers that ship."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...expansion import KernelExpansion
from .choice import HeldOut
from .compare import Paired
from .linear import LinearMaps
from .race import LinearChoice
from .search import BAD_LUCK

# The most attempts at a model whose numbers are rounded, each with half the vectors of the one before.
TRIES = 5


def expected_mistakes(maps: LinearMaps, held: HeldOut) -> float:
    """Mistakes that a model without bad luck has at most on its own rows: a few more than its like on others."""
    mistakes, paired = maps.data.take(held.rows).mistakes(held.outputs), Paired(held.weight)
    return paired.mean(mistakes) + BAD_LUCK * paired.standard_error(mistakes)


def last_shipped(
    maps: LinearMaps,
    choice: LinearChoice,
    held: HeldOut,
    rng: np.random.Generator,
    ships: Callable[[KernelExpansion], KernelExpansion] | None,
) -> tuple[KernelExpansion, int]:
    """The expansion trained on all rows as it ships, and the batches it took.

    Few bits have few places for vectors: where a model is worse on its own rows, after rounding, than its like on
    others before, one of half as many vectors, which has wider kernels, may survive it better.

    Parameters
    ----------
    ships : callable or None
        From an expansion to the one with the numbers that ship; None where they are not rounded.
    """
    if ships is None:
        return maps.last(choice, rng)
    data, expected = maps.data, expected_mistakes(maps, held)
    best, least, n_steps = None, np.inf, 0
    for _ in range(TRIES):
        expansion, steps = maps.last(choice, rng)
        expansion = ships(expansion)
        mistakes = float(data.weight @ data.mistakes(expansion(data.X, n_threads=maps.n_threads))) / data.n
        if best is None or mistakes < least:
            best, least, n_steps = expansion, mistakes, steps
        if least <= expected or choice.shape.n_vectors == 1:
            break
        choice = replace(choice, shape=replace(choice.shape, n_vectors=choice.shape.n_vectors // 2))
    assert best is not None
    return best, n_steps
