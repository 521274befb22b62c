"""Probabilities: their order is that of the answer, and slope and offset are found where they are known."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import optimize
from scipy.special import expit
from scipy.special import softmax as plain_softmax

from slimsvm import CompactSVC
from slimsvm.calibration import fit_softmax, follow_probabilities, per_row
from slimsvm.probability import Probability, softmax
from slimsvm.readout import LargestReadout, SignReadout, VotesReadout

CLASSES = np.array(["a", "b", "c", "d"])


def drawn(n, k, factor, offset, seed=0):
    """Outputs of rows, and their classes drawn from the softmax with a known slope and offset."""
    rng = np.random.default_rng(seed)
    outputs = rng.standard_normal((n, k))
    P = truth(outputs, factor, offset)
    return outputs, (rng.random(n)[:, None] > np.cumsum(P, axis=1)).sum(axis=1)


def truth(outputs, factor, offset):
    if outputs.shape[1] == 1:
        second = expit(factor * outputs[:, 0] + offset)
        return np.column_stack([1 - second, second])
    return plain_softmax(factor * outputs + offset, axis=1)


def log_loss(P, groups):
    return -np.mean(np.log(P[np.arange(len(P)), groups]))


def best_temperature(outputs, groups):
    def loss(log_factor):
        return log_loss(truth(outputs, np.exp(log_factor), 0.0), groups)

    return np.exp(optimize.minimize_scalar(loss, bounds=(-7, 7), method="bounded").x)


@st.composite
def outputs_and_offsets(draw, most=4):
    k = draw(st.integers(1, most))
    k = 1 if k == 2 else k
    values = st.floats(-50, 50, width=32) | st.sampled_from([0.0, 1e-300, -1e-300, 1e300, -1e300, 1.0])
    outputs = draw(arrays(np.float64, (draw(st.integers(1, 8)), k), elements=values))
    offset = draw(st.lists(st.floats(-30, 30), min_size=k, max_size=k))
    return outputs, draw(st.sampled_from([0.0, 1e-3, 1.0, 40.0])), tuple(offset)


# The order


@given(outputs_and_offsets(), st.sampled_from([0, 1]))
def test_the_largest_probability_is_that_of_the_predicted_class(case, zero):
    outputs, factor, offset = case
    k = max(2, outputs.shape[1])
    probability = Probability("softmax", factor, offset)
    kinds = [SignReadout(CLASSES[:2], probability, zero)] if k == 2 else []
    if k > 2:
        kinds = [
            LargestReadout(CLASSES[:k], probability),
            LargestReadout(CLASSES[:k], probability, half_digits=True),
        ]
    for readout in kinds:
        P = readout.probabilities(outputs)
        np.testing.assert_array_equal(readout.classes[P.argmax(axis=1)], readout.answer(outputs))
        np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
        assert ((P >= 0) & (P <= 1)).all()


@given(
    arrays(np.float64, (5, 6), elements=st.floats(-3, 3)), st.lists(st.floats(-5, 5), min_size=4, max_size=4)
)
def test_so_it_is_with_votes(outputs, offset):
    for ties in (False, True):
        readout = VotesReadout(CLASSES, Probability("softmax", 1.3, tuple(offset)), break_ties=ties)
        P = readout.probabilities(outputs)
        np.testing.assert_array_equal(readout.classes[P.argmax(axis=1)], readout.answer(outputs))
        np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)


@given(outputs_and_offsets())
def test_where_the_softmax_agrees_with_the_outputs_it_is_left_alone(case):
    outputs, factor, offset = case
    outputs = np.clip(outputs, -50, 50)
    P = softmax(outputs, factor, offset)
    if outputs.shape[1] == 1:
        wanted = truth(outputs, factor, offset[0])
        agree = (wanted[:, 1] > wanted[:, 0]) == (outputs[:, 0] > 0)
    else:
        wanted = truth(outputs, factor, np.array(offset))
        agree = wanted.argmax(axis=1) == outputs.argmax(axis=1)
    np.testing.assert_allclose(P[agree], wanted[agree], rtol=1e-9, atol=1e-12)


def test_the_winner_is_ahead_by_the_least_possible():
    outputs = np.array([[1.0, 0.9, 0.8, 0.0]])
    P = softmax(outputs, 0.0, tuple(np.log([0.1, 0.5, 0.3, 0.1])))
    np.testing.assert_allclose(P, [[0.3, 0.3, 0.3, 0.1]], rtol=1e-12)
    P = softmax(outputs, 0.0, tuple(np.log([0.3, 0.5, 0.1, 0.1])))
    np.testing.assert_allclose(P, [[0.4, 0.4, 0.1, 0.1]], rtol=1e-12)
    assert 0 < P[0, 0] - P[0, 1] < 1e-15


@given(st.floats(0, 50), st.floats(-30, 30))
def test_two_classes_rise_with_the_output(factor, offset):
    outputs = np.linspace(-4, 4, 161)[:, None]
    for zero in (0, 1):
        P = SignReadout(CLASSES[:2], Probability("softmax", factor, offset), zero).probabilities(outputs)
        assert (np.diff(P[:, 1]) >= -1e-15).all()


def test_a_probability_is_a_value():
    one = Probability("softmax", 2.0, 0.5)
    assert one == Probability("softmax", 2.0, (0.5,)) == Probability("softmax", 2.0, np.array([0.5]))
    assert pickle.loads(pickle.dumps(one)) == one
    assert Probability("softmax").offset == ()
    for wrong in ({"factor": -1.0}, {"factor": np.nan}, {"offset": (np.inf, 0.0)}):
        with pytest.raises(ValueError, match="must be finite, the factor not negative"):
            Probability("softmax", **wrong)


# The fit


@pytest.mark.parametrize(
    ("k", "factor", "offset"),
    [
        (1, 2.0, 1.5),
        (1, 0.5, -2.0),
        (3, 1.5, np.array([1.0, 0.0, -1.5])),
        (4, 3.0, np.array([0.0, 2.0, -1.0, 0.5])),
    ],
)
def test_a_known_slope_and_offset_are_found(k, factor, offset):
    outputs, groups = drawn(4000, k, factor, offset)
    found = fit_softmax(outputs, groups, np.ones(len(groups)))
    assert found.factor == pytest.approx(factor, rel=0.1)
    wanted = np.atleast_1d(offset) if k == 1 else offset - offset.mean()
    np.testing.assert_allclose(found.offset, wanted, atol=0.2)
    fresh, classes = drawn(4000, k, factor, offset, seed=1)
    fitted = log_loss(truth(fresh, found.factor, found.offset if k > 1 else found.offset[0]), classes)
    alone = log_loss(truth(fresh, best_temperature(outputs, groups), 0.0), classes)
    exact = log_loss(truth(fresh, factor, offset), classes)
    assert fitted < exact + 2e-3
    assert fitted < alone - 0.03


def test_the_fit_is_that_of_a_general_optimiser():
    outputs, groups = drawn(60, 3, 1.0, np.array([0.5, 0.0, -1.0]))
    weight = np.random.default_rng(1).uniform(0.1, 3.0, 60)
    found = fit_softmax(outputs, groups, weight)
    n = weight.sum()
    targets = (n * (groups[:, None] == np.arange(3)) + 1 / 3) / (n + 1)

    def loss(at):
        return -weight @ (targets * np.log(truth(outputs, at[0], at[1:]))).sum(axis=1)

    reached = optimize.minimize(loss, np.zeros(4), tol=1e-10)
    at = np.array([found.factor, *found.offset])
    assert loss(at) <= reached.fun + 1e-9
    assert np.abs(optimize.approx_fprime(at, loss, 1e-6)).max() < 1e-3


@pytest.mark.parametrize("k", [1, 3])
def test_rows_of_weight_two_are_two_rows(k):
    outputs, groups = drawn(40, k, 1.0, 0.3)
    weight = np.random.default_rng(0).integers(0, 3, 40)
    copies = np.repeat(np.arange(40), weight)
    weighted = fit_softmax(outputs, groups, weight.astype(float))
    copied = fit_softmax(outputs[copies], groups[copies], np.ones(len(copies)))
    np.testing.assert_allclose(
        [weighted.factor, *weighted.offset], [copied.factor, *copied.offset], rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("n", [1, 2, 12, 1000])
@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_n_separated_rows_and_one_unknown_one_make_the_probability(k, n, size):
    groups = np.arange(n) % max(2, k)
    outputs = size * (np.where(groups == 1, 1.0, -1.0)[:, None] if k == 1 else np.eye(k)[groups])
    found = fit_softmax(outputs, groups, np.ones(n))
    P = truth(outputs, found.factor, np.array(found.offset) if k > 1 else found.offset[0])
    if n % max(2, k) == 0:
        np.testing.assert_allclose(P[np.arange(n), groups], (n + 1 / max(2, k)) / (n + 1), rtol=1e-6)
    assert np.isfinite(P).all()
    assert P.min() > 0.1 / (n + 1) / max(2, k)


@pytest.mark.parametrize("n", [5, 50, 5000])
def test_a_class_without_rows_is_unlikely_but_possible(n):
    outputs, groups = drawn(n, 3, 1.0, 0.0)
    kept = groups != 2
    found = fit_softmax(outputs[kept], groups[kept], np.ones(kept.sum()))
    share = truth(outputs[kept], found.factor, np.array(found.offset))[:, 2].mean()
    assert share == pytest.approx(1 / 3 / (kept.sum() + 1), rel=1e-5)
    one = fit_softmax(outputs[:, :1], np.zeros(n, dtype=int), np.ones(n))
    assert np.isfinite([one.factor, *one.offset]).all()


@pytest.mark.parametrize("k", [1, 3])
def test_outputs_that_say_nothing_or_the_contrary(k):
    groups = np.arange(90) % max(2, k)
    share = (groups[:, None] == np.arange(max(2, k))).mean(axis=0)
    alike = fit_softmax(np.full((90, k), 3.7), groups, np.ones(90))
    np.testing.assert_allclose(alike(np.full((1, k), 3.7))[0], share, atol=1e-6)
    contrary = -np.where(groups == 1, 1.0, -1.0)[:, None] if k == 1 else -np.eye(k)[groups]
    found = fit_softmax(contrary, groups, np.ones(90))
    assert found.factor == 0
    np.testing.assert_allclose(found.offset, 0.0, atol=1e-12)


@given(st.integers(0, 10_000), st.sampled_from([1, 3]), st.floats(1e-6, 1e6))
def test_the_scale_of_the_outputs_does_not_matter(seed, k, scale):
    outputs, groups = drawn(25, k, 1.0, 0.5, seed)
    weight = np.ones(25)
    a, b = fit_softmax(outputs, groups, weight), fit_softmax(scale * outputs, groups, weight)
    np.testing.assert_allclose(a(outputs), b(scale * outputs), atol=1e-7)


def test_given_probabilities_are_followed():
    outputs, _ = drawn(3000, 3, 1.0, 0.0)
    P = truth(outputs, 2.0, np.array([1.0, 0.0, -1.0]))
    found = follow_probabilities(outputs, P, np.ones(3000))
    np.testing.assert_allclose([found.factor, *found.offset], [2.0, 1.0, 0.0, -1.0], atol=0.03)


def test_weights_of_any_size_count_rows_as_rows():
    np.testing.assert_allclose(per_row(np.array([1e-9, 3e-9])), [0.5, 1.5])
    assert per_row(np.zeros(0)).size == 0
    assert fit_softmax(np.zeros((0, 1)), np.zeros(0, dtype=int), np.zeros(0)) == Probability("softmax")


# In CompactSVC


def test_rare_classes_have_the_probability_they_have():
    """Few rows of one class in a noisy problem: a slope alone is wrong on average, an offset is not."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 2))
    y = rng.random(3000) < expit(1.5 * X[:, 0] - 2.0)
    model = CompactSVC(random_state=0, max_vectors=4).fit(X[:1000], y[:1000])
    P = model.predict_proba(X[1000:])
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X[1000:]))
    assert P[:, 1].mean() == pytest.approx(y.mean(), abs=0.03)
    exact = expit(1.5 * X[1000:, 0] - 2.0)
    assert np.abs(P[:, 1] - exact).mean() < 0.08
    assert model.probability_.link == "softmax"
    assert len(model.probability_.offset) == 1
    heavier = CompactSVC(random_state=0, max_vectors=4).fit(
        X[:1000], y[:1000], sample_weight=np.full(1000, 7.0)
    )
    np.testing.assert_allclose(heavier.predict_proba(X), model.predict_proba(X), atol=1e-6)
