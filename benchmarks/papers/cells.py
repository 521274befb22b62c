"""Cells, the pieces of work behind the papers' tables, and the journals that keep what they found."""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import os
import platform
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from harness import RESULTS, Record, versions
from slimsvm.datasets import load

JOURNALS = RESULTS / "papers"
# A cell that takes longer is given up, and its page says so.
DEADLINE_SECONDS = 20 * 60.0


@dataclass(frozen=True)
class Cell:
    """A piece of work: a function of parameters, found again in the journal by its table and its parameters.

    Parameters
    ----------
    table : str
        What it is for, as `make papers-plan` names it: "Tables V and VII".
    work : function
        Of a module, so that another process can call it; returns what can be written as JSON.
    parameters : dict
        Keyword arguments of `work`, as JSON has them.
    seconds : float
        How long it is expected to take on one core. The plan corrects it by what the table's other cells took.
    data : tuple of str
        Published sets it reads: the journal keeps their checksums.
    quick : bool
        Whether `make papers-quick` runs it.
    waits : bool
        Whether it can only be estimated: its parameters are found by cells that have not been run.
    """

    table: str
    work: Callable[..., Record]
    parameters: Record
    seconds: float
    data: tuple[str, ...] = ()
    quick: bool = False
    waits: bool = False

    @property
    def key(self) -> tuple[str, str]:
        return key_of(self.work.__name__, self.parameters)


def key_of(work: str, parameters: Record) -> tuple[str, str]:
    return work, json.dumps(parameters, sort_keys=True)


@functools.cache
def checksum(name: str) -> str:
    """The first digits of a hash of a published set."""
    data = load(name)
    digest = hashlib.sha256()
    for array in (data.X, data.y):
        digest.update(np.ascontiguousarray(array))
    return digest.hexdigest()[:12]


def code_version() -> str:
    """The commit that is run, with a + where its code was changed."""
    git = ["git", "-C", str(Path(__file__).parents[2])]
    code = ["src", "cpp", "benchmarks", ":!benchmarks/results"]

    def said(*command: str) -> str:
        return subprocess.run([*git, *command], check=True, capture_output=True, text=True).stdout.strip()

    try:
        commit, changed = said("rev-parse", "--short=10", "HEAD"), said("status", "--porcelain", "--", *code)
    except (OSError, subprocess.CalledProcessError):
        import slimsvm

        return slimsvm.__version__
    return commit + "+" * bool(changed)


