"""What test_instruction_sets.py runs once for each instruction set: the core at fixed points, stored models, scores."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.svm import SVC

from core_checks import kernels
from everyone import answers, data, make
from slimsvm import _core, load, reduce

SEPARATOR = "|"
LOSSES = (("rounded_hinge", 0.25, 0.0), ("squared_hinge", 0.0, 0.0), ("squared", 0.0, 0.0),
          ("insensitive", 0.25, 0.1))  # fmt: skip
# Methods that move vectors, and so end where the last digits send them.
MOVED = ("CompactSVC", "CompactSVR", "Reduced SVC", "Reduced SVR", "reduce")
ROWS, FRESH_ROWS, DRAWS = 60, 400, 8


def refinement_problem(k: int) -> dict[str, Any]:
    """Rows, targets, weights and a model that is far from the best, with NumPy alone: the same in every process."""
    rng = np.random.default_rng(k)
    n, d, m = 70, 5, 9
    Z, gamma = rng.standard_normal((m, d)), 0.2
    K = np.exp(-gamma * np.square(Z[:, None] - Z[None]).sum(axis=2))
    return {
        "X": rng.standard_normal((n, d)), "Y": np.sign(rng.standard_normal((n, k))),
        "weights": rng.uniform(0.5, 2.0, (n, k)), "penalty": np.full(k, 0.1), "vectors": Z,
        "coef": rng.standard_normal((m, k)), "intercept": rng.standard_normal(k),
        "log_widths": np.full(d, np.log(gamma)), "factor": np.linalg.cholesky(K + 1e-9 * np.eye(m)),
    }  # fmt: skip


def refined(problem: dict[str, Any], loss: tuple[str, float, float], max_iter: int) -> Any:
    """What `refine` gives back after so many iterations."""
    p = problem
    return _core.refine(
        p["X"], p["Y"], p["weights"], p["penalty"], *loss, p["vectors"], p["coef"], p["intercept"], p["log_widths"],
        p["factor"], "per_feature", False, max_iter, 1e-9, 10,
    )  # fmt: skip


def at_the_same_points() -> dict[str, np.ndarray]:
    """Kernel values and outputs; the value of refinement's objective where it starts, and its first step."""
    found: dict[str, np.ndarray] = {}
    for d, m in ((1, 3), (6, 17), (33, 50)):
        rng = np.random.default_rng(d)
        X, Z = rng.standard_normal((101, d)), rng.standard_normal((m, d))
        coef, intercept = rng.standard_normal((m, 2)), rng.standard_normal(2)
        for name, (parameters, _) in kernels(d).items():
            key = f"{name} {d}"
            found[f"gram {key}"] = _core.gram(name, *parameters, X, Z, 1)
            found[f"expansion {key}"] = _core.expansion(name, *parameters, X, Z, coef, intercept, 1)
            sizes = np.abs(found[f"gram {key}"]) @ np.abs(coef) + np.abs(intercept)
            found[f"size {key}"] = sizes
    for k in (1, 3):
        problem = refinement_problem(k)
        for loss in LOSSES:
            vectors, coef, intercept, log_widths, value, *_ = refined(problem, loss, 0)
            found[f"value {loss[0]} {k}"] = np.array(value)
            vectors, coef, intercept, log_widths, *_ = refined(problem, loss, 1)
            for name, part in zip(
                ("vectors", "coef", "intercept", "log_widths"), (vectors, coef, intercept, log_widths), strict=True
            ):  # fmt: skip
                found[f"step {loss[0]} {k} {name}"] = part - problem[name]
    return found


def of_stored_models(folder: Path) -> dict[str, np.ndarray]:
    """What every model in a folder says to the rows beside it."""
    found: dict[str, np.ndarray] = {}
    for path in sorted(folder.glob("*.slim")):
        rows = np.load(path.with_suffix(".npy"))
        for method, answer in answers(load(path), rows).items():
            found[f"{path.stem}{SEPARATOR}{method}"] = np.asarray(answer)
    return found


def scores() -> dict[str, np.ndarray]:
    """The error of every method that moves vectors on fresh rows, for several draws of its training rows."""
    found: dict[str, np.ndarray] = {}
    for name in MOVED:
        base = "FullSVC" if name == "reduce" else name
        errors = []
        for draw in range(DRAWS):
            X, y, *_ = data(base, n=ROWS + FRESH_ROWS, seed=100 + draw)
            X, fresh, y, wanted = X[:ROWS], X[ROWS:], y[:ROWS], y[ROWS:]
            if name == "reduce":
                model = reduce(SVC(gamma=1.0).fit(X, y), X, y, max_vectors=6)
            else:
                model = make(name).fit(X, y)
            answer = model.predict(fresh)
            labels = name == "reduce" or is_classifier(model)
            errors.append(
                np.mean(answer != wanted) if labels else np.mean((answer - wanted) ** 2) / np.var(wanted)
            )
        found[name] = np.array(errors)
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    what, path = sys.argv[1], Path(sys.argv[2])
    assert what in ("points", "models", "scores")
    results = {
        "points": at_the_same_points,
        "scores": scores,
        "models": lambda: of_stored_models(path.parent),
    }
    np.savez(path, **results[what]())
