"""What test_limits.py runs in a process of its own: fits in little memory."""

from __future__ import annotations

import os
import resource
import signal
import sys
import warnings

import everyone

# Longer than any of these fits takes: what hangs counts as a crash.
SECONDS = 120


def in_little_memory(name: str, n: int, extra: int) -> str:
    """Fit with so many megabytes to take: "ok", "MemoryError", or what else happened."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        X, y, _, _ = everyone.data(name, n=n)
        model = everyone.make(name)
        with open("/proc/self/statm") as file:
            taken = int(file.read().split()[0]) * resource.getpagesize()
        limit = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (taken + extra * 2**20, limit))
        signal.alarm(SECONDS)
        try:
            model.fit(X, y)
            found = "ok"
        except MemoryError:
            found = "MemoryError"
        except BaseException as error:
            found = f"{type(error).__name__}: {error}"
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        os.write(write, found.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        found = answer.read()
    status = os.waitpid(child, 0)[1]
    return found if status == 0 else f"ended with status {status}"


def everyone_in_little_memory(n: int, *megabytes: int) -> None:
    """Print a line for each estimator and limit."""
    warnings.simplefilter("ignore")
    for name in everyone.NAMES:
        for extra in megabytes:
            print(f"{name} with {extra} MB: {in_little_memory(name, n, extra)}", flush=True)


if __name__ == "__main__":
    everyone_in_little_memory(*(int(number) for number in sys.argv[1:]))