def processor() -> str:
    """What the machine calls its processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def this_run() -> Record:
    """What the figures of a run depend on besides the cells."""
    return {
        "code": code_version(),
        "versions": versions(python=True),
        "machine": f"{processor()}, {os.cpu_count()} cores",
        "threads": 1,
    }


@dataclass
class Journal:
    """What the cells of one paper found: lines of JSON, added one by one.

    A run that was stopped goes on where it was; of several lines about the same cell the last counts. A line is about
    a run (code, versions, machine), or about a cell and names its run.
    """

    path: Path
    lines: dict[tuple[str, str], Record] = field(default_factory=dict)
    runs: list[Record] = field(default_factory=list)
    run: int | None = None

    @classmethod
    def of(cls, paper: str, folder: Path | None = None) -> Journal:
        """The journal of a paper, as far as it is written."""
        journal = cls((folder or JOURNALS) / f"{paper}.jsonl")
        if journal.path.exists():
            for text in filter(str.strip, journal.path.read_text(encoding="utf-8").splitlines()):
                line = json.loads(text)
                if "work" in line:
                    journal.lines[key_of(line["work"], line["parameters"])] = line
                else:
                    journal.runs.append(line)
        return journal

    def _write(self, line: Record) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def add(self, cell: Cell, found: Record | None, seconds: float) -> None:
        """Keep what a cell found, or that it was given up (None)."""
        if self.run is None:
            run = this_run()
            if run not in self.runs:
                self.runs.append(run)
                self._write(run)
            self.run = self.runs.index(run)
        line = {
            "work": cell.work.__name__,
            "parameters": cell.parameters,
            "data": {name: checksum(name) for name in cell.data},
            "run": self.run,
            "seconds": round(seconds, 2),
            "found": found,
        }
        self.lines[cell.key] = line
        self._write(line)

    def finished(self, cell: Cell) -> bool:
        """Whether the cell is there, with the data as they are."""
        line = self.lines.get(cell.key)
        return line is not None and all(line["data"].get(name) == checksum(name) for name in cell.data)

    def found(self, work: Callable[..., Record] | str, **parameters: Any) -> Record | None:
        """What a cell found; None where it was not run or given up."""
        name = work if isinstance(work, str) else work.__name__
        line = self.lines.get(key_of(name, parameters))
        return None if line is None else line["found"]

    def gave_up(self, work: Callable[..., Record] | str, **parameters: Any) -> bool:
        """Whether a cell was run and did not end in time."""
        name = work if isinstance(work, str) else work.__name__
        line = self.lines.get(key_of(name, parameters))
        return line is not None and line["found"] is None

    def seconds(self, cell: Cell) -> float | None:
        """How long a cell took."""
        line = self.lines.get(cell.key)
        return None if line is None else line["seconds"]

    def tidy(self, cells: Iterable[Cell]) -> int:
        """Drop the lines that are about none of the cells; how many there were."""
        wanted = {cell.key for cell in cells}
        kept = {key: line for key, line in self.lines.items() if key in wanted}
        dropped = len(self.lines) - len(kept)
        self.lines = kept
        text = "".join(json.dumps(line) + "\n" for line in [*self.runs, *kept.values()])
        temporary = self.path.with_name(self.path.name + ".part")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(self.path)
        return dropped


@dataclass
class Paper:
    """One of the five papers: its modules and its journal."""

    name: str
    journal: Journal

    @classmethod
    def of(cls, name: str, folder: Path | None = None) -> Paper:
        return cls(name, Journal.of(name, folder))

    def module(self, part: str) -> Any:
        return importlib.import_module(f"papers.{self.name}.{part}")

    def cells(self, *, quick: bool = False) -> list[Cell]:
        """The cells as far as they are known: some depend on what others found."""
        return [cell for cell in self.module("cells").cells(self.journal) if cell.quick or not quick]


@dataclass(frozen=True)
class Expected:
    """How many cells of a table are finished, and the seconds that they took and the others will take."""

    table: str
    n_finished: int
    n_cells: int
    spent: float
    left: float


def estimates(journal: Journal, cells: Iterable[Cell]) -> dict[tuple[str, str], float]:
    """Seconds for each cell: what it took, or what was declared, corrected by what its table's others took."""
    cells = list(cells)
    ratio: dict[str, float] = {}
    for table in {cell.table for cell in cells}:
        pairs = [
            (journal.lines[cell.key]["seconds"], cell.seconds)
            for cell in cells
            if cell.table == table and cell.key in journal.lines
        ]
        took, declared = np.sum(pairs, axis=0) if pairs else (1.0, 1.0)
        ratio[table] = float(took / declared)
    return {
        cell.key: journal.seconds(cell) or min(cell.seconds * ratio[cell.table], DEADLINE_SECONDS)
        for cell in cells
    }


def plan(journal: Journal, cells: Iterable[Cell]) -> list[Expected]:
    """Per table: how much is done, and the seconds of one core that it took and will take."""
    cells = list(cells)
    seconds = estimates(journal, cells)
    tables = dict.fromkeys(cell.table for cell in cells)
    lines = []
    for table in tables:
        own = [cell for cell in cells if cell.table == table]
        done = [cell for cell in own if not cell.waits and journal.finished(cell)]
        spent = sum(seconds[cell.key] for cell in done)
        total = sum(seconds[cell.key] for cell in own)
        lines.append(Expected(table, len(done), len(own), spent, total - spent))
    return lines
