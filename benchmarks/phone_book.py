"""CompactSVC at its defaults beside a searched SVC, on twenty generated problems of very different kind.

    python benchmarks/phone_book.py                             every problem, in one hour or two
    python benchmarks/phone_book.py --only spirals text         these problems
    python benchmarks/phone_book.py --methods compact --fresh   again, CompactSVC only
    python benchmarks/phone_book.py --table                     results/phone_book.md from the records; runs nothing

Records are appended to results/phone_book.jsonl, one line for a problem and method; what is there is not run again
unless --fresh says so. The problems are in phone_book_problems.py, each from its own seed; test rows are drawn apart.

The SVC is searched by GridSearchCV over 5 values of C and 5 of gamma in five folds, behind a StandardScaler; CSR rows
are taken as they are (they have length one). Where that takes more than 10 minutes the search sees 5,000 rows and the
best pair is fitted once to all; more than 20,000 rows are not tried otherwise. An SVC that is not finished 20 minutes
after that, and a CompactSVC that is not after an hour, is recorded so. Each fit has a process and one thread of its
own; seconds are those of the search that was used and the fit, without the start of the process.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from compact_search import C_VALUES, GAMMA_VALUES, N_FOLDS, SEARCH_MAX_ITER
from harness import RESULTS, Journal, Record, Split, command, in_child, table, timed, versions, write_page
from phone_book_problems import PROBLEMS, draw
from slimsvm import CompactSVC

METHODS = ("svc", "compact")
# A search that takes longer is made on a sample,
SEARCH_SECONDS, SEARCH_SAMPLE = 600.0, 5000
# and at once where 125 fits of libsvm in that time are out of the question.
MOST_SEARCHED_ROWS = 20_000
# Then it is given up.
SVC_SECONDS, COMPACT_SECONDS = 1200.0, 3600.0


ABOUT = (
    "`python benchmarks/phone_book.py`, where it is said how the problems are drawn and the SVC is searched, wrote "
    "this page from `phone_book.jsonl`. Accuracies on test rows drawn apart; the difference is CompactSVC's minus the "
    "SVC's, s.e. is its standard error over the same test rows, both in points. Seconds include the search, one "
    "thread; * marks a search on 5,000 rows. A ratio is CompactSVC's time over the SVC's. The last row has the worst "
    "difference and the worst ratio, with the names of the two problems."
)


# ---------------------------------------------------------------------------- fitting, in a child process


def variance(X: Any) -> float:
    """Of all entries, as gamma="scale" takes it."""
    if sparse.issparse(X):
        return float(X.multiply(X).mean() - X.mean() ** 2)
    return float(np.var(X))


def fit_svc(data: Split, search_rows: int) -> tuple[Any, int]:
    """The searched SVC and its number of vectors; the search sees at most so many rows."""
    csr = sparse.issparse(data.X)
    scale = 1.0 / (data.X.shape[1] * (variance(data.X) if csr else 1.0))
    grid = {"svc__C": C_VALUES, "svc__gamma": [value * scale for value in GAMMA_VALUES]}
    pipeline = make_pipeline("passthrough" if csr else StandardScaler(), SVC(max_iter=SEARCH_MAX_ITER))
    X, y = data.X, data.y
    if len(y) > search_rows:
        X, _, y, _ = train_test_split(X, y, train_size=search_rows, random_state=0, stratify=y)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of pairs in the search that are then not chosen
        search = GridSearchCV(pipeline, grid, cv=folds, refit=False).fit(X, y)
    model = pipeline.set_params(**search.best_params_, svc__max_iter=-1).fit(data.X, data.y)
    return model, len(model[-1].support_)


def fit_compact(data: Split) -> tuple[Any, int]:
    model = CompactSVC(random_state=0, n_jobs=1).fit(data.X, data.y)
    return model, model.n_vectors_


def cell(name: str, method: str, search_rows: int) -> Record:
    """Fit one method to one problem, and test it."""
    threadpool_limits(1)
    data = draw(name)
    fit = fit_compact if method == "compact" else lambda data: fit_svc(data, search_rows)
    (model, vectors), seconds = timed(lambda: fit(data))
    predicted = model.predict(data.X_test)
    right = predicted == data.y_test
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class that no test row has
        balanced = balanced_accuracy_score(data.y_test, predicted)
    searched = {"search_rows": min(search_rows, len(data.y))} if method == "svc" else {}
    return {
        "seconds": seconds,
        "accuracy": float(right.mean()),
        "balanced": float(balanced),
        "vectors": int(vectors),
        "right": np.packbits(right).tobytes().hex(),  # for the error of a paired difference
        "n_test": len(right),
        **searched,
    }


# ---------------------------------------------------------------------------- running


def run_svc(name: str) -> Record:
    """With a search on all rows if it is in time, otherwise on a sample."""
    n = PROBLEMS[name].n
    if SEARCH_SAMPLE < n <= MOST_SEARCHED_ROWS:
        try:
            return in_child(cell, name, "svc", n, deadline=SEARCH_SECONDS)
        except TimeoutError:
            pass
    return in_child(cell, name, "svc", min(n, SEARCH_SAMPLE), deadline=SVC_SECONDS)


def run_cell(name: str, method: str) -> Record:
    about = {"problem": name, "method": method, "n": PROBLEMS[name].n}
    deadline = SVC_SECONDS if method == "svc" else COMPACT_SECONDS
    try:
        found = run_svc(name) if method == "svc" else in_child(cell, name, method, 0, deadline=deadline)
    except TimeoutError:
        return {**about, "finished": False, "seconds": deadline}
    return {**about, "finished": True, **found}


# ---------------------------------------------------------------------------- the page


def right_rows(record: Record) -> np.ndarray:
    """Which test rows were right, as numbers."""
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(record["right"]), dtype=np.uint8))
    return bits[: record["n_test"]].astype(float)


def paired(ours: Record, theirs: Record) -> tuple[float, float]:
    """Points of accuracy gained on the same test rows, and the standard error of that."""
    gained = 100.0 * (right_rows(ours) - right_rows(theirs))
    return float(gained.mean()), float(gained.std(ddof=1) / np.sqrt(len(gained)))


def shape_of(name: str) -> tuple[int, int]:
    """Features and classes of a problem."""
    data = draw(name)
    return data.X.shape[1], len(np.unique(data.y))


def tables(records: dict[tuple[Any, ...], Record]) -> list[str]:
    rows, rare, gains, ratios = [], [], {}, {}
    for name, problem in PROBLEMS.items():
        theirs, ours = (records.get((name, method)) for method in METHODS)
        if theirs is None and ours is None:
            continue
        n_features, n_classes = shape_of(name)
        difference, error, ratio = "", "", ""
        if ours and theirs and ours["finished"]:
            quotient = ours["seconds"] / theirs["seconds"]
            ratio = f"{quotient:.2f}" if theirs["finished"] else f"< {quotient:.2f}"
            if theirs["finished"]:
                gain, spread = paired(ours, theirs)
                gains[name], ratios[name] = (gain, spread), quotient
                difference, error = f"{gain:+.2f}", f"{spread:.2f}"
        rows.append(
            [
                name,
                problem.about,
                f"{problem.n:,}",
                f"{n_features:,}",
                str(n_classes),
                *_columns(theirs, ours, lambda line: f"{100 * line['accuracy']:.2f}"),
                difference,
                error,
                *_columns(theirs, ours, lambda line: f"{line['vectors']:,}"),
                *_columns(theirs, ours, _seconds),
                ratio,
            ]
        )
        if problem.balanced:
            rare.append([name, *_columns(theirs, ours, lambda line: f"{100 * line['balanced']:.2f}")])
    if gains:
        worst, slowest = min(gains, key=lambda name: gains[name][0]), max(ratios, key=ratios.__getitem__)
        place = [f"**worst: {worst}, {slowest}**", *[""] * 6]
        gain, error = gains[worst]
        rows.append([*place, f"{gain:+.2f}", f"{error:.2f}", *[""] * 4, f"{ratios[slowest]:.2f}"])
    header = ["problem", "what it is", "n", "d", "classes", "SVC, %", "CompactSVC, %", "difference", "s.e.",
              "vectors of SVC", "of CompactSVC", "s, SVC", "s, CompactSVC", "ratio of times"]  # fmt: skip
    lines = [
        "# CompactSVC on twenty generated problems",
        "",
        ABOUT,
        "",
        f"{versions(python=True)}.",
        "",
    ]
    lines += table(header, rows)
    if rare:
        lines += ["Where a class is rare, the mean of the classes' accuracies (balanced accuracy):", ""]
        lines += table(["problem", "SVC, %", "CompactSVC, %"], rare)
    return lines


def _columns(theirs: Record | None, ours: Record | None, text: Any) -> list[str]:
    """The cell of each method: empty where it has not run, and said where it was not finished."""
    cells = []
    for line in (theirs, ours):
        if line is None:
            cells.append("")
        elif not line["finished"]:
            cells.append(f"> {line['seconds']:,.0f}" if text is _seconds else "not finished")
        else:
            cells.append(text(line))
    return cells


def _seconds(line: Record) -> str:
    sampled = line.get("search_rows", line["n"]) < line["n"]
    return f"{line['seconds']:,.1f}" + (" *" if sampled else "")


# ---------------------------------------------------------------------------- command


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("--only", nargs="*", choices=list(PROBLEMS), default=list(PROBLEMS), metavar="NAME")
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=list(METHODS))
    parser.add_argument("--fresh", action="store_true", help="run again what has been run")
    parser.add_argument("--table", action="store_true", help="write the page and run nothing")
    parser.add_argument(
        "--records", type=Path, default=RESULTS / "phone_book.jsonl", help="another file of records"
    )
    arguments = parser.parse_args()
    journal = Journal(arguments.records, lambda line: (line["problem"], line["method"]))
    for name in [] if arguments.table else arguments.only:
        for method in arguments.methods:
            if (name, method) in journal.lines and not arguments.fresh:
                continue
            print(f"{name:18} {method:8}", end=" ", flush=True)
            start = time.perf_counter()
            line = run_cell(name, method)
            journal.add(line)
            text = (
                f"{line['accuracy']:.4f}  {line['vectors']:6d} vectors"
                if line["finished"]
                else "not finished"
            )
            print(f"{text}  {line['seconds']:9.2f} s  ({time.perf_counter() - start:.0f} s)", flush=True)
    write_page(arguments.records.with_suffix(".md"), tables(journal.lines))


if __name__ == "__main__":
    main()
