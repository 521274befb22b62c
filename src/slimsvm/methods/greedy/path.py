"""Every machine a greedy fit passed through, as a value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...expansion import KernelExpansion
from ...kernels import Precomputed
from ...problem import KernelGram
from ...rows import Array
from .subset import DualPath


@dataclass(frozen=True)
class Output:
    """What the machines of one output are computed from."""

    vectors: Array  # (m,) numbers of the vectors, in their order
    y: Array  # (m,)
    ridge: Array  # (m,)
    mean: float  # of the targets: the machine without vectors

    def first(self, n_steps: int) -> Output:
        """The same after so many steps."""
        return replace(self, vectors=self.vectors[:n_steps], y=self.y[:n_steps], ridge=self.ridge[:n_steps])

    def path(self, gram: KernelGram) -> DualPath:
        """The machines after 1, 2, ... steps."""
        return DualPath.fit(gram.block(self.vectors, self.vectors), self.ridge, self.y)


@dataclass(frozen=True, eq=False)
class GreedyPath:
    """The machines after 1, 2, ... steps of each output.

    Parameters
    ----------
    gram : KernelGram
        Of all vectors of the largest machine.
    rows : array of shape (n_vectors,)
        Training row of each of them.
    outputs : tuple of Output
    objective : array of shape (n_steps, n_outputs)
        The objective after each step, NaN where an output had ended.
    """

    gram: KernelGram
    rows: Array
    outputs: tuple[Output, ...]
    objective: Array

    @property
    def n_steps(self) -> int:
        """Steps of the output that took most."""
        return max(len(output.vectors) for output in self.outputs)

    @cached_property
    def sizes(self) -> Array:  # (n_steps,)
        """Number of different vectors after each step."""
        n_steps = self.n_steps
        first_step = np.full(self.gram.n, n_steps)
        for output in self.outputs:
            np.minimum.at(first_step, output.vectors, np.arange(len(output.vectors)))
        sizes: Array = np.cumsum(np.bincount(first_step, minlength=n_steps)[:n_steps])
        return sizes

    def machine(self, n_steps: int) -> tuple[Array, Array]:
        """Coefficients (n_vectors, k) and intercepts (k,) after so many steps for each output."""
        coef, intercept = np.zeros((self.gram.n, len(self.outputs))), np.zeros(len(self.outputs))
        for o, output in enumerate(self.outputs):
            part = output.first(n_steps)
            if len(part.vectors) == 0:
                intercept[o] = output.mean
            else:
                coef[part.vectors, o], intercept[o] = part.path(self.gram).machine(len(part.vectors))
        return coef, intercept

    def at(self, max_vectors: int) -> KernelExpansion:
        """The largest machine of at most so many vectors."""
        if max_vectors < 0:
            raise ValueError(f"max_vectors must not be negative, got {max_vectors}.")
        coef, intercept = self.machine(int(np.searchsorted(self.sizes, max_vectors, side="right")))
        vectors = self.rows[:, None] if isinstance(self.gram.kernel, Precomputed) else self.gram.X
        dtype = self.gram.X.dtype
        return KernelExpansion(
            self.gram.kernel, vectors, coef.astype(dtype), intercept.astype(dtype)
        ).compact()

    def __repr__(self) -> str:
        largest = int(self.sizes[-1]) if self.n_steps else 0
        return f"GreedyPath({self.n_steps} steps, up to {largest} vectors)"
