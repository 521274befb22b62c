"""Pruning and exact simplification as functions on arrays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_reduction import algorithm_1, algorithm_2, coefficients_of
from slimsvm.kernels import RBF, Linear, Polynomial, Sigmoid
from slimsvm.reduction.downdated import DELAYED, DowndatedInverse
from slimsvm.reduction.exact import simplify
from slimsvm.reduction.prune import CRITERIA, Pruner, distance, prune

RIDGE = 1e-3  # the paper's lambda; kernels with k(s, s) = 1 take it as it is


def problem(m, d, k, gamma=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, d))
    return X, RBF(gamma)(X, X), rng.standard_normal((m, k))


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize(
    ("m", "d", "k"), [(1, 1, 1), (2, 1, 1), (12, 1, 1), (25, 2, 1), (30, 4, 3), (18, 20, 2), (90, 3, 1)]
)
def test_same_order_as_the_algorithms_of_the_paper(m, d, k, criterion):
    _, K, coef = problem(m, d, k, seed=m)
    result = prune(K.copy(), coef, criterion=criterion, ridge=RIDGE)
    found = [algorithm_1(K, coef, 1, RIDGE, criterion)]
    if criterion != "distance":
        found.append(algorithm_2(K, coef, 1, RIDGE, criterion == "damage"))
    for removed, left, expected in found:
        assert result.removed.tolist() == removed
        assert result.rows.tolist() == left
        np.testing.assert_allclose(result.coef, expected, rtol=1e-8, atol=1e-10)


def test_the_errors_of_both_algorithms_are_told_apart():
    _, K, coef = problem(40, 2, 1)
    orders = {
        criterion: prune(K.copy(), coef, criterion=criterion, ridge=RIDGE).removed.tolist()
        for criterion in CRITERIA
    }
    assert len({tuple(order) for order in orders.values()}) == 3


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 20), st.integers(1, 5), st.integers(0, 10**6), st.sampled_from(list(CRITERIA)))
def test_same_order_on_random_problems(m, d, seed, criterion):
    _, K, coef = problem(m, d, 1, gamma=0.2, seed=seed)
    n_keep = 1 + seed % m
    result = prune(K.copy(), coef, n_keep=n_keep, criterion=criterion, ridge=RIDGE)
    removed, _, expected = algorithm_1(K, coef, n_keep, RIDGE, criterion)
    assert result.removed.tolist() == removed
    np.testing.assert_allclose(result.coef, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("criterion", ["distance", "damage"])
def test_after_2000_eliminations_the_coefficients_are_those_of_a_fresh_computation(criterion):
    _, K, coef = problem(2200, 5, 2, gamma=0.1)
    result = prune(K.copy(), coef, n_keep=200, ridge=RIDGE, criterion=criterion)
    assert len(result.removed) == 2000
    expected = coefficients_of(K, coef, result.rows, RIDGE)
    assert np.abs(result.coef - expected).max() < 1e-8 * np.abs(expected).max()


@pytest.mark.parametrize("ridge", [RIDGE, 1e-5])
def test_inverse_and_its_square_follow_removals_across_flushes_and_compactions(ridge):
    _, K, _ = problem(3 * DELAYED, 3, 1)
    inverse = DowndatedInverse(K.copy(), ridge, squared=True)
    rng = np.random.default_rng(1)
    left = np.arange(len(K))
    for step in range(2 * DELAYED + 10):
        i = rng.choice(left)
        local = int(np.flatnonzero(inverse.rows == i)[0])
        inverse.remove(local)
        left = left[left != i]
        if step % 50 == 49:
            inverse.flush()
    left_alone = K[np.ix_(left, left)]
    expected = np.linalg.inv(left_alone + ridge * np.eye(len(left)))
    alive = np.flatnonzero(inverse.alive)
    assert inverse.rows[alive].tolist() == left.tolist()
    np.testing.assert_allclose(inverse.diagonal[alive], np.diagonal(expected), rtol=1e-8)
    np.testing.assert_allclose(
        inverse.column(alive[3])[alive], expected[:, 3], atol=1e-8 * np.abs(expected).max()
    )
    np.testing.assert_allclose(inverse.square.diagonal[alive], (expected**2).sum(axis=1), rtol=1e-6)
    directions = expected / np.diagonal(expected)  # 1 and -beta
    errors = np.einsum("ji,jk,ki->i", directions, left_alone, directions)  # eq. (5)
    np.testing.assert_allclose(distance(inverse, np.empty(0))[alive], errors, rtol=1e-5)


def test_blocks_tell_every_state_between():
    _, K, coef = problem(150, 3, 2)
    pruner = Pruner(K.copy(), coef, criterion="damage", ridge=RIDGE)
    first, second = pruner.eliminate(100), pruner.eliminate(10)
    assert (len(first), len(second)) == (DELAYED, 10)
    for steps in (0, 1, 7, 10):
        state = second.after(steps)
        expected = prune(K.copy(), coef, n_keep=150 - DELAYED - steps, ridge=RIDGE)
        assert state.rows.tolist() == expected.rows.tolist()
        assert state.removed.tolist() == expected.removed.tolist()
        np.testing.assert_allclose(state.coef, expected.coef, rtol=1e-8, atol=1e-10)
    assert pruner.state().rows.tolist() == second.after(10).rows.tolist()


@pytest.mark.parametrize("criterion", CRITERIA)
def test_order_of_the_vectors_does_not_matter(criterion):
    _, K, coef = problem(60, 3, 2)
    order = np.random.default_rng(0).permutation(60)
    options = {"n_keep": 20, "ridge": RIDGE, "criterion": criterion}
    straight = prune(K.copy(), coef, **options)
    shuffled = prune(K[np.ix_(order, order)].copy(), coef[order], **options)
    assert sorted(order[shuffled.rows]) == straight.rows.tolist()


def test_scale_makes_units_of_outputs_irrelevant():
    _, K, coef = problem(50, 2, 2)
    units = np.array([1.0, 1e6])
    plain = prune(K.copy(), coef, n_keep=10)
    scaled = prune(K.copy(), coef * units, n_keep=10, scale=units)
    assert plain.removed.tolist() == scaled.removed.tolist()


def test_a_matrix_that_is_not_positive_definite_gets_a_larger_ridge():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    K = Sigmoid(gamma=1.0, coef0=-1.0)(X, X)
    assert np.linalg.eigvalsh(K)[0] < -0.1
    inverse = DowndatedInverse(K.copy(), RIDGE)
    expected = np.linalg.inv(K + inverse.ridge * np.eye(40))
    np.testing.assert_allclose(inverse.column(5), expected[:, 5], rtol=1e-8, atol=1e-10)
    for criterion in CRITERIA:
        result = prune(K.copy(), rng.standard_normal((40, 1)), n_keep=5, criterion=criterion)
        assert len(result.rows) == 5
        assert np.isfinite(result.coef).all()


@pytest.mark.parametrize(
    ("kernel", "rank"), [(Linear(), 4), (Polynomial(gamma=0.5, coef0=1.0, degree=2), 15), (RBF(0.3), 30)]
)
def test_exact_keeps_the_rank_and_the_function(kernel, rank):
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((30, 4)), rng.standard_normal((50, 4))
    coef = rng.standard_normal((30, 3))
    result = simplify(kernel(X, X), coef)
    assert len(result.rows) == rank
    assert sorted([*result.rows, *result.removed]) == list(range(30))
    before, after = kernel(new, X) @ coef, kernel(new, X[result.rows]) @ result.coef
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-7 * np.abs(before).max())


def test_exact_for_an_indefinite_kernel_keeps_the_values_at_the_vectors():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((10, 3)), 2, axis=0)
    K = Sigmoid(gamma=1.0, coef0=-1.0)(X, X)
    coef = rng.standard_normal((20, 1))
    result = simplify(K.copy(), coef, positive_definite=False)
    assert len(result.rows) == 10
    np.testing.assert_allclose(K[:, result.rows] @ result.coef, K @ coef, atol=1e-8)
