"""The machines of Iwamura and Abe (2008), what they give on each split, and the paper's search."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

import iwamura_abe_tables as paper
from harness import Split, n_vectors
from iwamura_abe_tables import Rbf
from slimsvm import EmpiricalSVC, FullSVC
from slimsvm.datasets import load

# libsvm crawls on linear kernels at C = 10,000; what it has after this many iterations has settled accuracy.
FULL_MAX_ITER, SEARCH_MAX_ITER = 2_000_000, 100_000
SEARCH_PARTS, SEARCH_FOLDS = 5, 5

Linear = tuple[float, float, float]


@dataclass(frozen=True)
class Parameters:
    """The hyper-parameters of one set: rows of Tables II, III and X."""

    linear: Linear
    l1: Rbf
    l2: Rbf

    @classmethod
    def of_paper(cls, name: str) -> Parameters:
        return cls(paper.TABLE_II[name], paper.TABLE_III[name], paper.TABLE_X[name])


class Run(NamedTuple):
    """What one fit gave."""

    accuracy: float
    n_vectors: int
    fit_seconds: float
    seconds: float  # with the prediction of the test part, as in the paper
    gap: float
    warned: bool


class Outcome(NamedTuple):
    """What one machine gave on all splits of one set."""

    runs: list[Run]

    def mean(self, field: str) -> float:
        return float(np.mean([getattr(run, field) for run in self.runs]))

    def deviation(self, field: str) -> float:
        return float(np.std([getattr(run, field) for run in self.runs]))

    def median(self, field: str) -> float:
        return float(np.median([getattr(run, field) for run in self.runs]))


@dataclass
class SetResult:
    """All machines on one set."""

    n_splits: int
    n_published: int
    parameters: Parameters
    outcomes: dict[str, Outcome]
    osv_excess: list[float]  # of OSV's objective over the linear SVM's, relative, on each split
    ranks: list[int]  # of the scaled training part of each split


# ---------------------------------------------------------------------------- data


class Realisations:
    """The realisations of one set, scaled to [0, 1]: those of the file, then splits drawn anew in the same sizes."""

    def __init__(self, name: str, *, row_order: str) -> None:
        self.name, self.row_order = name, row_order
        self.data = load(f"ida_{name}")
        self.n_stored = len(self.data.train_idx)
        self.n_published = min(self.data.n_published, self.n_stored)

    def split(self, index: int) -> Split:
        if index < self.n_stored:
            train, test = self.data.train_idx[index], self.data.test_idx[index]
        else:
            order = np.random.default_rng(index).permutation(len(self.data.y))
            train, test = np.split(order, [self.data.train_idx.shape[1]])
        if self.row_order == "class":
            train = train[np.argsort(self.data.y[train], kind="stable")]
        X, X_test = self.data.X[train], self.data.X[test]
        low, width = X.min(axis=0), np.ptp(X, axis=0)
        width[width == 0] = 1.0
        return Split((X - low) / width, (X_test - low) / width, self.data.y[train], self.data.y[test])


# ---------------------------------------------------------------------------- machines


def sparse(p: Rbf, d: int, loss: str) -> EmpiricalSVC:
    return EmpiricalSVC(C=p.C_sparse, gamma=p.gamma / d, eta=p.eta, loss=loss)


def full(p: Rbf, d: int, loss: str) -> FullSVC:
    return FullSVC(C=p.C, gamma=p.gamma / d, loss=loss, max_iter=FULL_MAX_ITER)


def machines(p: Parameters, d: int) -> dict[str, Any]:
    """The columns of the tables, and scikit-learn's SVC beside the first of Table III."""
    C_svm, C_osv, C_nosv = p.linear
    return {
        "linear SVM": FullSVC(C=C_svm, kernel="linear", max_iter=FULL_MAX_ITER),
        "linear OSV": EmpiricalSVC(C=C_osv, kernel="linear", vectors="orthogonal"),
        "linear NOSV": EmpiricalSVC(C=C_nosv, kernel="linear", eta=paper.ETA_LINEAR),
        "L1 SVM": full(p.l1, d, "hinge"),
        "L1 SVC": SVC(C=p.l1.C, gamma=p.l1.gamma / d),
        "L1 sparse": sparse(p.l1, d, "hinge"),
        "L2 SVM": full(p.l2, d, "squared_hinge"),
        "L2 sparse": sparse(p.l2, d, "squared_hinge"),
    }


