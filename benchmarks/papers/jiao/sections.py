"""Sections of the page: Tables I to IV and XVIII and XIX, and which tables a set has."""

from __future__ import annotations

from collections.abc import Iterator

from harness import Record, table
from papers.cells import Journal
from papers.pages import NOT_RUN, seconds

from . import published as paper
from .baselines import CS, FOLDS, FOLDS_RUN, MOST_STEPS, STRIDE, WIDTHS, chosen, chosen_gamma, pursuit
from .cells import DRAWS, OTHER_WIDTH, QUICK_VALUE, SHARES, SMALL, WIDTHS_TRIED, draws
from .found import Entry, entry, greedy_entry, lookup, near_entry, other_width_entry
from .machines import LOWEST_DECISION, svm
from .tables import (
    SET_NAMES,
    beside_svm,
    cells_of,
    column_table,
    draws_text,
    method_table,
    ours_text,
    svs_text,
    time_table,
)


def notation_and_costs() -> Iterator[str]:
    yield "## Table I: notation\n"
    yield from table(
        ["paper", "here"],
        [
            ["l, d: rows, dimensions", "`n_samples`, `n_features`"],
            ["n: number of support vectors", "`n_vectors_`"],
            ["gamma: regularisation", "`C / 2`"],
            ["theta: kernel width", "`gamma`"],
            ["alpha, b", "`dual_coef_`, `intercept_`"],
            ["epsilon: insensitive constant", "`max_error`"],
            ["P: indices of support vectors", "`support_`"],
            ["M, m: random subset and its size", "`n_candidates`"],
        ],
    )
    for roman, title in (("II", "beside CG and SMO"), ("III", "beside KMP and SGGP")):
        yield f"## Table {roman}: costs {title}\n"
        rows = [[method, *costs] for method, costs in paper.COSTS[roman].items()]
        yield from table(["method", "memory", "training", "prediction"], rows)
    yield (
        "The orders are the paper's: n vectors, l rows, m candidates. Ours has the same for FSALS (the kernel "
        "columns of all classes' vectors are held) and PFSALS; CG and SMO hold the kernel matrix where it needs no "
        "more than 2 GiB, KMP and SGGP too, and compute it in blocks above. What they come to is in Tables VII, X, "
        "XIII and XIV to XIX.\n"
    )


def sets_and_widths(journal: Journal) -> Iterator[str]:
    yield "## Table IV: the sets, and the evidence for their widths\n"
    rows = [
        [
            SET_NAMES[name],
            "2^-6" if name.startswith("mnist") else "cannot be read",
            f"2^{paper.WIDTHS[name]}",
            *map(str, size),
        ]
        for name, size in paper.TABLE_IV.items()
    ]
    yield from table(
        ["set", "theta, paper", "ours", "training rows", "test rows", "attributes", "classes"], rows
    )
    yield (
        "Vectors (accuracy in %) of FSALS, on MNIST1 of PFSALS, at epsilon 0.5 for powers of two as width; the width "
        "that is used in bold.\n"
    )
    widths = sorted({width for _, tried, _ in WIDTHS_TRIED.values() for width in tried})
    body = []
    for name, (values, tried, candidates) in WIDTHS_TRIED.items():
        column = "FSALS" if candidates is None else "PFSALS"
        for value in values:
            target = (
                f"{paper.at(paper.VECTORS, name, column, value)} "
                f"({paper.at(paper.ACCURACY, name, column, value):.2f})"
            )
            cells = []
            for width in widths:
                if width not in tried:
                    cells.append("")
                    continue
                found = greedy_entry(journal, name, value, 0.5, candidates, width)
                text = f"{found.mean('vectors'):.0f} ({found.mean('accuracy'):.2f})" if found else found.why
                cells.append(f"**{text}**" if width == paper.WIDTHS[name] else text)
            body.append([SET_NAMES[name], str(value), target, *cells])
    yield from table(["set", "log2 gamma", "paper", *(f"2^{width}" for width in widths)], body)


