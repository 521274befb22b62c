"""The generators obey their laws, and draw what was published."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from published_sets import published
from slimsvm import datasets
from slimsvm.datasets import load_split

GENERATORS = {
    "twonorm": (datasets.make_twonorm, 20),
    "ringnorm": (datasets.make_ringnorm, 20),
    "waveform": (datasets.make_waveform, 21),
    "two_spirals": (datasets.make_two_spirals, 2),
    "checkerboard": (datasets.make_checkerboard, 2),
    "ripley": (datasets.make_ripley, 2),
    "banana": (datasets.make_banana, 2),
}
every_generator = pytest.mark.parametrize(("make", "n_features"), GENERATORS.values(), ids=GENERATORS.keys())
NOISY = (datasets.make_two_spirals, datasets.make_checkerboard, datasets.make_banana)


@every_generator
@pytest.mark.parametrize("n_samples", [1, 2, 7, 300])
def test_generators_give_plain_arrays_of_the_asked_size(make, n_features, n_samples):
    X, y = make(n_samples, random_state=0)
    assert X.shape == (n_samples, n_features)
    assert y.shape == (n_samples,)
    assert X.dtype == np.float64
    assert y.dtype == np.int64
    assert X.flags.c_contiguous
    assert np.isfinite(X).all()
    assert set(y.tolist()) <= {-1, 1}


@every_generator
def test_the_seed_decides_every_bit(make, n_features):
    X, y = make(50, random_state=3)
    for seed in (3, np.random.RandomState(3)):
        X_again, y_again = make(50, random_state=seed)
        assert X.tobytes() == X_again.tobytes()
        assert y.tobytes() == y_again.tobytes()
    X_other, _ = make(50, random_state=4)
    assert not np.array_equal(X, X_other)


@every_generator
def test_without_a_seed_draws_differ(make, n_features):
    assert not np.array_equal(make(50)[0], make(50)[0])


@every_generator
def test_rows_are_shuffled(make, n_features):
    _, y = make(400, random_state=0)
    changes = np.count_nonzero(np.diff(y))
    expected = 2 * np.mean(y == 1) * np.mean(y == -1) * 399
    assert abs(changes - expected) < 50  # five deviations; in turn 399, grouped 1


@pytest.mark.parametrize("name", ["twonorm", "ringnorm", "two_spirals", "ripley", "banana"])
@pytest.mark.parametrize("n_samples", [100, 101])
def test_classes_are_balanced(name, n_samples):
    _, y = GENERATORS[name][0](n_samples, random_state=0)
    assert abs(y.sum()) == n_samples % 2


@every_generator
@pytest.mark.parametrize("n_samples", [0, -3, 2.5, "many"])
def test_a_number_of_rows_that_is_none_is_refused(make, n_features, n_samples):
    with pytest.raises(ValueError, match="n_samples must be a whole number of at least 1"):
        make(n_samples)


@pytest.mark.parametrize("make", NOISY)
@pytest.mark.parametrize("noise", [-0.1, np.nan, np.inf])
def test_noise_that_is_no_deviation_is_refused(make, noise):
    with pytest.raises(ValueError, match="noise must be a standard deviation"):
        make(noise=noise)


def test_other_bad_settings_are_refused():
    with pytest.raises(ValueError, match="n_classes must be 2 or 3, but is 4"):
        datasets.make_waveform(n_classes=4)
    with pytest.raises(ValueError, match="n_features must be"):
        datasets.make_twonorm(n_features=0)
    with pytest.raises(ValueError, match="n_features must be"):
        datasets.make_ringnorm(n_features=-1)
    with pytest.raises(ValueError, match="n_tiles must be"):
        datasets.make_checkerboard(n_tiles=0)


@pytest.mark.parametrize("n_features", [2, 20])
def test_twonorm_errs_by_the_tail_of_a_gaussian_under_its_best_rule(n_features):
    X, y = datasets.make_twonorm(40000, n_features=n_features, random_state=0)
    error = np.mean(np.sign(X.sum(axis=1)) != y)
    assert error == pytest.approx(norm.cdf(-2), abs=0.004)  # 2.3 %, five deviations
    np.testing.assert_allclose(X[y == 1].mean(axis=0), 2 / np.sqrt(n_features), atol=0.05)
    np.testing.assert_allclose(X[y == -1].var(axis=0), 1.0, atol=0.05)


def test_ringnorm_has_a_wide_and_a_small_class():
    X, y = datasets.make_ringnorm(40000, random_state=0)
    wide, small = X[y == 1], X[y == -1]
    np.testing.assert_allclose(wide.var(axis=0), 4.0, rtol=0.06)
    np.testing.assert_allclose(small.var(axis=0), 1.0, rtol=0.06)
    np.testing.assert_allclose(wide.mean(axis=0), 0.0, atol=0.08)
    np.testing.assert_allclose(small.mean(axis=0), 2 / np.sqrt(20), atol=0.04)
    log_ratio = norm.logpdf(X, 0, 2).sum(axis=1) - norm.logpdf(X, 2 / np.sqrt(20), 1).sum(axis=1)
    assert np.mean(np.sign(log_ratio) != y) == pytest.approx(0.013, abs=0.003)


def test_waveform_means_are_midpoints_of_two_waves():
    X, y = datasets.make_waveform(30000, n_classes=3, random_state=0)
    assert np.bincount(y).tolist() == [10000, 10000, 10000]
    points = np.arange(1, 22)
    waves = [np.maximum(6 - abs(points - centre), 0) for centre in (11, 15, 7)]
    for label, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        mean = X[y == label].mean(axis=0)
        np.testing.assert_allclose(mean, (waves[i] + waves[j]) / 2, atol=0.12)
    # At the two ends every wave is zero, so only the noise is left.
    assert X[:, 0].std() == pytest.approx(1.0, abs=0.03)


def test_waveform_with_two_classes_only_merges_labels():
    X, y = datasets.make_waveform(300, random_state=5)
    X3, y3 = datasets.make_waveform(300, n_classes=3, random_state=5)
    np.testing.assert_array_equal(X, X3)
    np.testing.assert_array_equal(y, np.where(y3 == 1, 1, -1))


def test_two_spirals_mirror_each_other_and_wind_three_times():
    X, y = datasets.make_two_spirals(shuffle=False)
    np.testing.assert_array_equal(X[y == 1], -X[y == -1])
    spiral = X[y == 1]
    assert len(spiral) == 97
    radius = np.hypot(*spiral.T)
    np.testing.assert_allclose(np.diff(radius), -6.5 / 104)
    angle = np.unwrap(np.arctan2(spiral[:, 1], spiral[:, 0]))
    np.testing.assert_allclose(np.diff(angle), np.pi / 16)
    assert angle[-1] == pytest.approx(6 * np.pi)


def test_noise_is_added_with_the_given_deviation():
    exact, _ = datasets.make_two_spirals(20000, shuffle=False)
    noisy, _ = datasets.make_two_spirals(20000, shuffle=False, noise=0.5, random_state=0)
    assert (noisy - exact).std() == pytest.approx(0.5, rel=0.03)


@pytest.mark.parametrize("n_tiles", [1, 3, 4])
def test_checkerboard_alternates(n_tiles):
    X, y = datasets.make_checkerboard(5000, n_tiles=n_tiles, random_state=0)
    assert X.min() >= -1.0
    assert X.max() <= 1.0
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=0.05)
    side = 2 / n_tiles
    colour = {
        tuple(tile): label
        for tile, label in zip(np.floor((X + 1) / side).astype(int).tolist(), y, strict=True)
    }
    assert len(colour) == n_tiles**2
    assert colour[0, 0] == 1
    assert all(colour[i, j] == -colour[i + 1, j] for i, j in colour if (i + 1, j) in colour)
    assert all(colour[i, j] == -colour[i, j + 1] for i, j in colour if (i, j + 1) in colour)


def test_checkerboard_noise_moves_points_but_not_labels():
    X, y = datasets.make_checkerboard(random_state=0)
    X_noisy, y_noisy = datasets.make_checkerboard(noise=0.1, random_state=0)
    np.testing.assert_array_equal(y, y_noisy)
    assert (X_noisy - X).std() == pytest.approx(0.1, rel=0.1)


def ripley_best_rule(X: np.ndarray) -> np.ndarray:
    """Whether the density of Ripley's second class is the higher one."""

    def density(centres):
        return sum(np.exp(-((X - c) ** 2).sum(axis=1) / 0.06) for c in np.array(centres))

    return density([(-0.3, 0.7), (0.4, 0.7)]) > density([(-0.7, 0.3), (0.3, 0.3)])


