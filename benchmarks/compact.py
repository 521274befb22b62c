"""CompactSVC and CompactSVR at their defaults, beside machines with a search, on all the sets.

    python benchmarks/compact.py                          everything: the 13 IDA sets in minutes each, all in hours
    python benchmarks/compact.py --sets ida --splits 3     the 13 IDA sets, three splits
    python benchmarks/compact.py --sets usps mnist --methods compact svc
    python benchmarks/compact.py --sets again --splits 30 --methods compact svc   the 13 sets split again at random
    python benchmarks/compact.py --sets regression relevant --splits 3 --methods compact svc lightgbm lightgbm_searched
    python benchmarks/compact.py --sets budgets --methods in_64k in_24k in_20k in_16k in_12k    in so many bytes
    python benchmarks/compact.py --sets covtype_2          half a million rows, in a process of its own
    python benchmarks/compact.py --table --pictures       results/compact.md and results/compact/* from the records

Records are appended to results/compact.jsonl, one line for a set, method and split; what is there is not run again
unless --fresh says so. Data are looked for in SLIMSVM_DATA. `pip install 'slimsvm[bench]'` installs the peers; one that
is missing is left out, and the script says so.

Everything runs in one thread, but for CompactSVC on MNIST, on covtype_2 and in so many bytes (two). Each machine with C
and gamma is searched by GridSearchCV over 5 values of each and five folds, on standardised features, an SVR also over 3
values of epsilon, on standardised targets; on more than 5000 rows (of regression sets 2000) the search sees 2000 of
them and the best setting is fitted to all. Seconds to fit include the search. ZeroNormSVC and fastrvm, whose searches
take longest, get the width of the searched SVC (and its seconds). CompactSVC gets the training rows as they are and no
parameter, but for a limit of its vectors on five large sets; on three small ones it is run with a limit too
("limited"). Nystroem gets as many vectors as CompactSVC took on the same split.

LightGBM is searched over num_leaves (7, 31, 127), learning_rate (0.03, 0.1) and min_child_samples (5, 20), each with as
many rounds, up to 1000, as have the least loss on held-out rows (early stopping after 30 rounds): five folds, on more
than 5000 rows a fifth of them, and of more than 10,000 rows the search sees 10,000. The setting with the least error on
the held-out rows is fitted to all. The MLP has one hidden layer with as many units as give it as many numbers as
CompactSVC has on the same split; alpha (1e-4, 1e-2, 1) and one of three starts of L-BFGS are chosen on a fifth of the
rows, and fitted to all; on more than 5000 rows it is alpha alone, and 20,000 steps of Adam.

Predictions a second are a throughput of `predict`, scaling and input checks included: test parts of fewer than 20,000
rows (the smallest has 75) are repeated to 20,000, the same rows for every method, and the calls are repeated for 0.3
seconds. The time of one row is the median of single calls.
"""

from __future__ import annotations

import time
from pathlib import Path

import compact_pictures
import compact_report
from compact_measure import measure, measure_alone, use_one_thread
from compact_methods import METHODS
from compact_records import records_in
from compact_search import Job
from compact_sets import BUDGETS, IDA, IDA_AGAIN, MAIN, REGRESSION, RELEVANT_ALONE, RELEVANT_AMONG_MANY, SETS
from harness import RESULTS, command, in_child, write_page

N_SPLITS = 10
GROUPS = {
    "ida": IDA,
    "again": IDA_AGAIN,
    "regression": REGRESSION,
    "relevant": [RELEVANT_AMONG_MANY, RELEVANT_ALONE],
    "budgets": list(dict.fromkeys(name for names in BUDGETS.values() for name in names)),
    "classification": [name for name in MAIN if not SETS[name].regression],
}


def run_split(name: str, split: int, methods: list[str], records: Path, fresh: bool) -> None:
    journal = records_in(records)  # read again for each split: others may have added to it
    here = [line for line in journal.lines.values() if (line["set"], line["split"]) == (name, split)]
    known = {line["method"]: line for line in here}
    data = SETS[name]
    wanted = [
        key
        for key in METHODS
        if key in methods and key in (data.methods or METHODS) and (fresh or key not in known)
    ]
    if not wanted:
        return
    # where the memory counts, this process stays small: its own peak would be the least that a child reports
    job = None if data.alone else Job(name, data.regression, *data.split(split), known=known)
    for key in wanted:
        if job is not None and not METHODS[key].takes(job):
            continue
        print(f"{name:18} split {split:2d}  {key:10}", end=" ", flush=True)
        start = time.perf_counter()
        try:
            if job is None:
                record = in_child(measure_alone, name, split, key, known)
            else:
                record = measure(job, METHODS[key])
        except ImportError as error:
            print(f"left out: {error}", flush=True)
            continue
        except (ArithmeticError, MemoryError, RuntimeError, ValueError) as error:
            # a peer that fails on a set is a result too; it is tried again in the next run
            print(f"failed: {type(error).__name__}: {error}", flush=True)
            continue
        record = {"set": name, "method": key, "split": split, **record}
        journal.add(record)
        known[key] = record
        score = record.get("accuracy", record.get("r2"))
        print(
            f"{score:.4f}  {record['vectors'] or '-':>6} vectors  {record['bytes_float32']:9,d} bytes  "
            f"{record['fit_seconds']:8.2f} s to fit  {record['rows_per_second']:12,.0f} rows/s  "
            f"({time.perf_counter() - start:.0f} s)",
            flush=True,
        )


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("--sets", nargs="*", choices=[*SETS, *GROUPS], help="these sets, or groups of them")
    parser.add_argument("--methods", nargs="*", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--splits", type=int, default=N_SPLITS, help="at most so many splits of each set")
    parser.add_argument("--fresh", action="store_true", help="run again what has been run")
    parser.add_argument("--table", action="store_true", help="write the tables; runs nothing unless --sets")
    parser.add_argument("--pictures", action="store_true", help="draw a picture of each set; likewise")
    parser.add_argument(
        "--records", type=Path, default=RESULTS / "compact.jsonl", help="another file of records; tables and "
        "pictures go beside it",
    )  # fmt: skip
    arguments = parser.parse_args()
    records: Path = arguments.records
    if arguments.sets is not None or not (arguments.table or arguments.pictures):
        use_one_thread()
        chosen = arguments.sets or MAIN
        names = dict.fromkeys(name for key in chosen for name in GROUPS.get(key, [key]))
        for name in names:
            for split in range(min(arguments.splits, SETS[name].n_splits)):
                run_split(name, split, arguments.methods, records, arguments.fresh)
    found = list(records_in(records).lines.values())
    if arguments.table:
        write_page(records.with_suffix(".md"), compact_report.tables(found))
    if arguments.pictures:
        compact_pictures.draw_pictures(found, records.with_suffix(""))


if __name__ == "__main__":
    main()