def small_sets(journal: Journal) -> Iterator[str]:
    for name, romans, greedy_columns, solver in (
        ("ringnorm", ("V", "VI", "VII"), ("FSALS", "PFSALS"), "CG"),
        ("satimage", ("VIII", "IX", "X"), ("FSALS", "PFSALS"), "SMO"),
        ("usps", ("XI", "XII", "XIII"), ("FSALS", "PFSALS", "PFSALS 0.4"), ""),
    ):
        columns = (*greedy_columns, "LS-SVM", "SVM")
        pruned_columns = tuple(SHARES) if solver else ()
        for roman, field, what in (
            (romans[0], "accuracy", "accuracy (%) of the test rows"),
            (romans[1], "vectors", "number of vectors"),
        ):
            yield f"## Table {roman}: {what}, {SET_NAMES[name]}\n"
            yield from column_table(journal, name, field, columns)
            if pruned_columns:
                yield from column_table(journal, name, field, pruned_columns)
            if name in DRAWS:
                own = columns if field == "accuracy" else ("FSALS", "PFSALS", "SVM")
                yield from draws_text(journal, name, field, own)
        if name in OTHER_WIDTH:
            yield from other_width(journal, name, romans[1])
        if not pruned_columns:
            yield from schemes(journal)
        yield f"## Table {romans[2]}: seconds to train, {SET_NAMES[name]}\n"
        yield from time_table(journal, name, (*greedy_columns, "CG", "SMO", *pruned_columns, "SVM"))
        yield from direct_text(journal, name)
        if solver:
            yield from svs_text(journal, name, solver)


def other_width(journal: Journal, name: str, roman: str) -> Iterator[str]:
    """Vectors at another width, and how many cells are near at both."""
    width, other = paper.WIDTHS[name], OTHER_WIDTH[name]
    columns = ("FSALS", "PFSALS", "SVM")
    yield f"### Table {roman}, width 2^{other:g} in place of 2^{width}\n"
    rows, near = [], {column: [0, 0, 0] for column in columns}
    for value in paper.LOG2_GAMMA:
        cells = [str(value)]
        for column in columns:
            target = paper.at(paper.VECTORS, name, column, value)
            first, second = (
                entry(journal, name, column, value),
                other_width_entry(journal, name, column, value),
            )
            texts = cells_of(second, "vectors", target)
            cells += [texts[0], *cells_of(first, "vectors", target)[1:], *texts[1:]]
            pair = [near_entry(name, column, value, found) for found in (first, second)]
            if None not in pair:
                near[column] = [
                    a + b for a, b in zip(near[column], [*(p.both for p in pair if p), 1], strict=True)
                ]
        rows.append(cells)
    header = [
        f"{column}, {text}"
        for column in columns
        for text in ("paper", f"2^{width}", "difference", f"2^{other:g}", "difference")
    ]
    yield from table(["log2 gamma", *header], rows)
    yield (
        f"No width we tried fits all columns of {name}: the counts of FSALS and of the SVM are nearest the paper's "
        f"about 2^{other:g}, those of PFSALS at 2^{width}, a whole power, which the tables use. Within both limits: "
        + "; ".join(f"{c} {n[0]} of {n[2]} at 2^{width}, {n[1]} at 2^{other:g}" for c, n in near.items())
        + ".\n"
    )


def direct_text(journal: Journal, name: str) -> Iterator[str]:
    times = [e.mean("seconds") for value in paper.LOG2_GAMMA if (e := entry(journal, name, "direct", value))]
    if times:
        yield (
            f"LS-SVM by a direct solution, which the paper does not have, takes {seconds(min(times))} to "
            f"{seconds(max(times))} s.\n"
        )


def schemes(journal: Journal) -> Iterator[str]:
    yield "### Table XII, one against the rest or pairs\n"
    rows = []
    for name in ("satimage", "usps"):
        value = QUICK_VALUE[name]
        target = [
            paper.at(paper.ACCURACY, name, "SVM", value),
            paper.at(paper.VECTORS, name, "SVM", value),
        ]
        cells = [SET_NAMES[name], str(value), f"{target[1]} ({target[0]:.2f})"]
        for scheme in ("rest", "pairs"):
            where = {"name": name, "log2_gamma": value, "scheme": scheme, "draws": 1}
            found = lookup(journal, svm, where)
            cells.append(
                f"{found.mean('vectors'):.0f} ({found.mean('accuracy'):.2f})" if found else found.why
            )
        rows.append(cells)
    yield "Vectors (accuracy in %) of `SVC` with C = gamma:\n"
    yield from table(["set", "log2 gamma", "paper", "a machine a class", "pairs of classes"], rows)


