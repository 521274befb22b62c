"""The machines of Iwamura and Abe (2008) on realisations of the 13 sets: what they give, and how long they take."""

from __future__ import annotations

import functools
import time
import warnings
from typing import Any

import numpy as np
from sklearn.svm import SVC

from harness import Record, Split, n_vectors
from slimsvm import EmpiricalSVC, FullSVC
from slimsvm.datasets import load

from . import published as paper
from .published import Rbf

# libsvm crawls on linear kernels at C = 10,000; what it has after this many iterations has settled accuracy.
FULL_MAX_ITER, SEARCH_MAX_ITER = 2_000_000, 100_000
# So many rounds of each fit for the page's times of EmpiricalSVC beside SVC.
TIMED_ROUNDS, TIMED_SPLITS = 5, 5
# Realisations of the experiments that look for the reason of a difference, and the iterations of one of them.
EXPERIMENT_REALISATIONS = 10
STOPS = (50, 100, 200, 400, 800, 1600, 3200)

LINEAR = ("linear SVM", "linear OSV", "linear NOSV")
L1, L2 = ("L1 SVM", "L1 sparse"), ("L2 SVM", "L2 sparse")


# ---------------------------------------------------------------------------- data


@functools.cache
def data_of(name: str) -> Any:
    return load(f"ida_{name}")


def n_stored(name: str) -> int:
    return len(data_of(name).train_idx)


def realisation(name: str, index: int) -> Split:
    """A realisation scaled to [0, 1], the rows of label -1 first: those of the file, then drawn in the same sizes."""
    data = data_of(name)
    if index < len(data.train_idx):
        train, test = data.train_idx[index], data.test_idx[index]
    else:
        order = np.random.default_rng(index).permutation(len(data.y))
        train, test = np.split(order, [data.train_idx.shape[1]])
    train = train[np.argsort(data.y[train], kind="stable")]
    X, X_test = data.X[train], data.X[test]
    low, width = X.min(axis=0), np.ptp(X, axis=0)
    width[width == 0] = 1.0
    return Split((X - low) / width, (X_test - low) / width, data.y[train], data.y[test])


# ---------------------------------------------------------------------------- machines


def sparse(C: float, gamma: float, eta: float, loss: str) -> EmpiricalSVC:
    return EmpiricalSVC(C=C, gamma=gamma, eta=eta, loss=loss)


def machines(linear: list[float], l1: list[float], l2: list[float], d: int) -> dict[str, Any]:
    """The columns of the tables, and scikit-learn's SVC on rows that are not merged."""
    C_svm, C_osv, C_nosv = linear
    first, second = Rbf(*l1), Rbf(*l2)
    found: dict[str, Any] = {
        "linear SVM": FullSVC(C=C_svm, kernel="linear", max_iter=FULL_MAX_ITER),
        "linear OSV": EmpiricalSVC(C=C_osv, kernel="linear", vectors="orthogonal"),
        "linear NOSV": EmpiricalSVC(C=C_nosv, kernel="linear", eta=paper.ETA_LINEAR),
    }
    for key, p, loss in (("L1", first, "hinge"), ("L2", second, "squared_hinge")):
        found[f"{key} SVM"] = FullSVC(C=p.C, gamma=p.gamma / d, loss=loss, max_iter=FULL_MAX_ITER)
        found[f"{key} sparse"] = sparse(p.C_sparse, p.gamma / d, p.eta, loss)
    return found


