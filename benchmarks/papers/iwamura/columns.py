"""Columns of the tables of Iwamura and Abe (2008): what was found, and whether it is the paper's."""

from __future__ import annotations

from harness import Record
from papers.pages import number, spread, summary

# What counts as reproduced.
VECTORS_SHARE, VECTORS_LEAST, ACCURACY_POINTS = 0.10, 1.5, 1.0


def near(field: str, ours: float, target: float) -> bool:
    if field == "vectors":
        return abs(ours - target) <= max(VECTORS_SHARE * target, VECTORS_LEAST)
    return abs(ours - target) <= ACCURACY_POINTS


def values(rows: Record, key: str, field: str) -> list[float]:
    """One column; for the SVMs' vectors the count without merging, where rows are equal."""
    merged = rows["runs"][key][field]
    if field == "vectors" and "SVM" in key:
        return [
            count if other is None else other[key]
            for count, other in zip(merged, rows["unmerged"], strict=True)
        ]
    return merged


def shown(rows: Record, key: str, field: str) -> str:
    ours, merged = summary(values(rows, key, field)), summary(rows["runs"][key][field])
    return spread(*ours) if ours == merged else f"{spread(*ours)} / {number(merged[0])}"
