"""The default: the fewest vectors that keep the loss, each size tried at its best.

Pruning gives the order in which vectors go. At each size tried, what is left is moved and fitted again where the
kernel allows it, otherwise its coefficients are fitted again; the size is found by bisection. A model with an output
for each pair of classes also tries one output for each class, and takes what is smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ..budget import stored_bytes
from ..expansion import KernelExpansion
from ..kernels import Kernel, is_positive_definite
from ..problem import DENSE_LIMIT_BYTES
from ..refinement import has_gradient
from ..rows import Array
from .prune import Block, Pruned
from .refine import Fitting, fitting, nearest, smallest
from .start import Options, Outcome, Start, as_it_is, measure_of, pruned_by, watch_of
from .watch import with_coef


def can_move(kernel: Kernel) -> bool:
    """Whether refinement can move the vectors under this kernel."""
    return has_gradient(kernel) and is_positive_definite(kernel)


class Trials(Protocol):
    """Candidates of every size for one view of the model: its own outputs, or one for each class."""

    @property
    def start(self) -> Start:
        """The view."""
        ...

    def __call__(self, size: int) -> KernelExpansion:
        """The best expansion of this size."""
        ...


@dataclass(frozen=True)
class OwnOutputs:
    """Candidates with the outputs of the model.

    Parameters
    ----------
    start : Start
    target : Fitting
    order : array
        Numbers of the vectors in the order in which they go.
    moves : bool
        Whether vectors move; otherwise they stay and only coefficients are fitted.
    max_iter : int
    """

    start: Start
    target: Fitting
    order: Array
    moves: bool
    max_iter: int

    def rows(self, size: int) -> Array:
        """The vectors that go last."""
        return np.sort(self.order[-size:])

    def __call__(self, size: int) -> KernelExpansion:
        """The best expansion of this size."""
        start, rows = self.start, self.rows(size)
        if self.moves:
            near = nearest(start.expansion, rows, start.task.scale, max_iter=self.max_iter)
            if (
                start.without_data
            ):  # the vectors are the hard rows: what is fitted to them alone forgets the others
                return near
            return self.target.move(near, start.task.scale, max_iter=self.max_iter, n_threads=start.n_threads)
        left = with_coef(start.expansion, rows, start.expansion.coef[rows])
        return self.target.refit(left, start.gram(left), max_iter=self.max_iter, n_threads=start.n_threads)

    def outcome(
        self, found: KernelExpansion, sizes: list[int], values: list[float], by_class: bool = False
    ) -> Outcome:
        """What was found, and how."""
        rows = None if self.moves else self.rows(found.n_vectors)
        return Outcome(found, rows, self.order[: -found.n_vectors], sizes, values, by_class)


@dataclass(frozen=True)
class OutputsByClass:
    """Candidates with one output for each class, which begin as sums of the functions of the pairs.

    Parameters
    ----------
    start : Start
        With the outputs of the classes.
    target : Fitting
    pairs : OwnOutputs
    """

    start: Start
    target: Fitting
    pairs: OwnOutputs

    def __call__(self, size: int) -> KernelExpansion:
        """The best expansion of this size."""
        by = self.pairs.start.by_class
        assert by is not None
        summed = by.summed(self.pairs(size))
        return self.target.move(
            summed, self.start.task.scale, max_iter=self.pairs.max_iter, n_threads=self.start.n_threads
        )


def by_default(start: Start, options: Options) -> Outcome:
    """Prune for the order in which vectors go; fit what is left at the sizes tried."""
    size = start.size(options)
    if size is not None and size >= start.expansion.n_vectors:
        return as_it_is(start, options)
    watch = None if size is not None else watch_of(start, options)
    stopped: Pruned | None = None

    def note(block: Block) -> None:
        nonlocal stopped
        if watch is not None and stopped is None:
            stopped = watch(block)

    last = pruned_by(start, options, 1, note)
    order = np.concatenate((last.removed, last.rows))
    n, d = start.X.shape
    moves = can_move(start.expansion.kernel) and 8 * n * d <= DENSE_LIMIT_BYTES
    target = fitting(start.whole.coef, _norms(start), start.X, start.outputs, start.task)
    own = OwnOutputs(start, target, order, moves, options.max_iter)
    summed = _outputs_by_class(own) if start.by_class and moves and not start.without_data else None
    if watch is None:
        return _of_size(own, summed, options)
    pruned = stopped if stopped is not None else last
    found = _fewest(own, summed, len(pruned.rows), watch.sizes, watch.values, options)
    if found is not None:
        return found
    smaller = with_coef(start.expansion, pruned.rows, pruned.coef)
    return Outcome(smaller, pruned.rows, pruned.removed, watch.sizes, watch.values)


def _norms(start: Start) -> Array:  # (k,)
    """Squared norms of the functions."""
    coef = start.expansion.coef.astype(np.float64)
    norms: Array = np.maximum(np.einsum("jo,jo->o", coef, start.gram() @ coef), 0.0)
    return norms


def _outputs_by_class(pairs: OwnOutputs) -> OutputsByClass:
    """Each class against the rest, both of the same weight, with the C of the pairs."""
    start = pairs.start.in_classes()
    k = start.expansion.n_outputs
    C = np.full((1, k), np.abs(pairs.start.whole.coef).max())
    target = fitting(C, np.ones(k), start.X, start.outputs, start.task)
    weights = target.weights * np.where(target.Y > 0, k - 1.0, 1.0)
    total = weights.sum()
    return OutputsByClass(
        start, replace(target, weights=weights / total, penalty=target.penalty / total), pairs
    )


def _measured(trials: Trials) -> Callable[[KernelExpansion], float]:
    """What must not grow."""
    start = trials.start
    if start.score is None:
        return lambda smaller: start.loss(smaller, None)
    return lambda smaller: -start.scored(smaller, None)


def _of_size(own: OwnOutputs, summed: OutputsByClass | None, options: Options) -> Outcome:
    """The best of the size that the limits allow; one output for each class if that is about as good."""
    size = own.start.size(options)
    assert size is not None
    found = own(size)
    if summed is not None:
        size = summed.start.size(options)
        assert size is not None
        other = summed(min(size, own.start.expansion.n_vectors))
        if _measured(summed)(other) <= _measured(own)(found) + options.max_loss:
            return own.outcome(other, [], [], True)
    return own.outcome(found, [], [])


def _fewest(
    own: OwnOutputs,
    summed: OutputsByClass | None,
    n_good: int,
    sizes: list[int],
    values: list[float],
    options: Options,
) -> Outcome | None:
    """The smallest that is good enough, of both kinds of outputs; None if no size below `n_good` is."""
    limit = measure_of(own.start, options)[1]
    sign = 1.0 if own.start.score is None else -1.0
    sizes, values = list(sizes), list(values)

    def search(trials: Trials, n_good: int) -> KernelExpansion | None:
        best, tried, measured = smallest(trials, _measured(trials), limit, n_good)
        sizes.extend(tried)
        values.extend(sign * value for value in measured)
        return best

    best = None if summed is None else search(summed, n_good)
    if best is None or summed is None:
        best = search(own, n_good)
        return None if best is None else own.outcome(best, sizes, values)
    # with an output for each pair, only so many vectors take less room
    f = own.start.expansion
    fewer = (stored_bytes(best) - 1) // (f.coef.dtype.itemsize * (f.vectors.shape[1] + f.n_outputs))
    if 1 <= fewer < n_good:
        other = own(fewer)
        value = _measured(own)(other)
        if value <= limit:
            smaller = search(own, fewer)
            return own.outcome(other if smaller is None else smaller, sizes, values)
    return own.outcome(best, sizes, values, True)
