r"""Selection by Cholesky factorisation: keep a row when the kept ones do not already span it.

With J the rows kept so far and :math:`K_{JJ} = LL^\top`, the residual of row a is

.. math:: d_a = k(x_a, x_a) - |L^{-1} k_J(x_a)|^2 ,

the squared distance, in feature space, of :math:`x_a` from the span of the kept rows. Three rules differ in the
row they look at next: the rows in order, keeping those whose residual exceeds eta; the row of largest residual;
a row drawn with probability proportional to its residual. None forms the kernel matrix: each works in blocks of
rows whose cost is matrix products.

References
----------
Iwamura and Abe (2008), doi:10.1109/IJCNN.2008.4634131, eq. (9)-(12) (rows in order); Fine and Scheinberg (2001),
JMLR 2:243-264 (largest residual); Chen, Epperly, Tropp and Webber (2025), doi:10.1002/cpa.22234, and Epperly,
Tropp and Webber (2024), arXiv:2410.03969 (random, and its blocks by rejection).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from ...kernels import Linear
from ...limits import check_columns, check_memory
from ...problem import KernelGram
from ...progress import tell
from ...rows import Array

# Rows looked at together: their matrix products are worth a call, their own Cholesky steps stay small.
BLOCK_ROWS = 128
# Candidates of a block of the pivoted rules.
CANDIDATES = 256
# A residual below this share of k(x, x) is rounding: such a row depends on the kept ones.
ROUNDING = 1e-12
# What helps against too many vectors.
FEWER = "raise eta, lower gamma, or set max_vectors (to 500 for instance)"


@dataclass(frozen=True)
class Selection:
    """Rows in the order of their choice.

    Parameters
    ----------
    rows : array of shape (m,)
        Row numbers.
    factor : array of shape (m, m)
        Lower triangular L with L L' the kernel matrix of these rows.
    """

    rows: Array
    factor: Array

    def first(self, m: int) -> Selection:
        """The selection of the first m rows."""
        return Selection(self.rows[:m], self.factor[:m, :m])


# A rule of selection: (gram, *, eta, max_vectors, rng) -> Selection.
Rule: TypeAlias = Callable[..., Selection]


def thresholds(diagonal: Array, eta: float) -> Array:  # (n,)
    """What the residual of each row must exceed: eta, and what may be rounding of k(x, x)."""
    return np.maximum(eta, ROUNDING * np.abs(diagonal))


def most_rows(gram: KernelGram, diagonal: Array, eta: float, max_vectors: int | None) -> int:
    """The largest number of rows a rule may keep; an error when eta keeps none."""
    if not (diagonal > thresholds(diagonal, eta)).any():
        raise ValueError(
            f"eta={eta:g} keeps no row: the largest k(x, x) is {diagonal.max(initial=0.0):g}; lower eta below it."
        )
    if max_vectors is not None and max_vectors < 1:
        raise ValueError(f"max_vectors must be at least 1, got {max_vectors}.")
    rank = gram.X.shape[1] if isinstance(gram.kernel, Linear) else gram.n
    return min(rank, gram.n, gram.n if max_vectors is None else max_vectors)


def check_size(n: int, m: int) -> None:
    """Refuse a selection that has become too large: its factor, or the features of all rows, which follow."""
    check_memory(8.0 * m * m, f"the Cholesky factor of the {m} vectors selected so far needs", FEWER)
    check_columns(n, m, FEWER)


class _Factor:
    """A lower triangular factor that grows by blocks."""

    def __init__(self, n: int, capacity: int) -> None:
        self.m = 0
        self._n = n
        self._array = np.zeros((min(capacity, BLOCK_ROWS), min(capacity, BLOCK_ROWS)))
        self._capacity = capacity

    @property
    def array(self) -> Array:  # (m, m)
        return self._array[: self.m, : self.m]

    def append(self, below: Array, corner: Array) -> None:
        """Add rows [below, corner]."""
        size = self.m + len(corner)
        check_size(self._n, size)
        if size > len(self._array):
            grown = min(self._capacity, max(size, 2 * len(self._array)))
            larger = np.zeros((grown, grown))
            larger[: self.m, : self.m] = self.array
            self._array = larger
        self._array[self.m : size, : self.m] = below
        self._array[self.m : size, self.m : size] = corner
        self.m = size


def _eliminate(S: Array, choose: Callable[[Array], int | None], limit: int) -> tuple[list[int], Array]:
    """Cholesky steps on the small matrix S in the order `choose` asks for, until it says None.

    Returns the chosen positions and the columns of the factor, shape (len(S), n_chosen).
    """
    S = S.copy()
    residual = np.einsum("ii->i", S)
    chosen: list[int] = []
    columns = np.empty((len(S), min(limit, len(S))))
    while len(chosen) < columns.shape[1]:
        position = choose(residual)
        if position is None:
            break
        column = S[:, position] / np.sqrt(S[position, position])  # eq. (10), (11)
        column[chosen] = 0.0
        columns[:, len(chosen)] = column
        S -= np.outer(column, column)
        residual[position] = 0.0
        chosen.append(position)
    return chosen, columns[:, : len(chosen)]


def _eliminate_in_order(S: Array, threshold: Array, limit: int) -> tuple[Array, Array]:
    """Cholesky steps on S row after row, leaving out rows whose residual is at most their threshold.

    LAPACK factorises as far as the rows are all accepted; behind the first one that is not, the rest goes on
    with what remains of it. Returns the accepted positions and the rows of the factor, (n_chosen, n_chosen).
    """
    alive = np.arange(len(S))
    chosen = np.empty(0, dtype=np.intp)
    columns = np.empty((len(S), min(limit, len(S))))  # the factor, for every row of S
    while alive.size and chosen.size < columns.shape[1]:
        factor, failed = lapack.dpotrf(S, lower=1, clean=1)
        pivots = np.square(np.einsum("ii->i", factor))
        refused = np.flatnonzero(~(pivots > threshold[alive]))
        accepted = min(
            int(refused[0]) if refused.size else len(alive),
            failed - 1 if failed > 0 else len(alive),
            columns.shape[1] - chosen.size,
        )
        done = slice(chosen.size, chosen.size + accepted)
        factor = factor[:accepted, :accepted]
        columns[alive[:accepted], done] = factor
        rest = slice(accepted + 1, None)
        below = linalg.solve_triangular(factor, S[rest, :accepted].T, lower=True, check_finite=False).T
        columns[alive[rest], done] = below
        chosen = np.concatenate([chosen, alive[:accepted]])
        S = S[rest, rest] - below @ below.T
        alive = alive[rest]
        still = np.flatnonzero(np.einsum("ii->i", S) > threshold[alive])
        S, alive = S[np.ix_(still, still)], alive[still]
    return chosen, np.tril(columns[chosen, : chosen.size])


def select_in_order(
    gram: KernelGram, *, eta: float, max_vectors: int | None = None, rng: np.random.Generator | None = None
) -> Selection:
    """Run through the rows and keep each whose residual exceeds eta, eq. (12).

    Memory is O(m^2 + block * m); the rows that are not kept leave nothing behind.
    """
    diagonal = gram.diagonal()
    threshold = thresholds(diagonal, eta)
    capacity = most_rows(gram, diagonal, eta, max_vectors)
    factor = _Factor(gram.n, capacity)
    kept = np.empty(0, dtype=np.intp)
    for start in range(0, gram.n, BLOCK_ROWS):
        block = np.arange(start, min(start + BLOCK_ROWS, gram.n))
        tell("selecting vectors", start + len(block), gram.n)
        known = linalg.solve_triangular(
            factor.array, gram.block(kept, block), lower=True, check_finite=False
        ) if kept.size else np.empty((0, len(block)))  # fmt: skip
        candidates = np.flatnonzero(diagonal[block] - np.einsum("ij,ij->j", known, known) > threshold[block])
        if candidates.size == 0:
            continue
        block, known = block[candidates], known[:, candidates]
        S = gram.block(block, block) - known.T @ known
        chosen, corner = _eliminate_in_order(S, threshold[block], capacity - kept.size)
        factor.append(known[:, chosen].T, corner)
        kept = np.concatenate([kept, block[chosen]])
        if kept.size == capacity:
            break
    return Selection(kept, factor.array.copy())


def _select_by_residual(
    gram: KernelGram,
    eta: float,
    max_vectors: int | None,
    propose: Callable[[Array, Array], tuple[Array, Callable[[Array], int | None]]],
) -> Selection:
    """Blocks of candidates by residual; `propose` gives the candidates and the rule within the block.

    Memory is O(n m): V = K[:, J] L^-T is kept for all rows.
    """
    diagonal = gram.diagonal()
    threshold = thresholds(diagonal, eta)
    capacity = most_rows(gram, diagonal, eta, max_vectors)
    residual = diagonal.copy()
    V = np.empty((gram.n, min(capacity, BLOCK_ROWS)))
    kept: list[int] = []
    while (m := len(kept)) < capacity:
        open_residual = np.where(residual > threshold, residual, 0.0)
        if not open_residual.any():
            break
        candidates, choose = propose(open_residual, threshold)
        known = V[candidates, :m]
        chosen, columns = _eliminate(
            gram.block(candidates, candidates) - known @ known.T, choose, capacity - m
        )
        rows, corner = candidates[chosen], columns[chosen]
        check_size(gram.n, m + len(rows))
        if m + len(rows) > V.shape[1]:
            wider = np.empty((gram.n, min(capacity, max(m + len(rows), 2 * V.shape[1]))))
            wider[:, :m] = V[:, :m]
            V = wider
        new = gram.columns(rows) - V[:, :m] @ known[chosen].T  # (n, b)
        new = linalg.solve_triangular(corner, new.T, lower=True, check_finite=False, overwrite_b=True).T
        V[:, m : m + len(rows)] = new
        residual -= np.einsum("ij,ij->i", new, new)
        residual[rows] = 0.0
        kept.extend(rows.tolist())
        tell("selecting vectors", len(kept), max_vectors)
    chosen_rows = np.array(kept, dtype=np.intp)
    return Selection(chosen_rows, np.tril(V[chosen_rows, : len(kept)]))


def select_pivoted(
    gram: KernelGram, *, eta: float, max_vectors: int | None = None, rng: np.random.Generator | None = None
) -> Selection:
    """Keep the row of largest residual again and again, the first of equal ones, until all are at most eta.

    The candidates of a block are the rows of largest residual. Residuals only fall, so the best candidate is
    the best row of all as long as no row outside the block had a larger residual when the block began.
    """

    def propose(residual: Array, threshold: Array) -> tuple[Array, Callable[[Array], int | None]]:
        order = np.argsort(-residual, kind="stable")
        candidates = order[:CANDIDATES]
        outside = residual[order[CANDIDATES]] if len(order) > CANDIDATES else 0.0
        first = True

        def largest(current: Array) -> int | None:
            nonlocal first
            position = int(current.argmax())
            value = current[position]
            # a tie with a row outside is broken by row number, and that row may be the lower one
            certain = first or value > outside
            first = False
            return position if certain and value > threshold[candidates[position]] else None

        return candidates, largest

    return _select_by_residual(gram, eta, max_vectors, propose)


def select_random(
    gram: KernelGram, *, eta: float, max_vectors: int | None = None, rng: np.random.Generator | None = None
) -> Selection:
    """Keep rows drawn with probability proportional to their residual.

    A block is drawn with the residuals at its start; a draw whose residual has fallen since is accepted with
    the probability that makes up for it, so that the distribution is that of one draw at a time.
    """
    if rng is None:
        rng = np.random.default_rng()

    def propose(residual: Array, threshold: Array) -> tuple[Array, Callable[[Array], int | None]]:
        draws = rng.choice(len(residual), size=min(CANDIDATES, len(residual)), p=residual / residual.sum())
        candidates, position_of = np.unique(draws, return_inverse=True)
        queue = iter(position_of.tolist())
        before, limits = residual[candidates], threshold[candidates]

        def accepted(current: Array) -> int | None:
            for position in queue:
                enough = current[position] > limits[position]
                if enough and rng.random() < current[position] / before[position]:
                    return int(position)
            return None

        return candidates, accepted

    return _select_by_residual(gram, eta, max_vectors, propose)


SELECTIONS: dict[str, Rule] = {
    "cholesky": select_in_order,
    "pivoted_cholesky": select_pivoted,
    "random_cholesky": select_random,
}


def as_rule(selection: str | Rule) -> Rule:
    """The rule of this name, or the rule itself."""
    return SELECTIONS[selection] if isinstance(selection, str) else selection
