"""Distinct rows: found whatever the storage, in an order that the order of the rows does not touch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from slimsvm import KernelExpansion, rows
from slimsvm.kernels import RBF
from slimsvm.rows import as_rows, block_slices, distinct_rows, frozen, scale_columns, squared_norms


@st.composite
def repetitive_rows(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(0, 40)), draw(st.integers(0, 4))
    return rng.integers(-1, 2, (n, d)) * draw(st.sampled_from([1.0, 0.1, 1e-310, 1e300]))


def check_law(X, first, group):
    values = X.toarray() if sparse.issparse(X) else X
    np.testing.assert_array_equal(values[first][group], values)
    assert len(np.unique(values[first] + 0.0, axis=0)) == len(first)
    earliest = [np.flatnonzero(group == kind)[0] for kind in range(len(first))]
    np.testing.assert_array_equal(first, earliest)


@given(repetitive_rows())
def test_each_row_is_the_first_of_its_kind(X):
    check_law(X, *distinct_rows(X))
    signed = np.where(X == 0, -0.0, X)
    for a, b in zip(distinct_rows(X), distinct_rows(signed), strict=True):
        np.testing.assert_array_equal(a, b)


@given(repetitive_rows(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(X, random):
    order = np.array(random.sample(range(len(X)), len(X)), dtype=int)
    first, group = distinct_rows(X)
    first_permuted, group_permuted = distinct_rows(X[order])
    np.testing.assert_array_equal(X[order][first_permuted], X[first])
    np.testing.assert_array_equal(group_permuted, group[order])


@given(repetitive_rows())
def test_storage_does_not_matter(X):
    X = np.round(X * 8) / 8  # the same number in float32
    X = np.clip(X, -1e6, 1e6)
    wanted = distinct_rows(X)
    for same in (sparse.csr_array(X), sparse.csr_matrix(X), X.astype(np.float32), np.asfortranarray(X)):
        for found, expected in zip(distinct_rows(same), wanted, strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_rows_that_share_a_hash_are_told_apart(make, monkeypatch):
    monkeypatch.setattr(rows, "mixed", lambda numbers: np.zeros(len(numbers), dtype=np.uint64))
    X = make(np.random.default_rng(0).integers(0, 2, (40, 3)).astype(float))
    check_law(X, *distinct_rows(X))


def test_rows_of_any_kind_become_float():
    for X in ([[1, 2]], np.array([[1, 2]], dtype=np.int8), np.array([[True, False]])):
        assert as_rows(X).dtype == np.float64
    single = np.ones((2, 2), dtype=np.float32)
    assert as_rows(single) is single
    assert as_rows(sparse.coo_array(single)).format == "csr"
    with pytest.raises(ValueError, match="T must have two dimensions"):
        as_rows([1.0, 2.0], "T")


@given(st.integers(0, 1000), st.integers(0, 10**9))
def test_blocks_cover_every_row_once(n, bytes_per_row):
    covered = [i for block in block_slices(n, bytes_per_row) for i in range(n)[block]]
    assert covered == list(range(n))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_and_dense_helpers_agree(dtype):
    X = np.random.default_rng(0).standard_normal((10, 4)).astype(dtype)
    factors = np.array([1.0, 0.0, 2.0, -1.0])
    scaled = scale_columns(sparse.csr_array(X), factors)
    assert scaled.dtype == dtype
    np.testing.assert_array_equal(scaled.toarray(), scale_columns(X, factors))
    np.testing.assert_allclose(squared_norms(sparse.csr_array(X)), squared_norms(X), rtol=1e-12)
    assert squared_norms(X).dtype == np.float64


def test_every_sparse_format_of_the_same_values_is_the_same():
    X = np.random.default_rng(0).integers(0, 3, (7, 5)).astype(float)
    wanted = sparse.csr_array(X)
    halves = sparse.csr_array(
        (np.repeat(wanted.data / 2, 2), np.repeat(wanted.indices, 2), 2 * wanted.indptr), shape=X.shape
    )
    wide = wanted.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    backwards = wanted[:, ::-1][:, ::-1]
    formats = [
        make(X) for make in (sparse.csr_matrix, sparse.csc_array, sparse.lil_matrix, sparse.coo_matrix)
    ]
    for same in (*formats, halves, wide, backwards):
        found = as_rows(same)
        assert isinstance(found, sparse.csr_array)
        assert found.indices.dtype == found.indptr.dtype == np.int32
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    assert wide.indices.dtype == np.int64


def test_rows_that_begin_at_any_byte_are_copied_to_where_the_core_may_read_them():
    X = np.arange(12.0).reshape(4, 3)
    odd = np.frombuffer(b"x" + X.tobytes(), dtype=np.float64, offset=1).reshape(X.shape)
    assert not odd.flags.aligned
    for found in (as_rows(odd), frozen(odd)):
        assert found.flags.aligned
        np.testing.assert_array_equal(found, X)
    expansion = KernelExpansion(RBF(0.3), odd, odd[:, :1], np.zeros(1))
    assert expansion.vectors.flags.aligned
    assert expansion.coef.flags.aligned
    assert expansion.plain_outputs(odd) is None
    np.testing.assert_array_equal(expansion(odd), expansion(X))
