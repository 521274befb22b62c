"""Threads: what `n_jobs` means, and BLAS kept to one thread while a model is fitted.

The number of BLAS threads belongs to the process, and the bits of a product depend on it. `one_blas_thread` counts who
is inside, in all threads: the first one in remembers the limits and sets them to one, the last one out puts them back.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from contextlib import ContextDecorator
from types import TracebackType
from typing import Any, Self

import numpy as np
from scipy.linalg import blas
from threadpoolctl import ThreadpoolController

from .limits import address_space_left, check_memory

# What the compiled core can be told; it never starts more than there is work for.
MOST_THREADS = 2**31 - 1


def n_threads(n_jobs: int | None) -> int:
    """Threads for `n_jobs`: None means 1, -1 all processors, -2 all but one, and so on."""
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; use None or 1 for one thread, -1 for all processors.")
    if n_jobs > MOST_THREADS:
        raise ValueError(f"n_jobs must be at most {MOST_THREADS}, got {n_jobs}; -1 means all processors.")
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return n_jobs if n_jobs > 0 else max(1, available + 1 + n_jobs)


# What OpenBLAS takes when it is first called, 32 MB in NumPy and as much in SciPy, with room for larger processors.
BUFFER_BYTES = 2**27
_has_buffers = False


def _take_buffers() -> None:
    """Let BLAS take its memory, once; a MemoryError where there is none, because OpenBLAS would end the process."""
    global _has_buffers
    if _has_buffers:
        return
    check_memory(
        BUFFER_BYTES, "the buffers of BLAS need", "raise the memory limit of the process", limit=math.inf
    )
    small = np.eye(64)
    small @ small
    blas.dgemm(1.0, small, small)
    _has_buffers = True


class one_blas_thread(ContextDecorator):
    """Within this context, or in a function it decorates, NumPy's and SciPy's BLAS use one thread.

    For work on many small matrices, where more threads take longer; and the bits do not depend on their number. May be
    nested and used in several threads at once: the limits are as before when the last one has left. A limit that
    somebody else sets in the meantime stays.

    Examples
    --------
    >>> import numpy as np
    >>> with one_blas_thread():
    ...     np.eye(2) @ np.eye(2)
    array([[1., 0.],
           [0., 1.]])
    """

    def __enter__(self) -> Self:
        _take_buffers()
        _limits.enter(id(self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _limits.leave(id(self))

    def __del__(self) -> None:
        # Ctrl-C can strike between the end of the work and the first line of __exit__
        if id(self) in _limits.inside:
            _limits.leave(id(self))

    def _recreate_cm(self) -> Self:  # a decorated function may be called by several threads
        return type(self)()


class _Limits:
    """Who is inside, and what the limits were before."""

    def __init__(self) -> None:
        self.inside: dict[int, int] = {}  # the id of each context, and the thread it was entered in
        self._lock = (
            threading.RLock()
        )  # a context may be collected, and leave, while its thread holds the lock
        self._before: dict[
            int, list[tuple[Any, int]]
        ] = {}  # by thread, 0 for all: libraries, and what they had
        self._libraries: list[Any] = []
        self._modules = -1

    def enter(self, who: int) -> None:
        thread = threading.get_ident()
        try:
            with self._lock:
                if not self.inside:
                    self._look()
                    for scope in list(self._before):  # of one who was interrupted on the way out
                        self._put_back(scope)
                for scope in (0, thread):
                    if scope not in self._before:
                        self._set(scope)
                self.inside[who] = thread
        except BaseException:  # Ctrl-C: what was begun is undone
            self.leave(who)
            raise

    def leave(self, who: int) -> None:
        with self._lock:
            thread = self.inside.pop(who, threading.get_ident())
            if thread not in self.inside.values():
                self._put_back(thread)
            if not self.inside:
                self._put_back(0)

    def _look(self) -> None:
        if self._modules != len(
            sys.modules
        ):  # libraries come with modules; looking for them takes a millisecond
            self._libraries = ThreadpoolController().select(user_api="blas").lib_controllers
            self._modules = len(sys.modules)

    def _set(self, scope: int) -> None:
        self._before[scope] = before = []
        for library in self._libraries:
            # OpenMP has a limit for each thread, other libraries one for the process
            if (getattr(library, "threading_layer", "") == "openmp") == (scope != 0):
                threads = library.get_num_threads()
                if threads is not None and threads > 1:
                    before.append((library, threads))
                    _set_num_threads(library, 1)

    def _put_back(self, scope: int) -> None:
        before = self._before.get(scope, [])
        while before:
            library, threads = before[-1]
            if address_space_left() < threads * BUFFER_BYTES:
                return  # each thread takes a buffer, or OpenBLAS ends the process: the next one in tries again
            if library.get_num_threads() == 1:
                _set_num_threads(library, threads)
            before.pop()  # only now: Ctrl-C may come in between
        self._before.pop(scope, None)

    def before_fork(self) -> None:
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Of those inside only the thread that forked is left."""
        self._lock = threading.RLock()
        mine = threading.get_ident()
        self.inside = {who: thread for who, thread in self.inside.items() if thread == mine}
        self._before = {scope: before for scope, before in self._before.items() if scope in (0, mine)}
        if not self.inside:
            self._put_back(0)


def _set_num_threads(library: Any, threads: int) -> None:
    # threadpoolctl lets one thread alone change the limit of the process and ignores the others; we count
    getattr(library, "_real_set_num_threads", library.set_num_threads)(threads)


_limits = _Limits()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_limits.before_fork,
        after_in_parent=_limits.after_fork_in_parent,
        after_in_child=_limits.after_fork_in_child,
    )
