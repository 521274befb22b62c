"""MNIST: one digit against the rest, the search for C and gamma on a part, and the reductions of Tables 2 and 3."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from harness import Array, Record, Split, published, timed
from papers.cells import Journal
from slimsvm import reduce

from . import published as paper
from .path import Machine
from .sets import PRUNED

SEARCH_ROWS, SEARCH_FOLDS = 5000, 3
C_GRID = (1.0, 10.0, 100.0)
GAMMA_GRID = tuple(2.0**e for e in range(-7, -3))
PAIRS = tuple((C, gamma) for C in C_GRID for gamma in GAMMA_GRID)
# Pairs among which that of the paper's own SVM is looked for, by its digit 3 on a tenth of the rows.
LIKE_PAIRS = tuple((C, 2.0**e) for C in (1.0, 2.0, 4.0, 8.0) for e in (-8, -7.5, -7, -6.5, -6))
LIKE_SHARE = 0.1
# Shares of the rows that this SVM is then run on, digit 3.
LIKE_SHARES = (0.1, 0.2, 0.5, 1.0)
# Differences that weigh the same in that: of the logarithm of the number of vectors, and of the rate in points.
LIKE_VECTORS, LIKE_RATE = 0.05, 0.1
CACHE_MEGABYTES = 2000
# Vectors that the machine of ten classes keeps.
CLASSES_KEEP = 2000


def part(digits: Array, share: float) -> Array:
    """Row numbers of a share of each digit; a smaller share is part of a larger one."""
    order = np.random.default_rng(0).permutation(len(digits))
    chosen = [order[digits[order] == d][: round(share * np.sum(digits == d))] for d in range(10)]
    return np.sort(np.concatenate(chosen))


def one_against_rest(digit: int, share: float) -> Split:
    X, X_test, digits, digits_test = published("mnist")
    rows = part(digits, share)
    return Split(X[rows], X_test, (digits[rows] == digit).astype(int), (digits_test == digit).astype(int))


def search_digit(*, digit: int) -> Record:
    """For each pair the rows of a part of the training rows that three folds get right."""
    X, _, y, _ = one_against_rest(digit, SEARCH_ROWS / 60_000)
    folds = list(StratifiedKFold(SEARCH_FOLDS, shuffle=True, random_state=0).split(X, y))
    correct = {}
    for gamma in GAMMA_GRID:
        K = rbf_kernel(X, gamma=gamma)
        blocks = [(K[np.ix_(a, a)], y[a], K[np.ix_(b, a)], y[b]) for a, b in folds]
        for C in C_GRID:
            svc = SVC(C=C, kernel="precomputed")
            correct[C, gamma] = sum(
                int((svc.fit(K_a, y_a).predict(K_b) == y_b).sum()) for K_a, y_a, K_b, y_b in blocks
            )
    return {"correct": [correct[pair] for pair in PAIRS], "rows": len(y)}


def found_pair(journal: Journal, digit: int) -> tuple[float, float] | None:
    """The pair of the best rate; of equal ones the smallest C, then the smallest gamma."""
    found = journal.found(search_digit, digit=digit)
    return None if found is None else PAIRS[int(np.argmax(found["correct"]))]


def like_paper(journal: Journal) -> tuple[float, float] | None:
    """The pair whose SVM of digit 3 on a tenth of the rows is nearest to the paper's in vectors and rate.

    What the paper's pruning leaves of it is not looked at.
    """
    target = paper.TABLE_3[LIKE_SHARE]
    off = []
    for C, gamma in LIKE_PAIRS:
        found = journal.found(one_digit, digit=paper.DIGIT_3, share=LIKE_SHARE, C=C, gamma=gamma)
        if found is None:
            return None
        svm = found["SVC"]
        vectors = abs(np.log(svm["vectors"] / target.svm_vectors)) / LIKE_VECTORS
        off.append(vectors + abs(svm["rate"] - target.svm_rate) / LIKE_RATE)
    return LIKE_PAIRS[int(np.argmin(off))]


def one_digit(*, digit: int, share: float, C: float, gamma: float) -> Record:
    """The SVM of one digit against the rest, trained on a share of the rows, and its reductions at the three taus.

    The loss is followed with kernel values in float32; `rise` is that of the reduced machines in float64.
    """
    X, X_test, y, y_test = one_against_rest(digit, share)
    svc, seconds = timed(
        lambda: SVC(C=C, gamma=gamma, cache_size=CACHE_MEGABYTES).fit(X, y), time.process_time
    )
    machine = Machine(svc, X, y, np.float32)
    K_test = machine.kernel(X_test)
    rate = 100 * np.mean((K_test @ machine.coef[:, 0] + svc.intercept_[0] > 0) == y_test)
    found: Record = {
        "rows": len(y),
        "SVC": {"vectors": len(svc.support_), "rate": round(float(rate), 3), "seconds": round(seconds, 2)},
    }
    for key, (criterion, ridge) in PRUNED.items():
        states = machine.prune(criterion, ridge, paper.TAUS_3)
        found[key] = {
            "vectors": [state.n_vectors for state in states],
            "rate": [round(machine.rate(state, K_test, y_test), 3) for state in states],
            "rise": [round(state.rise, 5) for state in states],
            "seconds": [round(state.seconds, 2) for state in states],
        }
    return found


def ten_classes(*, C: float, gamma: float) -> Record:
    """All 45 pairs of digits on one set of vectors: the SVC of ten classes, and what pruning leaves of it."""
    X, X_test, y, y_test = published("mnist")
    svc, fit = timed(lambda: SVC(C=C, gamma=gamma, cache_size=CACHE_MEGABYTES).fit(X, y), time.process_time)
    slim, seconds = timed(lambda: reduce(svc, method="prune", max_vectors=CLASSES_KEEP), time.process_time)

    def scored(model: Any) -> Record:
        rate, took = timed(lambda: model.score(X_test, y_test), time.process_time)
        return {"rate": round(100 * rate, 3), "predicting": round(took, 2)}

    return {
        "SVC": {"vectors": len(svc.support_), "seconds": round(fit, 2), **scored(svc)},
        "damage": {"vectors": slim.n_vectors_, "seconds": round(seconds, 2), **scored(slim)},
    }
