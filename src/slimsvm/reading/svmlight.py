"""LIBSVM's text format: a label and pairs of index and value a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import IO

import numpy as np
from scipy import sparse

from ..rows import Array
from ..words import quoted
from .lines import text_lines
from .table import NoRows, Places, UnnamedRows, joined, wrong

ROWS_AT_A_TIME = 5000
# Some arrays are as long as there are features: ten million of them are 80 MB each.
MOST_FEATURES = 10_000_000
WHOLE = re.compile(r"[+-]?[0-9]+")
# Python makes no whole number of several thousand digits.
MOST_DIGITS = 1000


def looks_like_svmlight(line: str) -> bool:
    """Whether a line is a label and pairs.

    Examples
    --------
    >>> looks_like_svmlight("+1 3:0.5 7:1"), looks_like_svmlight("1,2,3")
    (True, False)
    """
    first, *pairs = line.split("#")[0].split() or [""]
    try:
        float(first)
        return bool(pairs) and all(len(pair.split(":")) == 2 for pair in pairs)
    except ValueError:
        return False


def read_svmlight(stream: IO[bytes], source: str, encoding: str = "utf-8") -> UnnamedRows:
    """Rows and labels.

    Parameters
    ----------
    stream : binary file
    source : str
        The file, as messages call it.
    encoding : str, default="utf-8"

    Returns
    -------
    UnnamedRows
        Index 1 of the file is column 0, unless the file has an index 0.
    """
    whole: UnnamedRows = joined(list(svmlight_parts(stream, source, encoding)))
    return whole.settled(whole.lowest or 0)


def svmlight_parts(stream: IO[bytes], source: str, encoding: str = "utf-8") -> Iterator[UnnamedRows]:
    """The same rows, some after the other, with the indices as they stand in the file: `UnnamedRows.settled`."""
    lines = text_lines(stream, source, encoding)
    empty = True
    while chunk := list(islice(lines, ROWS_AT_A_TIME)):
        rows = [(number, row) for number, text in chunk if (row := text.split("#", 1)[0].split())]
        if not rows:
            continue
        counts = [len(row) - 1 for _, row in rows]
        tokens = [token for _, row in rows for token in row[1:]]
        try:
            pairs = np.array(":".join(tokens).split(":") if tokens else [], dtype=np.float64).reshape(-1, 2)
            labels = np.array([float(row[0]) for _, row in rows])
            well = len(pairs) == len(tokens) and _fine(pairs, counts) and bool(np.isfinite(labels).all())
        except ValueError:
            well = False
        if not well:
            for number, row in rows:
                _check(row, number, source)
            raise wrong(
                source, rows[0][0], "one of the next lines is no row of a LIBSVM file."
            )  # not reached
        empty = False
        index = pairs[:, 0].astype(np.int32)
        start = np.concatenate([[0], np.cumsum(counts)])
        width = int(index.max(initial=-1)) + 1
        X = sparse.csr_array((pairs[:, 1], index, start), shape=(len(rows), width))
        places = Places(np.array([number for number, _ in rows]))
        yield UnnamedRows(source, X, labels, places, int(index.min()) if len(index) else 1)
    if empty:
        raise NoRows(f"{source}: the file is empty.")


def _fine(pairs: Array, counts: list[int]) -> bool:
    """Whether all indices are whole, in range and growing in every row, and all values finite."""
    index = pairs[:, 0]
    if not np.isfinite(pairs).all() or (index != np.floor(index)).any():
        return False
    if index.min(initial=0) < 0 or index.max(initial=0) > MOST_FEATURES:
        return False
    grows = np.diff(index, prepend=-1.0) > 0
    starts = np.cumsum([0, *counts[:-1]])
    grows[starts[starts < len(index)]] = True
    return bool(grows.all())


def _check(row: list[str], number: int, source: str) -> None:
    """Say what is wrong with a line, if anything is."""
    try:
        label = float(row[0])
    except ValueError:
        raise wrong(
            source, number, f"the line begins with {quoted(row[0])}, which is no number to be a label."
        ) from None
    if not np.isfinite(label):
        raise wrong(source, number, f"the label {row[0][:60]} is not finite.")
    last = -1
    for token in row[1:]:
        index, colon, value = token.partition(":")
        if not colon or not WHOLE.fullmatch(index):
            raise wrong(source, number, f"{quoted(token)} is no pair of index and value, such as 7:0.5.")
        if len(index) > MOST_DIGITS or not 0 <= int(index) <= MOST_FEATURES:
            raise wrong(source, number, f"the index {index[:60]} is not between 0 and {MOST_FEATURES:,}.")
        if int(index) <= last:
            raise wrong(
                source, number, f"the index {index[:60]} comes after {last}: indices must grow along a line."
            )
        last = int(index)
        try:
            finite = np.isfinite(float(value))
        except ValueError:
            raise wrong(source, number, f"{quoted(value)} at index {index[:60]} is no number.") from None
        if not finite:
            raise wrong(source, number, f"the value {value[:60]} at index {index[:60]} is not finite.")
