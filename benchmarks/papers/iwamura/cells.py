"""What is run for Iwamura and Abe (2008): their machines on realisations of the 13 sets, and their search.

The set-up is the paper's where its text says it: inputs scaled to [0, 1] by the training part, C, gamma and eta of
Tables II, III and X. Its numbers of vectors tell two things that the text does not: gamma is divided by the number of
inputs, and the Cholesky rule sees the rows of label -1 first.

The search is the paper's (section V.A): five folds on each of the first five training parts. For each gamma, the best C
of each part, the smallest of equals; the gamma of highest mean rate; the median of its five C. Then eta and C of the
sparse machine in the same way at that gamma, and C alone for linear kernels.
"""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from harness import Record, Split, n_vectors
from papers.cells import Cell, Journal
from slimsvm import EmpiricalSVC, FullSVC
from slimsvm.datasets import load

from . import published as paper
from .published import Rbf

# libsvm crawls on linear kernels at C = 10,000; what it has after this many iterations has settled accuracy.
FULL_MAX_ITER, SEARCH_MAX_ITER = 2_000_000, 100_000
SEARCH_PARTS, SEARCH_FOLDS = 5, 5
# Realisations of a cell.
CHUNK = 10
# Realisations that are run of the machines whose hyper-parameters our own search found.
FOUND_REALISATIONS = 20
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


# ---------------------------------------------------------------------------- the paper's search


def built(kind: str, loss: str, d: int, value: float, gamma: float, C: float) -> Any:
    """A machine of the search; `value` is what is searched besides C."""
    if kind == "linear SVM":
        return FullSVC(C=C, kernel="linear", max_iter=SEARCH_MAX_ITER)
    if kind == "linear OSV":
        return EmpiricalSVC(C=C, kernel="linear", vectors="orthogonal")
    if kind == "linear NOSV":
        return EmpiricalSVC(C=C, kernel="linear", eta=paper.ETA_LINEAR)
    if kind == "full":
        return FullSVC(C=C, gamma=value / d, loss=loss, max_iter=SEARCH_MAX_ITER)
    return sparse(C, gamma / d, value, loss)


def search(*, name: str, kind: str, loss: str, part: int, value: float, gamma: float) -> Record:
    """Mean rate of five folds of a training part, for each C."""
    split = realisation(name, part)
    folds = list(StratifiedKFold(SEARCH_FOLDS, shuffle=True, random_state=0).split(split.X, split.y))
    rates = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for C in paper.C_GRID:
            model = built(kind, loss, split.X.shape[1], value, gamma, C)
            scores = [
                clone(model).fit(split.X[train], split.y[train]).score(split.X[valid], split.y[valid])
                for train, valid in folds
            ]
            rates.append(round(float(np.mean(scores)), 6))
    return {"rates": rates}


def best(journal: Journal, name: str, kind: str, loss: str, gamma: float) -> tuple[float, float] | None:
    """The value of highest mean rate over the parts, each at its own best C, and the median of those C.

    The first of equal values wins, and the smallest of equal C. None where a part is missing.
    """
    chosen: tuple[float, float, float] | None = None
    for value in VALUES.get(kind, (0.0,)):
        parts = [
            journal.found(search, name=name, kind=kind, loss=loss, part=part, value=value, gamma=gamma)
            for part in range(SEARCH_PARTS)
        ]
        if None in parts:
            return None
        rates = np.array([part["rates"] for part in parts if part is not None])
        mean = float(rates.max(axis=1).mean())
        if chosen is None or mean > chosen[0]:
            chosen = mean, value, float(np.median(np.array(paper.C_GRID)[rates.argmax(axis=1)]))
    return None if chosen is None else chosen[1:]


VALUES: dict[str, tuple[float, ...]] = {"full": paper.GAMMA_GRID, "sparse": paper.ETA_GRID}


def found_rbf(journal: Journal, name: str, loss: str) -> list[float] | None:
    """C, gamma, C of the sparse machine and eta, as the search found them."""
    full = best(journal, name, "full", loss, 0.0)
    if full is None:
        return None
    sparse_found = best(journal, name, "sparse", loss, full[0])
    return None if sparse_found is None else [full[1], full[0], sparse_found[1], sparse_found[0]]


def found_linear(journal: Journal, name: str) -> list[float] | None:
    found = [best(journal, name, kind, "hinge", 0.0) for kind in LINEAR]
    return None if None in found else [pair[1] for pair in found if pair is not None]


def of_paper(name: str) -> Record:
    return {
        "linear": list(paper.TABLE_II[name]),
        "l1": list(paper.TABLE_III[name]),
        "l2": list(paper.TABLE_X[name]),
    }


