"""KMP and SGGP beside PFSALS (Tables XVIII and XIX): every free parameter by cross-validation.

A machine a class, each with vectors of its own, all of the same number of steps; 146 random rows are looked at in a
step. KMP scores them by what their own coefficient gains, SGGP by what solving all coefficients gains: so the costs of
the paper's Table III. Width, C and the number of steps are those of highest mean accuracy over the folds of the
training rows, the fewest steps of equals; of PFSALS gamma alone is searched, at the paper's width and epsilon.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from harness import Array, Record
from slimsvm import MatchingPursuitSVC, SparseGreedyGPC
from slimsvm.kernels import RBF
from slimsvm.methods.pursuit.search import Pursuit, PursuitRule
from slimsvm.problem import KernelGram

from . import published as paper
from .machines import against_rest, answers, columns, fitted, greedy_machine, percent, signs, split_of

FOLDS = 10
# Of the folds those that KMP and SGGP are run on: a fold of USPS takes up to minutes.
FOLDS_RUN = {"ringnorm": 10, "usps": 3}
FOLDS_A_CELL = {"ringnorm": 10, "usps": 1}
# Numbers of steps that the folds are scored at: every STRIDE up to the most.
STRIDE = {"ringnorm": 2, "usps": 10}
MOST_STEPS = {"ringnorm": 200, "usps": 400}
WIDTHS = {"ringnorm": (-7, -6, -5, -4, -3), "usps": (-6, -5, -4)}
CS = {
    ("ringnorm", "KMP"): (0.1, 1.0, 10.0, 100.0),
    ("ringnorm", "SGGP"): (0.1, 1.0, 10.0, 100.0),
    ("usps", "KMP"): (10.0, 100.0, 1000.0),
    ("usps", "SGGP"): (10.0, 100.0),
}


def folds_of(name: str) -> list[tuple[Array, Array]]:
    X, _, y, _ = split_of(name)
    return list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y))


def greedy_folds(*, name: str, log2_gamma: int) -> Record:
    """Mean accuracy of PFSALS over the folds, and their deviation."""
    X, _, y, _ = split_of(name)
    scores = []
    for train, valid in folds_of(name):
        model = greedy_machine(log2_gamma, paper.WIDTHS[name], 0.5, paper.CANDIDATES, 0)
        scores.append(model.fit(X[train], y[train]).score(X[valid], y[valid]))
    return {"accuracy": percent(np.mean(scores)), "deviation": percent(np.std(scores, ddof=1))}


def pursuit_outputs(method: str, gram: KernelGram, K: Array, y: Array, C: float, n_steps: int) -> Array:
    """Outputs of one two-class machine at the rows of K after 0, 1, ..., n_steps steps; the last repeats if fewer."""
    rule = PursuitRule(1.0 / C, method == "SGGP", method == "SGGP", paper.CANDIDATES)
    search = Pursuit(gram, y[:, None].astype(float), np.ones(gram.n), rule, np.random.default_rng(0))
    while search.m < n_steps and search.step():
        pass
    outputs = np.array(search.path_outputs(K[search.chosen]))[:, :, 0]
    return np.pad(outputs, ((0, n_steps + 1 - len(outputs)), (0, 0)), mode="edge")


def pursuit_folds(*, name: str, method: str, log2_width: int, C: float, first: int, last: int) -> Record:
    """Mean accuracy on folds first to last - 1 after STRIDE, 2 STRIDE, ... steps of every machine."""
    folds = folds_of(name)[first:last]
    means = np.mean([fold_accuracies(name, method, log2_width, C, *fold) for fold in folds], axis=0)
    return {"accuracy": [round(float(value), 3) for value in means]}


def fold_accuracies(
    name: str, method: str, log2_width: int, C: float, train: Array, valid: Array
) -> list[float]:
    X, _, y, _ = split_of(name)
    classes, n_steps = np.unique(y), MOST_STEPS[name]
    kernel = RBF(2.0**log2_width)
    gram = KernelGram(kernel, X[train])
    K = kernel(X[train], X[valid])
    outputs = [
        pursuit_outputs(method, gram, K, signs(y[train], label), C, n_steps)
        for label in against_rest(classes)
    ]
    steps = range(STRIDE[name], n_steps + 1, STRIDE[name])
    return [
        100 * float(np.mean(answers(classes, [output[step] for output in outputs]) == y[valid]))
        for step in steps
    ]


def fold_chunks(name: str) -> list[Record]:
    """The folds of each cell."""
    chunk = FOLDS_A_CELL[name]
    return [{"first": first, "last": first + chunk} for first in range(0, FOLDS_RUN[name], chunk)]


def chosen(journal: Any, name: str, method: str) -> Record | None:
    """Width, C and steps of highest mean accuracy over the folds; None where a fold is missing."""
    found: tuple[float, Record] | None = None
    for log2_width in WIDTHS[name]:
        for C in CS[name, method]:
            where = {"name": name, "method": method, "log2_width": log2_width, "C": C}
            parts = [journal.found(pursuit_folds, **where, **folds) for folds in fold_chunks(name)]
            if None in parts:
                return None
            means = np.mean([part["accuracy"] for part in parts], axis=0)
            best = int(np.argmax(means))
            if found is None or means[best] > found[0]:
                n_steps = STRIDE[name] * (best + 1)
                found = float(means[best]), {"log2_width": log2_width, "C": C, "n_steps": n_steps}
    return None if found is None else found[1]


def pursuit(*, name: str, method: str, log2_width: int, C: float, n_steps: int, draws: int) -> Record:
    """The machines of all classes on all training rows: accuracy, different vectors, seconds."""

    def one(draw: int) -> Record:
        X, X_test, y, y_test = split_of(name, draw)
        options: dict[str, Any] = {
            "max_vectors": n_steps,
            "C": C,
            "gamma": 2.0**log2_width,
            "n_candidates": paper.CANDIDATES,
            "random_state": 0,
        }
        classes, used, outputs, total = np.unique(y), set(), [], 0.0
        for label in against_rest(classes):
            if method == "KMP":
                model: Any = MatchingPursuitSVC(fitting="backfitting", **options)
            else:
                model = SparseGreedyGPC(fitting="prefitting", tol=0.0, **options)
            seconds, _ = fitted(model, X, signs(y, label))
            total += seconds
            used |= set(model.support_.tolist())
            outputs.append(model.decision_function(X_test))
        return {
            "accuracy": percent(np.mean(answers(classes, outputs) == y_test)),
            "vectors": len(used),
            "seconds": round(total, 4),
        }

    return columns(map(one, range(draws)))


def chosen_gamma(journal: Any, name: str) -> int | None:
    """log2 gamma of PFSALS with the highest mean accuracy over the folds, the smallest of equals."""
    found = [journal.found(greedy_folds, name=name, log2_gamma=value) for value in paper.LOG2_GAMMA]
    if None in found:
        return None
    return paper.LOG2_GAMMA[int(np.argmax([one["accuracy"] for one in found]))]
