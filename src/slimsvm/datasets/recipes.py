"""How raw tables become the published sets: one function for each, its docstring the recipe in words.

Rätsch, Onoda and Müller did not say how they made the two-class sets of their benchmark from tables of the UCI
repository. What is written here was found by comparing the two, and was compared row by row with what copies of the raw
tables in the KEEL repository give.

A table is a list of columns, each an array of text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = NDArray[np.int64]
Texts: TypeAlias = NDArray[np.str_]
Recipe: TypeAlias = Callable[[list[Texts], Texts], tuple[Numbers, Labels]]

# The categories of the breast cancer table in the order of their codes 0, 1, 2, ...
BREAST_CANCER = (
    "10-19 20-29 30-39 40-49 50-59 60-69 70-79 80-89 90-99",
    "lt40 ge40 premeno",
    "0-4 5-9 10-14 15-19 20-24 25-29 30-34 35-39 40-44 45-49 50-54 55-59",
    "0-2 3-5 6-8 9-11 12-14 15-17 18-20 21-23 24-26 27-29 30-32 33-35 36-39",
    "yes no",
    "1 2 3",
    "left right",
    "left_up left_low right_up right_low central",
    "yes no",
)
# What was taken off these codes, and what they were divided by.
BREAST_CANCER_CENTRE = np.array([507, 205, 646, 83, 104, 151, 70, 167, 108]) / 137
BREAST_CANCER_SCALE = np.array(
    [
        1.00267996,
        0.55735836,
        2.15552949,
        1.31930053,
        0.42918438,
        0.74047551,
        0.50171454,
        1.24093968,
        0.40999743,
    ]
)
# The categories of the credit table where they are told by name, in the order of UCI's codes; the first code of each.
CREDIT: dict[int, tuple[int, tuple[str, ...]]] = {
    0: (11, ("<0", "0<=X<200", ">=200", "no checking")),
    2: (
        30,
        (
            "no credits/all paid",
            "all paid",
            "existing paid",
            "delayed previously",
            "critical/other existing credit",
        ),
    ),
    3: (
        40,
        (
            "new car", "used car", "furniture/equipment", "radio/tv", "domestic appliance", "repairs", "education",
            "vacation", "retraining", "business",
        ),
    ),
    5: (61, ("<100", "100<=X<500", "500<=X<1000", ">=1000", "no known savings")),
    6: (71, ("unemployed", "<1", "1<=X<4", "4<=X<7", ">=7")),
    8: (91, ("male div/sep", "female div/dep/mar", "male single", "male mar/wid", "female single")),
    9: (101, ("none", "co applicant", "guarantor")),
    11: (121, ("real estate", "life insurance", "car", "no known property")),
    13: (141, ("bank", "stores", "none")),
    14: (151, ("rent", "own", "for free")),
    16: (171, ("unemp/unskilled non res", "unskilled resident", "skilled", "high qualif/self emp/mgmt")),
    18: (191, ("none", "yes")),
    19: (201, ("yes", "no")),
}  # fmt: skip
# UCI's code of the purpose "other" is A410, which was read as a number like all others.
OTHER_PURPOSE = 410.0
# Counts of the values of the solar flares' distribution of spots (O, X, I, C), by which its column is found.
SPOT_DISTRIBUTION = (35, 223, 331, 477)
# The same of the nine columns that are used.
FLARE_COUNTS = (
    (164, 902), (77, 484, 505), (13, 25, 1028), (431, 635), (133, 933), (27, 1039), (1, 3, 4, 9, 20, 33, 112, 884),
    (1, 1, 2, 3, 29, 1030), (1, 4, 1061),
)  # fmt: skip
# First codes of these nine columns.
FLARE_FIRST = (1, 1, 1, 1, 1, 1, 0, 0, 0)
THYROID_CENTRE = np.array([109.38, 9.881, 1.902, 2.856, 4.167])
THYROID_SCALE = np.array([11.53631072, 4.62943361, 1.10169566, 6.85785429, 8.19873176])
# Titanic's categories where they are told by name.
TITANIC = (("1st", "2nd", "3rd", "crew"), ("adult", "child"), ("female", "male"))


def numbers(columns: Sequence[Texts]) -> Numbers:  # (n, d)
    """Columns of text as numbers."""
    return np.column_stack([column.astype(np.float64) for column in columns])


def standardised(X: Numbers) -> Numbers:
    """Columns of mean 0 and deviation 1, with N - 1."""
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0, ddof=1))


def coded(column: Texts, order: Sequence[str], first: int = 0) -> Numbers:  # (n,)
    """Places of the values in this order."""
    codes = {value: float(first + at) for at, value in enumerate(order)}
    strange = sorted(set(column.tolist()) - codes.keys())
    if strange:
        raise ValueError(f"the value {strange[0]!r} is none of {', '.join(order)}")
    return np.array([codes[value] for value in column.tolist()])


def signs(positive: NDArray[np.bool_]) -> Labels:
    """+1 where it is true, else -1."""
    return np.where(positive, 1, -1).astype(np.int64)


def breast_cancer(columns: list[Texts], target: Texts) -> tuple[Numbers, Labels]:
    """Rows without missing values; categories as codes in their order; centred and scaled with fixed numbers."""
    known = np.all([(column != "") & (column != "?") & (column != "nan") for column in columns], axis=0)
    codes = [
        coded(column[known], order.split()) for column, order in zip(columns, BREAST_CANCER, strict=True)
    ]
    X = (np.column_stack(codes) - BREAST_CANCER_CENTRE) / BREAST_CANCER_SCALE
    return X, signs(target[known] == "recurrence-events")


def german(columns: list[Texts], target: Texts) -> tuple[Numbers, Labels]:
    """UCI's codes without their letter as numbers (A11 is 11, A410 is 410); standardised; bad credit is +1."""
    codes = []
    for j, column in enumerate(columns):
        if j in CREDIT and not np.char.startswith(column, "A").all():
            first, order = CREDIT[j]
            other = column == "other" if j == 3 else np.zeros(len(column), dtype=bool)
            code = np.full(len(column), OTHER_PURPOSE)
            code[~other] = coded(column[~other], order, first)
            codes.append(code)
        else:
            codes.append(np.char.lstrip(column, "A").astype(np.float64))
    return standardised(np.column_stack(codes)), signs((target == "bad") | (target == "2"))


