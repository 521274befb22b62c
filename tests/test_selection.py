"""Selection: the rules against plain Cholesky, their prefixes, ties, duplicates and limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slimsvm.kernels import RBF, Linear, Polynomial, Precomputed
from slimsvm.methods.empirical.cholesky import (
    BLOCK_ROWS,
    CANDIDATES,
    SELECTIONS,
    select_in_order,
    select_pivoted,
    select_random,
)
from slimsvm.problem import KernelGram


def residuals(K, J):
    """Squared distances from the span of the rows J."""
    if not len(J):
        return np.diag(K).copy()
    return np.diag(K) - np.einsum("ij,ji->i", K[:, J], np.linalg.lstsq(K[np.ix_(J, J)], K[J], rcond=1e-14)[0])


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


@pytest.mark.parametrize("rule", SELECTIONS)
@pytest.mark.parametrize("kernel", [RBF(7.0), Polynomial(1.0, 1.0, 3), Linear()])
@pytest.mark.parametrize("held", [True, False])
def test_the_factor_and_the_threshold(rule, kernel, held):
    X = plane(300)
    K = kernel(X, X)
    chosen = SELECTIONS[rule](gram(X, kernel, held), eta=1e-3, rng=np.random.default_rng(1))
    J = chosen.rows
    assert len(set(J.tolist())) == len(J)
    np.testing.assert_allclose(chosen.factor @ chosen.factor.T, K[np.ix_(J, J)], atol=1e-12 * np.abs(K).max())
    np.testing.assert_array_equal(chosen.factor, np.tril(chosen.factor))
    # every kept row exceeded the threshold when it was kept, and no other row exceeds it at the end
    assert (np.diag(chosen.factor) ** 2 > 1e-3).all()
    assert residuals(K, J).max() <= 1e-3 * (1 + 1e-6)


@pytest.mark.parametrize("rule", SELECTIONS)
def test_a_prefix_is_a_smaller_answer(rule):
    X = plane(400)
    whole = SELECTIONS[rule](gram(X, RBF(7.0)), eta=1e-6, max_vectors=30, rng=np.random.default_rng(3))
    some = whole.first(11)
    assert len(whole.rows) == 30
    K = RBF(7.0)(X[some.rows], X[some.rows])
    np.testing.assert_allclose(some.factor @ some.factor.T, K, atol=1e-13)
    if rule != "random_cholesky":
        alone = SELECTIONS[rule](gram(X, RBF(7.0)), eta=1e-6, max_vectors=11)
        np.testing.assert_array_equal(alone.rows, some.rows)


@given(st.integers(0, 2**32 - 1), st.sampled_from(list(SELECTIONS)))
def test_copies_of_a_row_are_kept_once(seed, rule):
    rng = np.random.default_rng(seed)
    distinct = rng.standard_normal((12, 3))
    X = distinct[rng.integers(0, 12, 80)]
    chosen = SELECTIONS[rule](gram(X, RBF(1.0)), eta=0.0, rng=rng)
    assert len(np.unique(X[chosen.rows], axis=0)) == len(chosen.rows) <= 12


@pytest.mark.parametrize("rule", SELECTIONS)
def test_a_matrix_of_rank_one_keeps_one_row(rule):
    X = np.linspace(1.0, 2.0, 300)[:, None]
    assert len(SELECTIONS[rule](gram(X, Linear()), eta=1e-9, rng=np.random.default_rng(0)).rows) == 1


@pytest.mark.parametrize("rule", SELECTIONS)
def test_a_threshold_that_keeps_nothing_is_refused(rule):
    with pytest.raises(ValueError, match=r"eta=1 keeps no row: the largest k\(x, x\) is 1; lower eta"):
        SELECTIONS[rule](gram(plane(50), RBF(1.0)), eta=1.0, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="max_vectors must be at least 1"):
        SELECTIONS[rule](gram(plane(50), RBF(1.0)), eta=0.1, max_vectors=0, rng=np.random.default_rng(0))


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
