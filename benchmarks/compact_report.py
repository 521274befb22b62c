"""The page of benchmarks/compact.py, from its records."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

import compact_sections
from compact_methods import METHODS
from compact_records import BASE, by_method, number_or_dash, ratio, together, values, with_error
from compact_sets import AGAIN, IDA, IDA_AGAIN, MAIN, MAX_VECTORS, SETS, THREADS
from harness import Record, table

# What the page says about the figures on which the rules of CompactSVC and CompactSVR were settled.
SETTLED_ON = (
    "The rules of CompactSVC were settled on other random splits of the rows of the 13 IDA sets (not the splits "
    "of this page), on digits, and on rows held out of the training parts of USPS, satimage, MNIST, ijcnn1 and "
    "covtype. Test figures of these five had been seen when it was settled with how many rows and vectors a "
    "projection races, how many passes its last training makes, from how many rows on it is the only metric, and how "
    "many vectors rows of more than 128 features may have without one. "
    "When it was settled that dimensions race once more with the number of vectors that is enough, how long the race "
    "and a small problem's last training are, and that of two shapes within a limit the smaller is taken, test figures "
    "of the first splits of nine IDA sets and of covtype had been seen, and rows held out of the training parts of "
    "boston, concrete, kin8nm, energy and higgs_7500. "
    "Else the regression sets and the generated problems of `benchmarks/phone_book.py` were looked at for no rule."
)
ABOUT = (
    "`python benchmarks/compact.py`, where it is said how the others were searched; `--table` wrote this page from "
    "`compact.jsonl`. One thread, unless two are named. Means over the splits, ± the standard error. Fit times include "
    "the search. Bytes are those of the numbers a model consists of, four for each (float32) and one (int8; "
    "for CompactSVC and other models of this library with the float32 numbers that give the integers their units), a "
    "scaler's numbers not counted; for LightGBM they are its text file. Scores are those of the models as they were "
    'fitted, but for those of "in so many bytes", whose numbers are int8. Predictions are those of `predict`, with '
    "scaling and input checks: so many a second on the test rows, repeated to 20,000 where they are fewer, and the "
    "time of one row."
)


def set_table(name: str, methods: dict[str, list[Record]]) -> list[str]:
    data = SETS[name]
    first = next(iter(methods.values()))[0]
    limit = f"; CompactSVC is limited to {MAX_VECTORS[name]} vectors" if name in MAX_VECTORS else ""
    limit += f" and fitted in {THREADS[name]} threads" if name in THREADS else ""
    lines = [
        f"## {name}",
        "",
        f"{first['n_train']} training rows, {first['n_features']} features; {data.note}{limit}.",
        "",
    ]
    scores = ["R²", "RMSE"] if data.regression else ["accuracy, %"]
    costs = ["vectors", "bytes, float32", "int8", "fit, s", "predictions a second", "µs, one row", "splits"]
    rows = []
    for key, found in methods.items():
        cells = (
            [with_error(values(found, "r2"), 4), with_error(values(found, "rmse"), 4)]
            if data.regression
            else [with_error(100.0 * values(found, "accuracy"), 2)]
        )
        rows.append(
            [
                METHODS[key].label(data.regression),
                *cells,
                number_or_dash(values(found, "vectors").mean(), 1),
                f"{values(found, 'bytes_float32').mean():,.0f}",
                number_or_dash(values(found, "bytes_int8").mean(), 0),
                f"{values(found, 'fit_seconds').mean():,.2f}",
                f"{values(found, 'rows_per_second').mean():,.0f}",
                f"{values(found, 'us_one_row').mean():,.0f}",
                str(len(found)),
            ]
        )
    return [*lines, *table(["method", *scores, *costs], rows)]


def by_set(records: list[Record], names: list[str]) -> list[str]:
    """CompactSVC beside the searched SVC, a row for each of these sets."""
    rows = []
    gathered: list[tuple[float, ...]] = []
    for name in names:
        methods = by_method(records, name)
        if "compact" not in methods or BASE not in methods:
            continue
        ours, base = together(methods["compact"], methods[BASE])
        if not ours:
            continue
        difference = 100.0 * (values(ours, "accuracy") - values(base, "accuracy"))
        numbers = (
            100.0 * values(base, "accuracy").mean(), 100.0 * values(ours, "accuracy").mean(), difference.mean(),
            values(base, "vectors").mean(), values(ours, "vectors").mean(),
            ratio(ours, base, "fit_seconds"), ratio(ours, base, "rows_per_second"),
        )  # fmt: skip
        gathered.append(numbers)
        rows.append(
            [
                name.removeprefix("ida_").removesuffix(AGAIN),
                *_summary_cells(numbers, with_error(difference, 2, "+")),
                str(len(ours)),
            ]
        )
    if not rows:
        return []
    columns = np.array(gathered)
    means = (*columns[:, :5].mean(axis=0), *np.exp(np.log(columns[:, 5:]).mean(axis=0)))
    rows.append(["**mean**", *_summary_cells(means, f"{means[2]:+.2f}"), ""])
    header = ["set", "SVC, %", "CompactSVC, %", "difference", "vectors of SVC", "of CompactSVC", "fit time / SVC's",
              "speed / SVC's", "splits"]  # fmt: skip
    return table(header, rows)


def _summary_cells(numbers: Iterable[float], difference: str) -> list[str]:
    base, ours, _, base_vectors, vectors, fit, speed = numbers
    return [
        f"{base:.2f}",
        f"{ours:.2f}",
        difference,
        f"{base_vectors:.1f}",
        f"{vectors:.1f}",
        f"{fit:.2f}",
        f"{speed:.1f} x",
    ]


def ida_by_method(records: list[Record]) -> list[str]:
    """Every method against the searched SVC, means over the sets both have."""
    rows = []
    for key, method in METHODS.items():
        found = []
        for name in IDA:
            methods = by_method(records, name)
            if key not in methods or BASE not in methods:
                continue
            ours, base = together(methods[key], methods[BASE])
            if ours:
                found.append(
                    (
                        100.0 * (values(ours, "accuracy") - values(base, "accuracy")).mean(),
                        values(ours, "vectors").mean(),
                        values(ours, "bytes_float32").mean(),
                        values(ours, "bytes_int8").mean(),
                        np.log(ratio(ours, base, "fit_seconds")),
                        np.log(ratio(ours, base, "rows_per_second")),
                    )
                )
        if found:
            gain, vectors, float32, int8, fit, speed = np.array(found).mean(axis=0)
            rows.append(
                [
                    method.label(),
                    f"{gain:+.2f}",
                    number_or_dash(vectors, 1),
                    f"{float32:,.0f}",
                    number_or_dash(int8, 0),
                    f"{np.exp(fit):.2f}",
                    f"{np.exp(speed):.1f} x",
                    str(len(found)),
                ]
            )
    header = [
        "method",
        "accuracy minus SVC's, points",
        "vectors",
        "bytes, float32",
        "int8",
        "fit time / SVC's",
        "speed / SVC's",
        "sets",
    ]
    return table(header, rows) if rows else []


def tables(records: list[Record]) -> list[str]:
    """Everything as lines of Markdown."""
    lines = ["# CompactSVC and CompactSVR beside the others", "", ABOUT, "", SETTLED_ON, ""]
    lines += ["![accuracy against bytes, all sets](compact/overview.png)", ""]
    summary = by_set(records, IDA)
    if summary:
        lines += [
            "## The 13 IDA sets",
            "",
            *summary,
            "Every method, means over the sets (ratios: geometric).",
            "",
        ]
        lines += ida_by_method(records)
    summary = by_set(records, IDA_AGAIN)
    if summary:
        lines += [
            "## The 13 IDA sets, split again",
            "",
            "All rows of each set split at random, with as many to train with: ten splits of a set of two hundred rows "
            "leave differences of a point to chance.",
            "",
            *summary,
        ]
    lines += compact_sections.in_so_many_bytes(records)
    lines += compact_sections.many_rows(records)
    lines += compact_sections.regression(records)
    lines += compact_sections.relevant_features(records)
    for name in MAIN:
        methods = by_method(records, name)
        if methods:
            lines += set_table(name, methods)
            lines += [f"![{name}: score against bytes](compact/{name}.png)", ""]
    return lines
