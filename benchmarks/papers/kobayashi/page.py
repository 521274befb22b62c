"""The page of Kobayashi and Otsu (2009): Tables 1 to 3 and Figure 1, paper beside ours, and other kernel methods."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from papers.cells import Journal
from papers.pages import head

from . import digit_pages, set_pages
from .other_pages import other_tables, speed_table
from .sets import C_GRID, FOLDS, GAMMA_GRID, SEARCH_MAX_ITER, SHARED_SPLITS

CONTENTS = ("Table 1", "Table 2", "Table 3", "Figure 1")

NOTES = (
    'C and gamma are "determined by cross validation", no more is said. Ours: '
    f"{FOLDS} stratified folds of the training part of each split, C = 2^-3, 2^-1, ..., 2^{len(C_GRID) * 2 - 5}, gamma "
    f"= 2^-11, 2^-9, ..., 2^{len(GAMMA_GRID) * 2 - 13}, the best rate, of equal ones the smallest C and then the "
    f"smallest gamma; machines of the search stop after {SEARCH_MAX_ITER:,} iterations. Test rows are not seen.",
    "That each split has its own pair was inferred from the paper's deviations (image 320 ± 112 vectors, thyroid 27 ± "
    "19), which one pair for all splits does not give. It was settled after the set thyroid had been run both ways.",
    "The parameters that the benchmark's authors published for SVMs on these sets were not found in a source to cite.",
    "The pruning is the paper's to the letter: lambda = 0.001, equal support vectors are not merged, the loss of eq. "
    '(9) is computed after every elimination. "Stopped when the criterion exceeds tau" is read as: the state before '
    "it does. Algorithm 2 as printed would end with the state after, which is one vector fewer in every run.",
    "Names of the sets are lost in the scan of Table 1; its rows are taken in the benchmark's order.",
    "Inputs are as in the benchmark's files, where most are standardised (flare solar and splice are not).",
    "`redundancy` is the paper's rule by eq. (7), `distance` by eq. (5); `damage`, with lambda = 1e-5, `refine` and "
    "`auto` are [ours](../reduction.md), `exact` is Downs et al.",
    "On MNIST pixels are divided by 255, and C and gamma of each digit come from three folds of 5,000 training rows. "
    "The SVM so found is better than the paper's and harder to prune (digit 3, 6,000 rows: 99.16 % where the paper has "
    "98.74 %). After seeing that and seven other pairs, a grid was laid in which a pair is looked for whose SVM is "
    "like the paper's. It is run on digit 3 and some sizes of the training set, to tell the SVM's part "
    "in the differences from the pruning's.",
    f"One pair for a set, the usual way with this benchmark, is found on the training parts of the first "
    f"{SHARED_SPLITS} splits, whose rows are partly test rows of others; it stands beside the table and not in it.",
)


def page(journal: Journal) -> Iterator[str]:
    yield from head(
        "Kobayashi & Otsu (2009): pruning support vectors",
        "T. Kobayashi and N. Otsu, *Efficient reduction of support vectors in kernel-based methods*, ICIP 2009. "
        '[`reduce(model, X, y, method="prune")`](../reduction.md) is the method.',
        journal,
        *NOTES,
    )
    yield "## In short\n"
    yield from set_pages.counts(journal)
    yield from digit_pages.counts(journal)
    yield from set_pages.table_1(journal)
    yield from set_pages.other_rules(journal)
    yield from set_pages.algorithms(journal)
    yield from set_pages.times(journal)
    yield from set_pages.figure_1(journal)
    yield from digit_pages.table_2(journal)
    yield from digit_pages.table_3(journal)
    yield from digit_pages.like_the_paper(journal)
    yield from digit_pages.classes(journal)
    yield from other_tables(journal)
    yield from speed_table(journal)


def draw(journal: Journal, folder: Path) -> None:
    set_pages.draw_figure_1(journal, folder)
    digit_pages.draw_table_3(journal, folder)
