"""Table 2: seven machines on seven sets, ten folds, parameters by ten-fold cross-validation on each training part.

Of the settings of a grid the one of least inner error is taken, of equals the one with the fewest vectors: the plain
reading of the paper's "parameters are chosen via a 10-fold cross validation process on the training set". A second rule
beside it takes the fewest vectors within half a standard error of the least error. A race gives up settings that
neither rule will choose.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from harness import Array, Record, n_vectors
from slimsvm import LPSVC, RVC, SparseProbitClassifier, SparsityControlledSVC, ZeroNormSVC
from slimsvm.datasets import load

from . import published as paper

INNER_FOLDS = 10
# gamma: multiples of 1 / (number of inputs), for inputs of unit variance.
GAMMAS = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
# Gammas, C and D of each machine, by factors of two to three; by three to five for SC-SVC, which has all of them.
GRIDS: dict[str, Record] = {
    "SVC": {"gammas": GAMMAS, "Cs": (0.1, 0.3, 1, 3, 10, 30, 100)},
    "SSVC_A": {"gammas": GAMMAS, "Cs": (0.2, 0.5, 1, 2, 5, 10, 20, 50)},
    "SSVC_W": {"gammas": GAMMAS, "Cs": (0.1, 0.2, 0.5, 1, 2, 5, 10, 20)},
    "RVM": {"gammas": GAMMAS},
    "SPC": {"gammas": GAMMAS},
    "LP-SVC": {"gammas": GAMMAS, "Cs": (0.1, 0.2, 0.5, 1, 2, 5, 10, 20)},
    "SC-SVC": {"gammas": GAMMAS[1::2], "Cs": (0.3, 1, 3, 10), "Ds": (0.1, 0.5, 2.5)},
}
# Narrow kernels with a large C leave a hundred vectors and take a hundred times as long (German: minutes a fit): on
# large sets of many inputs C times gamma's multiple is at most this.
CORNER = {"SSVC_A": 4.0, "SSVC_W": 3.2, "LP-SVC": 3.2}
MANY_INPUTS, MANY_ROWS = 8, 400
# Inner folds before the first setting may be given up, and by how many standard errors of the difference.
FIRST_FOLDS = 3
CERTAIN = 2.0
# Of a standard error of the least inner error: what each rule allows for the sake of fewer vectors.
RULES = {"best": 0.0, "half": 0.5}
TIMED_ROUNDS = 3


def machine(method: str) -> Any:
    return {
        "SVC": lambda: SVC(),
        "SSVC_A": lambda: ZeroNormSVC(n_jobs=1),
        "SSVC_W": lambda: ZeroNormSVC(variant="multiplicative", n_jobs=1),
        "RVM": lambda: RVC(n_jobs=1),
        "SPC": lambda: SparseProbitClassifier(n_jobs=1),
        "LP-SVC": lambda: LPSVC(n_jobs=1),
        "SC-SVC": lambda: SparsityControlledSVC(n_jobs=1),
    }[method]()


def grid_of(title: str, method: str) -> Record:
    """The grid of a machine on a set, as a cell's parameters have it."""
    size = paper.TABLE_1[title]
    grid = {key: list(values) for key, values in GRIDS[method].items()}
    if method in CORNER and size.inputs >= MANY_INPUTS and size.rows >= MANY_ROWS:
        grid["corner"] = CORNER[method]
    return grid


def settings_of(grid: Record) -> list[dict[str, float]]:
    """Settings of a grid, gamma in multiples of 1 / d."""
    names = {"gammas": "gamma", "Cs": "C", "Ds": "D"}
    settings: list[dict[str, float]] = [{}]
    for key, name in names.items():
        if key in grid:
            settings = [{**setting, name: value} for setting in settings for value in grid[key]]
    limit = grid.get("corner", np.inf) * (1 + 1e-9)
    return [s for s in settings if s["gamma"] * s.get("C", 0.0) <= limit]


def rows_of(title: str) -> tuple[Array, Array]:
    """The first 1000 rows of a seeded shuffle, as the paper limits its sets."""
    data = load(paper.TABLE_1[title].name)
    chosen = np.random.default_rng(0).permutation(len(data.y))[: paper.TABLE_1[title].rows]
    return data.X[chosen], data.y[chosen]


def outer_folds(X: Array, y: Array) -> list[tuple[Array, Array]]:
    return list(StratifiedKFold(paper.FOLDS, shuffle=True, random_state=1).split(X, y))


def built(method: str, setting: dict[str, float], d: int) -> Any:
    return machine(method).set_params(**{**setting, "gamma": setting["gamma"] / d})


# ---------------------------------------------------------------------------- the race


@dataclass(frozen=True)
class Race:
    """What cross-validation said of the settings: lists are shorter where a setting was given up."""

    wrong: list[list[int]]
    vectors: list[list[int]]
    tested: list[int]

    def errors(self) -> list[float]:
        """Share of the rows tested."""
        return [sum(wrong) / sum(self.tested[: len(wrong)]) for wrong in self.wrong]

    def chosen(self, share: float) -> int:
        """The fewest vectors within `share` of a standard error of the least error; of equals the least error."""
        whole = np.array([i for i, wrong in enumerate(self.wrong) if len(wrong) == len(self.tested)])
        counts = np.array([sum(self.wrong[i]) for i in whole])  # whole numbers, so that equals are equal
        size = np.array([np.mean(self.vectors[i]) for i in whole])
        n = sum(self.tested)
        near = np.flatnonzero(counts <= counts.min() + share * n * standard_error(counts.min() / n, n))
        return int(whole[near[np.lexsort((counts[near], size[near]))[0]]])

    def summary(self) -> Record:
        """For the journal: error in %, mean vectors and folds run of each setting."""
        return {
            "errors": [round(100 * error, 3) for error in self.errors()],
            "vectors": [round(float(np.mean(sizes)), 2) for sizes in self.vectors],
            "folds": [len(wrong) for wrong in self.wrong],
        }


