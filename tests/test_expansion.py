"""The expansion as a value: what each verb keeps, and what may not be read back."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import reference
from slimsvm import KernelExpansion, ModelFormatError
from slimsvm.kernels import RBF, FunctionKernel, Laplacian, Linear, Polynomial, Precomputed, Sigmoid

D = 3
KERNELS = {
    "rbf": RBF(0.7),
    "rbf widths": RBF((0.5, 0.0, 2.0)),
    "laplacian": Laplacian(0.3),
    "linear": Linear(),
    "poly": Polynomial(0.5, 1.0, 2),
    "sigmoid": Sigmoid(0.25, 0.5),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
EXACT = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-12}


@st.composite
def expansions(draw, kernel=None, n_outputs=None, dtype=None, make=None):
    """Expansions with a few equal vectors and a few coefficients that are zero, dense or CSR."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kernel = kernel or draw(st.sampled_from(list(KERNELS.values())))
    dtype = dtype or draw(st.sampled_from([np.float32, np.float64]))
    make = make or draw(st.sampled_from([np.asarray, sparse.csr_array]))
    m, k = draw(st.integers(0, 12)), n_outputs or draw(st.integers(1, 3))
    vectors = rng.standard_normal((m, D))
    coef = rng.standard_normal((m, k))
    if m > 3:
        vectors[rng.integers(m, size=m // 2)] = vectors[0]
        coef[rng.integers(m, size=m // 3)] = 0.0
    vectors[:, 1] *= rng.random(m) < 0.5
    return KernelExpansion(
        kernel, make(vectors.astype(dtype)), coef.astype(dtype), rng.standard_normal(k).astype(dtype)
    )


def points(f, n=25):
    return np.random.default_rng(9).standard_normal((n, D)).astype(f.coef.dtype)


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def size(f, X):
    """What rounding is measured against: the sum of the absolute terms."""
    K = np.abs(np.asarray(f.kernel(X.astype(float), dense(f.vectors).astype(float))))
    return (K @ np.abs(f.coef) + np.abs(f.intercept)).max()


def assert_same_function(f, g, X):
    assert np.abs(f(X) - g(X)).max() <= EXACT[f.coef.dtype] * size(f, X)


@given(expansions())
def test_the_value_is_the_weighted_sum(f):
    X = points(f)
    wanted = reference.expansion(f.kernel(X.astype(float), dense(f.vectors)), f.coef, f.intercept)
    assert f(X).dtype == f.coef.dtype
    assert f(X).shape == (len(X), f.n_outputs)
    assert np.abs(f(X) - wanted).max() <= EXACT[f.coef.dtype] * size(f, X)
    assert np.abs(f(sparse.csr_array(X)) - wanted).max() <= EXACT[f.coef.dtype] * size(f, X)
    assert f(X, n_threads=3).tobytes() == f(X).tobytes()
    assert f(X[:0]).shape == (0, f.n_outputs)


@given(expansions(dtype=np.float32))
def test_float64_rows_are_answered_in_float64(f):
    X = points(f).astype(float)
    wanted = f.astype(np.float64)(X)
    assert f(X).dtype == np.float64
    np.testing.assert_allclose(f(X), wanted, rtol=1e-12, atol=1e-12 * size(f, X))


@given(expansions(), st.data())
def test_take_keeps_the_chosen_terms(f, data):
    order = data.draw(st.permutations(range(f.n_vectors)))
    count = data.draw(st.integers(0, f.n_vectors))
    first, rest = f.take(order[:count]), f.take(np.array(order[count:], dtype=int))
    assert (first.n_vectors, rest.n_vectors) == (count, f.n_vectors - count)
    X = points(f)
    parts = first(X) + rest(X) - f.intercept
    assert np.abs(parts - f(X)).max() <= EXACT[f.coef.dtype] * size(f, X)


@given(expansions())
def test_take_by_mask(f):
    mask = (f.coef != 0).any(axis=1)
    kept = f.take(mask)
    assert kept.n_vectors == mask.sum()
    assert_same_function(f, kept, points(f))


@given(expansions())
def test_compact_keeps_the_function_and_nothing_twice(f):
    g, kept = f.compact_with_rows()
    assert_same_function(f, g, points(f))
    vectors = dense(g.vectors)
    assert len(np.unique(vectors, axis=0)) == len(vectors) == g.n_vectors
    assert (g.coef != 0).any(axis=1).all()
    np.testing.assert_array_equal(vectors, dense(f.vectors)[kept])
    assert (np.diff(kept) > 0).all()
    assert sparse.issparse(g.vectors) == sparse.issparse(f.vectors)
    assert g.coef.dtype == f.coef.dtype
    again = g.compact()
    assert again.coef.tobytes() == g.coef.tobytes()


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_zeros_of_either_sign_are_one_value(make):
    f = KernelExpansion(RBF(1.0), make([[0.0, 1.0], [-0.0, 1.0], [0.0, 2.0]]), [1.0, 2.0, 4.0], 0.0)
    assert f.compact().coef.ravel().tolist() == [3.0, 4.0]


def test_terms_that_cancel_leave_no_vector():
    f = KernelExpansion(RBF(1.0), [[1.0], [1.0]], [2.0, -2.0], 0.5)
    assert f.compact().n_vectors == 0
    assert f.compact()([[3.0]]).tolist() == [[0.5]]


@given(st.data())
def test_merge_puts_outputs_side_by_side(data):
    kernel = data.draw(st.sampled_from(list(KERNELS.values())))
    parts = data.draw(st.lists(expansions(kernel=kernel), min_size=1, max_size=4))
    merged = KernelExpansion.merge(parts)
    X = points(parts[0]).astype(float)
    wanted = np.hstack([part(X) for part in parts])
    limit = max(size(part, X) for part in parts)
    assert merged(X).shape == wanted.shape
    assert np.abs(merged(X) - wanted).max() <= EXACT[merged.coef.dtype] * limit
    vectors = dense(merged.vectors)
    assert len(np.unique(vectors, axis=0)) == len(vectors)
    singles = all(part.coef.dtype == np.float32 for part in parts)
    assert merged.coef.dtype == (np.float32 if singles else np.float64)


def test_merge_shares_vectors():
    f = KernelExpansion(RBF(1.0), [[0.0], [1.0]], [1.0, 2.0], 0.0)
    g = KernelExpansion(RBF(1.0), [[1.0], [2.0]], [3.0, 4.0], 1.0)
    merged = KernelExpansion.merge([f, g])
    assert merged.vectors.ravel().tolist() == [0.0, 1.0, 2.0]
    assert merged.coef.tolist() == [[1.0, 0.0], [2.0, 3.0], [0.0, 4.0]]
    with pytest.raises(ValueError, match="expansions must all have the same kernel"):
        KernelExpansion.merge([f, dataclasses.replace(g, kernel=RBF(2.0))])
    with pytest.raises(ValueError, match="expansions must hold at least one"):
        KernelExpansion.merge([])


@given(expansions())
def test_astype(f):
    X = points(f)
    single, double = f.astype(np.float32), f.astype("float64")
    assert single.vectors.dtype == single.coef.dtype == single.intercept.dtype == np.float32
    assert double.vectors.dtype == double.coef.dtype == double.intercept.dtype == np.float64
    if f.coef.dtype == np.float32:
        assert single(X).tobytes() == f(X).tobytes()
    X = points(double)
    assert np.abs(single(X.astype(np.float32)) - double(X)).max() <= 1e-5 * max(1.0, size(double, X))
    if f.n_vectors and not sparse.issparse(f.vectors):
        assert single.nbytes * 2 == double.nbytes
    with pytest.raises(ValueError, match="dtype must be float32 or float64"):
        f.astype(int)


@given(expansions())
def test_nbytes_is_what_the_arrays_hold(f):
    m, k, item = f.n_vectors, f.n_outputs, f.coef.dtype.itemsize
    if sparse.issparse(f.vectors):
        held = f.vectors.nnz * item + f.vectors.indices.nbytes + f.vectors.indptr.nbytes
    else:
        held = m * D * item
    assert f.nbytes == held + (m * k + k) * item


@given(expansions())
def test_the_norm_is_a_quadratic_form(f):
    vectors, coef = dense(f.vectors).astype(float), f.coef.astype(float)
    K = f.kernel(vectors, vectors)
    squares = np.einsum("io,ij,jo->o", coef, K, coef)
    scale = np.einsum("io,ij,jo->o", np.abs(coef), np.abs(K), np.abs(coef))
    assert (np.abs(f.rkhs_norm() ** 2 - np.maximum(squares, 0)) <= 1e-12 * scale).all()
    assert f.rkhs_norm().shape == (f.n_outputs,)


# Values that cannot be changed


@given(expansions(make=np.asarray))
def test_the_arrays_cannot_be_written_to(f):
    for array in (f.vectors, f.coef, f.intercept):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        f.coef = f.coef + 1


@given(expansions())
def test_copies_are_the_same_function(f):
    X = points(f)
    for again in (pickle.loads(pickle.dumps(f)), copy.deepcopy(f)):
        assert again(X).tobytes() == f(X).tobytes()


# What does not fit together


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"vectors": [0.0, 1.0]}, "vectors must have two dimensions"),
        ({"vectors": [[0.0], [1.0], [2.0]]}, "coef must have one row for each of the 3 vectors"),
        ({"coef": [[[1.0]], [[1.0]]]}, "coef must have one row"),
        ({"coef": [[1.0, 2.0], [3.0, 4.0]]}, "intercept must have one entry for each of the 2 outputs"),
        ({"intercept": [0.0, 0.0]}, "intercept must have one entry for each of the 1 outputs"),
        ({"vectors": [[0.0], [np.nan]]}, "vectors must be finite"),
        ({"coef": [1.0, np.inf]}, "coef must be finite"),
        ({"intercept": np.nan}, "intercept must be finite"),
        ({"kernel": Precomputed(), "vectors": [[0], [-1]]}, "vectors must be column numbers"),
        ({"kernel": Precomputed(), "vectors": [0, 1]}, "vectors must be column numbers"),
        ({"kernel": Precomputed(), "vectors": [[0.5], [1.0]]}, "vectors must be column numbers"),
    ],
)
def test_parts_must_fit_together(changed, message):
    good = {"kernel": RBF(1.0), "vectors": [[0.0], [1.0]], "coef": [1.0, -1.0], "intercept": 0.0}
    with pytest.raises(ValueError, match=message):
        KernelExpansion(**{**good, **changed})


