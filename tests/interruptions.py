"""Ctrl-C at a chosen moment, and what may not be left behind: for test_interruption.py."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
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
