"""What every public estimator answers, kept in a file and compared with that of another commit.

    python benchmarks/answers.py save before.npz          with the one commit installed
    python benchmarks/answers.py save after.npz           with the other
    python benchmarks/answers.py compare before.npz after.npz

`save` fits each case of answers_*.py, in one thread, and keeps the labels, the other outputs on held-out rows, the
number of vectors, which rows they are, and the categories of the warnings; or the class and the text of the exception.
`compare` counts the cases that are equal to the bit, lists what changed, and returns 1 if a label did or if a case
fails that did not. Only public names are used, so the same script runs on old commits and on new ones.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from scipy import sparse
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

import slimsvm
from answers_estimators import compact_cases, estimator_cases, other_cases, refusal_cases
from answers_reduction import path_cases, reduction_cases
from harness import command, table

# Changes up to this share of an output's largest value are rounding.
ROUNDING = 1e-8
# Whole numbers and names are equal or not; of them labels decide what `compare` returns.
LABELS = ("labels", "selected")
EXACT = (*LABELS, "n_vectors", "support", "chosen")
SLOWEST = 5
SEPARATOR = "|"

Answer = dict[str, np.ndarray]


@cache
def cases() -> dict[str, Callable[[], Any]]:
    """Each returns a fitted model and the rows to ask it about, or what it found by name."""
    found: dict[str, Callable[[], Any]] = {}
    for kind in (estimator_cases, compact_cases, other_cases, reduction_cases, path_cases, refusal_cases):
        for name, run in kind():
            assert name not in found, name
            found[name] = run
    return found


def not_covered() -> list[str]:
    """Exported classes with a `fit` that no case builds."""
    covered = {name.split("/")[0].split("(")[0].split(" ")[0] for name in cases()}
    exported = (name for name in slimsvm.__all__ if hasattr(getattr(slimsvm, name), "fit"))
    return sorted(set(exported) - covered)


# ---------------------------------------------------------------------------- saving


def outputs(model: Any, T: Any) -> dict[str, Any]:
    """Everything a fitted model says about these rows."""
    last = model[-1] if isinstance(model, Pipeline) else model
    found: dict[str, Any] = {}
    if hasattr(model, "predict"):
        predicted = model.predict(T)
        found["labels" if hasattr(model, "decision_function") else "values"] = predicted
    for name in ("decision_function", "predict_proba", "score_samples", "transform"):
        if hasattr(model, name):
            found[name] = getattr(model, name)(T)
    if hasattr(model, "get_support"):
        found["selected"] = model.get_support()
    for name in ("n_vectors_", "support_"):
        if hasattr(last, name):
            found[name.rstrip("_")] = getattr(last, name)
    return found


def as_arrays(found: dict[str, Any]) -> Answer:
    return {name: np.asarray(v.toarray() if sparse.issparse(v) else v) for name, v in found.items()}


def answer(name: str) -> tuple[str, Answer, float]:
    """Run one case."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("always")
        try:
            result = cases()[name]()
            found = as_arrays(result if isinstance(result, dict) else outputs(*result))
        except Exception as error:
            found = {"error": np.array([type(error).__name__, str(error)])}
    found["warnings"] = np.array(sorted({w.category.__name__ for w in caught}), dtype=str)
    return name, found, time.perf_counter() - start


def versions() -> str:
    packages = (slimsvm, np, scipy, sklearn)
    return ", ".join(f"{package.__name__} {package.__version__}" for package in packages)


def save(path: Path, chosen: str) -> None:
    names = [name for name in cases() if chosen in name]
    start = time.perf_counter()
    found = [answer(name) for name in names]
    arrays = {f"{name}{SEPARATOR}{key}": value for name, fields, _ in found for key, value in fields.items()}
    np.savez_compressed(path, versions=np.array(versions()), **arrays)
    failed = sum("error" in fields for _, fields, _ in found)
    print(f"{len(names)} cases in {time.perf_counter() - start:.0f} s, {failed} of them exceptions: {path}")
    slowest = sorted(found, key=lambda one: -one[2])[:SLOWEST]
    print("slowest:", ", ".join(f"{name} {seconds:.1f} s" for name, _, seconds in slowest))
    if missing := not_covered():
        print("exported, but in no case:", ", ".join(missing))


def load(path: Path) -> tuple[str, dict[str, Answer]]:
    """The versions, and the answers by case."""
    answers: dict[str, Answer] = {}
    with np.load(path) as file:
        for key in file.files:
            if SEPARATOR in key:
                name, _, which = key.rpartition(SEPARATOR)
                answers.setdefault(name, {})[which] = file[key]
        return str(file["versions"]), answers


# ---------------------------------------------------------------------------- comparing


EQUAL, CHANGED = "equal to the bit", "changed more"
ROUNDED = f"changed within {ROUNDING:g} of the output's scale"


