"""Table 2 and Figure 5 of Huang et al. (2010): the ten folds of every set, each method with parameters of its own.

The parameters of a fold are chosen by cross-validation on its training part alone. Settings race: those that two
folds, or more, show to be too far from the best are not tried on the others. What is measured is kept, row by row, in
results/paper_huang_table.jsonl, so a run that was stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from harness import RESULTS, Journal, Record, head, n_vectors, pyplot, timed, write_picture
from slimsvm import LPSVC, RVC, SparseProbitClassifier, SparsityControlledSVC, ZeroNormSVC
from slimsvm.datasets import load

# ruff: noqa: E501 (rows of tables)
MEASURED = RESULTS / "paper_huang_table.jsonl"
ROWS = 1000  # the paper's limit
# set: (name of ours, {method: (seconds, vectors, deviation of vectors, error %)}) from Table 2
PAPER: dict[str, tuple[str, dict[str, tuple[float, float, float, float]]]] = {
    "Banana": ("ida_banana", {
        "SVC": (0.43, 227.5, 5.6, 10.0), "SSVC_A": (9.92, 10.9, 0.7, 10.0), "SSVC_W": (75.86, 10.6, 1.0, 9.7),
        "RVM": (38.72, 11.6, 1.0, 9.9), "SPC": (6.80, 12.3, 1.5, 9.9), "LP-SVC": (125.79, 114.5, 63.8, 9.4),
        "SC-SVC": (43.55, 141.2, 10.9, 9.6)}),
    "Thyroid": ("ida_thyroid", {
        "SVC": (0.01, 31.0, 1.8, 4.3), "SSVC_A": (0.10, 2.6, 0.7, 4.3), "SSVC_W": (6.34, 4.1, 0.3, 3.8),
        "RVM": (0.92, 5.1, 0.6, 4.3), "SPC": (0.14, 4.4, 1.5, 4.8), "LP-SVC": (2.72, 7.1, 1.1, 5.7),
        "SC-SVC": (1.08, 25.5, 5.9, 4.8)}),
    "Diabetes": ("ida_diabetis", {
        "SVC": (0.13, 418.4, 8.0, 22.1), "SSVC_A": (2.60, 5.8, 0.6, 22.1), "SSVC_W": (27.04, 5.9, 0.7, 22.6),
        "RVM": (19.91, 10.5, 2.1, 24.2), "SPC": (3.04, 10.2, 1.1, 22.8), "LP-SVC": (41.09, 21.4, 5.1, 22.5),
        "SC-SVC": (10.01, 16.9, 1.8, 22.9)}),
    "B. Cancer": ("ida_breast_cancer", {
        "SVC": (0.02, 140.3, 4.3, 24.1), "SSVC_A": (0.98, 4.5, 1.6, 24.8), "SSVC_W": (7.13, 11.1, 0.7, 24.4),
        "RVM": (1.59, 5.1, 2.4, 25.2), "SPC": (0.27, 5.8, 1.2, 25.2), "LP-SVC": (4.44, 79.2, 43.2, 25.2),
        "SC-SVC": (2.31, 66.3, 3.4, 24.1)}),
    "German": ("ida_german", {
        "SVC": (0.70, 496.6, 8.1, 23.7), "SSVC_A": (20.48, 13.7, 1.8, 23.8), "SSVC_W": (505.58, 21.2, 4.3, 23.5),
        "RVM": (54.11, 25.4, 2.1, 23.2), "SPC": (8.67, 24.6, 5.3, 24.8), "LP-SVC": (99.02, 33.8, 12.8, 23.5),
        "SC-SVC": (28.32, 53.9, 6.0, 23.5)}),
    "Ringnorm": ("ida_ringnorm", {
        "SVC": (0.28, 122.6, 6.0, 2.0), "SSVC_A": (3.53, 6.2, 1.1, 2.0), "SSVC_W": (124.23, 11.1, 1.3, 1.8),
        "RVM": (38.98, 7.6, 1.1, 1.8), "SPC": (7.72, 4.9, 1.3, 2.1), "LP-SVC": (161.48, 30.4, 17.6, 1.7),
        "SC-SVC": (29.82, 78.9, 7.9, 1.8)}),
    "Waveform": ("ida_waveform", {
        "SVC": (0.20, 292.2, 5.5, 9.7), "SSVC_A": (5.82, 6.5, 0.7, 9.4), "SSVC_W": (62.52, 5.8, 0.8, 9.0),
        "RVM": (45.62, 11.9, 1.7, 10.5), "SPC": (6.81, 14.9, 1.9, 9.9), "LP-SVC": (79.96, 19.9, 3.6, 9.5),
        "SC-SVC": (26.45, 66.8, 6.4, 9.8)}),
}  # fmt: skip
METHODS: dict[str, Any] = {
    "SVC": SVC(),
    "SSVC_A": ZeroNormSVC(),
    "SSVC_W": ZeroNormSVC(variant="multiplicative"),
    "RVM": RVC(),
    "SPC": SparseProbitClassifier(),
    "LP-SVC": LPSVC(),
    "SC-SVC": SparsityControlledSVC(),
}
# gamma: multiples of 1 / (number of features), for inputs of unit variance; and C.
GAMMAS = (0.05, 0.15, 0.5, 1.5)
CS = (0.1, 0.3, 1.0, 3.0, 10.0)
# Others than these for the dearer methods; D of SC-SVC is 1.
GRIDS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "SSVC_W": (GAMMAS, (0.3, 1.0, 3.0, 10.0)),
    "LP-SVC": (GAMMAS, (0.3, 1.0, 3.0)),
    "SC-SVC": ((0.15, 0.5, 1.5), (1.0,)),
}
OUTER_FOLDS = 10
INNER_FOLDS = 5
# Sets with fewer rows than this are divided into inner folds this many times: there the division matters most.
FEW_ROWS = 400
REPEATS = 4
# Inner folds before the first setting may be given up, and by how many standard errors of the difference.
FIRST_FOLDS = 2
CERTAIN = 2.0
# The fewest vectors within this share of a standard error of the best error are chosen; a race leaves none out for
# this share or a smaller one.
SHARE = 0.5
# A second share, thought of after the results of the first were seen.
SECOND_SHARE = 0.25


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The first 1000 rows of a seeded shuffle, as the paper limits its sets."""
    data = load(name)
    chosen = np.random.default_rng(0).permutation(len(data.y))[:ROWS]
    return data.X[chosen], data.y[chosen]


