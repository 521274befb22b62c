"""The machine that keeps training rows as vectors: for any kernel, and for rows that must stay sparse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...kernels import Kernel, Precomputed
from ...problem import check_finite
from ...refinement import SmoothLoss, fit_coefficients
from ...refinement.starts import CANDIDATES, pursue
from ...rows import Array, Rows
from ...words import count
from .machines import First, Setting, first_grids
from .observations import Observations
from .ridge import column_places, ridge_search

# Iterations of L-BFGS for the coefficients on the way, and of the last fit.
SELECTED_ITERATIONS, LAST_ITERATIONS = 20, 300


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
        return self._with(data)

    def with_loss(self, loss: SmoothLoss) -> SelectedRows:
        """The machine that minimises this loss."""
        return self._with(replace(self.data, loss=loss))

    def _with(self, data: Observations) -> SelectedRows:
        return SelectedRows(
            data, self.kernel_of, has_width=self.has_width, n_features=self.n_features,
            n_threads=self.n_threads,
        )  # fmt: skip

    def first(self, width: float | None, penalty: float | None, rng: np.random.Generator) -> list[First]:
        """What ridge regression likes; what is given stays."""
        places, every = column_places(self.data.n, rng), np.arange(self.data.n)

        def columns(width: float) -> tuple[Array, Array]:
            kernel = self.kernel_of(width)
            return self._block(kernel, places, places), self._block(kernel, places, every)

        if not self.has_width:
            width = 1.0
        return [First(*ridge_search(self.data, columns, *first_grids(width, penalty, self.n_features)))]

    def can_try(self, size: int) -> bool:
        """Always: nothing but coefficients is trained."""
        return True

    def _block(self, kernel: Kernel, rows: Array, columns: Array) -> Array:
        X: Rows = self.data.X
        if isinstance(kernel, Precomputed):
            block = X[rows][:, columns]
            return np.asarray(block.toarray() if hasattr(block, "toarray") else block, dtype=np.float64)
        K = kernel(X[rows], X[columns], n_threads=self.n_threads).astype(np.float64, copy=False)
        check_finite(K)
        return K

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
        places = rng.permutation(places)[: max(CANDIDATES, 4 * n_new)]
        gradient = self._block(kernel, places, rows) @ slope
        among = self._block(kernel, places, places)
        floor = 1e-8 * max(float(np.abs(among).max()), 1e-300)  # a matrix that is no kernel may have less
        size = np.sqrt(np.maximum(np.diagonal(among), floor))
        gradient, among = gradient / size[:, None], among / np.outer(size, size)
        return places[pursue(gradient, among, n_new)]

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
            report(count(model.n_vectors, "vector"))
            yield model, n_iter
