"""Each kernel obeys the laws of contracts.py; what is said by name becomes the right kernel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse
from sklearn.svm import SVC

import reference
from contracts import D, KernelContract, row_blocks
from slimsvm import LSSVC, FullSVC
from slimsvm.kernels import (
    KERNELS,
    RBF,
    FunctionKernel,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    as_kernel,
    expand_in_blocks,
    is_positive_definite,
    resolve_gamma,
)
from slimsvm.rows import BLOCK_BYTES

WIDTHS = (0.5, 0.0, 1.5, 0.25)  # one per feature; the second feature does not count


class TestRBF(KernelContract):
    kernel = RBF(0.4)
    exact_diagonal = True

    def truth(self, X, Z):
        return reference.rbf(X, Z, self.kernel.gamma)

    def scaled(self, a):
        return RBF(np.multiply(self.kernel.gamma, 1 / a**2)), 1.0


class TestRBFWithWidths(TestRBF):
    kernel = RBF(WIDTHS)


class TestLaplacian(KernelContract):
    kernel = Laplacian(0.4)
    exact_diagonal = True

    def truth(self, X, Z):
        return reference.laplacian(X, Z, self.kernel.gamma)

    def scaled(self, a):
        return Laplacian(np.multiply(self.kernel.gamma, 1 / a)), 1.0


class TestLaplacianWithWidths(TestLaplacian):
    kernel = Laplacian(WIDTHS)


class TestLinear(KernelContract):
    kernel = Linear()

    def truth(self, X, Z):
        return reference.linear(X, Z)

    def scaled(self, a):
        return Linear(), a**2


class TestPolynomial(KernelContract):
    kernel = Polynomial(gamma=0.5, coef0=1.0, degree=3)

    def truth(self, X, Z):
        return reference.poly(X, Z, self.kernel.gamma, self.kernel.coef0, self.kernel.degree)

    def scaled(self, a):
        return Polynomial(self.kernel.gamma / a**2, self.kernel.coef0, self.kernel.degree), 1.0


class TestPolynomialWithoutConstant(TestPolynomial):
    kernel = Polynomial(gamma=1.0, degree=2)


class TestSigmoid(KernelContract):
    kernel = Sigmoid(gamma=0.25, coef0=-0.5)

    def truth(self, X, Z):
        return reference.sigmoid(X, Z, self.kernel.gamma, self.kernel.coef0)

    def scaled(self, a):
        return Sigmoid(self.kernel.gamma / a**2, self.kernel.coef0), 1.0


def cauchy(X, Z, unit=1.0):
    X, Z = (np.asarray(side.todense() if sparse.issparse(side) else side, dtype=float) for side in (X, Z))
    return 1.0 / (1.0 + ((X[:, None] - Z[None]) ** 2).sum(axis=2) / unit**2)


def wide_cauchy(X, Z):
    return cauchy(X, Z, 1024.0)


class TestFunctionKernel(KernelContract):
    kernel = FunctionKernel(cauchy)
    exact_diagonal = True

    def truth(self, X, Z):
        return cauchy(X, Z)

    def scaled(self, a):
        return FunctionKernel(lambda X, Z: cauchy(X, Z, a)), 1.0


@given(row_blocks())
def test_a_width_per_feature_is_a_scaled_feature(blocks):
    X, Z = (block.astype(float) for block in blocks)
    widths = np.array(WIDTHS)
    for kernel, plain, factor in (
        (RBF(WIDTHS), RBF(1.0), np.sqrt(widths)),
        (Laplacian(WIDTHS), Laplacian(1.0), widths),
    ):
        np.testing.assert_allclose(kernel(X, Z), plain(X * factor, Z * factor), atol=1e-13)
        np.testing.assert_allclose(
            kernel(sparse.csr_array(X), Z), plain(sparse.csr_array(X * factor), Z * factor), atol=1e-13
        )


@pytest.mark.parametrize("kernel", [RBF(0.4), Laplacian(0.4)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [3, 30])
def test_distances_do_not_see_the_origin(kernel, dtype, n):
    rng = np.random.default_rng(0)
    X, Z = ((np.round(rng.standard_normal((rows, D)) * 16) / 16).astype(dtype) for rows in (n, 25))
    far = np.asarray(2.0**13, dtype=dtype)  # adding it is exact
    limit = 1e-5 if dtype == np.float32 else 1e-12
    assert reference.relative_error(kernel(X + far, Z + far), kernel(X, Z)) <= limit


@pytest.mark.parametrize(
    "kernel", [RBF(0.3), Linear(), Polynomial(0.2, 1.0, 2), Sigmoid(0.1), Laplacian(0.3)]
)
def test_large_csr_goes_through_blocks(kernel):
    """Both sides so long that no block holds all rows, with wide rows that are never all dense."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((3000, 60), density=0.05, format="csr", random_state=rng)
    Z = sparse.random_array((500, 60), density=0.05, format="csr", random_state=rng)
    assert X.shape[0] * Z.shape[0] * 16 > 2 * BLOCK_BYTES
    K = kernel(X, Z)
    np.testing.assert_allclose(K, kernel(X.toarray(), Z.toarray()), atol=1e-13)
    coef = rng.standard_normal((500, 2))
    np.testing.assert_allclose(kernel.expand(X, Z, coef), K @ coef, atol=1e-11)


