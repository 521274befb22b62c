"""The page of benchmarks/scale.py: tables, growth with the number of rows, and what a billion rows would take."""

from __future__ import annotations

import math

import numpy as np

from harness import Journal, Record, table, versions
from scale_measures import (
    CHUNK,
    COVTYPE_TRAINING,
    COVTYPE_VECTORS,
    MOST_VECTORS,
    N_FEATURES,
    N_PARTS,
    N_TEST,
    REDUCED_ROWS,
    ROWS,
    STREAMS,
    THREADS,
)
from slimsvm.methods.compact.stream import REPLAYED
from slimsvm.threads import n_threads

# The cluster of the extrapolation: rows, machines, cores of each, and bytes a second between two machines.
ALL_ROWS, MACHINES, CORES, BANDWIDTH = 10**9, 100, 2, 1.25e9


def page(journal: Journal) -> list[str]:
    lines = list(journal.lines.values())
    return [
        "# Beyond memory: time, memory and accuracy against the number of rows\n",
        f"Written by `benchmarks/scale.py` from `scale.jsonl`. {versions(python=True)}, {THREADS} threads of "
        f"{n_threads(-1)}. A row is a process of its own; memory is the most it has had, Python and NumPy included "
        "(about 0.2 GB). Seconds are by the clock; those of the processor, all threads and workers added up, do not "
        "depend on what else the machine did.\n",
        *_generated([line for line in lines if line["group"] == "generated"]),
        *_published([line for line in lines if line["group"] == "published"]),
        *_growth(lines),
        *_everyone([line for line in lines if line["group"] == "everyone"]),
        *_streams([line for line in lines if line["group"] == "stream"]),
        *_extrapolated(journal, [line for line in lines if line["group"] == "passes"]),
    ]


def figures(line: Record) -> list[str]:
    processor = line.get("processor_seconds")
    return [
        f"{line['seconds']:.1f}", "-" if processor is None else f"{processor:.1f}",
        _gigabytes(line["peak_bytes"]), f"{line['accuracy']:.2%}", str(line["vectors"] or "-"),
    ]  # fmt: skip


FIGURES = ["seconds", "of the processor", "memory", "accuracy", "vectors"]


def _gigabytes(size: float | None) -> str:
    return "" if size is None else f"{size / 1e9:.2f} GB"


def exponent(lines: list[Record]) -> str:
    """How time grows with the number of rows: the slope of a line through the logarithms."""
    # of the processor where two or more have it: the clock of a busy machine says nothing
    measured = [line for line in lines if "processor_seconds" in line]
    key = "processor_seconds" if len(measured) > 1 else "seconds"
    lines = measured if len(measured) > 1 else lines
    if len(lines) < 2:
        return "-"
    n, seconds = (np.log([line[name] for line in lines]) for name in ("rows", key))
    return f"{np.polyfit(n, seconds, 1)[0]:.2f}"


def _generated(lines: list[Record]) -> list[str]:
    rows = []
    for method in dict.fromkeys(line["what"] for line in lines):
        its = sorted((line for line in lines if line["what"] == method), key=lambda line: line["rows"])
        for line in its:
            last = exponent(its) if line is its[-1] else ""
            rows.append([method, f"{line['rows']:,}", *figures(line), last])
    return [
        "## Generated rows from disk\n",
        f"{N_FEATURES} features in float32, one label in twenty wrong; the slimsvm methods read the file in chunks of "
        f"{CHUNK:,} rows for each pass, with at most {MOST_VECTORS} vectors; the peers have all rows in memory. The "
        "exponent is that of the time as a power of the number of rows, over the rows that have seconds of the "
        "processor where there are two or more. `CompactSVC` chooses its number of vectors, "
        "unless it has a limit that binds.\n",
        *table(["method", "rows", *FIGURES, "exponent"], rows),
    ]


def _published(lines: list[Record]) -> list[str]:
    return [
        "## Published sets\n",
        f"`CompactSVC` with at most {MOST_VECTORS} vectors ({COVTYPE_VECTORS} on covtype: 500,000 rows, two classes "
        "and seven) from memory, from a mapped file, and on Dask with so many workers of one thread; peers with their "
        "defaults (SVC: C=10 on standardised columns).\n",
        *table(["set, way", *FIGURES], [[line["what"], *figures(line)] for line in lines]),
    ]


def _growth(lines: list[Record]) -> list[str]:
    whole = [line for line in lines if line["what"] == "covtype_2, mapped"]
    lines = sorted((line for line in lines if line["group"] == "growth"), key=lambda line: line["rows"])
    if not lines:
        return []
    lines += [line | {"rows": COVTYPE_TRAINING} for line in whole]
    return [
        "## Time against rows at one number of vectors\n",
        f"`CompactSVC` with at most {COVTYPE_VECTORS} vectors on the first rows of covtype's training part, two "
        f"classes, from memory, and on all {COVTYPE_TRAINING:,} from a mapped file, which takes the same way; accuracy "
        "on the same test part. Processor seconds grow with the exponent "
        f"{exponent(lines)} of the number of rows. The dimensions of the projection are chosen anew each time, so "
        "these are not models of one shape.\n",
        *table(["rows", *FIGURES], [[f"{line['rows']:,}", *figures(line)] for line in lines]),
    ]


