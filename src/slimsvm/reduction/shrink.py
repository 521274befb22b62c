"""The reduction itself: from an expansion and the rows it is judged on to a smaller expansion and a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..expansion import KernelExpansion
from ..kernels import Precomputed, is_positive_definite
from ..problem import DENSE_LIMIT_BYTES, check_finite, gigabytes
from ..refinement import has_gradient
from ..rows import Array, Rows
from ..words import count
from .exact import simplify
from .parts import prune_in_parts
from .prune import Block, Pruned, prune
from .refine import fitting, refine, smallest
from .task import Reduction, Task
from .watch import HELD_BYTES, EveryStep, NowAndThen, with_coef

METHODS = ("prune", "exact", "refine")


@dataclass(frozen=True)
class Options:
    """The options of `slimsvm.reduce`, which documents them."""

    method: str
    criterion: str
    max_loss: float
    max_vectors: int | None
    refit: bool
    ridge: float
    rank_tol: float | None
    max_iter: int


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
    """

    whole: KernelExpansion
    expansion: KernelExpansion
    distinct: Array
    X: Rows
    task: Task
    outputs: Array
    n_threads: int
    score: Callable[[KernelExpansion, Array | None], float] | None = None

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


def shrink(start: Start, options: Options) -> tuple[KernelExpansion, Array | None, Reduction]:
    """Return the smaller expansion, the numbers its vectors had (None: they are others) and the report."""
    run = {"prune": _by_pruning, "exact": _by_simplifying, "refine": _by_refining}[options.method]
    whole = start
    if start.expansion.n_vectors == 0:
        run = _as_it_is
    elif options.method != "exact":
        start = start.pruned_to_fit(criterion=options.criterion, ridge=options.ridge)
        _check_parts(whole, start, options)
    smaller, rows, removed, sizes, values = run(start, options)
    if options.refit and options.method != "refine" and smaller.n_vectors:
        Kzz = start.gram(smaller)
        norms = np.einsum("jo,jo->o", smaller.coef, Kzz @ smaller.coef)
        target = fitting(start.whole.coef, norms, start.X, start.outputs, start.task)
        smaller = target.refit(smaller, Kzz, max_iter=options.max_iter, n_threads=start.n_threads)
    if start.score is None or not len(sizes):
        measure = start.task.name
        if not len(sizes):
            sizes, values = [whole.expansion.n_vectors], [start.task.loss(start.outputs)]
        sizes, values = [*sizes, smaller.n_vectors], [*values, start.loss(smaller, rows)]
    else:
        measure = "score"
    report = Reduction(
        options.method, measure, start.whole.n_vectors, smaller.n_vectors,
        np.array(sizes), np.array(values), _removed(whole, start, removed), 0.0,
    )  # fmt: skip
    return smaller, start.numbers(rows), report


def _check_parts(whole: Start, start: Start, options: Options) -> None:
    """A model pruned in parts to fit must still be good enough to go on from."""
    if start is whole or options.max_vectors is not None:
        return
    measure, limit = _measure(start, options)
    if measure(start.expansion, None) > limit:
        raise MemoryError(
            "the model has more vectors than can be pruned as one, and pruning it in parts to "
            f"{start.expansion.n_vectors} already exceeds max_loss; raise max_loss, or give max_vectors."
        )


def _removed(whole: Start, start: Start, removed: Array) -> Array:
    """Numbers in the model of the vectors removed: those that went to make it fit first, then in order."""
    before = np.setdiff1d(whole.distinct, start.distinct)
    return np.concatenate((before, start.distinct[removed]))


Outcome = tuple[KernelExpansion, Array | None, Array, list[int], list[float]]


def _as_it_is(start: Start, options: Options) -> Outcome:
    everything = np.arange(start.expansion.n_vectors)
    return start.expansion, everything, np.empty(0, dtype=np.intp), [], []


def _by_simplifying(start: Start, options: Options) -> Outcome:
    expansion = start.expansion
    kept = simplify(
        start.gram(),
        expansion.coef,
        tol=options.rank_tol,
        positive_definite=is_positive_definite(expansion.kernel),
    )
    return with_coef(expansion, kept.rows, kept.coef), kept.rows, kept.removed, [], []