def test_expand_in_blocks_asks_for_no_large_block():
    asked = []

    def kernel(X, Z, n_threads):
        asked.append(len(X))
        return X @ Z.T

    X, Z = np.ones((2000, 2)), np.ones((10_000, 2))
    out = expand_in_blocks(kernel, X, Z, np.ones((10_000, 1)), np.array([3.0]))
    np.testing.assert_allclose(out, 20_003.0)
    assert sum(asked) == 2000
    assert max(asked) * len(Z) * 8 <= BLOCK_BYTES


def test_the_diagonal_of_a_function_goes_through_blocks():
    def kernel(X, Z):
        assert len(X) < 500
        return cauchy(X, Z)

    np.testing.assert_array_equal(FunctionKernel(kernel).diag(np.ones((5000, 2))), 1.0)


# Precomputed values


def test_precomputed_values_are_picked_by_column():
    K = np.arange(12.0).reshape(3, 4)
    columns = np.array([[2], [0]])
    kernel = Precomputed()
    assert isinstance(kernel, Kernel)
    np.testing.assert_array_equal(kernel(K, columns), K[:, [2, 0]])
    np.testing.assert_array_equal(kernel(sparse.csr_array(K), columns), K[:, [2, 0]])
    coef = np.array([[1.0], [10.0]])
    np.testing.assert_array_equal(kernel.expand(K, columns, coef, np.array([5.0])), K[:, [2, 0]] @ coef + 5.0)
    np.testing.assert_array_equal(kernel.diag(K[:, :3]), [0, 5, 10])
    assert kernel(K.astype(np.float32), columns).dtype == np.float32
    # 2^30 + 1 has more digits than float32
    fine = np.array([[2.0**30 + 1.0], [-(2.0**30)]])
    K = np.ones((3, 4), dtype=np.float32)
    np.testing.assert_array_equal(kernel.expand(K, columns, fine), np.ones((3, 1)))
    assert kernel.expand(K, columns, coef.astype(np.float32)).dtype == np.float32
    with pytest.raises(ValueError, match="X must have one column for each training row; it has 4"):
        kernel(K, np.array([[4]]))


# Names


@pytest.mark.parametrize("name", KERNELS)
def test_every_name_becomes_its_kernel(name):
    kernel = as_kernel(name, gamma=0.5, degree=2, coef0=0.25)
    assert kernel.name == name
    for parameter, value in (("gamma", 0.5), ("degree", 2), ("coef0", 0.25)):
        assert getattr(kernel, parameter, value) == value
    assert as_kernel(kernel) is kernel


def test_a_function_becomes_a_kernel():
    assert as_kernel(cauchy) == FunctionKernel(cauchy)


@pytest.mark.parametrize("kernel", ["gauss", "", 3, None, b"rbf"])
def test_anything_else_is_refused(kernel):
    with pytest.raises(ValueError, match="kernel must be"):
        as_kernel(kernel)


@pytest.mark.parametrize("kind", [RBF, Laplacian, Polynomial, Sigmoid])
@pytest.mark.parametrize("gamma", [0, -1.0, np.nan, np.inf, "wide", None])
def test_gamma_must_be_positive(kind, gamma):
    with pytest.raises(ValueError, match="gamma must be a positive finite number"):
        kind(gamma)


@pytest.mark.parametrize("kind", [RBF, Laplacian])
@pytest.mark.parametrize("gamma", [[-1.0, 1.0], [0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0], [], [[1.0]]])
def test_widths_must_not_be_negative(kind, gamma):
    with pytest.raises(ValueError, match="gamma must"):
        kind(gamma)


@pytest.mark.parametrize("kind", [RBF, Laplacian])
def test_widths_must_fit_the_rows(kind):
    for make in (np.asarray, sparse.csr_array):
        X = make(np.ones((2, 3)))
        with pytest.raises(ValueError, match="gamma has 2 entries, but X has 3 features"):
            kind([1.0, 1.0])(X, X)


@pytest.mark.parametrize("kind", [Polynomial, Sigmoid])
def test_kernels_of_products_have_one_gamma(kind):
    with pytest.raises(ValueError, match="gamma must be one number"):
        kind([1.0, 2.0])
    with pytest.raises(ValueError, match="coef0 must be a finite number"):
        kind(1.0, coef0=np.nan)


@pytest.mark.parametrize("degree", [-1, 2.5, "two", None])
def test_degree_must_be_whole(degree):
    with pytest.raises(ValueError, match="degree must be a whole number"):
        Polynomial(degree=degree)


