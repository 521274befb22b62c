"""The 13 benchmark sets: the search for C and gamma, and the reductions of Table 1 and Figure 1."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from harness import Record, published, timed
from papers.cells import Journal
from slimsvm import reduce
from slimsvm.reduction.prune import RIDGE

from . import published as paper
from .path import Machine

# The grid of LIBSVM's guide without its ends, where machines of these sets are linear, constant or do not end.
C_GRID = tuple(2.0**e for e in range(-3, 12, 2))
GAMMA_GRID = tuple(2.0**e for e in range(-11, 2, 2))
FOLDS = 5
# A large C at a small gamma that needs more is judged by what it has then.
SEARCH_MAX_ITER, MAX_ITER = 50_000, 2_000_000
# Training parts behind the rule of one pair for a set.
SHARED_SPLITS = 3
FIGURE_TAUS = (0.005, 0.0125, 0.025, 0.0375, 0.05, 0.0625, 0.075, 0.0875, 0.1)
# The paper's rule, by eq. (7) and by eq. (5), and ours with our lambda.
PRUNED = {
    "redundancy": ("redundancy", paper.RIDGE),
    "distance": ("distance", paper.RIDGE),
    "damage": ("damage", RIDGE),
}
REDUCED: dict[str, dict[str, Any]] = {
    "exact": {"method": "exact"},
    "refine": {"method": "refine", "max_loss": paper.TAU},
    "auto": {},
}
PAIRS = tuple((C, gamma) for C in C_GRID for gamma in GAMMA_GRID)


def search(*, name: str, split: int) -> Record:
    """For each pair: rows of the training part that five folds get right, and vectors of a machine of the whole part.

    `errors` is the standard error of the five folds' rates, in points.
    """
    X, _, y, _ = published(f"ida_{name}", split)
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=split).split(X, y))
    correct, errors, vectors = [], [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for C, gamma in PAIRS:
            svc = SVC(C=C, gamma=gamma, max_iter=SEARCH_MAX_ITER)
            right = [(svc.fit(X[a], y[a]).predict(X[b]) == y[b]) for a, b in folds]
            correct.append(int(sum(part.sum() for part in right)))
            rates = [100 * part.mean() for part in right]
            errors.append(round(float(np.std(rates, ddof=1) / np.sqrt(FOLDS)), 2))
            vectors.append(len(svc.fit(X, y).support_))
    return {"correct": correct, "errors": errors, "vectors": vectors, "rows": len(y)}


def searched(journal: Journal, name: str) -> list[Record] | None:
    """The searches of all splits; None where one is missing."""
    found = [journal.found(search, name=name, split=split) for split in range(paper.N_SPLITS)]
    return None if None in found else [one for one in found if one is not None]


def best_each(found: list[Record]) -> list[list[float]]:
    """For each split the pair of the best rate; of equal ones the smallest C, then the smallest gamma."""
    return [list(PAIRS[int(np.argmax(one["correct"]))]) for one in found]


def best_shared(found: list[Record]) -> list[list[float]]:
    """One pair for all splits: the best mean rate over the first three."""
    correct = np.sum([one["correct"] for one in found[:SHARED_SPLITS]], axis=0)
    return [list(PAIRS[int(np.argmax(correct))])] * len(found)


def nearest_count(found: list[Record], count: float) -> list[list[float]]:
    """One pair for all splits: of those within a standard error of the best, the one with the paper's vectors.

    The standard error is that of one five-fold cross-validation, the mean over the splits.
    """
    rates = 100 * np.mean([np.array(one["correct"]) / one["rows"] for one in found], axis=0)
    best = int(np.argmax(rates))
    error = np.mean([one["errors"][best] for one in found])
    vectors = np.mean([one["vectors"] for one in found], axis=0)
    off = np.where(rates >= rates[best] - error, np.abs(np.log(vectors / count)), np.inf)
    return [list(PAIRS[int(np.argmin(off))])] * len(found)


RULES = {
    "each": lambda found, name: best_each(found),
    "shared": lambda found, name: best_shared(found),
    "count": lambda found, name: nearest_count(found, paper.TABLE_1[name].svm_vectors[0]),
}


def pairs_by(journal: Journal, name: str, rule: str) -> list[list[float]] | None:
    """C and gamma of each split by a rule."""
    found = searched(journal, name)
    return None if found is None else RULES[rule](found, name)


def measure(*, name: str, pairs: list[list[float]]) -> Record:
    """The SVM and its reductions on each split: vectors and rates, at each tau where there are several, and seconds."""
    found: Record = {}

    def note(key: str, vectors: Any, rate: Any, seconds: float) -> None:
        line = found.setdefault(key, {"vectors": [], "rate": [], "seconds": []})
        line["vectors"].append(vectors)
        line["rate"].append(rate)
        line["seconds"].append(round(seconds, 5))

    for split, (C, gamma) in enumerate(pairs):
        X, X_test, y, y_test = published(f"ida_{name}", split)
        svc, seconds = timed(
            lambda X=X, y=y, C=C, gamma=gamma: SVC(C=C, gamma=gamma, max_iter=MAX_ITER).fit(X, y),
            time.process_time,
        )
        note("SVC", len(svc.support_), round(100 * svc.score(X_test, y_test), 3), seconds)
        machine = Machine(svc, X, y)
        K_test = machine.kernel(X_test)
        for key, (criterion, ridge) in PRUNED.items():
            states = machine.prune(criterion, ridge, FIGURE_TAUS)
            rates = [round(machine.rate(state, K_test, y_test), 3) for state in states]
            seconds = next(state.seconds for state in states if state.tau == paper.TAU)
            note(key, [state.n_vectors for state in states], rates, seconds)
        for key, options in REDUCED.items():
            slim, seconds = timed(
                lambda svc=svc, X=X, y=y, o=options: reduce(svc, X, y, **o), time.process_time
            )
            note(key, slim.n_vectors_, round(100 * slim.score(X_test, y_test), 3), seconds)
    return found
