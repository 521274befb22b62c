"""The machine whose vectors move: RBF expansions refined as they grow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ...kernels import RBF
from ...losses import Squared
from ...progress import tell
from ...refinement import (
    RbfModel,
    SmoothLoss,
    fit_coefficients,
    kernel_blocks,
    refine_in_batches,
    refine_jointly,
)
from ...refinement.joint import CORE_WORK
from ...refinement.starts import cluster_centres, constant, grow, without_weakest
from ...rows import Array
from .likelihood import likely_widths
from .machines import LIKELIHOOD, First, Setting, first_grids
from .observations import Observations
from .ridge import column_places, ridge_search

# Iterations of L-BFGS at each size on the way, by what is learnt, and at the last size.
ITERATIONS = {"fixed": 60, "one": 80, "per_feature": 150}
CLUSTERED_ITERATIONS, LAST_ITERATIONS = 120, 300
# The learnt widths of a model with fewer vectors than this are extreme, and a bad start for a larger one.
FRESH_SIZE = 16
# Above this size, cluster centres are the better start than a smaller model with vectors added.
CLUSTERED_SIZE = 32
# The last fit goes on for at most this much work n m d iterations, and this many of them, where that is more.
LAST_WORK, MOST_ITERATIONS = 2e8, 2000
# Cluster centres and random rows that small problems start from, each.
SMALL_STARTS = 4
# In small problems the weakest vectors are put where the loss is largest: one, then two, up to this many of them.
MOST_PLACED = 8
# Relative decrease at which a fit on the way, and the last one, ends.
TOLERANCE, LAST_TOLERANCE = 1e-5, 1e-7
# Products n m d above which fewer iterations must do on the way, and above which random batches get further than
# L-BFGS in the same time.
LARGE_WORK, BATCH_WORK = 1e9, 5e9
EPOCHS = 40
# Iterations of L-BFGS for the coefficients alone, after the batches.
COEFFICIENT_ITERATIONS = 40
# Features that count less than this in the kernel do not count in the distances of clusters either.
SMALLEST_UNIT = 1e-6
# Rows from which cluster centres and their first coefficients are found.
ROWS_AT_FIRST = 10_000


class MovedVectors:
    """RBF expansions whose vectors (and widths) are learnt; the rows must be dense and scaled."""

    has_width = True

    def __init__(
        self,
        data: Observations,
        shapes: Sequence[Array],
        n_threads: int = 1,
        likely: dict[bytes, Array] | None = None,
    ) -> None:
        """`shapes` are scalings: the width of each feature relative to the setting's, (d,).

        `likely` remembers the widths of maximum likelihood by the rows they were found on.
        """
        self.data, self.shapes, self.n_threads = data, shapes, n_threads
        self._likely: dict[bytes, Array] = {} if likely is None else likely
        # the coefficients are eliminated for targets; for noisy classes that changed nothing
        self.eliminate = isinstance(data.loss, Squared) and not data.classify

    def on(self, rows: Array) -> MovedVectors:
        """The same machine for these rows alone."""
        return MovedVectors(self.data.take(rows), self.shapes, self.n_threads)

    def with_loss(self, loss: SmoothLoss) -> MovedVectors:
        """The machine that minimises this loss."""
        return MovedVectors(replace(self.data, loss=loss), self.shapes, self.n_threads, self._likely)

    def first(self, width: float | None, penalty: float | None, rng: np.random.Generator) -> list[First]:
        """For each scaling what ridge regression likes; what is given stays."""
        Z = self.data.X[column_places(self.data.n, rng)]
        found = []
        for shape in self.shapes:

            def columns(width: float, shape: Array = shape) -> tuple[Array, Array]:
                kernel = RBF(tuple((width * shape).tolist()))
                return kernel(Z, Z), kernel(Z, self.data.X)

            found.append(First(*ridge_search(self.data, columns, *first_grids(width, penalty, len(shape)))))
        return found

    def _log_widths(self, setting: Setting, rows: Array) -> Array:  # (d,)
        """Widths that a model for these rows begins with."""
        if setting.scaling != LIKELIHOOD:
            return np.log(self.shapes[setting.scaling]) + np.log(setting.width)
        key = rows.tobytes()
        if key not in self._likely:
            part = self.data.take(rows)
            start = np.log(self.shapes[0]) + np.log(setting.width)
            self._likely[key] = likely_widths(part.X, part.Y, part.weight, start)
        return self._likely[key]

    def can_try(self, size: int) -> bool:
        """Whether a model of this size is trained soon enough to be tried on folds."""
        return size * self.data.X.size <= BATCH_WORK

    def _grown(
        self,
        setting: Setting,
        model: RbfModel,
        first: RbfModel,
        X: Array,
        Y: Array,
        weights: Array,
        size: int,
        rng: np.random.Generator,
    ) -> RbfModel:
        """The model with vectors added, or a fresh one where its learnt widths would be a bad start."""
        if setting.widths != "fixed" and model.n_vectors < FRESH_SIZE:
            model = first
        return grow(model, X, Y, weights, self.data.loss, min(size, len(X)), rng)

    def path(
        self, setting: Setting, weight: Array, sizes: Sequence[int], rng: np.random.Generator
    ) -> Iterator[RbfModel]:
        """Models of these sizes, each grown from the one before."""
        rows = np.flatnonzero(weight > 0)
        X, Y, weights = self._part(rows, weight)
        model = first = constant(Y, weights, self._log_widths(setting, rows))
        penalty = np.full(Y.shape[1], setting.penalty)
        for size in sizes:
            if setting.widths != "per_feature" and min(size, len(X)) >= CLUSTERED_SIZE:
                model = self._clustered(setting, rows, weight[rows], min(size, len(X)), rng)
            else:
                model = self._grown(setting, model, first, X, Y, weights, size, rng)
            model, _, _ = refine_jointly(
                model, X, Y, weights, self.data.loss, penalty, widths=setting.widths, eliminate=self.eliminate,
                max_iter=_iterations(setting, model, len(X)), tol=TOLERANCE,
                n_threads=self.n_threads,
            )  # fmt: skip
            yield model

    def _part(self, rows: Array, weight: Array) -> tuple[Array, Array, Array]:
        every = len(rows) == self.data.n
        X, Y = (self.data.X, self.data.Y) if every else (self.data.X[rows], self.data.Y[rows])
        return X, Y, np.repeat(weight[rows, None], Y.shape[1], axis=1)

    def outputs(self, model: RbfModel, rows: Array) -> Array:
        """Outputs of the model at these rows, of shape (rows, k)."""
        return model.outputs(self.data.X[rows], n_threads=self.n_threads)

    def last(
        self,
        setting: Setting,
        sizes: Sequence[int],
        rng: np.random.Generator,
        report: Callable[[str], None],
        *,
        to_the_end: bool,
    ) -> Iterator[tuple[RbfModel, int]]:
        """Models for all rows: as the folds trained them; then from other starts, and the best one to the end."""
        data = self.data
        X, Y, weights = self._part(np.arange(data.n), data.weight)
        penalty = np.full(Y.shape[1], setting.penalty)
        size = min(sizes[-1], data.n)
        work = data.n * size * X.shape[1]
        if work > BATCH_WORK:
            yield from self._in_batches(setting, size, rng, report)
            return

        def refined(model: RbfModel, max_iter: int, tol: float) -> tuple[RbfModel, float, int]:
            return refine_jointly(
                model, X, Y, weights, data.loss, penalty, widths=setting.widths, eliminate=self.eliminate,
                max_iter=max_iter, tol=tol, n_threads=self.n_threads,
            )  # fmt: skip

        every = np.arange(data.n)
        best = first = constant(Y, weights, self._log_widths(setting, every))
        value = np.inf
        last = max(LAST_ITERATIONS, min(MOST_ITERATIONS, int(LAST_WORK / work)))
        if size < CLUSTERED_SIZE or setting.widths == "per_feature":
            for step in sizes:
                best = self._grown(setting, best, first, X, Y, weights, min(step, size), rng)
                best, value, n_iter = refined(best, _iterations(setting, best, len(X)), TOLERANCE)
            yield best, n_iter
        elif not to_the_end:
            best = self._clustered(setting, every, data.weight, size, rng)
            best, value, n_iter = refined(best, _iterations(setting, best, len(X)), TOLERANCE)
            yield best, n_iter
        if not to_the_end:
            return
        if setting.widths != "per_feature" and size > 1:
            small = last == MOST_ITERATIONS
            moves = ((True, False) if work <= CORE_WORK else (True,)) * (SMALL_STARTS if small else 1)
            placed = range(1, min(size, MOST_PLACED + 1) if small else 0)
            starts: list[Callable[[], RbfModel]] = [
                *(partial(self._clustered, setting, every, data.weight, size, rng, move=m) for m in moves),
                *(
                    lambda n=n: grow(without_weakest(best, size - n), X, Y, weights, data.loss, size, rng)
                    for n in placed
                ),
            ]
            for start in starts:
                other, reached, n_iter = refined(start(), LAST_ITERATIONS, TOLERANCE)
                if reached < value:
                    value, best = reached, other
                    yield best, n_iter
        best, _, n_iter = refined(best, last, LAST_TOLERANCE)
        yield best, n_iter

    def _clustered(
        self,
        setting: Setting,
        rows: Array,
        weight: Array,
        size: int,
        rng: np.random.Generator,
        *,
        move: bool = True,
    ) -> RbfModel:
        """Cluster centres of these rows, or random ones of them, with coefficients by ridge regression."""
        data = self.data if len(rows) == self.data.n else self.data.take(rows)
        X, Y = data.X, data.Y
        some = data.sample(ROWS_AT_FIRST, rng)
        # clusters in the units of the kernel
        log_widths = self._log_widths(setting, rows)
        unit = np.exp(0.5 * (log_widths - log_widths.max()))
        unit = np.maximum(unit, SMALLEST_UNIT)
        Z = cluster_centres(X[some] * unit, data.groups[some], size, rng, move=move) / unit
        kernel = RBF(tuple(np.exp(log_widths).tolist()))
        A = np.column_stack([kernel(X[some], Z), np.ones(len(some))])
        ridge = np.zeros((len(Z) + 1, len(Z) + 1))
        ridge[:-1, :-1] = setting.penalty * kernel(Z, Z)
        normal = (A * weight[some, None]).T @ A + ridge
        normal[np.diag_indices(len(normal))] += 1e-8 * np.trace(normal) / len(normal)
        solved = np.linalg.solve(normal, (A * weight[some, None]).T @ Y[some])
        return RbfModel(Z, solved[:-1], solved[-1], log_widths)

    def _in_batches(
        self, setting: Setting, size: int, rng: np.random.Generator, report: Callable[[str], None]
    ) -> Iterator[tuple[RbfModel, int]]:
        data = self.data
        X, Y, weights = self._part(np.arange(data.n), data.weight)
        model = self._clustered(setting, np.arange(data.n), data.weight, size, rng)
        yield model, 0
        model = refine_in_batches(
            model, X, Y, weights, data.loss, np.full(Y.shape[1], setting.penalty), widths=setting.widths,
            n_epochs=EPOCHS, rng=rng, n_threads=self.n_threads,
            progress=partial(_epoch_told, report),
        )  # fmt: skip
        yield model, EPOCHS
        # the coefficients once more, on all rows at once
        X32, Z32 = X.astype(np.float32), model.vectors.astype(np.float32)
        blocks = kernel_blocks(model.kernel, X32, Z32, dtype=np.float32, n_threads=self.n_threads)
        coef, intercept = fit_coefficients(
            blocks, model.kernel(model.vectors, model.vectors), Y, weights, data.loss,
            np.full(Y.shape[1], setting.penalty), model.coef, model.intercept, max_iter=COEFFICIENT_ITERATIONS,
        )  # fmt: skip
        report("coefficients fitted on all rows")
        yield replace(model, coef=coef, intercept=intercept), EPOCHS


def _epoch_told(report: Callable[[str], None], epoch: int) -> None:
    tell("training in batches", epoch, EPOCHS, aloud=False)
    report(f"epoch {epoch} of {EPOCHS}")


def _iterations(setting: Setting, model: RbfModel, n_rows: int) -> int:
    work = n_rows * model.vectors.size
    if setting.widths != "per_feature" and model.n_vectors >= CLUSTERED_SIZE and work <= LARGE_WORK:
        return CLUSTERED_ITERATIONS
    return ITERATIONS["fixed" if work > CORE_WORK else setting.widths]
