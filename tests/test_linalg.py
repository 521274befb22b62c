"""Linear algebra in blocks, for Ctrl-C's sake, is what it is in one piece."""

from __future__ import annotations

import numpy as np
import pytest

from slimsvm import linalg


def definite(n):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((n, n + 5))
    return Z @ Z.T / n + np.eye(n)


@pytest.mark.parametrize("n", [1, 6, 7, 8, 21, 50])
def test_panels_have_the_factor_of_the_whole(n, monkeypatch):
    A = definite(n)
    wanted = linalg.cholesky_factor(A)
    monkeypatch.setattr(linalg, "WHOLE_ROWS", 0)
    monkeypatch.setattr(linalg, "PANEL_COLUMNS", 7)
    monkeypatch.setattr(linalg, "CALL_PRODUCTS", 1.0)
    before = A.copy()
    for order in "CF":
        np.testing.assert_allclose(
            linalg.cholesky_factor(np.array(A, order=order)), wanted, rtol=1e-12, atol=1e-14
        )
        found, shift = linalg.jittered_cholesky(np.array(A, order=order), overwrite=True)
        np.testing.assert_allclose(np.tril(found), wanted, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(np.triu(found, 1), np.triu(A, 1))  # what is above the diagonal stays
        assert shift == 0.0
    np.testing.assert_array_equal(A, before)
    inverse = np.linalg.inv(A)
    np.testing.assert_allclose(linalg.inverse_of_factored(wanted), inverse, rtol=1e-9, atol=1e-12)
    garbage = wanted + np.triu(np.full_like(A, np.nan), 1)  # what is above the diagonal is not read
    found = linalg.lower_inverse(np.asfortranarray(garbage))
    np.testing.assert_allclose(np.tril(found), np.tril(inverse), rtol=1e-9, atol=1e-12)


def test_a_copy_in_blocks_is_a_copy(monkeypatch):
    monkeypatch.setattr(linalg, "COPIED_ENTRIES", 20)
    A = np.random.default_rng(0).standard_normal((13, 9))
    for columns_first in (False, True):
        found = linalg.copied(A, columns_first=columns_first)
        np.testing.assert_array_equal(found, A)
        assert found.flags.f_contiguous == columns_first
        assert not np.shares_memory(found, A)


@pytest.mark.parametrize("weighted", [False, True])
def test_products_in_panels_are_products(weighted, monkeypatch):
    rng = np.random.default_rng(1)
    A = rng.standard_normal((23, 31))
    weight = rng.random(31) if weighted else None
    wanted = (A * (1.0 if weight is None else weight)) @ A.T
    for whole in (1e9, 0.0):
        monkeypatch.setattr(linalg, "WHOLE_PRODUCTS", whole)
        monkeypatch.setattr(linalg, "PANEL_COLUMNS", 7)
        monkeypatch.setattr(linalg, "CALL_PRODUCTS", 1000.0)
        for order in "CF":
            B = np.array(A, order=order)
            found = linalg.lower_gram(B, weight)
            np.testing.assert_allclose(np.tril(found), np.tril(wanted), rtol=1e-13, atol=1e-14)
            if not weighted:
                np.testing.assert_allclose(linalg.gram(B), wanted, rtol=1e-13, atol=1e-14)
                np.testing.assert_array_equal(linalg.gram(B), linalg.gram(B).T)
            np.testing.assert_array_equal(B, A)


def test_blocks_of_columns_and_of_multiples(monkeypatch):
    monkeypatch.setattr(linalg, "COPIED_ENTRIES", 20)
    rng = np.random.default_rng(2)
    A, rows, columns, numbers = rng.random((13, 9)), rng.random(13), rng.random(9), np.array([8, 0, 3, 3])
    np.testing.assert_array_equal(linalg.columns_of(A, numbers), A[:, numbers])
    for order in "CF":
        B = np.array(A, order=order)
        np.testing.assert_array_equal(linalg.scaled(B, rows, None), rows[:, None] * A)
        np.testing.assert_array_equal(linalg.scaled(B, None, columns), A * columns)
        np.testing.assert_allclose(linalg.scaled(B, rows, columns), rows[:, None] * A * columns, rtol=1e-15)
    L = np.tril(rng.random((9, 9))) + np.eye(9)
    monkeypatch.setattr(linalg, "CALL_PRODUCTS", 200.0)
    np.testing.assert_allclose(linalg.behind_factor(L, A) @ L.T, A, rtol=1e-12)
    np.testing.assert_allclose(linalg.column_squares(A, rows), rows @ A**2, rtol=1e-14)
    np.testing.assert_array_equal(linalg.columns_of(A, numbers, rows=numbers), A[np.ix_(numbers, numbers)])
    np.testing.assert_array_equal(linalg.twice(A), np.vstack([A, A]))
    into = np.zeros((13, 10))
    linalg.copied(A, into=into[:, 1:])
    np.testing.assert_array_equal(into, np.column_stack([np.zeros(13), A]))


def test_panels_of_an_indefinite_matrix(monkeypatch):
    A = definite(30)
    A[20, 20] = -1.0
    monkeypatch.setattr(linalg, "WHOLE_ROWS", 0)
    monkeypatch.setattr(linalg, "PANEL_COLUMNS", 7)
    assert linalg.definite_factor(A) is None
    rank_one = np.ones((30, 30))
    for overwrite in (False, True):
        L, shift = linalg.jittered_cholesky(rank_one.copy(), overwrite=overwrite)
        L = np.tril(L)
        assert 0 < shift < 1e-9
        np.testing.assert_allclose(L @ L.T, rank_one + shift * np.eye(30), atol=1e-12)
