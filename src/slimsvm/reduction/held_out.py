"""Rows held out: how well what is fitted to some rows does on the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..expansion import KernelExpansion
from ..rows import Array, Rows, narrowed
from .refine import Fitting
from .start import Start
from .task import Mistakes

N_FOLDS = 5
# Enough rows to tell two ways to fit apart; of more, so many are taken at random.
MOST_ROWS = 2000

Fit = Callable[[Fitting], KernelExpansion]


def folds(X: Rows) -> Iterator[tuple[Array, Array]]:
    """Rows to fit and rows to test; the order of the rows does not matter, and copies of a row stay together.

    Examples
    --------
    >>> X = np.arange(12.0)[:, None]
    >>> sorted(int(row) for _, held in folds(X) for row in held) == list(range(12))
    True
    """
    X = narrowed(X, X[:0])[0]
    rng = np.random.default_rng(0)
    # equal rows have equal products, other rows different ones
    points, at = np.unique(X @ rng.standard_normal(X.shape[1]), return_inverse=True)
    place = rng.permutation(len(points))[at]
    n_folds = min(N_FOLDS, len(points))
    for fold in range(n_folds if n_folds > 1 else 0):
        held = place % n_folds == fold
        yield np.flatnonzero(~held & (place < MOST_ROWS)), np.flatnonzero(held & (place < MOST_ROWS))


def better_held_out(target: Fitting, other: Fitting, fit: Fit, *, n_threads: int) -> Fitting:
    """The other target if it is better on rows held out by more than a standard error of the difference."""
    gains = [np.zeros(0)]
    for kept, held in folds(target.X):
        mine, others = (t.take(held).losses(fit(t.take(kept)), n_threads=n_threads) for t in (target, other))
        gains.append(mine - others)
    gain = np.concatenate(gains)
    return other if gain.sum() > np.sqrt(len(gain)) * np.std(gain) else target


def mistakes_held_out(start: Start, target: Fitting, fit: Fit) -> float:
    """Share of mistakes on rows held out, without blur: margins of pairs and of classes have different sizes."""
    task = start.task
    assert isinstance(task, Mistakes)
    found = [(held, fit(target.take(kept))) for kept, held in folds(start.X)]
    if not found:  # all rows are one point
        return 0.0
    rows = np.concatenate([held for held, _ in found])
    outputs = np.vstack([model(start.X[held], n_threads=start.n_threads) for held, model in found])
    wrong = task.take(rows).errors(outputs) > 0.5
    weight = task.weight[rows]
    return float(weight @ wrong / weight.sum())
