"""Progress of a fit, told to the callbacks of scikit-learn.

scikit-learn has callbacks since 1.9, as an experiment; with earlier releases an estimator has no `set_callbacks` and
nothing is told.
"""

from __future__ import annotations

from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """What stands for scikit-learn's mixin where there is none."""


__all__ = ["CallbackSupportMixin", "FitProgress"]


class FitProgress:
    """The tasks of one fit: stages, and in each of them steps whose number is not known beforehand.

    A step is open from the end of the one before it; what it has found is known when it ends, and is told as
    `metadata={"report": text}`. The task that is open at the end of a stage is the rest of its work.

    Parameters
    ----------
    estimator : estimator
    n_stages : int
    X, y, sample_weight
        What `fit` was given.
    """

    def __init__(self, estimator: Any, n_stages: int, X: Any, y: Any, sample_weight: Any) -> None:
        self.estimator = estimator
        self.given = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        self.open: list[Any] = []  # the tasks within each other: the fit, its stage, its step
        if hasattr(estimator, "_init_callback_context"):
            self.open.append(estimator._init_callback_context(max_subtasks=n_stages))
            self.open[0].call_on_fit_task_begin(estimator=estimator, **self.given)

    def stage(self, name: str) -> bool:
        """End the stage before and begin this one; whether a callback has asked to stop."""
        stop = self._end_stage()
        if self.open:
            self._begin(name, None)
            self._begin("step", 0)
        return stop

    def step(self, report: str) -> bool:
        """End a step that has found this, and begin the next; whether a callback asks to stop."""
        if not self.open:
            return False
        stop = self._end(metadata={"report": report})
        self._begin("step", 0)
        return stop

    def finish(self) -> None:
        """End the fit: the estimator is ready to predict."""
        self._end_stage()
        if self.open:
            self._end(**self.given, reconstruction_attributes={})

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