def test_ripley_errs_on_nine_percent_under_its_best_rule():
    X, y = datasets.make_ripley(40000, random_state=0)
    # The overlap of the two densities, integrated on a fine grid, is 0.0893.
    assert np.mean(ripley_best_rule(X) != (y == 1)) == pytest.approx(0.0893, abs=0.007)
    for label, across, up in ((-1, -0.2, 0.3), (1, 0.05, 0.7)):
        np.testing.assert_allclose(X[y == label].mean(axis=0), (across, up), atol=0.02)
        assert X[y == label, 1].var() == pytest.approx(0.03, rel=0.06)


def test_banana_crescents_interlock_without_touching():
    X, y = datasets.make_banana(2000, noise=0.0, random_state=0)
    upper = X * y[:, None]  # half a turn maps one crescent onto the other
    np.testing.assert_allclose(upper[:, 1], (upper[:, 0] + 0.75) ** 2 - 1.25, atol=1e-12)
    assert np.abs(upper[:, 0] + 0.75).max() <= 1.5
    A, B = X[y == 1], X[y == -1]
    nearest = np.sqrt(((A[:, None] - B[None]) ** 2).sum(axis=2).min())
    assert nearest == pytest.approx(0.25, abs=0.02)
    boxes_overlap = np.all((A.min(axis=0) < B.max(axis=0)) & (B.min(axis=0) < A.max(axis=0)))
    assert boxes_overlap


