"""metric="linear": a projection learnt together with the vectors that lie in its image.

Candidates race on rows that are held out: all are trained for a few batches, those the best is not clearly better than
for twice as many, until one is left. First the dimensions of the image and the scale of the features race, then the
number of vectors. The winner's map, its vectors placed anew, is trained on all rows, and the
coefficients are solved for exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ...budget import max_vectors_for
from ...errors import BudgetError
from ...expansion import KernelExpansion
from ...kernels import RBF
from ...progress import tell
from ...projection import Projection
from ...refinement import fit_coefficients, kernel_blocks
from ...refinement.projection import (
    BATCH_ROWS,
    Problem,
    ProjectedModel,
    Terms,
    image,
    placed,
    principal_directions,
    refine_map_in_batches,
    refine_map_whole,
)
from ...rows import Array, Rows, block_slices, scale_columns
from ...words import count
from .choice import HeldOut, Table
from .observations import Observations
from .plan import LARGEST, MANY_ROWS, ladder
from .race import LinearChoice, Race, Shape
from .trial import Trial

# Rows farther than this many spreads from the others are trained on as if they were there: squares stay numbers in
# float32, and no kernel reaches so far.
FARTHEST = 1e18
# Dimensions of the image that are tried, as far as there are features; up to the last, as many as there are features
# too.
RANKS = (4, 8, 16, 32, 64)
# Vectors in the race of the dimensions, and for each output where that is more: with few, low dimensions win that bear
# no more of them.
RACED_VECTORS, RACED_EACH = 100, 10
# The most vectors for each output without a limit, where that is more than for other metrics: here they are small.
MOST_VECTORS = 100
# The squares of the map, in units of what they are at first, count as much as the loss of this many rows.
DECAY_ROWS = 100.0
# On half the squared norm of the function where C is not given, beside the sum of the losses: the decay does its work.
PENALTY = 0.02
# Rows that are raced with.
RACE_ROWS = 50_000
# One row in so many is held out, and at most so many: to look at them costs little beside training, and shapes that
# differ by half a point are told apart.
HELD_OUT, HELD_ROWS = 3, 20_000
# Batches, and at least passes over the rows, of the last training.
LAST_STEPS, LAST_EPOCHS = 6_000, 60
# Rows times features times dimensions up to which all rows are taken at once; batches that an iteration then counts as.
WHOLE_WORK, WHOLE_STEPS = 2e6, 10
# Iterations of L-BFGS for the coefficients at the end.
LAST_ITERATIONS = 100


@dataclass(frozen=True)
class LinearLimits:
    """What the user has fixed; None where it is chosen.

    Parameters
    ----------
    rank, max_vectors, max_bytes : int or None
    penalty : float
        On half the squared norm of the function, beside the sum of the losses: the inverse of C.
    number : str
        What numbers are stored as, for the bytes.
    """

    rank: int | None = None
    max_vectors: int | None = None
    max_bytes: int | None = None
    penalty: float = PENALTY
    number: str = "float32"

    def most(self, rank: int, n: int, d: int, k: int) -> int:
        """The most vectors behind a projection to `rank` dimensions, maybe none."""
        most = max(LARGEST, MOST_VECTORS * k) if self.max_vectors is None else self.max_vectors
        if self.max_bytes is not None:
            fits = max_vectors_for(
                bytes=self.max_bytes, n_features=d, n_outputs=k, number=self.number, n_widths=1, rank=rank
            )
            most = min(fits, most)
        return min(most, max(1, n // 2))  # a vector for each row would know them by heart

    @property
    def binding(self) -> bool:
        """Whether the model is to be the best within a limit, not the smallest that is nearly as good."""
        return self.max_vectors is not None or self.max_bytes is not None


@dataclass(frozen=True)
class _Scaled:
    """Rows in float32, divided by a scale and, where they are dense, centred."""

    X: Rows
    left: Array  # what is still to be taken off the rows


class LinearMaps:
    """Trains projected models on the rows of some observations."""

    def __init__(
        self,
        data: Observations,
        spread: Array,  # (d,)
        limits: LinearLimits,
        *,
        n_threads: int,
        report: Callable[[str], None],
        score: Callable[[Array, Array], float] | None = None,
    ) -> None:
        self.data, self.limits, self.n_threads, self.report, self.score = (
            data,
            limits,
            n_threads,
            report,
            score,
        )
        self.table: Table = []
        common = np.full(len(spread), np.sqrt(np.square(spread).mean()))
        self.scales = {True: spread, False: common} if np.ptp(spread) > 0 else {False: common}
        self.middle = np.asarray((data.weight / data.weight.sum()) @ data.X.astype(np.float64)).ravel()

    def scaled(self, rows: Array | None, own: bool) -> _Scaled:
        """These rows, or all, with each feature divided by its own spread or all by one."""
        X = self.data.X if rows is None else self.data.X[rows]
        scale = self.scales[own]
        if sparse.issparse(X):
            X = scale_columns(X.astype(np.float64), 1.0 / scale)
            np.clip(X.data, -FARTHEST, FARTHEST, out=X.data)
            return _Scaled(X.astype(np.float32), self.middle / scale)
        out = np.empty(X.shape, dtype=np.float32)
        for block in block_slices(len(X), 16 * X.shape[1]):
            out[block] = np.clip((X[block].astype(np.float64) - self.middle) / scale, -FARTHEST, FARTHEST)
        return _Scaled(out, np.zeros(X.shape[1]))

    def train(
        self,
        shape: Shape,
        scaled: _Scaled,
        data: Observations,
        n_steps: int,
        rng: np.random.Generator,
        matrix: Array | None = None,
        progress: Any = None,
    ) -> ProjectedModel:
        """A model of this shape for these rows, after so many batches; from this map, or from principal directions."""
        X, left = scaled.X, scaled.left
        if matrix is None:
            full = shape.rank == X.shape[1]
            matrix = np.eye(shape.rank) if full else principal_directions(X, left, shape.rank, rng)
        weights = np.repeat((data.weight / data.weight.mean())[:, None], data.Y.shape[1], axis=1)
        penalty = 0.5 * self.limits.penalty / data.n
        size = min(shape.n_vectors, data.n)
        start = placed(matrix, X, left, data.Y, weights, data.groups, size, penalty, rng)
        problem = Problem(X, left, data.Y, weights, data.loss, Terms(penalty, DECAY_ROWS / data.n))
        if self._whole(data, shape):
            return refine_map_whole(start, problem, max_iter=max(1, n_steps // WHOLE_STEPS))
        return refine_map_in_batches(
            start, problem, n_steps=n_steps, rng=rng, n_threads=self.n_threads, progress=progress
        )

    @staticmethod
    def _whole(data: Observations, shape: Shape) -> bool:
        """Whether all these rows are taken at once."""
        return data.n * data.X.shape[1] * shape.rank <= WHOLE_WORK

    def _shapes(self, limits: LinearLimits) -> list[Shape]:
        """Shapes to race first: without a limit with few vectors, with one with as many as it allows."""
        n, d, k = self._dimensions
        ranks = [r for r in RANKS if r < d] + ([d] if d <= RANKS[-1] else [])
        if limits.rank is not None:
            ranks = [min(limits.rank, d)]
        raced = n if limits.binding else max(RACED_VECTORS, RACED_EACH * k)
        return [
            Shape(rank, min(raced, most), own_scale=own)
            for rank in ranks
            if (most := limits.most(rank, n, d, k)) >= 1
            for own in self.scales
        ]

    @property
    def _dimensions(self) -> tuple[int, int, int]:
        return self.data.n, self.data.X.shape[1], self.data.Y.shape[1]

    @property
    def last_steps(self) -> int:
        """Batches of the last training."""
        return max(LAST_STEPS, LAST_EPOCHS * (self.data.n // BATCH_ROWS))

    def choose(self, rng: np.random.Generator, trial: Trial | None) -> tuple[LinearChoice, HeldOut]:
        """The best shape by errors on held-out rows, and its outputs on them.

        It is the smallest that is nearly as good as the best; where that exceeds a limit, the best within it.

        Parameters
        ----------
        trial : Trial or None
            Whose rows are held out, for comparisons with what was tried there.
        """
        limits = self.limits
        if limits.binding and not self._shapes(limits):
            raise BudgetError(
                f"max_bytes={limits.max_bytes} is too small for a projection of "
                f"{count(self.data.X.shape[1], 'feature')} and a vector in its image; raise it, or use metric='one'."
            )
        folds = self._parts(rng) if trial is None else self._more_rows(trial.folds, rng)
        seed = int(rng.integers(2**31))
        race, *others = [Race(self, train, held, seed) for train, held in folds]
        free = replace(limits, max_vectors=None, max_bytes=None)
        choice = self._raced(race, free, () if trial is not None else others)
        shape = choice.shape
        most = self._allowed(shape)
        if shape.n_vectors > most:
            # in other dimensions, or the same with fewer vectors
            within = self._raced(race, limits)
            fewer = replace(choice, shape=replace(shape, n_vectors=most))
            choice = race.smaller_of(within, fewer) if most else within
            shape = choice.shape
        else:
            # all rows bear more vectors than the part that was raced with
            more = int(shape.n_vectors * np.sqrt(self.data.n / len(folds[0][0])))
            choice = replace(choice, shape=replace(shape, n_vectors=min(more, most)))
        outputs = [choice.outputs]
        outputs += [other.at(shape, choice.n_steps).outputs for other in others]
        rows = np.concatenate([held for _, held in folds])
        choice = replace(choice, falls=race.falls)
        return choice, HeldOut(np.concatenate(outputs), rows, self.data.weight[rows])

    def _parts(self, rng: np.random.Generator) -> list[tuple[Array, Array]]:
        """Numbers of rows to race with, and of rows to hold out: of few rows all, in turn."""
        data = self.data
        folds = data.folds(HELD_OUT, rng)
        found = []
        for _, held in folds if data.n <= MANY_ROWS else folds[:1]:
            outer, inner = np.flatnonzero(held > 0), np.flatnonzero(held == 0)
            if not (len(outer) and len(inner)):
                return [(np.arange(data.n), np.arange(data.n))]
            inner = inner[data.take(inner).sample(RACE_ROWS, rng)]
            found.append((inner, outer[data.take(outer).sample(HELD_ROWS, rng)]))
        return found

    def _more_rows(
        self, folds: list[tuple[Array, Array]], rng: np.random.Generator
    ) -> list[tuple[Array, Array]]:
        """The same rows held out, and more rows to race with where there are more: a batch costs the same."""
        if len(folds) > 1:
            return folds
        ((_, held),) = folds
        left = np.setdiff1d(np.arange(self.data.n), held)
        return [(left[self.data.take(left).sample(RACE_ROWS, rng)], held)]

    def _raced(self, race: Race, limits: LinearLimits, others: Sequence[Race] = ()) -> LinearChoice:
        shapes = self._shapes(limits)
        shape, n_steps = race.winner(shapes)
        if limits.binding:
            most = limits.most(shape.rank, *self._dimensions)
            return race.best(shape, n_steps, [max(1, most // 2), most])
        choice = self._smallest(race, shape, n_steps, limits, others)
        fewer = choice.shape.n_vectors
        if self._allowed(choice.shape) >= fewer < shape.n_vectors:
            # what so many vectors want is not what the few want that are enough
            shapes = [replace(each, n_vectors=min(fewer, each.n_vectors)) for each in shapes]
            again, n_steps = race.winner(shapes)
            if replace(again, n_vectors=fewer) != choice.shape:
                other = self._smallest(race, again, n_steps, limits, others)
                choice = race.smaller_of(choice, other, others)
        return choice

    def _allowed(self, shape: Shape) -> int:
        """The most vectors that the limits allow in the dimensions of a shape."""
        return self.limits.most(shape.rank, *self._dimensions)

    def _smallest(
        self, race: Race, shape: Shape, n_steps: int, limits: LinearLimits, others: Sequence[Race]
    ) -> LinearChoice:
        """The smallest number of vectors that is enough in the dimensions of a shape."""
        return race.smallest(shape, n_steps, self._sizes(shape, limits), self._allowed(shape), others)

    def _sizes(self, shape: Shape, limits: LinearLimits) -> list[int]:
        """Numbers of vectors to try with the dimensions of a shape."""
        most = limits.most(shape.rank, *self._dimensions)
        least = min(most, max(2, self.data.Y.shape[1]))
        return [size for size in ladder(most, halves=False) if size >= least]

    def last(self, choice: LinearChoice, rng: np.random.Generator) -> tuple[KernelExpansion, int]:
        """The expansion trained on all rows, from the map that was learnt in the race."""
        shape, data = choice.shape, self.data
        scaled = self.scaled(None, shape.own_scale)
        # few rows that are all taken at once are learnt by heart where the race has seen that longer does not pay
        n_steps = choice.n_steps if self._whole(data, shape) and not choice.falls else self.last_steps
        model = self.train(
            shape, scaled, data, n_steps, rng, choice.model.matrix,
            progress=self._told,
        )  # fmt: skip
        return self.expansion(self.solved(model, scaled), shape), n_steps

    def _told(self, share: float) -> None:
        tell("training in batches", round(100 * share), 100, aloud=False)
        self.report(f"last refinement: {share:.0%}")

    def solved(self, model: ProjectedModel, scaled: _Scaled) -> ProjectedModel:
        """The model with its coefficients and intercept solved for on all rows."""
        data, kernel = self.data, RBF(1.0)
        n, k = data.Y.shape
        Z = np.empty((n, model.matrix.shape[0]), dtype=np.float32)
        for block in block_slices(n, 16 * scaled.X.shape[1]):
            Z[block] = image(model.matrix, scaled.X[block].astype(np.float64), scaled.left)
        weights = np.repeat((data.weight / data.weight.sum())[:, None], k, axis=1)
        V = model.vectors.astype(np.float32)
        coef, intercept = fit_coefficients(
            kernel_blocks(kernel, Z, V, dtype=np.float32, n_threads=self.n_threads),
            kernel(model.vectors, model.vectors), data.Y, weights, data.loss, np.full(k, self.limits.penalty / n),
            model.coef, model.intercept, max_iter=LAST_ITERATIONS,
        )  # fmt: skip
        return replace(model, coef=coef, intercept=intercept)

    def expansion(self, model: ProjectedModel, shape: Shape) -> KernelExpansion:
        """The model in the units of the rows as they were given."""
        dtype, matrix = self.data.X.dtype, model.matrix / self.scales[shape.own_scale]
        projection = Projection(matrix.astype(dtype), matrix @ self.middle)
        vectors, coef, intercept = (
            part.astype(dtype) for part in (model.vectors, model.coef, model.intercept)
        )
        return KernelExpansion(RBF(1.0), vectors, coef, intercept, projection).compact()