def digits(journal: Journal) -> Iterator[str]:
    for roman, name, columns in (
        ("XIV", "mnist1", ("FSALS", "SVM")),
        ("XV", "mnist1", ("PFSALS", "PFSALS 0.4")),
        ("XVI", "mnist", ("PFSALS", "SVM")),
        ("XVII", "mnist", ("PFSALS 0.4", "PFSALS 0.6")),
    ):
        yield f"## Table {roman}: {' and '.join(columns)}, {SET_NAMES[name]}\n"
        for column in columns:
            yield f"### Table {roman}, {column}\n"
            yield from method_table(journal, name, column)
            if column != "SVM":
                yield from beside_svm(journal, name, column)
            unsure = sum(entry(journal, name, column, value).unsure for value in paper.LOG2_GAMMA)
            if unsure:
                yield (
                    f"Over these machines {unsure} test rows have no decision above {LOWEST_DECISION:g} in "
                    "any class; they count as the first class.\n"
                )
    found = {
        title: greedy_entry(journal, SMALL, QUICK_VALUE["mnist"], epsilon, candidates)
        for title, epsilon, candidates in (
            ("FSALS", 0.5, None),
            ("PFSALS 0.4", 0.4, paper.CANDIDATES),
            ("PFSALS", 0.5, paper.CANDIDATES),
            ("PFSALS 0.6", 0.6, paper.CANDIDATES),
        )
    }
    yield "### The first 2,000 rows of MNIST\n"
    yield f"Not in the paper; what `make papers-quick` runs, log2 gamma {QUICK_VALUE['mnist']}.\n"
    rows = [
        [title, *(ours_text(e, field) for field in ("accuracy", "vectors", "seconds"))]
        for title, e in found.items()
    ]
    yield from table(["method", "accuracy (%)", "vectors", "seconds"], rows)


def baselines(journal: Journal) -> Iterator[str]:
    for roman, name in (("XVIII", "ringnorm"), ("XIX", "usps")):
        yield f"## Table {roman}: PFSALS, KMP and SGGP, {SET_NAMES[name]}\n"
        rows = []
        base: float | None = None
        for method, (vectors, accuracy, took) in paper.BASELINES[name].items():
            parameters, found = chosen_machine(journal, name, method)
            if method == "PFSALS":
                base = found.mean("seconds") if found else None
            old = paper.BASELINES[name]["PFSALS"][2]
            rows.append(
                [
                    method,
                    parameters,
                    *cells_of(found, "vectors", vectors)[:2],
                    *cells_of(found, "accuracy", accuracy),
                    f"{took:g}",
                    ours_text(found, "seconds"),
                    f"{took / old:.1f}",
                    f"{found.mean('seconds') / base:.1f}" if found and base else "",
                ]
            )
        yield from table(
            [
                "method",
                f"found by {FOLDS_RUN[name]} of {FOLDS} folds (PFSALS: all)",
                "vectors, paper",
                "ours",
                "accuracy, paper",
                "ours",
                "difference",
                "seconds, paper",
                "ours",
                "/ PFSALS, paper",
                "ours",
            ],
            rows,
        )
        yield from search_text(journal, name)
        value = chosen_gamma(journal, name)
        if value is not None and (beside := entry(journal, name, "SVM", value)):
            text = ours_text(beside, "seconds")
            yield f"`SVC.fit`, a machine a class, takes {text} s at PFSALS's gamma in the same run.\n"


def chosen_machine(journal: Journal, name: str, method: str) -> tuple[str, Entry]:
    """What the folds chose, and the machine on all training rows."""
    if method == "PFSALS":
        value = chosen_gamma(journal, name)
        if value is None:
            return NOT_RUN, Entry([], [], [], NOT_RUN)
        return f"log2 gamma {value}", entry(journal, name, method, value)
    found = chosen(journal, name, method)
    if found is None:
        return NOT_RUN, Entry([], [], [], NOT_RUN)
    text = f"width 2^{found['log2_width']}, C {found['C']:g}, {found['n_steps']} vectors a machine"
    where: Record = {"name": name, "method": method, **found, "draws": draws(name)}
    return text, lookup(journal, pursuit, where)


def search_text(journal: Journal, name: str) -> Iterator[str]:
    widths = ", ".join(f"2^{width}" for width in WIDTHS[name])
    grids = "; ".join(f"{m} {', '.join(f'{C:g}' for C in CS[name, m])}" for m in ("KMP", "SGGP"))
    yield (
        f"Tried: widths {widths}; C: {grids}; every {STRIDE[name]} vectors up to {MOST_STEPS[name]} a machine, on the "
        f"training rows{' of the first draw' if name in DRAWS else ''}; of PFSALS the 12 values of gamma."
    )
    edges = []
    for method in ("KMP", "SGGP"):
        found = chosen(journal, name, method)
        if found is None:
            continue
        if found["log2_width"] in (WIDTHS[name][0], WIDTHS[name][-1]):
            edges.append(f"the width of {method}")
        if found["C"] in (CS[name, method][0], CS[name, method][-1]):
            edges.append(f"C of {method}")
        if found["n_steps"] == MOST_STEPS[name]:
            edges.append(f"the number of vectors of {method}")
    if edges:
        yield f"At the edge of what was tried: {', '.join(edges)}."
    yield ""
