"""Progress of a fit: told to the callbacks of scikit-learn, shown if `verbose` asks for it, heard by whoever listens.

`slimsvm.progress` has the events, and says how a caller listens to them. A fit listens to its own steps, and turns them
into scikit-learn's tasks and into lines or a bar. Callbacks exist in scikit-learn since 1.9, as an experiment; with
earlier releases an estimator has no `set_callbacks`. `CompactSVC` and `CompactSVR` end early if a callback asks for it;
all others go on to their end.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any, Self

from ..progress import Clock, Event, tell, time_in_words, working

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """What stands for scikit-learn's mixin where there is none."""


__all__ = ["CallbackSupportMixin", "FitProgress"]

# Without a terminal, or without rich, one line in so many seconds says how far it is.
LINE_SECONDS = 5.0
# A bar is drawn after so many seconds, and so often.
BAR_SECONDS, BAR_REFRESH = 1.0, 0.1


class FitProgress:
    """The tasks of one fit: stages, and in each of them steps.

    A step is open from the end of the one before it; what it has found is known when it ends, and is told to callbacks
    as `metadata={"report": text}`. The task that is open at the end of a stage is the rest of its work.

    Parameters
    ----------
    estimator : estimator
    n_stages : int or None
        None where it is not known beforehand.
    X, y, sample_weight
        What `fit` was given.

    Examples
    --------
    >>> from slimsvm import GreedyLSSVC
    >>> with FitProgress(GreedyLSSVC(verbose=1), None, None, None, None) as progress:
    ...     progress.say("here we go")
    [GreedyLSSVC] here we go
    """

    def __init__(self, estimator: Any, n_stages: int | None, X: Any, y: Any, sample_weight: Any) -> None:
        self.estimator, self.n_stages = estimator, n_stages
        self.given = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        self.open: list[Any] = []  # the tasks within each other: the fit, its stage, its step
        self._stop = False
        self._what, self._done = "", 0
        self._total: int | None = None
        self.shown = Shown(type(estimator).__name__, wanted=bool(getattr(estimator, "verbose", 0)))
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        if hasattr(self.estimator, "_init_callback_context"):
            root = self.estimator._init_callback_context(max_subtasks=self.n_stages)
            if getattr(self.estimator, "_skl_callbacks", ()):  # else nobody is told, and nothing need be kept
                self.open.append(root)
                root.call_on_fit_task_begin(estimator=self.estimator, **self.given)
        self._closing.enter_context(self.shown)
        self._closing.enter_context(working(type(self.estimator).__name__, self._hear))
        return self

    def __exit__(self, *ended: Any) -> None:
        self._closing.close()

    def stage(self, name: str) -> bool:
        """End the stage before and begin this one; whether a callback has asked to stop."""
        return self._told(name, 0, None, "")

    def step(self, report: str) -> bool:
        """End a step that has found this, and begin the next; whether a callback asks to stop."""
        return self._told(self._what, self._done + 1, self._total, report)

    def say(self, text: str) -> None:
        """What was found: printed, if that is wanted, and told to those who listen outside."""
        self.shown.say(text)

    def finish(self) -> None:
        """End the fit: the estimator is ready to predict."""
        self._end_stage()
        if self.open:
            self._end(**self.given, reconstruction_attributes={})

    def _told(self, what: str, done: int, total: int | None, found: str) -> bool:
        self._stop = False
        tell(what, done, total, found)
        return self._stop

    def _hear(self, event: Event) -> None:
        if event.what != self._what or event.done <= self._done:
            self._stop |= self._end_stage()
            if self.open:
                self._begin(event.what, event.total)
                self._begin("step", 0)
        self._what, self._done, self._total = event.what, event.done, event.total
        if event.done and len(self.open) > 2:
            self._stop |= self._end(metadata={"report": event.found})
            if event.total is None or event.done < event.total:
                self._begin("step", 0)
        self.shown.hear(event)

    def _begin(self, name: str, max_subtasks: int | None) -> None:
        task = self.open[-1].subcontext(task_name=name, max_subtasks=max_subtasks)
        self.open.append(task.call_on_fit_task_begin(estimator=self.estimator))

    def _end(self, **options: Any) -> bool:
        return bool(self.open.pop().call_on_fit_task_end(estimator=self.estimator, **options))

    def _end_stage(self) -> bool:
        stop = False
        while len(self.open) > 1:
            stop |= self._end()
        return stop


class Shown:
    """What `verbose` shows: lines, and a bar with the time left where rich and a terminal are there.

    Parameters
    ----------
    name : str
        Of the estimator, before each line.
    wanted : bool
        Whether anything is shown.
    """

    def __init__(self, name: str, *, wanted: bool) -> None:
        self.name, self.wanted = name, wanted
        self._clock = Clock()
        self._started = self._spoken = time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._drawn = 0.0
        self._drawn_what: tuple[str, int | None] | None = None
        self._can_draw = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: Any) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def say(self, text: str) -> None:
        """What was found: one line, if that is wanted, and told to those who listen outside."""
        if self.wanted:
            self._line(text)
        tell("", 0, None, text, aloud=False)

    def hear(self, event: Event) -> None:
        """How far it is, at times."""
        if not self.wanted:
            return
        left = self._clock.left(event)
        now = time.monotonic()
        if self._can_draw and now - self._started > BAR_SECONDS and self._draw(event, left, now):
            return
        if event.done and now - self._spoken > LINE_SECONDS:
            self._line(_how_far(event, left))

    def _line(self, text: str) -> None:
        self._spoken = time.monotonic()
        print(f"[{self.name}] {text}", flush=True)

    def _draw(self, event: Event, left: float | None, now: float) -> bool:
        """Whether there is a bar."""
        if self._bar is None:
            self._bar = _new_bar()
            if self._bar is None:
                self._can_draw = False
                return False
        what = (event.what, event.total)
        if what != self._drawn_what:  # a bar cannot forget how many steps there were
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(f"{self.name}: {event.what}", total=event.total, left="")
            self._drawn_what = what
        if now - self._drawn > BAR_REFRESH or event.done == event.total:
            self._drawn = now
            self._bar.update(self._task, completed=event.done, left=_time_left(left))
            self._bar.refresh()
        return True


def _time_left(seconds: float | None) -> str:
    return f"about {time_in_words(seconds)} left" if seconds else ""


def _how_far(event: Event, left: float | None) -> str:
    of = "" if event.total is None else f" of {event.total}"
    return ", ".join(part for part in (f"{event.what}: {event.done}{of}", _time_left(left)) if part)


def _new_bar() -> Any:
    """A bar of rich's; None without rich, without a terminal, or beside another bar."""
    try:
        from rich.console import Console
        from rich.errors import LiveError
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    except ImportError:
        return None
    console = Console()
    if not console.is_terminal:
        return None
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
    )
    # refreshed by the work itself: a thread would have to be looked after where processes are forked
    bar = Progress(*columns, console=console, auto_refresh=False, transient=True)
    try:
        bar.start()
    except LiveError:
        return None
    return bar