def test_rows_must_have_the_features_of_the_vectors():
    f = KernelExpansion(RBF(1.0), [[0.0, 1.0]], [1.0], 0.0)
    with pytest.raises(ValueError, match="X has 3 features, but the vectors have 2"):
        f(np.ones((2, 3)))


# Precomputed


def test_an_expansion_of_precomputed_values():
    K = np.random.default_rng(0).standard_normal((5, 8))
    f = KernelExpansion(Precomputed(), [[3], [0], [3]], [1.0, 2.0, 4.0], -1.0)
    wanted = 5 * K[:, 3] + 2 * K[:, 0] - 1
    np.testing.assert_allclose(f(K)[:, 0], wanted)
    np.testing.assert_allclose(f.compact()(K)[:, 0], wanted)
    assert f.compact().n_vectors == 2
    other = KernelExpansion(Precomputed(), [[7]], [1.0], 0.0)
    np.testing.assert_allclose(KernelExpansion.merge([f, other])(K), np.column_stack([wanted, K[:, 7]]))
    assert f.astype(np.float32)(K.astype(np.float32)).dtype == np.float32
    with pytest.raises(ValueError, match="a precomputed kernel has none"):
        f.rkhs_norm()
    with pytest.raises(ValueError, match="X must have one column for each training row"):
        f(K[:, :3])


