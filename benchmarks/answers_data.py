"""What the cases of benchmarks/answers.py share: the rows, and parameters by the names that a commit has for them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

import slimsvm

# What a parameter is called here: its names in the order in which a signature is searched for them.
ALIASES = {
    "max_vectors": ("max_vectors", "n_vectors"),
    "metric": ("metric", "widths"),
    "rank_tol": ("rank_tol", "tol"),
    "tol": ("tol", "kkt_tol"),
    "stop": ("max_error", "epsilon"),  # of the greedy machines: the error at which they stop
    "final_change": ("tol",),  # of the sparse greedy Gaussian processes: the gap at which they stop
}
N, N_HELD_OUT, N_FEATURES = 140, 60, 4
# Some rows stand twice, and entries this small are zero: equal rows and CSR have something to show.
N_REPEATED, SMALL = 6, 0.4
PRECOMPUTED_GAMMA = 0.3

Fitted = tuple[Any, Any]  # a model, and the rows to ask it about
Parameters = dict[str, Any]


@cache
def rows() -> np.ndarray:
    X = np.random.default_rng(0).standard_normal((N + N_HELD_OUT, N_FEATURES))
    X[np.abs(X) < SMALL] = 0.0
    X[N - N_REPEATED : N] = X[:N_REPEATED]
    return X


@cache
def targets(task: str) -> np.ndarray:
    """Labels or values of all rows, with noise; equal rows differ in it."""
    X, rng = rows(), np.random.default_rng(1)
    if task == "binary":
        radius = np.square(X[:, :2]).sum(axis=1) + X[:, 2] + 0.4 * rng.standard_normal(len(X))
        return np.where(radius > 1.6, 1, -1)
    if task == "three":
        angle = np.arctan2(X[:, 1] + 0.3 * rng.standard_normal(len(X)), X[:, 0])
        return np.array(["left", "right", "up"])[np.digitize(angle, [-1.0, 1.0])]
    values = np.sin(2 * X[:, 0]) + 0.5 * np.square(X[:, 1]) + 0.1 * rng.standard_normal(len(X))
    return values if task == "one" else np.column_stack([values, np.cos(X[:, 2]) - X[:, 3]])


@cache
def weights() -> np.ndarray:
    """Of the training rows: whole numbers, fractions and zeros."""
    rng = np.random.default_rng(2)
    weight = np.where(rng.random(N) < 0.5, rng.integers(1, 4, N), rng.uniform(0.5, 2.0, N))
    weight[rng.permutation(N)[:5]] = 0.0
    return weight


FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "float64": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_array,
    "precomputed": lambda X: rbf_kernel(X, rows()[:N], gamma=PRECOMPUTED_GAMMA),
}


def parts(form: str) -> tuple[Any, Any]:
    """Training rows and held-out rows."""
    return FORMS[form](rows()[:N]), FORMS[form](rows()[N:])


def parameters_of(function: Any, wanted: Parameters) -> Parameters:
    """The parameters under the names that this function's signature has."""
    names = inspect.signature(function).parameters
    found = {}
    for key, value in wanted.items():
        tried = ALIASES.get(key, (key,))
        name = next((name for name in tried if name in names), None)
        if name is None:
            raise TypeError(f"no parameter {' or '.join(tried)}")
        found[name] = value
    return found


def make(name: str, wanted: Parameters) -> Any:
    kind = getattr(slimsvm, name)
    seed = {"random_state": 0} if "random_state" in inspect.signature(kind).parameters else {}
    return kind(**parameters_of(kind, wanted), **seed)


def label(parameters: Parameters) -> str:
    """Parameters in the name of a case."""
    return "(" + ", ".join(f"{key}={value}" for key, value in parameters.items()) + ")" if parameters else ""
