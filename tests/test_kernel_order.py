"""The order of the rows of a kernel matrix depends on its values alone; equal rows are merged alike in any order."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

import reference
import slimsvm
from slimsvm import LSSVR, FixedSizeLSSVR, GreedyLSSVR
from slimsvm.kernel_order import hashed, kernel_order

ESTIMATORS = [
    ("LSSVC", {}), ("LSSVR", {}), ("LSSVC", {"solver": "cg", "random_state": 0}), ("FullSVC", {}),
    ("FullSVC", {"loss": "squared_hinge"}), ("EmpiricalSVC", {"eta": 0.05}),
    ("EmpiricalSVC", {"eta": 0.05, "selection": "random_cholesky", "random_state": 0}),
    ("PrunedLSSVC", {"n_vectors": 10}),
    ("FixedSizeLSSVC", {"n_vectors": 10, "random_state": 0}), ("FixedSizeLSSVR", {"n_vectors": 10, "random_state": 0}),
    ("GreedyLSSVC", {"n_candidates": 10, "random_state": 0}), ("GreedyLSSVR", {"n_candidates": 10, "random_state": 0}),
    ("GreedyLSSVC", {}), ("GreedyLSSVR", {"max_vectors": 10}),
    ("TwoStageLSSVC", {"n_vectors": 8}), ("TwoStageLSSVR", {"n_vectors": 8, "n_candidates": 30, "random_state": 0}),
    ("ZeroNormSVC", {}), ("ZeroNormSVR", {}), ("LPSVC", {}), ("SparsityControlledSVC", {}), ("RVC", {}), ("RVR", {}),
    ("RVR", {"method": "em"}),
    ("SparseProbitClassifier", {}), ("MatchingPursuitSVC", {"max_vectors": 8}),
    ("MatchingPursuitSVR", {"max_vectors": 8, "n_candidates": 20, "random_state": 0}),
    ("SparseGreedyGPC", {"max_vectors": 8, "random_state": 0}),
    ("SparseGreedyGPR", {"max_vectors": 8, "random_state": 0}),
    ("CompactSVC", {"random_state": 0}), ("CompactSVR", {"random_state": 0}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "parameters"), ESTIMATORS)
def test_the_order_of_the_rows_of_a_kernel_matrix_changes_nothing(name, parameters):
    rng = np.random.default_rng(3)
    X, T = rng.standard_normal((90, 3)), rng.standard_normal((20, 3))
    model = getattr(slimsvm, name)(kernel="precomputed", **parameters)
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(90)
    if is_classifier(model):
        y = (y > 0).astype(int)
    weight = rng.uniform(0.5, 2.0, 90)
    weight[::9] = 0.0
    K, K_test = reference.rbf(X, X, 0.3), reference.rbf(T, X, 0.3)
    order = rng.permutation(90)
    outputs = "decision_function" if is_classifier(model) else "predict"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(K, y, sample_weight=weight)
        support, wanted = model.support_, getattr(model, outputs)(K_test)
        model.fit(K[order][:, order], y[order], sample_weight=weight[order])
    np.testing.assert_array_equal(order[model.support_], support)
    assert getattr(model, outputs)(K_test[:, order]).tobytes() == wanted.tobytes()


def no_labels(n):
    return np.zeros(n, dtype=np.uint64)


def permuted(K, order):
    return K[order][:, order]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_any_matrix_is_put_in_one_order(make):
    rng = np.random.default_rng(0)
    small = rng.integers(0, 3, (40, 40))  # many equal values
    points = np.stack(np.meshgrid(np.arange(6.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    grid = reference.rbf(points, points, 0.5).round(12)  # with symmetries
    near = np.array([[1.0, 0.5], [0.5, 1.0 + 1e-12]])  # apart in double precision only
    for K in (small + small.T, grid, near):
        n = len(K)
        wanted = permuted(K, kernel_order(make(K), np.arange(n), no_labels(n)))
        for _ in range(5):
            other = permuted(K, rng.permutation(n))
            found = permuted(other, kernel_order(make(other), np.arange(n), no_labels(n)))
            np.testing.assert_array_equal(found, wanted)


def test_labels_decide_where_the_matrix_does_not():
    n = 12
    labels = hashed(np.random.default_rng(0).standard_normal((n, 2)))
    wanted = labels[kernel_order(np.eye(n), np.arange(n), labels)]
    other = np.random.default_rng(1).permutation(n)
    np.testing.assert_array_equal(labels[other][kernel_order(np.eye(n), np.arange(n), labels[other])], wanted)


def test_the_last_bits_and_rows_left_out_do_not_matter():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    K = reference.rbf(X, X, 0.3)
    wanted = kernel_order(K, np.arange(50), no_labels(50))
    noisy = K * (1.0 + 1e-16 * rng.integers(-2, 3, K.shape))
    np.testing.assert_array_equal(kernel_order(noisy, np.arange(50), no_labels(50)), wanted)
    rows = np.sort(rng.permutation(50)[:30])
    part = kernel_order(K[rows][:, rows], np.arange(30), no_labels(30))
    np.testing.assert_array_equal(kernel_order(K, rows, no_labels(30)), part)


@pytest.mark.parametrize("estimator", [LSSVR, FixedSizeLSSVR, GreedyLSSVR])
def test_equal_rows_are_merged_to_the_same_bits_in_any_order(estimator):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((8, 2)), 5, axis=0)
    y, weight = rng.standard_normal(40), rng.uniform(0.1, 3.0, 40)
    T = rng.standard_normal((9, 2))
    options = {"n_vectors": 4, "random_state": 0} if estimator is FixedSizeLSSVR else {}
    wanted = estimator(**options).fit(X, y, sample_weight=weight).predict(T)
    for _ in range(5):
        at = rng.permutation(40)
        found = estimator(**options).fit(X[at], y[at], sample_weight=weight[at]).predict(T)
        assert found.tobytes() == wanted.tobytes()
    # weights that are sums of others: a row three times is a row of three times the weight
    at = np.r_[np.arange(40), 0, 0]
    thrice = np.where(np.arange(40) == 0, 3.0, 1.0)
    one, other = (
        estimator(**options).fit(X[rows], y[rows], sample_weight=w).predict(T)
        for rows, w in ((at, np.ones(42)), (np.arange(40), thrice))
    )
    np.testing.assert_allclose(one, other, rtol=1e-12)
