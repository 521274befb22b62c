"""What the search of the compact machines consists of: folds, ridge regression, likelihood, plan, comparison."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import reference
from slimsvm.losses import Squared
from slimsvm.methods.compact.compare import Paired
from slimsvm.methods.compact.curve import Curve
from slimsvm.methods.compact.likelihood import likely_widths, negative_log_likelihood
from slimsvm.methods.compact.machines import Setting
from slimsvm.methods.compact.observations import Observations, points_of
from slimsvm.methods.compact.plan import ladder, metrics_in_question, plan_for
from slimsvm.methods.compact.race import LinearChoice, Race, Shape
from slimsvm.methods.compact.ridge import ridge_search
from slimsvm.refinement import RoundedHinge


def test_clearly_better_is_by_the_standard_error_of_the_difference():
    paired = Paired(np.array([1.0, 1.0, 2.0]))
    a, b = np.array([0.0, 0.2, 0.1]), np.array([0.1, 0.5, 0.2])
    gain = paired.mean(b - a)
    assert gain == pytest.approx(0.15)
    z = gain / paired.standard_error(b - a)
    assert paired.clearly_better(a, b, 0.99 * z)
    assert not paired.clearly_better(a, b, 1.01 * z)
    assert not paired.clearly_better(a, b, 0.0, unseen=0.16)
    assert not paired.clearly_better(b, a, 0.0)
    # two copies are a row of weight two
    copies = Paired(np.ones(4))
    assert copies.mean(np.array([0.1, 0.3, 0.1, 0.1])) == pytest.approx(gain)


@pytest.mark.parametrize("step", [0.0, -0.0005, -0.01])
def test_the_smallest_that_is_nearly_as_good_as_the_best(step):
    rng = np.random.default_rng(0)
    mistakes = 0.2 * rng.standard_normal(400)  # of standard error 0.01: a quarter of that is not noticed
    trial = Paired(np.ones(400))
    curve = Curve(trial, Setting(1.0, 1.0), 100.0)
    for at, size in enumerate([1, 2, 4, 8, 16]):
        curve.sizes.append(size)
        curve.errors.append(mistakes + step * at)
        curve.mistakes.append(mistakes + step * at)
    assert curve.smallest_enough(range(5), 0.0) == (4 if step == -0.01 else 0)


PLANS = [
    # few rows: ridge regression is trusted, and its width stays
    (
        {"n_rows": 200, "noise": 0.05},
        {"rows": 200, "folds": 5, "trusted": True, "metrics": ("fixed", "per_feature")},
    ),
    (
        {"n_rows": 900, "noise": 0.30},
        {"rows": 900, "folds": 5, "trusted": True, "metrics": ("fixed", "per_feature")},
    ),
    (
        {"n_rows": 900, "noise": 0.05},
        {"folds": 5, "trusted": False, "metrics": ("one", "per_feature"), "compared": 12},
    ),
    ({"n_rows": 900, "noise": 0.05, "n_outputs": 10}, {"compared": 20}),
    (
        {"n_rows": 900, "noise": 0.30, "classify": False},
        {"trusted": False, "metrics": ("fixed", "per_feature")},
    ),
    ({"n_rows": 50_000, "noise": 0.30}, {"rows": 10_000, "folds": 1, "trusted": False, "compared": 40}),
]


@pytest.mark.parametrize(("known", "wanted"), PLANS)
def test_the_plan(known, wanted):
    given = {
        "n_outputs": 1,
        "classify": True,
        "metrics": ("one", "per_feature"),
        "most": 100,
    }
    plan = plan_for(**{**given, **known})
    assert {name: getattr(plan, name) for name in wanted} == wanted
    assert plan.sizes[-1] == 100
    assert str(plan).startswith(f"plan: {plan.rows} rows")


@pytest.mark.parametrize(
    ("metric", "n_rows", "n_features", "moved", "found"),
    [
        ("auto", 500, 10, True, ("one", "per_feature")),
        ("auto", 500, 1, True, ("one",)),
        ("auto", 500, 500, True, ("one", "linear")),
        ("auto", 5000, 10, True, ("one", "per_feature", "linear")),
        ("auto", 5000, 500, True, ("linear",)),
        ("auto", 60_000, 10, True, ("linear",)),
        ("auto", 60_000, 1, True, ("one",)),
        ("auto", 500, 20_000, False, ("fixed", "linear")),
        ("one", 5000, 500, True, ("one",)),
        ("per_feature", 5000, 500, True, ("per_feature",)),
        ("linear", 50, 5, True, ("linear",)),
    ],
)
def test_metrics_in_question(metric, n_rows, n_features, moved, found):
    assert (
        metrics_in_question(metric, n_rows=n_rows, n_features=n_features, moved=moved, width_given=False)
        == found
    )


def test_the_gradient_of_the_likelihood_equals_finite_differences():
    rng = np.random.default_rng(0)
    X, Y, level = rng.standard_normal((30, 4)), rng.standard_normal((30, 2)), rng.uniform(0.5, 2.0, 30)
    start = np.concatenate([rng.standard_normal(4) - 1.0, [0.1, -1.0]])

    def value(p):
        return negative_log_likelihood(p[:-2], p[-2], p[-1], X, Y, level)

    for i, step in enumerate(1e-6 * np.eye(6)):
        difference = (value(start + step)[0] - value(start - step)[0]) / 2e-6
        assert value(start)[1][i] == pytest.approx(difference, rel=1e-5, abs=1e-6)


def test_the_likelihood_finds_the_features_that_matter():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 12))
    Y = (np.sin(2.0 * X[:, 3]) * X[:, 7])[:, None] + 0.05 * rng.standard_normal((200, 1))
    widths = likely_widths(X, Y, np.ones(200), np.full(12, np.log(0.1)))
    assert set(np.argsort(-widths)[:2]) == {3, 7}


@pytest.mark.parametrize("width", [0.1, 0.025, 0.00625])
def test_the_likelihood_finds_four_features_of_forty_wherever_it_begins(width):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 40))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 2.0 * np.exp(-np.square(X[:, 3]))
    Y = (f + 0.1 * rng.standard_normal(200))[:, None]
    widths = likely_widths(X, Y, np.ones(200), np.full(40, np.log(width)))
    assert widths[:4].min() > widths[4:].max() + 2.0


def test_copies_of_a_row_are_in_one_fold():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (60, 2)).astype(float)
    Y = np.where(rng.random((60, 1)) < 0.3, 1.0, -1.0)
    data = Observations(X, Y, rng.random(60), points_of(X), True, RoundedHinge())
    folds = data.folds(5, rng)
    np.testing.assert_allclose(sum(held for _, held in folds), data.weight)
    for train, held in folds:
        np.testing.assert_array_equal(train + held, data.weight)
        assert not {tuple(row) for row in X[train > 0]} & {tuple(row) for row in X[held > 0]}
        assert (held > 0).any()
    alike = replace(data, point=np.zeros(60, dtype=int))
    assert all((train > 0).any() for train, _ in alike.folds(5, rng))


def test_ridge_search_leaves_points_out():
    """Rows of equal inputs leave together, whatever their targets and weights."""
    rng = np.random.default_rng(0)
    places = rng.standard_normal((12, 2))
    at = rng.integers(0, 12, 30)
    X, Y, weight = places[at], rng.standard_normal((30, 1)), rng.uniform(0.5, 2.0, 30)
    data = Observations(X, Y, weight, points_of(X), False, Squared())
    K, among = reference.rbf(places, X, 0.5), reference.rbf(places, places, 0.5)
    found = ridge_search(data, lambda width: (among, K), np.array([0.5]), np.array([0.3]))
    error = 0.0
    for place in np.unique(at):
        rest = at != place
        A = np.column_stack([K.T[rest], np.ones(rest.sum())])
        ridge = np.zeros((13, 13))
        ridge[:12, :12] = 0.3 * among
        solved = np.linalg.solve(A.T @ (weight[rest, None] * A) + ridge, A.T @ (weight[rest, None] * Y[rest]))
        out = among[place] @ solved[:-1] + solved[-1]
        error += weight[~rest] @ np.square(Y[~rest] - out)[:, 0]
    assert found[0] == pytest.approx(error / weight.sum(), rel=1e-4)


def test_ridge_search_leaves_one_out():
    """The shortcut equals refitting without each row, on columns that span everything."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((25, 2)), rng.standard_normal((25, 2))
    data = Observations(X, Y, np.ones(25), np.arange(25), False, Squared())

    def columns(width):
        K = reference.rbf(X, X, width)
        return K, K

    penalties = np.array([0.1, 1.0])
    for width in (0.3, 2.0):
        for penalty in penalties:
            errors = []
            K = reference.rbf(X, X, width)
            for i in range(25):
                rest = np.arange(25) != i
                A = np.block(
                    [[K[np.ix_(rest, rest)] + penalty * np.eye(24), np.ones((24, 1))], [np.ones((1, 24)), 0]]
                )
                solved = np.linalg.solve(A, np.vstack([Y[rest], np.zeros((1, 2))]))
                errors.append(((K[i, rest] @ solved[:-1] + solved[-1] - Y[i]) ** 2).sum())
            found = ridge_search(data, columns, np.array([width]), np.array([penalty]))
            assert found[0] == pytest.approx(np.mean(errors), rel=1e-4)


