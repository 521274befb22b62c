r"""A sparse Bayesian model while it grows: the candidates, those in the model, and what each step would gain.

For a Gaussian likelihood with precisions b of the rows the marginal likelihood as a function of one precision
depends only on

.. math:: S_j = \phi_j^\top C^{-1}\phi_j, \qquad Q_j = \phi_j^\top C^{-1} z, \qquad
    C = \mathrm{diag}(1/b) + \sum_{j\ \mathrm{in}} \phi_j\phi_j^\top / a_j ,

so the best precision of each column and its gain are known in closed form. A step updates S, Q, the posterior
mean and covariance by rank-one formulas in O(n m). Only a new column costs a pass over the dictionary, and only
a new b a pass for all columns in the model. Nothing of size n x n is needed; a kernel matrix that fits in
memory is used if it is there.

References
----------
Tipping and Faul (2003), *Fast marginal likelihood maximisation for sparse Bayesian models*, AISTATS.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ...limits import check_columns
from ...linalg import cholesky_factor, inverse_of_factored
from ...problem import KernelGram
from ...rows import Array, block_slices, distinct_rows

# A column whose part outside the model is this small, relative to the column, brings rounding errors only.
ALIGNED = 1e-10
# Candidates whose products with the dictionary are computed together, the most promising ones: a pass over the kernel
# matrix costs hardly more for a few than for one, as it waits for memory, and one that computes the kernel values
# hardly more for twice as many.
PREFETCH_HELD, PREFETCH = 8, 16
# Columns in the model and their products with the dictionary, and each once more while a column is added.
COPIES = 4


class CandidateColumns:
    """The candidates: a constant column, then the kernel with each distinct row.

    Parameters
    ----------
    gram : KernelGram
    """

    def __init__(self, gram: KernelGram) -> None:
        self.gram = gram
        self.rows = np.sort(distinct_rows(gram.X)[0])
        self.n_rows = gram.n
        self.n_columns = 1 + len(self.rows)
        self.is_held = gram.is_held
        everything = np.array_equal(self.rows, np.arange(gram.n))
        self._K = (gram.dense if everything else gram.dense[:, self.rows]) if self.is_held else None

    def take(self, columns: Array) -> Array:  # (n, k)
        """Some columns."""
        out = np.ones((self.n_rows, len(columns)))
        kernel = np.flatnonzero(columns > 0)
        if len(kernel):
            out[:, kernel] = self.gram.columns(self.rows[columns[kernel] - 1])
        return out

    def project(self, V: Array) -> Array:  # (n, k) -> (n_columns, k)
        """Products of every column with the columns of V."""
        out = np.empty((self.n_columns, V.shape[1]))
        out[0] = V.sum(axis=0)
        if self._K is not None:
            out[1:] = (V.T @ self._K).T  # the order of rows in memory makes this twice as fast as K'V
        else:
            out[1:] = (self.gram @ V)[self.rows]  # kernels that are not held are symmetric
        return out

    def squares(self, weight: Array) -> Array:  # (n,) -> (n_columns,)
        """Weighted sum of squares of every column."""
        out = np.empty(self.n_columns)
        out[0] = weight.sum()
        if self._K is not None:
            np.einsum("i,ij,ij->j", weight, self._K, self._K, out=out[1:])
            return out
        for block in block_slices(len(self.rows), 16 * self.n_rows):
            K = self.gram.columns(self.rows[block])
            out[1 + block.start : 1 + block.stop] = weight @ np.square(K)
        return out


@dataclass(frozen=True)
class SparseBayes:
    """A sparse Bayesian model.

    Parameters
    ----------
    columns : array of shape (m,)
        Numbers of the columns in the model.
    mean : array of shape (m,)
        Posterior mean of their weights.
    covariance : array of shape (m, m)
    precision : array of shape (m,)
        Of their priors.
    noise_precision : float
        Of the targets; 1 for classification.
    log_marginal_likelihood : float
        Laplace's approximation of it for classification.
    n_iter : int
        Steps of the inner loop, or rounds of EM.
    gain : float
        What the best next step would have gained.
    converged : bool
    """

    columns: Array
    mean: Array
    covariance: Array
    precision: Array
    noise_precision: float
    log_marginal_likelihood: float
    n_iter: int
    gain: float
    converged: bool


class GrowingModel:
    """Columns in the model, their posterior, and S and Q of every candidate, for given b and z."""

    def __init__(self, source: CandidateColumns) -> None:
        self.source = source
        self.columns = np.empty(0, dtype=np.intp)
        self.precision = np.empty(0)
        self.Phi = np.empty((source.n_rows, 0))
        self.mean = np.empty(0)
        self.covariance = np.empty((0, 0))
        self.G = np.empty((source.n_columns, 0))  # Phi_all' diag(b) Phi
        self._cache: dict[int, Array] = {}

    def weigh(self, b: Array, z: Array) -> None:
        """New precisions of the rows and working targets: everything is computed afresh."""
        self.b = b
        self._cache.clear()
        projected = self.source.project(np.column_stack([b * z, b[:, None] * self.Phi]))
        self.Q0, self.G = projected[:, 0], projected[:, 1:].copy()
        self.S0 = self.source.squares(b)
        self.scale = 1.0
        self.refresh(1.0)

    def refresh(self, scale: float) -> None:
        """Posterior, S and Q from G, with b multiplied by `scale` (the noise precision)."""
        self.scale = scale
        if len(self.columns) == 0:
            self.S, self.Q = scale * self.S0, scale * self.Q0
            return
        H = scale * self.G[self.columns]
        np.einsum("ii->i", H)[:] += self.precision
        L = cholesky_factor(H)
        self.covariance = inverse_of_factored(L)
        self.mean = scale * (self.covariance @ self.Q0[self.columns])
        half = linalg.solve_triangular(L, scale * self.G.T, lower=True, check_finite=False)  # (m, M)
        self.S = scale * self.S0 - np.einsum("ij,ij->j", half, half)
        self.Q = scale * (self.Q0 - self.G @ self.mean)

    def best_step(self) -> tuple[int, float, float]:
        """Candidate, its new precision (infinity: leave the model) and the gain: T&F's theta and Delta L."""
        S, Q = np.maximum(self.S, 0.0), self.Q
        theta = Q * Q - S
        with np.errstate(all="ignore"):
            gain = np.where(theta > 0, 0.5 * (theta / S + np.log(S / (Q * Q))), -np.inf)  # enter
            new = np.where(theta > 0, S * S / theta, np.inf)
            gain[S <= ALIGNED * self.scale * self.S0] = -np.inf
            a, J = self.precision, self.columns
            Sj, Qj = np.minimum(S[J], a * (1.0 - ALIGNED)), Q[J]
            s, q = a * Sj / (a - Sj), a * Qj / (a - Sj)
            inside = q * q - s
            better = np.where(inside > 0, s * s / inside, np.inf)
            shift = 1.0 / better - 1.0 / a
            change = 0.5 * (Qj * Qj * shift / (Sj * shift + 1.0) - np.log1p(Sj * shift))  # re-estimate
            leave = 0.5 * (Qj * Qj / (Sj - a) - np.log1p(-Sj / a))
            gain[J] = np.where(inside > 0, change, leave if len(J) > 1 else -np.inf)
            new[J] = better
        gain[~np.isfinite(gain)] = -np.inf
        best = int(gain.argmax())
        return best, float(new[best]), float(gain[best])

    def take_step(self, candidate: int, precision: float) -> None:
        """Enter, re-estimate or leave, by rank-one updates."""
        position = np.flatnonzero(self.columns == candidate)
        if len(position) == 0:
            self._enter(candidate, precision)
            return
        k = int(position[0])
        column = self.covariance[:, k].copy()
        leaves = np.isinf(precision)
        if leaves:
            factor = 1.0 / column[k]
        else:
            change = precision - self.precision[k]
            pivot = 1.0 + change * column[k]
            if pivot < ALIGNED:  # the update would divide by rounding: compute everything afresh
                self.precision = self.precision.copy()
                self.precision[k] = precision
                self.refresh(self.scale)
                return
            factor = change / pivot
        v = self.scale * (self.G @ column)
        self.S += factor * v * v
        self.Q += factor * self.mean[k] * v
        self.mean = self.mean - factor * self.mean[k] * column
        self.covariance = self.covariance - factor * np.multiply.outer(column, column)
        self.precision = self.precision.copy()
        self.precision[k] = precision
        if leaves:
            kept = np.arange(len(self.columns)) != k
            self.columns, self.precision, self.mean = (
                self.columns[kept],
                self.precision[kept],
                self.mean[kept],
            )
            self.covariance = self.covariance[np.ix_(kept, kept)]
            self.Phi, self.G = self.Phi[:, kept], self.G[:, kept]

    def _enter(self, candidate: int, precision: float) -> None:
        g = self._products(candidate)
        variance = 1.0 / (precision + self.S[candidate])
        mean = variance * self.Q[candidate]
        shared = self.scale * (self.covariance @ self.G[candidate])
        v = self.scale * (g - self.G @ shared)
        self.S -= variance * v * v
        self.Q -= mean * v
        m = len(self.columns)
        covariance = np.empty((m + 1, m + 1))
        covariance[:m, :m] = self.covariance + variance * np.multiply.outer(shared, shared)
        covariance[:m, m] = covariance[m, :m] = -variance * shared
        covariance[m, m] = variance
        self.covariance = covariance
        self.mean = np.append(self.mean - mean * shared, mean)
        self.columns = np.append(self.columns, candidate)
        self.precision = np.append(self.precision, precision)
        check_columns(self.source.n_rows, m + 1, "raise tol or gamma, or lower max_iter", times=COPIES)
        self.Phi = np.column_stack([self.Phi, self.source.take(np.array([candidate]))])
        self.G = np.column_stack([self.G, g])

    def _products(self, candidate: int) -> Array:  # (n_columns,)
        if candidate not in self._cache:
            # the next ones are probably among the most promising of now
            with np.errstate(all="ignore"):
                promise = np.where(self.S > 0, self.Q**2 / self.S, 0.0)
            promise[self.columns] = 0.0
            promise[list(self._cache)] = 0.0
            promise[candidate] = np.inf
            n_wanted = PREFETCH_HELD if self.source.is_held else PREFETCH
            wanted = np.argsort(-promise, kind="stable")[:n_wanted]
            if not self.source.is_held:
                self._cache.clear()
            products = self.source.project(self.b[:, None] * self.source.take(wanted))
            self._cache.update({int(j): products[:, k] for k, j in enumerate(wanted)})
        return self._cache[candidate]

    def improve(self, budget: int, tol: float) -> tuple[int, float]:
        """Take up to `budget` steps of at least gain `tol`: steps taken, and the gain of the next one."""
        for taken in range(budget):
            candidate, precision, gain = self.best_step()
            if gain < tol:
                return taken, gain
            self.take_step(candidate, precision)
        return budget, self.best_step()[2]

    def resume(self, model: SparseBayes, kept: Array) -> None:
        """Begin with some columns of a model; `weigh` follows."""
        self.columns, self.precision = model.columns[kept], model.precision[kept]
        self.mean = model.mean[kept]
        self.Phi = self.source.take(self.columns)

    def start(self) -> None:
        """Begin with the column most like the targets, at its best precision (the constant if none helps)."""
        with np.errstate(all="ignore"):
            likeness = np.where(self.S > 0, self.Q**2 / self.S, 0.0)
        first = int(likeness.argmax())
        theta = self.Q[first] ** 2 - self.S[first]
        if not theta > 0:
            first = 0
            theta = max(self.Q[0] ** 2 - self.S[0], 1e-3 * self.S[0])
        self.take_step(first, float(self.S[first] ** 2 / theta))
