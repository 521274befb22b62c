"""What the search will do, from what is known of the data: one pure function, with the reasons for its constants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...words import count
from .telling import METRICS

# Up to FEW_ROWS rows, and with more than NOISY mistakes of ridge regression up to SOME_ROWS, five folds say less than
# ridge regression, which leaves out one row after the other, knows: its width, penalty and loss stay.
FEW_ROWS, SOME_ROWS, NOISY = 256, 2_000, 0.15
# More rows than these are not looked at: the differences that matter show on them.
MANY_ROWS = 10_000
# Parts the rows are cut into; all are held out in turn up to SOME_ROWS rows, and one of more.
FOLDS = 5
# Vectors with which settings are compared: at least so many, so many for each output, and this share of the root of the
# number of rows, because more rows bear more.
COMPARED, COMPARED_EACH, COMPARED_SHARE = 8, 2, 0.4
# Features up to which one width for each is in question. With more, a vector has so many numbers that a projection
# pays.
LEARNT_FEATURES = 128
# More rows than these teach a matrix whatever it is worth, and models with widths on MANY_ROWS of them are no match.
MATRIX_ROWS = 50_000
# Without a limit models grow to at most this many vectors.
LARGEST = 512


@dataclass(frozen=True)
class Plan:
    """What the search will do.

    Parameters
    ----------
    rows : int
        Rows it looks at.
    folds : int
        How many of the FOLDS parts are held out.
    trusted : bool
        Whether width, penalty and squared loss of ridge regression stay.
    metrics : tuple of str
        What is compared, the simplest first: "fixed", "one", "per_feature", "linear".
    compared : int
        Vectors with which settings are compared.
    sizes : tuple of int
        Numbers of vectors that are tried, as long as that pays.
    """

    rows: int
    folds: int
    trusted: bool
    metrics: tuple[str, ...]
    compared: int
    sizes: tuple[int, ...]

    def __str__(self) -> str:
        held = f"one of {FOLDS} parts held out" if self.folds < FOLDS else f"{FOLDS} parts held out in turn"
        learnt = [metric for metric in self.metrics if metric != "linear"]
        settings = "the C of the first guess" if self.trusted else "several values of C"
        return (
            f"plan: {self.rows} rows, {held}; {settings}; {', or '.join(METRICS[metric] for metric in learnt)}; up to "
            f"{count(self.sizes[-1], 'vector')}, as long as more help"
        )


def plan_for(
    *,
    n_rows: int,
    n_outputs: int,
    classify: bool,
    noise: float,
    metrics: tuple[str, ...],
    most: int,
) -> Plan:
    """The plan for data of this kind.

    Parameters
    ----------
    noise : float
        Mistakes of ridge regression on rows left out: a share of the rows, or of the variance of targets.
    metrics : tuple of str
        What `metrics_in_question` says.
    most : int
        The most vectors.
    """
    rows = min(n_rows, MANY_ROWS)
    trusted = classify and (n_rows <= FEW_ROWS or (noise > NOISY and n_rows <= SOME_ROWS))
    if trusted or noise > NOISY:
        # a width that is learnt fits the noise
        metrics = tuple("fixed" if metric == "one" else metric for metric in metrics)
    compared = max(COMPARED, COMPARED_EACH * n_outputs, COMPARED_SHARE * np.sqrt(rows))
    return Plan(
        rows=rows,
        folds=FOLDS if n_rows <= SOME_ROWS else 1,
        trusted=trusted,
        metrics=metrics,
        compared=min(int(np.ceil(compared)), most),
        sizes=tuple(ladder(most)),
    )


def metrics_in_question(
    metric: str, *, n_rows: int, n_features: int, moved: bool, width_given: bool
) -> tuple[str, ...]:
    """What `metric` means for data of this shape, the simplest first.

    Parameters
    ----------
    moved : bool
        Whether rows can be made dense, so that vectors can move in the space of the inputs.
    width_given : bool
        Whether the user has named a width.
    """
    if metric == "linear":
        return ("linear",)
    one = "one" if moved and not width_given else "fixed"
    if metric == "per_feature" and moved:
        return ("per_feature",)
    if metric != "auto" or (not moved and width_given):
        return (one,)
    wide = n_features > LEARNT_FEATURES
    if moved and not width_given and n_features > 1 and n_rows > (SOME_ROWS if wide else MATRIX_ROWS):
        return ("linear",)
    found: tuple[str, ...] = (one,)
    if moved and 1 < n_features <= LEARNT_FEATURES:
        found += ("per_feature",)
    if not width_given and n_features > 1 and (wide or n_rows > SOME_ROWS):
        found += ("linear",)  # a matrix has too many numbers for few rows
    return found


def ladder(largest: int, *, halves: bool = True) -> list[int]:
    """Sizes 1, 2, 4, 6, 8, 12, 16, 24, ... up to and including `largest`; without halves 1, 2, 4, 8, 16, ...

    Examples
    --------
    >>> ladder(10)
    [1, 2, 4, 6, 8, 10]
    """
    sizes = {largest, *(2**i for i in range(31))}
    if halves:
        sizes |= {6 * 2**i for i in range(29)}
    return sorted(size for size in sizes if size <= largest)