def image(columns: list[Texts], target: Texts) -> tuple[Numbers, Labels]:
    """Without the third column, which is constant; standardised; brickface, sky, foliage and path are +1."""
    X = numbers(columns)
    return standardised(X[:, X.std(axis=0) > 0]), signs(
        np.isin(np.char.lower(target), ("brickface", "sky", "foliage", "path"))
    )


def splice(columns: list[Texts], target: Texts) -> tuple[Numbers, Labels]:
    """Rows of A, C, G and T only, as 1, 3, 2 and 4; junctions of either kind are +1."""
    bases = np.column_stack(columns[-60:])  # a column of names may come first
    plain = np.isin(bases, list("ACGT")).all(axis=1)
    X = np.select([bases[plain] == base for base in "AGCT"], [1.0, 2.0, 3.0, 4.0])
    return X, signs(target[plain] != "N")


def thyroid(columns: list[Texts], target: Texts) -> tuple[Numbers, Labels]:
    """Centred and scaled with fixed numbers; the first class, which is normal, is -1."""
    heaviest = max(set(target.tolist()), key=target.tolist().count)
    return (numbers(columns) - THYROID_CENTRE) / THYROID_SCALE, signs(target != heaviest)


def titanic(columns: list[Texts], target: Texts) -> tuple[Numbers, Labels]:
    """First, second, third class and crew; adults and children; women and men: codes in this order, standardised."""
    codes = []
    for column, order in zip(columns, TITANIC, strict=True):
        try:
            codes.append(np.unique(column.astype(np.float64), return_inverse=True)[1].astype(np.float64))
        except ValueError:
            codes.append(coded(np.char.lower(column), order))
    survived = min(set(target.tolist()), key=target.tolist().count)
    return standardised(np.column_stack(codes)), signs(target == survived)


def flare_solar(columns: list[Texts], target: Texts) -> tuple[Numbers, Labels]:
    """Nine columns from activity to X-class flares, as they are; a distribution of spots other than open is +1.

    The columns are found by how often their values occur, because copies of the table differ in names and codes.
    """
    by_counts = {_counts(column): column for column in columns}
    missing = [counts for counts in (*FLARE_COUNTS, SPOT_DISTRIBUTION) if counts not in by_counts]
    if missing:
        raise ValueError(f"no column has values that occur {', '.join(map(str, missing[0]))} times")
    X = numbers([by_counts[counts] for counts in FLARE_COUNTS])
    X += np.array(FLARE_FIRST) - X.min(axis=0)
    values, counts = np.unique(by_counts[SPOT_DISTRIBUTION], return_counts=True)
    return X, signs(by_counts[SPOT_DISTRIBUTION] != values[counts.argmax()])


def standard(columns: list[Texts], target: Texts) -> tuple[Numbers, Labels]:
    """Standardised; the smaller class is +1."""
    smaller = min(sorted(set(target.tolist())), key=target.tolist().count)
    return standardised(numbers(columns)), signs(target == smaller)


RECIPES: dict[str, Recipe] = {
    function.__name__: function
    for function in (
        breast_cancer, flare_solar, german, image, splice, standard, thyroid, titanic,
    )
}  # fmt: skip


def in_published_order(X: Numbers, y: Labels) -> tuple[Numbers, Labels]:
    """Rows sorted by their first number, then the second, and so on, as the published files are."""
    order = np.lexsort(np.column_stack([X, y]).T[::-1])
    return X[order], y[order]


def pattern(X: NDArray[Any], y: NDArray[Any]) -> str:
    """A checksum of the order of the numbers in each column, and of the labels.

    It is the same for every way to scale the columns, and for the last digits they are written with.

    Examples
    --------
    >>> X, y = np.array([[0.5, 3.0], [0.25, 3.0]]), np.array([1, -1])
    >>> pattern(X, y) == pattern(10 * X + 1, y), pattern(X, y) == pattern(X[::-1], y)
    (True, False)
    """
    ranks = [np.unique(column, return_inverse=True)[1].ravel() for column in np.asarray(X).T]
    table = np.column_stack([*ranks, np.asarray(y)]).astype("<i8")
    return hashlib.sha256(np.ascontiguousarray(table).tobytes()).hexdigest()


def _counts(column: Texts) -> tuple[int, ...]:
    """How often each value occurs, the rarest first."""
    return tuple(sorted(np.unique(column, return_counts=True)[1].tolist()))