# Stored form


def bits(f):
    parts = [f.coef, f.intercept]
    parts += (
        [f.vectors.data, f.vectors.indices, f.vectors.indptr] if sparse.issparse(f.vectors) else [f.vectors]
    )
    return [(part.dtype, part.shape, part.tobytes()) for part in parts]


@given(expansions())
def test_what_is_stored_comes_back_bit_for_bit(f):
    again = KernelExpansion.from_dict(f.to_dict())
    assert again.kernel == f.kernel
    assert bits(again) == bits(f)
    X = points(f)
    assert again(X).tobytes() == f(X).tobytes()


def test_a_precomputed_expansion_comes_back_bit_for_bit():
    for dtype in (np.float32, np.float64):
        f = KernelExpansion(Precomputed(), [[3], [0]], np.array([1, 2], dtype=dtype), 0.5)
        again = KernelExpansion.from_dict(f.to_dict())
        assert again.kernel == f.kernel
        assert bits(again) == bits(f)


def test_a_function_has_no_stored_form():
    f = KernelExpansion(FunctionKernel(np.dot), [[1.0]], [1.0], 0.0)
    with pytest.raises(ModelFormatError, match="only the built-in kernels"):
        f.to_dict()


def stored(make=np.asarray, kernel=None):
    vectors = make([[0.0, 1.0], [2.0, 0.0], [3.0, 4.0]])
    f = KernelExpansion(kernel or RBF(1.0), vectors, [[1.0, 2.0]] * 3, [0.0, 1.0])
    return f.to_dict()


