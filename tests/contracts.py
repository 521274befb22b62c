"""Laws that every kernel, solver, selection rule and estimator obeys; a test class inherits them and builds instances.

The laws compare two ways to the same number, or what must not change when the input is written differently.
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone, is_classifier

import reference
from reference import relative_error
from slimsvm.kernels import RBF, Kernel, Linear, Polynomial, is_positive_definite
from slimsvm.methods.empirical.cholesky import Selection
from slimsvm.problem import KernelGram, Problem, Solution, Status

TOLERANCE = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-12}
D = 4  # features of the rows the kernel laws are tried on


@st.composite
def row_blocks(draw: Any, counts: int = 2) -> list[np.ndarray]:
    """Blocks of rows with D features each, of one dtype, near the origin; some entries are equal or zero."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    kind = draw(st.sampled_from(["normal", "positive", "mostly zero", "whole"]))
    blocks = []
    for _ in range(counts):
        X = rng.standard_normal((draw(st.integers(1, 40)), D))
        if kind == "positive":
            X = np.abs(X)
        elif kind == "mostly zero":
            X *= rng.random(X.shape) < 0.3
        elif kind == "whole":
            X = np.round(X)
        blocks.append(X.astype(dtype))
    return blocks


class KernelContract:
    """A kernel: a subclass gives `kernel` for rows of D features and `truth`, its plain reference."""

    kernel: Kernel
    # whether k(x, x) = diag is exact and not only to rounding
    exact_diagonal = False

    def truth(self, X, Z):
        raise NotImplementedError

    def scaled(self, a: float) -> tuple[Kernel, float]:
        """A kernel and a factor with kernel(aX, aZ) = factor * self.kernel(X, Z)."""
        raise NotImplementedError

    def close(self, found, wanted, dtype, factor=1.0):
        found, wanted = np.asarray(found), np.asarray(wanted)
        assert found.dtype == dtype
        assert relative_error(found, wanted) <= factor * TOLERANCE[np.dtype(dtype)]

    def test_it_is_a_kernel(self):
        assert isinstance(self.kernel, Kernel)

    @given(row_blocks())
    def test_the_block_equals_the_reference(self, blocks):
        X, Z = blocks
        self.close(self.kernel(X, Z), self.truth(X, Z), X.dtype)

    @given(row_blocks())
    def test_float32_stays_only_if_both_sides_are(self, blocks):
        X, Z = (block.astype(np.float32) for block in blocks)
        assert self.kernel(X, Z).dtype == np.float32
        assert self.kernel(X.astype(float), Z).dtype == np.float64
        assert self.kernel(X, Z.astype(float)).dtype == np.float64
        assert self.kernel.diag(X).dtype == np.float32
        coef = np.ones((len(Z), 1), dtype=np.float32)
        assert self.kernel.expand(X, Z, coef).dtype == np.float32
        assert self.kernel.expand(X.astype(float), Z.astype(float), coef.astype(float)).dtype == np.float64

    @given(row_blocks(counts=1))
    def test_symmetry_is_exact(self, blocks):
        (X,) = blocks
        K = self.kernel(X, X)
        assert K.tobytes() == np.ascontiguousarray(K.T).tobytes()

    @given(row_blocks(counts=1))
    def test_the_diagonal(self, blocks):
        (X,) = blocks
        K, diagonal = self.kernel(X, X), self.kernel.diag(X)
        self.close(diagonal, np.diagonal(K), X.dtype)
        if self.exact_diagonal:
            assert (diagonal == 1.0).all()
            assert (np.diagonal(K) == 1.0).all()
        self.close(self.kernel.diag(sparse.csr_array(X)), diagonal, X.dtype)

    @given(row_blocks(), st.integers(1, 3))
    def test_expanding_is_a_product_with_the_block(self, blocks, k):
        X, Z = blocks
        rng = np.random.default_rng(len(X))
        coef = rng.standard_normal((len(Z), k)).astype(X.dtype)
        intercept = rng.standard_normal(k).astype(X.dtype)
        K = self.truth(X, Z)
        size = np.abs(K) @ np.abs(coef) + np.abs(intercept)
        for given_intercept in (intercept, None):
            wanted = reference.expansion(K, coef, 0.0 if given_intercept is None else intercept)
            found = self.kernel.expand(X, Z, coef, given_intercept)
            assert found.dtype == X.dtype
            assert np.abs(found - wanted).max() <= TOLERANCE[X.dtype] * max(1e-300, size.max())

    @given(row_blocks())
    def test_csr_equals_dense(self, blocks):
        X, Z = blocks
        coef = np.linspace(-1, 1, 2 * len(Z)).reshape(-1, 2).astype(X.dtype)
        intercept = np.array([0.5, -2.0], dtype=X.dtype)
        K, f = self.kernel(X, Z), self.kernel.expand(X, Z, coef, intercept)
        size = (np.abs(K) @ np.abs(coef) + 2.0).max()
        for make in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array):
            for left, right in ((make(X), Z), (X, make(Z)), (make(X), make(Z))):
                block = self.kernel(left, right)
                assert type(block) is np.ndarray
                self.close(block, K, X.dtype)
                out = self.kernel.expand(left, right, coef, intercept)
                assert type(out) is np.ndarray
                assert out.dtype == X.dtype
                assert np.abs(out - f).max() <= TOLERANCE[X.dtype] * size

    @given(row_blocks())
    def test_positive_definiteness(self, blocks):
        X = blocks[0].astype(float)
        if is_positive_definite(self.kernel):
            eigenvalues = np.linalg.eigvalsh(self.kernel(X, X))
            assert eigenvalues[0] >= -1e-12 * len(X) * max(1.0, eigenvalues[-1])

    @given(row_blocks(), st.sampled_from([0.25, 2.0, 1024.0]))
    def test_the_unit_of_the_inputs(self, blocks, a):
        X, Z = blocks
        kernel, factor = self.scaled(a)
        a = X.dtype.type(a)
        self.close(kernel(a * X, a * Z), factor * self.truth(X, Z), X.dtype)

    @given(row_blocks(), st.data())
    def test_some_rows_alone_give_what_they_give_among_others(self, blocks, data):
        X, Z = blocks
        rows = data.draw(st.lists(st.integers(0, len(X) - 1), min_size=1, max_size=9))
        vectors = data.draw(st.lists(st.integers(0, len(Z) - 1), min_size=1, max_size=9))
        whole = self.truth(X, Z)
        size = max(1e-300, np.abs(whole).max())
        part = self.kernel(X[rows], Z[vectors])
        assert np.abs(part - whole[np.ix_(rows, vectors)]).max() <= TOLERANCE[X.dtype] * size

    @given(row_blocks())
    def test_layout_and_flags_do_not_matter(self, blocks):
        X, Z = blocks
        coef = np.ones((len(Z), 2), dtype=X.dtype)
        K, f = self.kernel(X, Z), self.kernel.expand(X, Z, coef)
        readonly = X.copy()
        readonly.flags.writeable = False
        spread = np.repeat(X, 2, axis=0)[::2]
        wide = np.hstack([X, X])[:, :D]
        coef_by_column = np.asfortranarray(coef)
        coef_by_column.flags.writeable = False
        for same in (readonly, spread, wide, np.asfortranarray(X)):
            assert self.kernel(same, Z).tobytes() == K.tobytes()
            assert self.kernel.expand(same, np.asfortranarray(Z), coef_by_column).tobytes() == f.tobytes()

    @given(row_blocks())
    def test_threads_do_not_change_the_bits(self, blocks):
        X, Z = np.vstack([blocks[0]] * 20), blocks[1]
        coef = np.ones((len(Z), 2), dtype=X.dtype)
        assert self.kernel(X, Z, n_threads=3).tobytes() == self.kernel(X, Z).tobytes()
        assert (
            self.kernel.expand(X, Z, coef, n_threads=3).tobytes() == self.kernel.expand(X, Z, coef).tobytes()
        )

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
    def test_nothing_in_nothing_out(self, dtype, make):
        none, some = make(np.ones((0, D), dtype=dtype)), make(np.ones((3, D), dtype=dtype))
        assert self.kernel(none, some).shape == (0, 3)
        assert self.kernel(some, none).shape == (3, 0)
        assert self.kernel.diag(none).shape == (0,)
        assert self.kernel.expand(none, some, np.ones((3, 2), dtype=dtype)).shape == (0, 2)
        out = self.kernel.expand(some, none, np.ones((0, 2), dtype=dtype), np.array([1, 2], dtype=dtype))
        np.testing.assert_array_equal(out, [[1, 2]] * 3)

    def test_different_numbers_of_features_are_refused(self):
        with pytest.raises(ValueError, match=f"X has {D} features, but the vectors have {D + 1}"):
            self.kernel(np.ones((2, D)), np.ones((2, D + 1)))
        with pytest.raises(ValueError, match=f"X has {D} features, but the vectors have {D + 1}"):
            self.kernel.expand(np.ones((2, D)), np.ones((2, D + 1)), np.ones((2, 1)))

    def test_one_row_must_still_be_a_matrix(self):
        with pytest.raises(ValueError, match="X must have two dimensions"):
            self.kernel(np.ones(D), np.ones((2, D)))
        with pytest.raises(ValueError, match="Z must have two dimensions"):
            self.kernel(np.ones((2, D)), np.ones(D))

    def test_kernels_are_values(self):
        again = pickle.loads(pickle.dumps(self.kernel))
        assert again == self.kernel
        assert hash(again) == hash(self.kernel)
        with pytest.raises(AttributeError):
            self.kernel.gamma = 3.0


