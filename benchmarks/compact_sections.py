"""Sections of the page of benchmarks/compact.py about one question each."""

from __future__ import annotations

import numpy as np

from compact_methods import METHODS, in_bytes
from compact_records import by_method, number_or_dash, together, values, with_error
from compact_sets import (
    BUDGETS,
    COVTYPE_ROWS,
    MAX_REGRESSION_ROWS,
    MAX_VECTORS,
    N_FEATURES,
    N_RELEVANT,
    REGRESSION,
    RELEVANT_ALONE,
    RELEVANT_AMONG_MANY,
    SETS,
    THREADS,
)
from harness import Record, table

REGRESSORS = ("compact", "svc", "lightgbm", "lightgbm_searched")


def section(title: str, words: str, lines: list[str]) -> list[str]:
    return [f"## {title}", "", words, "", *lines]


def in_so_many_bytes(records: list[Record]) -> list[str]:
    """CompactSVC with a limit in bytes, a row for each set and limit."""
    rows = []
    for n_bytes, names in BUDGETS.items():
        for name in names:
            for line in by_method(records, name).get(in_bytes(n_bytes), []):
                rows.append(
                    [
                        name,
                        f"{n_bytes:,}",
                        line["number"],
                        f"{100.0 * line['accuracy']:.2f}",
                        f"{line['bytes_int8']:,}",
                        f"{line['vectors']:,}",
                        "-" if line["rank"] is None else str(line["rank"]),
                        f"{line['fit_seconds']:,.1f}",
                    ]
                )
    if not rows:
        return []
    threads = sorted({line["threads"] for line in records if "threads" in line})
    words = (
        '`CompactSVC(max_bytes=..., number="int8", random_state=0)`; the accuracy is that of the model in int8. '
        f"Fitted in {' or '.join(map(str, threads))} threads."
    )
    columns = ["set", "max_bytes", "number", "accuracy, %", "bytes", "vectors", "rank", "fit, s"]
    return section("In so many bytes", words, table(columns, rows))


def many_rows(records: list[Record]) -> list[str]:
    """The set with most rows, and the memory that it took."""
    name = "covtype_2"
    rows = []
    for key, found in by_method(records, name).items():
        for line in found:
            rows.append(
                [
                    METHODS[key].label(),
                    f"{100.0 * line['accuracy']:.2f}",
                    f"{line['vectors']:,}" if line["vectors"] else "-",
                    f"{line['fit_seconds']:,.0f}",
                    f"{line['peak_bytes'] / 2**20:,.0f}",
                    f"{line['peak_bytes_before'] / 2**20:,.0f}",
                ]
            )
    if not rows:
        return []
    words = (
        f"covtype, two classes: {SETS[name].note}. max_vectors={MAX_VECTORS[name]}, {THREADS[name]} threads. Memory is "
        "the most that the process had, and the most it had before the fit, when it had read "
        f"and split all rows; the {COVTYPE_ROWS:,} training rows are part of both."
    )
    columns = ["method", "accuracy, %", "vectors", "fit, s", "peak memory, MiB", "before the fit, MiB"]
    return section("Many rows", words, table(columns, rows))


def regression(records: list[Record]) -> list[str]:
    """CompactSVR beside the others, a row for each set, and the means over the sets that all have."""
    rows, gathered = [], []
    for name in REGRESSION:
        methods = by_method(records, name)
        if "compact" not in methods:
            continue
        numbers = _regression_numbers(methods)
        gathered.append(numbers)
        rows.append([name.removeprefix("reg_"), *_regression_cells(numbers), str(len(methods["compact"]))])
    if not rows:
        return []
    complete = [numbers for numbers in gathered if not np.isnan(numbers).any()]
    if complete:
        title = f"**mean of {len(complete)}**"
        rows.append([title, *_regression_cells(np.mean(complete, axis=0)), ""])
    words = (
        f"At most {MAX_REGRESSION_ROWS:,} training rows. The SVR is searched over C, gamma and epsilon by five folds, "
        "on standardised features and targets. Fit times include the search. The means are over the sets on which all "
        "four ran."
    )
    names = [METHODS[key].label(True) for key in REGRESSORS]
    columns = ["set", *(f"R², {name}" for name in names), "vectors of CompactSVR", "of SVR",
               *(f"fit s, {name}" for name in names), "splits"]  # fmt: skip
    return section("The ten sets for regression", words, table(columns, rows))


def _regression_numbers(methods: dict[str, list[Record]]) -> np.ndarray:
    """R² of each, vectors of the first two, seconds of each; nan where it did not run."""

    def mean(method: str, key: str) -> float:
        # on the splits of CompactSVR
        found = together(methods.get(method, []), methods["compact"])[0]
        return float(values(found, key).mean()) if found else np.nan

    return np.array(
        [
            *(mean(method, "r2") for method in REGRESSORS),
            *(mean(method, "vectors") for method in REGRESSORS[:2]),
            *(mean(method, "fit_seconds") for method in REGRESSORS),
        ]
    )


def _regression_cells(numbers: np.ndarray) -> list[str]:
    digits = [4] * len(REGRESSORS) + [1, 1] + [2] * len(REGRESSORS)
    return [number_or_dash(x, n) for x, n in zip(numbers, digits, strict=True)]


def relevant_features(records: list[Record]) -> list[str]:
    """CompactSVR with many features that do not matter, and without them."""
    rows = []
    for name, given in ((RELEVANT_AMONG_MANY, N_FEATURES), (RELEVANT_ALONE, N_RELEVANT)):
        found = by_method(records, name).get("compact", [])
        if found:
            cells = [with_error(values(found, "r2"), 4), f"{values(found, 'vectors').mean():.1f}"]
            seconds = f"{values(found, 'fit_seconds').mean():.2f}"
            rows.append([f"{given}", *cells, seconds, str(len(found))])
    if not rows:
        return []
    drawn = SETS[RELEVANT_AMONG_MANY].note.partition(";")[0]
    words = f"CompactSVR, {drawn}: with all of them, and with the {N_RELEVANT} alone."
    columns = ["features given", "R²", "vectors", "fit, s", "draws"]
    return section("Few features that matter among many", words, table(columns, rows))
