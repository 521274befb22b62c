"""Machines that train models of growing size for one setting: vectors moved, or rows selected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from ..kernels import RBF, Kernel, Precomputed
from ..refinement import RbfModel, fit_coefficients, kernel_blocks, refine_in_batches, refine_jointly
from ..refinement.joint import CORE_WORK
from ..refinement.starts import cluster_centres, constant, grow, without_weakest
from ..rows import Array, Rows
from .observations import Observations
from .ridge import PENALTIES, WIDTHS, column_places, ridge_search

# Iterations of L-BFGS at each size on the way, by what is learnt, and at the last size.
ITERATIONS = {"fixed": 60, "one": 80, "per_feature": 150}
CLUSTERED_ITERATIONS, LAST_ITERATIONS = 120, 300
# The same where nothing but coefficients is fitted, which is convex.
SELECTED_ITERATIONS = 20
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
EPOCHS = 20
# Iterations of L-BFGS for the coefficients alone, after the batches.
COEFFICIENT_ITERATIONS = 40
# Rows from which cluster centres and their first coefficients are found.
ROWS_AT_FIRST = 10_000


@dataclass(frozen=True)
class Setting:
    """What the search chooses besides the size.

    Parameters
    ----------
    width : float
        Gamma on the scaled inputs; not used by machines without one.
    penalty : float
        The inverse of C.
    widths : {"fixed", "one", "per_feature"}
        Which widths are learnt.
    """

    width: float
    penalty: float
    widths: str = "fixed"


class Model(Protocol):
    """A trained model."""

    @property
    def n_vectors(self) -> int:
        """Number of vectors."""
        ...


class Machine(Protocol):
    """Trains on the rows of some observations, weighted; `weight` is zero for rows left out."""

    data: Observations
    has_width: bool

    def on(self, rows: Array) -> Machine:
        """The same machine for these rows alone."""
        ...

    def first(
        self, width: float | None, penalty: float | None, rng: np.random.Generator
    ) -> tuple[int, float, float, float]:
        """Number of the best scaling, a first width and penalty (what is given stays), and their error."""
        ...

    def scaled(self, number: int) -> Machine:
        """The machine with the scaling of this number."""
        ...

    def path(
        self, setting: Setting, weight: Array, sizes: Sequence[int], rng: np.random.Generator
    ) -> Iterator[Model]:
        """Models of these sizes, each grown from the one before."""
        ...

    def outputs(self, model: Any, rows: Array) -> Array:
        """Outputs of the model at these rows, of shape (rows, k)."""
        ...

    def last(
        self,
        setting: Setting,
        sizes: Sequence[int],
        rng: np.random.Generator,
        report: Callable[[str], None],
        *,
        to_the_end: bool,
    ) -> Iterator[tuple[Model, int]]:
        """Models for all rows, of the last of the sizes, each better than the one before; with iterations.

        Without `to_the_end` the last is trained as those of the same size were in the folds.
        """
        ...


class MovedVectors:
    """RBF expansions whose vectors (and widths) are learnt; the rows must be dense and scaled."""

    has_width = True

    def __init__(self, data: Observations, shapes: Sequence[Array], n_threads: int = 1) -> None:
        """`shapes` are scalings to choose from: the width of each feature relative to the setting's, (d,)."""
        self.data, self.shapes, self.n_threads = data, shapes, n_threads
        self.log_shape = np.log(shapes[0])

    def on(self, rows: Array) -> MovedVectors:
        """The same machine for these rows alone."""
        return MovedVectors(self.data.take(rows), self.shapes, self.n_threads)

    def scaled(self, number: int) -> MovedVectors:
        """The machine with the scaling of this number."""
        return MovedVectors(self.data, [self.shapes[number]], self.n_threads)

    def first(
        self, width: float | None, penalty: float | None, rng: np.random.Generator
    ) -> tuple[int, float, float, float]:
        """Number of the best scaling, a first width and penalty by ridge regression, and its error."""
        Z = self.data.X[column_places(self.data.n, rng)]
        found: list[tuple[float, int, float, float, float]] = []
        for number, shape in enumerate(self.shapes):

            def columns(width: float, shape: Array = shape) -> tuple[Array, Array]:
                kernel = RBF(tuple((width * shape).tolist()))
                return kernel(Z, Z), kernel(Z, self.data.X)

            error, *best = ridge_search(self.data, columns, *_grids(width, penalty, len(shape)))
            found.append((error, number, best[0], best[1], best[2]))
        return min(found)[1:]

    def _start(self, setting: Setting, Y: Array, weights: Array) -> RbfModel:
        return constant(Y, weights, self.log_shape + np.log(setting.width))

    def _grown(
        self,
        setting: Setting,
        model: RbfModel,
        X: Array,
        Y: Array,
        weights: Array,
        size: int,
        rng: np.random.Generator,
    ) -> RbfModel:
        """The model with vectors added, or a fresh one where its learnt widths would be a bad start."""
        if setting.widths != "fixed" and model.n_vectors < FRESH_SIZE:
            model = self._start(setting, Y, weights)
        return grow(model, X, Y, weights, self.data.loss, min(size, len(X)), rng)

    def path(
        self, setting: Setting, weight: Array, sizes: Sequence[int], rng: np.random.Generator
    ) -> Iterator[RbfModel]:
        """Models of these sizes, each grown from the one before."""
        rows = np.flatnonzero(weight > 0)
        X, Y, weights = self._part(rows, weight)
        model = self._start(setting, Y, weights)
        penalty = np.full(Y.shape[1], setting.penalty)
        for size in sizes:
            if setting.widths != "per_feature" and min(size, len(X)) >= CLUSTERED_SIZE:
                model = self._clustered(setting, rows, weight[rows], min(size, len(X)), rng)
            else:
                model = self._grown(setting, model, X, Y, weights, size, rng)
            model, _, _ = refine_jointly(
                model, X, Y, weights, self.data.loss, penalty, widths=setting.widths,
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
        """Models for all rows: grown, from cluster centres if that is better, and the better one to the end."""
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
                model, X, Y, weights, data.loss, penalty, widths=setting.widths, max_iter=max_iter, tol=tol,
                n_threads=self.n_threads,
            )  # fmt: skip

        value, best = np.inf, self._start(setting, Y, weights)
        last = max(LAST_ITERATIONS, min(MOST_ITERATIONS, int(LAST_WORK / work)))
        every = np.arange(data.n)
        if size < CLUSTERED_SIZE or setting.widths == "per_feature":
            for step in sizes:
                best = self._grown(setting, best, X, Y, weights, min(step, size), rng)
                best, value, n_iter = refined(best, _iterations(setting, best, len(X)), TOLERANCE)
            yield best, n_iter
        elif not to_the_end:
            best = self._clustered(setting, every, data.weight, size, rng)
            best, value, n_iter = refined(best, _iterations(setting, best, len(X)), TOLERANCE)
            yield best, n_iter
        if not to_the_end:
            return
        if setting.widths != "per_feature" and size > 1:
            moves = (True, False) if work <= CORE_WORK else (True,)
            for move in moves * (SMALL_STARTS if last == MOST_ITERATIONS else 1):
                other = self._clustered(setting, every, data.weight, size, rng, move=move)
                other, reached, n_iter = refined(other, LAST_ITERATIONS, TOLERANCE)
                if reached < value:
                    value, best = reached, other
                    yield best, n_iter
            for n_placed in range(1, min(size, MOST_PLACED + 1) if last == MOST_ITERATIONS else 0):
                strong = without_weakest(best, size - n_placed)
                other = grow(strong, X, Y, weights, data.loss, size, rng)
                other, reached, n_iter = refined(other, LAST_ITERATIONS, TOLERANCE)
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
        unit = np.exp(0.5 * self.log_shape)
        Z = cluster_centres(X[some] * unit, data.groups[some], size, rng, move=move) / unit
        log_widths = self.log_shape + np.log(setting.width)
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
            progress=lambda epoch: report(f"epoch {epoch} of {EPOCHS}"),
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