class SolverContract:
    """A solver of kernel problems: a subclass gives `loss`, `solve` and `reference`.

    `tol` is what the solver is asked for, `accuracy` how near its outputs must be to the reference.
    """

    loss: Any
    tol = 1e-10
    accuracy = 1e-6
    free_intercept_only = False

    @staticmethod
    def solve(problem: Problem, *, tol: float, max_iter: int | None, rng: np.random.Generator) -> Solution:
        raise NotImplementedError

    @staticmethod
    def reference(K, Y, C, fit_intercept):
        """Coefficients and intercepts by the plainest method."""
        raise NotImplementedError

    def problem(self, kernel, X, Y, C, fit_intercept=True, limit_bytes=2**30, **options) -> Problem:
        return Problem(
            KernelGram(kernel, X, limit_bytes=limit_bytes), Y, self.loss, C, fit_intercept, **options
        )

    def solution(self, problem: Problem, seed=0, **options) -> Solution:
        options = {"tol": self.tol, "max_iter": None, **options}
        return self.solve(problem, rng=np.random.default_rng(seed), **options)

    @staticmethod
    def outputs(problem: Problem, solution: Solution):
        return problem.gram.dense @ solution.alpha + solution.intercept

    def check(self, problem: Problem) -> Solution:
        """Solve; the point must be optimal and the one the reference finds."""
        solution = self.solution(problem)
        assert solution.status is Status.OPTIMAL
        assert solution.residual <= self.tol
        assert solution.alpha.shape == problem.y.shape
        assert solution.intercept.shape == (problem.y.shape[1],)
        assert (problem.optimality(solution.alpha, solution.intercept) <= self.accuracy).all()
        options = {"penalize_intercept": True} if problem.penalize_intercept else {}
        alpha, b = self.reference(problem.gram.dense, problem.y, problem.C, problem.fit_intercept, **options)
        wanted = problem.gram.dense @ alpha + b
        assert relative_error(self.outputs(problem, solution), wanted) <= self.accuracy
        return solution

    def test_it_solves(self, solver_case):
        """`solver_case` is a fixture of the subclass's module: kernel, X, Y, C (n,)."""
        self.check(self.problem(*solver_case))

    def test_it_solves_without_intercept(self, solver_case):
        if self.free_intercept_only:
            with pytest.raises(ValueError, match="needs the intercept"):
                self.solution(self.problem(*solver_case, fit_intercept=False))
        else:
            solution = self.check(self.problem(*solver_case, fit_intercept=False))
            assert (solution.intercept == 0).all()

    def test_it_solves_without_holding_the_matrix(self, solver_case):
        kernel, X, Y, C = solver_case
        held, unheld = self.problem(kernel, X, Y, C), self.problem(kernel, X, Y, C, limit_bytes=100)
        solution = self.solution(unheld)
        assert solution.status is Status.OPTIMAL
        found, wanted = self.outputs(held, solution), self.outputs(held, self.solution(held))
        assert relative_error(found, wanted) <= self.accuracy

    def test_the_order_of_rows_does_not_matter(self, solver_case):
        kernel, X, Y, C = solver_case
        order = np.random.default_rng(5).permutation(len(Y))
        problem = self.problem(kernel, X, Y, C)
        permuted = self.problem(kernel, X[order], Y[order], C[order])
        found = self.outputs(permuted, self.solution(permuted))
        wanted = self.outputs(problem, self.solution(problem))
        assert relative_error(found, wanted[order]) <= self.accuracy

    def test_outputs_are_solved_side_by_side(self, solver_case):
        kernel, X, Y, C = solver_case
        together = self.problem(kernel, X, Y, C)
        wanted = self.outputs(together, self.solution(together))
        for column in range(Y.shape[1]):
            alone = self.problem(kernel, X, Y[:, [column]], C)
            found = self.outputs(alone, self.solution(alone))
            assert relative_error(found, wanted[:, [column]]) <= self.accuracy

    def test_the_problem_is_left_as_it_was(self, solver_case):
        kernel, X, Y, C = solver_case
        before = X.copy(), Y.copy(), C.copy()
        problem = self.problem(kernel, X, Y, C)
        K = problem.gram.dense.copy()
        self.solution(problem)
        for array, copy in zip((X, Y, C, problem.gram.dense), (*before, K), strict=True):
            np.testing.assert_array_equal(array, copy)


