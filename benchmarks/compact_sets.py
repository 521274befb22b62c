"""The data of benchmarks/compact.py: training and test part of each split of each set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.model_selection import train_test_split

from harness import SHARE_TESTED, Split, published
from slimsvm.datasets import CATALOGUE, load, make_checkerboard, make_two_spirals

# Limits of the number of vectors for CompactSVC; elsewhere it chooses by itself.
MAX_VECTORS = {"usps": 300, "satimage": 200, "ijcnn1": 200, "mnist": 1000, "covtype_2": 500}
# Threads of CompactSVC's fit, one elsewhere.
THREADS = {"mnist": 2, "covtype_2": 2}
# Sets on which CompactSVC is run a second time, with a limit.
SECOND_LIMIT = {"ripley": 5, "checkerboard": 20, "two_spirals": 60}
# Bytes in which CompactSVC is to be as good as it can be, a byte for each number, and the sets.
BUDGETS = {
    64 * 1024: ("mnist",),
    24 * 1024: ("usps",),
    20 * 1024: ("mnist",),
    16 * 1024: ("ijcnn1",),
    12 * 1024: ("satimage",),
}
BUDGET_THREADS = 2
# Rows of a set for regression that are trained with, drawn anew in each split: a searched SVR takes hours with more.
MAX_REGRESSION_ROWS = 5000
# covtype: its second class against the rest; so many rows to train with, drawn once.
COVTYPE_ROWS, COVTYPE_CLASS = 500_000, 2
# The generated set for regression: features, those that matter, rows to train and as many to test with, noise in
# standard deviations of what is to be learnt, and how many powers of ten the units span.
N_FEATURES, N_RELEVANT, N_DRAWN, NOISE, UNITS = 40, 4, 2000, 0.1, 6
# A few rows of eeg_eye are broken measurements up to 7e5: beyond so many interquartile ranges from the median of
# the training rows a value is set to that limit, for every method.
OUTLIER_RANGES = 10.0
N_CHECKERBOARD, N_CHECKERBOARD_TEST = 1000, 10_000
# The classical 194 points have no test part: points of the same spirals, moved by noise.
N_SPIRALS_TEST, SPIRALS_NOISE = 2000, 0.1
# Pixels have one unit and many that never change: they are not standardised for the methods that know no scaling of
# their own.
PIXELS = ("usps", "mnist", "digits")


@dataclass(frozen=True)
class DataSet:
    """A set and its splits."""

    name: str
    regression: bool
    n_splits: int
    note: str
    split: Callable[[int], Split]
    methods: tuple[str, ...] = ()  # all if empty
    alone: bool = False  # whether each method runs in a process of its own, whose memory is recorded


def _at_most(split: Split, n: int, seed: int) -> Split:
    """Training rows drawn at random where there are more."""
    if len(split.X) <= n:
        return split
    rows = np.random.default_rng(seed).permutation(len(split.X))[:n]
    return split._replace(X=split.X[rows], y=split.y[rows])


def _covtype(split: int) -> Split:
    data = load("covtype")
    rows = np.random.default_rng(split).permutation(len(data.X))
    y = np.where(data.y == COVTYPE_CLASS, 1, -1)
    train, test = rows[:COVTYPE_ROWS], rows[COVTYPE_ROWS:]
    return Split(data.X[train], data.X[test], y[train], y[test])


def _relevant(split: int, n_features: int) -> Split:
    """A smooth function of the first four features; all, or the first ones only, each in a unit of its own."""
    rng = np.random.default_rng(split)
    Z = rng.standard_normal((2 * N_DRAWN, N_FEATURES))
    f = np.sin(2.0 * Z[:, 0]) + Z[:, 1] * Z[:, 2] + 2.0 * np.exp(-np.square(Z[:, 3]))
    y = f + NOISE * f.std() * rng.standard_normal(len(f))
    X = (Z * 10.0 ** rng.permuted(np.linspace(-UNITS / 2, UNITS / 2, N_FEATURES)))[:, :n_features]
    return Split(X[:N_DRAWN], X[N_DRAWN:], y[:N_DRAWN], y[N_DRAWN:])


def _relevant_set(name: str, n_features: int) -> DataSet:
    note = f"drawn: {N_RELEVANT} of {N_FEATURES} features matter, their units span 10^{UNITS}; {n_features} are given"
    return DataSet(name, True, 10, note, lambda split: _relevant(split, n_features), methods=("compact",))


def _clipped(split: Split) -> Split:
    low, middle, high = np.quantile(split.X, [0.25, 0.5, 0.75], axis=0)
    reach = OUTLIER_RANGES * (high - low)

    def clip(X: np.ndarray) -> np.ndarray:
        return np.clip(X, middle - reach, middle + reach).astype(X.dtype)

    return split._replace(X=clip(split.X), X_test=clip(split.X_test))


def _checkerboard(split: int) -> Split:
    X, y = make_checkerboard(N_CHECKERBOARD, random_state=split)
    X_test, y_test = make_checkerboard(N_CHECKERBOARD_TEST, random_state=10_000 + split)
    return Split(X, X_test, y, y_test)


def _spirals(split: int) -> Split:
    X, y = make_two_spirals(random_state=0)
    X_test, y_test = make_two_spirals(N_SPIRALS_TEST, noise=SPIRALS_NOISE, random_state=1 + split)
    return Split(X, X_test, y, y_test)


def _published(name: str) -> DataSet:
    entry = CATALOGUE[name]
    regression = entry.task == "regression"
    n_splits, draw = entry.n_splits or 10, partial(published, name)
    note = "splits of the file" if entry.n_splits else f"random splits, {SHARE_TESTED:.0%} tested"
    if name == "eeg_eye":
        note += f"; values beyond {OUTLIER_RANGES:.0f} interquartile ranges are clipped"
        return DataSet(name, regression, n_splits, note, lambda split: _clipped(draw(split)))
    if regression:
        note += f", at most {MAX_REGRESSION_ROWS:,} training rows"
        return DataSet(
            name, True, n_splits, note, lambda split: _at_most(draw(split), MAX_REGRESSION_ROWS, split)
        )
    return DataSet(name, regression, n_splits, note, draw)


def _again(name: str) -> DataSet:
    def split(number: int) -> Split:
        X, X_test, y, y_test = published(name)
        rows, classes = np.vstack([X, X_test]), np.concatenate([y, y_test])
        seed = AGAIN_SEED + number
        return Split(*train_test_split(rows, classes, train_size=len(X), random_state=seed, stratify=classes))

    return DataSet(name + AGAIN, False, 1000, "all its rows split at random, as many to train with", split)


IDA = [name for name in CATALOGUE if name.startswith("ida_")]
# The same sets with as many splits as one likes: ten say little of a set of two hundred rows.
AGAIN, AGAIN_SEED = "_again", 2000
IDA_AGAIN = [name + AGAIN for name in IDA]
REGRESSION = [name for name in CATALOGUE if name.startswith("reg_")]
RELEVANT_AMONG_MANY, RELEVANT_ALONE = "four_of_forty", "four_alone"
SETS: dict[str, DataSet] = {
    **{name: _published(name) for name in IDA},
    "ripley": _published("ripley"),
    "checkerboard": DataSet(
        "checkerboard",
        False,
        10,
        f"drawn: {N_CHECKERBOARD} rows, {N_CHECKERBOARD_TEST} to test",
        _checkerboard,
    ),
    "two_spirals": DataSet(
        "two_spirals", False, 1, f"the 194 points; tested on points with noise {SPIRALS_NOISE}", _spirals
    ),
    **{
        name: _published(name)
        for name in ("satimage", "usps", "mnist", "ijcnn1", "shuttle", "phishing", "eeg_eye")
    },
    **{name: _published(name) for name in REGRESSION},
    RELEVANT_AMONG_MANY: _relevant_set(RELEVANT_AMONG_MANY, N_FEATURES),
    RELEVANT_ALONE: _relevant_set(RELEVANT_ALONE, N_RELEVANT),
    "covtype_2": DataSet(
        "covtype_2",
        False,
        1,
        f"class {COVTYPE_CLASS} against the rest, {COVTYPE_ROWS:,} rows drawn to train with, the others to test",
        _covtype,
        methods=("compact",),
        alone=True,
    ),
    **{name + AGAIN: _again(name) for name in IDA},
}
# Without those that are split again.
MAIN = [name for name in SETS if name not in IDA_AGAIN]
