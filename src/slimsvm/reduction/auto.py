"""The default: the fewest vectors that keep the answers, each size tried at its best.

Pruning gives the order in which vectors go. At each size tried, what is left is moved and fitted again where the
kernel allows it, otherwise its coefficients are fitted again: to the outputs of the model, not to the labels, so that
mistakes on the rows that are fitted can be compared with those of the model. The size is found by bisection. A model
with an output for each pair of classes also tries one output for each class where a limit in bytes then allows more
vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..expansion import KernelExpansion
from ..kernels import Kernel, is_positive_definite
from ..limits import DENSE_LIMIT_BYTES
from ..losses import SquaredHinge
from ..refinement import has_gradient
from ..rows import Array
from .held_out import better_held_out, mistakes_held_out
from .prune import Block, Pruned
from .refine import LARGER_PENALTY, OUTPUT_PENALTY, Fitting, fitting, following, nearest, smallest
from .start import Options, Outcome, Start, as_it_is, measure_of, pruned_by, watch_of
from .task import Targets
from .watch import with_coef

# What is fitted to the labels is also tried with so many times the C of the model: few vectors hold it back already.
LARGER_C = 10.0


def can_move(kernel: Kernel) -> bool:
    """Whether refinement can move the vectors under this kernel."""
    return has_gradient(kernel) and is_positive_definite(kernel)


@dataclass(frozen=True)
class OwnOutputs:
    """Candidates with the outputs of the model, which they follow.

    Parameters
    ----------
    start : Start
    target : Fitting
    units : array of shape (k,)
        Size of each output.
    order : array
        Numbers of the vectors in the order in which they go.
    moves : bool
        Whether vectors move; otherwise they stay and only coefficients are fitted.
    max_iter : int
    """

    start: Start
    target: Fitting
    units: Array
    order: Array
    moves: bool
    max_iter: int

    def rows(self, size: int) -> Array:
        """The vectors that go last."""
        return np.sort(self.order[-size:])

    def first(self, size: int) -> KernelExpansion:
        """Where fitting begins: nearest in the feature space, or what is left."""
        start, rows = self.start, self.rows(size)
        if self.moves:
            return nearest(start.expansion, rows, start.task.scale, max_iter=self.max_iter)
        return with_coef(start.expansion, rows, start.expansion.coef[rows])

    def fitted(self, target: Fitting, first: KernelExpansion) -> KernelExpansion:
        """Fit from there on."""
        n_threads = self.start.n_threads
        if self.moves:
            return target.move(first, self.units, max_iter=self.max_iter, n_threads=n_threads)
        return target.refit(first, self.start.gram(first), max_iter=self.max_iter, n_threads=n_threads)

    def __call__(self, size: int) -> KernelExpansion:
        """The best expansion of this size."""
        first = self.first(size)
        # without data the vectors are the hard rows: what is fitted to them alone forgets the others
        return first if self.moves and self.start.without_data else self.fitted(self.target, first)

    def with_penalty(self, size: int) -> OwnOutputs:
        """The same with the penalty that is better at this size on rows held out."""
        if self.start.without_data:
            return self
        first = self.first(size)
        larger = replace(self.target, penalty=self.target.penalty * (LARGER_PENALTY / OUTPUT_PENALTY))
        target = better_held_out(
            self.target, larger, lambda t: self.fitted(t, first), n_threads=self.start.n_threads
        )
        return replace(self, target=target)

    def fitted_to_labels(self, size: int) -> ToLabels:
        """The candidate of this size that is fitted to the labels."""
        return ToLabels.of(self.start, self.first(size), self._C, self.max_iter)

    def by_class(self, size: int) -> ToLabels:
        """The same with one output for each class, which begins as the sum of the functions of its pairs."""
        by = self.start.by_class
        assert by is not None
        return ToLabels.of(self.start.in_classes(), by.summed(self.first(size)), self._C, self.max_iter)

    @property
    def _C(self) -> float:
        """That of the model: its largest coefficient."""
        return float(np.abs(self.start.whole.coef).max())

    def outcome(
        self, found: KernelExpansion, sizes: list[int], values: list[float], by_class: bool = False
    ) -> Outcome:
        """What was found, and how."""
        rows = None if self.moves else self.rows(found.n_vectors)
        return Outcome(found, rows, self.order[: -found.n_vectors], sizes, values, by_class)


@dataclass(frozen=True)
class ToLabels:
    """A candidate of one size that is fitted to the labels: squared hinge, with the C of the model or a larger one.

    What follows the outputs of the model knows from them about the labels of rows held out; these do not, and can be
    compared on such rows.

    Parameters
    ----------
    start : Start
    first : KernelExpansion
        Where fitting begins.
    target : Fitting
    max_iter : int
    """

    start: Start
    first: KernelExpansion
    target: Fitting
    max_iter: int

    @staticmethod
    def of(start: Start, first: KernelExpansion, C: float, max_iter: int) -> ToLabels:
        """With the better of the two C on rows held out."""
        k = first.n_outputs
        target = fitting(np.full((1, k), C), np.ones(k), start.X, start.outputs, start.task)
        target = replace(target, loss=SquaredHinge())
        smaller = replace(target, penalty=target.penalty / LARGER_C)
        plain = ToLabels(start, first, target, max_iter)
        return replace(
            plain, target=better_held_out(target, smaller, plain.fitted, n_threads=start.n_threads)
        )

    def fitted(self, target: Fitting) -> KernelExpansion:
        """Fit to this target."""
        units = np.ones(self.first.n_outputs)
        return target.move(self.first, units, max_iter=self.max_iter, n_threads=self.start.n_threads)

    def __call__(self) -> KernelExpansion:
        """Fit to all rows."""
        return self.fitted(self.target)

    def mistakes(self) -> float:
        """Share of mistakes on rows held out."""
        return mistakes_held_out(self.start, self.target, self.fitted)


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
    own = _own_outputs(start, np.concatenate((last.removed, last.rows)), options)
    if watch is None:
        assert size is not None
        return _of_size(own, size, options)
    pruned = stopped if stopped is not None else last
    found = _fewest(own, len(pruned.rows), watch.sizes, watch.values, options)
    if found is not None:
        return found
    smaller = with_coef(start.expansion, pruned.rows, pruned.coef)
    return Outcome(smaller, pruned.rows, pruned.removed, watch.sizes, watch.values)


def _own_outputs(start: Start, order: Array, options: Options) -> OwnOutputs:
    n, d = start.X.shape
    moves = can_move(start.expansion.kernel) and 8 * n * d <= DENSE_LIMIT_BYTES
    units = start.task if isinstance(start.task, Targets) else Targets.of(start.outputs, start.task.weight)
    target = following(_norms(start), start.X, start.outputs, units)
    return OwnOutputs(start, target, units.scale, order, moves, options.max_iter)


def _norms(start: Start) -> Array:  # (k,)
    """Squared norms of the functions."""
    coef = start.expansion.coef.astype(np.float64)
    norms: Array = np.maximum(np.einsum("jo,jo->o", coef, start.gram() @ coef), 0.0)
    return norms


def _of_size(own: OwnOutputs, size: int, options: Options) -> Outcome:
    """The best of the size that the limits allow, or one output for each class where more vectors then fit."""
    n_all = own.start.expansion.n_vectors
    if own.start.by_class is not None and own.moves and not own.start.without_data:
        more = min(own.start.in_classes().most_vectors(options) or size, n_all)
        if more > size:
            pairs, classes = own.fitted_to_labels(size), own.by_class(more)
            if classes.mistakes() < pairs.mistakes():
                return own.outcome(classes(), [], [], True)
    return own.outcome(own.with_penalty(size)(size), [], [])


def _fewest(
    own: OwnOutputs, n_good: int, sizes: list[int], values: list[float], options: Options
) -> Outcome | None:
    """The smallest that is good enough; None if no size below `n_good` is."""
    if n_good < 2:
        return None
    start = own.start
    measure, limit = measure_of(start, options)
    own = own.with_penalty(int(np.sqrt(n_good)))
    best, tried, measured = smallest(own, lambda smaller: measure(smaller, None), limit, n_good)
    if best is not None and best.n_vectors * best.n_features > len(start.outputs):
        # with more numbers than there are rows they follow these rows, and these alone, unless they are held back
        there = own.with_penalty(best.n_vectors)
        if there.target is not own.target:
            own = there
            best, more, values_there = smallest(own, lambda smaller: measure(smaller, None), limit, n_good)
            tried, measured = [*tried, *more], [*measured, *values_there]
    sign = 1.0 if start.score is None else -1.0
    sizes, values = [*sizes, *tried], [*values, *(sign * value for value in measured)]
    return None if best is None else own.outcome(best, sizes, values)
