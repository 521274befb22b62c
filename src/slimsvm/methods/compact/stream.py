"""`partial_fit`: one chunk after the other, with a sample of all rows so far to remember them by.

While all rows fit into the sample the model is searched for anew each time they have doubled, and whenever a class is
seen for the first time; in between, and for ever after, it goes on from where it is with the new rows and several times
as many of the sample. Memory does not grow with the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...chunks.blocks import Block
from ...chunks.sample import Sample, Size, Survey, joined_samples, merged_surveys, survey_of
from ...expansion import KernelExpansion
from ...rows import Array
from .going_on import Wanted, go_on

# These numbers are first choices: the rows at least were raised after a look at one set (ijcnn1), the others were not
# compared. The sample that is kept.
REPLAYED = Size(rows=2**16, bytes=2**26)
# Rows of the sample for each new one, in the batches of one call; and rows at least: a model that is moved for few rows
# knows them by heart and forgets the others.
OLD_ROWS, LEAST_ROWS = 4, 2**14
# Passes over the new rows: those of the sample have more than one turn.
EPOCHS = 10
# One vector in so many is put where the loss of the rows is largest.
PLACED = 50
# Steps become smaller with the number of calls since the search, down to this share.
LEAST_RATE = 0.2
# More rows by this factor since the last search are worth another one.
GROWN = 2.0


@dataclass(frozen=True, eq=False)
class Stream:
    """What is known of all rows so far.

    Parameters
    ----------
    seen : Survey
        Number of rows, classes and their weights, and the sample.
    n_searched : int
        Rows of the sample when the model was last searched for.
    whole : bool
        Whether it was the whole then.
    n_calls : int
        Calls since then.
    """

    seen: Survey
    n_searched: int = 0
    whole: bool = True
    n_calls: int = 0

    @property
    def needs_search(self) -> bool:
        """Whether the model is to be searched for anew."""
        grown = self.seen.sample.n >= GROWN * self.n_searched
        return grown or (self.whole and not self.seen.is_whole)

    def searched(self) -> Stream:
        """After a search."""
        return replace(self, n_searched=self.seen.sample.n, whole=self.seen.is_whole, n_calls=0)


def add(stream: Stream | None, block: Block, *, classify: bool) -> Stream:
    """The stream with a chunk more; a new class asks for a new search."""
    own = survey_of(REPLAYED, block, classify=classify)
    if stream is None:
        return Stream(own)
    seen = merged_surveys(REPLAYED, stream.seen, own, classify=classify)
    known = len(seen.labels) == len(stream.seen.labels)
    return replace(
        stream, seen=seen, n_searched=stream.n_searched if known else 0, n_calls=stream.n_calls + 1
    )


def mixed(stream: Stream, block: Block, rng: np.random.Generator) -> Sample:
    """The new rows, and several times as many of the sample, which stand for all rows so far."""
    old = stream.seen.standing_for_all()
    n_old = max(OLD_ROWS * block.n, LEAST_ROWS)
    some = np.sort(rng.permutation(old.n)[:n_old])
    # each new row counts as one of them
    mean = float(old.weight.sum()) / old.n
    new = Sample(block.X, block.y, block.weight * mean / float(block.weight.mean()), block.numbers)
    return joined_samples(old.take(some), new, 0)


def updated(
    f: KernelExpansion,
    stream: Stream,
    parts: tuple[Any, Array, Array],
    loss: Any,
    C: float,
    rng: np.random.Generator,
    n_threads: int,
) -> KernelExpansion:
    """The model after a call without a search.

    Parameters
    ----------
    parts : triple
        Rows, targets in the units of the loss, and weights.
    """
    X, Y, weight = parts
    total = float(stream.seen.totals.sum())
    penalty = len(Y) / (C * total)
    wanted = Wanted(X, Y, weight / weight.mean(), loss, penalty, max(total, float(len(Y))))
    rate = max(LEAST_RATE, 1.0 / np.sqrt(1.0 + stream.n_calls))
    n_placed = f.n_vectors // PLACED
    return go_on(f, wanted, rng, n_epochs=EPOCHS, rate=rate, n_placed=n_placed, n_threads=n_threads)
