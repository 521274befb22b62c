"""The paper's reduction to the letter: equal vectors are not merged, lambda is 0.001, eq. (9) is followed step by step.

Which vector goes next does not depend on tau, so one run gives the state at every tau.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from harness import Array
from slimsvm.reduction.prune import Block, Pruned, prune


@dataclass(frozen=True)
class State:
    """The last state whose hinge loss on the training rows has risen by at most tau."""

    tau: float
    pruned: Pruned
    rise: float
    seconds: float  # of the processor, since the first kernel value was asked for

    @property
    def n_vectors(self) -> int:
        return len(self.pruned.rows)


@dataclass
class Thresholds:
    """Follows the outputs on the training rows and keeps the state before the loss first exceeds each tau.

    Parameters
    ----------
    K : array of shape (n, m)
        Kernel values between the training rows and the vectors; in float32 the products are too.
    outputs : array of shape (n,)
        Outputs of the machine before any elimination.
    signs : array of shape (n,)
        -1 or +1.
    taus : sequence of float
        Rising.
    started : float
        Reading of the processor's clock when the reduction began.
    """

    K: Array
    outputs: Array
    signs: Array
    taus: Sequence[float]
    started: float
    states: list[State] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._columns = np.arange(self.K.shape[1])
        self.outputs = self.outputs.astype(np.float64)
        self.first = self.last = self.loss()

    def loss(self) -> float:
        """Eq. (9)."""
        return float(np.maximum(0.0, 1.0 - self.signs * self.outputs).mean())

    def __call__(self, block: Block) -> Pruned | None:
        if len(block.rows) < len(self._columns):
            self.K = self.K[:, np.searchsorted(self._columns, block.rows)]
            self._columns = block.rows
        changes = self.K @ block.shares.astype(self.K.dtype)  # (n, t)
        for u in range(len(block)):
            self.outputs -= block.given[u, 0] * changes[:, u]
            loss = self.loss()
            while len(self.states) < len(self.taus) and loss > self.first + self.taus[len(self.states)]:
                self.keep(block.after(u))
            if len(self.states) == len(self.taus):
                return self.states[-1].pruned
            self.last = loss
        return None

    def keep(self, state: Pruned) -> None:
        seconds = time.process_time() - self.started
        self.states.append(State(self.taus[len(self.states)], state, self.last - self.first, seconds))


@dataclass
class Machine:
    """A fitted SVC of two classes with a Gaussian kernel, and the kernel values that reductions need.

    Parameters
    ----------
    svc : SVC
    X, y : arrays
        Training rows and labels.
    dtype : dtype
        Of the kernel values between training rows and vectors.
    """

    svc: SVC
    X: Array
    y: Array
    dtype: type = np.float64

    def __post_init__(self) -> None:
        start = time.process_time()
        svc = self.svc
        self.vectors = svc.support_vectors_  # one for each row with a coefficient, equal ones too
        self.coef = svc.dual_coef_.T
        self.signs = np.where(self.y == svc.classes_[1], 1.0, -1.0)
        self.rows = self.kernel(self.X, self.dtype)
        self.outputs = self.rows @ self.coef[:, 0].astype(self.dtype) + svc.intercept_[0]
        self.among = self.kernel(self.vectors)
        self.seconds = time.process_time() - start

    def kernel(self, X: Array, dtype: type = np.float64, block: int = 4096) -> Array:  # (len(X), m)
        found = np.empty((len(X), len(self.vectors)), dtype=dtype)
        for first in range(0, len(X), block):
            part = slice(first, first + block)
            found[part] = rbf_kernel(X[part], self.vectors, gamma=self.svc.gamma)
        return found

    def prune(self, criterion: str, ridge: float, taus: Sequence[float]) -> list[State]:
        """The state at each tau."""
        watch = Thresholds(
            self.rows, self.outputs, self.signs, taus, started=time.process_time() - self.seconds
        )
        final = prune(self.among.copy(), self.coef, criterion=criterion, ridge=ridge, watch=watch)
        while len(watch.states) < len(taus):  # one vector is left, and the loss still allowed
            watch.keep(final)
        return watch.states

    def rate(self, state: State, K_test: Array, y_test: Array) -> float:
        """Recognition rate in percent."""
        outputs = K_test[:, state.pruned.rows] @ state.pruned.coef[:, 0] + self.svc.intercept_[0]
        return 100 * float(np.mean((outputs > 0) == (y_test == self.svc.classes_[1])))
