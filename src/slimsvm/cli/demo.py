"""`slimsvm demo`: an SVC found by a search, beside machines with a few vectors.

On data that needs no download it searches C and gamma of scikit-learn's SVC, fits `CompactSVC`, which has nothing to
search, reduces the SVC, and fits LightGBM if that is installed; for each it shows the accuracy on rows it has not seen,
the size, how fast it predicts and how long it took. A picture shows where the vectors lie and what the size costs, and
a report shows one of the models whole.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ..adapters.reduce import reduce
from ..datasets import make_banana, make_ringnorm
from ..methods.compact.estimators import CompactSVC
from ..report.write import write_report
from ..rows import Array
from .measured import lightgbm, rows_a_second, size_of

# What the search of the SVC tries: 25 pairs, gamma as a multiple of 1 / n_features.
C_VALUES = (0.1, 1.0, 10.0, 100.0, 1000.0)
GAMMA_VALUES = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)
N_FOLDS = 5
# Rows are repeated to at least so many for a timing.
ROWS_PER_TIMING = 5000
# Models made from the one before: their time comes on top of its.
ON_TOP = ("reduce(SVC)",)
PICTURE, REPORT = "slimsvm-demo.png", "slimsvm-demo.html"
# The problem that the report is about.
REPORTED = "digits"


@dataclass(frozen=True)
class Problem:
    """Rows to learn from and rows to test, standardised by the former unless they are in common units."""

    name: str
    X: Array
    X_test: Array
    y: Array
    y_test: Array

    @classmethod
    def split(cls, name: str, data: tuple[Array, Array], n_train: int, unit: float | None = None) -> Problem:
        """Take so many rows to learn from, and the others to test; `unit` is that of all columns."""
        X, X_test, y, y_test = train_test_split(*data, train_size=n_train, random_state=0, stratify=data[1])
        if unit is not None:
            return cls(name, X / unit, X_test / unit, y, y_test)
        scaler = StandardScaler().fit(X)
        return cls(name, scaler.transform(X), scaler.transform(X_test), y, y_test)

    def __str__(self) -> str:
        n, d = self.X.shape
        classes = len(np.unique(self.y))
        return (
            f"{self.name}: {d} inputs, {classes} classes, {n} rows to learn from, {len(self.y_test)} to test"
        )


@dataclass
class Row:
    """One line of the table."""

    model: Any
    accuracy: float
    n_vectors: int  # 0 of trees
    bytes: int
    rate: float
    seconds: float


@dataclass
class Comparison:
    """The models fitted to one problem, by their names."""

    problem: Problem
    rows: dict[str, Row] = field(default_factory=dict)

    @property
    def machines(self) -> dict[str, Row]:
        """Those that have vectors."""
        return {name: row for name, row in self.rows.items() if row.n_vectors}


class Progress:
    """A line that says what is being done, where there is a terminal to erase it from."""

    def __init__(self, stream: Any = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.width = 0

    def __call__(self, text: str = "") -> None:
        """Replace the line by this text; without text remove it."""
        if self.stream.isatty():
            self.stream.write("\r" + " " * self.width + "\r" + text)
            self.stream.flush()
            self.width = len(text)


def problems() -> Iterator[Problem]:
    """Problems whose data is generated or comes with scikit-learn."""
    yield Problem.split("banana", make_banana(5000, random_state=0), 400)
    yield Problem.split("ringnorm", make_ringnorm(5000, random_state=0), 400)
    yield Problem.split("breast cancer", load_breast_cancer(return_X_y=True), 285)
    yield Problem.split("digits", load_digits(return_X_y=True), 900, unit=16.0)


def searched_svc(problem: Problem) -> SVC:
    """Search C and gamma by cross-validation."""
    gamma = [value / (problem.X.shape[1] * problem.X.var()) for value in GAMMA_VALUES]
    search = GridSearchCV(SVC(), {"C": C_VALUES, "gamma": gamma}, cv=N_FOLDS)
    return search.fit(problem.X, problem.y).best_estimator_


def compare(problem: Problem, progress: Progress, show: Callable[[str, Row], None]) -> Comparison:
    """Fit all models to one problem, and show each when it is there."""
    found = Comparison(problem)
    fits: dict[str, Callable[[], Any]] = {
        "SVC, searched": lambda: searched_svc(problem),
        "CompactSVC": lambda: CompactSVC(random_state=0).fit(problem.X, problem.y),
        "reduce(SVC)": lambda: reduce(found.rows["SVC, searched"].model, problem.X, problem.y),
    }
    if (trees := lightgbm()) is not None:
        fits["LightGBM"] = lambda: trees.LGBMClassifier(n_jobs=1, verbose=-1).fit(problem.X, problem.y)
    for name, fit in fits.items():
        progress(f"  {problem.name}: fitting {name} ...")
        start = time.perf_counter()
        model = fit()
        seconds = time.perf_counter() - start
        progress(f"  {problem.name}: timing {name} ...")
        accuracy = float(model.score(problem.X_test, problem.y_test))
        X = problem.X_test
        X = X[np.arange(max(len(X), ROWS_PER_TIMING)) % len(X)]
        rate = rows_a_second(model.predict, X)
        found.rows[name] = Row(model, accuracy, *size_of(model), rate, seconds)
        progress()
        show(name, found.rows[name])
    return found


def show_row(name: str, row: Row, first: Row) -> None:
    """Print one line of the table; `first` is what the rate is compared with."""
    seconds = f"{'+ ' if name in ON_TOP else ''}{row.seconds:.2f}"
    vectors = f"{row.n_vectors:,d}" if row.n_vectors else "-"
    print(
        f"  {name:15} {100 * row.accuracy:7.1f} % {vectors:>8} {row.bytes:9,d} {row.rate:14,.0f} "
        f"{row.rate / first.rate:6.1f} x {seconds:>8}",
        flush=True,
    )


def run(folder: Path) -> None:
    """Print the table, draw the picture and write the report.

    Parameters
    ----------
    folder : Path
        Where picture and report go.
    """
    start, progress = time.perf_counter(), Progress()
    folder.mkdir(parents=True, exist_ok=True)
    print(
        "The SVC's C and gamma are searched over 25 pairs in 5 folds; CompactSVC has nothing to search; reduce takes\n"
        "the searched SVC as it is. Bytes are the numbers of the model in float64. One thread."
    )
    comparisons: list[Comparison] = []
    for problem in problems():
        print(f"\n{problem}\n")
        print(
            f"  {'model':15} {'accuracy':>9} {'vectors':>8} {'bytes':>9} {'predictions/s':>14} {'':8} {'fit s':>8}"
        )
        shown: list[Row] = []

        def show(name: str, row: Row, shown: list[Row] = shown) -> None:
            shown.append(row)
            show_row(name, row, shown[0])

        comparisons.append(compare(problem, progress, show))
    print()
    _draw(comparisons, folder / PICTURE, progress)
    reported = next((each for each in comparisons if each.problem.name == REPORTED), comparisons[0])
    _report(reported, folder / REPORT, progress)
    print(f"{time.perf_counter() - start:.0f} s in all.")


def _draw(comparisons: list[Comparison], output: Path, progress: Progress) -> None:
    try:
        from .demo_picture import draw
    except ImportError:
        print("There is no picture: matplotlib is not installed (pip install 'slimsvm[plot]').")
        return
    progress("  drawing ...")
    draw(comparisons, output)
    progress()
    print(f"The picture is {output.resolve()}")


def _report(comparison: Comparison, output: Path, progress: Progress) -> None:
    problem, rows = comparison.problem, comparison.rows
    progress("  writing the report ...")
    try:
        write_report(
            rows["CompactSVC"].model, output, X=problem.X, y=problem.y, X_test=problem.X_test, y_test=problem.y_test,
            reference=rows["SVC, searched"].model, title=f"CompactSVC on {problem.name}",
        )  # fmt: skip
    except ImportError as error:
        progress()
        print(f"There is no report: {error}")
        return
    progress()
    print(f"The report is  {output.resolve()}")
