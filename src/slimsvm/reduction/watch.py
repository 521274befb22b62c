"""When to stop pruning: by the loss on the data, or by a score."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..expansion import KernelExpansion
from ..rows import Array
from .prune import Block, Pruned
from .task import Task

# The loss is followed through every elimination where the kernel values between data and vectors fit here;
# beyond, it is computed anew each time the size has shrunk by CHECK_SHARE.
HELD_BYTES = 2 * 2**30
CHECK_SHARE = 0.02


class EveryStep:
    """Stops before the first elimination after which the loss exceeds the limit.

    Parameters
    ----------
    K : array of shape (n, m)
        Kernel values between the data and the vectors.
    outputs : array of shape (n, k)
        Outputs of the model on the data.
    task : Task
    limit : float
        The largest loss allowed.
    """

    def __init__(self, K: Array, outputs: Array, task: Task, limit: float) -> None:
        self._K = K
        self._columns = np.arange(K.shape[1])
        self._outputs = outputs.astype(np.float64)
        self._task, self._limit = task, limit
        self.sizes, self.values = [K.shape[1]], [task.loss(outputs)]

    def __call__(self, block: Block) -> Pruned | None:
        """Follow the outputs through the block."""
        if len(block.rows) < len(self._columns):
            self._K = self._K[:, np.searchsorted(self._columns, block.rows)]
            self._columns = block.rows
        changes = self._K @ block.shares  # (n, t)
        for u in range(len(block)):
            self._outputs -= np.multiply.outer(changes[:, u], block.given[u])
            loss = self._task.loss(self._outputs)
            if loss > self._limit:
                return block.after(u)
            self.sizes.append(self.sizes[-1] - 1)
            self.values.append(loss)
        return None


class NowAndThen:
    """Stops at the last checked size at which the measure was good enough.

    Parameters
    ----------
    expansion : KernelExpansion
        The model before pruning.
    measure : callable
        From an expansion to a number.
    worse : callable
        Whether a number is not good enough.
    """

    def __init__(
        self,
        expansion: KernelExpansion,
        measure: Callable[[KernelExpansion, Array | None], float],
        worse: Callable[[float], bool],
    ) -> None:
        self._expansion, self._measure, self._worse = expansion, measure, worse
        everything = np.arange(expansion.n_vectors)
        self._last = Pruned(everything, expansion.coef, np.empty(0, dtype=np.intp))
        self.sizes, self.values = [expansion.n_vectors], [measure(expansion, everything)]

    def __call__(self, block: Block) -> Pruned | None:
        """Measure inside and at the end of the block where the size has shrunk enough."""
        start = self._expansion.n_vectors - len(block.before)
        for steps in range(1, len(block) + 1):
            size = start - steps
            if size > 1 and size > self.sizes[-1] * (1.0 - CHECK_SHARE):
                continue
            state = block.after(steps)
            value = self._measure(_smaller(self._expansion, state), state.rows)
            if self._worse(value):
                return self._last
            self._last = state
            self.sizes.append(size)
            self.values.append(value)
        return None


def _smaller(expansion: KernelExpansion, state: Pruned) -> KernelExpansion:
    return with_coef(expansion, state.rows, state.coef)


def with_coef(expansion: KernelExpansion, rows: Array, coef: Array) -> KernelExpansion:
    """Keep some vectors, with other coefficients."""
    return KernelExpansion(
        expansion.kernel, expansion.vectors[rows], coef.astype(expansion.coef.dtype), expansion.intercept
    )
