"""Other kernel methods reduced (the paper's conclusion says that they can be), and the speed of the reduction alone."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.decomposition import KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import NearestCentroid

from harness import Array, Record, Split, interleaved, published, timed
from slimsvm import KernelExpansion, reduce
from slimsvm.kernels import RBF
from slimsvm.reduction.prune import RIDGE, prune

from . import published as paper

COMPONENTS = 10
# Rows that a kernel discriminant or a kernel ridge is trained with at most.
MOST_ROWS = 2000
# Ridge of the within-class scatter, relative to its mean eigenvalue.
SCATTER_RIDGE = 1e-3
KERNEL_PCA = ("image", "waveform", "usps")
DISCRIMINANT = ("image", "waveform", "usps")
KERNEL_RIDGE = ("concrete", "abalone", "kin8nm")
OPTIONS: dict[str, dict[str, Any]] = {
    "redundancy": {"method": "prune", "criterion": "redundancy", "ridge": paper.RIDGE, "max_loss": paper.TAU},
    "distance": {"method": "prune", "criterion": "distance", "ridge": paper.RIDGE, "max_loss": paper.TAU},
    "damage": {"method": "prune", "criterion": "damage", "ridge": RIDGE, "max_loss": paper.TAU},
    "auto": {"max_loss": paper.TAU},
}
SPEED_VECTORS, SPEED_KEEP = 4100, 2000


def data_name(name: str) -> str:
    if name == "usps":
        return name
    return f"reg_{name}" if name in KERNEL_RIDGE else f"ida_{name}"


def rows_of(name: str) -> Split:
    """The first split (a random one of abalone), at most 2,000 training rows, inputs standardised by them."""
    X, X_test, y, y_test = published(data_name(name))
    rows = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
    X, y = X[rows], y[rows]
    deviation = X.std(axis=0)
    deviation[deviation == 0] = 1.0
    mean = X.mean(axis=0)
    return Split((X - mean) / deviation, (X_test - mean) / deviation, y, y_test)


def usual_gamma(X: Array) -> float:
    """One over the median squared distance."""
    distances = euclidean_distances(X, squared=True)
    return float(1 / np.median(distances[np.triu_indices(len(X), 1)]))


def discriminants(X: Array, y: Array, gamma: float) -> KernelExpansion:
    """Kernel discriminants (the paper's reference [2]): one output fewer than classes, vectors all rows."""
    K = rbf_kernel(X, gamma=gamma)
    classes, members = np.unique(y, return_inverse=True)
    means = np.stack([K[:, members == c].mean(axis=1) for c in range(len(classes))], axis=1)  # (n, classes)
    within = K - means[:, members]
    scatter = within @ within.T / len(y)
    scatter[np.diag_indices_from(scatter)] += SCATTER_RIDGE * np.trace(scatter) / len(y)
    weights = np.bincount(members) / len(y)
    apart = (means - means @ weights[:, None]) * np.sqrt(weights)
    n_outputs = len(classes) - 1
    _, alpha = linalg.eigh(apart @ apart.T, scatter, subset_by_index=[len(y) - n_outputs, len(y) - 1])
    return KernelExpansion(RBF(gamma), X, alpha[:, ::-1], -(K @ alpha[:, ::-1]).mean(axis=0))


def changes(before: Array, after: Array) -> float:
    """Mean squared change over the variance, mean over the outputs."""
    return float(np.mean(np.square(after - before).mean(axis=0) / before.var(axis=0)))


def other_method(*, kind: str, name: str) -> Record:
    """A kernel method on all rows and its reductions: vectors, what the test rows lose, and seconds.

    `score` is the rate of linear discriminants on the components, the rate of the nearest class mean in the space of
    the discriminants, or R^2; `change` that of the outputs on the test rows, over their variance.
    """
    X, X_test, y, y_test = rows_of(name)
    start = time.process_time()
    if kind == "kernel PCA":
        model: Any = KernelPCA(COMPONENTS, kernel="rbf", gamma=usual_gamma(X)).fit(X)
    elif kind == "kernel discriminants":
        model = discriminants(X, y, usual_gamma(X))
    else:
        grid = {
            "alpha": [10.0**e for e in range(-3, 1)],
            "gamma": [usual_gamma(X) * 4.0**e for e in range(-2, 2)],
        }
        search = GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=KFold(5, shuffle=True, random_state=0))
        model = search.fit(X, y - y.mean()).best_estimator_
    fitted = time.process_time() - start

    def outputs(model: Any, rows: Array) -> Array:
        if kind == "kernel ridge":
            return model.predict(rows).reshape(len(rows), -1)
        return model(rows) if isinstance(model, KernelExpansion) else model.transform(rows)

    def score(model: Any) -> float:
        if kind == "kernel ridge":
            return round(float(r2_score(y_test - y.mean(), model.predict(X_test))), 4)
        judge = LinearDiscriminantAnalysis() if kind == "kernel PCA" else NearestCentroid()
        return round(100 * judge.fit(outputs(model, X), y).score(outputs(model, X_test), y_test), 3)

    before = outputs(model, X_test)
    found: Record = {
        "all": {"vectors": len(X), "score": score(model), "change": 0.0, "seconds": round(fitted, 3)}
    }
    target = (X, y - y.mean()) if kind == "kernel ridge" else (X,)
    for key, options in OPTIONS.items():
        slim, seconds = timed(partial(reduce, model, *target, **options), time.process_time)
        found[key] = {
            "vectors": slim.n_vectors_,
            "score": score(slim),
            "change": round(changes(before, outputs(slim, X_test)), 5),
            "seconds": round(seconds, 3),
        }
    return found


def speed() -> Record:
    """4100 vectors to 2000 beside one inverse of the same matrix: medians of three, called in turn."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((SPEED_VECTORS, 20))
    K, coef = rbf_kernel(X, gamma=0.05), rng.standard_normal((SPEED_VECTORS, 1))

    def pruned(criterion: str) -> None:
        prune(K.copy(), coef, n_keep=SPEED_KEEP, criterion=criterion, ridge=paper.RIDGE)

    functions: dict[str, Any] = {"inverse": partial(np.linalg.inv, K)}
    functions |= {key: partial(pruned, key) for key in ("redundancy", "distance", "damage")}
    found = interleaved(functions, 3, warm_up=False, clock=time.process_time)
    return {key: round(value, 3) for key, value in found.items()}
