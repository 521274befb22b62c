"""The page of Jiao, Bo and Wang (2007): Tables I to XIX and Figures 1 to 3, the paper beside ours."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from harness import pyplot, table, write_picture
from papers.cells import Journal
from papers.pages import NOT_RUN, head, picture

from . import published as paper
from .baselines import FOLDS_RUN
from .cells import DRAWS, EPSILONS, FIGURES, SHARES, SVM_VALUES
from .found import ACCURACY_POINTS, VECTORS_SHARE, Near, entry, greedy_entry, nearness
from .machines import LEAST_SQUARES_TOL
from .sections import baselines, digits, notation_and_costs, sets_and_widths, small_sets
from .tables import FIGURES_OF, SET_NAMES, SHARE_TEXT, ours_text, target_text

ROMAN = (
    "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII", "XIII", "XIV", "XV", "XVI", "XVII",
    "XVIII", "XIX",
)  # fmt: skip
CONTENTS = (*(f"Table {roman}" for roman in ROMAN), "Figure 1", "Figure 2", "Figure 3")

WANTED = 0.95
NOTES = (
    "The widths of Table IV cannot be read in our copy but for MNIST's. Ours are the powers of two whose numbers of "
    "vectors are nearest the paper's: they were settled by the results (the experiment is under Table IV), so that "
    "agreement at the one or two values of gamma used there is no evidence; the others are.",
    "On ringnorm no width fits all columns: at 2^-4, a whole power, the SVM has far more vectors than the paper's; at "
    "2^-4.25 FSALS and the SVM fit and PFSALS does not (under Table VI). 2^-4.25 was picked for its nearness to the "
    "paper's counts, after looking at a few values of gamma at 2^-4, 2^-4.125, 2^-4.25, 1/20, 2^-4.5, 2^-5 and 2^-6, "
    "at rows with half the paper's mean of class 2, and at the standardised rows of the published benchmark set "
    "(widths 2^-2 to 2^-4); those trials are not kept. The tables stay at 2^-4, which had been settled before.",
    "The paper's gamma is C / 2 of the least-squares machines (its eq. 12). The C of its SVM is not said to be gamma; "
    "with C = gamma and one machine a class against the rest the SVM's figures agree on satimage and USPS, with "
    "LIBSVM's own pairs the vectors do not (under Table XII).",
    f"The rows of ringnorm are not published: {DRAWS['ringnorm']} draws here, mean ± deviation. All other rows are "
    "the paper's. PFSALS is run with one seed, as it seems to have been in the paper.",
    f"The paper ends CG and SMO at a mean squared error of 1e-6, ours end at a largest error of {LEAST_SQUARES_TOL:g}, "
    "which is a little later. Our CG is preconditioned and holds the kernel matrix up to 2 GiB: its times are not "
    "those of the algorithm of 2007.",
    "The paper prunes each two-class machine of SVS to as many vectors as FSALS has for it, and so do we: on ringnorm "
    "the number of vectors is therefore FSALS's and no result of its own. How many rows SVS drops in a round is not "
    f"stated: {SHARES['SVS']:.0%} of the rows left and all at once are run.",
    "Epsilon 0.4 on MNIST has, at gamma 2^9 and 2^10, the figures of epsilon 0.6 in our copy: left out.",
    "The SVM on all of MNIST takes more than 20 minutes at each value: it is run at log2 gamma "
    + ", ".join(map(str, SVM_VALUES["mnist"]))
    + " only.",
    f"KMP and SGGP: ten folds, of which the first {FOLDS_RUN['usps']} are run on USPS to save hours; "
    "a machine a class with vectors of its own, all of the same number of steps. The paper "
    "does not say whether its classes had different numbers, nor what was tried; our candidates are under the tables.",
    "The curves of Figures 1 to 3 are not in our copy, only their captions and what the text says of them.",
)


def in_short(journal: Journal) -> Iterator[str]:
    cells = list(nearness(journal))

    def line(title: str, own: list[Near]) -> list[str]:
        counted = [cell.vectors for cell in own if cell.vectors is not None]
        both = sum(cell.both for cell in own)
        share = f"{both / len(own):.1%}" if own else "-"
        return [
            title,
            str(len(own)),
            str(sum(cell.accuracy for cell in own)),
            f"{sum(counted)} of {len(counted)}" if counted else "-",
            str(both),
            share,
        ]

    rows = []
    for name in SET_NAMES:
        for column in dict.fromkeys(cell.column for cell in cells if cell.name == name):
            own = [cell for cell in cells if (cell.name, cell.column) == (name, column)]
            rows.append(line(f"{SET_NAMES[name]}, {SHARE_TEXT.get(column, column)}", own))
    ours = [cell for cell in cells if "FSALS" in cell.column]
    but_svs = [cell for cell in cells if "SVS" not in cell.column]
    rows += [
        line("**FSALS and PFSALS**", ours),
        line("**with LS-SVM and SVM**", but_svs),
        line(f"**and SVS, {SHARES['SVS']:.0%} a round**", [c for c in cells if c.column != "SVS at once"]),
        line("**all**", cells),
    ]
    yield (
        f"Cells (a method at a gamma on a set) within {ACCURACY_POINTS:g} points of the paper's accuracy and "
        f"{VECTORS_SHARE:.0%} of its vectors; {WANTED:.0%} of all that were run are wanted. LS-SVM is counted by its "
        "accuracy: every row is a vector.\n"
    )
    yield from table(["what", "cells", "accuracy", "vectors", "both", "share"], rows)
    missed = [cell for cell in but_svs if not cell.both]
    if missed:
        yield "Beyond, SVS apart:\n"
        for cell in missed:
            found = entry(journal, cell.name, cell.column, cell.log2_gamma)
            gaps = [
                f"{field} {ours_text(found, field)}, paper {target_text(field, target)}"
                for field in ("accuracy", "vectors")
                if (target := paper.at(FIGURES_OF[field], cell.name, cell.column, cell.log2_gamma))
                is not None
            ]
            yield f"- {SET_NAMES[cell.name]}, {cell.column}, log2 gamma {cell.log2_gamma}: {'; '.join(gaps)}."
        yield ""
    yield from best_of_sets(journal)


def best_of_sets(journal: Journal) -> Iterator[str]:
    """What the paper concludes: the best accuracy of its machines beside the SVM's."""
    rows = []
    for name, title in SET_NAMES.items():
        cells = [title]
        for columns in (("FSALS", "PFSALS", "PFSALS 0.4", "PFSALS 0.6"), ("SVM",)):
            targets = [
                v for column in columns for v in paper.ACCURACY.get((name, column), ()) if v is not None
            ]
            found = [
                e.mean("accuracy")
                for column in columns
                if (name, column) in paper.ACCURACY
                for value in paper.LOG2_GAMMA
                if (e := entry(journal, name, column, value))
            ]
            cells += [f"{max(targets):.2f}", f"{max(found):.2f}" if found else NOT_RUN]
        rows.append(cells)
    yield "The best accuracy over all values of gamma (chosen on the test rows, as the paper's comparison does):\n"
    yield from table(["set", "FSALS and PFSALS, paper", "ours", "SVM, paper", "ours"], rows)


