"""Figures as texts, and the tables paper | ours | difference of one set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from harness import table
from papers.cells import Journal
from papers.pages import seconds

from . import published as paper
from .cells import SHARES
from .found import ACCURACY_POINTS, OF_PAPER, VECTORS_SHARE, Entry, entry, like_another_draw

SET_NAMES = {
    "ringnorm": "ringnorm",
    "satimage": "satimage",
    "usps": "USPS",
    "mnist1": "MNIST1 (20,000 rows)",
    "mnist": "MNIST (60,000 rows)",
}
SHARE_TEXT = {
    "SVS": f"SVS, {SHARES['SVS']:.0%} a round",
    "SVS at once": "SVS, all at once",
}

# ---------------------------------------------------------------------------- figures as texts


def accuracy_text(value: float, deviation: float | None = None) -> str:
    return f"{value:.2f}" if deviation is None else f"{value:.2f} ± {deviation:.2f}"


def vectors_text(value: float, deviation: float | None = None) -> str:
    return f"{value:.0f}" if deviation is None else f"{value:.0f} ± {deviation:.0f}"


def seconds_text(value: float, deviation: float | None = None) -> str:
    return seconds(value)


TEXT: dict[str, Callable[..., str]] = {
    "accuracy": accuracy_text,
    "vectors": vectors_text,
    "seconds": seconds_text,
}
FIGURES_OF = {"accuracy": paper.ACCURACY, "vectors": paper.VECTORS, "seconds": paper.SECONDS}


def apart(field: str, ours: float, target: float) -> str:
    """The difference: points of accuracy, percent of vectors; bold beyond the limits."""
    if field == "accuracy":
        text, beyond = f"{round(ours - target, 2) + 0.0:+.2f}", abs(ours - target) > ACCURACY_POINTS + 1e-9
    else:
        text, beyond = f"{ours / target - 1:+.1%}", abs(ours / target - 1) > VECTORS_SHARE + 1e-9
    return f"**{text}**" if beyond else text


def paper_title(column: str) -> str:
    """What the paper calls a column; it has one SVS."""
    return "SVS" if column in SHARES else column


def ours_text(found: Entry, field: str) -> str:
    return TEXT[field](found.mean(field), found.deviation(field)) if found else found.why


def target_text(field: str, target: float | None) -> str:
    if target is None:
        return "-"
    return f"{target:g}" if field == "seconds" else TEXT[field](target)


def cells_of(found: Entry, field: str, target: float | None) -> list[str]:
    """Paper, ours, difference."""
    gap = apart(field, found.mean(field), target) if found and target is not None else ""
    return [target_text(field, target), ours_text(found, field), gap]


# ---------------------------------------------------------------------------- tables of a set


def column_table(journal: Journal, name: str, field: str, columns: Sequence[str]) -> Iterator[str]:
    """Rows of gamma, and paper | ours | difference for each column."""
    rows = []
    for value in paper.LOG2_GAMMA:
        cells = [str(value)]
        for column in columns:
            target = paper.at(FIGURES_OF[field], name, OF_PAPER.get(column, column), value)
            texts = cells_of(entry(journal, name, column, value), field, target)
            cells += texts[1:] if column in OF_PAPER else texts  # the paper's figure stands once
        rows.append(cells)
    header = ["log2 gamma"]
    for column in columns:
        title = SHARE_TEXT.get(column, column)
        first = [] if column in OF_PAPER else [f"{paper_title(column)}, paper"]
        header += [*first, f"{title}, ours", "difference"]
    yield from table(header, rows)


def times_svm(journal: Journal, name: str, column: str) -> tuple[float, float, int] | None:
    """How many times the SVM's seconds a column's are in the paper and here, and over how many values of gamma."""
    pairs = []
    for value in paper.LOG2_GAMMA:
        target = paper.at(paper.SECONDS, name, OF_PAPER.get(column, column), value)
        svm_target = paper.at(paper.SECONDS, name, "SVM", value)
        found, svm_found = entry(journal, name, column, value), entry(journal, name, "SVM", value)
        if found and svm_found and target is not None:
            pairs.append((target, svm_target, found.mean("seconds"), svm_found.mean("seconds")))
    if not pairs:
        return None
    target, svm_target, ours, svm_ours = np.sum(pairs, axis=0)
    return float(target / svm_target), float(ours / svm_ours), len(pairs)


def beside_svm(journal: Journal, name: str, column: str) -> Iterator[str]:
    ratios = times_svm(journal, name, column)
    if ratios is not None:
        yield (
            f"{column} takes {ratios[1]:.2f} times as long as `SVC.fit`, a machine a class, in the same run (paper "
            f"{ratios[0]:.2f}), in sum over the {ratios[2]} values of gamma at which both have a time.\n"
        )


def time_table(journal: Journal, name: str, columns: Sequence[str]) -> Iterator[str]:
    """Seconds, paper | ours; below, how many times the SVM's they are in sum."""
    rows = []
    for value in paper.LOG2_GAMMA:
        cells = [str(value)]
        for column in columns:
            target = paper.at(paper.SECONDS, name, OF_PAPER.get(column, column), value)
            texts = [
                target_text("seconds", target),
                ours_text(entry(journal, name, column, value), "seconds"),
            ]
            cells += texts[1:] if column in OF_PAPER else texts
        rows.append(cells)
    last, header = ["**times SVM's, in sum**"], ["log2 gamma"]
    for column in columns:
        ratios = times_svm(journal, name, column)
        texts = ["", ""] if ratios is None else [f"{ratio:.2f}" for ratio in ratios[:2]]
        titles = [f"{paper_title(column)}, paper", f"{SHARE_TEXT.get(column, column)}, ours"]
        first = 1 if column in OF_PAPER else 0
        last += texts[first:]
        header += titles[first:]
    yield from table(header, [*rows, last])
    yield (
        "The paper's seconds are of a 2.4 GHz computer of its time. The SVM is `SVC.fit`, a machine a class, in the "
        "same run; the last line sums the values of gamma at which both have a time.\n"
    )


