"""The losses: derivatives, and the dual side of each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from slimsvm.losses import Hinge, Squared, SquaredHinge

CLASSIFICATION = [Hinge(), SquaredHinge()]
REGRESSION = [Squared()]
every_loss = pytest.mark.parametrize(
    "loss", CLASSIFICATION + REGRESSION, ids=lambda loss: type(loss).__name__
)
numbers = st.floats(-5, 5)
costs = st.floats(0.01, 100)


def target(loss, y):
    """A label where the loss wants one."""
    return y if loss in REGRESSION else (1.0 if y > 0 else -1.0)


def kinks(loss, y):
    """Outputs at which the loss has no derivative."""
    if isinstance(loss, Hinge):
        return [y]
    return []


@every_loss
@given(y=numbers, f=numbers)
def test_the_derivative_is_the_slope(loss, y, f):
    y, step = target(loss, y), 1e-5
    assume(all(abs(f - kink) > 2 * step for kink in kinks(loss, y)))
    slope = (loss.value(y, f + step) - loss.value(y, f - step)) / (2 * step)
    assert loss.derivative(y, f) == pytest.approx(slope, abs=1e-5)


@every_loss
@given(y=numbers, f=numbers, g=numbers)
def test_the_derivative_supports_the_loss_from_below(loss, y, f, g):
    y = target(loss, y)
    assert loss.value(y, g) >= loss.value(y, f) + loss.derivative(y, f) * (g - f) - 1e-12
    assert loss.value(y, f) >= 0


@every_loss
@given(y=numbers, f=numbers, alpha=st.floats(-200, 200), C=costs)
def test_fenchel_and_young(loss, y, f, alpha, C):
    """C loss(f) + conjugate(alpha) >= -alpha f, with equality for alpha = -C loss'(f)."""
    y = target(loss, y)
    alpha = loss.project(y, alpha, C)
    size = 1 + C * loss.value(y, f) + abs(alpha) * (abs(f) + abs(y)) + alpha**2 / C
    assert C * loss.value(y, f) + loss.conjugate(y, alpha, C) >= -alpha * f - 1e-12 * size
    best = -C * loss.derivative(y, f)
    assert loss.project(y, best, C) == pytest.approx(best, rel=1e-12, abs=1e-12)
    gap = C * loss.value(y, f) + loss.conjugate(y, loss.project(y, best, C), C) + best * f
    assert abs(gap) <= 1e-12 * (1 + C * loss.value(y, f) + abs(best) * (abs(f) + abs(y)) + best**2 / C)


@every_loss
@given(y=numbers, alpha=st.floats(-200, 200), other=st.floats(-200, 200), C=costs)
def test_projecting_gives_the_nearest_feasible_point(loss, y, alpha, other, C):
    y = target(loss, y)
    nearest = loss.project(y, alpha, C)
    assert loss.project(y, nearest, C) == nearest
    assert np.isfinite(loss.conjugate(y, nearest, C))
    assert abs(alpha - nearest) <= abs(alpha - loss.project(y, other, C)) + 1e-12


@every_loss
def test_arrays_broadcast(loss):
    y = np.array([[1.0], [-1.0], [1.0]])
    f = np.linspace(-2, 2, 12).reshape(3, 4)
    C = np.array([[0.5], [1.0], [2.0]])
    alpha = loss.project(y, f, C)
    for out in (loss.value(y, f), loss.derivative(y, f), alpha, loss.conjugate(y, alpha, C)):
        assert out.shape == (3, 4)
        assert np.isfinite(out).all()
    assert loss.value(y, f)[1, 2] == loss.value(-1.0, f[1, 2])


@pytest.mark.parametrize("loss", CLASSIFICATION, ids=lambda loss: type(loss).__name__)
def test_classification_losses_see_only_the_margin(loss):
    f = np.linspace(-800, 800, 101)
    np.testing.assert_array_equal(loss.value(1.0, f), loss.value(-1.0, -f))
    np.testing.assert_array_equal(loss.derivative(1.0, f), -loss.derivative(-1.0, -f))
    assert np.isfinite(loss.value(1.0, f)).all()
    assert (np.diff(loss.value(1.0, f)) <= 0).all()
