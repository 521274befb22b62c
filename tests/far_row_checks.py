"""Outputs where some rows or vectors lie far from the others: checks for any instruction set.

A row has one answer, alone or among others, and it is the exact one up to rounding; the measure is the size of what
is added up, sum_j |coef_j k_j| + |intercept|. Kernel values of the size of the smallest normal number count as 0.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

import reference
from slimsvm import KernelExpansion
from slimsvm.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid

DTYPES = (np.float32, np.float64)
TOLERANCE = {np.dtype(np.float32): 3e-5, np.dtype(np.float64): 1e-12}
VANISHES = {dtype: 2 * float(np.finfo(dtype).tiny) / tol for dtype, tol in TOLERANCE.items()}
BATCHES = (1, 7, 8, 33, 1000)
DISTANCES = (
    RBF(0.5),
    RBF(30.0),
    RBF((0.5, 2.0, 0.0, 1e-3)),
    RBF(1e-59),
    RBF(1e-90),
    RBF(1e90),
    Laplacian(0.5),
    Laplacian((0.5, 2.0, 0.0, 1e-3)),
    Laplacian(1e-30),
    Laplacian(1e-60),
)
PRODUCTS = (
    Linear(),
    Polynomial(0.5, 1.0, 2),
    Polynomial(1e-20, 0.0, 1),
    Polynomial(1e-60, 1.0, 2),
    Sigmoid(0.25, -0.5),
    Sigmoid(1e-58),
)
D = 4


def blocks(dtype, n=70, m=40, seed=0):
    """Rows and vectors by name: each pair has rows that are near each other wherever they lie."""
    rng = np.random.default_rng(seed)

    def pair(change):
        X, Z = change(rng.standard_normal((n, D))), change(rng.standard_normal((m, D)))
        beside = Z[rng.integers(m, size=n // 2)]
        X[: n // 2] = beside + np.where(np.abs(beside) < 1e100, 0.1 * rng.standard_normal((n // 2, D)), 0.0)
        return X.astype(dtype), Z.astype(dtype)

    def some(share, column, value):
        def change(rows):
            rows[rng.random(len(rows)) < share, column] = value
            return rows

        return change

    def scaled(share, factor):
        def change(rows):
            rows[rng.random(len(rows)) < share] *= factor
            return rows

        return change

    largest = np.finfo(dtype).max
    return {
        "ordinary": pair(lambda rows: rows),
        "moved": pair(lambda rows: rows + 1e4),
        "moved far": pair(lambda rows: rows + 1e30),
        "sentinel": pair(some(0.3, 2, -9999.0)),
        "half sentinels": pair(some(0.5, 0, 1e6)),
        "one outlier": pair(lambda rows: np.vstack([rows[:-1], [[1e9, -1e9, 0.0, 1e9]]])),
        "huge cells": pair(some(0.1, 1, 1e20)),
        "huge rows": pair(scaled(0.2, 1e30)),
        "many sizes": pair(lambda rows: rows * 10.0 ** rng.uniform(-3, 30, (len(rows), 1))),
        "middling": pair(lambda rows: 6.0 * rows),
        "extreme cells": pair(some(0.2, 0, -largest)),
        "extreme in both": pair(lambda rows: some(0.2, 2, largest)(some(0.2, 2, -largest)(rows))),
    }


def error_of(got, exact, X, coef, intercept):
    """Largest error of outputs in the measure named above, given `reference.exact_values`."""
    K, size = exact
    coef, intercept = coef.astype(np.longdouble), intercept.astype(np.longdouble)
    measure = size @ np.abs(coef) + np.abs(intercept)
    measure += VANISHES[X.dtype] * np.abs(coef).sum(axis=0)
    return float((np.abs(got - (K @ coef + intercept)) / measure).max())


def outputs_in_batches(f, X):
    """For each size of batch, the outputs at all rows."""
    for size in BATCHES:
        yield size, np.vstack([f(X[start : start + size]) for start in range(0, X.shape[0], size)])


def model(X, Z, outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    coef = rng.standard_normal((len(Z), outputs)).astype(X.dtype)
    return coef, rng.standard_normal(outputs).astype(X.dtype)


def compare_distances(m=40, csr=False, n=70) -> float:
    """Largest error in units of the tolerance."""
    make = sparse.csr_array if csr else np.asarray
    worst = 0.0
    for dtype in DTYPES:
        for name, (X, Z) in blocks(dtype, n, m).items():
            for kernel in DISTANCES:
                exact = reference.exact_values(kernel, X, Z)
                coef, intercept = model(X, Z)
                for offset in (intercept, 0 * intercept):
                    f = KernelExpansion(kernel, make(Z), coef, offset)
                    for size, got in outputs_in_batches(f, make(X)):
                        error = error_of(got, exact, X, coef, offset) / TOLERANCE[np.dtype(dtype)]
                        assert error <= 1, f"{name}, {kernel}, {np.dtype(dtype)}, {size=}, {m=}: {error}"
                        worst = max(worst, error)
                K, wanted = kernel(make(X), make(Z)), exact[0]
                error = np.abs(K - wanted) / (wanted + VANISHES[np.dtype(dtype)])
                assert error.max() <= 3 * TOLERANCE[np.dtype(dtype)], (
                    f"gram {name}, {kernel}, {np.dtype(dtype)}"
                )
    return worst


def fits(exact, X, Z, coef, intercept):
    """Whether the exact outputs, and in double precision all that is added up, can be stored."""
    K, size = exact
    outputs = np.abs(K @ coef.astype(np.longdouble) + intercept)
    products = np.abs(X).astype(np.longdouble) @ np.abs(Z).astype(np.longdouble).T
    limit = np.finfo(np.float64).max / 1e10
    return outputs.max() < np.finfo(X.dtype).max and products.max() < limit and size.max() < limit


def compare_products(m=40, csr=False, n=70) -> int:
    """How many models had outputs that fit."""
    make = sparse.csr_array if csr else np.asarray
    fitting = 0
    for dtype in DTYPES:
        for name, (X, Z) in blocks(dtype, n, m).items():
            for kernel in PRODUCTS:
                exact = reference.exact_values(kernel, X, Z)
                for outputs in (1, 3):
                    coef, intercept = model(X, Z, outputs)
                    where = f"{name}, {kernel}, {np.dtype(dtype)}, {m=}, {outputs=}"
                    f = KernelExpansion(kernel, make(Z), coef, intercept)
                    if not fits(exact, X, Z, coef, intercept):
                        continue
                    fitting += 1
                    answers = dict(outputs_in_batches(f, make(X)))
                    for size, got in answers.items():
                        error = error_of(got, exact, X, coef, intercept)
                        assert error <= TOLERANCE[np.dtype(dtype)], f"{where}, {size=}: {error}"
                        if not csr:
                            assert np.array_equal(got, answers[1]), f"{where}, {size=}: bits"
    return fitting


def compare_far_rows(n: int) -> None:
    """All of it, for n rows and models of few vectors and of many."""
    for m in (5, 60):
        print(m, compare_distances(m, n=n), compare_products(m, n=n))