def test_the_ladder_ends_at_the_limit():
    assert ladder(1) == [1]
    assert ladder(20) == [1, 2, 4, 6, 8, 12, 16, 20]
    assert ladder(20, halves=False) == [1, 2, 4, 8, 16, 20]


def test_blurred_errors_approach_mistakes():
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=(200, 3))
    Y = np.where(np.arange(3) == rng.integers(3, size=200)[:, None], 1.0, -1.0)
    data = Observations(np.zeros((200, 1)), Y, np.ones(200), np.arange(200), True, RoundedHinge())
    np.testing.assert_allclose(data.errors(outputs, 1e-9), data.mistakes(outputs), atol=1e-12)
    blurred = data.errors(outputs, 0.2)
    assert ((blurred > 0.5) == (data.mistakes(outputs) > 0)).all()
    assert ((blurred > 0.05) & (blurred < 0.95)).any()


def test_blurred_errors_do_not_depend_on_the_size_of_the_outputs():
    rng = np.random.default_rng(1)
    outputs = rng.normal(size=(50, 1))
    Y = np.where(rng.random((50, 1)) < 0.5, 1.0, -1.0)
    data = Observations(np.zeros((50, 1)), Y, np.ones(50), np.arange(50), True, RoundedHinge())
    np.testing.assert_allclose(data.errors(1e3 * outputs, 0.2), data.errors(outputs, 0.2), rtol=1e-12)