class SelectionContract:
    """A rule that selects rows by their kernel values: a subclass gives `select`.

    `nested` says whether a smaller selection is the beginning of a larger one (random rules: only of the same draw).
    """

    nested = True

    @staticmethod
    def select(
        gram: KernelGram, *, eta: float, max_vectors: int | None, rng: np.random.Generator
    ) -> Selection:
        raise NotImplementedError

    def selection(self, X, kernel, *, held=False, seed=1, eta=1e-3, max_vectors=None) -> Selection:
        gram = KernelGram(kernel, X, limit_bytes=2**30 if held else 0)
        return self.select(gram, eta=eta, max_vectors=max_vectors, rng=np.random.default_rng(seed))

    @staticmethod
    def rows(n, seed=0):
        return np.random.default_rng(seed).random((n, 2))

    @pytest.mark.parametrize("kernel", [RBF(7.0), Polynomial(1.0, 1.0, 3), Linear()])
    @pytest.mark.parametrize("held", [True, False])
    def test_the_factor_and_the_threshold(self, kernel, held):
        X = self.rows(300)
        K = kernel(X, X)
        chosen = self.selection(X, kernel, held=held)
        J = chosen.rows
        assert len(set(J.tolist())) == len(J)
        size = 1e-12 * np.abs(K).max()
        np.testing.assert_allclose(chosen.factor @ chosen.factor.T, K[np.ix_(J, J)], atol=size)
        np.testing.assert_array_equal(chosen.factor, np.tril(chosen.factor))
        # every kept row exceeded the threshold when it was kept, and no other row exceeds it at the end
        assert (np.diag(chosen.factor) ** 2 > 1e-3).all()
        assert reference.residuals(K, J).max() <= 1e-3 * (1 + 1e-6)

    def test_a_prefix_is_a_smaller_answer(self):
        X = self.rows(400)
        whole = self.selection(X, RBF(7.0), eta=1e-6, max_vectors=30)
        some = whole.first(11)
        assert len(whole.rows) == 30
        K = RBF(7.0)(X[some.rows], X[some.rows])
        np.testing.assert_allclose(some.factor @ some.factor.T, K, atol=1e-13)
        if self.nested:
            alone = self.selection(X, RBF(7.0), eta=1e-6, max_vectors=11)
            np.testing.assert_array_equal(alone.rows, some.rows)

    @given(st.integers(0, 2**32 - 1))
    def test_copies_of_a_row_are_kept_once(self, seed):
        rng = np.random.default_rng(seed)
        distinct = rng.standard_normal((12, 3))
        X = distinct[rng.integers(0, 12, 80)]
        chosen = self.selection(X, RBF(1.0), eta=0.0, seed=seed)
        assert len(np.unique(X[chosen.rows], axis=0)) == len(chosen.rows) <= 12

    def test_a_matrix_of_rank_one_keeps_one_row(self):
        X = np.linspace(1.0, 2.0, 300)[:, None]
        assert len(self.selection(X, Linear(), eta=1e-9).rows) == 1

    def test_the_same_seed_gives_the_same_rows(self):
        X = self.rows(200)
        one, again = (self.selection(X, RBF(7.0), max_vectors=20).rows for _ in range(2))
        np.testing.assert_array_equal(one, again)

    def test_a_threshold_that_keeps_nothing_is_refused(self):
        with pytest.raises(ValueError, match=r"eta=1 keeps no row: the largest k\(x, x\) is 1; lower eta"):
            self.selection(self.rows(50), RBF(1.0), eta=1.0)
        with pytest.raises(ValueError, match="max_vectors must be at least 1"):
            self.selection(self.rows(50), RBF(1.0), eta=0.1, max_vectors=0)


