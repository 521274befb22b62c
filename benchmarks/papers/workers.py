"""Runs cells in processes of their own: several at once, each with a deadline, and a word on how long it will take."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from harness import end_with_parent

from .cells import DEADLINE_SECONDS, Cell, Paper, estimates

POLL_SECONDS = 1.0
# A cell is ended in any case after this many times its deadline: it waits for something.
HANGING = 5.0


def _serve(pipe: Connection) -> None:
    """Call what comes through the pipe until it closes; Ctrl-C is the parent's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    while True:
        try:
            work, parameters = pipe.recv()
        except EOFError:
            return
        start = time.process_time()  # so that what else the machine does does not count
        try:
            answer = work(**parameters), None
        except Exception:
            answer = None, traceback.format_exc()
        pipe.send((*answer, time.process_time() - start))


def processor_seconds(pid: int) -> float | None:
    """What a process has used so far, where the system tells."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass
class Worker:
    """A process that does one cell after the other."""

    process: Any = None
    pipe: Any = None
    paper: Paper | None = None
    cell: Cell | None = None
    started: float = 0.0
    used: float | None = None

    def give(self, paper: Paper, cell: Cell) -> None:
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.pipe, other = context.Pipe()
            self.process = context.Process(target=_serve, args=(other,), daemon=True)
            self.process.start()
            other.close()
        self.paper, self.cell, self.started = paper, cell, time.perf_counter()
        self.used = processor_seconds(self.process.pid)
        self.pipe.send((cell.work, cell.parameters))

    def is_late(self, deadline: float) -> bool:
        """Whether the cell has had its time: of the processor, so that a busy machine gives nothing up."""
        waited, now = time.perf_counter() - self.started, processor_seconds(self.process.pid)
        spent = waited if now is None or self.used is None else now - self.used
        return spent > deadline or waited > HANGING * deadline

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
        self.process = self.pipe = self.cell = None


def duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"


@dataclass
class Progress:
    """A bar on a terminal, a line for each cell elsewhere."""

    width: int = 30
    terminal: bool = field(default_factory=lambda: sys.stderr.isatty())

    def show(self, done: float, left: float, n_jobs: int, what: str) -> None:
        share = done / max(done + left, 1e-9)
        filled = round(self.width * share)
        text = f"[{'=' * filled}{' ' * (self.width - filled)}] {share:4.0%}, {duration(left / n_jobs)} left, {what}"
        if self.terminal:
            columns = os.get_terminal_size(sys.stderr.fileno()).columns
            print(f"\r{text[: columns - 1]:<{columns - 1}}", end="", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def say(self, text: str) -> None:
        print(f"\n{text}" if self.terminal else text, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Done:
    """How a run ended: cells finished, given up and failed, and those that were not begun."""

    finished: int
    given_up: int
    failed: int
    not_begun: int


def run(
    papers: list[Paper],
    *,
    n_jobs: int = 1,
    quick: bool = False,
    only: str = "",
    hours: float | None = None,
    deadline: float = DEADLINE_SECONDS,
    after: Callable[[Paper], None] | None = None,
) -> Done:
    """Run what the journals lack, the shortest first; cells that others make possible follow.

    Of the tables those are run whose name contains `only`. Nothing is begun that would not end within `hours`. `after`
    is called with each paper at the end, also when Ctrl-C ends the run.
    """
    progress = Progress()
    end = time.perf_counter() + 3600 * hours if hours is not None else float("inf")
    workers = [Worker() for _ in range(n_jobs)]
    failed: set[tuple[str, tuple[str, str]]] = set()
    counts = {"finished": 0, "given_up": 0}

    def waiting() -> list[tuple[float, Paper, Cell]]:
        at_work = {(w.paper.name, w.cell.key) for w in workers if w.cell is not None and w.paper is not None}
        found = []
        for paper in papers:
            cells = paper.cells(quick=quick)
            seconds = estimates(paper.journal, cells)
            found += [
                (seconds[cell.key], paper, cell)
                for cell in cells
                if not cell.waits
                and only in cell.table
                and (paper.name, cell.key) not in at_work | failed
                and not paper.journal.finished(cell)
            ]
        return sorted(found, key=lambda item: item[0])

    def finish(worker: Worker, found: Any, seconds: float) -> None:
        assert worker.paper is not None
        assert worker.cell is not None
        worker.paper.journal.add(worker.cell, found, seconds)
        counts["finished" if found is not None else "given_up"] += 1

    done, queue = 0.0, waiting()
    try:
        while True:
            startable = [item for item in queue if time.perf_counter() + item[0] < end]
            for worker in workers:
                if worker.cell is None and startable:
                    _, paper, cell = startable.pop(0)
                    worker.give(paper, cell)
                    queue = [item for item in queue if item[2] is not cell]
            busy = [worker for worker in workers if worker.cell is not None]
            if not busy:
                break
            ready = wait([worker.pipe for worker in busy], POLL_SECONDS)
            n_before = len(failed) + sum(counts.values())
            for worker in busy:
                assert worker.cell is not None
                assert worker.paper is not None
                name = f"{worker.paper.name}: {worker.cell.table}"
                if worker.pipe in ready:
                    try:
                        found, error, seconds = worker.pipe.recv()
                    except EOFError:
                        found, error, seconds = None, "the process ended without an answer", 0.0
                        failed.add((worker.paper.name, worker.cell.key))
                        progress.say(f"{name}, {worker.cell.parameters}: {error}")
                        worker.end()
                        continue
                    if error is None:
                        finish(worker, found, seconds)
                    else:
                        failed.add((worker.paper.name, worker.cell.key))
                        progress.say(f"{name}, {worker.cell.parameters}:\n{error}")
                    done += seconds
                    worker.cell = None
                    progress.show(done, sum(item[0] for item in queue), n_jobs, name)
                elif worker.is_late(deadline):
                    finish(worker, None, deadline)
                    done += deadline
                    progress.say(
                        f"{name}, {worker.cell.parameters}: not finished after {deadline / 60:g} minutes"
                    )
                    worker.end()
            if len(failed) + sum(counts.values()) > n_before:
                queue = waiting()
    except KeyboardInterrupt:
        progress.say("stopped; what was finished is kept, and the same command goes on from there.")
    finally:
        for worker in workers:
            worker.end()
    for paper in papers:
        if after is not None:
            after(paper)
    return Done(counts["finished"], counts["given_up"], len(failed), len(waiting()))