# ---------------------------------------------------------------------------- figures

FIGURE_FIELDS = (
    ("accuracy", "accuracy of the test rows (%)"),
    ("vectors", "number of vectors"),
    ("seconds", "seconds to train"),
)


def figures(journal: Journal) -> Iterator[str]:
    for count, (field, what) in enumerate(FIGURE_FIELDS, start=1):
        yield f"## Figure {count}: {what} of FSALS against epsilon\n"
        rows, any_found = [], False
        for name, value in FIGURES.items():
            found = [greedy_entry(journal, name, value, epsilon, None) for epsilon in EPSILONS]
            any_found |= any(map(bool, found))
            rows.append([f"{name}, gamma 2^{value}", *(ours_text(e, field) for e in found)])
        yield from table(["set", *(f"{epsilon:g}" for epsilon in EPSILONS)], rows)
        yield from monotone(journal, field)
        if any_found:
            yield picture(f"jiao-{count}.png", f"{what} of FSALS against epsilon")


def monotone(journal: Journal, field: str) -> Iterator[str]:
    """What the paper says of the curves, and whether ours do so."""
    texts = []
    for name, value in FIGURES.items():
        found = [greedy_entry(journal, name, value, epsilon, None) for epsilon in EPSILONS]
        if not all(found):
            continue
        means = [e.mean(field) for e in found]
        if field == "accuracy":
            best = EPSILONS[int(np.argmax(means))]
            texts.append(f"{name} is best at {best:g} ({max(means):.2f}; {means[0]:.2f} at {EPSILONS[0]:g})")
        else:
            falls = all(after <= before for before, after in itertools.pairwise(means))
            texts.append(f"{name} {'falls throughout' if falls else 'does not fall throughout'}")
    says = (
        "The paper: accuracy may rise and then fall with epsilon, so that LS-SVM (epsilon 0) need not be best."
        if field == "accuracy"
        else "The paper: it falls steadily with epsilon."
    )
    ends = " At epsilon 1 the search ends before its first vector." if field == "vectors" else ""
    yield f"{says} Ours: {'; '.join(texts) or NOT_RUN}.{ends}\n"


def draw(journal: Journal, folder: Path) -> None:
    for count, (field, what) in enumerate(FIGURE_FIELDS, start=1):
        figure, axes = pyplot().subplots(1, 2, figsize=(9, 3.6), layout="constrained")
        drawn = False
        for axis, letter, (name, value) in zip(axes, "ab", FIGURES.items(), strict=True):
            points = [
                (epsilon, e.mean(field), e.deviation(field) or 0.0)
                for epsilon in EPSILONS
                if (e := greedy_entry(journal, name, value, epsilon, None))
            ]
            if points:
                drawn = True
                axis.errorbar(*zip(*points, strict=True), fmt="o-", capsize=3)
            axis.set(xlabel="epsilon", ylabel=what, title=f"({letter}) {name}, gamma = 2^{value}")
            axis.grid(alpha=0.3)
        if drawn:
            write_picture(figure, folder / f"jiao-{count}.png", 120)
        else:
            pyplot().close(figure)


def page(journal: Journal) -> Iterator[str]:
    yield from head(
        "Jiao, Bo & Wang (2007): fast sparse approximation for least squares support vector machine",
        "L. Jiao, L. Bo and L. Wang, *Fast sparse approximation for least squares support vector machine*, IEEE "
        "Transactions on Neural Networks 18 (2007). `GreedyLSSVC` is FSALS-SVM and, with `n_candidates=146`, "
        "PFSALS-SVM ([its page](../sparse-least-squares.md)); `LSSVC` is LS-SVM, `PrunedLSSVC` SVS, scikit-learn's "
        "`SVC` the SVM, `MatchingPursuitSVC` KMP and `SparseGreedyGPC` SGGP ([their page](../pursuit.md)).",
        journal,
        *NOTES,
    )
    yield "## In short\n"
    yield from in_short(journal)
    yield from notation_and_costs()
    yield from sets_and_widths(journal)
    yield (
        "In the tables that follow a difference beyond "
        f"{ACCURACY_POINTS:g} points or {VECTORS_SHARE:.0%} is bold; epsilon is 0.5 where no other is named.\n"
    )
    yield from small_sets(journal)
    yield from digits(journal)
    yield from figures(journal)
    yield from baselines(journal)