def unmerged_counts(linear: list[float], l1: list[float], l2: list[float], split: Split) -> Record:
    """Support vectors of the SVMs where equal rows are not merged: scikit-learn's solver on all rows."""
    d = split.X.shape[1]
    first, second = Rbf(*l1), Rbf(*l2)
    distances = (
        np.square(split.X).sum(axis=1)[:, None] + np.square(split.X).sum(axis=1) - 2 * split.X @ split.X.T
    )
    K = np.exp(-second.gamma / d * np.maximum(distances, 0.0))
    K[np.diag_indices_from(K)] += (
        1 / second.C
    )  # eq. (25): the squared hinge is a hard margin with this kernel
    kinds = {
        "linear SVM": (SVC(C=linear[0], kernel="linear", max_iter=FULL_MAX_ITER), split.X),
        "L1 SVM": (SVC(C=first.C, gamma=first.gamma / d, max_iter=FULL_MAX_ITER), split.X),
        "L2 SVM": (SVC(C=1e10, kernel="precomputed", max_iter=FULL_MAX_ITER), K),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {key: len(model.fit(X, split.y).support_) for key, (model, X) in kinds.items()}


def run(model: Any, split: Split) -> Record:
    """Rate, vectors, seconds to train and to test (as the paper counts them), gap, and whether there was a warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()
        model.fit(split.X, split.y)
        predicted = model.predict(split.X_test)
        seconds = time.process_time() - start
    return {
        "accuracy": round(100 * float(np.mean(predicted == split.y_test)), 3),
        "vectors": n_vectors(model),
        "seconds": round(seconds, 5),
        "gap": float(f"{np.max(getattr(model, 'gap_', 0.0)):.2g}"),
        "warned": bool(caught),
    }


def linear_objective(model: Any, split: Split, C: float) -> float:
    """Eq. (14) of a fitted linear machine."""
    w = model.dual_coef_ @ model.support_vectors_
    signs = np.where(split.y == model.classes_[1], 1.0, -1.0)
    margins = signs * model.decision_function(split.X)
    return float(0.5 * np.sum(w * w) + C * np.maximum(0.0, 1.0 - margins).sum())


def measure(
    *, name: str, first: int, last: int, linear: list[float], l1: list[float], l2: list[float]
) -> Record:
    """All machines on realisations first to last - 1, in turn, so that a slow moment of the computer hits all alike."""
    runs: dict[str, list[Record]] = {}
    excess, ranks, unmerged = [], [], []
    for index in range(first, last):
        split = realisation(name, index)
        ranks.append(int(np.linalg.matrix_rank(split.X)))
        models = machines(linear, l1, l2, split.X.shape[1])
        for key, model in models.items():
            runs.setdefault(key, []).append(run(model, split))
        if linear[0] == linear[1]:
            svm, osv = (linear_objective(models[key], split, linear[0]) for key in LINEAR[:2])
            excess.append(float(f"{(osv - svm) / svm:.2g}"))
        equal_rows = len(np.unique(split.X, axis=0)) < len(split.X)
        unmerged.append(unmerged_counts(linear, l1, l2, split) if equal_rows else None)
    columns = {
        key: {field: [one[field] for one in several] for field in several[0]} for key, several in runs.items()
    }
    return {"runs": columns, "osv_excess": excess, "ranks": ranks, "unmerged": unmerged}


def fit_times(*, name: str) -> Record:
    """Milliseconds of a fit at Table III: EmpiricalSVC and SVC in turn, medians over rounds and splits."""
    p = paper.TABLE_III[name]
    times: dict[str, list[float]] = {"SVC": [], "EmpiricalSVC": []}
    for index in range(TIMED_SPLITS):
        split = realisation(name, index)
        gamma = p.gamma / split.X.shape[1]
        models = {"SVC": SVC(C=p.C, gamma=gamma), "EmpiricalSVC": sparse(p.C_sparse, gamma, p.eta, "hinge")}
        for _ in range(TIMED_ROUNDS):
            for key, model in models.items():
                start = time.process_time()
                model.fit(split.X, split.y)
                times[key].append(1e3 * (time.process_time() - start))
    return {key: round(float(np.median(values)), 3) for key, values in times.items()}


def over_C(*, name: str, loss: str) -> Record:
    """Rate and vectors of both machines for every C of the grid, gamma and eta the paper's: what a column can be."""
    p = (paper.TABLE_III if loss == "hinge" else paper.TABLE_X)[name]
    found: dict[str, list[list[float]]] = {"SVM": [], "sparse": []}
    splits = [realisation(name, index) for index in range(EXPERIMENT_REALISATIONS)]
    gamma = p.gamma / splits[0].X.shape[1]
    for C in paper.C_GRID:
        models = {
            "SVM": FullSVC(C=C, gamma=gamma, loss=loss, max_iter=SEARCH_MAX_ITER),
            "sparse": sparse(C, gamma, p.eta, loss),
        }
        for key, model in models.items():
            runs = [run(model, split) for split in splits]
            found[key].append(
                [round(float(np.mean([one[f] for one in runs])), 2) for f in ("accuracy", "vectors")]
            )
    return found


def stopped_early(*, name: str) -> Record:
    """The squared-hinge SVM of Table X when its solver stops after so many iterations: mean and deviation."""
    p = paper.TABLE_X[name]
    found: Record = {"accuracy": [], "vectors": []}
    splits = [realisation(name, index) for index in range(EXPERIMENT_REALISATIONS)]
    for n in STOPS:
        model = FullSVC(C=p.C, gamma=p.gamma / splits[0].X.shape[1], loss="squared_hinge", max_iter=n)
        runs = [run(model, split) for split in splits]
        for field in found:
            values = [one[field] for one in runs]
            found[field].append([round(float(np.mean(values)), 2), round(float(np.std(values, ddof=1)), 2)])
    return found


def against_eta(*, name: str, loss: str) -> Record:
    """Figures 1 and 2: rate and vectors against eta, first realisation."""
    p = (paper.TABLE_III if loss == "hinge" else paper.TABLE_X)[name]
    split = realisation(name, 0)
    found = [run(sparse(p.C_sparse, p.gamma / split.X.shape[1], eta, loss), split) for eta in paper.ETA_GRID]
    return {field: [one[field] for one in found] for field in ("accuracy", "vectors")}
