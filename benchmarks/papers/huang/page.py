"""The page of Huang et al. (2010): every table and figure, paper beside ours, from the journal alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from harness import table
from papers.cells import Journal
from papers.pages import NOT_RUN, head, picture, seconds

from . import pictures, sections, tables
from . import published as paper
from .algorithms import ripley_rounds
from .examples import (
    SHARES,
    TOY_DRAWS,
    TOYS,
    ripley_250,
    ripley_1000,
    ripley_settings,
    toys,
)
from .nested import CERTAIN, CORNER, FIRST_FOLDS, GRIDS, INNER_FOLDS, MANY_INPUTS

CONTENTS = ("Table 1", "Table 2", "Figure 1", "Figure 2", "Figure 3", "Figure 4", "Figure 5")


def values_of(values: Any) -> str:
    return ", ".join(f"{value:g}" for value in values)


def grids() -> str:
    """The grids in words."""
    parts = []
    for method, grid in GRIDS.items():
        text = f"{method}: gamma d {values_of(grid['gammas'])}"
        for key, name in (("Cs", "C"), ("Ds", "D")):
            if key in grid:
                text += f"; {name} {values_of(grid[key])}"
        parts.append(text)
    return ". ".join(parts)


NOTES = (
    "Sets: the benchmark files of Rätsch et al., inputs of mean 0 and variance 1, the first 1000 rows of a seeded "
    "shuffle. They have the sizes of Table 1, but the paper's rows and folds are not published.",
    f"Parameters: by {INNER_FOLDS}-fold cross-validation on the training part of each of the ten folds. The paper "
    "gives no grids and does not say how vectors entered. The main table takes the least inner error, of equals the "
    "fewest vectors; this was fixed before anything was run. A second table takes the fewest vectors within half a "
    "standard error of the least inner error, the rule of an earlier version of this page.",
    "The paper's deviations of vectors are small (SVC: 2 to 6 % of the mean), as from one setting for all ten folds; a "
    "setting found anew in each fold deviates more. A third table therefore has one setting for all folds: that of the "
    "fewest vectors within half a standard error of the least inner error, averaged over the folds. It looks at no "
    "error of a test part, though nearly every row is in the training part of some fold. It was added after the "
    "figures of SSVC_A by the other rules had been seen. A fourth table has one setting chosen on the folds that are "
    "reported: its errors are too low, and it counts for nothing else than to show what such a choice is worth.",
    f"Grids, d being the number of inputs: {grids()}. Cut: on sets with {MANY_INPUTS} inputs or more and 400 rows or "
    f"more, C times gamma d is at most {', '.join(f'{limit:g} ({name})' for name, limit in CORNER.items())}: narrow "
    "kernels with a large C keep a hundred vectors and more, and one fit takes minutes.",
    f"A setting is given up after {FIRST_FOLDS} inner folds or more when its error is beyond what either rule could "
    f"choose by {CERTAIN:g} standard errors of the difference.",
    "Deviations are over the folds, with n - 1. Seconds: medians of three fits with the chosen setting, beside "
    "`SVC.fit` with the same gamma and C (1 where the machine has no C), called in turn.",
    "The spans of the grids and the cut were settled after trial fits on the training part of the first fold of "
    "Banana, German, Ringnorm and Waveform; nothing was changed after a fold had been tested.",
    "Figure 2: the paper's 40 rows are not published; ours are draws of four shapes. Figure 4: the paper gives neither "
    "sigma nor C; ours are those of Figure 3, others beside them.",
)


def page(journal: Journal) -> Iterator[str]:
    yield from head(
        "Huang et al. (2010): sparse learning for support vector classification",
        "K. Huang, D. Zheng, J. Sun, Y. Hotta, K. Fujimoto and S. Naoi, *Sparse learning for support vector "
        "classification*, Pattern Recognition Letters 31 (2010). SSVC_A, B and W are [`ZeroNormSVC`](../zero-norm.md) "
        "with "
        '`variant="quadratic"`, `"linear"` and `"multiplicative"`; LP-SVC is `LPSVC`, SC-SVC `SparsityControlledSVC`, '
        "RVM "
        "[`RVC`](../relevance.md), SPC `SparseProbitClassifier`.",
        journal,
        *NOTES,
    )
    yield "## In short\n"
    yield from tables.in_short(journal)
    yield "## Table 1: the sets\n"
    yield from table(
        ["set", "inputs", "rows", "ours"],
        [
            [title, str(size.inputs), str(size.rows), f"`{size.name}`"]
            for title, size in paper.TABLE_1.items()
        ],
    )
    yield "## Table 2: vectors and errors\n"
    yield from tables.main_table(journal, "best")
    yield "### Table 2 with the fewest vectors within half a standard error\n"
    yield from tables.main_table(journal, "half", tables.SPARSE)
    yield "### Table 2 with one setting for all ten folds, by their inner errors\n"
    yield from tables.main_table(journal, tables.SHARED, tables.CHECKED)
    yield "### Table 2 with one setting for all ten folds, chosen on these folds\n"
    yield from tables.main_table(journal, tables.ONCE)
    yield "### Table 2: seconds of a fit\n"
    yield "The paper's machine is not named; ratios to SVC in the same run say more than seconds.\n"
    yield from tables.time_table(journal)
    yield "### Table 2: the paper's own algorithm\n"
    yield from tables.algorithm_table(journal)
    yield "### Table 2: t-tests\n"
    yield from tables.significance(journal)
    yield "### Table 2: settings that were chosen\n"
    yield "Medians over the folds, smallest to largest.\n"
    yield from tables.setting_table(journal)
    yield "## Figure 1: what the norms say of a coefficient\n"
    yield picture("huang-1.png", "The distributions of a coefficient behind the L2, L1 and L0 norms")
    yield from figure_2(journal)
    yield from figure_3(journal)
    yield from figure_4(journal)
    yield "## Figure 5: vectors and seconds of the sparse machines\n"
    if tables.gathered(journal, "best"):
        yield picture(
            "huang-5.png", "Vectors and seconds of the sparse machines on the seven sets, paper and ours"
        )
    else:
        yield f"{NOT_RUN.capitalize()}.\n"
    yield from sections.uses(journal)
    yield from sections.relevance_section(journal)
    yield from sections.density_section(journal)


# ---------------------------------------------------------------------------- figures


def figure_2(journal: Journal) -> Iterator[str]:
    yield "## Figure 2: two separable classes, sigma = 2, C = 10\n"
    yield (
        f"Vectors of {TOY_DRAWS} draws of 40 rows in four shapes, mean (least to most). No error on the rows in the "
        "paper's figure; ours in the last column.\n"
    )
    rows = [["paper", *(str(count) for count in paper.FIGURE_2.values()), "0"]]
    for shape in TOYS:
        found = journal.found(toys, shape=shape)
        if found is None:
            rows.append([shape, NOT_RUN, "", "", ""])
            continue
        texts = [f"{np.mean(v):.1f} ({min(v)} to {max(v)})" for v in found["vectors"].values()]
        rows.append([shape, *texts, " / ".join(f"{error:g}" for error in found["errors"].values())])
    yield from table(["rows", *paper.FIGURE_2, "training error %"], rows)
    yield picture(
        "huang-2.png", "Decision curves and vectors of SVC, SSVC_A and SSVC_B on two separable classes"
    )


def figure_3(journal: Journal) -> Iterator[str]:
    yield "## Figure 3: Ripley's 250 rows, sigma = 0.5, C = 1\n"
    found = journal.found(ripley_250)
    if found is None:
        yield f"{NOT_RUN.capitalize()}.\n"
        return
    rows = []
    for key, one in found.items():
        target = paper.FIGURE_3.get(key)
        rows.append([key, "" if target is None else str(target), str(one["vectors"]),
                     "" if target is None else f"{one['vectors'] - target:+d}", f"{one['error']:g}",
                     seconds(one["seconds"])])  # fmt: skip
    yield from table(["machine", "vectors, paper", "ours", "difference", "test error %", "seconds"], rows)
    yield picture("huang-3.png", "Decision curves and vectors of SVC, SSVC_A and SSVC_B on Ripley's rows")


def first_round_at(left: list[int], count: int) -> int:
    """The first round after which no more than so many coefficients are left."""
    return next(i for i, n in enumerate(left) if n <= count)


def why_rounds(journal: Journal, a: list[int], b: list[int]) -> Iterator[str]:
    """Why SSVC_A takes more rounds than the paper says, as far as the journal tells."""
    text = (
        f"Why SSVC_A takes {len(a) - 1} rounds here and three in the paper. Its first round penalises the squares of "
        "all coefficients alike, so that each is a smooth function of where its row lies, and none is zero. A round "
        "then makes of each its square times another smooth function: neighbours part slowly. "
        f"{a[2]} of {a[0]} coefficients are left after two rounds and {a[3]} after three. A linear program ends in a "
        f"corner: SSVC_B has {b[1]} after its first round, and their number does not change after round "
        f"{first_round_at(b, b[-1])}. "
    )
    if (rounds := journal.found(ripley_rounds)) is not None:
        last = [
            first_round_at(one["left"], one["left"][-1]) for one in rounds["fits"] if one["solver"] == "smo"
        ]
        text += (
            f"By the paper's SMO, with and without its epsilon, SSVC_A's number settles after {min(last)} to "
            f"{max(last)} rounds, and SSVC_B stops after {len(b) - 1}. The text says three for A and nine for B: it "
            "would fit better with the two names exchanged. "
        )
    if (others := journal.found(ripley_settings)) is not None:
        least = min(o["rounds"] for o in others["fits"] if o["machine"] == "SSVC_A" and o["vectors"])
        text += f"At other sigma and C that leave vectors, SSVC_A takes {least} rounds or more. "
    yield (
        text
        + "Nothing tried here takes SSVC_A to four vectors in three rounds ([both curves](../zero-norm-variants.md)).\n"
    )


def figure_4(journal: Journal) -> Iterator[str]:
    yield "## Figure 4: coefficients left after each round, Ripley's 1000 rows\n"
    found = journal.found(ripley_1000)
    if found is None:
        yield f"{NOT_RUN.capitalize()}.\n"
        return
    rows = []
    for key in ("SSVC_A", "SSVC_B", "SSVC_W"):
        left = found[key]["left"]
        rows.append([key, str(paper.FIGURE_4.get(key, "")), str(len(left) - 1), " ".join(map(str, left)),
                     str(paper.FIGURE_4_VECTORS), str(found[key]["vectors"]), f"{found[key]['error']:g}"])  # fmt: skip
    yield from table(
        [
            "machine",
            "rounds, paper",
            "ours",
            "left, the intercept among them",
            "vectors, paper",
            "ours",
            "error %",
        ],
        rows,
    )
    yield picture("huang-4.png", "Coefficients left after each round of SSVC_A, SSVC_B and SSVC_W")
    yield from why_rounds(journal, *(found[key]["left"] for key in ("SSVC_A", "SSVC_B")))
    a = found["SSVC_A"]["left"]
    rows = [
        [str(i), str(a[i]), *map(str, line["counts"]), f"{line['error']:g}"]
        for i, line in enumerate(found["above"], start=1)
    ]
    yield "SSVC_A, how many coefficients are larger than a share of the largest, if one calls the others zero:\n"
    yield from table(["round", "left", *(f"> {share:g}" for share in SHARES), "error %"], rows)
    if (other := journal.found(ripley_rounds)) is not None:
        yield "SSVC_A by our solver and by the paper's modified SMO, with and without its epsilon:\n"
        rows = []
        for one in other["fits"]:
            left = one["left"]
            rows.append(["SMO" if one["solver"] == "smo" else "ours", f"{one['epsilon'] or 0:g}", str(len(left) - 1),
                         str(first_round_at(left, left[-1])), str(one["vectors"]), " ".join(map(str, left)),
                         f"{one['error']:g}", seconds(one["seconds"])])  # fmt: skip
        yield from table(
            ["solver", "epsilon", "rounds", "last change in number", "vectors", "left", "error %", "seconds"],
            rows,
        )
    if (other := journal.found(ripley_settings)) is not None:
        yield "Rounds (vectors) at other sigma and C:\n"
        fits = other["fits"]
        Cs = sorted({one["C"] for one in fits})
        rows = []
        for key in ("SSVC_A", "SSVC_B"):
            for sigma in sorted({one["sigma"] for one in fits}):
                own = {o["C"]: o for o in fits if (o["machine"], o["sigma"]) == (key, sigma)}
                rows.append([key, f"{sigma:g}", *(f"{own[C]['rounds']} ({own[C]['vectors']})" for C in Cs)])
        yield from table(["machine", "sigma", *(f"C = {C:g}" for C in Cs)], rows)


def draw(journal: Journal, folder: Path) -> None:
    pictures.draw(journal, folder)
