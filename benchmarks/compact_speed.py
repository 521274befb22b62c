"""Seconds that CompactSVC takes to fit, beside the search of an SVC by GridSearchCV.

    SLIMSVM_DATA=<directory of *.npz> python benchmarks/compact_speed.py       all, about half an hour
    python benchmarks/compact_speed.py --only digits                           no published data, a minute

CompactSVC has its defaults. The SVC is searched over 5 values of C and 5 of gamma in five folds on all training rows,
on standardised features (pixels as they are), and the best pair is fitted to all. Both have one thread (n_jobs=1) and
are called in turn, so that a slow moment of the machine hits both; the times are medians over the rounds. Records are
in results/compact_speed.jsonl, one line for a case: a case that is run again takes the place of the old one. Writes
results/compact_speed.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from compact_measure import use_one_thread
from compact_methods import fit_svc
from compact_search import SEARCH_ROWS, Job
from harness import (
    RESULTS,
    Journal,
    Record,
    Split,
    command,
    interleaved,
    need_data,
    published,
    table,
    versions,
    write_page,
)
from slimsvm import CompactSVC

N_DIGITS = 900


@dataclass(frozen=True)
class Case:
    """A set, or its first rows, and how often both are timed."""

    split: Callable[[], Split]
    rounds: int
    name: str  # of the set, by which pixels are known
    needs_data: bool = True


def digits() -> Split:
    X, y = load_digits(return_X_y=True)
    return Split(*train_test_split(X, y, train_size=N_DIGITS, random_state=0, stratify=y))


def first_rows(name: str, n: int) -> Split:
    """The first n training rows, and all test rows."""
    split = published(name)
    return split._replace(X=split.X[:n], y=split.y[:n])


CASES: dict[str, Case] = {
    "digits": Case(digits, 3, "digits", needs_data=False),
    "usps_2000": Case(partial(first_rows, "usps", 2000), 1, "usps"),
    "usps_5000": Case(partial(first_rows, "usps", 5000), 1, "usps"),
    # of more rows the search would see a sample
    "satimage": Case(partial(first_rows, "satimage", SEARCH_ROWS), 1, "satimage"),
    **{
        name: Case(partial(published, f"ida_{name}"), 5, name)
        for name in ("banana", "ringnorm", "splice", "image", "german")
    },
}


def measured(case: Case) -> Record:
    """Seconds and accuracies of both."""
    data = case.split()
    job = Job(case.name, False, *data)
    models: dict[str, Any] = {}

    def compact() -> None:
        models["compact"] = CompactSVC(random_state=0, n_jobs=1).fit(job.X, job.y)

    def svc() -> None:
        models["svc"] = fit_svc(job).model

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of pairs in the search that are then not chosen
        seconds = interleaved({"compact": compact, "svc": svc}, case.rounds, warm_up=False)
    return {
        "n": len(job.X),
        "n_features": job.n_features,
        "n_classes": len(np.unique(job.y)),
        "rounds": case.rounds,
        "seconds": seconds,
        "accuracy": {key: float(model.score(job.X_test, job.y_test)) for key, model in models.items()},
        "vectors": {"compact": int(models["compact"].n_vectors_), "svc": len(models["svc"][-1].support_)},
    }


def page(records: dict[tuple[Any, ...], Record]) -> list[str]:
    rows = []
    found = [records[name,] for name in CASES if (name,) in records]
    for line in found:
        ours, theirs = line["seconds"]["compact"], line["seconds"]["svc"]
        rows.append(
            [
                line["case"],
                f"{line['n']:,}",
                str(line["n_features"]),
                str(line["n_classes"]),
                f"{theirs:,.2f}",
                f"{ours:,.2f}",
                f"{ours / theirs:.2f}",
                f"{100 * line['accuracy']['svc']:.2f}",
                f"{100 * line['accuracy']['compact']:.2f}",
                f"{line['vectors']['svc']:,}",
                f"{line['vectors']['compact']:,}",
                str(line["rounds"]),
            ]
        )
    for title, chosen in (
        ("several classes", [line for line in found if line["n_classes"] > 2]),
        ("two classes", [line for line in found if line["n_classes"] == 2]),
    ):
        if chosen:
            ratios = [line["seconds"]["compact"] / line["seconds"]["svc"] for line in chosen]
            mean = f"{np.exp(np.mean(np.log(ratios))):.2f}"
            rows.append([f"**{title}, geometric mean**", *[""] * 5, mean, *[""] * 5])
    header = ["case", "rows", "features", "classes", "search of SVC, s", "CompactSVC, s", "ratio", "SVC, %",
              "CompactSVC, %", "vectors of SVC", "of CompactSVC", "rounds"]  # fmt: skip
    about = (
        "`python benchmarks/compact_speed.py`: CompactSVC at its defaults, and GridSearchCV of an SVC over 5 x 5 pairs "
        "in five folds with the fit of the best one; one thread, called in turn, medians. The first split of a set; "
        f"accuracies on its test rows. {versions(python=True)}."
    )
    return ["# Seconds to fit, beside a search", "", about, "", *table(header, rows)]


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("--only", nargs="*", choices=list(CASES), default=list(CASES))
    parser.add_argument("--table", action="store_true", help="write the page from the records; runs nothing")
    arguments = parser.parse_args()
    use_one_thread()
    file = RESULTS / "compact_speed.jsonl"
    journal = Journal(file, lambda line: (line["case"],))
    for name in [] if arguments.table else arguments.only:
        if CASES[name].needs_data:
            need_data("compact_speed.py")
        print(f"{name:10}", end=" ", flush=True)
        line = {"case": name, **measured(CASES[name])}
        journal.add(line)
        ours, theirs = line["seconds"]["compact"], line["seconds"]["svc"]
        print(f"CompactSVC {ours:8.2f} s  search {theirs:8.2f} s  ratio {ours / theirs:.2f}", flush=True)
        write_page(file.with_suffix(".md"), page(journal.lines))
    if arguments.table:
        write_page(file.with_suffix(".md"), page(journal.lines))


if __name__ == "__main__":
    main()