class EstimatorContract:
    """An estimator: a subclass gives `make(**parameters)`.

    `accuracy` is what two ways of writing one problem may differ by, relative to the largest output.
    """

    accuracy = 1e-7

    def make(self, **parameters):
        raise NotImplementedError

    def data(self, n=60, seed=0, dtype=np.float64):
        """Rows, targets that overlap a little, weights, and rows to predict."""
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, 3)).astype(dtype)
        y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.standard_normal(n)
        if is_classifier(self.make()):
            y = (y > 0).astype(int)
        weight = rng.uniform(0.2, 3.0, n)
        return X, y, weight, rng.standard_normal((41, 3)).astype(dtype)

    @staticmethod
    def outputs(model, X):
        return model.decision_function(X) if is_classifier(model) else model.predict(X)

    def close(self, found, wanted, factor=1.0):
        assert relative_error(found, wanted) <= factor * self.accuracy

    kernels = pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "laplacian"])

    @kernels
    def test_a_row_twice_is_a_row_of_weight_two(self, kernel):
        X, y, weight, T = self.data()
        twice = np.r_[np.arange(len(y)), np.arange(20)]
        heavier = weight.copy()
        heavier[:20] *= 2
        repeated = self.make(kernel=kernel).fit(X[twice], y[twice], sample_weight=weight[twice])
        weighted = self.make(kernel=kernel).fit(X, y, sample_weight=heavier)
        self.close(self.outputs(repeated, T), self.outputs(weighted, T))
        vectors = repeated.support_vectors_
        assert len(np.unique(vectors, axis=0)) == len(vectors) == repeated.n_vectors_

    @kernels
    def test_a_row_of_weight_zero_is_absent(self, kernel):
        X, y, weight, T = self.data()
        X[50:] += 100.0  # would be noticed
        weight[50:] = 0.0
        with_zeros = self.make(kernel=kernel).fit(X, y, sample_weight=weight)
        without = self.make(kernel=kernel).fit(X[:50], y[:50], sample_weight=weight[:50])
        np.testing.assert_array_equal(self.outputs(with_zeros, T), self.outputs(without, T))
        np.testing.assert_array_equal(with_zeros.support_, without.support_)

    def test_weights_only_matter_with_c(self):
        X, y, weight, T = self.data()
        C = self.make().C
        together = self.make().fit(X, y, sample_weight=4.0 * weight)
        apart = self.make(C=4.0 * C).fit(X, y, sample_weight=weight)
        self.close(self.outputs(together, T), self.outputs(apart, T))
        ones = self.make().fit(X, y, sample_weight=np.ones(len(y)))
        assert self.outputs(ones, T).tobytes() == self.outputs(self.make().fit(X, y), T).tobytes()

    @kernels
    def test_the_order_of_rows_changes_nothing(self, kernel):
        X, y, weight, T = self.data()
        order = np.random.default_rng(1).permutation(len(y))
        model = self.make(kernel=kernel).fit(X, y, sample_weight=weight)
        permuted = self.make(kernel=kernel).fit(X[order], y[order], sample_weight=weight[order])
        assert self.outputs(permuted, T).tobytes() == self.outputs(model, T).tobytes()
        np.testing.assert_array_equal(order[permuted.support_], model.support_)

    def test_turning_the_targets_turns_the_outputs(self):
        X, y, weight, T = self.data()
        turned = 1 - y if is_classifier(self.make()) else -y
        model = self.make().fit(X, y, sample_weight=weight)
        opposite = self.make().fit(X, turned, sample_weight=weight)
        self.close(self.outputs(opposite, T), -self.outputs(model, T))

    def test_the_vectors_are_training_rows(self):
        X, y, weight, _ = self.data()
        model = self.make().fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
        assert model.n_vectors_ == len(model.support_) == model.dual_coef_.shape[1]
        assert (model.dual_coef_ != 0).any(axis=0).all()
        assert isinstance(model.n_iter_, int)

    @pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "laplacian", "precomputed"])
    def test_float32_is_kept(self, kernel):
        X, y, weight, T = self.data(dtype=np.float32)
        if kernel == "precomputed":
            X, T = (reference.rbf(rows, X, 0.3).astype(np.float32) for rows in (X, T))
        single = self.make(kernel=kernel).fit(X, y, sample_weight=weight)
        for array in (single.dual_coef_, single.intercept_, self.outputs(single, T)):
            assert array.dtype == np.float32
        assert single.support_vectors_.dtype == (np.int64 if kernel == "precomputed" else np.float32)
        double = self.make(kernel=kernel).fit(X.astype(float), y, sample_weight=weight)
        assert self.outputs(double, T.astype(float)).dtype == np.float64
        assert relative_error(self.outputs(single, T), self.outputs(double, T.astype(float))) < 1e-3

    def test_tables_equal_arrays(self):
        X, y, weight, T = self.data()
        model = self.make().fit(X, y, sample_weight=weight)
        names = ["a", "b", "c"]
        for make in (lambda A: pd.DataFrame(A, columns=names), lambda A: pl.DataFrame(A, schema=names)):
            from_table = self.make().fit(make(X), y, sample_weight=weight)
            assert from_table.feature_names_in_.tolist() == names
            assert self.outputs(from_table, make(T)).tobytes() == self.outputs(model, T).tobytes()
        series = self.make().fit(X, pd.Series(y), sample_weight=pd.Series(weight))
        assert self.outputs(series, T).tobytes() == self.outputs(model, T).tobytes()

    @kernels
    @pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix])
    def test_csr_equals_dense(self, kernel, make):
        X, y, weight, T = self.data()
        X[np.abs(X) < 0.7] = 0.0
        model = self.make(kernel=kernel).fit(X, y, sample_weight=weight)
        from_csr = self.make(kernel=kernel).fit(make(X), y, sample_weight=weight)
        assert sparse.issparse(from_csr.support_vectors_)
        wanted = self.outputs(model, T)
        self.close(self.outputs(from_csr, make(T)), wanted)
        self.close(self.outputs(from_csr, T), wanted)
        self.close(self.outputs(model, make(T)), wanted)

    def test_precomputed_equals_the_kernel_itself(self):
        X, y, weight, T = self.data()
        weight[::7] = 0.0
        X[1] = X[2]
        K, K_test = reference.rbf(X, X, 0.3), reference.rbf(T, X, 0.3)
        model = self.make(kernel="rbf", gamma=0.3).fit(X, y, sample_weight=weight)
        precomputed = self.make(kernel="precomputed").fit(K, y, sample_weight=weight)
        self.close(self.outputs(precomputed, K_test), self.outputs(model, T))
        self.close(self.outputs(precomputed, sparse.csr_array(K_test)), self.outputs(model, T))

    def test_a_function_equals_the_kernel_itself(self):
        X, y, weight, T = self.data()
        model = self.make(kernel="rbf", gamma=0.3).fit(X, y, sample_weight=weight)
        by_function = self.make(kernel=narrow_rbf).fit(X, y, sample_weight=weight)
        self.close(self.outputs(by_function, T), self.outputs(model, T))

    @pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
    def test_a_width_per_feature_is_a_scaled_feature(self, kernel):
        X, y, weight, T = self.data()
        gamma = np.array([0.25, 1.0, 4.0])
        factor = np.sqrt(gamma) if kernel == "rbf" else gamma
        model = self.make(kernel=kernel, gamma=gamma).fit(X, y, sample_weight=weight)
        scaled = self.make(kernel=kernel, gamma=1.0).fit(X * factor, y, sample_weight=weight)
        self.close(self.outputs(scaled, T * factor), self.outputs(model, T))

    @pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed"])
    @pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
    def test_a_pickle_gives_the_same_bits(self, kernel, make):
        X, y, weight, T = self.data()
        if kernel == "precomputed":
            X, T = reference.rbf(X, X, 1.0), reference.rbf(T, X, 1.0)
        model = self.make(kernel=kernel).fit(make(X), y, sample_weight=weight)
        again = pickle.loads(pickle.dumps(model))
        assert self.outputs(again, make(T)).tobytes() == self.outputs(model, make(T)).tobytes()

    @pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed"])
    def test_the_expansion_is_the_model(self, kernel):
        X, y, weight, T = self.data()
        if kernel == "precomputed":
            X, T = reference.rbf(X, X, 1.0), reference.rbf(T, X, 1.0)
        model = self.make(kernel=kernel).fit(X, y, sample_weight=weight)
        f = model.expansion_
        assert f.n_vectors == model.n_vectors_
        outputs = f(T)[:, 0]
        assert outputs.tobytes() == self.outputs(model, T).tobytes()
        stored = type(f).from_dict(f.to_dict())
        assert stored(T).tobytes() == f(T).tobytes()

    def test_a_clone_starts_afresh(self):
        X, y, _, T = self.data()
        model = self.make().fit(X, y)
        fresh = clone(model)
        assert not hasattr(fresh, "support_vectors_")
        assert fresh.get_params() == model.get_params()
        assert self.outputs(fresh.fit(X, y), T).tobytes() == self.outputs(model, T).tobytes()

    def test_fitting_again_forgets(self):
        X, y, _, T = self.data()
        wanted = self.outputs(self.make().fit(X, y), T)
        model = self.make().fit(*self.data(n=30, seed=3)[:2])
        assert self.outputs(model.fit(X, y), T).tobytes() == wanted.tobytes()

    @kernels
    def test_n_jobs_does_not_change_the_bits(self, kernel):
        X, y, weight, T = self.data(n=400)
        wanted = self.outputs(self.make(kernel=kernel).fit(X, y, sample_weight=weight), T)
        for n_jobs in (2, -1):
            model = self.make(kernel=kernel, n_jobs=n_jobs).fit(X, y, sample_weight=weight)
            assert self.outputs(model, T).tobytes() == wanted.tobytes()

    def test_the_input_is_left_as_it_was(self):
        X, y, weight, T = self.data()
        copies = [array.copy() for array in (X, y, weight, T)]
        self.outputs(self.make().fit(X, y, sample_weight=weight), T)
        for array, copy in zip((X, y, weight, T), copies, strict=True):
            np.testing.assert_array_equal(array, copy)


