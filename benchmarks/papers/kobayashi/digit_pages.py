"""Tables 2 and 3 on the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from harness import Record, pyplot, table, write_picture
from papers.cells import Journal
from papers.pages import NOT_RUN, difference, missing, picture, ratio, seconds, shares

from . import published as paper
from .digits import CLASSES_KEEP, PAIRS, found_pair, one_digit, search_digit, ten_classes
from .sets import PRUNED

# What counts as reproduced: not more than this below the paper's rate, with no more vectors.
RATE_POINTS = 0.2


def found_of(journal: Journal, digit: int, share: float) -> Record | None:
    pair = found_pair(journal, digit)
    if pair is None:
        return None
    return journal.found(one_digit, digit=digit, share=share, C=pair[0], gamma=pair[1])


def why_not(journal: Journal, digit: int, share: float) -> str:
    pair = found_pair(journal, digit)
    if pair is None:
        return NOT_RUN
    return missing(journal, one_digit, digit=digit, share=share, C=pair[0], gamma=pair[1])


def reached(rate: float, vectors: int, target: tuple[float, int]) -> bool:
    return rate >= target[0] - RATE_POINTS and vectors <= target[1]


def counts(journal: Journal) -> Iterator[str]:
    """How many rows of Tables 2 and 3 are reached."""
    rows = []
    for key in PRUNED:
        second, third = [], []
        for digit, target in enumerate(paper.TABLE_2):
            if found := found_of(journal, digit, 1.0):
                second.append(reached(found[key]["rate"][0], found[key]["vectors"][0], target[2:]))
        for share, line in paper.TABLE_3.items():
            if found := found_of(journal, paper.DIGIT_3, share):
                third += [
                    reached(found[key]["rate"][t], found[key]["vectors"][t], target)
                    for t, target in enumerate(line.pruned)
                ]
        rows.append([f"`{key}`", shares(second), shares(third)])
    yield (
        f"MNIST: rate not more than {RATE_POINTS:g} points below the paper's, with no more vectors (of what was run):\n"
    )
    yield from table(["rule", "digits of Table 2", "cells of Table 3"], rows)


def table_2(journal: Journal) -> Iterator[str]:
    yield "## Table 2: MNIST, one digit against the rest, 60,000 training rows, tau = 0.025\n"
    yield "### The SVM\n"
    rows = []
    for digit, target in enumerate(paper.TABLE_2):
        pair, found = found_pair(journal, digit), found_of(journal, digit, 1.0)
        parameters = NOT_RUN if pair is None else f"{pair[0]:g}, 2^{np.log2(pair[1]):g}"
        if found is None:
            why = why_not(journal, digit, 1.0)
            rows.append(
                [str(digit), parameters, f"{target.svm_rate:.2f}", why, "", str(target.svm_vectors), "", ""]
            )
            continue
        svm = found["SVC"]
        rows.append(
            [
                str(digit),
                parameters,
                f"{target.svm_rate:.2f}",
                f"{svm['rate']:.2f}",
                difference(svm["rate"], target.svm_rate, 2),
                str(target.svm_vectors),
                str(svm["vectors"]),
                ratio(svm["vectors"], target.svm_vectors),
            ]
        )
    yield from table(
        ["digit", "C, gamma", "rate, paper", "ours", "difference", "vectors, paper", "ours", "ours / paper"],
        rows,
    )
    yield from searches(journal)
    yield "### Pruned\n"
    yield "Rate, vectors; seconds of the processor, the reductions with all kernel values. The paper has no times.\n"
    rows = []
    for digit, target in enumerate(paper.TABLE_2):
        found = found_of(journal, digit, 1.0)
        cells = [str(digit), f"{target.rate:.2f}, {target.vectors}"]
        if found is None:
            rows.append([*cells, why_not(journal, digit, 1.0), *[""] * 8])
            continue
        for key in PRUNED:
            cells.append(f"{found[key]['rate'][0]:.2f}, {found[key]['vectors'][0]}")
            if key == "redundancy":
                cells += [
                    difference(found[key]["rate"][0], target.rate, 2),
                    ratio(found[key]["vectors"][0], target.vectors),
                ]
        cells.append(seconds(found["SVC"]["seconds"]))
        cells += [seconds(found[key]["seconds"][0]) for key in PRUNED]
        rows.append(cells)
    yield from table(
        ["digit", "paper", "`redundancy`", "difference", "ours / paper", "`distance`", "`damage`", "SVC.fit, s",
         *(f"`{key}`, s" for key in PRUNED)],
        rows,
    )  # fmt: skip


def searches(journal: Journal) -> Iterator[str]:
    rows = []
    for digit in range(10):
        found = journal.found(search_digit, digit=digit)
        if found is not None:
            rows.append([str(digit), *(f"{100 * value / found['rows']:.2f}" for value in found["correct"])])
    if rows:
        yield "Rates of three folds of 5,000 training rows, in percent:\n"
        yield from table(["digit", *(f"C = {C:g}, gamma = 2^{np.log2(gamma):g}" for C, gamma in PAIRS)], rows)


def table_3(journal: Journal) -> Iterator[str]:
    yield "## Table 3: MNIST, digit 3, growing number of training rows\n"
    yield "Rate, vectors: paper \\| `redundancy` \\| `distance` \\| `damage`; C and gamma as in Table 2.\n"
    rows = []
    for share, target in paper.TABLE_3.items():
        found = found_of(journal, paper.DIGIT_3, share)
        svm = f"{target.svm_rate:.2f}, {target.svm_vectors}"
        if found is None:
            rows.append(
                [f"{share:g}", f"{svm} \\| {why_not(journal, paper.DIGIT_3, share)}",
                 *(f"{rate:.2f}, {vectors}" for rate, vectors in target.pruned), "", ""]
            )  # fmt: skip
            continue
        cells = [f"{share:g}", f"{svm} \\| {found['SVC']['rate']:.2f}, {found['SVC']['vectors']}"]
        for t, (rate, vectors) in enumerate(target.pruned):
            ours = [f"{found[key]['rate'][t]:.2f}, {found[key]['vectors'][t]}" for key in PRUNED]
            cells.append(" \\| ".join([f"{rate:.2f}, {vectors}", *ours]))
        cells += [seconds(found["SVC"]["seconds"]), seconds(found["redundancy"]["seconds"][0])]
        rows.append(cells)
    yield from table(
        [
            "share",
            "SVM, paper \\| ours",
            *(f"tau = {tau:g}" for tau in paper.TAUS_3),
            "SVC.fit, s",
            "pruning, s",
        ],
        rows,
    )
    lines = [(share, found_of(journal, paper.DIGIT_3, share)) for share in paper.TABLE_3]
    if sum(found is not None for _, found in lines) > 1:
        yield picture("kobayashi-2.png", "Vectors against the training rows, digit 3")


def draw_table_3(journal: Journal, folder: Path) -> None:
    lines = {share: found_of(journal, paper.DIGIT_3, share) for share in paper.TABLE_3}
    ours = {share: found for share, found in lines.items() if found is not None}
    if len(ours) < 2:
        return
    figure, axis = pyplot().subplots(figsize=(7.5, 4.2), layout="constrained")
    everything = list(paper.TABLE_3)
    axis.plot(
        everything, [row.svm_vectors for row in paper.TABLE_3.values()], "k--o", mfc="w", label="SVM, paper"
    )
    axis.plot(list(ours), [found["SVC"]["vectors"] for found in ours.values()], "k-o", label="SVM, ours")
    for t, (tau, colour) in enumerate(
        zip(paper.TAUS_3, ("tab:blue", "tab:orange", "tab:green"), strict=True)
    ):
        theirs = [row.pruned[t][1] for row in paper.TABLE_3.values()]
        axis.plot(everything, theirs, "--s", color=colour, mfc="w", label=f"tau = {tau:g}, paper")
        counts = [found["redundancy"]["vectors"][t] for found in ours.values()]
        axis.plot(list(ours), counts, "-s", color=colour, label=f"tau = {tau:g}, ours")
    axis.set(xlabel="share of the 60,000 training rows", ylabel="vectors", ylim=(0, None))
    axis.grid(alpha=0.3)
    figure.legend(loc="outside right center", fontsize=9)
    write_picture(figure, folder / "kobayashi-2.png", 120)


def classes(journal: Journal) -> Iterator[str]:
    yield f"## MNIST, ten classes: all 45 pairs on one set of {CLASSES_KEEP} vectors\n"
    pair = found_pair(journal, paper.DIGIT_3)
    found = None if pair is None else journal.found(ten_classes, C=pair[0], gamma=pair[1])
    if found is None or pair is None:
        why = NOT_RUN if pair is None else missing(journal, ten_classes, C=pair[0], gamma=pair[1])
        yield f"{why.capitalize()}.\n"
        return
    yield f"Not in the paper. C and gamma as for digit 3, C = {pair[0]:g}, gamma = 2^{np.log2(pair[1]):g}.\n"
    rows = [
        [name, str(one["vectors"]), f"{one['rate']:.2f}", seconds(one["seconds"]), seconds(one["predicting"])]
        for name, one in (("SVC", found["SVC"]), ("`damage`", found["damage"]))
    ]
    yield from table(
        ["", "vectors", "rate", "seconds to fit or reduce", "seconds for 10,000 predictions"], rows
    )
