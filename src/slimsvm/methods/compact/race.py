"""A race of projected models: all are trained for a few batches, the better ones for twice as many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...refinement.projection import ProjectedModel, gaussian, image
from ...rows import Array
from ...words import count
from .compare import Paired
from .observations import blur_for
from .telling import reached

if TYPE_CHECKING:
    from .linear import LinearMaps

# Batches of the first round of a race, of its last, and the most where errors still fall by so many standard errors:
# so many, or this share of the last training, because what is ahead after few batches need not be after many.
FIRST_STEPS, RACE_STEPS, MOST_STEPS, FALLS, SHARE_RACED = 250, 1000, 2000, 1.0, 1 / 8
# A candidate is out when the best is better by this many standard errors; and of more than two only the better half
# stays.
OUT = 2.0
# Growing ends when this many sizes were not better than the best before them.
PATIENCE = 2


@dataclass(frozen=True)
class Shape:
    """What is raced: dimensions of the image, vectors, and the scale of the features."""

    rank: int
    n_vectors: int
    own_scale: bool = True  # each feature divided by its own spread, or all by one

    @property
    def numbers(self) -> int:
        """What the vectors take, which orders shapes by size."""
        return self.rank * self.n_vectors

    def __str__(self) -> str:
        scale = "own scales" if self.own_scale else "one scale"
        where = f"a projection to {count(self.rank, 'dimension')}"
        return f"{count(self.n_vectors, 'vector')}, {where}, {scale}"


@dataclass(frozen=True)
class LinearChoice:
    """What won the race.

    Parameters
    ----------
    shape : Shape
    n_steps : int
        Batches it had.
    model : ProjectedModel
        As it was then, for centred features in its scale.
    outputs : array of shape (n_held, k)
    falls : bool
        Whether errors still fell when the race ended, so that a longer training pays.
    """

    shape: Shape
    n_steps: int
    model: ProjectedModel
    outputs: Array
    falls: bool = True


class Race:
    """Shapes compared on the same held-out rows, with the same random numbers."""

    def __init__(self, maps: LinearMaps, train: Array, held: Array, seed: int) -> None:
        self._maps, self._seed, self._held_rows = maps, seed, held
        self._train, self._held = maps.data.take(train), maps.data.take(held)
        self._rows = {own: (maps.scaled(train, own), maps.scaled(held, own)) for own in maps.scales}
        self._paired = Paired(self._held.weight if maps.score is None else np.ones(1))
        self._done: dict[tuple[Shape, int], LinearChoice] = {}
        self._least = np.inf  # mistakes so far
        self.falls = True  # whether errors still fell when the last race ended

    def at(self, shape: Shape, n_steps: int) -> LinearChoice:
        """What a shape has reached after so many batches."""
        if (shape, n_steps) not in self._done:
            inner, outer = self._rows[shape.own_scale]
            model = self._maps.train(shape, inner, self._train, n_steps, np.random.default_rng(self._seed))
            Z = image(model.matrix, outer.X.astype(np.float64), outer.left)
            outputs = gaussian(Z, model.vectors) @ model.coef + model.intercept
            self._done[shape, n_steps] = LinearChoice(shape, n_steps, model, outputs)
            mistakes = self._held.mistakes(outputs)
            paired = Paired(self._held.weight)
            mean = paired.mean(mistakes)
            self._least = min(self._least, mean)
            found = reached(mean, classify=self._held.classify)
            self._maps.report(f"{shape}: {found} after {n_steps} batches")
            self._maps.table.append(("linear", shape.n_vectors, mean, paired.standard_error(mistakes)))
        return self._done[shape, n_steps]

    def errors(self, found: Sequence[LinearChoice]) -> list[Array]:
        """What these cost: errors with the blur that is right by now, or what the given score says."""
        score = self._maps.score
        if score is not None:
            return [np.array([-score(each.outputs, self._held_rows)]) for each in found]
        blur = blur_for(self._least, self._held.n)
        return [self._held.errors(each.outputs, blur) for each in found]

    def winner(self, entrants: Sequence[Shape]) -> tuple[Shape, int]:
        """The best in the end, and the batches it had then; of those it is not clearly better than, the smallest.

        The race goes on as long as the errors of the best clearly fall. The best of each scale stays to the end: in one
        scale for all, features that vary much are learnt first, and the others show late what they are worth.
        """
        paired, most = self._paired, max(MOST_STEPS, SHARE_RACED * self._maps.last_steps)
        left, n_steps = sorted(dict.fromkeys(entrants), key=lambda shape: shape.numbers), FIRST_STEPS
        before: Array | None = None
        while True:
            seen = self.errors([self.at(shape, n_steps) for shape in left])
            best = seen[paired.best(seen)]
            falls = before is None or paired.clearly_better(best, before, FALLS)
            if n_steps >= most or (n_steps >= RACE_STEPS and not falls):
                self.falls = before is None or paired.mean(best) < paired.mean(before)
                return left[paired.smallest_enough(seen, best)], n_steps
            ranking = sorted(range(len(left)), key=lambda at: paired.mean(seen[at]))
            own_best = [next(at for at in ranking if left[at].own_scale == own) for own in self._rows]
            half = [*own_best, *(at for at in ranking if at not in own_best)][: max(2, (len(left) + 1) // 2)]
            left = [
                left[at]
                for at in sorted(half)
                if at in own_best or not paired.clearly_better(best, seen[at], OUT)
            ]
            n_steps, before = 2 * n_steps, best

    def smallest(
        self, shape: Shape, n_steps: int, sizes: Sequence[int], allowed: int, others: Sequence[Race] = ()
    ) -> LinearChoice:
        """The smallest size that is enough; larger ones are tried as long as the error falls.

        Parameters
        ----------
        allowed : int
            It ends with the first size that is larger and that none of those up to this one comes near.
        others : sequence of Race
            With other rows held out: sizes differ by less than what shows on the rows of one race.
        """
        found: list[LinearChoice] = []
        errors: list[Array] = []
        for size in sizes:
            found.append(self.at(replace(shape, n_vectors=size), n_steps))
            errors.append(self._everywhere(found[-1], others))
            enough = self._enough(errors, others)
            if sizes[enough] > allowed or self._joined(others).best(errors) < len(found) - PATIENCE:
                break
        return found[enough]

    def smaller_of(self, a: LinearChoice, b: LinearChoice, others: Sequence[Race] = ()) -> LinearChoice:
        """Of two, after as many batches as the one that had more, the smallest that is enough."""
        n_steps = max(a.n_steps, b.n_steps)
        found = [self.at(each.shape, n_steps) for each in sorted((a, b), key=lambda each: each.shape.numbers)]
        return found[self._enough([self._everywhere(each, others) for each in found], others)]

    def _joined(self, others: Sequence[Race]) -> Paired:
        """Comparisons on the held-out rows of several races."""
        return Paired(np.concatenate([race._paired.weight for race in (self, *others)]))

    def _everywhere(self, choice: LinearChoice, others: Sequence[Race]) -> Array:
        """What a shape costs on the held-out rows of several races."""
        return np.concatenate(
            [race.errors([race.at(choice.shape, choice.n_steps)])[0] for race in (self, *others)]
        )

    def _enough(self, errors: Sequence[Array], others: Sequence[Race]) -> int:
        paired = self._joined(others)
        return paired.smallest_enough(errors, errors[paired.best(errors)])

    def best(self, shape: Shape, n_steps: int, sizes: Sequence[int]) -> LinearChoice:
        """The size with the least error."""
        found = [self.at(replace(shape, n_vectors=size), n_steps) for size in sizes]
        return found[self._paired.best(self.errors(found))]
