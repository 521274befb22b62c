"""What is solved, and what a solver returns.

A `Problem` knows its objective and how far a point is from the optimum; the same number stops the solvers
and tests them. A `Solution` says in words how the solver ended and what to do next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from .errors import warn_user
from .kernels import Kernel, Precomputed, is_positive_definite
from .limits import DENSE_LIMIT_BYTES, FEW_VECTORS, check_memory
from .linalg import columns_of, copied
from .losses import Loss
from .rows import Array, Rows, cast, distinct_rows
from .words import count

# Solvers multiply kernel values with each other and add up the products.
LARGEST_KERNEL_VALUE = 1e100


def unusable_kernel_values(what: str) -> ValueError:
    """The error for kernel values that no solver can use, with the way out."""
    return ValueError(
        f"kernel: some kernel values of {what}; scale X (sklearn.preprocessing.StandardScaler does), or lower "
        "degree or gamma."
    )


def check_finite(K: Array, of: str = "X") -> None:
    """Refuse kernel values that overflowed, or whose products would."""
    # needs no second array, and is mostly all it takes
    if max(float(K.max(initial=0.0)), -float(K.min(initial=0.0))) <= LARGEST_KERNEL_VALUE:
        return
    if not np.isfinite(K).all():
        raise unusable_kernel_values(f"{of} are not finite")
    if np.abs(K).max() > LARGEST_KERNEL_VALUE:
        raise unusable_kernel_values(f"{of} are too large (above {LARGEST_KERNEL_VALUE:.0e})")


class Gram(Protocol):
    """The n x n matrix of a problem, seen through what solvers do with it."""

    @property
    def n(self) -> int:
        """Number of rows."""
        ...

    def __matmul__(self, V: Array) -> Array:
        """Product with V of shape (n, k)."""
        ...


@dataclass(frozen=True)
class KernelGram:
    """The kernel matrix of the training rows, in float64, held only where it is small enough.

    Parameters
    ----------
    kernel : Kernel
    X : array or CSR of shape (n, d)
    n_threads : int
    limit_bytes : int
        The matrix is held in memory only if it needs no more than this.
    """

    kernel: Kernel
    X: Rows
    n_threads: int = 1
    limit_bytes: int = DENSE_LIMIT_BYTES

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def is_held(self) -> bool:
        """Whether the whole matrix fits under the limit."""
        return self.n * self.n * 8 <= self.limit_bytes

    @cached_property
    def _rows(self) -> Rows:
        return cast(self.X, np.dtype(np.float64))

    @cached_property
    def _vectors(self) -> Rows:
        if isinstance(self.kernel, Precomputed):
            return np.arange(self.n)[:, None]
        return self._rows

    @cached_property
    def dense(self) -> Array:  # (n, n), not to be written to
        """The whole matrix; a MemoryError that says the bytes when it is above the limit."""
        check_memory(
            8.0 * self.n**2,
            f"the kernel matrix of {self.n} rows needs",
            "use a solver that works without it (solver='cg' of LSSVC and LSSVR), a machine that needs no such "
            f"matrix ({FEW_VECTORS}), or fewer rows",
            limit=self.limit_bytes,
        )
        return self._checked(self._vectors)

    def column(self, i: int) -> Array:  # (n,)
        """One column of the matrix."""
        if self.is_held:
            column: Array = self.dense[:, i]
            return column
        return self._checked(self._vectors[i : i + 1])[:, 0]

    def columns(self, indices: Array) -> Array:  # (n, len(indices))
        """Several columns of the matrix."""
        if self.is_held:
            return self.dense[:, indices]
        return self._checked(self._vectors[indices])

    def _checked(self, vectors: Rows) -> Array:  # (n, m)
        """Kernel values of all rows with these vectors, which must be finite."""
        K = self.kernel(self._rows, vectors, n_threads=self.n_threads)
        check_finite(K)
        return K

    def block(self, rows: Array, columns: Array) -> Array:  # (len(rows), len(columns))
        """The entries at these rows and columns."""
        if isinstance(self.kernel, Precomputed):
            part = self.X[rows][:, columns]
            K = np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float64)
        else:
            X, Z = (cast(self.X[numbers], np.dtype(np.float64)) for numbers in (rows, columns))
            K = self.kernel(X, Z, n_threads=self.n_threads)
        check_finite(K)
        return K

    def part(self, rows: Array) -> KernelGram:
        """The kernel matrix of some of the rows."""
        X = self.X[rows]
        return replace(self, X=X[:, rows] if isinstance(self.kernel, Precomputed) else X)

    def diagonal(self) -> Array:  # (n,)
        """The diagonal of the matrix."""
        with np.errstate(over="ignore"):
            diagonal = self.kernel.diag(self._rows)
        check_finite(diagonal)
        return diagonal

    def __matmul__(self, V: Array) -> Array:  # (n, k) -> (n, k)
        if self.is_held:
            product: Array = self.dense @ V
            return product
        return self.kernel.expand(self._rows, self._vectors, V, n_threads=self.n_threads)

    @property
    def is_positive_definite(self) -> bool:
        """Whether the kernel is known to be positive (semi-)definite."""
        return is_positive_definite(self.kernel)


@dataclass(frozen=True)
class FeatureGram:
    """The matrix H H' of explicit features H, never formed.

    Parameters
    ----------
    H : array of shape (n, m)
    """

    H: Array

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.H.shape[0])

    def __matmul__(self, V: Array) -> Array:  # (n, k) -> (n, k)
        return self.H @ (self.H.T @ V)


@dataclass(frozen=True)
class Problem:
    r"""Minimise :math:`\tfrac12 \alpha^\top G \alpha + \sum_i C_i\,\ell(y_i, (G\alpha)_i + b)`.

    Each column of y is a problem of its own on the same matrix G.

    Parameters
    ----------
    gram : Gram
        The matrix G: of the kernel, or H H' for features H.
    y : array of shape (n, k)
        Labels -1 and +1, or targets.
    loss : Loss
    C : array of shape (n,)
        C times the weight of each row.
    fit_intercept : bool
        Whether there is an intercept b; otherwise it is 0.
    penalize_intercept : bool
        Whether :math:`b^2 / 2` is added to the objective; otherwise b is free.
    """

    gram: Gram
    y: Array
    loss: Loss
    C: Array
    fit_intercept: bool = True
    penalize_intercept: bool = False

    def objective(self, alpha: Array, intercept: Array, outputs: Array | None = None) -> Array:  # (k,)
        """Value of the primal problem; `outputs` = G alpha if known."""
        f = self.gram @ alpha if outputs is None else outputs
        loss = self.loss.value(self.y, f + intercept)
        value: Array = 0.5 * np.einsum("ik,ik->k", alpha, f) + self.C @ loss
        return value + 0.5 * intercept**2 if self.penalize_intercept else value

    def dual_objective(self, alpha: Array, outputs: Array | None = None) -> Array:  # (k,)
        """Value of the dual problem: a lower bound of the optimum where alpha is feasible."""
        f = self.gram @ alpha if outputs is None else outputs
        conjugate = self.loss.conjugate(self.y, alpha, self.C[:, None])
        value: Array = -0.5 * np.einsum("ik,ik->k", alpha, f) - conjugate.sum(axis=0)
        free = not (self.fit_intercept and self.penalize_intercept)
        return value if free else value - 0.5 * alpha.sum(axis=0) ** 2

    def optimality(self, alpha: Array, intercept: Array, outputs: Array | None = None) -> Array:  # (k,)
        """Relative duality gap plus relative violation of the dual constraints; 0 at the optimum."""
        f = self.gram @ alpha if outputs is None else outputs
        primal = self.objective(alpha, intercept, f)
        gap = primal - self.dual_objective(alpha, f)
        size = np.abs(alpha).sum(axis=0)
        outside = np.abs(alpha - self.loss.project(self.y, alpha, self.C[:, None])).sum(axis=0)
        wanted = intercept if self.penalize_intercept else 0.0  # the sum of the coefficients
        unbalanced = np.abs(alpha.sum(axis=0) - wanted) if self.fit_intercept else np.zeros_like(size)
        tiny = np.finfo(np.float64).tiny
        relative: Array = np.abs(gap) / np.maximum(np.abs(primal), tiny)
        return relative + (outside + unbalanced) / np.maximum(size, tiny)


class Status(Enum):
    """How a solver ended; the text is for the user."""

    OPTIMAL = "the optimum was found to the tolerance asked for"
    ITERATION_LIMIT = (
        "the solver stopped at its limit of iterations before it reached the tolerance; raise max_iter, "
        "raise tol, lower C, or scale the inputs to about one"
    )
    C_TOO_LARGE = (
        "C is larger than double precision can make use of with these features, and the machine was solved for "
        "the largest C it can; lower C, or scale the inputs to about one"
    )
    STALLED = (
        "rounding kept the solver from reaching the tolerance; raise tol, lower C, or scale the inputs to "
        "about one"
    )


@dataclass(frozen=True)
class Solution:
    """Dual coefficients and intercepts, and how they were found.

    Parameters
    ----------
    alpha : array of shape (n, k)
    intercept : array of shape (k,)
    status : Status
    n_iter : int
        Largest number of iterations over the outputs.
    residual : float
        What the solver measured when it stopped, to compare with its tolerance.
    """

    alpha: Array
    intercept: Array
    status: Status
    n_iter: int
    residual: float

    def warn_if_unfinished(self, name: str, **facts: Any) -> None:
        """Issue a ConvergenceWarning that says what was reached and what to change."""
        if self.status is Status.OPTIMAL:
            return
        known = "".join(f", {key} {value}" for key, value in facts.items())
        warn_user(
            f"{name}: {self.status.value} (reached {self.residual:.2g} after "
            f"{count(self.n_iter, 'iteration')}{known}).",
            ConvergenceWarning,
        )


@dataclass(frozen=True)
class Dictionary:
    """The columns a machine may use: a constant, then the kernel with each distinct training row.

    Parameters
    ----------
    K : array of shape (n, m)
    rows : array of shape (m,)
        Training row of each column of K.
    """

    K: Array
    rows: Array

    @cached_property
    def columns(self) -> Array:  # (n, 1 + m)
        """All columns, the constant first."""
        n, m = self.K.shape
        out = np.empty((n, 1 + m))
        out[:, 0] = 1.0
        copied(self.K, into=out[:, 1:])
        return out

    @property
    def kernel(self) -> Array:  # (1 + m, 1 + m)
        """Kernel values of the columns' rows with each other, zero for the constant."""
        m = len(self.rows)
        inner = np.zeros((1 + m, 1 + m))
        copied(self.K if m == len(self.K) else self.K[self.rows], into=inner[1:, 1:])
        return inner


def make_dictionary(gram: KernelGram, *, distinct: bool = False) -> Dictionary:
    """All columns of the kernel matrix, equal rows once; `distinct` if it is known that there are none."""
    K = gram.dense
    rows = np.arange(gram.n) if distinct else distinct_rows(gram.X)[0]
    return Dictionary(K if distinct else columns_of(K, rows), rows)
