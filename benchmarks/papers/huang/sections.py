"""Sections of the page beyond the paper's tables and figures: other uses of its framework, relevance, density."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from harness import Record, table
from papers.cells import Journal
from papers.pages import GAVE_UP, NOT_RUN, number, ratio, seconds, spread, summary

from .beyond import (
    DENSITIES,
    FREE_ROWS,
    FREE_VECTORS,
    MANY_ROWS,
    RELEVANCE,
    WIDTHS,
    density,
    fastrvm,
    free_density,
    many_rows,
    relevance,
)
from .examples import MARGINS, NORMS, SELECTION_DRAWS, SELECTION_ROWS, housing, mixed, norms, selection, sinc


def uses(journal: Journal) -> Iterator[str]:
    yield "## Sections 3.3 and 3.5: regression, feature selection, mixed and p-norms\n"
    yield "The paper names these uses of its framework and has no figures for them.\n"
    yield "### Regression\n"
    found = journal.found(sinc, n=200, noise=0.1)
    rows = []
    for key, one in (found or {}).items():
        name = key if key == "SVR" else f"ZeroNormSVR, {key}"
        rows.append(["sin(x) / x", name, str(one["vectors"]), f"{one['rms']:.3f}", seconds(one["seconds"])])
    folds = [line for fold in range(10) if (line := journal.found(housing, fold=fold)) is not None]
    for key in ("SVR", "ZeroNormSVR") if folds else ():
        vectors, rms, spent = (
            summary([line[key][f] for line in folds]) for f in ("vectors", "rms", "seconds")
        )
        rows.append([f"Boston housing, {len(folds)} folds", key, spread(*vectors), f"{rms[0]:.2f} ± {rms[1]:.2g}",
                     seconds(spent[0])])  # fmt: skip
    yield (
        "200 rows of sin(x) / x with noise of 0.1, all with C = 10, gamma = 0.2, epsilon = 0.05, the error against the "
        "curve without noise; and Boston housing in thousands of dollars, C and gamma by five folds on each training "
        "part.\n"
    )
    yield from table(
        ["rows", "machine", "vectors", "root mean square error", "seconds"], rows or [[NOT_RUN, *[""] * 4]]
    )
    yield "### Feature selection\n"
    yield (
        f"`ZeroNormSelector` on {SELECTION_DRAWS} draws of {SELECTION_ROWS} rows: a plane in 4 of 50 inputs (linear "
        "kernel) and a ring in 2 of 20 (RBF); errors of SVC with the same kernel on 5,000 other rows.\n"
    )
    rows = []
    for kind in ("plane", "ring"):
        found = journal.found(selection, kind=kind)
        if found is None:
            rows.append([kind, NOT_RUN, *[""] * 5])
            continue
        means = {key: float(np.mean(found[key])) for key in found if isinstance(found[key], list)}
        rows.append([kind, f"{found['useful']} of {found['inputs']}", number(means["found"]), number(means["wrongly"]),
                     number(means["error_all"]), number(means["error_kept"]), seconds(means["seconds"])])  # fmt: skip
    yield from table(
        [
            "rows",
            "inputs that matter",
            "found",
            "others kept",
            "error %, all inputs",
            "inputs kept",
            "seconds",
        ],
        rows,
    )
    yield "### Mixed: margin and zero-norm\n"
    yield (
        "Weight of the margin term, SVC beside; C = 1, sigma = 0.5; Ripley's 250 rows and 400 of two crescents. "
        "Vectors / error %.\n"
    )
    yield from two_columns(journal, mixed, [f"{margin:g}" for margin in MARGINS] + ["SVC"], "margin")
    yield "### p-norms\n"
    yield "The same rows; p = 1 is LP-SVC with an intercept that counts. Vectors / error % / rounds.\n"
    yield from two_columns(journal, norms, [f"{p:g}" for p in NORMS] + ["LP-SVC"], "p", rounds=True)


def two_columns(
    journal: Journal, work: Any, keys: list[str], name: str, *, rounds: bool = False
) -> Iterator[str]:
    found = {rows: journal.found(work, name=rows) for rows in ("ripley", "crescents")}

    def text(one: Record | None, key: str) -> str:
        if one is None:
            return NOT_RUN
        cells = [str(one[key]["vectors"]), f"{one[key]['error']:.1f}"]
        if rounds:
            cells.append(f"{one[key]['rounds']}{' (not converged)' if one[key]['unfinished'] else ''}")
        return " / ".join(cells)

    yield from table([name, *found], [[key, *(text(one, key) for one in found.values())] for key in keys])


# ---------------------------------------------------------------------------- beyond the paper


def relevance_section(journal: Journal) -> Iterator[str]:
    yield "## Relevance vector machines beside fastrvm\n"
    yield (
        "The paper's footnote and conclusion name the fast marginal likelihood of Tipping and Faul, which `RVC` is. "
        "fastrvm 0.1.5 is another implementation of it. Candidates of both: the RBF kernel on every row and a constant "
        f"column; gamma {', '.join(f'{gamma:g} ({name})' for name, gamma in WIDTHS.items())}. The marginal likelihood "
        "is Laplace's, from vectors and precisions by one formula for both; beside it what fastrvm reports itself.\n"
    )
    rows = []
    for name, n in RELEVANCE:
        ours, other = journal.found(relevance, name=name, n=n), journal.found(fastrvm, name=name, n=n)
        cells = [name, str(n)]
        if ours is None:
            cells += [NOT_RUN, "", "", ""]
        else:
            cells += [seconds(ours["seconds"]), seconds(ours["svc_seconds"]), str(ours["vectors"]),
                      f"{ours['evidence']:.2f}"]  # fmt: skip
        if other is None:
            cells += [GAVE_UP if journal.gave_up(fastrvm, name=name, n=n) else NOT_RUN, "", "", "", ""]
        else:
            cells += [seconds(other["seconds"]), str(other["vectors"]), f"{other['evidence']:.2f}",
                      f"{other['reported']:.2f}",
                      "" if ours is None else ratio(other["seconds"], ours["seconds"])]  # fmt: skip
        rows.append(cells)
    yield from table(
        ["rows", "n", "RVC, s", "`SVC.fit`, s", "vectors", "log evidence", "fastrvm, s", "vectors", "log evidence",
         "it reports", "fastrvm / RVC"],
        rows,
    )  # fmt: skip
    for kind in ("RVC", "RVR"):
        found = journal.found(many_rows, kind=kind)
        if found is None:
            yield f"{kind} on {MANY_ROWS:,} rows of two crescents: {NOT_RUN}.\n"
            continue
        yield (
            f"{kind} on {MANY_ROWS:,} rows of two crescents: {found['seconds']:.0f} s, {found['vectors']} vectors, at "
            f"most {found['gigabytes']:.2f} GiB (the kernel matrix alone would need {8 * MANY_ROWS**2 / 2**30:.1f}).\n"
        )


def density_section(journal: Journal) -> Iterator[str]:
    yield "## Equations 18 to 20: sparse kernel density\n"
    yield (
        "10,000 rows of a mixture of four Gaussians, 5,000 others held out. Bandwidth *cv* is chosen for the sparse "
        "estimate (the default), *full* for the full one, by the likelihood of rows left out. Figures are mean "
        "held-out log-likelihoods: of [`SparseKernelDensity`](../density.md), of the full estimate with the same "
        "bandwidth, and of the full one with its own best. Wanted at the full estimate's bandwidth: at most 100 "
        "vectors and a loss of at most 0.05.\n"
    )
    rows = []
    for d in (1, 2):
        own = journal.found(density, d=d, bandwidth="full", limit=None)
        for bandwidth, limit in DENSITIES:
            found = journal.found(density, d=d, bandwidth=bandwidth, limit=limit)
            cells = [str(d), bandwidth, str(limit or "-")]
            if found is None:
                rows.append([*cells, NOT_RUN, *[""] * 6])
                continue
            loss = "" if own is None else f"{own['full'] - found['sparse']:+.4f}"
            best = "" if own is None else f"{own['full']:.4f}"
            rows.append([*cells, f"{found['bandwidth']:.3f}", str(found["vectors"]), f"{found['sparse']:.4f}",
                         f"{found['full']:.4f}", best, loss, f"{found['seconds']:.1f}"])  # fmt: skip
    yield from table(
        ["inputs", "bandwidth", "at most", "h", "vectors", "sparse", "full, same h", "full, its own h", "loss",
         "seconds"],
        rows,
    )  # fmt: skip
    yield (
        f"What {FREE_VECTORS} kernels of the full estimate's bandwidth can do that may lie anywhere, fitted by "
        "expectation-maximisation from one start, to the same rows and to more of the same law (no bound, an "
        "estimate):\n"
    )
    rows = []
    for d in (1, 2):
        for n in FREE_ROWS:
            found = journal.found(free_density, d=d, n_fitted=n)
            own = journal.found(density, d=d, bandwidth="full", limit=None)
            if found is None:
                rows.append([str(d), f"{n:,}", NOT_RUN, "", ""])
                continue
            loss = "" if own is None else f"{own['full'] - found['held_out']:+.4f}"
            rows.append([str(d), f"{n:,}", f"{found['bandwidth']:.3f}", f"{found['held_out']:.4f}", loss])
    yield from table(["inputs", "rows fitted", "h", "held-out", "loss"], rows)
