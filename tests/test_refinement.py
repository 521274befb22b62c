"""Refinement: gradients against finite differences, and what the optimiser reaches."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from slimsvm.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid
from slimsvm.losses import Squared, SquaredHinge
from slimsvm.refinement import (
    RbfModel,
    RoundedHinge,
    RoundedInsensitive,
    distance,
    factor_gram,
    fit_coefficients,
    fit_expansion,
    joint,
    kernel_blocks,
    minimise,
    nearest_vectors,
    objectives,
    pull_back,
    refine_in_batches,
    refine_jointly,
    regularised_loss,
    starts,
)
from slimsvm.refinement.losses import core_loss

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


# --- vectors, coefficients, intercept and widths together ---

LOSSES = [RoundedHinge(), RoundedInsensitive(0.2), Squared(), SquaredHinge()]


def joint_problem(n=70, d=3, m=5, k=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = np.where(rng.integers(k, size=n)[:, None] == np.arange(k), 1.0, -1.0)
    weights = np.repeat(rng.uniform(0.5, 2.0, (n, 1)), k, axis=1)
    model = RbfModel(
        rng.standard_normal((m, d)),
        rng.standard_normal((m, k)),
        rng.standard_normal(k),
        rng.normal(-1, 0.3, d),
    )
    return model, X, Y, weights, rng.uniform(0.5, 2.0, k)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_a_smooth_loss_has_its_derivative(loss):
    rng = np.random.default_rng(0)
    F = 2.0 * rng.standard_normal((6, 3))
    Y = np.where(rng.integers(3, size=6)[:, None] == np.arange(3), 1.0, -1.0)
    expected = numerical(lambda F: float(np.sum(loss.value(Y, F))), F)
    np.testing.assert_allclose(loss.derivative(Y, F), expected, atol=1e-5)


CORE_LOSSES = [loss for loss in LOSSES if core_loss(loss) is not None]


@pytest.mark.parametrize(
    ("core", "loss"),
    [(True, loss) for loss in CORE_LOSSES] + [(False, loss) for loss in LOSSES],
    ids=lambda value: value if isinstance(value, bool) else type(value).__name__,
)
@pytest.mark.parametrize("widths", ["fixed", "one", "per_feature"])
def test_joint_refinement_reaches_a_stationary_point(monkeypatch, loss, widths, core):
    model, X, Y, weights, penalty = joint_problem()
    monkeypatch.setattr(joint, "CORE_WORK", np.inf if core else 0)

    def objective(model):
        return regularised_loss(
            model.kernel, X, Y, weights, loss, penalty, model.vectors, model.coef, model.intercept
        )

    start, _ = objective(model)
    found, value, n_iter = refine_jointly(
        model, X, Y, weights, loss, penalty, widths=widths, max_iter=3000, tol=1e-12 if core else 1e-9
    )
    reached, gradient = objective(found)
    assert reached == pytest.approx(value, rel=1e-9 if core else 1e-4)
    assert reached < start
    assert n_iter > 1
    if widths == "fixed":
        np.testing.assert_array_equal(found.log_widths, model.log_widths)
    if widths == "one":
        np.testing.assert_allclose(np.ptp(found.log_widths - model.log_widths), 0.0, atol=1e-9)
    if core:
        assert np.abs(gradient.vectors).max() < 5e-2 * np.abs(objective(model)[1].vectors).max()
        assert np.abs(gradient.coef).max() < 5e-2 * np.abs(objective(model)[1].coef).max()


def test_the_core_steps_down_the_true_gradient():
    """One step from the start: the value it reports there is the objective, for every kind of widths."""
    model, X, Y, weights, penalty = joint_problem()
    wanted, _ = regularised_loss(
        model.kernel, X, Y, weights, RoundedHinge(), penalty, model.vectors, model.coef, model.intercept
    )
    for widths in ("fixed", "one", "per_feature"):
        _, value, n_iter = refine_jointly(
            model, X, Y, weights, RoundedHinge(), penalty, widths=widths, max_iter=0
        )
        assert n_iter == 0
        assert value == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("widths", ["fixed", "one", "per_feature"])
def test_eliminated_coefficients_are_the_best_and_the_rest_is_stationary(widths):
    model, X, Y, weights, _ = joint_problem()
    penalty = np.full(3, 0.7)

    def refined(max_iter):
        return refine_jointly(
            model,
            X,
            Y,
            weights,
            Squared(),
            penalty,
            widths=widths,
            eliminate=True,
            max_iter=max_iter,
            tol=1e-13,
        )

    def objective(model):
        return regularised_loss(
            model.kernel, X, Y, weights, Squared(), penalty, model.vectors, model.coef, model.intercept
        )

    at_start, value, n_iter = refined(0)
    assert n_iter == 0
    np.testing.assert_allclose(at_start.vectors, model.vectors, rtol=1e-12)
    reached, gradient = objective(at_start)
    assert value == pytest.approx(reached, rel=1e-10)
    np.testing.assert_allclose(gradient.coef, 0.0, atol=1e-8)
    np.testing.assert_allclose(gradient.intercept, 0.0, atol=1e-8)
    found, value, _ = refined(3000)
    last, end = objective(found)
    assert value == pytest.approx(last, rel=1e-10)
    assert last < reached
    np.testing.assert_allclose(end.coef, 0.0, atol=1e-8)
    assert np.abs(end.vectors).max() < 1e-2 * np.abs(gradient.vectors).max()
    if widths == "one":
        assert abs(end.widths @ np.exp(found.log_widths)) < 1e-2 * abs(
            gradient.widths @ np.exp(model.log_widths)
        )
    if widths == "per_feature":
        assert np.abs(end.widths).max() < 1e-2 * np.abs(gradient.widths).max()


def test_elimination_reaches_in_few_steps_what_the_joint_search_takes_many_for():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (500, 2))
    Y = (np.sin(2 * X[:, 0]) * np.cos(X[:, 1]))[:, None]
    weights, penalty = np.ones_like(Y), np.full(1, 1e-3)
    start = RbfModel(X[:10], np.zeros((10, 1)), np.zeros(1), np.zeros(2))
    joint_value, few = (
        refine_jointly(start, X, Y, weights, Squared(), penalty, eliminate=e, max_iter=i, tol=0.0)[1]
        for e, i in ((False, 100), (True, 25))
    )
    assert few < joint_value


def test_elimination_bears_equal_vectors_and_refuses_other_losses():
    model, X, Y, weights, _ = joint_problem()
    twice = replace(model, vectors=np.vstack([model.vectors[:1], model.vectors[:1], model.vectors[2:]]))
    penalty = np.full(3, 1e-9)
    found, value, _ = refine_jointly(twice, X, Y, weights, Squared(), penalty, eliminate=True, max_iter=50)
    assert np.isfinite(value)
    assert np.isfinite(found.coef).all()
    with pytest.raises(ValueError, match="squared loss only"):
        refine_jointly(model, X, Y, weights, SquaredHinge(), penalty, eliminate=True)


def test_refinement_in_batches_gains_and_does_not_depend_on_threads():
    model, X, Y, weights, penalty = joint_problem(n=2000, m=12)
    value = {}
    for n_threads in (1, 3):
        value[n_threads] = refine_in_batches(
            model, X, Y, weights, Squared(), penalty, widths="per_feature", n_epochs=5,
            rng=np.random.default_rng(0), n_threads=n_threads,
        )  # fmt: skip
    assert value[1].vectors.tobytes() == value[3].vectors.tobytes()
    assert value[1].log_widths.tobytes() == value[3].log_widths.tobytes()
    before, after = (
        regularised_loss(m.kernel, X, Y, weights, Squared(), penalty, m.vectors, m.coef, m.intercept)[0]
        for m in (model, value[1])
    )
    assert after < before


def test_growing_keeps_the_function():
    model, X, Y, weights, _ = joint_problem()
    grown = starts.grow(model, X, Y, weights, RoundedHinge(), 9, np.random.default_rng(0))
    assert grown.n_vectors == 9
    np.testing.assert_allclose(grown.outputs(X), model.outputs(X))
    for vector in grown.vectors[5:]:
        assert (X == vector).all(axis=1).any()


def test_cluster_centres_share_by_class():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(c, 0.1, (40, 2)) for c in (0, 5, 10)])
    centres = starts.cluster_centres(X, np.repeat([0, 1, 2], 40), 3, rng)
    np.testing.assert_allclose(centres.mean(axis=1), [0, 5, 10], atol=0.1)
    assert starts.cluster_centres(X, np.zeros(120, dtype=int), 7, rng).shape == (7, 2)


def test_random_rows_instead_of_centres():
    X = np.random.default_rng(0).normal(size=(30, 2))
    rows = starts.cluster_centres(X, np.zeros(30, dtype=int), 4, np.random.default_rng(1), move=False)
    assert all((X == row).all(axis=1).any() for row in rows)


def test_the_weakest_vector_is_the_one_least_missed():
    rng = np.random.default_rng(0)
    model = RbfModel(rng.normal(size=(6, 2)), rng.normal(size=(6, 1)), np.zeros(1), np.zeros(2))
    K = model.kernel(model.vectors, model.vectors)
    total = model.coef[:, 0] @ K @ model.coef[:, 0]
    missed = []
    for j in range(6):
        others = np.delete(np.arange(6), j)
        fitted = np.linalg.solve(K[np.ix_(others, others)], K[others] @ model.coef[:, 0])
        missed.append(total - fitted @ K[np.ix_(others, others)] @ fitted)
    left = starts.without_weakest(model, 5)
    np.testing.assert_array_equal(left.vectors, np.delete(model.vectors, np.argmin(missed), axis=0))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_coefficients_on_blocks_are_those_on_all_rows(monkeypatch, dtype):
    monkeypatch.setattr(objectives, "BLOCK_BYTES", 8 * 7 * 5)  # blocks of seven rows
    monkeypatch.setattr(objectives, "HELD_BYTES", 8 * 20 * 5)  # and some of them computed anew each time
    model, X, Y, weights, penalty = joint_problem()
    Kzz = model.kernel(model.vectors, model.vectors)
    found = {}
    for name, blocks in {
        "whole": lambda: iter([(slice(0, len(X)), model.kernel(X, model.vectors))]),
        "blocks": kernel_blocks(model.kernel, X, model.vectors, dtype=dtype),
    }.items():
        found[name] = fit_coefficients(
            blocks, Kzz, Y, weights, SquaredHinge(), penalty, model.coef, model.intercept, max_iter=300
        )
    tolerance = 1e-6 if dtype == np.float64 else 1e-2
    for whole, in_blocks in zip(found["whole"], found["blocks"], strict=True):
        np.testing.assert_allclose(in_blocks, whole, rtol=tolerance, atol=tolerance)
