"""More than 2^31 kernel values in one call: every index has 64 bits. With SLIMSVM_HARD=1."""

from __future__ import annotations

import numpy as np
import pytest

from profiles import hard
from slimsvm.kernels import RBF, Polynomial
from slimsvm.limits import memory_left
from slimsvm.problem import KernelGram

N, M = 2**21, 1025
assert N * M > 2**31
pytestmark = hard
# Rows that are compared: around every multiple of 2^31 values, at the beginning and at the end.
PLACES = [slice(0, 64), slice(2**31 // M - 32, 2**31 // M + 32), slice(N - 64, N)]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X, vectors = (rng.standard_normal((rows, 2)).astype(np.float32) for rows in (N, M))
    return X, vectors, rng.standard_normal((M, 1)).astype(np.float32)


@pytest.mark.parametrize("kernel", [RBF(0.5), Polynomial(0.1, 1.0, 2)])
def test_an_expansion_of_more_than_2_31_kernel_values_is_that_of_its_rows(kernel, data):
    X, vectors, coef = data
    out = kernel.expand(X, vectors, coef, n_threads=2)
    assert out.shape == (N, 1)
    for rows in PLACES:
        np.testing.assert_array_equal(out[rows], kernel.expand(X[rows], vectors, coef))
        exact = kernel(X[rows].astype(np.float64), vectors.astype(np.float64)) @ coef.astype(np.float64)
        np.testing.assert_allclose(out[rows], exact, atol=1e-3 * np.abs(exact).max())


def test_a_block_of_more_than_2_31_kernel_values_is_that_of_its_rows(data):
    if memory_left() < 12 * 2**30:
        pytest.skip("8.6 GB in one array")
    X, vectors, _ = data
    K = RBF(0.5)(X, vectors, n_threads=2)
    assert K.size > 2**31
    for rows in PLACES:
        np.testing.assert_array_equal(K[rows], RBF(0.5)(X[rows], vectors))


def test_a_matrix_of_more_than_2_31_values_is_multiplied_without_being_held(data):
    X = data[0][:46_400].astype(np.float64)
    assert len(X) ** 2 > 2**31
    gram = KernelGram(RBF(0.5), X, n_threads=2)
    assert not gram.is_held
    V = np.random.default_rng(1).standard_normal((len(X), 1))
    product = gram @ V
    for rows in (np.arange(64), np.arange(len(X) - 64, len(X))):
        np.testing.assert_allclose(
            product[rows], gram.block(rows, np.arange(len(X))) @ V, rtol=1e-9, atol=1e-9
        )
