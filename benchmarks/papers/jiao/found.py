"""What the journal holds about a figure of the paper, and how many figures are near the paper's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import stats

from harness import Record
from papers.cells import Journal
from papers.pages import GAVE_UP, NOT_RUN, SIGNIFICANT

from . import published as paper
from .cells import GREEDY, LABELS, OTHER_WIDTH, SHARES, SOLVERS, SVM_VALUES, draws, greedy_parameters
from .machines import greedy, least_squares, pruned, svm, svm_at_width, svm_class, test_labels, together

# What counts as reproduced.
ACCURACY_POINTS, VECTORS_SHARE = 0.6, 0.12
LEFT_OUT = "left out"

# The paper's column behind one of ours, where the name is another.
OF_PAPER = {"SVS at once": "SVS"}


@dataclass(frozen=True)
class Entry:
    """One method at one gamma on one set: lists with a figure for each draw, or why there is none."""

    accuracy: list[float]
    vectors: list[int]
    seconds: list[float]
    why: str = ""
    unsure: int = 0

    def __bool__(self) -> bool:
        return bool(self.accuracy)

    def mean(self, field: str) -> float:
        return float(np.mean(getattr(self, field)))

    def deviation(self, field: str) -> float | None:
        values = getattr(self, field)
        return float(np.std(values, ddof=1)) if len(values) > 1 else None


def entry_of(found: Record | None, why: str = NOT_RUN) -> Entry:
    if found is None:
        return Entry([], [], [], why)
    return Entry(found["accuracy"], found["vectors"], found["seconds"], unsure=found.get("unsure", 0))


def lookup(journal: Journal, work: object, parameters: Record) -> Entry:
    name = work.__name__  # type: ignore[attr-defined]
    gave_up = journal.gave_up(name, **parameters)
    return entry_of(journal.found(name, **parameters), GAVE_UP if gave_up else NOT_RUN)


def greedy_entry(
    journal: Journal,
    name: str,
    log2_gamma: int,
    epsilon: float,
    candidates: int | None,
    log2_width: float | None = None,
) -> Entry:
    return lookup(journal, greedy, greedy_parameters(name, log2_gamma, epsilon, candidates, log2_width))


def entry(journal: Journal, name: str, column: str, log2_gamma: int) -> Entry:
    """What was found for a column of a set's tables; LS-SVM is that of conjugate gradients."""
    at: Record = {"name": name, "log2_gamma": log2_gamma}
    for title, epsilon, candidates in GREEDY[name]:
        if column == title:
            return greedy_entry(journal, name, log2_gamma, epsilon, candidates)
    if column == "LS-SVM":
        column = "CG"
    if column in SOLVERS:
        return lookup(journal, least_squares, {**at, "solver": SOLVERS[column], "draws": draws(name)})
    if column in SHARES:
        return lookup(journal, pruned, {**at, "share": SHARES[column], "draws": draws(name)})
    if name in SVM_VALUES:
        return class_by_class(journal, name, log2_gamma)
    return lookup(journal, svm, {**at, "scheme": "rest", "draws": draws(name)})


def class_by_class(journal: Journal, name: str, log2_gamma: int) -> Entry:
    """The SVM whose two-class machines are cells of their own."""
    if log2_gamma not in SVM_VALUES[name]:
        return entry_of(None, LEFT_OUT)
    parts = []
    for label in LABELS:
        where = {"name": name, "log2_gamma": log2_gamma, "label": label}
        if journal.gave_up(svm_class, **where):
            return entry_of(None, GAVE_UP)
        part = journal.found(svm_class, **where)
        if part is not None:
            parts.append(part)
    labels = journal.found(test_labels, name=name)
    if labels is None or len(parts) < len(LABELS):
        return entry_of(None)
    return entry_of(together(parts, labels["labels"]))


def other_width_entry(journal: Journal, name: str, column: str, log2_gamma: int) -> Entry:
    """What was found at the other width of a set."""
    log2_width = OTHER_WIDTH[name]
    for title, epsilon, candidates in GREEDY[name]:
        if column == title:
            return greedy_entry(journal, name, log2_gamma, epsilon, candidates, log2_width)
    where = {"name": name, "log2_gamma": log2_gamma, "log2_width": log2_width, "draws": draws(name)}
    return lookup(journal, svm_at_width, where)


# ---------------------------------------------------------------------------- how near


COLUMNS: dict[str, tuple[str, ...]] = {
    "ringnorm": ("FSALS", "PFSALS", "LS-SVM", "SVM", "SVS", "SVS at once"),
    "satimage": ("FSALS", "PFSALS", "LS-SVM", "SVM", "SVS", "SVS at once"),
    "usps": ("FSALS", "PFSALS", "PFSALS 0.4", "LS-SVM", "SVM"),
    "mnist1": ("FSALS", "PFSALS", "PFSALS 0.4", "SVM"),
    "mnist": ("PFSALS", "PFSALS 0.4", "PFSALS 0.6", "SVM"),
}


@dataclass(frozen=True)
class Near:
    """Whether one cell is near the paper's; `vectors` is None where their number is no result.

    That is LS-SVM, where every row is a vector.
    """

    name: str
    column: str
    log2_gamma: int
    accuracy: bool
    vectors: bool | None

    @property
    def both(self) -> bool:
        return self.accuracy and self.vectors is not False


def nearness(journal: Journal) -> Iterator[Near]:
    """All cells that were run and whose figure in the paper can be read."""
    for name, columns in COLUMNS.items():
        for column in columns:
            for value in paper.LOG2_GAMMA:
                near = near_entry(name, column, value, entry(journal, name, column, value))
                if near is not None:
                    yield near


def near_entry(name: str, column: str, log2_gamma: int, ours: Entry) -> Near | None:
    target = OF_PAPER.get(column, column)
    accuracy = paper.at(paper.ACCURACY, name, target, log2_gamma)
    vectors = paper.at(paper.VECTORS, name, target, log2_gamma)
    if not ours or accuracy is None:
        return None
    near_accuracy = abs(ours.mean("accuracy") - accuracy) <= ACCURACY_POINTS + 1e-9
    near_vectors = abs(ours.mean("vectors") / vectors - 1) <= VECTORS_SHARE + 1e-9
    return Near(name, column, log2_gamma, near_accuracy, None if column == "LS-SVM" else near_vectors)


def like_another_draw(values: list[float], target: float) -> bool:
    """Whether a figure could be that of one more draw, at the level of 0.05 (Student's t)."""
    mean, deviation, n = np.mean(values), np.std(values, ddof=1), len(values)
    if deviation == 0:
        return bool(mean == target)
    t = abs(target - mean) / (deviation * np.sqrt(1 + 1 / n))
    return bool(2 * stats.t.sf(t, n - 1) >= SIGNIFICANT)
