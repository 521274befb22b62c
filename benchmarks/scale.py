"""Time, memory and accuracy as the number of rows grows: in chunks from disk, and on Dask.

    SLIMSVM_DATA=<directory of *.npz> python benchmarks/scale.py            what results/scale.jsonl lacks (an hour)
    python benchmarks/scale.py --only generated --most 1000000              the generated set up to a million rows
    python benchmarks/scale.py --page                                       only the page, from what was run

Each measurement runs in a process of its own, whose peak memory is recorded. The generated set (20 features in float32,
two classes, one label in twenty wrong) is written to build/scale as a .npy file in chunks, and read again in chunks for
every pass. Records are in results/scale.jsonl; writes results/scale.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from harness import RESULTS, Journal, command, in_child, need_data, write_page
from scale_measures import (
    EVERYONE,
    LIMITED,
    ONE_SIZE,
    ROWS,
    STREAMS,
    dask_tasks,
    everyone,
    in_chunks,
    in_memory,
    passes_of,
    peer_on,
    published_set,
    some_rows,
    streamed,
)
from scale_page import figures, page

SIZES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
METHODS = ("CompactSVC", "FixedSizeLSSVC", "EmpiricalSVC", "GreedyLSSVC", "MatchingPursuitSVC")
# The most rows a peer is given: an SVC takes hours with more; ten million rows with 200 features need more memory than
# we have, and LightGBM's growth is plain by then.
MOST_ROWS = {"SVC": 30_000, "Nystroem and SGD": 3_000_000, "LightGBM": 3_000_000}
# Published sets, and the peers that are run on them.
PUBLISHED = {
    "covtype_2": ("Nystroem and SGD", "LightGBM"),
    "covtype_7": ("Nystroem and SGD", "LightGBM"),
    "ijcnn1": ("SVC", "Nystroem and SGD", "LightGBM"),
    "skin_nonskin": ("SVC", "Nystroem and SGD", "LightGBM"),
    "susy_30k": ("SVC", "Nystroem and SGD", "LightGBM"),
}
# Rows of covtype, two classes, beside all 500,000, in fits of one size.
COVTYPE_ROWS = (125_000, 250_000)
# Rows of the fits whose passes are taken apart: more than are in the sample.
PASSES_ROWS = 1_500_000


def cells(most: int) -> Iterator[tuple[str, str, int, Any]]:
    """Group, what, rows, and the function that measures it."""
    for n in (size for size in SIZES if size <= most):
        for method in (*METHODS, ONE_SIZE):
            yield "generated", method, n, partial(in_chunks, method, n)
        for method, limit in MOST_ROWS.items():
            if n <= limit:
                yield "generated", method, n, partial(in_memory, method, n)
    yield "generated", "SVC", MOST_ROWS["SVC"], partial(in_memory, "SVC", MOST_ROWS["SVC"])
    for method in METHODS:
        yield "passes", method, PASSES_ROWS, partial(passes_of, method, PASSES_ROWS)
    yield "tasks", "Dask", 0, dask_tasks
    for name in EVERYONE:
        for parameters in ({}, LIMITED.get(name)):
            if parameters is not None:
                yield "everyone", f"{name}({_written(parameters)})", ROWS, partial(everyone, name, parameters)
    for name, peers in PUBLISHED.items():
        for way in ("memory", "mapped", "dask 1", "dask 2") if name == "covtype_2" else ("memory",):
            yield "published", f"{name}, {way}", 0, partial(published_set, name, way)
        for method in peers:
            yield "published", f"{name}, {method}", 0, partial(peer_on, name, method)
    for n in COVTYPE_ROWS:
        yield "growth", "covtype_2", n, partial(some_rows, "covtype_2", n)
    for name in STREAMS:
        for order in ("whole", "shuffled", "sorted by class"):
            yield "stream", f"{name}, {order}", 0, partial(streamed, name, order)


def _written(parameters: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in parameters.items())


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("--only", default="", help="groups or names that contain this text")
    parser.add_argument("--most", type=int, default=SIZES[-1], help="the most generated rows")
    parser.add_argument("--page", action="store_true", help="only write the page")
    parser.add_argument("--again", action="store_true", help="also what is in the journal")
    options = parser.parse_args()
    journal = Journal(RESULTS / "scale.jsonl", lambda line: (line["group"], line["what"], line["rows"]))
    for group, what, rows, function in () if options.page else cells(options.most):
        known = (group, what, rows) in journal.lines and not options.again
        if options.only not in f"{group} {what} {rows}" or known:
            continue
        if group in ("published", "growth", "stream"):
            need_data("scale.py")
        line = {"group": group, "what": what, "rows": rows, **in_child(function)}
        if "seconds_a_block" in line:
            found = f"{line['seconds_a_block']:.2g} s a block"
        else:
            found = " ".join(figures(line)) if "accuracy" in line else line["end"]
        print(f"{group}, {what}, {rows:,}: {found}", flush=True)
        journal.add(line)
        write_page(RESULTS / "scale.md", page(journal))
    write_page(RESULTS / "scale.md", page(journal))


if __name__ == "__main__":
    main()