def _everyone(lines: list[Record]) -> list[str]:
    """What each estimator does with many rows: fitted, or the first words of its refusal."""
    rows = []
    for line in lines:
        name, parameters = line["what"].removesuffix(")").split("(", 1)
        end, _, words = line["end"].partition(": ")
        words = words.removeprefix(f"{name}: ").split("; ")[0]
        score = f"{line['score']:.3f}" if "score" in line else "-"
        rows.append(
            [
                f"`{name}`", f"`{parameters}`" if parameters else "", f"{end}: {words}" if words else end,
                f"{line['processor_seconds']:.1f}", _gigabytes(line["peak_bytes"]),
                *((score, str(line["vectors"] or "-")) if not words else ("-", "-")),
            ]
        )  # fmt: skip
    return [
        f"## Every estimator on {ROWS:,} rows\n",
        f"The generated rows from memory, in one thread: with default parameters, and with what a refusal or "
        f"announcement advises. A fit that likely takes more than ten minutes announces that by a `LongFitWarning`, "
        f"and was not waited for. Regressors learn the labels as numbers. `Reduced` is around an `SVC`; `reduce` is "
        f"given an `SVC` of {REDUCED_ROWS:,} of the rows. The score is R² or the share of {N_TEST:,} other rows that "
        f"are right.\n",
        *table(
            [
                "estimator",
                "parameters",
                "what came of it",
                "seconds of the processor",
                "memory",
                "score",
                "vectors",
            ],
            rows,
        ),
    ]


def _streams(lines: list[Record]) -> list[str]:
    whole = {line["what"].split(",")[0]: line for line in lines if line["what"].endswith("whole")}
    rows = []
    for line in lines:
        name, order = line["what"].split(", ")
        beside = ""
        if order != "whole" and name in whole:
            beside = f"{100 * (line['accuracy'] - whole[name]['accuracy']):+.2f}"
        grown = "" if order == "whole" else f"x {line.get('grown', 2.0):g}"
        rows.append([line["what"], grown, *figures(line), beside, _gigabytes(line.get("peak_after_half"))])
    budgets = ", ".join(f"{name} {most}" for name, most in STREAMS.items())
    return [
        f"## partial_fit, {N_PARTS} parts\n",
        f"The most vectors: {budgets}. `whole` is a fit on all rows; points beside it. The model is searched for anew "
        "each time the rows have grown so many times. Memory "
        f"grows until the sample is full, with {REPLAYED.rows:,} rows or {REPLAYED.bytes / 2**20:g} MiB.\n",
        *table(["set, order", "searched at", *FIGURES, "points", "memory after half"], rows),
    ]


# ---------------------------------------------------------------------------- a billion rows


def _extrapolated(journal: Journal, lines: list[Record]) -> list[str]:
    """What the parts of a fit in chunks would take on a cluster, from what they take here."""
    tasks = journal.lines.get(("tasks", "Dask", 0))
    if not lines or tasks is None:
        return []
    n_blocks, each = ALL_ROWS // CHUNK, tasks["seconds_a_block"]
    crossing = math.ceil(math.log2(MACHINES * CORES))
    measured, expected = [], []
    for line in lines:
        total = 0.0
        kinds = dict.fromkeys(one["what"] for one in line["passes"])
        for kind in kinds:
            its = [one for one in line["passes"] if one["what"] == kind]
            a_row = sum(one["block_seconds"] for one in its) / sum(one["rows"] for one in its)
            a_merge = sum(one["merge_seconds"] for one in its) / max(1, sum(one["merges"] for one in its))
            largest = max(one["largest"] for one in its)
            to_block = max(one["sent_to_block"] for one in its)
            measured.append(
                [
                    line["what"], kind, str(len(its)), f"{1e9 * a_row:.0f} ns", f"{1e3 * a_merge:.1f} ms",
                    _bytes(to_block), _bytes(largest),
                ]
            )  # fmt: skip
            computing = a_row * ALL_ROWS / (MACHINES * CORES)
            merging = crossing * (a_merge + largest / BANDWIDTH)
            total += len(its) * (max(computing, n_blocks * each) + merging)
        inside = sum(one["block_seconds"] + one["merge_seconds"] for one in line["passes"])
        sample = max(0.0, line["processor_seconds"] - inside)
        expected.append(
            [line["what"], str(len(line["passes"])), f"{total / 60:.1f} min", f"{sample / 60:.1f} min",
             f"{(total + sample) / 60:.1f} min"]
        )  # fmt: skip
    return [
        "## A billion rows on a hundred machines: extrapolated\n",
        f"Nothing here was run on a cluster. Measured on this machine with {lines[0]['rows']:,} generated rows, a "
        f"block being {CHUNK:,} rows of {N_FEATURES} features: what each pass takes for a row, what a merge of two "
        "results takes, the bytes of what is sent to a block (model and function) and of the largest merged result; "
        "and the processor seconds of Dask's client and scheduler where the tasks do nothing, "
        f"{1e3 * each:.2f} ms for each block and its merge.\n",
        *table(
            ["method", "pass", "passes", "a row", "a merge", "sent to a block", "largest result"], measured
        ),
        f"From that, {ALL_ROWS:,} rows on {MACHINES} machines of {CORES} such cores, {n_blocks:,} blocks that stay in "
        f"memory, {BANDWIDTH / 1e9:g} GB/s between machines: a pass takes the longer of its computing, spread over all "
        f"cores, and Dask's own {n_blocks:,} tasks, and {crossing} merges that cross machines. The sample is then "
        "fitted on one core of one machine, which does not grow with the number of rows.\n",
        *table(["method", "passes", "passes take", "the sample takes", "together"], expected),
        "What the figures leave out: reading the blocks from disk the first time, machines of different speed, and "
        "workers that are lost (their blocks are read and computed again).\n",
    ]


def _bytes(size: float) -> str:
    for unit, factor in (("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size:.0f} B"
