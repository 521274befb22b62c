"""The reduction itself: from an expansion and the rows it is judged on to a smaller expansion and a report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import BudgetError
from ..expansion import KernelExpansion
from ..kernels import is_positive_definite
from ..rows import Array
from ..words import count
from .auto import by_default, can_move
from .exact import simplify
from .prune import Block, Pruned
from .refine import fitting, refine, smallest
from .start import Options, Outcome, Start, as_it_is, measure_of, pruned_by, watch_of
from .task import Reduction
from .watch import with_coef


@dataclass(frozen=True)
class Shrunk:
    """A smaller expansion.

    Parameters
    ----------
    expansion : KernelExpansion
    numbers : array or None
        The numbers its vectors had in the model; None if they are others.
    report : Reduction
    by_class : bool
        Whether it has one output for each class where the model had one for each pair.
    """

    expansion: KernelExpansion
    numbers: Array | None
    report: Reduction
    by_class: bool


def shrink(start: Start, options: Options) -> Shrunk:
    """The smaller expansion, with a report."""
    methods = {"auto": by_default, "prune": _by_pruning, "exact": _by_simplifying, "refine": _by_refining}
    run = methods[options.method]
    if options.method == "auto" and options.refit is False:
        run = _by_pruning
    whole = start
    if start.expansion.n_vectors == 0:
        run = as_it_is
    elif options.method != "exact":
        start = start.pruned_to_fit(criterion=options.criterion, ridge=options.ridge)
        _check_parts(whole, start, options)
    found = run(start, options)
    smaller = found.expansion
    if options.refit and run in (_by_pruning, _by_simplifying) and smaller.n_vectors:
        Kzz = start.gram(smaller)
        norms = np.einsum("jo,jo->o", smaller.coef, Kzz @ smaller.coef)
        target = fitting(start.whole.coef, norms, start.X, start.outputs, start.task)
        smaller = target.refit(smaller, Kzz, max_iter=options.max_iter, n_threads=start.n_threads)
    view = start.in_classes() if found.by_class else start
    _check_limits(view, smaller, found.rows, options)
    sizes, values = found.sizes, found.values
    if start.score is None or not len(sizes):
        measure = start.task.name
        if not len(sizes):
            sizes, values = [whole.expansion.n_vectors], [start.task.loss(start.outputs)]
        sizes, values = [*sizes, smaller.n_vectors], [*values, view.loss(smaller, found.rows)]
    else:
        measure = "score"
        if run is by_default:
            sizes, values = [*sizes, smaller.n_vectors], [*values, view.scored(smaller, found.rows)]
    report = Reduction(
        options.method, measure, start.whole.n_vectors, smaller.n_vectors,
        np.array(sizes), np.array(values), _removed(whole, start, found.removed), 0.0,
    )  # fmt: skip
    return Shrunk(smaller, start.numbers(found.rows), report, found.by_class)


def _check_limits(start: Start, smaller: KernelExpansion, rows: Array | None, options: Options) -> None:
    """What `min_score` keeps must also be within the limits of the size."""
    if options.min_score is None and options.method != "exact":
        return
    most = start.most_vectors(options) if options.min_score is not None else None
    if most is not None and smaller.n_vectors > most:
        limits = {"max_vectors": options.max_vectors, "max_bytes": options.max_bytes}
        named = " and ".join(f"{name}={limit}" for name, limit in limits.items() if limit is not None)
        raise BudgetError(
            f"min_score={options.min_score:g} takes {count(smaller.n_vectors, 'vector')}, and {named} allows "
            f"{most}. Lower min_score or raise the limit."
        )
    if options.min_score is not None and start.scored(smaller, rows) < options.min_score:
        raise BudgetError(
            f"min_score={options.min_score:g} is not kept: the score is {start.scored(smaller, rows):.6g}. Lower it, "
            "or use method='auto'."
        )


def _check_parts(whole: Start, start: Start, options: Options) -> None:
    """A model pruned in parts to fit must still be good enough to go on from."""
    if start is whole or start.size(options) is not None:
        return
    measure, limit = measure_of(start, options)
    if measure(start.expansion, None) > limit:
        raise MemoryError(
            "the model has more vectors than can be pruned as one, and pruning it in parts to "
            f"{start.expansion.n_vectors} already exceeds max_loss; raise max_loss, or give max_vectors."
        )


def _removed(whole: Start, start: Start, removed: Array) -> Array:
    """Numbers in the model of the vectors removed: those that went to make it fit first, then in order."""
    before = np.setdiff1d(whole.distinct, start.distinct)
    return np.concatenate((before, start.distinct[removed]))


def _by_simplifying(start: Start, options: Options) -> Outcome:
    expansion = start.expansion
    kept = simplify(
        start.gram(),
        expansion.coef,
        tol=options.rank_tol,
        positive_definite=is_positive_definite(expansion.kernel),
    )
    return Outcome(with_coef(expansion, kept.rows, kept.coef), kept.rows, kept.removed)


def _by_pruning(start: Start, options: Options) -> Outcome:
    expansion = start.expansion
    size = start.size(options)
    watch = None if size is not None else watch_of(start, options)
    pruned = pruned_by(start, options, 1 if size is None else size, watch)
    sizes, values = ([], []) if watch is None else (watch.sizes, watch.values)
    return Outcome(with_coef(expansion, pruned.rows, pruned.coef), pruned.rows, pruned.removed, sizes, values)


def _by_refining(start: Start, options: Options) -> Outcome:
    """Prune to the end for the order in which vectors go; refine what is left at the sizes tried."""
    expansion = start.expansion
    if not can_move(expansion.kernel):
        raise ValueError(
            "method='refine' moves the vectors and needs a positive definite kernel with a known derivative: "
            f"'rbf', 'linear' or 'poly' with coef0 >= 0, not {expansion.kernel!r}; use method='prune'."
        )
    size = start.size(options)
    if size is not None and size >= expansion.n_vectors:
        return as_it_is(start, options)
    stopped: Pruned | None = None
    watch = None if size is not None else watch_of(start, options)

    def note(block: Block) -> None:
        nonlocal stopped
        if watch is not None and stopped is None:
            stopped = watch(block)

    last = pruned_by(start, options, 1, note)
    order = np.concatenate((last.removed, last.rows))
    norms = np.square(expansion.rkhs_norm())
    target = fitting(start.whole.coef, norms, start.X, start.outputs, start.task)

    def refined(m: int) -> KernelExpansion:
        return refine(
            expansion, lambda n: np.sort(order[-n:]), target, m, start.task.scale,
            max_iter=options.max_iter,
        )  # fmt: skip

    if watch is None:
        assert size is not None
        return Outcome(refined(size), None, order[:-size])
    pruned = stopped if stopped is not None else last
    measure, limit = measure_of(start, options)
    best, sizes, values = smallest(refined, lambda smaller: measure(smaller, None), limit, len(pruned.rows))
    sign = 1.0 if start.score is None else -1.0
    sizes, values = watch.sizes + sizes, watch.values + [sign * value for value in values]
    if best is not None:
        return Outcome(best, None, order[: -best.n_vectors], sizes, values)
    return Outcome(with_coef(expansion, pruned.rows, pruned.coef), pruned.rows, pruned.removed, sizes, values)