def standard_error(rate: float, n: int) -> float:
    return float(np.sqrt(rate * (1 - rate) / n))


def race(
    method: str, settings: list[dict[str, float]], X: Array, y: Array, folds: list[tuple[Array, Array]]
) -> Race:
    """Cross-validate the settings, each for as long as it may still be chosen.

    A setting is given up when its error is above the least by the largest share of a standard error that a rule
    allows, and `CERTAIN` standard errors of the difference row by row.
    """
    running = list(range(len(settings)))
    wrong: list[list[int]] = [[] for _ in settings]
    vectors: list[list[int]] = [[] for _ in settings]
    missed = np.zeros((len(settings), len(y)), dtype=bool)
    seen = np.zeros(len(y), dtype=bool)
    for j, (train, test) in enumerate(folds, start=1):
        seen[test] = True
        for i in running:
            model = built(method, settings[i], X.shape[1]).fit(X[train], y[train])
            missed[i, test] = model.predict(X[test]) != y[test]
            wrong[i].append(int(missed[i, test].sum()))
            vectors[i].append(n_vectors(model))
        if j >= FIRST_FOLDS:
            rates = missed[running][:, seen].astype(float)
            means = rates.mean(axis=1)
            best = int(means.argmin())
            apart = (rates - rates[best]).std(axis=1) / np.sqrt(seen.sum())
            reach = max(RULES.values()) * standard_error(means[best], len(y)) + CERTAIN * apart
            running = [i for i, far in zip(running, means - means[best] > reach, strict=True) if not far]
    return Race(wrong, vectors, [len(test) for _, test in folds])


# ---------------------------------------------------------------------------- cells


def nested(*, title: str, method: str, fold: int, grid: Record) -> Record:
    """One fold of Table 2: the race on its training part, and a fit with what each rule chose, tested.

    Seconds are of the fit, and of SVC's with the same gamma and C (1 where the machine has none), called in turn.
    """
    X, y = rows_of(title)
    train, test = outer_folds(X, y)[fold]
    settings = settings_of(grid)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inner = list(StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=0).split(X[train], y[train]))
        found = race(method, settings, X[train], y[train], inner)
        chosen = {rule: found.chosen(share) for rule, share in RULES.items()}
        fits = {index: judged(method, settings[index], X, y, train, test) for index in {*chosen.values()}}
    return {**{rule: fits[index] for rule, index in chosen.items()}, "race": found.summary()}


def judged(method: str, setting: dict[str, float], X: Array, y: Array, train: Array, test: Array) -> Record:
    models = {
        "seconds": built(method, setting, X.shape[1]),
        "svc_seconds": SVC(gamma=setting["gamma"] / X.shape[1], C=setting.get("C", 1.0)),
    }
    times: dict[str, list[float]] = {key: [] for key in models}
    for _ in range(TIMED_ROUNDS):
        for key, model in models.items():
            start = time.process_time()
            model.fit(X[train], y[train])
            times[key].append(time.process_time() - start)
    model = models["seconds"]
    return {
        "setting": setting,
        "error": round(float(100 * np.mean(model.predict(X[test]) != y[test])), 3),
        "vectors": n_vectors(model),
        "rounds": int(np.max(model.n_iter_)),
        **{key: round(float(np.median(values)), 5) for key, values in times.items()},
    }


def at_once(*, title: str, method: str, grid: Record) -> Record:
    """One setting for all ten folds: that of least error on these same folds, of equals the fewest vectors.

    The rows that are tested choose the setting, so its error is too low; it shows how much that is.
    """
    X, y = rows_of(title)
    settings = settings_of(grid)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = race(method, settings, X, y, outer_folds(X, y))
    index = found.chosen(0.0)
    errors = 100 * np.array(found.wrong[index]) / np.array(found.tested)
    return {
        "setting": settings[index],
        "error": [round(float(error), 3) for error in errors],
        "vectors": found.vectors[index],
        "race": found.summary(),
    }


def shared_setting(races: list[Record], grid: Record, n: int) -> dict[str, float]:
    """One setting for all folds, by what cross-validation on their training parts said; no test row is looked at.

    The fewest vectors within half a standard error, for n rows, of the least mean inner error. A setting that was given
    up counts with its error so far.
    """
    errors = np.mean([race["errors"] for race in races], axis=0) / 100
    vectors = np.mean([race["vectors"] for race in races], axis=0)
    near = np.flatnonzero(errors <= errors.min() + RULES["half"] * standard_error(float(errors.min()), n))
    return settings_of(grid)[near[np.lexsort((errors[near], vectors[near]))[0]]]


def with_one_setting(*, title: str, method: str, setting: dict[str, float]) -> Record:
    """Table 2 with the same setting in all ten folds."""
    X, y = rows_of(title)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = [judged(method, setting, X, y, train, test) for train, test in outer_folds(X, y)]
    return {key: [fit[key] for fit in fits] for key in ("error", "vectors", "seconds", "svc_seconds")}