def _iterations(setting: Setting, model: RbfModel, n_rows: int) -> int:
    work = n_rows * model.vectors.size
    if setting.widths != "per_feature" and model.n_vectors >= CLUSTERED_SIZE and work <= LARGE_WORK:
        return CLUSTERED_ITERATIONS
    return ITERATIONS["fixed" if work > CORE_WORK else setting.widths]


def _grids(width: float | None, penalty: float | None, n_features: int) -> tuple[Array, Array]:
    return (
        WIDTHS / n_features if width is None else np.array([width]),
        PENALTIES if penalty is None else np.array([penalty]),
    )


def _whole(K: Array) -> Iterator[tuple[slice, Array]]:
    yield slice(0, len(K)), K


@dataclass(frozen=True)
class RowModel:
    """An expansion over training rows."""

    rows: Array  # (m,)
    coef: Array  # (m, k)
    intercept: Array  # (k,)
    kernel: Kernel

    @property
    def n_vectors(self) -> int:
        """Number of vectors."""
        return len(self.rows)


class SelectedRows:
    """Expansions over chosen training rows, for any kernel; nothing but coefficients is learnt."""

    def __init__(
        self,
        data: Observations,
        kernel_of: Callable[[float], Kernel],
        *,
        has_width: bool,
        n_features: int,
        n_threads: int = 1,
    ) -> None:
        """`kernel_of` gives the kernel for a width; `n_features` are the features it sees."""
        self.data, self.kernel_of, self.n_threads = data, kernel_of, n_threads
        self.has_width, self.n_features = has_width, n_features

    def on(self, rows: Array) -> SelectedRows:
        """The same machine for these rows alone."""
        data = self.data.take(rows)
        if isinstance(self.kernel_of(1.0), Precomputed):
            data = replace(data, X=data.X[:, rows])
        return SelectedRows(
            data, self.kernel_of, has_width=self.has_width, n_features=self.n_features,
            n_threads=self.n_threads,
        )  # fmt: skip

    def first(
        self, width: float | None, penalty: float | None, rng: np.random.Generator
    ) -> tuple[int, float, float, float]:
        """Zero, a first width and penalty by ridge regression (what is given stays), and its error."""
        places, every = column_places(self.data.n, rng), np.arange(self.data.n)

        def columns(width: float) -> tuple[Array, Array]:
            kernel = self.kernel_of(width)
            return self._block(kernel, places, places), self._block(kernel, places, every)

        if not self.has_width:
            width = 1.0
        return 0, *ridge_search(self.data, columns, *_grids(width, penalty, self.n_features))[1:]

    def scaled(self, number: int) -> SelectedRows:
        """The machine itself: there is one scaling."""
        return self

    def _block(self, kernel: Kernel, rows: Array, columns: Array) -> Array:
        X: Rows = self.data.X
        if isinstance(kernel, Precomputed):
            block = X[rows][:, columns]
            return np.asarray(block.toarray() if hasattr(block, "toarray") else block, dtype=np.float64)
        return kernel(X[rows], X[columns], n_threads=self.n_threads).astype(np.float64, copy=False)

    def path(
        self, setting: Setting, weight: Array, sizes: Sequence[int], rng: np.random.Generator
    ) -> Iterator[RowModel]:
        """Models of these sizes, each grown from the one before."""
        yield from (model for model, _ in self._grown(setting, weight, sizes, rng, SELECTED_ITERATIONS))

    def _grown(
        self, setting: Setting, weight: Array, sizes: Sequence[int], rng: np.random.Generator, max_iter: int
    ) -> Iterator[tuple[RowModel, int]]:
        kernel, data = self.kernel_of(setting.width), self.data
        rows = np.flatnonzero(weight > 0)
        Y = data.Y[rows]
        weights = np.repeat(weight[rows, None], Y.shape[1], axis=1)
        penalty = np.full(Y.shape[1], setting.penalty)
        chosen = np.zeros(0, dtype=np.intp)
        K = np.zeros((len(rows), 0))
        coef, intercept = np.zeros((0, Y.shape[1])), (weights * Y).sum(axis=0) / weights.sum(axis=0)
        for size in sizes:
            n_new = min(size, len(rows)) - len(chosen)
            if n_new > 0:
                slope = weights * data.loss.derivative(Y, K @ coef + intercept)
                new = self._pursue(kernel, rows, slope, chosen, n_new, rng)
                chosen = np.concatenate([chosen, new])
                K = np.hstack([K, self._block(kernel, rows, new)])
                coef = np.vstack([coef, np.zeros((len(new), Y.shape[1]))])
            coef, intercept = fit_coefficients(
                partial(_whole, K), self._block(kernel, chosen, chosen), Y, weights, data.loss, penalty,
                coef, intercept, max_iter=max_iter,
            )  # fmt: skip
            yield RowModel(chosen, coef, intercept, kernel), max_iter

    def _pursue(
        self, kernel: Kernel, rows: Array, slope: Array, chosen: Array, n_new: int, rng: np.random.Generator
    ) -> Array:
        """Rows along whose kernel functions, made of norm one, the loss falls fastest."""
        places = np.setdiff1d(rows, chosen)
        places = rng.permutation(places)[: max(256, 4 * n_new)]
        gradient = self._block(kernel, places, rows) @ slope
        among = self._block(kernel, places, places)
        floor = 1e-8 * max(float(np.abs(among).max()), 1e-300)  # a matrix that is no kernel may have less
        size = np.sqrt(np.maximum(np.diagonal(among), floor))
        gradient, among = gradient / size[:, None], among / np.outer(size, size)
        new: list[int] = []
        for _ in range(min(n_new, len(places))):
            best = int(np.square(gradient).sum(axis=1).argmax())
            new.append(best)
            gradient = gradient - np.outer(among[:, best], gradient[best])
            gradient[new] = 0.0
        return places[new]

    def outputs(self, model: RowModel, rows: Array) -> Array:
        """Outputs of the model at these rows, of shape (rows, k)."""
        return self._block(model.kernel, rows, model.rows) @ model.coef + model.intercept

    def last(
        self,
        setting: Setting,
        sizes: Sequence[int],
        rng: np.random.Generator,
        report: Callable[[str], None],
        *,
        to_the_end: bool,
    ) -> Iterator[tuple[RowModel, int]]:
        """Models for all rows, one for each of the sizes."""
        for model, n_iter in self._grown(setting, self.data.weight, sizes, rng, LAST_ITERATIONS):
            report(f"{model.n_vectors} vectors")
            yield model, n_iter