def test_banana_errs_on_a_tenth_under_its_best_rule():
    X, y = datasets.make_banana(4000, random_state=0)
    t = np.linspace(-1.5, 1.5, 121)
    crescent = np.column_stack((t - 0.75, t**2 - 1.25))

    def density(spine):
        return np.exp(-((X[:, None] - spine) ** 2).sum(axis=2) / (2 * 0.35**2)).sum(axis=1)

    error = np.mean((density(crescent) > density(-crescent)) != (y == 1))
    assert error == pytest.approx(0.11, abs=0.025)


@pytest.mark.published
def test_our_spirals_are_the_published_ones():
    data = published("two_spirals")
    X, y = datasets.make_two_spirals(shuffle=False)
    np.testing.assert_allclose(X, data.X, atol=1e-12)
    np.testing.assert_array_equal(y, data.y)


@pytest.mark.published
@pytest.mark.parametrize("name", ["twonorm", "ringnorm", "waveform"])
def test_standardised_draws_have_the_moments_of_the_published_classes(name):
    data = published(f"ida_{name}")
    X, y = GENERATORS[name][0](30000, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    for label in (-1, 1):
        drawn, given = X[y == label], data.X[data.y == label]
        np.testing.assert_allclose(drawn.mean(axis=0), given.mean(axis=0), atol=0.1)
        np.testing.assert_allclose(drawn.var(axis=0), given.var(axis=0), rtol=0.2)
    share = np.mean(data.y == 1)
    assert np.mean(y == 1) == pytest.approx(share, abs=0.02)


@pytest.mark.published
def test_ripley_draws_have_the_moments_of_the_published_classes():
    data = published("ripley")
    X, y = datasets.make_ripley(30000, random_state=0)
    for ours, theirs in ((-1, 0), (1, 1)):
        drawn, given = X[y == ours], data.X[data.y == theirs]
        np.testing.assert_allclose(drawn.mean(axis=0), given.mean(axis=0), atol=0.06)
        np.testing.assert_allclose(drawn.var(axis=0), given.var(axis=0), atol=0.03)
    _, X_test, _, y_test = load_split("ripley")
    assert np.mean(ripley_best_rule(X_test) != (y_test == 1)) == pytest.approx(0.08)