def grid(method: str, d: int) -> list[dict[str, float]]:
    gammas, Cs = GRIDS.get(method, (GAMMAS, CS))
    if method in ("RVM", "SPC"):
        return [{"gamma": g / d} for g in gammas]
    return [{"gamma": g / d, "C": C} for g in gammas for C in Cs]


@dataclass(frozen=True)
class Race:
    """What cross-validation said of the settings: lists are shorter where a setting was given up."""

    settings: list[dict[str, float]]
    errors: list[list[float]]
    sizes: list[list[float]]
    n_rows: int

    def chosen(self, share: float) -> dict[str, float]:
        """The fewest vectors within `share` of a standard error of the best error."""
        longest = max(map(len, self.errors))
        whole = [i for i, errors in enumerate(self.errors) if len(errors) == longest]
        mean = np.array([np.mean(self.errors[i]) for i in whole])
        size = np.array([np.mean(self.sizes[i]) for i in whole])
        near = np.flatnonzero(mean <= mean.min() + share * standard_error(mean.min(), self.n_rows))
        best = near[np.lexsort((mean[near], size[near]))[0]]
        return self.settings[whole[best]]


def standard_error(rate: float, n: int) -> float:
    return float(np.sqrt(rate * (1 - rate) / n))


def inner_folds(X: np.ndarray, y: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for repeat in range(REPEATS if len(y) < FEW_ROWS else 1):
        yield from StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=repeat).split(X, y)


