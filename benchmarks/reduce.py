"""What `reduce` does at its defaults, beside pruning alone: digits, and splits of each of the 13 IDA sets.

    SLIMSVM_DATA=<directory of *.npz> python benchmarks/reduce.py --splits 10

C and gamma of each SVC are searched by cross-validation on its training rows (on the digits gamma is "scale"), features
standardised (the digits as they are); where benchmarks/compact.py has searched the same split before, what it found is
taken from its journal. Nothing is chosen by the test rows, and what `reduce` fixes was decided on other splits. Writes
benchmarks/results/reduce.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from compact_methods import C_VALUES, GAMMA_VALUES, N_FOLDS, SEARCH_MAX_ITER
from harness import RESULTS, Journal, Page, Split, command, head, need_data, published, row, timed, versions
from slimsvm import reduce
from slimsvm.budget import stored_bytes
from slimsvm.datasets import CATALOGUE

N_DIGITS = 900
DIGITS_SPLITS = 3
METHODS = ("auto", "prune")


def searched(X: np.ndarray, y: np.ndarray, known: dict[str, float] | None) -> SVC:
    """An SVC with C and gamma of the best of the grid, fitted to all rows."""
    if known is not None:
        return SVC(**known).fit(X, y)
    grid = {"C": C_VALUES, "gamma": [value / X.shape[1] for value in GAMMA_VALUES]}
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    search = GridSearchCV(SVC(max_iter=SEARCH_MAX_ITER), grid, cv=folds, refit=False)
    return SVC(**search.fit(X, y).best_params_).fit(X, y)


def digits() -> Iterator[tuple[str, Split, SVC]]:
    X, y = load_digits(return_X_y=True)
    for split in range(DIGITS_SPLITS):
        parts = Split(*train_test_split(X, y, train_size=N_DIGITS, random_state=split, stratify=y))
        for C in (1.0, 10.0):
            yield f"digits, split {split}, C={C:g}", parts, SVC(C=C).fit(parts.X, parts.y)


def ida(splits: int) -> Iterator[tuple[str, Split, SVC]]:
    journal = Journal(RESULTS / "compact.jsonl", lambda line: (line["set"], line["split"], line["method"]))
    for name in (name for name in CATALOGUE if name.startswith("ida_")):
        for split in range(splits):
            parts = published(name, split)
            scaler = StandardScaler().fit(parts.X)
            parts = parts._replace(X=scaler.transform(parts.X), X_test=scaler.transform(parts.X_test))
            known = journal.lines.get((name, split, "svc"), {}).get("parameters")
            yield name.removeprefix("ida_"), parts, searched(parts.X, parts.y, known)


def measured(svc: SVC, parts: Split, method: str) -> tuple[float, int, int, float]:
    """Points of accuracy gained on the test rows, vectors, bytes, seconds."""
    slim, seconds = timed(lambda: reduce(svc, parts.X, parts.y, method=method))
    gained = 100 * (slim.score(parts.X_test, parts.y_test) - svc.score(parts.X_test, parts.y_test))
    return gained, slim.n_vectors_, stored_bytes(slim.expansion_), seconds


def report(page: Page, jobs: Iterator[tuple[str, Split, SVC]]) -> None:
    columns = [
        f"{method}: {what}" for method in METHODS for what in ("points", "vectors", "bytes", "seconds")
    ]
    page.add(*head(row(["set", "SVC", "vectors", *columns])))
    every = []
    for name, same in groupby(jobs, key=lambda job: job[0]):
        found = []
        for _, parts, svc in same:
            accuracy = 100 * svc.score(parts.X_test, parts.y_test)
            values = [value for method in METHODS for value in measured(svc, parts, method)]
            found.append([accuracy, len(svc.support_), *values])
        every.append(np.mean(found, axis=0).tolist())
        page.add(row([name, *written(every[-1], 0 if len(found) == 1 else 1)]))
    page.add(row(["**mean**", *written(np.mean(every, axis=0).tolist(), 1)]), "")


def written(values: list[float], digits_of_sizes: int) -> list[str]:
    accuracy, vectors, *found = values
    cells = [f"{accuracy:.2f} %", f"{vectors:.{digits_of_sizes}f}"]
    for start in range(0, len(found), 4):
        gained, size, n_bytes, seconds = found[start : start + 4]
        cells += [f"{gained:+.2f}", f"{size:.{digits_of_sizes}f}", f"{n_bytes:,.0f}", f"{seconds:.2f}"]
    return cells


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("--splits", type=int, default=10, help="how many splits of the IDA sets")
    splits = parser.parse_args().splits
    need_data("reduce.py")
    page = Page(RESULTS / "reduce.md", "reduce at its defaults, beside pruning alone")
    page.add(
        f"{versions()}. Accuracy on the test rows; points are those gained (+) or lost (-) by the reduction.\n"
    )
    page.add(f"## Ten digits, {N_DIGITS} training rows\n")
    report(page, digits())
    page.add(f"## The 13 IDA sets, means over {splits} splits, C and gamma searched\n")
    report(page, ida(splits))


if __name__ == "__main__":
    main()
