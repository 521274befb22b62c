"""The data of benchmarks/compact.py: training and test part of each split of each set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import train_test_split

from harness import Split, published
from slimsvm.datasets import CATALOGUE, load, make_checkerboard, make_two_spirals

# Limits of the number of vectors for CompactSVC; elsewhere it chooses by itself.
MAX_VECTORS = {"usps": 300, "satimage": 200, "ijcnn1": 200, "mnist": 1000}
# Threads of CompactSVC's fit, one elsewhere.
THREADS = {"mnist": 2}
# Sets on which CompactSVC is run a second time, with a limit.
SECOND_LIMIT = {"ripley": 5, "checkerboard": 20, "two_spirals": 60}
# A few rows of eeg_eye are broken measurements up to 7e5: beyond so many interquartile ranges from the median of
# the training rows a value is set to that limit, for every method.
OUTLIER_RANGES = 10.0
N_CHECKERBOARD, N_CHECKERBOARD_TEST = 1000, 10_000
# The classical 194 points have no test part: points of the same spirals, moved by noise.
N_SPIRALS_TEST, SPIRALS_NOISE = 2000, 0.1
SHARE_TESTED = 0.3  # of sets without a published split
# Pixels have one unit and many that never change: they are not standardised for the methods that know no scaling of
# their own.
PIXELS = ("usps", "mnist")


@dataclass(frozen=True)
class DataSet:
    """A set and its splits."""

    name: str
    regression: bool
    n_splits: int
    note: str
    split: Callable[[int], Split]


def _random_split(name: str, split: int) -> Split:
    data = load(name)
    classes = data.y if data.task == "classification" else None
    return Split(
        *train_test_split(data.X, data.y, test_size=SHARE_TESTED, random_state=split, stratify=classes)
    )


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
    if entry.n_splits:
        return DataSet(
            name, regression, entry.n_splits, "splits of the file", lambda split: published(name, split)
        )
    note = f"random splits, {SHARE_TESTED:.0%} tested"
    if name == "eeg_eye":
        note += f"; values beyond {OUTLIER_RANGES:.0f} interquartile ranges are clipped"
        return DataSet(name, regression, 10, note, lambda split: _clipped(_random_split(name, split)))
    return DataSet(name, regression, 10, note, lambda split: _random_split(name, split))


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
    **{name: _published(name) for name in CATALOGUE if name.startswith("reg_")},
    **{name + AGAIN: _again(name) for name in IDA},
}
# Without those that are split again.
MAIN = [name for name in SETS if name not in IDA_AGAIN]
