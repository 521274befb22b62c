"""`partial_fit`: one chunk after the other, with a sample of all rows so far to remember them by.

While all rows fit into the sample the model is searched for anew each time they have doubled, and whenever a class is
seen for the first time. In between, and for ever after, a chunk changes it in three steps: coefficients are solved for
on the sample and the new rows; a few vectors are put elsewhere; everything is moved. The last two count only if they
lower the objective on all these rows. The work of moving is in proportion to the new rows, so that a stream costs about
what a fit costs, and memory does not grow with the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...chunks.blocks import Block
from ...chunks.sample import Sample, Size, Survey, joined_samples, merged_surveys, survey_of
from ...expansion import KernelExpansion
from .going_on import Wanted, moved, objective, replaced, solved

# The sample that is kept.
REPLAYED = Size(rows=2**16, bytes=2**26)
# Rows of the sample that are visited for each new one: as many times a fit goes through each of its rows.
VISITS = 60
# One vector in so many, and at least one, may be put elsewhere in a call.
REPLACED = 50
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
    """

    seen: Survey
    n_searched: int = 0
    whole: bool = True

    @property
    def needs_search(self) -> bool:
        """Whether the model is to be searched for anew."""
        grown = self.seen.sample.n >= GROWN * self.n_searched
        return grown or (self.whole and not self.seen.is_whole)

    def searched(self) -> Stream:
        """After a search."""
        return replace(self, n_searched=self.seen.sample.n, whole=self.seen.is_whole)


def add(stream: Stream | None, block: Block, *, classify: bool) -> Stream:
    """The stream with a chunk more; a new class asks for a new search."""
    own = survey_of(REPLAYED, block, classify=classify)
    if stream is None:
        return Stream(own)
    seen = merged_surveys(REPLAYED, stream.seen, own, classify=classify)
    known = len(seen.labels) == len(stream.seen.labels)
    return replace(stream, seen=seen, n_searched=stream.n_searched if known else 0)


def joined(stream: Stream, block: Block) -> Sample:
    """The sample, which stands for all rows so far, and behind it the new rows, each counted as one of its rows."""
    old = stream.seen.standing_for_all()
    mean = float(old.weight.sum()) / old.n
    new = Sample(block.X, block.y, block.weight * mean / float(block.weight.mean()), block.numbers)
    return joined_samples(old, new, 0)


def updated(
    f: KernelExpansion, wanted: Wanted, n_new: int, rng: np.random.Generator, n_threads: int
) -> KernelExpansion:
    """The model after a call without a search.

    Parameters
    ----------
    wanted : Wanted
        The sample and behind it the new rows.
    n_new : int
        Number of the latter.
    """

    def judged(g: KernelExpansion) -> tuple[float, KernelExpansion]:
        g = solved(g, wanted, n_threads=n_threads)
        return objective(g, wanted, n_threads=n_threads), g

    best = judged(f)
    n_replaced = max(1, f.n_vectors // REPLACED)
    other = replaced(best[1], wanted, n_replaced, rng, n_threads=n_threads)
    if other is not best[1]:
        best = min(best, judged(other), key=_value)
    n_old = len(wanted.Y) - n_new
    n_visited = VISITS * n_new
    visited = np.append(np.sort(rng.permutation(n_old)[:n_visited]), np.arange(n_old, len(wanted.Y)))
    n_epochs = max(1, round(n_visited / len(visited)))
    # Steps of a call add up like those of a random walk: by the time the new rows are as many as the sample has, the
    # model may have moved as far as a fit would move it.
    rate = min(1.0, np.sqrt(n_new / n_old))
    other = moved(
        best[1], wanted.take(visited), rng, n_epochs=n_epochs, rate=float(rate), n_threads=n_threads
    )
    return best[1] if other is best[1] else min(best, judged(other), key=_value)[1]


def _value(judged: tuple[float, KernelExpansion]) -> float:
    return judged[0]
