"""The records of benchmarks/compact.py: which belong together, their means and errors."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from compact_methods import METHODS
from harness import Journal, Record

BASE = "svc"  # what the others are compared with


def records_in(file: Path) -> Journal:
    """The last record of each set, method and split."""
    return Journal(file, lambda line: (line["set"], line["method"], line["split"]))


def by_method(records: Iterable[Record], name: str) -> dict[str, list[Record]]:
    """The records of one set, in the order of the methods and of the splits."""
    rows = sorted((r for r in records if r["set"] == name), key=lambda r: r["split"])
    found = {key: [r for r in rows if r["method"] == key] for key in METHODS}
    return {key: rows for key, rows in found.items() if rows}


def values(rows: list[Record], key: str) -> np.ndarray:
    return np.array([np.nan if row[key] is None else row[key] for row in rows], dtype=float)


def together(rows: list[Record], others: list[Record]) -> tuple[list[Record], list[Record]]:
    """The records of two methods on the splits that both have."""
    theirs = {row["split"]: row for row in others}
    common = [row for row in rows if row["split"] in theirs]
    return common, [theirs[row["split"]] for row in common]


def ratio(rows: list[Record], others: list[Record], key: str) -> float:
    """Geometric mean of rows / others."""
    rows, others = together(rows, others)
    return float(np.exp(np.mean(np.log(values(rows, key) / values(others, key)))))


def with_error(numbers: np.ndarray, digits: int, sign: str = "") -> str:
    if len(numbers) < 2:
        return f"{numbers[0]:{sign}.{digits}f}"
    return f"{numbers.mean():{sign}.{digits}f} ± {numbers.std(ddof=1) / np.sqrt(len(numbers)):.{digits}f}"


def number_or_dash(number: float, digits: int) -> str:
    """The text of a number, and a dash where there is none."""
    return "-" if np.isnan(number) else f"{number:,.{digits}f}"


def differences(rows: list[Record], others: list[Record], key: str) -> np.ndarray:
    """rows - others, on the splits that both have."""
    rows, others = together(rows, others)
    return values(rows, key) - values(others, key)
