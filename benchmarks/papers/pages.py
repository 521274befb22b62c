"""What the papers' pages share: their head, tables of paper | ours, numbers, and tests of significance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from .cells import DEADLINE_SECONDS, Journal

DOCS = Path(__file__).parents[2] / "docs" / "results"
SIGNIFICANT = 0.05
NOT_RUN = "not run yet"
GAVE_UP = f"over {DEADLINE_SECONDS / 60:g} min"


def head(title: str, paper: str, journal: Journal, *notes: str) -> Iterator[str]:
    """Title, reference, command, what the figures were measured with, and notes on what differs from the paper."""
    yield f"# {title}\n"
    yield f"{paper}\n"
    name = journal.path.stem
    yield (
        f"`make paper-{name}` runs what is missing and writes this page, from the journal "
        f"[{name}.jsonl](../../benchmarks/results/papers/{name}.jsonl) of all that was run. A cell that takes more "
        f"than {DEADLINE_SECONDS / 60:g} minutes is given up and marked so; nothing is extrapolated. Seconds are "
        "processor time of one thread.\n"
    )
    yield from measured_with(journal)
    if notes:
        yield "**What differs from the paper, and what was settled after seeing results**\n"
        yield from (f"- {note}" for note in notes)
        yield ""


def measured_with(journal: Journal) -> Iterator[str]:
    """The code, versions and machines of the lines that count."""
    used = sorted({line["run"] for line in journal.lines.values()})
    if not used:
        yield "Nothing has been run yet.\n"
        return
    runs = [journal.runs[index] for index in used]
    texts = {
        key: "; ".join(dict.fromkeys(str(run[key]) for run in runs))
        for key in ("versions", "machine", "code")
    }
    threads = " or ".join(dict.fromkeys(str(run["threads"]) for run in runs))
    hours = sum(line["seconds"] for line in journal.lines.values()) / 3600
    yield (
        f"Measured with {texts['versions']} on {texts['machine']}, {threads} thread a cell, slimsvm at "
        f"{texts['code']}: {len(journal.lines)} cells, {hours:.1f} hours of one core.\n"
    )


def number(value: float) -> str:
    """Three digits or so."""
    return f"{value:.1f}" if abs(value) < 100 else f"{value:.0f}"


def seconds(value: float) -> str:
    """Seconds with two digits that count."""
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def spread(mean: float, deviation: float | None) -> str:
    """Mean ± deviation."""
    return number(mean) if deviation is None else f"{number(mean)} ± {deviation:.2g}"


def difference(ours: float, paper: float, digits: int = 1) -> str:
    return f"{ours - paper:+.{digits}f}"


def ratio(ours: float, paper: float) -> str:
    return f"{ours / paper:.2f}"


def welch(
    first: tuple[float, float], second: tuple[float, float], n_first: int, n_second: int | None = None
) -> float:
    """Probability, both sides, that two means (mean, deviation) differ so by chance; Welch's t-test."""
    n_second = n_second or n_first
    if first[1] == 0 and second[1] == 0:
        return float(first[0] == second[0])
    return float(stats.ttest_ind_from_stats(*first, n_first, *second, n_second, equal_var=False).pvalue)


def equal_deviations(first: float, second: float, n: int) -> float:
    """Probability, both sides, that two deviations of n values each differ so by chance; F-test."""
    if first == 0 or second == 0:
        return float(first == second)
    share = stats.f.cdf((first / second) ** 2, n - 1, n - 1)
    return float(2 * min(share, 1 - share))


def summary(values: Sequence[float]) -> tuple[float, float]:
    """Mean and deviation, with n - 1."""
    array = np.asarray(values, dtype=float)
    return float(array.mean()), float(array.std(ddof=1)) if len(array) > 1 else 0.0


def shares(parts: Iterable[bool]) -> str:
    parts = list(parts)
    return f"{sum(parts)} of {len(parts)}"


def picture(file: str, text: str) -> str:
    """A line that shows a picture of this page."""
    return f"![{text}](pictures/{file})\n"


def missing(journal: Journal, work: Any, **parameters: Any) -> str:
    """Why a figure is not there."""
    return GAVE_UP if journal.gave_up(work, **parameters) else NOT_RUN
