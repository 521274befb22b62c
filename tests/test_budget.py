"""What a model costs: bytes as counted by hand, vectors that fit, and a latency that noise does not move."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from slimsvm import BudgetError, KernelExpansion, SlimsvmError
from slimsvm.budget import bytes_for, max_vectors_for, single_row_latency_us, stored_bytes
from slimsvm.kernels import RBF, Linear, Polynomial, Precomputed
from slimsvm.rounding import NUMBERS


def expansion(m=5, d=3, k=2, kernel=None, dtype=np.float64):
    rng = np.random.default_rng(0)
    return KernelExpansion(
        RBF(0.5) if kernel is None else kernel,
        rng.standard_normal((m, d)).astype(dtype),
        rng.standard_normal((m, k)),
        np.zeros(k),
    )


@pytest.mark.parametrize(("dtype", "itemsize"), [(np.float32, 4), (np.float64, 8)])
@pytest.mark.parametrize(
    ("kernel", "numbers"), [(RBF(0.5), 1), (RBF([1.0, 2.0, 3.0]), 3), (Linear(), 0), (Polynomial(0.5), 3)]
)
def test_stored_bytes_counts_every_number_once(dtype, itemsize, kernel, numbers):
    f = expansion(5, 3, 2, kernel, dtype)
    assert stored_bytes(f) == itemsize * (5 * 3 + 5 * 2 + 2 + numbers)
    assert stored_bytes(f) == f.nbytes + itemsize * numbers


def test_stored_bytes_of_other_forms():
    f = expansion()
    csr = KernelExpansion(f.kernel, sparse.csr_array(f.vectors), f.coef, f.intercept)
    assert stored_bytes(csr) == stored_bytes(f)
    columns = KernelExpansion(Precomputed(), [[0], [7]], np.ones((2, 1), dtype=np.float32), 0.0)
    assert stored_bytes(columns) == 4 * (2 + 2 + 1)
    nothing = f.take([])
    assert stored_bytes(nothing) == 8 * (2 + 1)


@given(
    st.integers(0, 5000),
    st.integers(1, 300),
    st.integers(1, 10),
    st.sampled_from(NUMBERS),
    st.sampled_from([None, 1, 3]),
    st.booleans(),
)
def test_the_largest_number_of_vectors_fits_and_one_more_does_not(limit, d, k, number, rank, per_feature):
    shape = {
        "n_features": d,
        "n_outputs": k,
        "number": number,
        "n_widths": d if per_feature else 1,
        "rank": rank,
    }
    m = max_vectors_for(bytes=limit, **shape)
    assert m >= 0
    assert m == 0 or bytes_for(m, **shape) <= limit
    assert bytes_for(m + 1, **shape) > limit


def test_a_built_model_of_that_size_fits():
    m = max_vectors_for(bytes=4096, n_features=16, n_outputs=3, n_widths=16)
    f = expansion(m, 16, 3, RBF(np.ones(16)), np.float32)
    assert stored_bytes(f) <= 4096 < stored_bytes(expansion(m + 1, 16, 3, RBF(np.ones(16)), np.float32))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_latency_of_one_row(dtype):
    small, large = expansion(4, 8, 1, dtype=dtype), expansion(20_000, 64, 1, dtype=dtype)
    assert 0 < single_row_latency_us(small) < single_row_latency_us(large)


def test_latency_is_the_median_of_the_calls(monkeypatch):
    """One slow call in ten does not show."""
    clock, calls = [0], []

    class Slow(KernelExpansion):
        def __call__(self, X, *, n_threads=1):
            calls.append(X.shape)
            clock[0] += 1_000_000 if len(calls) % 10 == 0 else 2_000
            return super().__call__(X)

    monkeypatch.setattr("time.perf_counter_ns", lambda: clock[0])
    f = expansion()
    assert single_row_latency_us(Slow(f.kernel, f.vectors, f.coef, f.intercept)) == 2.0
    assert set(calls) == {(1, 3)}


def test_latency_with_a_precomputed_kernel():
    f = KernelExpansion(Precomputed(), [[2], [7]], np.ones((2, 1)), 0.0)
    assert single_row_latency_us(f) > 0
    assert single_row_latency_us(f, n_features=50) > 0


def test_the_error_is_one_of_ours():
    assert issubclass(BudgetError, SlimsvmError)
    assert issubclass(BudgetError, ValueError)
