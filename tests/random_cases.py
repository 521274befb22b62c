"""An attack on all estimators: random data, random parameters; each case ends in a sound model or in one clear error.

`make attack CASES=20000 SEED=100000` goes on where the last run stopped (its journal is build/random_cases.jsonl) and
writes what it found to benchmarks/results/random_cases.md. A case is known by its number alone: `python
tests/random_cases.py --case 4711` tries one again and shows where it fails. `tests/test_laws_hypothesis.py` holds the
laws on the same kinds of data.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.exceptions import NotFittedError

import random_rows
from everyone import NAMES, WRAPPED, answers, fit, has, make, size
from slimsvm.errors import SlimsvmError
from slimsvm.kernels import RBF

# at the end: no script may hide a module of the same name
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

from harness import Journal, table, versions, write_page

ROOT = Path(__file__).parents[1]
SECONDS = 20
# Slower cases are named in the results.
SLOW = 5.0
SAVE_EVERY = 500
DOCUMENTED = (ValueError, MemoryError, NotFittedError, SlimsvmError)
# What no user understands, and no sentence of ours says.
UNCLEAR = ("infs or NaNs", "must be finite", "math domain", "cannot convert", "zero-size", "Singular")
ours = [name for name in NAMES if name not in WRAPPED]


def a_function(X: Any, Z: Any) -> Any:
    """A kernel as users write them."""
    with np.errstate(over="ignore", invalid="ignore"):
        products = X @ Z.T
        return (products.toarray() if sparse.issparse(products) else products) + 1.0


# None leaves the default. What a parameter does not allow (a negative C, a solver of another method) must be refused.
VALUES: dict[str, tuple[Any, ...]] = {
    "kernel": ("rbf", "rbf", "linear", "poly", "sigmoid", "laplacian", RBF(0.3), a_function),
    "gamma": ("scale", "scale", "auto", 1e-12, 0.5, 1e12, -1.0, "per feature"),
    "C": (1e-12, 1e-3, 1.0, 1.0, 1e3, 1e12, 0.0),
    "degree": (0, 1, 3, 20),
    "coef0": (0.0, 1.0, -1.0, 1e10),
    "loss": ("hinge", "squared_hinge", "squared", "epsilon_insensitive"),
    "class_weight": (None, "balanced", {0: 2.0, "no": 1e-6}),
    "epsilon": (0.0, 0.1, 10.0),
    "max_vectors": (1, 3, 8, 0),
    "n_vectors": (1, 2, 5, 1000),
    "n_candidates": (None, 1, 5, 59),
    "orthonormal": (False, True),
    "refine": (True, False),
    "scale": (True, False),
    "metric": ("auto", "one", "per_feature", "linear"),
    "rank": (1, 2, 100),
    "number": ("float64", "float32", "int16", "int8", "int4"),
    "max_bytes": (20, 200, 4096),
    "selection": ("cholesky", "pivoted_cholesky", "random_cholesky"),
    "vectors": ("selected", "orthogonal"),
    "variant": ("quadratic", "linear", "multiplicative"),
    "method": ("fast", "em"),
    "n_restarts": (1, 2),
    "fitting": ("backfitting", "prefitting"),
    "choose_by": ("loo", "cv"),
    "n_folds": (2, 10),
    "validation_fraction": (None, 0.3),
    "max_error": (0.0, 0.5, 100.0),
    "penalize_intercept": (False, True),
    "share": (0.05, 1.0),
    "eta": (0.0, 1e-3, 0.9),
    "margin": (0.0, 1e-6, 1.0),
    "p": (0.0, 0.5, 1.0),
    "floor": (None, 1e-12, 0.1),
    "D": (1e-6, 1.0, 1e6),
    "bandwidth": ("cv", "full", 1e-3, 1e3),
    "max_iter": (None, 1, 30),
    "tol": (1e-1, 1e-12),
    "random_state": (0, 1),
    "n_jobs": (None, 2),
}
SOLVERS = {
    "EmpiricalSVC": ("active_set", "interior_point", "smo", "cd", "newton"),
    "LSSVC": ("cholesky", "cg", "smo"),
    "LSSVR": ("cholesky", "cg", "smo"),
    "ZeroNormSVC": ("smo",),
    "ZeroNormSVR": ("smo",),
}
# Of the parameters a case may set, each is set with this chance.
CHANCE = 0.3
ALWAYS = ("n_vectors", "max_vectors")


@dataclass(frozen=True)
class Found:
    """How a case ended: "fitted", the class of the error, or "failed"; and what is wrong, if anything."""

    outcome: str
    wrong: str = ""


def parameters(name: str, d: int, rng: np.random.Generator) -> dict[str, Any]:
    """Random values of some parameters."""
    chosen = {}
    for key, values in (VALUES | {"solver": SOLVERS.get(name, ("auto",))}).items():
        value, likely = values[rng.integers(len(values))], 1.0 if key in ALWAYS else CHANCE
        if value is not None and rng.random() < likely and has(name, key):
            chosen[key] = (
                np.exp(rng.uniform(-3, 3, d)) if isinstance(value, str) and "per f" in value else value
            )
    return chosen


def weights(given: Any, rng: np.random.Generator) -> Any:
    """Quarters, as they are; none; some zero; of any sizes side by side; far from one."""
    kind = rng.integers(12)
    if kind < 8:
        zero, any_size = rng.random(len(given)) < 0.2, 10.0 ** rng.uniform(-30, 30, len(given))
        return (given, given, given, None, given * ~zero, given * ~zero, any_size, np.ones(len(given)))[kind]
    return given * (1e-9, 1e9, 1e29, 1e200)[kind - 8]


def targets(name: str, y: Any, rng: np.random.Generator) -> Any:
    """Those of regression in other units, and several at once; others as they are."""
    if not is_regressor(make(name)):
        return y
    kind = rng.integers(8)
    if kind < 5:
        return y
    return (np.column_stack([y, np.abs(y)]), y * 1e40, y * 1e-40)[kind - 5]


@dataclass(frozen=True)
class Trial:
    """A case in full: what is fitted to what, and how it is told apart in a message."""

    name: str
    rows: Any
    y: Any
    weight: Any
    asked: Any
    chosen: dict[str, Any]
    about: str


def trial(number: int) -> Trial:
    """The case of this number."""
    name = ours[number % len(ours)]
    rng = np.random.default_rng(number)
    shape = random_rows.SHAPES[rng.integers(len(random_rows.SHAPES))]
    kinds = tuple(rng.choice(sorted(random_rows.HARSH), rng.integers(1, 3), replace=False).tolist())
    case = random_rows.case(name, number, shape, kinds, int(rng.integers(4)))
    chosen = parameters(name, shape[1], rng)
    form = random_rows.FORMS[rng.integers(len(random_rows.FORMS))]
    X, T = case.X, np.vstack([case.T, case.X])
    if has(name, "kernel") and rng.random() < 0.1:  # products of the rows, of which some are no kernel's
        chosen["kernel"] = "precomputed"
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            X, T = (np.nan_to_num(rows @ case.X.T) for rows in (case.X, T))
    with np.errstate(over="ignore"):
        rows, asked = form(X), (T.astype(np.float32) if form is random_rows.single else T)
    weight, y = weights(case.weight, rng), targets(name, case.y, rng)
    heavy = "none" if weight is None else f"{weight.max():.0e}"
    several = "" if np.ndim(y) < 2 else " two targets"
    about = f"{name} {number} {shape} {kinds} {form.__name__} weights {heavy}{several} {chosen}"
    return Trial(name, rows, y, weight, asked, chosen, about)


def fault(model: Any, T: Any) -> str:
    """What is wrong with the answers of a model; nothing if nothing."""
    whole, alone = answers(model, T), answers(model, T[:1])
    scale = max(1.0, size(model, T))
    for method, answer in whole.items():
        answer = np.asarray(answer)
        if answer.dtype.kind != "f":
            continue
        # the logarithm of no density is minus infinity
        lost = np.isnan(answer) if method == "score_samples" else ~np.isfinite(answer)
        if lost.any():
            return f"{method} is not finite"
        with np.errstate(invalid="ignore"):
            error = np.nan_to_num(np.abs(alone[method][0] - answer[0]), nan=0.0).max()
        rounding = 1e-3 if np.float32 in (answer.dtype, T.dtype) else 1e-9  # that of the rows as well
        if error > rounding * max(scale, float(np.abs(answer[:1]).max())):
            return f"{method} of a row alone is off by {error:.2g}"
    return ""


def attack(number: int, *, loud: bool = False) -> Found:
    """How the case of this number ends."""
    given = trial(number)
    before = signal.signal(signal.SIGPROF, late)
    try:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of the processor, however busy it is
        try:
            wrong = fault(fit(given.name, given.rows, given.y, given.weight, **given.chosen), given.asked)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        return Found("failed" if wrong else "fitted", wrong and f"{given.about}: {wrong}")
    except Exception as error:
        if loud:
            traceback.print_exc()
        said = f"{given.about}: {type(error).__name__}: {error}"
        clear = isinstance(error, DOCUMENTED) and not isinstance(error, np.linalg.LinAlgError)
        clear = clear and not any(word in str(error) for word in UNCLEAR)
        return Found(type(error).__name__) if clear else Found("failed", said)
    finally:
        signal.signal(signal.SIGPROF, before)


def late(*_: Any) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def write_results(path: Path, lines: list[dict[str, Any]]) -> None:
    """The page with what all cases so far came to."""
    outcomes = Counter(line["outcome"] for line in lines)
    errors = sorted(kind for kind in outcomes if kind not in ("fitted", "failed"))
    columns = ["fitted", *errors, "failed"]
    rows = []
    for name in (*ours, "all"):
        some = [line for line in lines if name in (line["name"], "all")]
        counted = Counter(line["outcome"] for line in some)
        seconds = [line["seconds"] for line in some] or [0.0]
        rows.append([name, str(len(some)), *(str(counted[column]) for column in columns),
                     f"{sum(seconds):.0f}", f"{max(seconds):.1f}"])  # fmt: skip
    wrong = [line["wrong"] for line in lines if line["wrong"]]
    seeds = sorted(line["case"] for line in lines)
    page = [
        "# Random cases",
        "",
        f"`make attack CASES={len(lines)} SEED={seeds[0]}` (`tests/random_cases.py`); {versions()}. "
        "Random rows at their worst, targets, weights, containers and parameters, some of them senseless; each case "
        f"must end within {SECONDS} s of the processor in a model whose answers are finite and the same for a row "
        "alone, or in one clear "
        "error of a documented class. Seconds are of the processor.",
        "",
        *table(["estimator", "cases", *columns, "seconds", "longest"], rows),
        "",
        f"Cases that took more than {SLOW:.0f} s: {sum(line['seconds'] > SLOW for line in lines)}. "
        f"Cases that failed: {len(wrong)}.",
        *(f"- {text}" for text in wrong),
    ]
    write_page(path, page)


def main() -> int:
    """Run the attack; whether a case failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", type=int, nargs="?", default=2000)
    parser.add_argument("--seed", type=int, default=100_000, help="number of the first case")
    parser.add_argument("--only", default="", help="a part of the estimator's name")
    parser.add_argument("--case", type=int, nargs="+", help="try these cases alone, and show where they fail")
    parser.add_argument("--again", action="store_true", help="first try again what failed before")
    parser.add_argument("--journal", type=Path, default=ROOT / "build" / "random_cases.jsonl")
    parser.add_argument("--results", type=Path, help="page to write; none unless told")
    arguments = parser.parse_args()
    warnings.simplefilter("error", RuntimeWarning)
    # scikit-learn, looking for infinities
    warnings.filterwarnings("ignore", "invalid value encountered in reduce")
    warnings.simplefilter("ignore", UserWarning)
    if arguments.case:
        found = [attack(number, loud=True) for number in arguments.case]
        print(*found, sep="\n")
        return int(any(each.wrong for each in found))
    journal = Journal(arguments.journal, lambda line: (line["case"],))
    wanted = range(arguments.seed, arguments.seed + arguments.cases)
    left = [number for number in wanted if arguments.only in ours[number % len(ours)]]
    known = {number: journal.lines.get((number,)) for number in left}
    left = [n for n in left if known[n] is None or (arguments.again and known[n]["outcome"] == "failed")]
    for done, number in enumerate(left, 1):
        start = time.process_time()
        found = attack(number)
        seconds = round(time.process_time() - start, 3)
        journal.add({"case": number, "name": ours[number % len(ours)], "outcome": found.outcome,
                     "seconds": seconds, "wrong": found.wrong[:500]})  # fmt: skip
        if found.wrong:
            print(found.wrong[:500], flush=True)
        if arguments.results and done % SAVE_EVERY == 0:
            write_results(arguments.results, [journal.lines[n,] for n in wanted if (n,) in journal.lines])
    if arguments.results:
        write_results(arguments.results, [journal.lines[n,] for n in wanted if (n,) in journal.lines])
    failed = sum(line["outcome"] == "failed" for (n,), line in journal.lines.items() if n in wanted)
    print(f"{len(left)} cases tried now; {failed} of {len(wanted)} failed")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