@dataclass
class Difference:
    """How two answers to one case differ; nothing in it means equal to the bit."""

    change: float = 0.0  # largest, relative to the output's largest value; infinite where shapes differ
    labels: int = 0
    failed: bool = False  # an exception where there was none
    notes: list[str] = field(default_factory=list)
    touched: bool = False  # anything at all, a last bit included

    def note(self, text: str) -> None:
        self.notes.append(text)
        self.touched = True

    @property
    def kind(self) -> str:
        if not self.touched:
            return EQUAL
        return CHANGED if self.notes or self.labels or self.change > ROUNDING else ROUNDED


def words(value: np.ndarray | None) -> str:
    return "none" if value is None or not value.size else " ".join(map(str, value.tolist()))


def difference(before: Answer, after: Answer) -> Difference:
    found = Difference()
    if "error" in before or "error" in after:
        old, new = before.get("error"), after.get("error")
        if words(old) != words(new):
            found.note(f"exception: {words(old)} -> {words(new)}")
            found.failed = old is None
    else:
        for key in dict.fromkeys([*before, *after]):
            if key != "warnings":
                compare_field(found, key, before.get(key), after.get(key))
    if words(before.get("warnings")) != words(after.get("warnings")):
        found.note(f"warnings: {words(before.get('warnings'))} -> {words(after.get('warnings'))}")
    return found


def compare_field(found: Difference, key: str, a: np.ndarray | None, b: np.ndarray | None) -> None:
    if a is None or b is None:
        found.note(f"{key} {'is new' if a is None else 'is gone'}")
        return
    if key in EXACT:
        if a.shape == b.shape and np.array_equal(a, b):
            return
        if key in LABELS:
            changed = int(np.sum(a != b)) if a.shape == b.shape else max(a.size, b.size)
            found.labels += changed
            found.touched = True
        elif key != "support":
            found.note(f"{key} {a} -> {b}")
        elif not np.array_equal(np.sort(a), np.sort(b)):
            found.note(f"{len(np.setdiff1d(a, b))} of {len(a)} support rows are others")
        else:
            found.note("support rows in another order")
        return
    if a.dtype != b.dtype:
        found.note(f"{key}: {a.dtype} -> {b.dtype}")
    if a.shape != b.shape:
        found.change = np.inf
        found.note(f"{key}: shape {a.shape} -> {b.shape}")
        return
    if a.tobytes() == b.tobytes():
        return
    found.touched = True
    a, b = a.astype(np.float64), b.astype(np.float64)
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        found.change = np.inf
        return
    finite = np.isfinite(a)
    scale = np.abs(a[finite]).max(initial=0.0)
    apart = np.abs(a[finite] - b[finite]).max(initial=0.0)
    found.change = max(found.change, apart / scale if scale else float(apart > 0))


def show(columns: list[str], rows: Iterable[list[str]]) -> None:
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    print("\n".join(table(columns, cells)))


def compare(first: Path, second: Path) -> int:
    (versions_a, before), (versions_b, after) = load(first), load(second)
    print(f"before: {versions_a}\nafter:  {versions_b}\n")
    common = {name: difference(before[name], after[name]) for name in before if name in after}
    gone, new = (
        [name for name in one if name not in other] for one, other in ((before, after), (after, before))
    )
    counts = {kind: sum(d.kind == kind for d in common.values()) for kind in (EQUAL, ROUNDED, CHANGED)}
    counts |= {"appeared": len(new), "disappeared": len(gone)}
    show(["", "cases"], ([kind, str(count)] for kind, count in counts.items()))
    more = [(name, d) for name, d in common.items() if d.kind == CHANGED]
    if more:
        print(f"Changed more ({len(more)}), largest first:\n")
        more.sort(key=lambda one: (-one[1].failed, -one[1].labels, -one[1].change))
        header = ["case", "largest relative change", "labels changed", "besides"]
        show(header, ([name, f"{d.change:.2g}", str(d.labels), "; ".join(d.notes)] for name, d in more))
    for title, names in (("Appeared", new), ("Disappeared", gone)):
        if names:
            print(f"{title}: {', '.join(names)}\n")
    worst = max(common, key=lambda name: common[name].change, default=None)
    if worst is not None and common[worst].change > 0:
        print(f"Largest change overall: {common[worst].change:.2g} of the output's scale, {worst}.")
    labels = sum(d.labels for d in common.values())
    failed = sum(d.failed for d in common.values())
    print(f"Labels changed: {labels}. Cases that fail and did not: {failed}.")
    return int(labels > 0 or failed > 0)


def main() -> int:
    parser = command(__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    saving = commands.add_parser("save", help="fit all cases and keep what they answer")
    saving.add_argument("file", type=Path)
    saving.add_argument("--only", default="", metavar="TEXT", help="cases with this in their name")
    comparing = commands.add_parser("compare", help="compare two files")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    options = parser.parse_args()
    if options.command == "save":
        save(options.file, options.only)
        return 0
    return compare(options.before, options.after)


if __name__ == "__main__":
    sys.exit(main())
