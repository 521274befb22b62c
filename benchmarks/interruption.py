"""Ctrl-C at random moments of every estimator's fit: the time until KeyboardInterrupt reaches the caller.

    python benchmarks/interruption.py [--rows 200] [--times 20]

Another process sends SIGINT, and says when and how much processor time the fit had had. Estimators, settings and data
are those of tests/everyone.py. The page is benchmarks/results/interruption.md.
"""

from __future__ import annotations

import os
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


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--times", type=int, default=20)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    write_page(RESULTS / "interruption.md", list(section(given.rows, given.times)))