def method_table(journal: Journal, name: str, column: str) -> Iterator[str]:
    """Accuracy, vectors and seconds of one method."""
    rows = []
    for value in paper.LOG2_GAMMA:
        found = entry(journal, name, column, value)
        cells = [str(value)]
        for field in ("accuracy", "vectors", "seconds"):
            texts = cells_of(found, field, paper.at(FIGURES_OF[field], name, column, value))
            cells += texts if field != "seconds" else texts[:2]
        rows.append(cells)
    fields = ("accuracy (%)", "vectors")
    header = [f"{field}, {who}" for field in fields for who in ("paper", "ours", "difference")]
    yield from table(["log2 gamma", *header, "seconds, paper", "ours"], rows)


def draws_text(journal: Journal, name: str, field: str, columns: Sequence[str]) -> Iterator[str]:
    """How many of the paper's figures could be those of one more draw."""
    texts = []
    for column in columns:
        pairs = [
            (getattr(found, field), paper.at(FIGURES_OF[field], name, column, value))
            for value in paper.LOG2_GAMMA
            if (found := entry(journal, name, column, value))
        ]
        if pairs:
            inside = sum(like_another_draw(values, target) for values, target in pairs)
            ratios = [np.mean(values) / target - 1 for values, target in pairs]
            gaps = [np.mean(values) - target for values, target in pairs]
            low, high = (
                (f"{min(ratios):+.1%}", f"{max(ratios):+.1%}")
                if field == "vectors"
                else (f"{min(gaps):+.2f}", f"{max(gaps):+.2f}")
            )
            texts.append(f"{column} {inside} of {len(pairs)} (difference {low} to {high})")
    if texts:
        yield (
            "The paper's figure could be that of one more draw (Student's t, level 0.05): "
            + "; ".join(texts)
            + ".\n"
        )


def svs_text(journal: Journal, name: str, solver: str) -> Iterator[str]:
    """What the paper's own times say about the share that SVS drops."""
    ratios = [
        paper.at(paper.SECONDS, name, "SVS", value) / paper.at(paper.SECONDS, name, solver, value)
        for value in paper.LOG2_GAMMA
    ]
    yield (
        f"In the paper SVS takes {min(ratios):.1f} to {max(ratios):.1f} times as long as one LS-SVM by {solver}, its "
        f"solver here. Dropping {SHARES['SVS']:.0%} of the rows left in every round costs about 10 times one solution "
        "where a solution costs the square of its rows, dropping all at once hardly more than one: the paper's times "
        "speak for small shares.\n"
    )
