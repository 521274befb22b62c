"""Selection: the rules obey the laws of contracts.py, and agree with plain Cholesky."""

from __future__ import annotations

import numpy as np
import pytest

from contracts import SelectionContract
from reference import residuals
from slimsvm.kernels import RBF, Precomputed
from slimsvm.methods.empirical.cholesky import (
    BLOCK_ROWS,
    CANDIDATES,
    SELECTIONS,
    select_in_order,
    select_pivoted,
    select_random,
)
from slimsvm.problem import KernelGram


def in_order(K, eta):
    """Rows in order, each against all kept before."""
    J = []
    for a in range(len(K)):
        if residuals(K[: a + 1, : a + 1], J)[a] > eta:
            J.append(a)
    return J


def pivoted(K, eta, m):
    """The row of largest residual, one at a time."""
    d, V, J = np.diag(K).copy(), [], []
    while len(J) < m:
        i = int(d.argmax())
        if d[i] <= eta:
            break
        v = (K[i] - sum((u * u[i] for u in V), np.zeros(len(K)))) / np.sqrt(d[i])
        d = d - v * v
        d[i] = 0.0
        V.append(v)
        J.append(i)
    return J


def gram(X, kernel, held=False):
    return KernelGram(kernel, X, limit_bytes=2**30 if held else 0)


def plane(n, seed=0):
    return np.random.default_rng(seed).random((n, 2))


@pytest.mark.parametrize("eta", [0.3, 1e-2, 1e-4])
@pytest.mark.parametrize("n", [5, BLOCK_ROWS, 2 * BLOCK_ROWS + 7])
def test_rows_in_order_are_those_of_plain_cholesky(n, eta):
    X = plane(n)
    K = RBF(7.0)(X, X)
    assert select_in_order(gram(X, RBF(7.0)), eta=eta).rows.tolist() == in_order(K, eta)


@pytest.mark.parametrize("eta", [0.3, 1e-2, 1e-4])
@pytest.mark.parametrize("n", [5, CANDIDATES, 2 * CANDIDATES + 7])
def test_pivoted_rows_are_those_of_plain_pivoting(n, eta):
    X = plane(n)
    K = RBF(7.0)(X, X)
    assert select_pivoted(gram(X, RBF(7.0)), eta=eta).rows.tolist() == pivoted(K, eta, n)


class TestInOrder(SelectionContract):
    select = staticmethod(select_in_order)


class TestPivoted(SelectionContract):
    select = staticmethod(select_pivoted)


class TestRandom(SelectionContract):
    select = staticmethod(select_random)
    nested = False


def test_ties_go_to_the_first_row():
    X = np.eye(600)  # all distances equal
    chosen = select_pivoted(gram(X, RBF(1.0)), eta=1e-6, max_vectors=5)
    np.testing.assert_array_equal(chosen.rows, np.arange(5))


def test_random_rows_follow_the_residuals():
    # a cluster of many rows and a cluster of few: the second draw must fall in the cluster the first did not
    X = np.r_[np.full((90, 1), 0.0), np.full((10, 1), 50.0)] + 1e-9 * np.arange(100)[:, None]
    seconds = []
    for seed in range(200):
        rows = select_random(gram(X, RBF(1.0)), eta=1e-3, max_vectors=2, rng=np.random.default_rng(seed)).rows
        assert {bool(r >= 90) for r in rows} == {True, False}
        seconds.append(rows[0] >= 90)
    assert 0.03 < np.mean(seconds) < 0.2  # the first draw is uniform: one in ten


def test_precomputed_values_give_the_same_rows():
    X = plane(200)
    K = RBF(7.0)(X, X)
    for rule in ("cholesky", "pivoted_cholesky"):
        direct = SELECTIONS[rule](gram(X, RBF(7.0)), eta=1e-2).rows
        given_values = SELECTIONS[rule](gram(K, Precomputed()), eta=1e-2).rows
        np.testing.assert_array_equal(direct, given_values)