def _by_pruning(start: Start, options: Options) -> Outcome:
    expansion = start.expansion
    watch = None if options.max_vectors is not None else _watch(start, options)
    pruned = _prune(start, options, 1 if options.max_vectors is None else options.max_vectors, watch)
    sizes, values = ([], []) if watch is None else (watch.sizes, watch.values)
    return with_coef(expansion, pruned.rows, pruned.coef), pruned.rows, pruned.removed, sizes, values


def _prune(start: Start, options: Options, n_keep: int, watch: Any) -> Pruned:
    return prune(
        start.gram(), start.expansion.coef, n_keep=n_keep, criterion=options.criterion,
        ridge=options.ridge, scale=start.task.scale, watch=watch,
    )  # fmt: skip


def _by_refining(start: Start, options: Options) -> Outcome:
    """Prune to the end for the order in which vectors go; refine what is left at the sizes tried."""
    expansion = start.expansion
    if not (has_gradient(expansion.kernel) and is_positive_definite(expansion.kernel)):
        raise ValueError(
            "method='refine' moves the vectors and needs a positive definite kernel with a known derivative: "
            f"'rbf', 'linear' or 'poly' with coef0 >= 0, not {expansion.kernel!r}; use method='prune'."
        )
    if options.max_vectors is not None and options.max_vectors >= expansion.n_vectors:
        return _as_it_is(start, options)
    stopped: Pruned | None = None
    watch = None if options.max_vectors is not None else _watch(start, options)

    def note(block: Block) -> None:
        nonlocal stopped
        if watch is not None and stopped is None:
            stopped = watch(block)

    last = _prune(start, options, 1, note)
    order = np.concatenate((last.removed, last.rows))
    norms = np.square(expansion.rkhs_norm())
    target = fitting(start.whole.coef, norms, start.X, start.outputs, start.task)

    def refined(size: int) -> KernelExpansion:
        return refine(
            expansion, lambda m: np.sort(order[-m:]), target, size, start.task.scale,
            max_iter=options.max_iter,
        )  # fmt: skip

    if watch is None:
        assert options.max_vectors is not None
        return refined(options.max_vectors), None, order[: -options.max_vectors], [], []
    pruned = stopped if stopped is not None else last
    measure, limit = _measure(start, options)
    best, sizes, values = smallest(refined, lambda smaller: measure(smaller, None), limit, len(pruned.rows))
    sign = 1.0 if start.score is None else -1.0
    sizes, values = watch.sizes + sizes, watch.values + [sign * value for value in values]
    if best is not None:
        return best, None, order[: -best.n_vectors], sizes, values
    return with_coef(expansion, pruned.rows, pruned.coef), pruned.rows, pruned.removed, sizes, values


def _measure(start: Start, options: Options) -> tuple[Any, float]:
    """What must not grow, and how far it may."""
    if start.score is None:
        return start.loss, start.task.loss(start.outputs) + options.max_loss
    limit = options.max_loss - start.score(start.whole, None)
    return (lambda smaller, rows: -start.scored(smaller, rows)), limit


def _watch(start: Start, options: Options) -> EveryStep | NowAndThen:
    expansion = start.expansion
    if start.score is not None:
        limit = start.score(start.whole, None) - options.max_loss
        return NowAndThen(expansion, start.scored, lambda value: value < limit)
    limit = start.task.loss(start.outputs) + options.max_loss
    if 8 * start.X.shape[0] * expansion.n_vectors <= HELD_BYTES:
        K = expansion.kernel(start.X, expansion.vectors, n_threads=start.n_threads).astype(np.float64)
        return EveryStep(K, K @ expansion.coef + expansion.intercept, start.task, limit)
    return NowAndThen(expansion, start.loss, lambda value: value > limit)


def _vector_gram(expansion: KernelExpansion, X: Rows, n_threads: int) -> Array:  # (m, m) float64
    m = expansion.n_vectors
    if 8 * m * m > DENSE_LIMIT_BYTES:
        raise MemoryError(
            f"the kernel matrix of the {count(m, 'vector')} needs {gigabytes(8.0 * m * m)}, above the limit of "
            f"{gigabytes(DENSE_LIMIT_BYTES)}; use method='prune', which can work in parts, or fewer rows."
        )
    if isinstance(expansion.kernel, Precomputed):
        rows = X[expansion.vectors.ravel()].astype(np.float64)
        K = expansion.kernel(rows, expansion.vectors)
    else:
        vectors = expansion.vectors.astype(np.float64)
        K = expansion.kernel(vectors, vectors, n_threads=n_threads)
    check_finite(K, "the model's vectors")
    return np.ascontiguousarray(K)
