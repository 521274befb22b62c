"""What test_determinism.py runs in processes of their own: what every model says, into a file."""

from __future__ import annotations

import itertools
import sys
import warnings
from typing import Any

import numpy as np
from sklearn.svm import SVC

from everyone import NAMES, answers, data, fit, has, make
from slimsvm import reduce
from slimsvm.chunks.sample import Size
from slimsvm.datasets import make_banana

SEPARATOR = "|"
MANY_ROWS = 100


def everything(n: int, n_jobs: int) -> dict[str, np.ndarray]:
    """What every estimator says, and reductions, fits in chunks and in parts, by name and method.

    On few rows what takes long is left out: CompactSVR, which is CompactSVC but for its loss.
    """
    found: dict[str, np.ndarray] = {}

    def keep(what: str, model: Any, T: Any) -> None:
        for method, answer in answers(model, T).items():
            found[what + SEPARATOR + method] = np.asarray(answer)
        if hasattr(model, "support_"):
            found[what + SEPARATOR + "support"] = np.asarray(model.support_)

    for name in NAMES if n >= MANY_ROWS else [name for name in NAMES if name != "CompactSVR"]:
        X, y, weight, T = data(name, n=n)
        threads = {"n_jobs": n_jobs} if has(name, "n_jobs") else {}
        keep(name, fit(name, X, y, weight, **threads), T)
        model = make(name, **threads)
        if hasattr(model, "fit_chunks"):
            kind = type(model)
            kind._sample_size, before = Size(rows=n // 2), kind._sample_size
            cuts = list(itertools.pairwise(range(0, n + 1, n // 4)))
            keep(
                f"{name} in chunks",
                model.fit_chunks(lambda X=X, y=y, cuts=cuts: ((X[a:b], y[a:b]) for a, b in cuts)),
                T,
            )
            kind._sample_size = before
        if hasattr(model, "partial_fit"):
            model = make(name, **threads)
            for rows in (slice(0, n // 2), slice(n // 2, n)):
                model.partial_fit(X[rows], y[rows])
            keep(f"{name} in parts", model, T)
    X, y = make_banana(n, random_state=0)
    svc = SVC(gamma=1.0).fit(X, y)
    for method in ("auto", "prune", "refine"):
        keep(f"reduce {method}", reduce(svc, X, y, max_vectors=6, method=method, n_jobs=n_jobs), X)
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    path, rows, jobs = sys.argv[1:]
    np.savez(path, **everything(int(rows), int(jobs)))
