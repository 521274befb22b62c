"""Number formats: rounding twice is rounding once, half a step is the most that is lost, and every byte is counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from slimsvm import KernelExpansion
from slimsvm.budget import bytes_for, kernel_numbers, stored_bytes
from slimsvm.kernels import RBF, FunctionKernel, Laplacian, Linear, Polynomial, Precomputed, Sigmoid
from slimsvm.projection import Projection
from slimsvm.rounding import BITS, NUMBERS, rounded, rounded_geometry

INTEGERS = ("int16", "int8", "int4")


def random_expansion(
    seed=0, m=9, d=4, k=2, kind="rbf", scale=1.0, offset=0.0, form="dense", dtype=np.float64, spread=0.0
):
    """Vectors of a scale, features of different spread about an offset, some of them constant, an output of zeros."""
    rng = np.random.default_rng(seed)
    features = scale * 10.0 ** rng.uniform(-spread, spread, d)
    vectors = rng.standard_normal((m, d)) * features
    vectors[:, rng.random(d) < 0.1] = 0.0
    coef = rng.standard_normal((m, k)) * scale
    coef[:, rng.random(k) < 0.1] = 0.0
    kernel = {
        "rbf": RBF(0.3 / scale**2),
        "widths": RBF(np.maximum(rng.standard_normal(d), 0.1 if d == 1 else 0.0) / features**2 + 1e-30),
        "laplacian": Laplacian(rng.uniform(0.1, 2.0, d) / features),
        "poly": Polynomial(1.0 / scale**2, 1.0, 2),
        "linear": Linear(),
    }[kind]
    projection = None
    if form == "projection" and kind in ("rbf", "widths", "laplacian"):
        projection = Projection(rng.standard_normal((d, 7)) * scale, rng.standard_normal(d) * scale)
    elif form == "csr":
        vectors = sparse.csr_array(np.where(rng.random((m, d)) < 0.5, 0.0, vectors))
    else:
        vectors = vectors + offset * rng.choice([-1.0, 0.0, 1.0], d)
    return KernelExpansion(kernel, vectors.astype(dtype), coef, rng.standard_normal(k), projection)


expansions = st.builds(
    random_expansion,
    seed=st.integers(0, 2**32 - 1),
    m=st.integers(1, 30),
    d=st.integers(1, 6),
    k=st.integers(1, 3),
    kind=st.sampled_from(["rbf", "widths", "laplacian", "poly", "linear"]),
    scale=st.floats(-6, 6).map(lambda power: 10.0**power),
    offset=st.sampled_from([0.0, 1e-6, 1.0, 1e3, 1e6]),
    form=st.sampled_from(["dense", "projection", "csr"]),
    dtype=st.sampled_from([np.float32, np.float64]),
    spread=st.sampled_from([0.0, 3.0]),
)


def parts(small):
    """All numbers that ship, as bytes."""
    f = small.expansion
    arrays = [f.coef, f.intercept, np.asarray(getattr(f.kernel, "gamma", 0.0))]
    arrays += [f.vectors.toarray() if sparse.issparse(f.vectors) else f.vectors]
    arrays += [] if f.projection is None else [f.projection.matrix, f.projection.shift]
    for whole in (small.vectors, small.coef, small.matrix):
        if whole is not None:
            arrays += [np.frombuffer(whole.packed(), dtype=np.uint8), whole.step, whole.base]
    return [array.tobytes() for array in arrays]


def roots(f):
    """Units of the kernel per unit of each feature."""
    if not isinstance(f.kernel, RBF | Laplacian) or isinstance(f.kernel.gamma, float):
        return np.ones(f.vectors.shape[1])
    widths = f.kernel.widths(f.vectors.shape[1])
    return np.sqrt(widths) if isinstance(f.kernel, RBF) else widths


def values_of(whole, root=1.0):
    """What whole numbers stand for."""
    q = whole.whole.toarray() if sparse.issparse(whole.whole) else whole.whole
    step = whole.step.astype(np.float64)
    base = whole.base.astype(np.float64) if whole.base.size else 0.0
    return base + np.divide(q * step, root, out=np.zeros(q.shape), where=np.broadcast_to(root, q.shape) > 0)


@settings(max_examples=500)
@given(expansions, st.sampled_from(NUMBERS))
def test_rounding_twice_is_rounding_once(f, number):
    once = rounded(f, number)
    assert parts(rounded(once.expansion, number)) == parts(once)
    wide = once.expansion.astype(np.float64)
    assert parts(rounded(wide, number)) == parts(once)
    assert once.expansion.coef.dtype == (np.float64 if number == "float64" else np.float32)
    assert sparse.issparse(once.expansion.vectors) == sparse.issparse(f.vectors)


@settings(max_examples=200)
@given(expansions, st.sampled_from(NUMBERS))
def test_the_bytes_are_those_of_the_budget(f, number):
    small = rounded(f, number)
    assert small.nbytes == stored_bytes(f, number) == stored_bytes(small.expansion, number)
    assert small.nbytes == bytes_for(
        f.n_vectors,
        n_features=f.n_features,
        n_outputs=f.n_outputs,
        number=number,
        n_widths=kernel_numbers(f.kernel),
        rank=None if f.projection is None else f.projection.rank,
        distances=isinstance(f.kernel, RBF | Laplacian),
    )
    if number in INTEGERS:
        whole = [part for part in (small.vectors, small.coef, small.matrix) if part is not None]
        single = [f.intercept, np.asarray(kernel_numbers(f.kernel) * [0.0])]
        single += [] if f.projection is None else [f.projection.shift]
        single += [array for part in whole for array in (part.step, part.base)]
        shipped = sum(len(part.packed()) for part in whole) + 4 * sum(array.size for array in single)
        assert small.nbytes == shipped


@settings(max_examples=200)
@given(expansions, st.sampled_from(INTEGERS))
def test_half_a_step_is_the_most_that_is_lost(f, number):
    small = rounded(f, number)
    found = small.expansion
    root = roots(found)
    vectors, rows = (g.vectors.toarray() if sparse.issparse(g.vectors) else g.vectors for g in (f, found))
    digits = 2.0**-22 * np.abs(vectors).max(axis=0)
    for lost, step, noise in (
        (np.abs(vectors - rows) * root, small.vectors.step, digits * root),
        (np.abs(f.coef - found.coef), small.coef.step, 2.0**-22 * np.abs(f.coef).max(axis=0)),
    ):
        if number != "int4" or f.projection is None:  # there the largest may be cut
            assert (lost <= (0.5 + 2.0**-6) * step + noise).all()
    # and the whole numbers say the same
    assert (np.abs(values_of(small.vectors, root) - rows) <= digits).all()
    np.testing.assert_allclose(values_of(small.coef), found.coef, rtol=1e-6)
    np.testing.assert_array_equal(found.intercept, f.intercept.astype(np.float32))
    if f.projection is not None:
        matrix = small.matrix.whole * small.matrix.step[:, None].astype(np.float64)
        np.testing.assert_allclose(matrix, found.projection.matrix, rtol=1e-6)


@pytest.mark.parametrize("kind", ["rbf", "widths", "laplacian", "poly", "linear"])
@pytest.mark.parametrize("form", ["dense", "projection", "csr"])
def test_more_bits_are_nearer(kind, form):
    f = random_expansion(3, m=60, kind=kind, form=form)
    X = np.random.default_rng(0).standard_normal((200, f.n_features))
    exact = f(X)
    errors = [np.abs(rounded(f, number).expansion(X) - exact).max() for number in NUMBERS]
    assert errors[0] == 0
    assert (np.diff(errors) > 0).all(), errors
    assert errors[2] < 2e-3 * np.abs(exact).max()


@given(
    st.integers(0, 1000), st.lists(st.integers(-30, 30), min_size=4, max_size=4), st.sampled_from(INTEGERS)
)
def test_the_units_of_the_features_do_not_matter_where_each_has_a_width(seed, powers, number):
    f = random_expansion(seed, kind="laplacian", offset=3.0)
    factor = 2.0 ** np.array(powers)
    widths = np.array(f.kernel.gamma)
    other = replace(f, vectors=f.vectors * factor, kernel=Laplacian(widths / factor))
    a, b = rounded(f, number), rounded(other, number)
    assert a.vectors.packed() == b.vectors.packed()
    np.testing.assert_array_equal(a.vectors.step, b.vectors.step)
    np.testing.assert_array_equal(a.vectors.base * factor.astype(np.float32), b.vectors.base)


@pytest.mark.parametrize("number", INTEGERS)
def test_a_large_offset_costs_no_more_than_float32_does(number):
    f = random_expansion(1, m=40, offset=0.0)
    far = replace(f, vectors=f.vectors + np.array([1e4, -1e4, 0.0, 1e4]))
    small, near = rounded(far, number), rounded(f, number)
    np.testing.assert_allclose(small.vectors.step, near.vectors.step, rtol=2e-3)
    lost = np.abs(small.expansion.vectors - far.vectors).max()
    assert lost <= 0.51 * small.vectors.step + 1e-3


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("kind", ["rbf", "widths", "linear"])
@pytest.mark.parametrize("size", [1e-45, 1e-38, 1e-20, 1e20, 3.4e38])
def test_neither_the_largest_nor_the_smallest_numbers_overflow(number, kind, size):
    f = random_expansion(2, kind=kind)
    signs = np.sign(f.vectors)
    large = replace(f, vectors=size * signs, coef=np.sign(f.coef) * size)
    small = rounded(large, number)
    assert np.isfinite(small.expansion.vectors).all()
    assert parts(rounded(small.expansion, number)) == parts(small)
    if size >= 1e-20:  # below, the steps have no digits left
        np.testing.assert_allclose(small.expansion.coef, large.coef, rtol=1e-6)


@pytest.mark.parametrize("number", NUMBERS)
def test_one_row_nothing_and_nothing_but_zeros(number):
    f = random_expansion(0, m=1)
    dtype = np.float64 if number == "float64" else np.float32
    np.testing.assert_array_equal(rounded(f, number).expansion.vectors, f.vectors.astype(dtype))
    empty = rounded(f.take([]), number)
    assert empty.expansion.n_vectors == 0
    assert empty.nbytes == stored_bytes(f.take([]), number)
    zeros = rounded(replace(f, vectors=np.zeros((1, 4)), coef=np.zeros((1, 2))), number)
    assert not zeros.expansion.vectors.any()
    assert not zeros.expansion.coef.any()


@pytest.mark.parametrize("number", INTEGERS)
def test_zeros_of_csr_vectors_stay(number):
    f = random_expansion(5, m=20, d=6, form="csr")
    small = rounded(f, number)
    rows = small.expansion.vectors
    assert sparse.issparse(small.vectors.whole)
    assert not small.vectors.base.any()
    assert not rows.toarray()[f.vectors.toarray() == 0].any()


@settings(max_examples=200)
@given(expansions, st.sampled_from(INTEGERS), st.integers(0, 1000))
def test_coefficients_can_be_solved_for_the_rounded_vectors(f, number, seed):
    geometry = rounded_geometry(f, number)
    whole = rounded(f, number)
    coef = np.random.default_rng(seed).standard_normal(f.coef.shape)
    for again in (replace(geometry, coef=coef), replace(geometry.astype(np.float64), coef=coef)):
        solved = rounded(again, number)
        assert parts(replace(solved, coef=None, expansion=replace(solved.expansion, coef=0 * coef))) == parts(
            replace(whole, coef=None, expansion=replace(whole.expansion, coef=0 * coef))
        )


def test_the_image_of_the_middle_stays():
    f = random_expansion(0, form="projection")
    middle = np.full(7, 50.0)
    f = replace(f, projection=Projection(f.projection.matrix, f.projection.matrix @ middle))
    X = middle + 0.1 * np.random.default_rng(0).standard_normal((30, 7))
    kept, moved = rounded(f, "int8", middle=middle), rounded(f, "int8")
    assert np.abs(kept.expansion(X) - f(X)).max() < 0.05
    assert np.abs(moved.expansion(X) - f(X)).max() > 0.2
    assert parts(rounded(kept.expansion, "int8", middle=middle)) == parts(kept)


def test_four_bits_cut_what_is_far_in_the_image_of_a_projection():
    f = random_expansion(0, m=300, form="projection")
    small = rounded(f, "int4")
    plain = np.abs(f.vectors).max() / 7
    assert small.vectors.step[0] < plain
    lost = np.square(small.expansion.vectors - f.vectors).sum()
    assert lost < np.square(np.rint(f.vectors / plain) * plain - f.vectors).sum()


def test_two_numbers_of_four_bits_are_one_byte():
    small = rounded(random_expansion(0, m=3, d=3, k=1), "int4")
    packed = np.frombuffer(small.vectors.packed(), dtype=np.uint8)
    assert len(packed) == 5  # of nine numbers
    both = np.column_stack([packed & 15, packed >> 4]).ravel()
    np.testing.assert_array_equal(both[:9].reshape(3, 3), small.vectors.whole)
    coef = np.frombuffer(small.coef.packed(), dtype=np.uint8)
    signed = np.column_stack([coef & 15, coef >> 4]).ravel()[:3].astype(int)
    np.testing.assert_array_equal(np.where(signed > 7, signed - 16, signed), small.coef.whole[:, 0])


def test_whole_numbers_of_two_bytes_have_the_low_one_first():
    small = rounded(random_expansion(0), "int16")
    np.testing.assert_array_equal(
        np.frombuffer(small.vectors.packed(), dtype="<u2").reshape(9, 4), small.vectors.whole
    )
    assert {part.whole.dtype.itemsize * 8 for part in (small.vectors, small.coef)} == {BITS["int16"]}


@pytest.mark.parametrize("number", INTEGERS)
def test_what_has_no_vectors_of_numbers_is_refused(number):
    columns = KernelExpansion(Precomputed(), [[0], [7]], [1.0, 2.0], 0.0)
    mine = KernelExpansion(FunctionKernel(lambda X, Z: X @ Z.T), [[0.0], [7.0]], [1.0, 2.0], 0.0)
    for f in (columns, mine):
        for ask in (rounded, rounded_geometry, stored_bytes):
            with pytest.raises(ValueError, match=r"built-in kernel.*take 'float32'"):
                ask(f, number)
        assert rounded(f, "float32").nbytes == stored_bytes(f, "float32") == 4 * (2 + 2 + 1)


def test_errors():
    f = random_expansion()
    for ask in (rounded, rounded_geometry, stored_bytes):
        with pytest.raises(ValueError, match=r"number must be one of 'float64', .*got 'int7'"):
            ask(f, "int7")
    with pytest.raises(ValueError, match="vectors has numbers beyond 3"):
        rounded(replace(f, vectors=1e39 * f.vectors), "int8")
    with pytest.raises(ValueError, match="gamma=1e-50 is too small"):
        rounded(replace(f, kernel=RBF(1e-50)), "float32")
    assert rounded(replace(f, kernel=Sigmoid(0.1, 0.2)), "float32").expansion.kernel.coef0 == np.float32(0.2)