class ScriptedRace(Race):
    """A race whose shapes are wrong on the share of rows that a function of shape and batches says.

    Shapes of the same number of vectors are wrong on the same rows, others on others.
    """

    def __init__(self, wrong, last_steps):
        y = np.where(np.arange(2000) % 2, 1.0, -1.0)[:, None]
        data = Observations(
            np.zeros((2000, 1)), y, np.ones(2000), np.arange(2000), True, RoundedHinge()
        )  # fmt: skip
        maps = SimpleNamespace(
            data=data, scales=(True, False), scaled=lambda rows, own: None, score=None, last_steps=last_steps
        )
        super().__init__(maps, np.arange(0), np.arange(2000), seed=0)
        self._wrong, self._labels = wrong, y

    def at(self, shape, n_steps):
        outputs = self._labels.copy()
        outputs[: round(self._wrong(shape, n_steps) * len(outputs))] *= -1.0
        return LinearChoice(shape, n_steps, None, np.roll(outputs, 50 * shape.n_vectors))


def late_own_scale(shape, n_steps):
    """One scale for all is ahead up to 2,000 batches, and stays behind after them."""
    ahead, behind = 0.30 - 0.02 * np.log2(n_steps / 250), 0.40 - 0.05 * np.log2(n_steps / 250)
    return (behind if shape.own_scale else ahead) + 0.001 * abs(shape.rank - 16)


@pytest.mark.parametrize(
    ("last_steps", "own", "n_steps"), [(6_000, False, 2_000), (16_000, False, 2_000), (60_000, True, 8_000)]
)
def test_a_race_before_a_long_training_is_long_and_keeps_the_best_of_each_scale(last_steps, own, n_steps):
    shapes = [Shape(rank, 100, own_scale=scale) for rank in (4, 8, 16, 32) for scale in (True, False)]
    won, raced = ScriptedRace(late_own_scale, last_steps).winner(shapes)
    assert (won, raced) == (Shape(16, 100, own_scale=own), n_steps)


def test_of_two_shapes_the_smaller_is_taken_unless_the_larger_is_clearly_better():
    def wrong(shape, n_steps):
        return {4: 0.1005, 8: 0.1, 16: 0.05}[shape.rank] if n_steps == 1000 else 0.5

    race = ScriptedRace(wrong, 6_000)
    small, middle, large = (LinearChoice(Shape(rank, 2 * rank), 500, None, None) for rank in (4, 8, 16))
    longer = replace(middle, n_steps=1000)
    assert race.smaller_of(longer, small).shape.rank == 4
    assert race.smaller_of(large, longer).shape.rank == 16
