"""Every table and figure of the five papers, beside the paper: runs what is missing, and writes the pages.

    python benchmarks/run_papers.py run                  all papers; Ctrl-C keeps what is done, the next run goes on
    python benchmarks/run_papers.py run iwamura xia      these
    python benchmarks/run_papers.py run --quick          a part of every table, anew, into build/papers-quick (minutes)
    python benchmarks/run_papers.py plan                 estimated hours per table
    python benchmarks/run_papers.py pages                only the pages, from what was run
    python benchmarks/run_papers.py tidy                 drops lines of the journals that no table asks for any more

What was found is kept in benchmarks/results/papers/<paper>.jsonl, the pages in docs/results. The published sets are
read from SLIMSVM_DATA. Each cell runs in a process of its own with one thread; `--jobs` says how many at once.
"""

from __future__ import annotations

import os

# before NumPy is imported, here and in the processes that are started
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import shutil
import sys
from pathlib import Path

from harness import command, need_data, table, write_page
from papers.cells import Paper, plan
from papers.pages import DOCS
from papers.workers import duration, run

PAPERS = ("iwamura", "xia", "huang", "kobayashi", "jiao")
# What all tables together may take, in hours of one core.
MOST_HOURS = 30.0
# Journals and pages of a quick run, which leaves the kept ones alone.
QUICK = Path("build") / "papers-quick"


def write(paper: Paper, folder: Path = DOCS) -> None:
    """Write the page of a paper and its pictures."""
    module = paper.module("page")
    module.draw(paper.journal, folder / "pictures")
    write_page(folder / f"{paper.name}.md", module.page(paper.journal))


def show_plan(papers: list[Paper], *, quick: bool) -> None:
    rows, total = [], 0.0
    for paper in papers:
        for line in plan(paper.journal, paper.cells(quick=quick)):
            total += line.spent + line.left
            rows.append(
                [
                    paper.name,
                    line.table,
                    f"{line.n_finished} of {line.n_cells}",
                    duration(line.spent),
                    duration(line.left),
                ]
            )
    print("\n".join(table(["paper", "table", "cells done", "took", "left"], rows)))
    print(f"{duration(total)} of one core in all, at most {MOST_HOURS:g} h wanted.")


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("what", choices=("run", "plan", "pages", "tidy"))
    parser.add_argument("papers", nargs="*", choices=[*PAPERS, []], help="these only")
    parser.add_argument("--quick", action="store_true", help="a part of every table")
    parser.add_argument("--only", help="only cells whose table, as `plan` names it, contains this text")
    parser.add_argument("--jobs", type=int, default=1, help="cells at once, a core each (1)")
    parser.add_argument("--hours", type=float, help="begin nothing that would not end within so many hours")
    options = parser.parse_args()
    folder = QUICK if options.quick and options.what == "run" else None
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)  # a quick run is a test: it runs its cells anew
    papers = [Paper.of(name, folder) for name in options.papers or PAPERS]
    if options.what != "pages":
        need_data("run_papers.py")
    if options.what == "plan":
        show_plan(papers, quick=options.quick)
    elif options.what == "tidy":
        for paper in papers:
            print(f"{paper.name}: {paper.journal.tidy(paper.cells())} lines dropped")
    elif options.what == "pages":
        for paper in papers:
            write(paper)
    else:
        pages = folder or DOCS
        done = run(
            papers,
            n_jobs=options.jobs,
            quick=options.quick,
            only=options.only or "",
            hours=options.hours,
            after=lambda paper: write(paper, pages),
        )
        print(
            f"{done.finished} cells finished, {done.given_up} given up, {done.failed} failed, "
            f"{done.not_begun} not begun"
        )
        sys.exit(1 if done.failed else 0)


if __name__ == "__main__":
    main()
