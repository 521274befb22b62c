"""Models too large to prune as one: parts of them first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..expansion import KernelExpansion
from ..rows import Array
from .prune import prune
from .watch import with_coef

# A round of pruning in parts never takes more than half: a part loses vectors without seeing the others.
SMALLEST_SHARE = 0.5


def prune_in_parts(
    expansion: KernelExpansion,
    gram: Callable[[KernelExpansion], Array],
    n_keep: int,
    part_size: int,
    *,
    criterion: str,
    ridge: float,
    scale: Array,
) -> tuple[KernelExpansion, Array]:
    """Prune parts of neighbouring vectors, each as an expansion of its own, until `n_keep` are left in all.

    Parameters
    ----------
    expansion : KernelExpansion
    gram : callable
        Kernel matrix of the vectors of an expansion.
    n_keep : int
    part_size : int
        The largest kernel matrix held is of this size.
    criterion, ridge, scale
        As in `prune`.

    Returns
    -------
    expansion : KernelExpansion
        With `n_keep` vectors.
    rows : array
        Their numbers in the original.
    """
    rows = np.arange(expansion.n_vectors)
    while len(rows) > n_keep:
        target = max(n_keep, int(np.ceil(SMALLEST_SHARE * len(rows))))
        parts = np.array_split(np.arange(len(rows)), -(-len(rows) // part_size))
        ends = np.round(np.linspace(0, target, len(parts) + 1)).astype(int)
        kept, coef = [], []
        for part, size in zip(parts, np.diff(ends), strict=True):
            piece = expansion.take(part)
            pruned = prune(
                gram(piece), piece.coef, n_keep=int(size), criterion=criterion, ridge=ridge, scale=scale
            )
            kept.append(part[pruned.rows])
            coef.append(pruned.coef)
        chosen = np.concatenate(kept)
        expansion = with_coef(expansion, chosen, np.concatenate(coef))
        rows = rows[chosen]
    return expansion, rows
