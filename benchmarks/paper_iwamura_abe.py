"""Iwamura and Abe (2008), Tables II to XIII and Figures 1 and 2: the paper beside slimsvm.

    SLIMSVM_DATA=... python benchmarks/paper_iwamura_abe.py            at the paper's hyper-parameters
    SLIMSVM_DATA=... python benchmarks/paper_iwamura_abe.py --search   at those its cross-validation finds

The set-up is the paper's where its text says it: inputs scaled to [0, 1] by the training part, C, gamma and
eta of Tables II, III and X. Its numbers of vectors tell two things that the text does not: gamma is divided
by the number of inputs, and the Cholesky rule sees the rows of label -1 first. (With the rows in the order of
the published files, `--row-order file`, it keeps 3 % fewer than the paper on average, 8 % on ringnorm.)

The search is the paper's (section V.A): five folds on each of the first five training parts. For each gamma,
the best C of each part, the smallest of equals; the gamma of highest mean rate; the median of its five C.
Then eta and C of the sparse machine in the same way at that gamma, and C alone for linear kernels. How the
folds were drawn is not said: here they are stratified and shuffled with a fixed seed.

All times are of one thread: OPENBLAS_NUM_THREADS=1 is set before NumPy is imported. The paper's figures are in
iwamura_abe_tables.py, what is fitted in iwamura_abe_machines.py, the tables in iwamura_abe_report.py, the selection on
many rows in iwamura_abe_selection.py.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import argparse
import platform
import sys
from collections.abc import Iterator

import iwamura_abe_tables as paper
from harness import RESULTS, need_data, pyplot, table, versions, write_page, write_picture
from iwamura_abe_machines import Parameters, Realisations, measure, run, search, sparse
from iwamura_abe_report import fit_times, summary, tables
from iwamura_abe_selection import selection_section


def figures(row_order: str) -> Iterator[str]:
    """Figures 1 and 2: recognition rate and number of vectors against eta, first realisation."""
    for count, (name, loss, p) in enumerate(
        (
            ("banana", "hinge", paper.TABLE_III["banana"]),
            ("waveform", "squared_hinge", paper.TABLE_X["waveform"]),
        ),
        start=1,
    ):
        split = Realisations(name, row_order=row_order).split(0)
        runs = [run(sparse(p._replace(eta=eta), split.X.shape[1], loss), split) for eta in paper.ETA_GRID]
        figure, axis = pyplot().subplots(figsize=(6, 3.6), layout="constrained")
        axis.semilogx(paper.ETA_GRID, [r.accuracy for r in runs], "o-", color="tab:blue")
        axis.set(xlabel="eta", ylim=(50, 100), title=f"{name}, {loss.replace('_', ' ')}, C={p.C_sparse:g}")
        axis.set_ylabel("recognition rate of the test part (%)", color="tab:blue")
        axis.invert_xaxis()
        vectors = axis.twinx()
        vectors.semilogx(paper.ETA_GRID, [r.n_vectors for r in runs], "s--", color="tab:red")
        vectors.set_ylim(bottom=0)
        vectors.set_ylabel("vectors", color="tab:red")
        file = f"iwamura_abe_figure{count}.png"
        write_picture(figure, RESULTS / file, 120)
        yield f"## Figure {count}: {name}, {loss.replace('_', ' ')}, against eta\n"
        yield from table(
            ["eta", *(f"{eta:g}" for eta in paper.ETA_GRID)],
            [
                ["recognition rate", *(f"{r.accuracy:.1f}" for r in runs)],
                ["vectors", *(str(r.n_vectors) for r in runs)],
            ],
        )
        yield f"![Figure {count}]({file})\n"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Iwamura and Abe (2008): the paper beside slimsvm.")
    parser.add_argument("--search", action="store_true", help="find the hyper-parameters by cross-validation")
    parser.add_argument(
        "--sets", nargs="+", choices=list(paper.TABLE_I), help="only these; nothing is written"
    )
    parser.add_argument("--splits", type=int, default=20, help="at most this many splits of each file (20)")
    parser.add_argument("--full", action="store_true", help="all splits of the files")
    parser.add_argument(
        "--draw", action="store_true", help="fill up with random splits to the paper's 100 or 20 realisations"
    )
    parser.add_argument("--row-order", choices=("class", "file"), default="class")
    return parser.parse_args()


def number_of_splits(options: argparse.Namespace, realisations: Realisations) -> int:
    if options.draw:
        return paper.TABLE_I[realisations.name].realisations
    return realisations.n_stored if options.full else min(options.splits, realisations.n_stored)


def report(options: argparse.Namespace) -> Iterator[str]:
    mode = "found by the paper's cross-validation" if options.search else "of the paper"
    yield f"# Iwamura and Abe (2008), hyper-parameters {mode}\n"
    yield (
        f"{versions(python=True)}, {platform.machine()}, one thread (OPENBLAS_NUM_THREADS=1). Inputs scaled to "
        f"[0, 1] by the training part, gamma divided by the number of inputs, rows ordered by {options.row_order}.\n"
    )
    results = {}
    for name in options.sets or paper.TABLE_I:
        realisations = Realisations(name, row_order=options.row_order)
        parameters = search(realisations) if options.search else Parameters.of_paper(name)
        results[name] = measure(realisations, parameters, number_of_splits(options, realisations))
        print(f"{name}: {results[name].n_splits} splits done", file=sys.stderr)
    yield from table(
        ["set", "splits", "of them published realisations", "in the paper"],
        [
            [name, str(r.n_splits), str(r.n_published), str(paper.TABLE_I[name].realisations)]
            for name, r in results.items()
        ],
    )
    yield from summary(results)
    yield from fit_times(results)
    yield from tables(results, options.search)
    if not options.sets:
        yield from figures(options.row_order)
        yield from selection_section()


def main() -> None:
    options = arguments()
    need_data("paper_iwamura_abe.py")
    lines = []
    for line in report(options):
        print(line, flush=True)
        lines.append(line)
    if not options.sets:
        name = "iwamura_abe_search.md" if options.search else "iwamura_abe.md"
        write_page(RESULTS / name, lines)


if __name__ == "__main__":
    main()
