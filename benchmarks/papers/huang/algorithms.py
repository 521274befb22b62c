"""How SSVC_A is computed: our compiled rounds, the same in NumPy, and the paper's modified SMO and epsilon."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.svm import SVC

from harness import Record, n_vectors
from papers.cells import Journal
from slimsvm import ZeroNormSVC
from slimsvm.methods.zero_norm import rounds
from slimsvm.solvers import hinge_no_bias

from . import published as paper
from .examples import fitted, ripley, width, wrong
from .nested import TIMED_ROUNDS, grid_of, nested, outer_folds, rows_of

# The paper calls its epsilon very small and names no value.
EPSILON = 1e-4
EPSILONS = (None, 1e-6, 1e-4, 1e-3, 1e-2)


@contextmanager
def without_the_core() -> Iterator[None]:
    """Within this context each round is solved by the interior point in NumPy and SciPy."""

    def in_numpy(B: Any, t: Any, c: Any, *, sign: Any, columns: Any, scale: Any, tol: float, **_: Any) -> Any:
        Z = sign[:, None] * hinge_no_bias.take_columns(B, columns) * scale
        return hinge_no_bias.solve_interior_point_hinge(Z, t, c, tol=tol)

    compiled, rounds.solve_hinge_through_origin = rounds.solve_hinge_through_origin, in_numpy
    try:
        yield
    finally:
        rounds.solve_hinge_through_origin = compiled


def chosen_setting(journal: Journal, title: str, fold: int) -> dict[str, float] | None:
    """SSVC_A's in Table 2."""
    found = journal.found(nested, title=title, method="SSVC_A", grid=grid_of(title, "SSVC_A"), fold=fold)
    return None if found is None else found["best"]["setting"]


def algorithms(*, title: str, fold: int, setting: dict[str, float]) -> Record:
    """A fold of Table 2 by each algorithm: seconds, vectors, rounds and error; the slow ones are timed once."""
    X, y = rows_of(title)
    train, test = outer_folds(X, y)[fold]
    common: Record = {"C": setting["C"], "gamma": setting["gamma"] / X.shape[1]}
    models: dict[str, Any] = {
        "compiled": ZeroNormSVC(**common, n_jobs=1),
        "SVC": SVC(**common),
        "SMO": ZeroNormSVC(**common, solver="smo", n_jobs=1),
        "SMO, epsilon": ZeroNormSVC(**common, solver="smo", floor=EPSILON, n_jobs=1),
        "NumPy": ZeroNormSVC(**common, n_jobs=1),
    }
    times: dict[str, list[float]] = {key: [] for key in models}

    def fit(key: str) -> None:
        start = time.process_time()
        models[key].fit(X[train], y[train])
        times[key].append(time.process_time() - start)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(TIMED_ROUNDS):
            fit("compiled")
            fit("SVC")
        fit("SMO")
        fit("SMO, epsilon")
        with without_the_core():
            fit("NumPy")
    return {
        key: {
            "seconds": round(float(np.median(times[key])), 5),
            "vectors": n_vectors(model),
            "rounds": int(np.max(model.n_iter_)),
            "error": wrong(model, X[test], y[test]),
        }
        for key, model in models.items()
    }


def ripley_rounds() -> Record:
    """Figure 4 by the paper's SMO and ours, without its epsilon and with several: coefficients left after a round."""
    split = ripley()
    sigma, C = paper.SETTINGS_3
    found = []
    for solver in ("auto", "smo"):
        for epsilon in EPSILONS:
            model = ZeroNormSVC(C=C, gamma=width(sigma), solver=solver, floor=epsilon, n_jobs=1)
            _, seconds, unfinished = fitted(model, split.X_test, split.y_test)
            found.append(
                {
                    "solver": solver,
                    "epsilon": epsilon,
                    "left": [int(count) for count in model.n_columns_],
                    "vectors": n_vectors(model),
                    "error": wrong(model, split.X, split.y),
                    "seconds": seconds,
                    "unfinished": unfinished,
                }
            )
    return {"fits": found}