def run(model: Any, split: Split) -> Run:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        model.fit(split.X, split.y)
        fitted = time.perf_counter()
        predicted = model.predict(split.X_test)
        end = time.perf_counter()
    accuracy = 100 * float(np.mean(predicted == split.y_test))
    gap = float(np.max(getattr(model, "gap_", 0.0)))
    return Run(accuracy, n_vectors(model), fitted - start, end - start, gap, bool(caught))


def linear_objective(model: Any, split: Split, C: float) -> float:
    """Eq. (14) of a fitted linear machine."""
    w = model.dual_coef_ @ model.support_vectors_
    signs = np.where(split.y == model.classes_[1], 1.0, -1.0)
    margins = signs * model.decision_function(split.X)
    return float(0.5 * np.sum(w * w) + C * np.maximum(0.0, 1.0 - margins).sum())


def measure(realisations: Realisations, parameters: Parameters, n_splits: int) -> SetResult:
    """Fit every machine on every split, in turn, so that a slow moment of the computer hits all alike."""
    runs: dict[str, list[Run]] = {}
    excess, ranks = [], []
    for index in range(n_splits):
        split = realisations.split(index)
        ranks.append(int(np.linalg.matrix_rank(split.X)))
        models = machines(parameters, split.X.shape[1])
        for key, model in models.items():
            runs.setdefault(key, []).append(run(model, split))
        svm, osv = (
            linear_objective(models[key], split, parameters.linear[0]) for key in ("linear SVM", "linear OSV")
        )
        if parameters.linear[0] == parameters.linear[1]:
            excess.append((osv - svm) / svm)
    outcomes = {key: Outcome(values) for key, values in runs.items()}
    return SetResult(n_splits, min(n_splits, realisations.n_published), parameters, outcomes, excess, ranks)


# ---------------------------------------------------------------------------- the paper's search


def rate(model: Any, split: Split) -> float:
    """Mean recognition rate of five folds of the training part."""
    folds = StratifiedKFold(SEARCH_FOLDS, shuffle=True, random_state=0)
    scores = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for train, valid in folds.split(split.X, split.y):
            fitted = clone(model).fit(split.X[train], split.y[train])
            scores.append(fitted.score(split.X[valid], split.y[valid]))
    return float(np.mean(scores))


def best_of(
    parts: Sequence[Split], values: Iterable[float], build: Callable[[float, float], Any]
) -> tuple[float, float]:
    """The value of highest mean rate over the parts, each at its own best C, and the median of those C.

    The first of equal values wins, and the smallest of equal C.
    """
    best: tuple[float, float, float] | None = None
    for value in values:
        rates = np.array([[rate(build(value, C), part) for C in paper.C_GRID] for part in parts])
        mean = float(rates.max(axis=1).mean())
        if best is None or mean > best[0]:
            best = mean, value, float(np.median(np.array(paper.C_GRID)[rates.argmax(axis=1)]))
    assert best is not None
    return best[1], best[2]


def search(realisations: Realisations) -> Parameters:
    """The hyper-parameters the paper's cross-validation finds."""
    parts = [realisations.split(i) for i in range(min(SEARCH_PARTS, realisations.n_stored))]
    d = parts[0].X.shape[1]

    def linear(build: Callable[[float], Any]) -> float:
        return best_of(parts, [0.0], lambda _, C: build(C))[1]

    def rbf(loss: str) -> Rbf:
        gamma, C = best_of(
            parts,
            paper.GAMMA_GRID,
            lambda g, C: FullSVC(C=C, gamma=g / d, loss=loss, max_iter=SEARCH_MAX_ITER),
        )
        eta, C_sparse = best_of(parts, paper.ETA_GRID, lambda eta, C: sparse(Rbf(C, gamma, C, eta), d, loss))
        return Rbf(C, gamma, C_sparse, eta)

    return Parameters(
        (
            linear(lambda C: FullSVC(C=C, kernel="linear", max_iter=SEARCH_MAX_ITER)),
            linear(lambda C: EmpiricalSVC(C=C, kernel="linear", vectors="orthogonal")),
            linear(lambda C: EmpiricalSVC(C=C, kernel="linear", eta=paper.ETA_LINEAR)),
        ),
        rbf("hinge"),
        rbf("squared_hinge"),
    )
