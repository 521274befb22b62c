"""Refinement: gradients against finite differences, and what the optimiser reaches."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from slimsvm.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid
from slimsvm.losses import Squared, SquaredHinge
from slimsvm.refinement import (
    RoundedHinge,
    distance,
    factor_gram,
    fit_coefficients,
    fit_expansion,
    minimise,
    nearest_vectors,
    pull_back,
    regularised_loss,
)

KERNELS = [
    RBF(0.3),
    RBF((0.3, 0.1, 0.8)),
    Linear(),
    Polynomial(gamma=0.5, coef0=1.0, degree=3),
    Polynomial(gamma=0.5, coef0=1.0, degree=1),
    Sigmoid(gamma=0.2, coef0=0.1),
]
NAMES = [f"{kernel!r}" for kernel in KERNELS]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((12, 3)), rng.standard_normal((4, 3))
    Y = np.sign(rng.standard_normal((12, 2)))
    return X, Z, Y, rng.standard_normal((12, 2)), rng.standard_normal((4, 2)), rng.random((12, 2))


def numerical(function, at):
    return approx_fprime(at.ravel(), lambda v: function(v.reshape(at.shape)), 1e-7).reshape(at.shape)


@pytest.mark.parametrize("kernel", KERNELS, ids=NAMES)
def test_pull_back(kernel, data):
    X, Z = data[:2]
    W = np.random.default_rng(1).standard_normal((12, 4))
    in_vectors, in_widths = pull_back(kernel, X, Z, kernel(X, Z), W)
    expected = numerical(lambda V: float(np.vdot(W, kernel(X, V))), Z)
    np.testing.assert_allclose(in_vectors, expected, rtol=1e-4, atol=1e-4)
    if isinstance(kernel, RBF):
        widths = kernel.widths(3)
        expected = numerical(lambda g: float(np.vdot(W, RBF(g)(X, Z))), widths)
        np.testing.assert_allclose(in_widths, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kernel", [RBF(0.3), RBF((0.3, 0.1, 0.8))])
def test_distance_and_its_gradient(kernel, data):
    X, Z, _, A, _, _ = data
    value, gradient, B = distance(kernel, X, A, Z)
    # the same by the definition: |f - g|^2 without |f|^2, at the coefficients returned
    direct = np.vdot(B, kernel(Z, Z) @ B) - 2 * np.vdot(B, kernel(Z, X) @ A)
    assert value == pytest.approx(direct, rel=1e-6)
    np.testing.assert_allclose(
        gradient, numerical(lambda V: distance(kernel, X, A, V)[0], Z), rtol=1e-4, atol=1e-5
    )
    nudged = B + 1e-3 * np.random.default_rng(2).standard_normal(B.shape)
    assert np.vdot(nudged, kernel(Z, Z) @ nudged) - 2 * np.vdot(nudged, kernel(Z, X) @ A) > direct


@pytest.mark.parametrize("loss", [RoundedHinge(), Squared(), SquaredHinge()], ids=repr)
@pytest.mark.parametrize("kernel", KERNELS, ids=NAMES)
def test_regularised_loss_and_its_gradients(kernel, loss, data):
    X, Z, Y, _, B, weights = data
    penalty, b = np.array([0.1, 0.7]), np.array([0.2, -0.3])

    def value(Z=Z, B=B, b=b, kernel=kernel):
        return regularised_loss(kernel, X, Y, weights, loss, penalty, Z, B, b)[0]

    F = kernel(X, Z) @ B + b
    norms = np.einsum("jo,jl,lo->o", B, kernel(Z, Z), B)
    assert value() == pytest.approx(0.5 * penalty @ norms + np.sum(weights * loss.value(Y, F)))
    _, gradient = regularised_loss(kernel, X, Y, weights, loss, penalty, Z, B, b)
    close = {"rtol": 1e-4, "atol": 2e-5 * max(1.0, np.abs(gradient.vectors).max())}
    np.testing.assert_allclose(gradient.vectors, numerical(lambda V: value(Z=V), Z), **close)
    np.testing.assert_allclose(gradient.coef, numerical(lambda V: value(B=V), B), **close)
    np.testing.assert_allclose(gradient.intercept, numerical(lambda V: value(b=V), b), **close)
    if isinstance(kernel, RBF):
        widths = kernel.widths(3)
        expected = numerical(lambda g: value(kernel=RBF(g)), widths)
        np.testing.assert_allclose(gradient.widths, expected, **close)


def test_rounded_hinge_lies_just_above_the_hinge_and_is_smooth():
    f = np.linspace(-3, 3, 2401)
    loss, hinge = RoundedHinge(0.25), np.maximum(0, 1 - f)
    excess = loss.value(1.0, f) - hinge
    assert excess.min() >= -1e-12
    assert excess.max() == pytest.approx(0.25 / 4)
    np.testing.assert_allclose(
        np.gradient(loss.value(1.0, f), f)[1:-1], loss.derivative(1.0, f)[1:-1], atol=0.01
    )
    np.testing.assert_array_equal(loss.value(-1.0, -f), loss.value(1.0, f))


def test_minimise_several_arrays():
    target = [np.arange(6.0).reshape(2, 3), np.array([7.0])]

    def objective(parts):
        differences = [part - goal for part, goal in zip(parts, target, strict=True)]
        return sum(float(np.vdot(d, d)) for d in differences), [2 * d for d in differences]

    found, value = minimise(objective, [np.zeros((2, 3)), np.zeros(1)], max_iter=50, tol=1e-14)
    assert value == pytest.approx(0, abs=1e-10)
    for part, goal in zip(found, target, strict=True):
        np.testing.assert_allclose(part, goal, atol=1e-5)


def test_nearest_vectors_finds_an_expansion_that_is_there():
    rng = np.random.default_rng(0)
    centres, coef = np.array([[-2.0, 0.0], [2.0, 1.0]]), np.array([[1.0, 0.5], [-2.0, 1.0]])
    kernel = RBF(0.5)
    # the same function written on many vectors: pairs around each centre do not change it much
    S = np.repeat(centres, 20, axis=0) + 1e-3 * rng.standard_normal((40, 2))
    A = np.repeat(coef, 20, axis=0) / 20
    Z, B = nearest_vectors(kernel, S, A, centres + 0.4, max_iter=200)
    np.testing.assert_allclose(Z, centres, atol=5e-3)
    np.testing.assert_allclose(B, coef, atol=5e-3)


def test_fitting_reaches_a_stationary_point_and_moving_helps(data):
    X, Z, Y, _, B, _ = data
    weights = np.full((12, 2), 1 / 24)
    fixed_arguments = (RBF(0.3), X, Y, weights, RoundedHinge(), np.full(2, 1e-2))
    before = regularised_loss(*fixed_arguments, Z, B, np.zeros(2))[0]
    kernel, X, *rest = fixed_arguments
    parts = [slice(0, 5), slice(5, 12)]
    still = fit_coefficients(
        lambda: ((rows, kernel(X[rows], Z)) for rows in parts),
        kernel(Z, Z), *rest, B, np.zeros(2), max_iter=500,
    )  # fmt: skip
    moved = fit_expansion(*fixed_arguments, Z, B, np.zeros(2), max_iter=500)
    values = []
    for found in ((Z, *still), moved):
        value, gradient = regularised_loss(*fixed_arguments, *found)
        values.append(value)
        assert np.abs(gradient.coef).max() < 1e-3
        assert np.abs(gradient.intercept).max() < 1e-3
    assert values[1] < values[0] < before


def test_equal_vectors_do_not_stop_it():
    assert np.isfinite(factor_gram(np.ones((5, 5)))).all()
    X = np.random.default_rng(0).standard_normal((10, 2))
    Z, B = nearest_vectors(RBF(1.0), X, np.ones((10, 1)), np.zeros((3, 2)), max_iter=10)
    assert np.isfinite(Z).all()
    assert np.isfinite(B).all()


def test_a_kernel_without_derivative_is_refused():
    X = np.ones((2, 2))
    with pytest.raises(ValueError, match="moved for 'rbf'"):
        pull_back(Laplacian(1.0), X, X, X, X)