def race(model: Any, settings: list[dict[str, float]], X: np.ndarray, y: np.ndarray) -> Race:
    """Cross-validate the settings, each for as long as it may still be chosen.

    A setting is given up when its error is above the best by `SHARE` of a standard error, which is as far as the
    choice goes, and `CERTAIN` standard errors of the difference row by row.
    """
    running = list(range(len(settings)))
    errors: list[list[float]] = [[] for _ in settings]
    sizes: list[list[float]] = [[] for _ in settings]
    wrong = np.zeros((len(settings), len(y)))
    tried = np.zeros(len(y))
    for j, (train, test) in enumerate(inner_folds(X, y), start=1):
        tried[test] += 1
        for i in running:
            fitted = clone(model).set_params(**settings[i]).fit(X[train], y[train])
            missed = fitted.predict(X[test]) != y[test]
            wrong[i, test] += missed
            errors[i].append(round(float(missed.mean()), 6))
            sizes[i].append(n_vectors(fitted))
        if j >= FIRST_FOLDS:
            seen = tried > 0
            rates = wrong[running][:, seen] / tried[seen]
            means = rates.mean(axis=1)
            best = int(means.argmin())
            apart = (rates - rates[best]).std(axis=1) / np.sqrt(seen.sum())
            reach = SHARE * standard_error(means[best], len(y)) + CERTAIN * apart
            running = [i for i, far in zip(running, means - means[best] > reach, strict=True) if not far]
    return Race(settings, errors, sizes, len(y))


