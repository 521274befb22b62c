"""Twenty generated problems of very different kind, each from a seed: what benchmarks/phone_book.py fits.

A maker draws what the problem is (directions, centres, patterns) and returns a function that draws rows of it, so that
training and test rows are of one problem and independent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from scipy import sparse
from scipy.ndimage import gaussian_filter

from harness import Split

Rows = tuple[Any, np.ndarray]  # X of shape (n, d), dense or CSR; y of shape (n,)
Draw = Callable[[Generator, int], Rows]


@dataclass(frozen=True)
class Problem:
    """A problem, its training rows, and what a reader should know of it."""

    make: Callable[[Generator], Draw]
    n: int
    about: str
    n_test: int = 2000
    repeats: int = 1  # how often each training row is there
    balanced: bool = False  # whether balanced accuracy is reported too


class Streams(NamedTuple):
    """Random numbers for what the problem is, for its training rows, and for its test rows."""

    problem: Generator
    train: Generator
    test: Generator


def draw(name: str) -> Split:
    """Training and test rows of a problem; the seed is its place in the list."""
    problem = PROBLEMS[name]
    seeds = np.random.SeedSequence([2026, list(PROBLEMS).index(name)]).spawn(3)
    streams = Streams(*map(np.random.default_rng, seeds))
    rows = problem.make(streams.problem)
    X, y = rows(streams.train, problem.n // problem.repeats)
    X_test, y_test = rows(streams.test, problem.n_test)
    if problem.repeats > 1:
        order = streams.train.permutation(np.repeat(np.arange(len(y)), problem.repeats))
        X, y = X[order], y[order]
    return Split(X, X_test, y, y_test)


def flipped(rng: Generator, y: np.ndarray, share: float, n_classes: int = 2) -> np.ndarray:
    """Labels of which so many are another class."""
    wrong = rng.random(len(y)) < share
    return np.where(wrong, (y + rng.integers(1, n_classes, len(y))) % n_classes, y)


def smooth_function(rng: Generator, d: int, width: float = 1.0, n_waves: int = 40) -> Callable:
    """A smooth random function of d features, of mean 0: a sum of waves."""
    directions = rng.standard_normal((d, n_waves)) / (width * np.sqrt(d))
    phases, heights = rng.uniform(0, 2 * np.pi, n_waves), rng.standard_normal(n_waves)
    return lambda Z: np.cos(Z @ directions + phases) @ heights


# ---------------------------------------------------------------------------- in the plane


def spirals(rng: Generator) -> Draw:
    def rows(rng: Generator, n: int) -> Rows:
        y = rng.integers(0, 3, n)
        t = np.sqrt(rng.random(n))
        angle = 3.5 * np.pi * t + 2 * np.pi * y / 3
        X = 5 * t[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        return X + 0.1 * rng.standard_normal(X.shape), y

    return rows


def checkerboard(rng: Generator) -> Draw:
    def rows(rng: Generator, n: int) -> Rows:
        X = rng.uniform(0, 4, (n, 2))
        return X, np.floor(X).astype(int).sum(axis=1) % 2

    return rows


# ---------------------------------------------------------------------------- few rows, rare rows, wrong rows


def thirty_rows(rng: Generator) -> Draw:
    direction = rng.standard_normal(5)
    shift = 2.5 * direction / np.linalg.norm(direction)  # the best rule is right on 89 %

    def rows(rng: Generator, n: int) -> Rows:
        y = rng.permutation(np.arange(n) % 2)
        return rng.standard_normal((n, 5)) + np.outer(y - 0.5, shift), y

    return rows


def rare_class(rng: Generator) -> Draw:
    centres = 1.5 * rng.standard_normal((2, 8))

    def rows(rng: Generator, n: int) -> Rows:
        y = (rng.random(n) < 0.01).astype(int)
        X = 1.5 * rng.standard_normal((n, 8))
        rare = np.flatnonzero(y)
        X[rare] = centres[rng.integers(0, 2, len(rare))] + 0.6 * rng.standard_normal((len(rare), 8))
        return X, y

    return rows


def pure_noise(rng: Generator) -> Draw:
    return lambda rng, n: (rng.standard_normal((n, 10)), rng.integers(0, 2, n))


def overlap(rng: Generator) -> Draw:
    f = smooth_function(rng, 6, width=0.8)

    def rows(rng: Generator, n: int) -> Rows:
        X = rng.standard_normal((n, 6))
        return X, flipped(rng, (f(X) > 0).astype(int), 0.3)

    return rows


def copies(rng: Generator) -> Draw:
    f = smooth_function(rng, 4)

    def rows(rng: Generator, n: int) -> Rows:
        X = rng.standard_normal((n, 4))
        return X, flipped(rng, (f(X) > 0).astype(int), 0.1)

    return rows


# ---------------------------------------------------------------------------- units and distributions


def units(rng: Generator) -> Draw:
    scale = 10.0 ** rng.permutation(np.linspace(-3, 3, 20))
    f = smooth_function(rng, 5)

    def rows(rng: Generator, n: int) -> Rows:
        Z = rng.standard_normal((n, 20))
        return Z * scale, (f(Z[:, :5]) > 0).astype(int)

    return rows


def far_from_zero(rng: Generator) -> Draw:
    shift = 1e4 * np.sign(rng.standard_normal(5))

    def rows(rng: Generator, n: int) -> Rows:
        Z = rng.standard_normal((n, 5))
        y = np.digitize(np.linalg.norm(Z[:, :3], axis=1), [1.2, 1.9])
        return Z + shift, y

    return rows


def heavy_tails(rng: Generator) -> Draw:
    direction = rng.standard_normal(10)

    def rows(rng: Generator, n: int) -> Rows:
        X = rng.standard_t(1.5, (n, 10))
        f = np.tanh(X) @ direction + 1.5 * np.tanh(X[:, 0]) * np.tanh(X[:, 1])
        return X, (f + 0.3 * rng.standard_normal(n) > 0).astype(int)

    return rows


def zeros_and_ones(rng: Generator) -> Draw:
    terms = [rng.choice(40, 3, replace=False) for _ in range(6)]

    def rows(rng: Generator, n: int) -> Rows:
        X = (rng.random((n, 40)) < 0.5).astype(float)
        return X, np.any([X[:, term].all(axis=1) for term in terms], axis=0).astype(int)

    return rows


def counts(rng: Generator) -> Draw:
    rates = rng.uniform(1, 12, (4, 8))

    def rows(rng: Generator, n: int) -> Rows:
        y = rng.integers(0, 4, n)
        exposure = rng.uniform(0.5, 3.0, n)  # the shares tell, not the sums
        return rng.poisson(rates[y] * exposure[:, None]).astype(float), y

    return rows


# ---------------------------------------------------------------------------- many features


def linear_among_many(rng: Generator) -> Draw:
    weights = rng.permutation(np.r_[[2.0, -1.5, 1.5, 1.0, -1.0], np.zeros(195)])

    def rows(rng: Generator, n: int) -> Rows:
        X = rng.standard_normal((n, 200))
        return X, (X @ weights + 0.5 * rng.standard_normal(n) > 0).astype(int)

    return rows


def xor_among_many(rng: Generator) -> Draw:
    chosen = rng.choice(20, 2, replace=False)

    def rows(rng: Generator, n: int) -> Rows:
        X = rng.uniform(-1, 1, (n, 20))
        return X, (X[:, chosen].prod(axis=1) > 0).astype(int)

    return rows


def wide(rng: Generator) -> Draw:
    mixing = rng.standard_normal((20, 2000))
    shift = np.where(rng.random(2000) < 0.015, 0.9, 0.0)

    def rows(rng: Generator, n: int) -> Rows:
        y = rng.integers(0, 3, n)
        X = 0.2 * rng.standard_normal((n, 20)) @ mixing + rng.standard_normal((n, 2000))
        return X + np.outer(y - 1.0, shift), y

    return rows


def text(rng: Generator) -> Draw:
    """Counts of words as tf-idf: words as frequent as in texts, six subjects that prefer some of them."""
    n_words, n_subjects = 20_000, 6
    common = 1.0 / (np.arange(n_words) + 10.0)
    preferred = np.exp(1.2 * rng.standard_normal((n_subjects, n_words)) * (rng.random(n_words) < 0.1))
    cumulative = np.cumsum(common * preferred, axis=1)
    idf = np.log(1.0 + 1.0 / (1e-3 + 50.0 * common / common.sum()))

    def rows(rng: Generator, n: int) -> Rows:
        y = rng.integers(0, n_subjects, n)
        lengths = rng.integers(15, 60, n)
        owner = np.repeat(np.arange(n, dtype=np.int32), lengths)
        place = rng.random(len(owner)) * cumulative[y[owner], -1]
        words = np.empty(len(owner), dtype=np.int32)  # libsvm takes no wider indices
        for subject in range(n_subjects):
            mine = y[owner] == subject
            words[mine] = np.searchsorted(cumulative[subject], place[mine])
        X = sparse.coo_array((idf[words], (owner, words)), shape=(n, n_words)).tocsr()
        length = np.sqrt(X.multiply(X).sum(axis=1))
        return sparse.csr_array(X.multiply(1.0 / length[:, None])), y

    return rows


def fields(rng: Generator) -> Draw:
    """Smooth pictures of 16 x 16, moved, with noise that is smooth too."""
    patterns = gaussian_filter(rng.standard_normal((8, 16, 16)), (0, 2, 2), mode="wrap")
    patterns /= patterns.std(axis=(1, 2), keepdims=True)

    def rows(rng: Generator, n: int) -> Rows:
        y = rng.integers(0, 8, n)
        moved = [np.roll(patterns[k], rng.integers(-2, 3, 2), axis=(0, 1)) * rng.uniform(0.6, 1.4) for k in y]
        noise = gaussian_filter(rng.standard_normal((n, 16, 16)), (0, 1, 1), mode="wrap")
        return (np.array(moved) + 2.0 * noise + 0.2 * rng.standard_normal((n, 16, 16))).reshape(n, -1), y

    return rows


# ---------------------------------------------------------------------------- many classes, many rows


def rings(rng: Generator) -> Draw:
    def rows(rng: Generator, n: int) -> Rows:
        y = rng.integers(0, 4, n)
        X = rng.standard_normal((n, 10))
        radius = 1.0 + y + 0.3 * rng.standard_normal(n)
        return X * (radius / np.linalg.norm(X, axis=1))[:, None], y

    return rows


def thirty_classes(rng: Generator) -> Draw:
    centres = 1.6 * rng.standard_normal((30, 3, 10))  # each class in three places

    def rows(rng: Generator, n: int) -> Rows:
        y = rng.integers(0, 30, n)
        return centres[y, rng.integers(0, 3, n)] + rng.standard_normal((n, 10)), y

    return rows


def many_rows(rng: Generator) -> Draw:
    f = smooth_function(rng, 10, width=0.7)

    def rows(rng: Generator, n: int) -> Rows:
        X = rng.standard_normal((n, 10))
        return X, flipped(rng, (f(X) > 0).astype(int), 0.05)

    return rows


# A new one is added at the end: the place is the seed.
PROBLEMS: dict[str, Problem] = {
    "thirty_rows": Problem(thirty_rows, 30, "two Gaussians, 30 rows"),
    "spirals": Problem(spirals, 450, "three spirals"),
    "checkerboard": Problem(checkerboard, 2000, "a board of 4 x 4"),
    "units": Problem(units, 1000, "units that span 10^6, 5 of 20 features matter"),
    "far_from_zero": Problem(far_from_zero, 800, "shells, every feature shifted by 10^4"),
    "heavy_tails": Problem(heavy_tails, 1500, "Student's t with 1.5 degrees of freedom"),
    "copies": Problem(copies, 3000, "each row ten times, 10 % wrong labels", repeats=10),
    "rare_class": Problem(
        rare_class, 5000, "1 % of the rows are the second class", n_test=5000, balanced=True
    ),
    "linear_among_many": Problem(linear_among_many, 500, "linear, 5 of 200 features matter"),
    "xor_among_many": Problem(xor_among_many, 2000, "sign of a product, 2 of 20 features matter"),
    "thirty_classes": Problem(thirty_classes, 6000, "30 classes, each a mixture of 3 Gaussians"),
    "pure_noise": Problem(pure_noise, 600, "labels that nothing predicts"),
    "zeros_and_ones": Problem(zeros_and_ones, 1500, "0/1 features, any of six triples of ones"),
    "counts": Problem(counts, 2000, "Poisson counts, the shares tell the class"),
    "overlap": Problem(overlap, 2000, "30 % wrong labels"),
    "rings": Problem(rings, 3000, "four shells in 10 dimensions"),
    "fields": Problem(fields, 1500, "smooth pictures of 16 x 16, moved and noisy"),
    "wide": Problem(wide, 300, "2,000 correlated features, 300 rows"),
    "text": Problem(text, 2000, "CSR: tf-idf of 20,000 words"),
    "many_rows": Problem(many_rows, 50_000, "50,000 rows, 5 % wrong labels"),
}
