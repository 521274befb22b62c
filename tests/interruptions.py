"""Ctrl-C at a chosen moment, and what may not be left behind: for test_interruption.py."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from threadpoolctl import ThreadpoolController

# What is promised, in seconds of processor time: a busy machine gives us a part of it only.
SOON = 0.5


def interrupted(action: Callable[[], Any], seconds: float) -> tuple[float, bool]:
    """Run with Ctrl-C after so many seconds of processor time: what it went on for, and whether it was interrupted.

    The processor's timer has a signal of its own; it is handled as Python handles SIGINT.
    """
    # Python drops an interrupt that falls into a callback of its garbage collection; hypothesis leaves one there
    callbacks, gc.callbacks[:] = gc.callbacks[:], []
    before = signal.signal(signal.SIGPROF, signal.default_int_handler)
    start, struck = time.process_time(), False
    try:
        try:
            signal.setitimer(signal.ITIMER_PROF, max(seconds, 1e-6))
            action()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except KeyboardInterrupt:
        struck = True
    went_on = time.process_time() - start - seconds
    signal.signal(signal.SIGPROF, before)
    gc.callbacks[:] = callbacks
    return went_on, struck


# The code that begins there, or that goes on after a function in C of this name: Python hears of signals then, and not
# before a function in C begins, such as the one that gives a lock back.
Point = tuple[Any, str | None]


def _point(frame: Any, event: str, argument: Any) -> Point | None:
    if event == "call":
        return frame.f_code, None
    return (frame.f_code, getattr(argument, "__name__", "?")) if event == "c_return" else None


def points(action: Callable[[], Any]) -> Counter[Point]:
    """All places where Python may hear of Ctrl-C, and how often an action comes by."""
    seen: Counter[Point] = Counter()

    def record(frame: Any, event: str, argument: Any) -> None:
        if (point := _point(frame, event, argument)) is not None:
            seen[point] += 1

    sys.setprofile(record)
    try:
        action()
    finally:
        sys.setprofile(None)
    return seen


def interrupted_at(action: Callable[[], Any], point: Point, arrival: int) -> str:
    """Run with Ctrl-C at an arrival at a point: "interrupted", "never there", or "dropped" by Python itself.

    Python drops what is raised while it collects an object or closes a generator, and says so to its hook.
    """
    left, dropped = arrival, []

    def strike(frame: Any, event: str, argument: Any) -> None:
        nonlocal left
        if left and _point(frame, event, argument) == point:
            left -= 1
            if left == 0:
                raise KeyboardInterrupt

    hook, sys.unraisablehook = sys.unraisablehook, dropped.append
    settings = sklearn.get_config()  # Ctrl-C may strike scikit-learn where it puts its own settings back
    try:
        sys.setprofile(strike)
        try:
            action()
        finally:
            sys.setprofile(None)
    except KeyboardInterrupt:
        return "interrupted"
    finally:
        sys.unraisablehook = hook
        sklearn.set_config(**settings)
    if left:
        return "never there"
    assert any(issubclass(found.exc_type, KeyboardInterrupt) for found in dropped), (
        f"Ctrl-C is lost at {point}"
    )
    return "dropped"


def processor_seconds(action: Callable[[], Any]) -> float:
    """What an action takes when it is let."""
    start = time.process_time()
    action()
    return time.process_time() - start


def _threads() -> tuple[int, int]:
    tasks = Path("/proc/self/task")
    return threading.active_count(), len(os.listdir(tasks)) if tasks.exists() else 0


def blas_limits() -> list[int]:
    """The number of threads of each BLAS."""
    return [
        library.get_num_threads()
        for library in ThreadpoolController().select(user_api="blas").lib_controllers
    ]


def _bytes(array: Any) -> list[bytes]:
    parts = (array.data, array.indices, array.indptr) if sparse.issparse(array) else (np.asarray(array),)
    return [part.tobytes() for part in parts]


@contextmanager
def nothing_left_behind(*inputs: Any) -> Iterator[None]:
    """No thread, temporary file or BLAS limit of what is done within stays, and the inputs are as they were."""
    given = [_bytes(array) for array in inputs if array is not None]
    before = _threads(), sorted(os.listdir(tempfile.gettempdir())), blas_limits()
    yield
    assert (_threads(), sorted(os.listdir(tempfile.gettempdir())), blas_limits()) == before
    assert [_bytes(array) for array in inputs if array is not None] == given
