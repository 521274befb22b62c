"""metric="linear": a projection learnt together with the vectors that lie in its image.

Candidates race on rows that are held out: all of them are trained for a few batches, the better half for twice as many,
until one is left. First the dimensions of the image and the scale of the features race, then the number of vectors and
how hard the map is held. The winner is trained on all rows, and its coefficients are solved for exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ...budget import max_vectors_for
from ...errors import BudgetError
from ...expansion import KernelExpansion
from ...kernels import RBF
from ...projection import Projection
from ...refinement import fit_coefficients, kernel_blocks
from ...refinement.projection import (
    BATCH_ROWS,
    ProjectedModel,
    Terms,
    first_projection,
    gaussian,
    image,
    refine_projection,
)
from ...rows import Array, Rows, scale_columns
from ...training import Trained, TrainingSet, hold_out
from ...words import count
from ..base import Run
from .choice import PATH_FIELDS

# Dimensions of the image that are tried, as far as there are features.
RANKS = (2, 4, 8, 16, 32, 64)
# Vectors for each class (or for a target) that are tried where no limit is given.
VECTORS_A_CLASS = (4, 10, 30)
# With a limit in bytes alone, low ranks would leave room for more vectors than are of use.
MOST_A_CLASS = 100
# Factors on the squares of the map; the norm of the function is held by a small fixed one.
DECAYS = (1e-3, 3e-2)
PENALTY = 1e-6
# Rows the race is run on, the share of them that is held out, and the batches of its first round.
RACE_ROWS, HELD_OUT, FIRST_STEPS = 10_000, 0.2, 250
# With fewer rows than this none are held out.
FEWEST_TO_HOLD_OUT = 10
# Batches, and at least passes over the rows, of the last training.
LAST_STEPS, LAST_EPOCHS = 4_000, 20
# Iterations of L-BFGS for the coefficients at the end.
LAST_ITERATIONS = 100


@dataclass(frozen=True)
class Candidate:
    """What is tried: dimensions of the image, vectors, how hard the map is held, and the scale of the features."""

    rank: int
    n_vectors: int
    decay: float = DECAYS[0]
    own_scale: bool = True  # each feature divided by its own spread, or all by one

    def __str__(self) -> str:
        scale = "features by their own scale" if self.own_scale else "features by one scale"
        return f"{count(self.n_vectors, 'vector')} in {self.rank} dimensions, decay {self.decay:g}, {scale}"


@dataclass(frozen=True)
class LinearFit:
    """What was found.

    Parameters
    ----------
    expansion : KernelExpansion
        In the units of the rows as they were given, for targets as they were given.
    chosen : Candidate
    outputs, rows : arrays of shape (n_held, k), (n_held,)
        Outputs on held-out rows, and their numbers.
    table : list of (metric, vectors, error, standard error)
    n_steps : int
    """

    expansion: KernelExpansion
    chosen: Candidate
    outputs: Array
    rows: Array
    table: list[tuple[str, int, float, float]]
    n_steps: int


def sizes_for(
    n: int, d: int, k: int, rank: int, *, max_vectors: int | None, max_bytes: int | None, dtype: Any
) -> list[int]:
    """Numbers of vectors to try behind a projection to `rank` dimensions, within the limits; maybe none."""
    sizes = [max_vectors] if max_vectors is not None else [a * max(2, k) for a in VECTORS_A_CLASS]
    if max_bytes is not None:
        number = np.dtype(dtype).name
        fits = max_vectors_for(bytes=max_bytes, n_features=d, n_outputs=k, number=number, rank=rank)
        sizes = [min(fits, MOST_A_CLASS * max(2, k) if max_vectors is None else max_vectors)]
    return [size for size in dict.fromkeys(min(size, n) for size in sizes) if size >= 1]


def ranks_for(d: int, rank: int | None) -> list[int]:
    """Dimensions of the image to try."""
    if rank is not None:
        return [min(rank, d)]
    return [r for r in RANKS if r < d] + ([d] if d <= RANKS[-1] else [])


@dataclass(frozen=True)
class _Problem:
    """Scaled rows and what is wanted of them."""

    X: Rows
    centre: Array  # what is still to be taken off the rows
    middle: Array  # and what was in all
    Y: Array
    weights: Array
    groups: Array
    loss: Any
    penalty: float

    def part(self, rows: Array) -> _Problem:
        weights = self.weights[rows]
        return _Problem(
            self.X[rows],
            self.centre,
            self.middle,
            self.Y[rows],
            weights / weights.mean(),
            self.groups[rows],
            self.loss,
            self.penalty,
        )

    def train(
        self, candidate: Candidate, n_steps: int, rng: np.random.Generator, progress: Any = None
    ) -> ProjectedModel:
        start = first_projection(
            self.X, self.centre, self.groups, candidate.rank, candidate.n_vectors, self.Y.shape[1], rng
        )
        mean = (self.weights * self.Y).sum(axis=0) / self.weights.sum(axis=0)
        start = ProjectedModel(start.matrix, start.vectors, start.coef, mean)
        return refine_projection(
            start, self.X, self.centre, self.Y, self.weights, self.loss, Terms(self.penalty, candidate.decay),
            n_steps=n_steps, rng=rng, progress=progress,
        )  # fmt: skip

    def outputs(self, model: ProjectedModel) -> Array:
        Z = image(model.matrix, self.X.astype(np.float64), self.centre)
        out: Array = gaussian(Z, model.vectors) @ model.coef + model.intercept
        return out


def errors_of(outputs: Array, problem: _Problem, classify: bool) -> Array:  # (n,)
    """Mistake (0 or 1) or mean squared error of each row."""
    if not classify:
        return np.square(outputs - problem.Y).mean(axis=1)
    if outputs.shape[1] == 1:
        return (outputs[:, 0] > 0) != (problem.Y[:, 0] > 0)
    return outputs.argmax(axis=1) != problem.Y.argmax(axis=1)


@dataclass(frozen=True)
class LinearLimits:
    """What the user has fixed; None where it is chosen.

    Parameters
    ----------
    rank, max_vectors, max_bytes : int or None
    penalty : float
        Factor on the squared norm of the function.
    """

    rank: int | None = None
    max_vectors: int | None = None
    max_bytes: int | None = None
    penalty: float = PENALTY


class _Race:
    """Candidates compared on the same held-out rows, with the same random numbers."""

    def __init__(
        self,
        problems: dict[bool, _Problem],
        data: TrainingSet,
        rng: np.random.Generator,
        report: Callable[[str], None],
    ) -> None:
        train = held = np.arange(data.n)
        if data.n >= FEWEST_TO_HOLD_OUT:
            train, held = hold_out(data, HELD_OUT, rng)
        train = np.sort(rng.permutation(train)[:RACE_ROWS])
        self.held = np.sort(rng.permutation(held)[: int(RACE_ROWS * HELD_OUT)])
        self._inner = {own: problem.part(train) for own, problem in problems.items()}
        self._outer = {own: problem.part(self.held) for own, problem in problems.items()}
        self._classify, self._report = data.classify, report
        self._seed = int(rng.integers(2**31))
        weight = data.weight[self.held]
        self._share = weight / weight.sum()
        self.table: list[tuple[str, int, float, float]] = []

    def outputs(self, candidate: Candidate, n_steps: int) -> Array:
        """Outputs on the held-out rows after so many batches."""
        rng = np.random.default_rng(self._seed)
        model = self._inner[candidate.own_scale].train(candidate, n_steps, rng)
        return self._outer[candidate.own_scale].outputs(model)

    def _error(self, candidate: Candidate, n_steps: int) -> float:
        outer = self._outer[candidate.own_scale]
        each = errors_of(self.outputs(candidate, n_steps), outer, self._classify).astype(np.float64)
        error = float(self._share @ each)
        spread = float(np.sqrt(np.square(self._share) @ np.square(each - error)))
        self._report(f"{candidate}: error {error:.4g} after {n_steps} batches")
        self.table.append(("linear", candidate.n_vectors, error, spread))
        return error

    def winner(self, entrants: list[Candidate]) -> tuple[Candidate, int]:
        """The best in the end, of equals the one with fewer numbers, and the batches it had then."""
        left, n_steps = list(dict.fromkeys(entrants)), FIRST_STEPS
        while len(left) > 1:
            seen = [
                (self._error(candidate, n_steps), candidate.rank * candidate.n_vectors, number)
                for number, candidate in enumerate(left)
            ]
            best = [number for *_, number in sorted(seen)]
            left = (
                [left[number] for number in sorted(best[: (len(left) + 1) // 2])]
                if len(left) > 2
                else [left[best[0]]]
            )
            n_steps *= 2
        return left[0], n_steps


def train_linear(
    model: Any,
    data: TrainingSet,
    loss: Any,
    run: Run,
    spread: Array,
    target_scale: tuple[Any, Any] = (1.0, 0.0),
) -> tuple[Trained, LinearFit]:
    """Fit what the parameters of `CompactSVC` or `CompactSVR` ask for."""
    if (
        model.kernel != "rbf"
        or not model.refine
        or model.gamma is not None
        or model.max_latency_us is not None
    ):
        raise ValueError(
            "metric='linear' learns the widths of kernel='rbf' in the image of its projection: it goes with "
            "refine=True and gamma=None, and its budgets are max_vectors and max_bytes."
        )
    progress = run.progress
    progress.stage("search of settings and sizes")

    def report(text: str) -> None:
        run.say(text)
        if progress.step(text):  # a callback that asks to stop has nothing to keep here
            raise KeyboardInterrupt

    penalty = PENALTY if model.C is None else 1.0 / (2.0 * model.C * float(data.weight.sum()))
    limits = LinearLimits(model.rank, model.max_vectors, model.max_bytes, penalty)
    found = fit_linear(data, spread, loss, limits, run.rng, n_threads=run.n_threads, report=report)
    progress.stage("last refinement")
    unit, centre = target_scale
    f = found.expansion
    expansion = replace(f, coef=f.coef * unit, intercept=f.intercept * unit + centre)
    extras = {
        "C_": 1.0 / (2.0 * penalty * float(data.weight.sum())),
        "path_": np.array(found.table, dtype=PATH_FIELDS),
    }
    return Trained(expansion, None, found.n_steps, extras=extras), found


def fit_linear(
    data: TrainingSet,
    spread: Array,  # (d,)
    loss: Any,
    limits: LinearLimits,
    rng: np.random.Generator,
    *,
    n_threads: int,
    report: Callable[[str], None],
) -> LinearFit:
    """Race the candidates and train the winner on all rows."""
    n, d = data.X.shape
    dtype, k = data.X.dtype, data.Y.shape[1]
    scales = {True: spread, False: np.full(d, np.sqrt(np.square(spread).mean()))}
    problems = {own: _scaled(data, scale, loss, limits.penalty) for own, scale in scales.items()}
    sizes = {
        rank: found
        for rank in ranks_for(d, limits.rank)
        if (
            found := sizes_for(
                n, d, k, rank, max_vectors=limits.max_vectors, max_bytes=limits.max_bytes, dtype=dtype
            )
        )
    }
    if not sizes:
        raise BudgetError(
            f"max_bytes={limits.max_bytes} is too small for a projection of {count(d, 'feature')} and a vector in its "
            "image; raise it, or use metric='one'."
        )
    race = _Race(problems, data, rng, report)
    first = [
        Candidate(rank, found[len(found) // 2], own_scale=own)
        for rank, found in sizes.items()
        for own in scales
    ]
    shape, _ = race.winner(first)
    second = [replace(shape, n_vectors=size, decay=decay) for size in sizes[shape.rank] for decay in DECAYS]
    winner, raced = race.winner(second)
    outputs = race.outputs(winner, raced)
    n_steps = max(LAST_STEPS, LAST_EPOCHS * (n // BATCH_ROWS))
    problem, scale = problems[winner.own_scale], scales[winner.own_scale]
    model = problem.train(winner, n_steps, rng, progress=lambda epoch: report(f"pass {epoch} over all rows"))
    model = _solved(model, problem, n_threads)
    expansion = KernelExpansion(
        RBF(1.0), model.vectors.astype(dtype), model.coef.astype(dtype), model.intercept.astype(dtype),
        Projection((model.matrix / scale).astype(dtype), model.matrix @ problem.middle),
    )  # fmt: skip
    return LinearFit(expansion.compact(), winner, outputs, race.held, race.table, n_steps)


def _scaled(data: TrainingSet, scale: Array, loss: Any, penalty: float) -> _Problem:
    """The rows divided by a scale and, where they are dense, centred."""
    X = scale_columns(data.X.astype(np.float64), 1.0 / scale)
    middle = np.asarray((data.weight / data.weight.sum()) @ X).ravel()
    weights = np.repeat((data.weight / data.weight.mean())[:, None], data.Y.shape[1], axis=1)
    groups = data.codes if data.classify else np.zeros(data.n, dtype=np.intp)
    left = middle
    if not sparse.issparse(X):
        X, left = X - middle, np.zeros_like(middle)
    return _Problem(X.astype(np.float32), left, middle, data.Y, weights, groups, loss, penalty)


def _solved(model: ProjectedModel, problem: _Problem, n_threads: int) -> ProjectedModel:
    """The model with its coefficients and intercept solved for on all rows."""
    Z = image(model.matrix, problem.X.astype(np.float64), problem.centre)
    kernel = RBF(1.0)
    K = kernel(model.vectors, model.vectors)
    n, k = problem.Y.shape
    coef, intercept = fit_coefficients(
        kernel_blocks(kernel, Z, model.vectors, n_threads=n_threads), K, problem.Y, problem.weights / n, problem.loss,
        np.full(k, 2.0 * problem.penalty), model.coef, model.intercept, max_iter=LAST_ITERATIONS,
    )  # fmt: skip
    return ProjectedModel(model.matrix, model.vectors, coef, intercept)
