r"""Iterative reweighting: the zero-norm as a sequence of convex problems.

Each round solves a problem whose penalty on coefficient j is weighed by the coefficient of the round before,
:math:`\alpha_j^2 / a_j^2` or :math:`|\alpha_j| / |a_j|`, so that at a fixed point every coefficient that is
not zero costs the same: the value of the penalty is their number. A coefficient that falls far below the largest is
zero for good, and its column leaves the problem: after a few rounds little is left to solve.

What the rounds descend on is the loss plus :math:`\sum_j \log|\alpha_j|` over the columns left, since
:math:`\tfrac12\log\alpha_j^2 \le \tfrac12\log a_j^2 + \tfrac12(\alpha_j^2/a_j^2 - 1)` with equality at
:math:`\alpha_j = a_j`. At a fixed point the slope of the loss is therefore :math:`-1/\alpha_j`. That is no stationary
point of the loss plus the number of coefficients, whose local minima are the minima of the loss on any set of columns
(the number is constant along those, and one more costs at once what no small step gains): the coefficients are shrunk.

`reweighted` is the loop; a method's room has what makes one round of it. `trained_on_columns` makes a model of the
outcome.

References
----------
Huang et al. (2010), doi:10.1016/j.patrec.2010.06.017; Weston et al. (2003), *Use of the zero-norm with linear
models and kernel methods*, JMLR 3; Figueiredo (2003), doi:10.1109/TPAMI.2003.1227989.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from ..kernels import Kernel
from ..linalg import columns_of
from ..problem import Dictionary
from ..progress import tell
from ..rows import Array
from ..training import Trained, TrainingSet
from ..words import count

# A coefficient this far below the largest is zero for good. In the quadratic variant a dying coefficient is
# squared in each round, so it passes from a hundredth to less than this in two rounds.
NEGLIGIBLE = 1e-6
# Relative duality gap of the problem of each round.
INNER_TOLERANCE = 1e-6
# A round that ends this far from its optimum has failed: C is beyond what double precision can tell apart.
FAILED = 1e-2
# Outputs below this everywhere mean that every coefficient is on its way to zero.
VANISHED = 1e-6

# Columns left and their coefficients of the round before (ones at first) -> new coefficients and gap.
Round: TypeAlias = Callable[[Array, Array], tuple[Array, float]]


@dataclass(frozen=True)
class Reweighted:
    """What the rounds ended with.

    Parameters
    ----------
    coef : array of shape (n_columns,)
        Zero where the column died.
    counts : tuple of int
        Columns left before the first round and after each.
    change : float
        Two-norm of the last change, relative to the coefficients.
    gap : float
        Largest relative duality gap over the rounds.
    converged : bool
    faded : array of shape (n_columns,) or None
        With a floor, the coefficients that ended below it.
    """

    coef: Array
    counts: tuple[int, ...]
    change: float
    gap: float
    converged: bool
    faded: Array | None = None

    @property
    def n_rounds(self) -> int:
        """Number of problems solved."""
        return len(self.counts) - 1

    def warn_if_unfinished(self, name: str) -> None:
        """Issue a ConvergenceWarning that says what was reached and what to change."""
        if not self.converged:
            warnings.warn(
                f"{name}: the coefficients still changed by {self.change:.2g} of their size after "
                f"{self.n_rounds} rounds; raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        if self.gap > 10 * INNER_TOLERANCE:
            warnings.warn(
                f"{name}: a round ended away from its optimum (relative gap {self.gap:.2g}), by rounding or for want "
                "of steps; lower C, or scale the inputs to about one.",
                ConvergenceWarning,
                stacklevel=3,
            )


def reweighted(
    n_columns: int,
    solve: Round,
    *,
    tol: float = 1e-4,
    max_iter: int = 50,
    each: float = np.inf,
    floor: float | None = None,
    vanished: Callable[[Array, Array], bool] | None = None,
    report: Callable[[str], None] | None = None,
) -> Reweighted:
    """Solve rounds until the coefficients stay.

    Parameters
    ----------
    n_columns : int
    solve : function
        One round: columns left (k,) and their signed coefficients (k,) -> new coefficients (k,) and gap.
    tol : float
        Two-norm of the change of the coefficients, relative to them, at which to stop.
    max_iter : int
        Limit of the rounds.
    each : float
        Most that a single coefficient may have changed at the end, relative to itself: what falls slowly towards zero
        is not seen by `tol`.
    floor : float or None
        If given, no column leaves: a round is told of no coefficient nearer to zero than this, and those that end there
        are zero (the paper's epsilon).
    vanished : function or None
        Columns and coefficients -> whether they have no effect any more; then all are zero.
    report : function or None
        Is told of every round.

    Examples
    --------
    Least squares on three orthogonal columns; only coefficients worth their cost stay:

    >>> wanted = np.array([3.0, 0.1, -4.0])
    >>> result = reweighted(3, lambda columns, a: (wanted[columns] * a**2 / (1 + a**2), 0.0))
    >>> result.coef.round(3).tolist(), result.counts[0], result.counts[-1]
    ([2.618, 0.0, -3.732], 3, 2)
    """
    columns = np.arange(n_columns)
    coef = np.ones(n_columns)
    counts, change, gap, converged = [n_columns], np.inf, 0.0, False
    for _ in range(max_iter):
        new, round_gap = solve(columns, coef if floor is None else _away_from_zero(coef, floor))
        gap = max(gap, round_gap)
        if round_gap > FAILED and len(counts) > 1:
            break  # the coefficients of the round before are better than what came of this one
        size = np.abs(new)
        if not size.any() or (vanished is not None and vanished(columns, new)):
            columns, coef, change, converged = columns[:0], new[:0], 0.0, True
            counts.append(0)
            break
        change = float(linalg.norm(new - coef) / linalg.norm(new))
        alive = size > (NEGLIGIBLE * size.max() if floor is None else floor)
        settled = change <= tol and (each == np.inf or _all_still(coef[alive], new[alive], each))
        counts.append(int(np.count_nonzero(alive)))
        columns, coef = (columns[alive], new[alive]) if floor is None else (columns, new)
        left = f"{count(counts[-1], 'coefficient')} left, changed by {change:.2g}"
        tell("reweighting", len(counts) - 1, None, left)
        if report is not None:
            report(f"round {len(counts) - 1}: {left}")
        if settled:
            converged = True
            break
    full = np.zeros(n_columns)
    full[columns] = coef
    if floor is None:
        return Reweighted(full, tuple(counts), change, gap, converged)
    stays = np.abs(full) > floor
    return Reweighted(
        np.where(stays, full, 0.0), tuple(counts), change, gap, converged, np.where(stays, 0.0, full)
    )


def _all_still(coef: Array, new: Array, each: float) -> bool:
    """Whether every coefficient stays as it is, to this share of itself."""
    return bool((np.abs(new - coef) <= each * np.abs(coef)).all())


def _away_from_zero(coef: Array, floor: float) -> Array:
    """Each coefficient, or the floor with its sign: step 3 of Huang et al.'s implementations A and B."""
    return np.copysign(np.maximum(np.abs(coef), floor), coef)


def without_effect(B: Array, columns: Array, coef: Array) -> bool:
    """Whether these coefficients of the columns of B move no output any more."""
    left = B if len(columns) == B.shape[1] else columns_of(B, columns)
    return bool(np.abs(left @ coef).max() < VANISHED)


def trained_on_columns(
    data: TrainingSet,
    kernel: Kernel,
    dictionary: Dictionary,
    results: list[tuple[Reweighted, float]],
    name: str,
    **options: Any,
) -> Trained:
    """The union of the vectors of all outputs; each result comes with a constant added to its intercept."""
    alpha = np.zeros((data.n, len(results)))
    for output, (result, _) in enumerate(results):
        alpha[dictionary.rows, output] = result.coef[1:]
        result.warn_if_unfinished(name)
    intercept = np.array([result.coef[0] + shift for result, shift in results])
    longest = max(len(result.counts) for result, _ in results)
    padded = [result.counts + (result.counts[-1],) * (longest - len(result.counts)) for result, _ in results]
    return Trained.on_rows(
        data, kernel, alpha, intercept,
        n_iter=max(result.n_rounds for result, _ in results),
        extras={"n_columns_": np.sum(padded, axis=0)},
        **options,
    )  # fmt: skip


def warn_empty(name: str, what: str, advice: str) -> None:
    """Say that no coefficient is left, what the model does then and what to change."""
    warnings.warn(
        f"{name}: every coefficient went to zero, and the model {what}; {advice}.",
        ConvergenceWarning,
        stacklevel=3,
    )
