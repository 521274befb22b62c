"""Refining a reduced expansion: fewer vectors that need not be among the original ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..expansion import KernelExpansion
from ..kernels import RBF
from ..losses import Squared
from ..progress import tell
from ..refinement import (
    RbfModel,
    RoundedHinge,
    SmoothLoss,
    fit_coefficients,
    fit_expansion,
    kernel_blocks,
    nearest_vectors,
    refine_jointly,
)
from ..rows import Array, Rows, dense
from ..words import count
from .task import Margins, Targets, Task

# The search over sizes ends when the sizes that do and do not keep the loss are this near.
SIZE_RATIO = 1.1
# A function that follows given outputs is held to their size: the penalty on its norm is this share of what
# the original function would cost. With many features the outputs at the rows say little about those between them,
# and a larger share is better.
OUTPUT_PENALTY, LARGER_PENALTY = 1e-4, 1e-2


@dataclass(frozen=True)
class Fitting:
    """What the coefficients and vectors are fitted to.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
    Y, weights : arrays of shape (n, k)
    loss : SmoothLoss
    penalty : array of shape (k,)
    """

    X: Rows
    Y: Array
    weights: Array
    loss: SmoothLoss
    penalty: Array

    def take(self, rows: Array) -> Fitting:
        """The same on these rows alone, with their weights as they are."""
        return replace(self, X=self.X[rows], Y=self.Y[rows], weights=self.weights[rows])

    def losses(self, expansion: KernelExpansion, *, n_threads: int) -> Array:  # (n,)
        """What each row costs, weighted, without the norm."""
        outputs = expansion(self.X, n_threads=n_threads)
        costs: Array = (self.weights * self.loss.value(self.Y, outputs)).sum(axis=1)
        return costs

    def refine(self, expansion: KernelExpansion, *, max_iter: int) -> KernelExpansion:
        """Fit vectors, coefficients and intercept; starts from those of the expansion."""
        Z = dense(expansion.vectors).astype(np.float64)
        Z, B, b = fit_expansion(
            expansion.kernel, dense(self.X).astype(np.float64), self.Y, self.weights, self.loss, self.penalty,
            Z, expansion.coef.astype(np.float64), expansion.intercept.astype(np.float64), max_iter=max_iter,
        )  # fmt: skip
        return _expansion_like(expansion, Z, B, b)

    def move(
        self, expansion: KernelExpansion, scale: Array, *, max_iter: int, n_threads: int
    ) -> KernelExpansion:
        """Like `refine`, and for an RBF kernel, where it is fast, one factor on the widths too.

        Outputs are worked with in units of `scale` (k,), which is 1 for margins.
        """
        kernel = expansion.kernel
        d = expansion.vectors.shape[1]
        if not isinstance(kernel, RBF) or not np.all(kernel.widths(d) > 0):
            return self.refine(expansion, max_iter=max_iter)
        Z, B, b, Y, weights, X = (
            np.ascontiguousarray(part, dtype=np.float64)
            for part in (
                dense(expansion.vectors),
                expansion.coef / scale,
                expansion.intercept / scale,
                self.Y / scale,
                self.weights * scale**2,
                dense(self.X),
            )
        )
        start = RbfModel(Z, B, b, np.log(kernel.widths(d)))
        penalty = self.penalty * scale**2
        follows = isinstance(self.loss, Squared)
        if follows:  # solving for the coefficients takes one penalty for all outputs
            penalty = np.full_like(penalty, penalty.mean())
        moved, _, _ = refine_jointly(
            start, X, Y, weights, self.loss, penalty, widths="one", eliminate=follows, max_iter=max_iter,
            n_threads=n_threads,
        )  # fmt: skip
        widths = np.exp(moved.log_widths).tolist()
        kernel = RBF(tuple(widths) if isinstance(kernel.gamma, tuple) else widths[0])
        like = replace(expansion, kernel=kernel)
        return _expansion_like(like, moved.vectors, moved.coef * scale, moved.intercept * scale)

    def refit(
        self, expansion: KernelExpansion, Kzz: Array, *, max_iter: int, n_threads: int
    ) -> KernelExpansion:
        """Fit coefficients and intercept; Kzz is the kernel matrix of the vectors."""
        blocks = kernel_blocks(expansion.kernel, self.X, expansion.vectors, n_threads=n_threads)
        B, b = fit_coefficients(
            blocks, Kzz, self.Y, self.weights, self.loss, self.penalty,
            expansion.coef.astype(np.float64), expansion.intercept.astype(np.float64), max_iter=max_iter,
        )  # fmt: skip
        return _expansion_like(expansion, expansion.vectors, B, b)


def _expansion_like(expansion: KernelExpansion, Z: Rows, B: Array, b: Array) -> KernelExpansion:
    dtype = expansion.coef.dtype
    vectors = Z if Z is expansion.vectors else Z.astype(dtype)
    return KernelExpansion(expansion.kernel, vectors, B.astype(dtype), b.astype(dtype))


def fitting(coef: Array, norms: Array, X: Rows, outputs: Array, task: Task) -> Fitting:
    """The loss that the model itself minimised, as far as the model tells.

    For classifiers it is the hinge with the model's own C, which is the largest of its coefficients; models
    of targets or of nothing are followed in their outputs, so that noise in the targets is not learnt again.

    Parameters
    ----------
    coef : array of shape (m, k)
        Coefficients of the model.
    norms : array of shape (k,)
        Squared norm of its functions.
    X : array or CSR of shape (n, d)
    outputs : array of shape (n, k)
        Of the model, on X.
    task : Task
    """
    if isinstance(task, Margins):
        C = np.abs(coef).max(axis=0).astype(np.float64)
        C = np.where(C > 0, C, 1.0)
        weights = np.abs(task.signs) * task.weight[:, None]
        total = weights.sum()
        weights /= total
        return Fitting(X, task.signs, weights, RoundedHinge(), 1.0 / (C * total))
    assert isinstance(task, Targets)
    return following(norms, X, outputs, task)


def following(norms: Array, X: Rows, outputs: Array, units: Targets) -> Fitting:
    """The squared difference from the outputs of the model, each in units of its variance.

    Parameters
    ----------
    norms, X, outputs
        As in `fitting`.
    units : Targets
        What the variances and the weights are taken from.
    """
    k = outputs.shape[1]
    share = units.weight / units.weight.sum()
    weights = np.multiply.outer(share, 1.0 / (k * units.variance))
    penalty = OUTPUT_PENALTY / (k * np.where(norms > 0, norms, 1.0))
    return Fitting(X, outputs, weights, Squared(), penalty)


def refine(
    original: KernelExpansion,
    start: Callable[[int], Array],
    target: Fitting,
    n_vectors: int,
    scale: Array,
    *,
    max_iter: int,
) -> KernelExpansion:
    """An expansion on `n_vectors` vectors: nearest in the feature space first, then best in the loss.

    Parameters
    ----------
    original : KernelExpansion
    start : callable
        From a number to the numbers of so many of the original vectors.
    target : Fitting
    n_vectors : int
    scale : array of shape (k,)
        Size of each output.
    max_iter : int
        Limit of the optimiser's iterations in each of the two stages.
    """
    return target.refine(nearest(original, start(n_vectors), scale, max_iter=max_iter), max_iter=max_iter)


def nearest(original: KernelExpansion, rows: Array, scale: Array, *, max_iter: int) -> KernelExpansion:
    """The nearest expansion in the feature space on as many vectors, which begin at these rows."""
    S = dense(original.vectors).astype(np.float64)
    A = original.coef / scale
    Z, B = nearest_vectors(original.kernel, S, A, S[rows], max_iter=max_iter)
    return _expansion_like(original, Z, B * scale, original.intercept)


def smallest(
    refined: Callable[[int], KernelExpansion],
    loss: Callable[[KernelExpansion], float],
    limit: float,
    n_good: int,
) -> tuple[KernelExpansion | None, list[int], list[float]]:
    """Bisection over the size for the fewest vectors whose loss stays below the limit.

    Parameters
    ----------
    refined : callable
        From a size to an expansion.
    loss : callable
    limit : float
    n_good : int
        A size known to be good.

    Returns
    -------
    expansion : KernelExpansion or None
        None if no smaller size is good enough.
    sizes, values : lists
        What was tried, and its loss.
    """
    best, sizes, values = None, [], []
    n_bad = 0
    while n_good - n_bad > 1 and n_good > SIZE_RATIO * n_bad:
        size = int(np.sqrt(n_good * max(n_bad, 1)))
        size = min(max(size, n_bad + 1), n_good - 1)
        candidate = refined(size)
        value = loss(candidate)
        sizes.append(size)
        values.append(value)
        good = "good enough" if value <= limit else "not good enough"
        tell("trying sizes", len(sizes), None, f"{count(size, 'vector')}: {good}")
        if value <= limit:
            best, n_good = candidate, size
        else:
            n_bad = size
    return best, sizes, values