class ClassifierContract(EstimatorContract):
    """What classifiers obey besides."""

    def three_classes(self):
        X, _, weight, T = self.data()
        y = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.4, 0.4])
        return X, y, weight, T

    def test_labels_may_be_text(self):
        X, y, weight, T = self.data()
        model = self.make().fit(X, y, sample_weight=weight)
        named = self.make().fit(X, np.array(["no", "yes"])[y], sample_weight=weight)
        assert named.classes_.tolist() == ["no", "yes"]
        assert self.outputs(named, T).tobytes() == self.outputs(model, T).tobytes()
        np.testing.assert_array_equal(named.predict(T) == "yes", model.predict(T) == 1)
        as_objects = self.make().fit(X, np.array(["no", "yes"], dtype=object)[y], sample_weight=weight)
        np.testing.assert_array_equal(as_objects.predict(T), named.predict(T))

    def test_the_sign_decides_between_two_classes(self):
        X, y, weight, T = self.data()
        model = self.make().fit(X, y - 7, sample_weight=weight)
        f = model.decision_function(T)
        assert f.shape == (len(T),)
        np.testing.assert_array_equal(model.predict(T), np.where(f > 0, -6, -7))

    def test_the_largest_output_decides_among_more(self):
        X, y, weight, T = self.three_classes()
        model = self.make().fit(X, y, sample_weight=weight)
        f = model.decision_function(T)
        assert f.shape == (len(T), 3)
        np.testing.assert_array_equal(model.predict(T), f.argmax(axis=1))
        assert model.dual_coef_.shape == (3, model.n_vectors_)
        assert model.intercept_.shape == (3,)

    def test_more_classes_are_each_one_against_the_rest(self):
        X, y, weight, T = self.three_classes()
        gamma = self.make().fit(X, y, sample_weight=weight).gamma_
        f = self.make(gamma=gamma).fit(X, y, sample_weight=weight).decision_function(T)
        for label in range(3):
            alone = self.make(gamma=gamma).fit(X, y == label, sample_weight=weight)
            self.close(alone.decision_function(T), f[:, label])

    def test_class_weights_are_sample_weights(self):
        X, y, weight, T = self.three_classes()
        factors = {0: 0.5, 1: 3.0, 2: 1.0}
        gamma = 0.4
        by_class = self.make(gamma=gamma, class_weight=factors).fit(X, y, sample_weight=weight)
        by_sample = self.make(gamma=gamma).fit(X, y, sample_weight=weight * np.vectorize(factors.get)(y))
        self.close(by_class.decision_function(T), by_sample.decision_function(T))
        partly = self.make(gamma=gamma, class_weight={0: 0.5, 1: 3.0}).fit(X, y, sample_weight=weight)
        self.close(partly.decision_function(T), by_sample.decision_function(T))

    def test_balanced_classes_have_equal_totals(self):
        X, y, weight, T = self.data()
        totals = np.bincount(y, weights=weight)
        factors = dict(enumerate(totals.sum() / (2 * totals)))
        balanced = self.make(class_weight="balanced").fit(X, y, sample_weight=weight)
        explicit = self.make(class_weight=factors).fit(X, y, sample_weight=weight)
        self.close(balanced.decision_function(T), explicit.decision_function(T))

    def test_a_class_of_weight_zero_is_absent(self):
        X, y, weight, T = self.three_classes()
        model = self.make(gamma=0.4, class_weight={1: 0.0}).fit(X, y, sample_weight=weight)
        assert model.classes_.tolist() == [0, 2]
        without = self.make(gamma=0.4).fit(X[y != 1], y[y != 1], sample_weight=weight[y != 1])
        self.close(model.decision_function(T), without.decision_function(T))


def narrow_rbf(X, Z):
    """A kernel as users write one."""
    X, Z = (np.asarray(side.todense() if sparse.issparse(side) else side) for side in (X, Z))
    return reference.rbf(X, Z, 0.3)
