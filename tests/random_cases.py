"""An attack on all estimators: random data, random parameters; each case ends in a sound model or in one clear error.

Run by hand: `python tests/random_cases.py 2000 --seed 1` prints every case that does not, with what reproduces it.
`tests/test_laws_hypothesis.py` holds the laws on the same kinds of data.
"""

from __future__ import annotations

import argparse
import signal
import sys
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError

import random_rows
from everyone import NAMES, WRAPPED, answers, fit, has, size
from slimsvm.errors import SlimsvmError

SECONDS = 20
DOCUMENTED = (ValueError, MemoryError, NotFittedError, SlimsvmError)
# What no user understands, and no sentence of ours says.
UNCLEAR = ("infs or NaNs", "must be finite", "math domain", "cannot convert", "zero-size", "Singular")
VALUES: dict[str, tuple[Any, ...]] = {
    "kernel": ("rbf", "rbf", "linear", "poly", "sigmoid", "laplacian"),
    "gamma": ("scale", "scale", "auto", 1e-12, 0.5, 1e12),
    "C": (1e-12, 1e-3, 1.0, 1.0, 1e3, 1e12),
    "degree": (0, 1, 3, 20),
    "coef0": (0.0, 1.0, -1.0),
    "loss": (None,),
    "class_weight": (None, None, "balanced"),
    "epsilon": (0.0, 0.1, 10.0),
    "max_vectors": (1, 3, 8),
    "n_vectors": (1, 2, 5),
    "solver": (None,),
    "orthonormal": (False, True),
    "refine": (True, False),
    "metric": ("auto", "one", "per_feature"),
    "selection": ("cholesky", "pivoted_cholesky", "random_cholesky"),
    "variant": ("quadratic", "linear"),
    "method": (None,),
}


def parameters(name: str, rng: np.random.Generator) -> dict[str, Any]:
    """Random values of some parameters; None leaves the default."""
    chosen = {}
    for key, values in VALUES.items():
        value = values[rng.integers(len(values))]
        if value is not None and has(name, key) and (key.startswith("n_v") or rng.random() < 0.5):
            chosen[key] = value
    if name.startswith("Compact") and chosen.get("kernel", "rbf") != "rbf":
        chosen.pop("metric", None)
    return chosen


def late(*_: Any) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def attack(name: str, seed: int) -> str | None:
    """What is wrong with one case; None if nothing."""
    rng = np.random.default_rng(seed)
    shape = random_rows.SHAPES[rng.integers(len(random_rows.SHAPES))]
    kinds = tuple(rng.choice(sorted(random_rows.HARSH), rng.integers(1, 3), replace=False).tolist())
    case = random_rows.case(name, seed, shape, kinds, int(rng.integers(4)))
    chosen = parameters(name, rng)
    form = (np.asarray, np.asarray, sparse.csr_array, np.float32)[rng.integers(4)]
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of the processor, however busy it is
    try:
        with np.errstate(over="ignore"):
            X, T = form(case.X), np.vstack([case.T, case.X])
        model = fit(name, X, case.y, case.weight, **chosen)
        whole, alone = answers(model, T), answers(model, T[:1])
        scale = max(1.0, size(model, T))
        for method, answer in whole.items():
            if np.asarray(answer).dtype.kind == "f":
                if np.isnan(answer).any():
                    return f"{name} {seed} {kinds} {chosen}: {method} is not a number"
                with np.errstate(invalid="ignore"):
                    error = np.nan_to_num(np.abs(alone[method][0] - answer[0]), nan=0.0).max()
                rounding = 1e-3 if answer.dtype == np.float32 else 1e-9
                if error > rounding * max(scale, float(np.abs(answer[:1]).max())):
                    return f"{name} {seed} {kinds} {chosen}: {method} of a row alone is off by {error:.2g}"
    except DOCUMENTED as error:
        if any(word in str(error) for word in UNCLEAR):
            return f"{name} {seed} {kinds} {chosen} {form.__name__}: unclear: {error}"
    except Exception as error:
        return f"{name} {seed} {kinds} {chosen} {form.__name__}: {type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return None


def main() -> int:
    """Run the attack; the number of cases that failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", type=int, nargs="?", default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="a part of the estimator's name")
    arguments = parser.parse_args()
    signal.signal(signal.SIGPROF, late)
    warnings.simplefilter("error", RuntimeWarning)
    warnings.filterwarnings(
        "ignore", "invalid value encountered in reduce"
    )  # scikit-learn, looking for infinities
    warnings.simplefilter("ignore", UserWarning)
    names = [name for name in NAMES if name not in WRAPPED and arguments.only in name]
    failed = 0
    for number in range(arguments.cases):
        wrong = attack(names[number % len(names)], arguments.seed + number)
        if wrong:
            failed += 1
            print(wrong[:400], flush=True)
    print(f"{failed} of {arguments.cases} cases failed")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