def choose(model: Any, method: str, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Parameters for these rows."""
    return race(model, grid(method, X.shape[1]), X, y).chosen(share_of(method, SHARE))


def share_of(method: str, share: float) -> float:
    """The vectors of SVC do not count."""
    return 0.0 if method == "SVC" else share


class Notes(Journal):
    """What was found, by what it is about."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(path, lambda line: tuple(line["about"]))
        self.found = {about: line["found"] for about, line in self.lines.items()}

    def note(self, about: tuple[Any, ...], found: Record) -> None:
        self.found[about] = found
        self.add({"about": about, "found": found})


def measure(title: str, method: str, fold: int, share: float, races: Notes) -> Record:
    """Race on the training part of a fold, unless that was done; fit with what it chose; test."""
    X, y = rows_of(PAPER[title][0])
    train, test = list(StratifiedKFold(OUTER_FOLDS, shuffle=True, random_state=1).split(X, y))[fold]
    model = METHODS[method]
    about = (title, method, fold)
    if about not in races.found:
        races.note(about, asdict(race(model, grid(method, X.shape[1]), X[train], y[train])))
    chosen = Race(**races.found[about]).chosen(share_of(method, share))
    ready = clone(model).set_params(**chosen)
    _, seconds = timed(partial(ready.fit, X[train], y[train]))
    return {
        "gamma_d": round(chosen["gamma"] * X.shape[1], 6),
        **({"C": chosen["C"]} if "C" in chosen else {}),
        "seconds": round(seconds, 4),
        "vectors": n_vectors(ready),
        "error": round(float(100 * np.mean(ready.predict(X[test]) != y[test])), 3),
    }


def measure_all(
    folds: int, sets: list[str], methods: list[str], share: float, races_file: Path | None
) -> Notes:
    """Measure what is missing, method by method, and print each set when it is done."""
    notes, races = Notes(MEASURED), Notes(races_file)
    for method in methods:
        for title in sets:
            for fold in range(folds):
                about = (title, method, fold, share)
                if about not in notes.found:
                    notes.note(about, measure(title, method, fold, share, races))
            print(row_of(title, method, share, notes), flush=True)
    return notes


def verdict(method: str, sizes: list[int], errors: list[float], published: tuple[float, ...]) -> str:
    if method not in ("SSVC_A", "SSVC_W"):
        return ""
    _, vectors, deviation, error = published
    missed = ["vectors"] if np.mean(sizes) > vectors + 2 * deviation else []
    missed += ["error"] if np.mean(errors) > error + 1.5 else []
    return "no: " + " ".join(missed) if missed else "yes"


def row_of(title: str, method: str, share: float, notes: Notes) -> str:
    abouts = [(title, method, fold, share) for fold in range(OUTER_FOLDS)]
    found = [notes.found[about] for about in abouts if about in notes.found]
    times, sizes, errors = ([line[key] for line in found] for key in ("seconds", "vectors", "error"))
    seconds, vectors, deviation, error = PAPER[title][1][method]
    return (
        f"| {title} | {method} | {seconds:.2f} | {vectors} ± {deviation} | {error} | {np.mean(times):.3f} | "
        f"{np.mean(sizes):.1f} ± {np.std(sizes):.1f} | {np.mean(errors):.1f} ± {np.std(errors):.1f} | "
        f"{len(found)} | {verdict(method, sizes, errors, PAPER[title][1][method])} |"
    )


def table(share: float, notes: Notes) -> list[str]:
    """Table 2: for each set and method that were measured, paper | ours."""
    measured = {about[:2] for about in notes.found if about[3] == share}
    lines = head("| set | method | paper: s | vectors | error % | ours: s | vectors | error % | folds | ok |")
    for title in PAPER:
        lines += [row_of(title, method, share, notes) for method in METHODS if (title, method) in measured]
    return lines


def harder_sets(notes: Notes) -> Iterator[str]:
    """The sets on which SVC's error is at least half a point above the paper's."""
    for title, (_, published) in PAPER.items():
        lines = [
            line for about, line in notes.found.items() if (*about[:2], about[3]) == (title, "SVC", SHARE)
        ]
        if lines and (ours := np.mean([line["error"] for line in lines])) >= published["SVC"][3] + 0.5:
            yield f"{title} {ours:.1f} % for {published['SVC'][3]}"


def page(notes: Notes) -> list[str]:
    """Table 2 and Figure 5, and the table of the second share if that was measured."""
    grids = "; ".join(f"{m}: gamma {g} / d, C {c}" for m, (g, c) in GRIDS.items())
    lines = [
        "## Table 2",
        "",
        "`python benchmarks/paper_huang.py --only table --folds 10`, which measures what is missing; what was measured is in "
        "[paper_huang_table.jsonl](paper_huang_table.jsonl).",
        "",
        f"{ROWS} rows of each set at most and {OUTER_FOLDS} folds, as in the paper; the column says how many were measured. "
        f"gamma from {GAMMAS} / d, C from {CS} ({grids}), by {INNER_FOLDS}-fold cross-validation on the training "
        f"part alone, {REPEATS} times over where it has fewer than {FEW_ROWS} rows: the fewest vectors within {SHARE:g} "
        "standard errors of the best error (SVC: the best error). A setting is given up after "
        f"{FIRST_FOLDS} folds or more when its error is beyond what could be chosen by {CERTAIN:g} standard errors of the "
        "difference. Seconds are of one fit with the chosen parameters, one thread, on a busy machine. *ok* for SSVC_A "
        "and SSVC_W: vectors at most the paper's mean + 2 deviations, and error within 1.5 points.",
        "",
        "The rows of SVC say what these folds are like beside the paper's; where they are harder: "
        f"{'; '.join(harder_sets(notes)) or 'none'}.",
        "",
        *table(SHARE, notes),
        *figure_5(notes),
    ]
    if any(about[3] == SECOND_SHARE for about in notes.found):
        lines += [
            "",
            f"### The fewest vectors within {SECOND_SHARE:g} standard errors",
            "",
            f"`--share {SECOND_SHARE:g}`, all else as above. This choice was made after the table above had been seen.",
            "",
            *table(SECOND_SHARE, notes),
        ]
    return lines


def figure_5(notes: Notes) -> list[str]:
    """Vectors and times of all methods, as in Table 2."""

    def mean(title: str, method: str, key: str) -> float:
        found = [
            line[key]
            for about, line in notes.found.items()
            if about[:2] == (title, method) and about[3] == SHARE
        ]
        return float(np.mean(found)) if found else np.nan

    methods = [m for m in METHODS if m != "SVC"]
    figure, axes = pyplot().subplots(1, 2, figsize=(11, 4), layout="constrained")
    for axis, key, label in ((axes[0], "vectors", "vectors"), (axes[1], "seconds", "seconds of a fit")):
        for k, method in enumerate(methods):
            values = [mean(title, method, key) for title in PAPER]
            axis.bar(np.arange(len(PAPER)) + 0.13 * (k - 2.5), values, 0.13, label=method)
        axis.set_xticks(np.arange(len(PAPER)), list(PAPER), rotation=30)
        axis.set_yscale("log")
        axis.set_ylabel(label)
    axes[0].legend(fontsize="small")
    write_picture(figure, RESULTS / "paper_huang_5.png", 100)
    return ["", "![Figure 5](paper_huang_5.png)"]
