"""Time and memory of selecting 1000 of many rows, by each rule of EmpiricalSVC.

    python benchmarks/selection.py

Each measurement runs in a process of its own. What is printed is kept in benchmarks/results/selection.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import numpy as np

from harness import RESULTS, Array, peak_bytes, table, timed, write_page
from slimsvm.kernels import RBF
from slimsvm.methods.empirical.cholesky import SELECTIONS
from slimsvm.problem import KernelGram

SELECTED, SELECTION_FEATURES, SELECTION_ROWS = 1000, 20, (25_000, 50_000, 100_000)


def select(X: Array, rule: str) -> int:
    """Select about `SELECTED` rows of X; how many were."""
    gram = KernelGram(RBF(1.0 / X.shape[1]), X, n_threads=1)
    limit = None if rule == "cholesky" else SELECTED
    return len(SELECTIONS[rule](gram, eta=1e-3, max_vectors=limit, rng=np.random.default_rng(0)).rows)


def selection_worker(rule: str, n: int) -> None:
    """One measurement in a process of its own, so that its peak of memory is that of the selection.

    For the rule with a threshold the rows lie close around 1000 points: it keeps one near each and goes
    through the others in vain, which is its whole work. The other rules stop at 1000 of normal rows.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, SELECTION_FEATURES))
    if rule == "cholesky":
        X = X[rng.integers(SELECTED, size=n)] + 1e-3 * rng.standard_normal(X.shape)
    select(X[:2000], rule)
    before = peak_bytes()
    kept, seconds = timed(lambda: select(X, rule))
    print(json.dumps({"kept": kept, "seconds": seconds, "mebibytes": (peak_bytes() - before) / 2**20}))


def selection_section() -> Iterator[str]:
    yield f"# Selecting {SELECTED} of n rows, d = {SELECTION_FEATURES}\n"
    yield "One thread, a process each; memory is the growth of the peak during the selection.\n"
    rows = []
    for rule in SELECTIONS:
        for n in SELECTION_ROWS:
            command = [sys.executable, __file__, rule, str(n)]
            measured = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            seconds, memory = measured["seconds"], measured["mebibytes"]
            rows.append(
                [
                    rule,
                    f"{n:,}",
                    str(measured["kept"]),
                    f"{seconds:.2f}",
                    f"{1e6 * seconds / n:.1f}",
                    f"{memory:.0f}",
                    f"{memory * 2**20 / (8.0 * n * SELECTED):.2f}",
                ]
            )
    yield from table(["rule", "n", "kept", "seconds", "µs a row", "MiB", "of 8 n m bytes"], rows)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        selection_worker(sys.argv[1], int(sys.argv[2]))
    else:
        lines = list(selection_section())
        print("\n".join(lines))
        write_page(RESULTS / "selection.md", lines)
