"""`slimsvm compare`: every method on one data file, in one table and one picture."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from ..adapters.reduce import reduce
from ..inputs import Inputs
from ..reading import UnnamedRows
from ..rows import Array
from .data import Data, encoded, held_out_data, learning_data, rows_for
from .measured import lightgbm, rows_a_second, size_of
from .methods import estimator_for, fit_numbers, score_in_words
from .names import METHODS
from .options import Columns, Format, Limits
from .output import Output

TEST_SHARE = 0.3
# Methods that take longer than this on so many rows are left out unless they are named.
MOST_ROWS = {
    "empirical": 20_000, "full": 20_000, "gp": 20_000, "ls": 5000, "rvm": 5000, "pruned-ls": 3000, "two-stage": 3000,
    "lp": 2000, "sparsity-controlled": 2000, "zero-norm": 2000, "probit": 1000,
}  # fmt: skip


# From rows, targets, and what one leaves for the next, the SVM that is reduced, to a fitted model.
Make: TypeAlias = Callable[[Any, Array, dict[str, Any]], Any]


@dataclass(frozen=True)
class Row:
    """What became of one method."""

    name: str
    score: float
    vectors: int  # 0 of trees
    bytes: int
    microseconds: float
    seconds: float


def run(
    train: str,
    options: Columns,
    format: Format,
    say: Output,
    *,
    test: str | None,
    methods: Sequence[str],
    max_vectors: int | None,
    impute: bool,
    picture: Path | None,
    seed: int | None,
) -> None:
    """Fit every method to the same rows, and test each on the same others."""
    with say.working(f"reading {train}"):
        data = learning_data(train, options, format)
        held_out = None if test is None else held_out_data(test, options, format, data)
        X, y, X_test, y_test = _rows(data, held_out, impute=impute, say=say)
    shown = "its own test file" if test else f"{len(y_test):,} rows drawn for testing"
    say.say(f"{data}; {len(y):,} to learn from, {shown}.")
    rows: list[Row] = []
    known: dict[str, Any] = {}
    for name, make in _contestants(data.classify, methods, max_vectors, seed, len(y), say).items():
        with warnings.catch_warnings(), say.working(f"fitting {name}"):
            warnings.simplefilter("ignore")
            try:
                rows.append(_measured(name, make, known, X, y, X_test, y_test))
            except (ValueError, MemoryError) as error:
                say.say(f"{name} is left out: {' '.join(str(error).split())}")
                continue
        say.say(
            f"  {name}: {score_in_words(rows[-1].score, classify=data.classify)} after {rows[-1].seconds:.1f} s"
        )
    text = say.table(
        ["method", "accuracy" if data.classify else "score", "vectors", "bytes", "µs a row", "fit s"],
        [_cells(row, data.classify) for row in rows],
    )
    if picture is not None:
        try:
            _draw(rows, data, picture)
            text += f"\n\nThe picture is {picture}"
        except ImportError:
            say.say("There is no picture: matplotlib is not installed (pip install 'slimsvm[plot]').")
            picture = None
    say.result(
        {"rows": [row.__dict__ for row in rows], "picture": None if picture is None else str(picture)}, text
    )


def _rows(data: Data, held_out: Data | None, *, impute: bool, say: Output) -> tuple[Any, Array, Any, Array]:
    """Numbers to learn from and to test with; the encoding is found on the former."""
    if held_out is not None:
        inputs, X = encoded(data, impute=impute, ignore_unknown=True, say=say)
        return X, data.y, rows_for(inputs or Inputs(X.shape[1]), held_out.rows), held_out.y
    labels = data.y if data.classify and np.unique(data.y, return_counts=True)[1].min() > 1 else None
    a, b = train_test_split(np.arange(len(data.y)), test_size=TEST_SHARE, random_state=0, stratify=labels)
    if isinstance(data.rows, UnnamedRows):
        return data.rows.X[a], data.y[a], data.rows.X[b], data.y[b]
    inputs, X = encoded(
        Data(data.rows.take(a), data.y[a], data.target, data.classify),
        impute=impute,
        ignore_unknown=True,
        say=say,
    )
    assert inputs is not None
    rows = data.rows.take(b)
    return X, data.y[a], inputs(rows if inputs.columns is not None else rows.to_numpy()), data.y[b]


def _contestants(
    classify: bool, methods: Sequence[str], max_vectors: int | None, seed: int | None, n: int, say: Output
) -> dict[str, Make]:
    """By name, what fits."""
    named = bool(methods)
    chosen = list(methods) or [
        m for m, kinds in METHODS.items() if (kinds.classifier if classify else kinds.regressor)
    ]
    late = [] if named else [method for method in chosen if n > MOST_ROWS.get(method, n)]
    if late:
        say.say(f"Left out on {n:,} rows, unless named with --method: {', '.join(late)}.")
    found: dict[str, Make] = {}
    if not named:
        found[f"{'SVC' if classify else 'SVR'}, searched"] = _svm(classify)
    for method in chosen:
        if method in late:
            continue
        found[method] = _ours(method, classify, max_vectors, seed)
        if method == "compact" and not named:
            found["reduce(SVM)"] = _reduced(max_vectors)
    if not named and lightgbm() is None:
        say.say("LightGBM is not installed and is left out.")
    elif not named:
        found["LightGBM"] = _trees(classify, seed)
    return found


def _svm(classify: bool) -> Make:
    def make(X: Any, y: Array, known: dict[str, Any]) -> Any:
        known["svm"], _ = fit_numbers(SVC() if classify else SVR(), X, y)
        return known["svm"]

    return make


def _reduced(max_vectors: int | None) -> Make:
    return lambda X, y, known: reduce(known["svm"], X, y, max_vectors=max_vectors)


def _ours(method: str, classify: bool, max_vectors: int | None, seed: int | None) -> Make:
    def make(X: Any, y: Array, known: dict[str, Any]) -> Any:
        try:
            limits = Limits(max_vectors=max_vectors)
            estimator = estimator_for(method, classify=classify, limits=limits, seed=seed, jobs=None)
        except ValueError:  # it has no limit of vectors
            estimator = estimator_for(method, classify=classify, limits=Limits(), seed=seed, jobs=None)
        if method == "compact":
            estimator.set_params(on_interrupt="raise")
        return fit_numbers(estimator, X, y)[0]

    return make


def _trees(classify: bool, seed: int | None) -> Make:
    kind = lightgbm().LGBMClassifier if classify else lightgbm().LGBMRegressor
    return lambda X, y, known: kind(random_state=seed, n_jobs=1, verbose=-1).fit(X, y)


def _measured(
    name: str, make: Make, known: dict[str, Any], X: Any, y: Array, X_test: Any, y_test: Array
) -> Row:
    if not sparse.issparse(X):  # the same scaled numbers for all
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    start = time.perf_counter()
    model = make(X, y, known)
    seconds = time.perf_counter() - start
    microseconds = 1e6 / rows_a_second(model.predict, X_test)
    return Row(name, float(model.score(X_test, y_test)), *size_of(model), microseconds, seconds)


def _cells(row: Row, classify: bool) -> list[str]:
    return [
        row.name,
        score_in_words(row.score, classify=classify),
        f"{row.vectors:,}" if row.vectors else "-",
        f"{row.bytes:,}",
        f"{row.microseconds:.2f}",
        f"{row.seconds:.2f}",
    ]


def _draw(rows: Sequence[Row], data: Data, path: Path) -> None:
    """A line for each method: its score, its bytes, its seconds; the smallest at the top."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from ..plotting import COLOURS, FAINT, GREY, INK

    rows = sorted(rows, key=lambda row: -row.bytes)
    figure: Any = Figure(figsize=(11, 1.6 + 0.33 * len(rows)), layout="constrained")
    FigureCanvasAgg(figure)
    panels: dict[str, list[float]] = {
        "accuracy on the test rows, %" if data.classify else "R² on the test rows": [
            100 * row.score if data.classify else row.score for row in rows
        ],
        "bytes": [row.bytes for row in rows],
        "seconds to fit": [row.seconds for row in rows],
    }
    colours = [COLOURS[0] if row.name in METHODS or row.name.startswith("reduce") else GREY for row in rows]
    axes = figure.subplots(1, len(panels), sharey=True)
    for j, (ax, (title, values)) in enumerate(zip(axes, panels.items(), strict=True)):
        at = np.arange(len(rows))
        ax.scatter(values, at, c=colours, s=55, zorder=3)
        if j:
            ax.set_xscale("log")
        for value, y in zip(values, at, strict=True):
            text = f"{value:.1f}" if not j or title.startswith("sec") else f"{value:,.0f}"
            ax.annotate(
                text, (value, y), (8, 0), textcoords="offset points", va="center", color=INK, fontsize=8
            )
        ax.margins(x=0.2, y=0.06)
        ax.set_title(title, loc="left", color=INK, fontsize=10)
        ax.grid(color=FAINT)
        ax.tick_params(colors=GREY, length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)
    axes[0].set_yticks(np.arange(len(rows)), [row.name for row in rows], color=INK)
    figure.suptitle(f"{data.rows.source}: {len(data.y):,} rows", x=0.01, ha="left", color=INK, weight="bold")
    figure.savefig(path, dpi=130)