DENSE_DAMAGE = {
    "newer version": {"format_version": 2},
    "version of text": {"format_version": "1.0"},
    "version of many": {"format_version": np.array([1, 1])},
    "unknown kernel": {"kernel": {"name": "chi2"}},
    "kernel without name": {"kernel": {"gamma": 1.0}},
    "kernel name a list": {"kernel": {"name": ["rbf"]}},
    "kernel of text": {"kernel": "rbf"},
    "kernel none": {"kernel": None},
    "kernel with more": {"kernel": {"name": "rbf", "gamma": 1.0, "degree": 3}},
    "kernel with less": {"kernel": {"name": "rbf"}},
    "gamma negative": {"kernel": {"name": "rbf", "gamma": -1.0}},
    "gamma not a number": {"kernel": {"name": "rbf", "gamma": np.nan}},
    "gamma of text": {"kernel": {"name": "rbf", "gamma": "scale"}},
    "gamma too long": {"kernel": {"name": "rbf", "gamma": (1.0, 1.0, 1.0)}},
    "gamma twice deep": {"kernel": {"name": "laplacian", "gamma": [[1.0, 1.0]]}},
    "degree negative": {"kernel": {"name": "poly", "gamma": 1.0, "coef0": 0.0, "degree": -1}},
    "coef0 infinite": {"kernel": {"name": "sigmoid", "gamma": 1.0, "coef0": np.inf}},
    "vectors one-dimensional": {"vectors": np.ones(3)},
    "vectors three-dimensional": {"vectors": np.ones((3, 2, 1))},
    "vectors of text": {"vectors": np.array([["a", "b"]] * 3)},
    "vectors of text numbers": {"vectors": np.array([["1", "2"]] * 3)},
    "vectors complex": {"vectors": np.ones((3, 2), dtype=complex)},
    "vectors objects": {"vectors": np.full((3, 2), None)},
    "vectors not finite": {"vectors": np.array([[0.0, 1.0], [2.0, np.nan], [3.0, 4.0]])},
    "vectors too few": {"vectors": np.ones((2, 2))},
    "coef too few": {"coef": np.ones((2, 2))},
    "coef too wide": {"coef": np.ones((3, 3))},
    "coef three-dimensional": {"coef": np.ones((3, 2, 1))},
    "coef infinite": {"coef": np.full((3, 2), np.inf)},
    "coef of text": {"coef": np.full((3, 2), "one")},
    "coef of text numbers": {"coef": np.full((3, 2), "1")},
    "coef complex": {"coef": np.ones((3, 2), dtype=complex)},
    "coef none": {"coef": None},
    "coef ragged": {"coef": [[1.0], [1.0, 2.0], [3.0]]},
    "intercept too long": {"intercept": np.ones(3)},
    "intercept square": {"intercept": np.ones((2, 2))},
    "intercept not a number": {"intercept": np.array([0.0, np.nan])},
    "intercept complex": {"intercept": np.ones(2, dtype=complex)},
    "intercept of text": {"intercept": ["a", "b"]},
    "columns negative": {"kernel": {"name": "precomputed"}, "vectors": np.array([[0], [-1], [2]])},
    "columns fractional": {"kernel": {"name": "precomputed"}, "vectors": np.array([[0.5], [1.0], [2.0]])},
    "columns too wide": {"kernel": {"name": "precomputed"}, "vectors": np.array([[0, 1]] * 3)},
}
SPARSE_DAMAGE = {
    "data too long": {"data": np.ones(5)},
    "data square": {"data": np.ones((2, 2))},
    "data infinite": {"data": np.array([1.0, 2.0, np.inf, 4.0])},
    "data of text": {"data": np.array(["a"] * 4)},
    "data complex": {"data": np.ones(4, dtype=complex)},
    "indices too short": {"indices": np.array([1, 0, 0])},
    "indices negative": {"indices": np.array([1, 0, -1, 1])},
    "indices too large": {"indices": np.array([1, 0, 0, 2])},
    "indices fractional": {"indices": np.array([1.0, 0.0, 0.0, 1.0])},
    "indptr too short": {"indptr": np.array([0, 1, 4])},
    "indptr empty": {"indptr": np.array([], dtype=int)},
    "indptr falls": {"indptr": np.array([0, 3, 2, 4])},
    "indptr starts late": {"indptr": np.array([1, 1, 2, 4])},
    "indptr ends early": {"indptr": np.array([0, 1, 2, 3])},
    "indptr ends late": {"indptr": np.array([0, 1, 2, 9])},
    "indptr fractional": {"indptr": np.array([0.0, 1.0, 2.0, 4.0])},
    "shape too narrow": {"shape": (3, 1)},
    "shape too short": {"shape": (2, 2)},
    "shape negative": {"shape": (-1, 2)},
    "shape of three": {"shape": (3, 2, 1)},
    "shape of text": {"shape": "ab"},
    "shape none": {"shape": None},
    "gamma too long": {"kernel": {"name": "rbf", "gamma": (1.0, 1.0, 1.0)}},
    "coef too few": {"coef": np.ones((2, 2))},
}