def found_parameters(journal: Journal, name: str) -> Record | None:
    """Rows of Tables II, III and X as our search found them."""
    linear = found_linear(journal, name)
    l1, l2 = (found_rbf(journal, name, loss) for loss in ("hinge", "squared_hinge"))
    return None if linear is None or l1 is None or l2 is None else {"linear": linear, "l1": l1, "l2": l2}


# ---------------------------------------------------------------------------- the list

# Seconds of all machines on one realisation, of the search for one C-grid of a full and of a sparse machine.
EXPECTED = {
    "banana": (0.5, 2.5, 1.5), "breast_cancer": (0.4, 1.5, 1), "diabetis": (0.4, 4, 1.5), "german": (4.5, 5, 3),
    "heart": (0.05, 0.6, 0.6), "image": (4, 10, 30), "ringnorm": (0.9, 1.6, 3), "flare_solar": (0.3, 1.5, 1),
    "splice": (1.5, 9, 50), "thyroid": (0.05, 0.4, 0.6), "titanic": (0.1, 0.6, 0.5), "twonorm": (0.2, 1.6, 2),
    "waveform": (0.2, 1.8, 3),
}  # fmt: skip


def cells(journal: Journal) -> Iterator[Cell]:
    for name, size in paper.TABLE_I.items():
        data = (f"ida_{name}",)
        each, full_seconds, sparse_seconds = EXPECTED[name]

        def chunks(parameters: Record, n: int, table: str, *, waits: bool = False) -> Iterator[Cell]:
            for first in range(0, n, CHUNK):
                where = {"name": name, "first": first, "last": min(first + CHUNK, n)}
                seconds = CHUNK * each
                quick = not waits and first == 0 and name in ("heart", "thyroid", "titanic")
                yield Cell(table, measure, {**where, **parameters}, seconds, data, quick=quick, waits=waits)

        yield from chunks(
            of_paper(name), size.realisations, "Tables IV to IX and XI to XIII, the paper's parameters"
        )
        yield Cell("Table IX, fits beside SVC.fit", fit_times, {"name": name}, 2.0, data, quick=True)

        for loss in ("hinge", "squared_hinge"):
            what = {"name": name, "loss": loss}
            yield Cell(
                "Experiments on differences", over_C, what, 8 * (full_seconds + sparse_seconds) / 10, data
            )
        yield Cell(
            "Experiments on differences", stopped_early, {"name": name}, 2.0, data, quick=name == "heart"
        )

        def searches(
            kind: str, loss: str, gamma: float, seconds: float, *, waits: bool = False
        ) -> Iterator[Cell]:
            for value in VALUES.get(kind, (0.0,)):
                for part in range(SEARCH_PARTS):
                    what = {
                        "name": name,
                        "kind": kind,
                        "loss": loss,
                        "part": part,
                        "value": value,
                        "gamma": gamma,
                    }
                    table = "Table II, found" if kind in LINEAR else "Tables III and X, found"
                    quick = (
                        kind == "full" and loss == "hinge" and part == 0 and value == 0.1 and name == "heart"
                    )
                    yield Cell(table, search, what, seconds, data, quick=quick, waits=waits)

        for kind, factor in zip(LINEAR, (1.0, 0.3, 0.3), strict=True):
            yield from searches(kind, "hinge", 0.0, factor * full_seconds)
        for loss in ("hinge", "squared_hinge"):
            yield from searches("full", loss, 0.0, full_seconds)
            full = best(journal, name, "full", loss, 0.0)
            waits = full is None
            gamma = of_paper(name)["l1"][1] if full is None else full[0]
            yield from searches("sparse", loss, gamma, sparse_seconds, waits=waits)
        found = found_parameters(journal, name)
        yield from chunks(
            found or of_paper(name),
            min(FOUND_REALISATIONS, size.realisations),
            "Tables IV, V, VII, XI and XII, our own search's parameters",
            waits=found is None,
        )
    for name, loss in (("banana", "hinge"), ("waveform", "squared_hinge")):
        yield Cell(
            "Figures 1 and 2", against_eta, {"name": name, "loss": loss}, 1.0, (f"ida_{name}",), quick=True
        )


def rows_of(journal: Journal, name: str, parameters: Record, n: int) -> Record | None:
    """What was found on the realisations that were run, chunks put together; None where there are none."""
    whole: dict[str, Any] = {"runs": {}, "osv_excess": [], "ranks": [], "unmerged": []}
    for first in range(0, n, CHUNK):
        part = journal.found(measure, name=name, first=first, last=min(first + CHUNK, n), **parameters)
        if part is None:
            continue
        for key, fields in part["runs"].items():
            for field, values in fields.items():
                whole["runs"].setdefault(key, {}).setdefault(field, []).extend(values)
        for key in ("osv_excess", "ranks", "unmerged"):
            whole[key] += part[key]
    return whole if whole["ranks"] else None