def test_which_kernels_are_known_to_be_positive_definite():
    assert all(map(is_positive_definite, (RBF(1.0), Laplacian(1.0), Linear(), Polynomial(coef0=0.0))))
    unknown = (Sigmoid(), Polynomial(coef0=-1.0), Precomputed(), FunctionKernel(cauchy))
    assert not any(map(is_positive_definite, unknown))


# gamma="scale" and "auto"


@pytest.mark.parametrize("value", [np.finfo(np.float64).min / 4, 1e200, 0.1])
def test_a_constant_has_no_scale_however_large(value):
    assert resolve_gamma("scale", np.full((2, 1), value)) == 1.0


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.7])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_gamma_as_scikit_learn_has_it(gamma, make):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3)) * 5 + 2
    wanted = SVC(gamma=gamma).fit(X, X[:, 0] > 2)._gamma
    assert resolve_gamma(gamma, make(X)) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_scale_counts_rows_by_their_weight(make):
    X = np.random.default_rng(0).standard_normal((20, 3))
    counts = np.random.default_rng(1).integers(0, 4, 20)
    wanted = resolve_gamma("scale", np.repeat(X, counts, axis=0))
    assert resolve_gamma("scale", make(X), counts.astype(float)) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_scale_far_from_the_origin(make):
    X = np.random.default_rng(0).standard_normal((100, 3))
    assert resolve_gamma("scale", make(X + 1e6)) == pytest.approx(resolve_gamma("scale", X), rel=1e-9)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("value", [0.0, 3.0, 0.1, 1e3 / 3, -1e-20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constant_rows_have_no_scale(make, value, dtype):
    assert resolve_gamma("scale", make(np.full((50, 3), value, dtype=dtype))) == 1.0


@given(row_blocks())
def test_csr_that_is_not_canonical(blocks):
    """Entries out of order, entries in parts and stored zeros mean the same matrix."""
    X, Z = blocks
    columns = np.tile([2, 0, 1, 3, 1, 0], len(X))
    parts = np.column_stack([X[:, 2], X[:, 0], 0.25 * X[:, 1], X[:, 3], 0.75 * X[:, 1], 0 * X[:, 0]])
    odd = sparse.csr_array((parts.ravel(), columns, 6 * np.arange(len(X) + 1)), shape=X.shape)
    same = odd.toarray()
    for kernel in (RBF(0.4), Laplacian(0.4), Linear(), Polynomial(0.5, 1.0), Sigmoid(0.25)):
        limit = 1e-5 if X.dtype == np.float32 else 1e-12
        assert reference.relative_error(kernel(odd, Z), kernel(same, Z)) <= limit
        assert reference.relative_error(kernel(Z, odd), kernel(Z, same)) <= limit
        assert reference.relative_error(kernel.diag(odd), kernel.diag(same)) <= limit
    assert resolve_gamma("scale", odd) == pytest.approx(resolve_gamma("scale", same), rel=1e-5)


def test_scale_says_when_it_overflows():
    with pytest.raises(ValueError, match="X has entries so large that gamma='scale' overflows"):
        resolve_gamma("scale", np.array([[1e200], [-1e200]]))
    with pytest.raises(ValueError, match="gamma must be 'scale', 'auto'"):
        resolve_gamma("wide", np.ones((2, 2)))
    np.testing.assert_array_equal(resolve_gamma([1, 2], np.ones((2, 2))), [1.0, 2.0])


def test_a_function_is_given_csr_and_may_answer_in_csr():
    X = np.random.default_rng(0).integers(0, 3, (30, 4)).astype(float)
    y = (X[:, 0] > X[:, 1]).astype(int)
    S = sparse.csr_array(X)
    wanted = LSSVC(kernel="linear").fit(X, y).decision_function(X)
    for form in (S, sparse.csr_matrix(X), sparse.csc_array(X)):
        model = LSSVC(kernel=lambda A, B: A @ B.T).fit(form, y)
        np.testing.assert_allclose(model.decision_function(form), wanted, atol=1e-8)
        np.testing.assert_allclose(model.decision_function(X), wanted, atol=1e-8)
    for function in (
        lambda A, B: np.minimum(A[:, :1], B[:, :1].T),
        lambda A, B: (A[:, None] - B[None]).sum(axis=2),
    ):
        with pytest.raises(ValueError, match="kernel: the function failed on CSR rows"):
            LSSVC(kernel=function).fit(S, y)
    with pytest.raises(ValueError, match=r"returned an array of shape \(26, 4\)"):
        LSSVC(kernel=lambda A, B: A).fit(S, y)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid", "laplacian"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_indices_of_64_bits(kernel, loss):
    X = np.random.default_rng(0).integers(0, 3, (30, 4)).astype(float)
    y = (X[:, 0] > X[:, 1]).astype(int)
    short = sparse.csr_array(X)
    long = short.copy()
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    wanted = FullSVC(kernel=kernel, loss=loss).fit(short, y)
    found = FullSVC(kernel=kernel, loss=loss).fit(long, y)
    assert found.decision_function(long).tobytes() == wanted.decision_function(short).tobytes()
