"""The one-norm machine: our simplex method beside HiGHS, which solves any linear program.

    python benchmarks/one_norm.py      prints a table and writes results/one_norm.md

Both solve the same problem (`LPSVC` with an intercept) to its optimum, HiGHS with columns added as they are needed. In
one thread, in turn; the time is the median of three, of the processor.
"""

from __future__ import annotations

import time

import numpy as np

from harness import RESULTS, interleaved, row, table, versions, write_page
from slimsvm.datasets import make_banana, make_ringnorm, make_waveform
from slimsvm.kernels import RBF
from slimsvm.solvers.linear_program import _by_programs, _by_simplex

RUNS = 3
MAKERS = {"banana": make_banana, "waveform": make_waveform, "ringnorm": make_ringnorm}
# gamma times the number of inputs, and C: wide to narrow, soft to hard
SETTINGS = ((0.1, 10.0), (0.5, 1.0), (0.5, 5.0), (2.0, 1.0))
ROWS = (400, 1500)
TOL = 1e-6


def one(name: str, n: int, width: float, C: float) -> list[str]:
    """A row of the table."""
    X, y = MAKERS[name](n, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    labels = np.where(y == y.max(), 1.0, -1.0)
    B = labels[:, None] * RBF(width / X.shape[1])(X, X)
    problem = B, np.ones(n), np.full(n, C), labels, TOL, None
    found = {}

    def solve(way: str) -> None:
        found[way] = (_by_simplex if way == "ours" else _by_programs)(*problem)

    ways = {way: (lambda way=way: solve(way)) for way in ("ours", "HiGHS")}
    seconds = interleaved(ways, RUNS, warm_up=False, clock=time.process_time)
    ours, theirs = found["ours"], found["HiGHS"]
    return [
        name, f"{n:,}", f"{width:g}", f"{C:g}", str(np.count_nonzero(ours.alpha)), str(ours.n_iter),
        f"{seconds['ours'] * 1e3:.1f}", f"{seconds['HiGHS'] * 1e3:.1f}", f"{seconds['HiGHS'] / seconds['ours']:.0f}",
        f"{max(ours.gap, theirs.gap):.0e}",
    ]  # fmt: skip


def main() -> None:
    columns = [
        "data", "rows", "gamma x inputs", "C", "vectors", "steps", "ours, ms", "HiGHS, ms", "ratio", "larger gap",
    ]  # fmt: skip
    rows = []
    for name in MAKERS:
        for n in ROWS:
            for width, C in SETTINGS:
                rows.append(one(name, n, width, C))
                print(row(rows[-1]), flush=True)
    mean = np.exp(np.mean([np.log(float(cells[8])) for cells in rows]))
    lines = [
        "# The one-norm machine: a simplex method that knows the hinge",
        "",
        f"Written by `benchmarks/one_norm.py`. {versions(python=True)}.",
        "",
        "The problem of `LPSVC` with an intercept, solved by `one_norm` of the compiled core and by HiGHS with column "
        "generation, to the same optimum (the larger of the two duality gaps stands last). Milliseconds of the "
        "processor, one thread, in turn, the median of three.",
        "",
        *table(columns, rows),
        f"HiGHS takes {mean:.0f} times as long in the geometric mean.",
    ]
    write_page(RESULTS / "one_norm.md", lines)


if __name__ == "__main__":
    main()