@pytest.mark.parametrize("damage", DENSE_DAMAGE)
def test_a_damaged_dense_model_is_refused(damage):
    with pytest.raises(ModelFormatError, match=r"model|sparse"):
        KernelExpansion.from_dict({**stored(), **DENSE_DAMAGE[damage]})


@pytest.mark.parametrize("damage", SPARSE_DAMAGE)
def test_a_damaged_sparse_model_is_refused(damage):
    with pytest.raises(ModelFormatError, match=r"model|sparse"):
        KernelExpansion.from_dict({**stored(sparse.csr_array), **SPARSE_DAMAGE[damage]})


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_a_model_that_lacks_an_entry_is_refused(make):
    whole = stored(make)
    for key in whole:
        part = {k: v for k, v in whole.items() if k != key}
        with pytest.raises(ModelFormatError, match=r"lacks the entry|do not fit"):
            KernelExpansion.from_dict(part)


@pytest.mark.parametrize("thing", [None, 3, [], "model", {}])
def test_something_else_is_no_model(thing):
    with pytest.raises(ModelFormatError, match="model"):
        KernelExpansion.from_dict(thing)


def test_the_error_is_also_a_value_error():
    assert issubclass(ModelFormatError, ValueError)


def test_an_expansion_is_shown_in_one_line_and_as_html():
    vectors = np.arange(30 * 64, dtype=np.float32).reshape(30, 64)
    f = KernelExpansion(RBF(1.0), vectors, np.ones((30, 10)), np.ones(10))
    assert repr(f) == "KernelExpansion(rbf, 30 vectors x 64 features, 10 outputs, 8.7 kB)"
    one = KernelExpansion(Linear(), [[1.0]], [1.0], 0.0)
    assert repr(one) == "KernelExpansion(linear, 1 vector x 1 feature, 1 output, 24 bytes)"
    assert "<td>30</td>" in f._repr_html_()
