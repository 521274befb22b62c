"""Callbacks of scikit-learn are told the progress of a fit, and may end it."""

from __future__ import annotations

import importlib.util
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from slimsvm import CompactSVC, CompactSVR
from slimsvm.datasets import make_banana
from slimsvm.errors import BudgetError
from slimsvm.methods.compact import moved
from slimsvm.methods.compact.fitting import STAGES

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("sklearn.callback") is None, reason="this scikit-learn has no callbacks"
)


class Recorder:
    """Keeps what it is told; asks to stop when `stop` says so of a task."""

    def __init__(self, stop=lambda context, metadata: False):
        self.stop, self.told, self.fitted = stop, [], None

    def __getstate__(self):
        return {"told": [], "fitted": None}

    def setup(self, estimator, context):
        self.told.append(("setup", context.task_name, None))

    def teardown(self, estimator, context):
        self.told.append(("teardown", context.task_name, None))

    def on_fit_task_begin(self, estimator, context):
        self.told.append(("begin", context.task_name, None))

    def on_fit_task_end(self, estimator, context, *, metadata=None, fitted_estimator=None):
        self.fitted = fitted_estimator
        report = (metadata or {}).get("report")
        self.told.append(("end", context.task_name, report))
        return self.stop(context, metadata or {})

    @property
    def reports(self):
        return [report for _, _, report in self.told if report is not None]


class Everywhere(Recorder):
    """A recorder that goes into the estimators of a search."""

    max_propagation_depth = None


@pytest.fixture(scope="module")
def banana():
    return make_banana(200, random_state=0)


@pytest.fixture(scope="module")
def alone(banana):
    return CompactSVC(random_state=0).fit(*banana)


def assert_paired(told):
    """Every task that begins ends, within the task it began in."""
    open_tasks = []
    for event, name, _ in told:
        if event == "begin":
            open_tasks.append(name)
        elif event == "end":
            assert open_tasks.pop() == name
    assert not open_tasks


def test_stages_and_steps_are_told_and_change_nothing(banana, alone, capsys):
    X, y = banana
    recorder = Recorder()
    model = CompactSVC(random_state=0, verbose=1).set_callbacks(recorder).fit(X, y)
    assert model.decision_function(X).tobytes() == alone.decision_function(X).tobytes()
    told = recorder.told
    assert told[0] == ("setup", "fit", None)
    assert told[-1] == ("teardown", "fit", None)
    assert_paired(told)
    names = [name for event, name, _ in told if event == "begin"]
    assert [name for name in names if name != "step"] == ["fit", *STAGES]
    printed = [line.split("] ", 1)[1] for line in capsys.readouterr().out.splitlines()]
    assert printed.pop(0).startswith("200 distinct rows")  # what every estimator prints is no step
    assert printed.pop().startswith("done")
    assert [line for line in printed if not line.startswith("chosen")] == [
        report for report in recorder.reports if not report.startswith("a model of")
    ]
    assert recorder.fitted.predict(X).tobytes() == model.predict(X).tobytes()


def test_every_kind_of_fit_tells_its_steps(banana):
    X, y = load_diabetes(return_X_y=True)
    cases = [
        (CompactSVR(max_vectors=4, random_state=0), X[:150], y[:150]),
        (CompactSVC(max_vectors=4, refine=False, random_state=0), *banana),
        (CompactSVC(max_vectors=2, kernel="linear", random_state=0), *banana),
    ]
    for estimator, rows, targets in cases:
        recorder = Recorder()
        estimator.set_callbacks(recorder).fit(rows, targets)
        assert_paired(recorder.told)
        assert any("error" in report for report in recorder.reports)
        assert recorder.reports[-1].startswith("a model of")


@pytest.mark.parametrize("when", ["ridge", "error", "vectors, ", "a model of"])
def test_a_callback_that_asks_to_stop_keeps_the_best_so_far(banana, when):
    X, y = banana
    recorder = Recorder(lambda context, metadata: when in metadata.get("report", ""))
    model = CompactSVC(random_state=0).set_callbacks(recorder)
    with pytest.warns(ConvergenceWarning, match="was interrupted; the model has"):
        model.fit(X, y)
    assert sum(when in report for report in recorder.reports) == 1
    assert_paired(recorder.told)
    assert recorder.told[-1][0] == "teardown"
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize("refine", [True, False])
def test_there_is_a_model_however_early_the_wish_to_stop(banana, refine):
    X, y = banana
    always = Recorder(lambda context, metadata: True)
    with pytest.warns(ConvergenceWarning, match="was interrupted"):
        model = CompactSVC(refine=refine, random_state=0).set_callbacks(always).fit(X, y)
    assert model.predict(X).shape == y.shape
    in_stage = Recorder(
        lambda context, metadata: context.parent is not None and context.parent.task_name == STAGES[1]
    )
    with pytest.warns(ConvergenceWarning, match="was interrupted"):
        model = CompactSVC(refine=refine, max_vectors=4, random_state=0).set_callbacks(in_stage).fit(X, y)
    assert model.predict(X).shape == y.shape


def test_epochs_are_steps_and_can_be_ended(banana, monkeypatch):
    monkeypatch.setattr(moved, "BATCH_WORK", 0)
    X, y = banana
    recorder = Recorder(lambda context, metadata: "epoch 2 " in metadata.get("report", ""))
    with pytest.warns(ConvergenceWarning, match="was interrupted"):
        CompactSVC(max_vectors=4, random_state=0).set_callbacks(recorder).fit(X, y)
    assert [report for report in recorder.reports if "epoch" in report][-1].startswith("epoch 2 ")


def test_a_fit_that_fails_is_torn_down(banana):
    recorder = Recorder()
    with pytest.raises(BudgetError):
        CompactSVC(max_bytes=1).set_callbacks(recorder).fit(*banana)
    assert recorder.told[-1][0] == "teardown"


def test_clones_and_pickles_keep_callbacks_and_no_trace_of_the_fit(banana, alone):
    X, y = banana
    recorder = Recorder()
    model = CompactSVC(random_state=0).set_callbacks(recorder).fit(X, y)
    assert set(vars(model)) - set(vars(alone)) == {"_skl_callbacks"}
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    recorder.told.clear()
    clone(model).fit(X, y)
    assert recorder.told[0][0] == "setup"
    recorder.told.clear()
    model.set_callbacks().fit(X, y)
    assert recorder.told == []


def test_inside_a_search(banana):
    X, y = banana
    recorder = Everywhere()
    grid = {"max_vectors": [1, 2]}
    GridSearchCV(CompactSVC(random_state=0), grid, cv=2).set_callbacks(recorder).fit(X, y)
    assert_paired(recorder.told)
    assert sum(name == STAGES[0] for event, name, _ in recorder.told if event == "begin") == 5


def test_a_bar_is_drawn(banana, capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    CompactSVC(max_vectors=2, random_state=0).set_callbacks(ProgressBar()).fit(*banana)
    shown = capsys.readouterr().out
    assert "CompactSVC - fit" in shown
    assert STAGES[0] in shown
    assert "100%" in shown
