"""How work tells its progress, and how a caller listens without reading text.

An algorithm calls `tell` after each step. It costs nothing where nobody listens, and the algorithm knows nothing of
estimators, bars or callbacks. `working` names a piece of work, as every fit does for itself. A caller, such as the
command line, listens to everything done within a `with` block:

>>> from slimsvm import GreedyLSSVC
>>> from slimsvm.datasets import make_banana
>>> from slimsvm.progress import listening
>>> X, y = make_banana(100, random_state=0)
>>> heard = []
>>> with listening(heard.append):
...     model = GreedyLSSVC(max_vectors=3).fit(X, y)
>>> steps = [event for event in heard if event.what == "adding vectors"]
>>> [(event.who, event.done, event.total) for event in steps]
[('GreedyLSSVC', 1, 3), ('GreedyLSSVC', 2, 3), ('GreedyLSSVC', 3, 3)]

A listener is called in the thread that works, so it should be quick; what it raises ends the work, and a fit that ends
so leaves its estimator as it was. Steps in other processes (`n_jobs`) are not heard.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias


@dataclass(frozen=True)
class Event:
    """Something was done, or found.

    Parameters
    ----------
    who : str
        Whose work it is, "GreedyLSSVC" for instance.
    what : str
        What is being done; a fit may do several things after each other. Empty where something is only said.
    done : int
        Steps done of it; they begin anew with each thing that is done.
    total : int or None
        Steps there are; None where nobody knows.
    found : str
        What was found, in words.
    within : tuple of str
        Whose work this one is a part of, the outermost first; empty for the work a caller has asked for.
    """

    who: str
    what: str
    done: int
    total: int | None = None
    found: str = ""
    within: tuple[str, ...] = ()


Listener: TypeAlias = Callable[[Event], Any]


class _Frame(NamedTuple):
    """One `listening` (without a name) or `working` that is open."""

    listener: Listener | None
    who: str = ""


_frames: ContextVar[tuple[_Frame, ...]] = ContextVar("slimsvm_progress", default=())


@contextmanager
def _open(frame: _Frame) -> Iterator[None]:
    token = _frames.set((*_frames.get(), frame))
    try:
        yield
    finally:
        _frames.reset(token)


def listening(listener: Listener) -> Any:
    """Within this context, `listener(event)` is called for every step of all work, that of parts included.

    Parameters
    ----------
    listener : callable
        Takes an `Event`.
    """
    return _open(_Frame(listener))


def working(who: str, listener: Listener | None = None) -> Any:
    """Within this context, steps are those of `who`.

    Parameters
    ----------
    who : str
    listener : callable or None
        Called for the steps of this work alone, not for those of its parts.
    """
    return _open(_Frame(listener, who))


def tell(what: str, done: int, total: int | None = None, found: str = "", *, aloud: bool = True) -> None:
    """Say that a step was done.

    Parameters
    ----------
    what : str
        What is being done.
    done : int
        Steps done of it, this one included.
    total : int or None, default=None
        Steps there are, where that is known.
    found : str, default=""
        What the step has found.
    aloud : bool, default=True
        Whether the listener of the work itself hears it too; otherwise only those outside.
    """
    frames = _frames.get()
    if not frames:
        return
    names = tuple(frame.who for frame in frames if frame.who)
    event = Event(names[-1] if names else "", what, done, total, found, names[:-1])
    own = max((at for at, frame in enumerate(frames) if frame.who), default=-1)
    for at, frame in enumerate(frames):
        heard = aloud if at == own else not frame.who
        if heard and frame.listener is not None:
            frame.listener(event)


class Clock:
    """How long what is being done will still take.

    Examples
    --------
    >>> clock = Clock()
    >>> clock.left(Event("GreedyLSSVC", "adding vectors", 0, 10)) is None
    True
    """

    def __init__(self) -> None:
        self._what, self._done, self._first = "", 0, 0
        self._since = self._last = time.monotonic()

    def left(self, event: Event) -> float | None:
        """Seconds left for it, if that can be said: steps to come at the pace of those before."""
        now = time.monotonic()
        if (
            event.what != self._what or event.done <= self._done
        ):  # the first step began when what was before ended
            self._what, self._first = event.what, max(0, event.done - 1)
            self._since = self._last if event.done else now
        self._done, self._last = event.done, now
        counted = event.done - self._first
        if event.total is None or counted <= 0:
            return None
        return (now - self._since) * max(0, event.total - event.done) / counted


def time_in_words(seconds: float) -> str:
    """A time that is not known exactly.

    Examples
    --------
    >>> time_in_words(0.4), time_in_words(38.2), time_in_words(200), time_in_words(9000)
    ('1 s', '38 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
