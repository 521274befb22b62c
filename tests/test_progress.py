"""Progress of a fit: heard by whoever listens, shown by `verbose`, told to the callbacks of scikit-learn."""

from __future__ import annotations

import importlib.util
import pickle
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import everyone
from slimsvm import LSSVC, CompactSVC, CompactSVR, GreedyLSSVC, Reduced, TwoStageLSSVC, reduce, vector_path
from slimsvm.datasets import make_banana
from slimsvm.errors import BudgetError
from slimsvm.methods import progress as of_fits
from slimsvm.methods.compact import moved
from slimsvm.methods.compact.fitting import STAGES
from slimsvm.progress import Clock, Event, listening, tell, working

needs_callbacks = pytest.mark.skipif(
    importlib.util.find_spec("sklearn.callback") is None, reason="this scikit-learn has no callbacks"
)
# Solved at once: nothing to tell.
DIRECT = ("LSSVC", "LSSVR")


@pytest.fixture
def quiet():
    """Small fits may warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def heard_of(fit):
    heard = []
    with listening(heard.append):
        fit()
    return heard


# Events


@pytest.mark.parametrize("name", everyone.NAMES)
def test_every_estimator_that_iterates_tells_its_steps(name, quiet, capsys):
    X, y, _, T = everyone.data(name, n_classes=3)
    alone = everyone.fit(name, X, y)
    assert capsys.readouterr().out == ""
    heard = []
    with listening(heard.append):
        again = everyone.fit(name, X, y)
    everyone.same_bits(everyone.answers(again, T), everyone.answers(alone, T))
    who = type(alone).__name__
    assert {event.who for event in heard if not event.within} == {who}
    steps = [event for event in heard if event.what and event.done and not event.within]
    assert bool(steps) == (name not in DIRECT)
    assert any(event.found for event in heard)
    for event in steps:
        assert event.total is None or 0 < event.done <= event.total


@pytest.mark.parametrize("solver", ["cg", "smo"])
def test_solvers_that_iterate_tell_their_steps(solver, banana):
    assert any(event.done for event in heard_of(lambda: LSSVC(solver=solver).fit(*banana)) if event.what)


def test_work_within_work():
    heard, own = [], []
    with listening(heard.append), working("outer", own.append):
        tell("a", 1, 2)
        with working("inner"):
            tell("b", 1)
        tell("a", 2, 2, aloud=False)
    tell("c", 1)
    assert [(event.who, event.what, event.within) for event in heard] == [
        ("outer", "a", ()), ("inner", "b", ("outer",)), ("outer", "a", ()),
    ]  # fmt: skip
    assert [event.done for event in own] == [1]


def test_a_listener_may_end_a_fit_which_leaves_nothing(banana):
    def enough(event):
        if event.done == 3:
            raise KeyboardInterrupt

    model = GreedyLSSVC(max_vectors=10)
    with pytest.raises(KeyboardInterrupt), listening(enough):
        model.fit(*banana)
    assert not hasattr(model, "expansion_")
    assert heard_of(lambda: tell("x", 1))[0].who == ""  # nothing is left open


def test_reductions_and_paths_tell_their_steps(banana):
    svc = SVC().fit(*banana)
    heard = heard_of(lambda: reduce(svc, *banana))
    assert {event.who for event in heard} == {"reduce"}
    assert {"removing vectors", "trying sizes"} <= {event.what for event in heard}
    heard = heard_of(lambda: Reduced(SVC(), max_vectors=5).fit(*banana))
    assert {event.who for event in heard} == {"Reduced"}
    heard = heard_of(lambda: vector_path(GreedyLSSVC(), *banana, sizes=[2, 4], cv=3))
    fits = [event for event in heard if event.who == "vector_path"]
    assert [(event.done, event.total) for event in fits] == [(done, 6) for done in range(7)]
    assert {event.within for event in heard if event.who == "GreedyLSSVC"} == {("vector_path",)}


def test_the_time_left(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("slimsvm.progress.time.monotonic", lambda: now[0])
    clock = Clock()
    assert clock.left(Event("a", "first", 1)) is None
    now[0] = 2.0
    assert clock.left(Event("a", "second", 1, 10)) == pytest.approx(18.0)
    now[0] = 6.0
    assert clock.left(Event("a", "second", 2, 10)) == pytest.approx(24.0)
    now[0] = 7.0
    assert clock.left(Event("a", "second", 1, 3)) == pytest.approx(2.0)  # begun anew
    now[0] = 100.0
    assert clock.left(Event("a", "third", 0, 4)) is None
    now[0] = 101.0
    assert clock.left(Event("a", "third", 1, 4)) == pytest.approx(3.0)


# verbose


def test_lines_say_how_far_it_is_and_the_time_left(banana, capsys, monkeypatch):
    monkeypatch.setattr(of_fits, "LINE_SECONDS", -1.0)
    GreedyLSSVC(max_vectors=5, verbose=1).fit(*banana)
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("[GreedyLSSVC] ") for line in lines)
    assert any(line.startswith("[GreedyLSSVC] adding vectors: 3 of 5, about 1 s left") for line in lines)
    LSSVC(solver="cg", verbose=1).fit(*banana)
    assert "[LSSVC] conjugate gradients: 1\n" in capsys.readouterr().out


def test_quick_fits_say_only_what_they_found(banana, capsys):
    GreedyLSSVC(max_vectors=5, verbose=1).fit(*banana)
    assert "adding vectors" not in capsys.readouterr().out
    reduce(SVC().fit(*banana), *banana, verbose=1)
    assert capsys.readouterr().out.startswith("[reduce] auto: ")
    Reduced(SVC(), verbose=1).fit(*banana)
    assert capsys.readouterr().out.startswith("[Reduced] auto: ")
    vector_path(GreedyLSSVC(), *banana, sizes=[2], cv=2, verbose=1)
    assert capsys.readouterr().out == ""


@pytest.fixture
def terminal(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(of_fits, "BAR_SECONDS", -1.0)
    monkeypatch.setattr(of_fits, "BAR_REFRESH", -1.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")


def test_a_terminal_has_a_bar(banana, capsys, terminal):
    GreedyLSSVC(max_vectors=5, verbose=1).fit(*banana)
    shown = capsys.readouterr().out
    assert "GreedyLSSVC: adding vectors" in shown
    assert "3/5" in shown
    assert "about 1 s left" in shown
    assert "[GreedyLSSVC] done: " in shown
    assert "\x1b[?25h" in shown  # the cursor is there again
    TwoStageLSSVC(n_vectors=4, verbose=1).fit(*banana)
    shown = capsys.readouterr().out
    assert "4/4" in shown
    assert "1/?" in shown  # nobody knows how many exchanges there will be


def test_a_bar_is_taken_away_when_the_fit_fails(banana, capsys, terminal):
    def fail(event):
        if event.done == 2:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), listening(fail):
        GreedyLSSVC(max_vectors=5, verbose=1).fit(*banana)
    assert "\x1b[?25h" in capsys.readouterr().out
    GreedyLSSVC(max_vectors=5, verbose=1).fit(*banana)  # and the next one may be drawn
    assert "adding vectors" in capsys.readouterr().out


def test_without_rich_there_are_lines(banana, capsys, monkeypatch):
    for name in ("rich", "rich.console", "rich.progress", "rich.errors"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(of_fits, "BAR_SECONDS", -1.0)
    monkeypatch.setattr(of_fits, "LINE_SECONDS", -1.0)
    GreedyLSSVC(max_vectors=5, verbose=1).fit(*banana)
    assert "[GreedyLSSVC] adding vectors: 4 of 5" in capsys.readouterr().out


def test_a_search_says_what_was_chosen_and_why(banana, capsys):
    X, y = banana
    CompactSVC(random_state=0, verbose=1).fit(X, y)
    lines = [line.split("] ", 1)[1] for line in capsys.readouterr().out.splitlines()]
    assert lines[1].startswith("a first guess, by ridge regression: ")
    assert lines[2].startswith("plan: 200 rows, 5 parts held out in turn; ")
    (chosen,) = [line for line in lines if line.startswith("chosen: ")]
    assert "% wrong" in chosen
    assert "the best" in chosen
    assert not any(word in "\n".join(lines) for word in ("scaling", "fixed", "per_feature", "error"))
    CompactSVC(random_state=0, max_vectors=2, verbose=1).fit(X, y)
    lines = capsys.readouterr().out
    assert "that is not allowed; now with at most 2 vectors" in lines
    assert "no more vectors are allowed" in lines
    diabetes, targets = load_diabetes(return_X_y=True)
    CompactSVR(random_state=0, max_vectors=8, verbose=1).fit(diabetes[:150], targets[:150])
    assert "R² 0." in capsys.readouterr().out


# Callbacks of scikit-learn


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


@needs_callbacks
@pytest.mark.parametrize("name", everyone.NAMES)
def test_every_estimator_tells_callbacks(name, quiet):
    X, y, _, T = everyone.data(name)
    recorder = Recorder()
    model = everyone.make(name).set_callbacks(recorder).fit(X, y)
    everyone.same_bits(everyone.answers(model, T), everyone.answers(everyone.fit(name, X, y), T))
    assert_paired(recorder.told)
    assert recorder.told[0] == ("setup", "fit", None)
    assert recorder.told[-1] == ("teardown", "fit", None)
    assert name in DIRECT or sum(event == "begin" for event, _, _ in recorder.told) > 2
    assert not [attribute for attribute in vars(model) if attribute.startswith("_callback")]


@needs_callbacks
def test_a_bar_knows_how_many_steps_there_are(banana, capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    GreedyLSSVC(max_vectors=4).set_callbacks(ProgressBar()).fit(*banana)
    shown = capsys.readouterr().out
    assert "GreedyLSSVC - adding vectors" in shown
    assert "100%" in shown


def assert_paired(told):
    """Every task that begins ends, within the task it began in."""
    open_tasks = []
    for event, name, _ in told:
        if event == "begin":
            open_tasks.append(name)
        elif event == "end":
            assert open_tasks.pop() == name
    assert not open_tasks


@needs_callbacks
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


@needs_callbacks
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
        assert any("wrong" in report or "R²" in report for report in recorder.reports)
        assert recorder.reports[-1].startswith("a model of")


@needs_callbacks
@pytest.mark.parametrize("when", ["ridge", "plan", "vectors, ", "a model of"])
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


@needs_callbacks
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


@needs_callbacks
def test_epochs_are_steps_and_can_be_ended(banana, monkeypatch):
    monkeypatch.setattr(moved, "BATCH_WORK", 0)
    X, y = banana
    recorder = Recorder(lambda context, metadata: "epoch 2 " in metadata.get("report", ""))
    with pytest.warns(ConvergenceWarning, match="was interrupted"):
        CompactSVC(max_vectors=4, random_state=0).set_callbacks(recorder).fit(X, y)
    assert [report for report in recorder.reports if "epoch" in report][-1].startswith("epoch 2 ")


@needs_callbacks
def test_a_fit_that_fails_is_torn_down(banana):
    recorder = Recorder()
    with pytest.raises(BudgetError):
        CompactSVC(max_bytes=1).set_callbacks(recorder).fit(*banana)
    assert recorder.told[-1][0] == "teardown"


@needs_callbacks
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


@needs_callbacks
def test_inside_a_search(banana):
    X, y = banana
    recorder = Everywhere()
    grid = {"max_vectors": [1, 2]}
    GridSearchCV(CompactSVC(random_state=0), grid, cv=2).set_callbacks(recorder).fit(X, y)
    assert_paired(recorder.told)
    assert sum(name == STAGES[0] for event, name, _ in recorder.told if event == "begin") == 5


@needs_callbacks
def test_a_bar_is_drawn(banana, capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    CompactSVC(max_vectors=2, random_state=0).set_callbacks(ProgressBar()).fit(*banana)
    shown = capsys.readouterr().out
    assert "CompactSVC - fit" in shown
    assert STAGES[0] in shown
    assert "100%" in shown
