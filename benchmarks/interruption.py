"""Ctrl-C in every estimator's fit: the time until KeyboardInterrupt reaches the caller.

    python benchmarks/interruption.py [--rows 200] [--times 20] [--large 4000 9000]

At random moments of small fits another process sends SIGINT, and says when and how much processor time the fit had
had. In large fits a timer ticks, and the longest time for which Python heard nothing is what Ctrl-C may have to wait.
Estimators, settings and data are those of tests/everyone.py. The page is benchmarks/results/interruption.md.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from harness import RESULTS, table, timed, versions, write_page

sys.path.append(str(Path(__file__).parents[1] / "tests"))
import everyone

SENDER = """
import os, signal, sys, time
parent = os.getppid()
for line in sys.stdin:
    time.sleep(float(line))
    used = open(f"/proc/{parent}/schedstat").read().split()[0]
    sent = time.monotonic()
    os.kill(parent, signal.SIGINT)
    print(sent, used, flush=True)
"""


def processor_ns() -> int:
    """Processor time of the main thread."""
    return int(Path("/proc/self/schedstat").read_text().split()[0])


class Sender:
    """A process that presses Ctrl-C."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-S", "-c", SENDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip

    def strike(self, action: Callable[[], Any], seconds: float) -> tuple[float, float] | None:
        """Seconds, and seconds of processor, from the signal to its end; None if the action ended before."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        ended = False
        try:
            self.process.stdin.write(f"{seconds}\n")
            self.process.stdin.flush()
            action()
            ended = True
            while True:
                time.sleep(1.0)
        except KeyboardInterrupt:
            now, used = time.monotonic(), processor_ns()
        sent, before = self.process.stdout.readline().split()
        return None if ended else (now - float(sent), 1e-9 * (used - int(before)))


def section(rows: int, times: int) -> Iterator[str]:
    """The lines of the page."""
    sender, rng = Sender(), np.random.default_rng(0)
    lines, every = [], []
    for name in everyone.NAMES:
        X, y, _, _ = everyone.data(name, n=rows)
        everyone.make(name).fit(X, y)
        whole = timed(lambda name=name, X=X, y=y: everyone.make(name).fit(X, y))[1]
        found = []
        for moment in rng.uniform(0.0, whole, times):
            struck = sender.strike(lambda name=name, X=X, y=y: everyone.make(name).fit(X, y), moment)
            if struck is not None:
                found.append(struck)
        every += found
        waits = np.array(found).reshape(-1, 2)
        figures = (
            [f"{1000 * value:.1f}" for value in (*np.median(waits, axis=0), *waits.max(axis=0))]
            if found
            else ["-"] * 4
        )
        lines.append([name, f"{whole:.2f}", f"{len(found)} of {times}", *figures])
        print(*lines[-1], flush=True)
    sender.process.kill()
    waits = np.array(every)
    yield "# Ctrl-C within a fit\n"
    load = f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    yield f"{versions(python=True)}; {rows} rows of three features; {load}.\n"
    yield (
        "SIGINT at a random moment of each fit. Milliseconds from the signal to KeyboardInterrupt at the caller, on "
        "the clock and of processor time; where the fit ended before the signal came, nothing was interrupted.\n"
    )
    yield from table(
        [
            "estimator", "seconds of a fit", "interrupted",
            "median, clock", "median, processor", "most, clock", "most, processor",
        ],
        lines,
    )  # fmt: skip
    shares = ", ".join(
        f"{np.quantile(waits[:, 1], share) * 1000:.1f} ms in {share:.0%}" for share in (0.5, 0.9, 0.99)
    )
    most = f"{1000 * waits[:, 1].max():.1f} ms in all"
    yield f"{len(waits)} interruptions; processor time at most {shares} of them, {most}.\n"


# Settings of large fits that are no default, and are done by other routines.
OTHERS = {
    "LSSVC": {"kernel": "sigmoid"},
    "RVC": {"method": "em"},
    "RVR": {"method": "em"},
    "SparsityControlledSVC": {"kernel": "sigmoid"},
    "ZeroNormSVC": {"margin": 0.5},
}
TICK, LONGEST = 0.02, 40.0


class TooLong(Exception):
    """The fit has been watched for long enough."""


def silence(model: Any, X: Any, y: Any) -> tuple[float, float]:
    """Seconds of a fit, stopped after LONGEST of them, and the longest time in it for which Python heard nothing."""
    start = last = time.perf_counter()
    longest = 0.0

    def heard(*_: Any) -> None:
        nonlocal last, longest
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
        if now - start > LONGEST:
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise TooLong

    before = signal.signal(signal.SIGALRM, heard)
    try:
        signal.setitimer(signal.ITIMER_REAL, TICK, TICK)
        model.fit(X, y)
    except TooLong:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    end = time.perf_counter()
    return end - start, max(longest, end - last)


def large(sizes: list[int]) -> Iterator[str]:
    """The lines about large fits."""
    asked: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in everyone.NAMES]
    asked += list(OTHERS.items())
    lines = []
    for name, options in asked:
        line = [name + "".join(f", {key}={value!r}" for key, value in options.items())]
        for rows in sizes:
            X, y, _, _ = everyone.data(name, n=rows)
            took, longest = silence(everyone.make(name, **options), X, y)
            line += [f"{took:.1f}" if took < LONGEST else "stopped", f"{longest:.2f}"]
        lines.append(line)
        print(*line, flush=True)
    yield "## Large fits\n"
    yield (
        f"Seconds of a fit, which is stopped after {LONGEST:.0f}, and the most of them for which Ctrl-C would not have "
        "been heard.\n"
    )
    columns = [text for rows in sizes for text in (f"{rows:,} rows", "unheard")]
    yield from table(["estimator", *columns], lines)


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--large", type=int, nargs="*", default=[4000, 9000])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = list(section(given.rows, given.times))
    write_page(RESULTS / "interruption.md", lines + (list(large(given.large)) if given.large else []))
