"""What a reduction starts from: an expansion, the rows it is judged on, the options, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..budget import bytes_for, kernel_numbers, max_vectors_for
from ..errors import BudgetError
from ..expansion import KernelExpansion
from ..kernels import Precomputed
from ..limits import DENSE_LIMIT_BYTES, check_memory
from ..problem import check_finite
from ..rows import Array, Rows
from ..words import count
from .parts import prune_in_parts
from .prune import Pruned, prune
from .task import Task
from .watch import HELD_BYTES, EveryStep, NowAndThen

# How much a score may fall unless the user says otherwise.
SCORE_FALL = 0.025
METHODS = ("auto", "prune", "exact", "refine")


@dataclass(frozen=True)
class Options:
    """The options of `slimsvm.reduce`, which documents them."""

    method: str
    criterion: str
    max_loss: float | None
    max_vectors: int | None
    refit: bool | None
    ridge: float
    rank_tol: float | None
    max_iter: int
    min_score: float | None = None
    max_bytes: int | None = None


Score = Callable[[KernelExpansion, Array | None], float]


@dataclass(frozen=True)
class ByClass:
    """One output for each class in place of one for each pair of classes.

    Parameters
    ----------
    sums : array of shape (n_pairs, n_classes)
        From the outputs of the pairs to those of the classes.
    task : Task
        How outputs of the classes are judged.
    score : callable or None
        As in `Start`, of an expansion with these outputs.
    """

    sums: Array
    task: Task
    score: Score | None

    def summed(self, f: KernelExpansion) -> KernelExpansion:
        """The expansion with the outputs of the classes."""
        dtype = f.coef.dtype
        coef, intercept = (f.coef @ self.sums).astype(dtype), (f.intercept @ self.sums).astype(dtype)
        return KernelExpansion(f.kernel, f.vectors, coef, intercept)


@dataclass(frozen=True)
class Start:
    """An expansion and the data it is judged on.

    Parameters
    ----------
    whole : KernelExpansion
        The model's expansion as it is stored.
    expansion : KernelExpansion
        The same with equal vectors merged.
    distinct : array
        For each vector of `expansion`, its number in `whole`.
    X : array or CSR of shape (n, d)
    task : Task
        How outputs on X are judged.
    outputs : array of shape (n, k)
        Of the model, on X.
    n_threads : int
    score : callable or None
        From an expansion, and the numbers its vectors have in `whole` (None: others), the score that is watched instead
        of the loss.
    by_class : ByClass or None
        How outputs for pairs of classes become one for each class, where they may.
    other_bytes : int
        Bytes of what stands before the expansion and stays: a projection.
    """

    whole: KernelExpansion
    expansion: KernelExpansion
    distinct: Array
    X: Rows
    task: Task
    outputs: Array
    n_threads: int
    score: Score | None = None
    by_class: ByClass | None = None
    other_bytes: int = 0

    def gram(self, expansion: KernelExpansion | None = None) -> Array:  # (m, m), float64, to be overwritten
        """Kernel matrix of the vectors of an expansion on the model's vectors, by default the model's."""
        return _vector_gram(self.expansion if expansion is None else expansion, self.X, self.n_threads)

    def pruned_to_fit(self, *, criterion: str, ridge: float) -> Start:
        """The same with so many vectors fewer that their kernel matrix can be held."""
        n_most = int(np.sqrt(DENSE_LIMIT_BYTES / 8))
        if self.expansion.n_vectors <= n_most:
            return self
        smaller, rows = prune_in_parts(
            self.expansion, self.gram, n_most, max(2, n_most // 2),
            criterion=criterion, ridge=ridge, scale=self.task.scale,
        )  # fmt: skip
        return replace(self, expansion=smaller, distinct=self.distinct[rows])

    def numbers(self, rows: Array | None) -> Array | None:
        """Numbers in `whole` of these vectors of `expansion`."""
        return None if rows is None else self.distinct[rows]

    def loss(self, smaller: KernelExpansion, rows: Array | None) -> float:
        """Loss of an expansion on the data."""
        return self.task.loss(smaller(self.X, n_threads=self.n_threads))

    def scored(self, smaller: KernelExpansion, rows: Array | None) -> float:
        """Score of an expansion on the data."""
        assert self.score is not None
        return self.score(smaller, self.numbers(rows))

    @property
    def without_data(self) -> bool:
        """Whether the model is judged on its own vectors, for want of other rows."""
        return self.X is self.whole.vectors

    def may_rise(self, options: Options) -> float:
        """How much the loss may rise, or the score may fall."""
        if options.max_loss is not None:
            return options.max_loss
        return self.task.max_rise if self.score is None else SCORE_FALL

    def in_classes(self) -> Start:
        """The same with one output for each class, the sum of those of its pairs."""
        assert self.by_class is not None
        by = self.by_class
        return replace(
            self, whole=by.summed(self.whole), expansion=by.summed(self.expansion), outputs=self.outputs @ by.sums,
            task=by.task, score=by.score, by_class=None,
        )  # fmt: skip

    def most_vectors(self, options: Options) -> int | None:
        """How many vectors `max_vectors` and `max_bytes` allow; None without a limit."""
        if options.max_bytes is None:
            return options.max_vectors
        d, dtype = self.expansion.vectors.shape[1], self.expansion.coef.dtype
        k, n_widths = self.expansion.n_outputs, kernel_numbers(self.expansion.kernel)
        fits = max_vectors_for(
            bytes=options.max_bytes - self.other_bytes,
            n_features=d,
            n_outputs=k,
            number=dtype.name,
            n_widths=n_widths,
        )
        if fits < 1:
            least = self.other_bytes + bytes_for(
                1, n_features=d, n_outputs=k, number=dtype.name, n_widths=n_widths
            )
            raise BudgetError(
                f"max_bytes={options.max_bytes} is too small: a model of one vector with {count(d, 'feature')} and "
                f"{count(k, 'output')} takes {least} bytes in {dtype.name}. Raise it, or fit the model to float32."
            )
        return fits if options.max_vectors is None else min(fits, options.max_vectors)

    def size(self, options: Options) -> int | None:
        """The size to reduce to whatever the loss; None where the loss or a score decides."""
        return None if options.min_score is not None else self.most_vectors(options)


@dataclass(frozen=True)
class Outcome:
    """What a method makes of a `Start`.

    Parameters
    ----------
    expansion : KernelExpansion
    rows : array or None
        The numbers its vectors had in the start's expansion; None if they are others.
    removed : array
        Numbers of the vectors removed, in order.
    sizes, values : lists
        What was tried, and its loss or score.
    by_class : bool
        Whether it has one output for each class where the start had one for each pair.
    """

    expansion: KernelExpansion
    rows: Array | None
    removed: Array
    sizes: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    by_class: bool = False


def as_it_is(start: Start, options: Options) -> Outcome:
    """Nothing removed."""
    return Outcome(start.expansion, np.arange(start.expansion.n_vectors), np.empty(0, dtype=np.intp))


def pruned_by(start: Start, options: Options, n_keep: int, watch: Any) -> Pruned:
    """Prune with the options; `watch` may stop it before `n_keep` are left."""
    return prune(
        start.gram(), start.expansion.coef, n_keep=n_keep, criterion=options.criterion,
        ridge=options.ridge, scale=start.task.scale, watch=watch,
    )  # fmt: skip


def measure_of(start: Start, options: Options) -> tuple[Any, float]:
    """What must not grow, and how far it may."""
    if start.score is None:
        return start.loss, start.task.loss(start.outputs) + start.may_rise(options)
    limit = -_lowest_score(start, options)
    return (lambda smaller, rows: -start.scored(smaller, rows)), limit


def _lowest_score(start: Start, options: Options) -> float:
    assert start.score is not None
    now = start.score(start.whole, None)
    if options.min_score is None:
        return now - start.may_rise(options)
    if now < options.min_score:
        raise BudgetError(
            f"min_score={options.min_score:g} is more than the model itself reaches on X and y, {now:.6g}. Lower it."
        )
    return options.min_score


def watch_of(start: Start, options: Options) -> EveryStep | NowAndThen:
    """What follows the loss or the score while vectors go."""
    expansion = start.expansion
    if start.score is not None:
        limit = _lowest_score(start, options)
        return NowAndThen(expansion, start.scored, lambda value: value < limit)
    limit = start.task.loss(start.outputs) + start.may_rise(options)
    if 8 * start.X.shape[0] * expansion.n_vectors <= HELD_BYTES:
        K = expansion.kernel(start.X, expansion.vectors, n_threads=start.n_threads).astype(np.float64)
        return EveryStep(K, K @ expansion.coef + expansion.intercept, start.task, limit)
    return NowAndThen(expansion, start.loss, lambda value: value > limit)


def _vector_gram(expansion: KernelExpansion, X: Rows, n_threads: int) -> Array:  # (m, m) float64
    m = expansion.n_vectors
    check_memory(
        8.0 * m * m,
        f"the kernel matrix of the {count(m, 'vector')} needs",
        "use method='prune', which can work in parts, or fewer rows",
        limit=DENSE_LIMIT_BYTES,
    )
    if isinstance(expansion.kernel, Precomputed):
        rows = X[expansion.vectors.ravel()].astype(np.float64)
        K = expansion.kernel(rows, expansion.vectors)
    else:
        vectors = expansion.vectors.astype(np.float64)
        K = expansion.kernel(vectors, vectors, n_threads=n_threads)
    check_finite(K, "the model's vectors")
    return np.ascontiguousarray(K)
