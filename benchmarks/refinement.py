"""What the compiled core saves in joint refinement: the same problem in the core and by matrix products.

    python benchmarks/refinement.py      prints a table and writes results/refinement.md

Both run L-BFGS from the same start for the same number of iterations, in one thread, in turn; the time is the median of
five runs, for each evaluation of objective and gradients.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from slimsvm.datasets import make_ringnorm
from slimsvm.refinement import RbfModel, RoundedHinge, joint, refine_jointly, starts

SIZES = ((400, 8), (400, 32), (2000, 8), (2000, 64), (10_000, 128))  # rows, vectors
ITERATIONS = 30
RUNS = 5


def one(n: int, m: int) -> str:
    """A row of the table."""
    X, y = make_ringnorm(n, random_state=0)
    Y = np.where(y > 0, 1.0, -1.0)[:, None]
    weights, penalty = np.ones_like(Y), np.ones(1)
    empty = starts.constant(Y, weights, np.full(X.shape[1], np.log(0.05)))
    start: RbfModel = starts.grow(empty, X, Y, weights, RoundedHinge(), m, np.random.default_rng(0))
    seconds: dict[str, list[float]] = {"core": [], "products": []}
    for _ in range(RUNS):
        for name, limit in (("core", np.inf), ("products", 0.0)):
            joint.CORE_WORK = limit
            begin = time.perf_counter()
            refine_jointly(start, X, Y, weights, RoundedHinge(), penalty, max_iter=ITERATIONS, tol=0.0)
            seconds[name].append(time.perf_counter() - begin)
    core, products = (float(np.median(seconds[name])) / ITERATIONS * 1e3 for name in ("core", "products"))
    return f"| {n:,} | {X.shape[1]} | {m} | {core:.3f} | {products:.3f} | {products / core:.1f} |"


def main() -> None:
    """Print and store the table."""
    lines = [
        "# Joint refinement: milliseconds an iteration",
        "",
        "| rows | features | vectors | core, float64 | matrix products, float32 | ratio |",
        "|---|---|---|---|---|---|",
    ]
    with threadpool_limits(1):
        lines += [one(n, m) for n, m in SIZES]
    text = "\n".join(lines) + "\n"
    print(text)
    Path(__file__).parent.joinpath("results", "refinement.md").write_text(text)


if __name__ == "__main__":
    main()
