"""What is drawn is what the paths say, and matplotlib is needed only to draw."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from slimsvm import GreedyLSSVC, GreedyLSSVR, MatchingPursuitSVC, SizeScoreDisplay, VectorPath, vector_path
from slimsvm.datasets import make_banana
from slimsvm.path import FullModel

X, Y = make_banana(120, random_state=0)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def paths() -> dict[str, VectorPath]:
    options = {"sizes": [2, 8, 32], "cv": 3, "random_state": 0}
    return {
        "greedy": vector_path(GreedyLSSVC(C=10.0), X, Y, **options),
        "pursuit": vector_path(MatchingPursuitSVC(), X, Y, **options),
    }


def test_the_lines_are_the_paths(paths):
    display = SizeScoreDisplay.from_path(paths, reference=FullModel(77.4, 0.9, 0.01))
    assert display.figure_ is display.ax_.figure
    assert display.ax_.get_xscale() == "log"
    assert list(display.lines_) == ["greedy", "pursuit"]
    for name, path in paths.items():
        np.testing.assert_array_equal(display.lines_[name].get_xdata(), path.n_vectors)
        np.testing.assert_array_equal(display.lines_[name].get_ydata(), path.scores)
        bars = display.error_bars_[name].lines[2][0].get_segments()
        np.testing.assert_allclose([bar[1, 1] - bar[0, 1] for bar in bars], 2 * path.errors)
        ring = display.chosen_points_[name]
        assert ring.get_ydata()[0] == path.scores[path.chosen]
        assert ring.get_xdata()[0] == path.n_vectors[path.chosen]
    assert display.reference_lines_["SVC"].get_ydata()[0] == 0.9
    words = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "SVC: 77 vectors" in words
    assert len(words) == 3
    assert display.ax_.get_ylabel() == "accuracy, 3 folds"


@pytest.mark.parametrize("against", ["n_vectors", "sizes", "bytes", "latency_us"])
def test_sizes_in_other_units(paths, against):
    display = SizeScoreDisplay.from_path(paths["greedy"], against=against)
    np.testing.assert_array_equal(
        display.lines_["model"].get_xdata(), np.sort(getattr(paths["greedy"], against).astype(float))
    )


def test_an_axis_of_ones_own_and_drawing_again(paths):
    _, (left, right) = plt.subplots(1, 2)
    display = SizeScoreDisplay.from_path(paths, ax=left)
    assert display.ax_ is left
    assert display.plot(right, against="bytes").ax_ is right
    assert len(display.lines_) == 2
    display.figure_.canvas.draw()


def test_an_unknown_unit(paths):
    with pytest.raises(ValueError, match="against must be one of n_vectors, sizes, bytes, latency_us"):
        SizeScoreDisplay.from_path(paths, against="kilograms")


def test_from_an_estimator():
    estimator = make_pipeline(StandardScaler(), GreedyLSSVC(C=10.0))
    display = SizeScoreDisplay.from_estimator(
        estimator, X, Y, reference=SVC(C=10.0), sizes=(size for size in (2, 16)), cv=3, random_state=0
    )
    assert list(display.paths) == ["GreedyLSSVC"]
    assert display.paths["GreedyLSSVC"].sizes.tolist() == [2, 16]
    full = display.reference["SVC"]
    assert full.n_vectors > 16
    assert 0.5 < full.score <= 1.0


def test_estimators_see_the_same_folds():
    both = {"a": GreedyLSSVC(), "b": GreedyLSSVC()}
    display = SizeScoreDisplay.from_estimator(both, X, Y, sizes=[4], cv=3)
    np.testing.assert_array_equal(display.paths["a"].fold_scores, display.paths["b"].fold_scores)


def test_a_regressor():
    display = SizeScoreDisplay.from_estimator(
        GreedyLSSVR(), X, np.sin(X[:, 0]), sizes=[1, 4], cv=2, random_state=0
    )
    assert display.ax_.get_ylabel() == "R², 2 folds"


def test_models_without_vectors_are_still_drawn(paths):
    path = paths["greedy"]
    fields = {**vars(path), "n_vectors": np.array([0.0, 8.0, 30.0])}
    display = SizeScoreDisplay.from_path(VectorPath(**fields))
    assert display.lines_["model"].get_xdata()[0] == 0.5


def test_without_matplotlib():
    """The library imports, and drawing says what to install."""
    code = """
import sys
sys.modules["matplotlib"] = None
import slimsvm
try:
    slimsvm.SizeScoreDisplay({}).plot()
except ImportError as error:
    print(error)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'slimsvm[plot]'" in out


@pytest.mark.parametrize("latency", [[9.1, 8.3, 12.9], [5.0, 5.2, 5.1], [1.5, 90.0, 40.0], [5.0, 5.0, 5.0]])
def test_latencies_have_ticks_and_a_line_that_goes_one_way(paths, latency, tmp_path):
    path = replace(paths["greedy"], latency_us=np.array(latency))
    display = SizeScoreDisplay.from_path(path, against="latency_us")
    line = display.lines_["model"]
    order = np.argsort(latency, kind="stable")
    np.testing.assert_array_equal(line.get_xdata(), np.array(latency)[order])
    np.testing.assert_array_equal(line.get_ydata(), path.scores[order])
    assert display.chosen_points_["model"].get_xdata()[0] == latency[path.chosen]
    display.figure_.savefig(tmp_path / "latency.png")
    low, high = display.ax_.get_xlim()
    shown = [
        tick
        for tick in display.ax_.get_xticklabels()
        if low <= tick.get_position()[0] <= high and tick.get_text()
    ]
    assert len(shown) >= 2
    assert len({tick.get_text() for tick in shown}) == len(shown)


def test_one_vector_is_one_vector(paths):
    path = replace(paths["greedy"], n_vectors=np.array([1.0, 1.0, 1.0]))
    display = SizeScoreDisplay.from_path(path, reference=FullModel(1.0, 0.9))
    words = {text.get_text() for text in display.ax_.get_legend().get_texts()}
    assert words == {"SVC: 1 vector", "model: 1 vector chosen"}
