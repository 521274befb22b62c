"""What the compiled core saves in joint refinement, also with a learnt map, and variable projection for squared loss.

    python benchmarks/refinement.py      prints three tables and writes results/refinement.md

The core and matrix products run L-BFGS from the same start for the same number of iterations, in one thread, in turn;
the time is the median of five runs, for each evaluation of objective and gradients. With variable projection the core
gets some iterations, and the joint search as many as it needs to come as low. Times with a map are of the processor.
"""

from __future__ import annotations

import time

import numpy as np
from threadpoolctl import threadpool_limits

from harness import RESULTS, head, interleaved, write_page
from slimsvm.datasets import make_ringnorm
from slimsvm.losses import Squared
from slimsvm.refinement import RbfModel, RoundedHinge, joint, refine_jointly, starts
from slimsvm.refinement.projection import (
    Problem,
    ProjectedModel,
    Terms,
    refine_map_by_products,
    refine_map_whole,
)

SIZES = ((400, 8), (400, 32), (2000, 8), (2000, 64), (10_000, 128))  # rows, vectors
MAP_SIZES = (
    (100, 10, 4, 5, 1),
    (400, 20, 8, 8, 1),
    (400, 64, 64, 8, 10),
    (400, 64, 16, 200, 10),
    (5000, 20, 8, 200, 1),
)  # rows, features, dimensions, vectors, outputs
ITERATIONS = 30
RUNS = 5
PROJECTED_SIZES = ((500, 8), (500, 32), (4000, 8), (4000, 32))
PROJECTED, MOST_NEEDED = 50, 3000  # iterations with variable projection, and the most that are tried without


def one(n: int, m: int) -> str:
    """A row of the table."""
    X, y = make_ringnorm(n, random_state=0)
    Y = np.where(y > 0, 1.0, -1.0)[:, None]
    weights, penalty = np.ones_like(Y), np.ones(1)
    empty = starts.constant(Y, weights, np.full(X.shape[1], np.log(0.05)))
    start: RbfModel = starts.grow(empty, X, Y, weights, RoundedHinge(), m, np.random.default_rng(0))

    def refine(limit: float) -> None:
        joint.CORE_WORK = limit
        refine_jointly(start, X, Y, weights, RoundedHinge(), penalty, max_iter=ITERATIONS, tol=0.0)

    ways = {"core": lambda: refine(np.inf), "products": lambda: refine(0.0)}
    seconds = interleaved(ways, RUNS, warm_up=False)
    core, products = (seconds[name] / ITERATIONS * 1e3 for name in ways)
    return f"| {n:,} | {X.shape[1]} | {m} | {core:.3f} | {products:.3f} | {products / core:.1f} |"


def with_map(n: int, d: int, rank: int, m: int, k: int) -> str:
    """A row of the table of models behind a map."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], (n, k))
    start = ProjectedModel(
        0.5 * rng.standard_normal((rank, d)) / np.sqrt(d), 0.5 * rng.standard_normal((m, rank)),
        0.1 * rng.standard_normal((m, k)), np.zeros(k),
    )  # fmt: skip
    problem = Problem(X, np.zeros(d), Y, np.ones((n, k)), RoundedHinge(), Terms(1e-3, 1e-2))
    ways = {
        name: lambda refine=refine: refine(start, problem, max_iter=ITERATIONS, tol=0.0)
        for name, refine in (("core", refine_map_whole), ("products", refine_map_by_products))
    }
    seconds = interleaved(ways, RUNS, clock=time.process_time)
    core, products = (seconds[name] / ITERATIONS * 1e3 for name in ways)
    return f"| {n:,} | {d} | {rank} | {m} | {k} | {core:.3f} | {products:.3f} | {products / core:.1f} |"


def projected(n: int, m: int) -> str:
    """A row of the second table: a smooth function of three of six inputs, with noise."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (n, 6))
    target = np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.5 * np.square(X[:, 2]) + 0.1 * rng.standard_normal(n)
    Y = ((target - target.mean()) / target.std())[:, None]
    weights, penalty = np.ones_like(Y), np.full(1, 0.1)
    empty = starts.constant(Y, weights, np.full(X.shape[1], np.log(0.1)))
    start = starts.grow(empty, X, Y, weights, Squared(), m, rng)
    joint.CORE_WORK = np.inf

    def run(eliminate: bool, n_iter: int) -> tuple[float, float]:
        reached = []

        def refine() -> None:
            _, value, _ = refine_jointly(
                start, X, Y, weights, Squared(), penalty, widths="one", eliminate=eliminate,
                max_iter=n_iter, tol=0.0,
            )  # fmt: skip
            reached.append(value)

        seconds = interleaved({"search": refine}, RUNS, warm_up=False)["search"]
        return reached[-1], seconds

    wanted, seconds = run(True, PROJECTED)
    needed, (value, others) = PROJECTED, run(False, PROJECTED)
    while value > wanted and needed < MOST_NEEDED:
        needed = int(1.25 * needed)
        value, others = run(False, needed)
    more = "more than " if value > wanted else ""
    return (
        f"| {n:,} | {m} | {wanted:.2f} | {seconds * 1e3:.1f} | {more}{needed} | {more}{others * 1e3:.1f} | "
        f"{more}{others / seconds:.1f} |"
    )


def main() -> None:
    """Print and store the tables."""
    lines = [
        "# Joint refinement: milliseconds an iteration",
        "",
        *head("| rows | features | vectors | core, float64 | matrix products, float32 | ratio |"),
    ]
    with threadpool_limits(1):
        lines += [one(n, m) for n, m in SIZES]
        lines += [
            "",
            "# With a map that is learnt: milliseconds an iteration",
            "",
            *head(
                "| rows | features | dimensions | vectors | outputs | core | matrix products, float64 | ratio |"
            ),
            *(with_map(*size) for size in MAP_SIZES),
            "",
            f"# Variable projection: what {PROJECTED} iterations reach, and what the joint search takes for it",
            "",
            *head("| rows | vectors | objective | ms | iterations of the joint search | ms | ratio |"),
            *(projected(n, m) for n, m in PROJECTED_SIZES),
        ]
    print("\n".join(lines))
    write_page(RESULTS / "refinement.md", lines)


if __name__ == "__main__":
    main()
