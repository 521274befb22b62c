"""CSV, TSV and other text with one row a line: separator, header and types are found out."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice
from typing import IO, Any

import numpy as np

from ..rows import Array
from ..words import count, quoted, some
from .lines import text_lines
from .table import NoRows, Places, Table, joined, wrong

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}
# What the separator is found by.
FIRST_LINES = 50
# Cells become numbers so many rows and cells at a time, so that their texts need no memory: a text takes about 60
# bytes, so these are 30 MB.
ROWS_AT_A_TIME, CELLS_AT_A_TIME = 20_000, 2**19
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "#n/a", "<na>"})


def read_delimited(
    stream: IO[bytes],
    source: str,
    *,
    separator: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    missing: Collection[str] = (),
    categorical: Collection[str] = (),
) -> Table:
    """A table from text.

    Parameters
    ----------
    stream : binary file
    source : str
        The file, as messages call it.
    separator : str or None, default=None
        What stands between two fields; None is found out.
    header : bool or None, default=None
        Whether the first line has the names; None means if it has no number.
    encoding : str, default="utf-8"
    missing : collection of str
        Words for a missing value, beside the usual ones.
    categorical : collection of str
        Columns whose values are categories even if they are numbers.

    Returns
    -------
    Table
    """
    parts = delimited_parts(
        stream, source, separator=separator, header=header, encoding=encoding, missing=missing,
        categorical=categorical,
    )  # fmt: skip
    whole: Table = joined(list(parts))
    return whole


def delimited_parts(
    stream: IO[bytes],
    source: str,
    *,
    separator: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    missing: Collection[str] = (),
    categorical: Collection[str] = (),
    index: bool | None = None,
) -> Iterator[Table]:
    """The same table, some rows after the other.

    Parameters
    ----------
    stream, source, separator, header, encoding, missing, categorical
        As in `read_delimited`.
    index : bool or None, default=None
        Whether a first column without a name counts the rows and is left out; None means if it counts those of the
        first part.

    Yields
    ------
    Table
        A column that has texts in one part has them in all later ones; one without any value so far is of NaN.
    """
    lines = text_lines(stream, source, encoding)
    first = list(islice(lines, FIRST_LINES))
    if not any(text.strip() for _, text in first):
        raise NoRows(f"{source}: the file is empty.")
    separator = (
        found_separator([text for _, text in first if text.strip()]) if separator is None else separator
    )
    rows = _rows(chain(first, lines), source, separator)
    line, top = next(rows, (0, []))
    if not top:  # nothing but quoted blanks
        raise NoRows(f"{source}: the file is empty.")
    words = MISSING | {word.strip().lower() for word in missing}
    cells = _Cells(words, decimal_comma=separator != ",")
    if header is None:
        header = not any(cells.is_number(cell) for cell in top)
    names = _names(top, source, line) if header else tuple(f"x{j}" for j in range(len(top)))
    unknown = [name for name in categorical if name not in names]
    if unknown:
        raise wrong(source, line, f"there is no column {quoted(unknown[0])}; there are {some(names)}.")
    columns = [_Column(name, cells, name in categorical) for name in names]
    may_be_index = header and not top[0].strip() and len(names) > 2
    body = rows if header else chain([(line, top)], rows)
    step = max(1, min(ROWS_AT_A_TIME, CELLS_AT_A_TIME // len(names)))
    empty = True
    while chunk := list(islice(body, step)):
        empty = False
        numbers = np.array([number for number, _ in chunk])
        cut = zip(*(row for _, row in chunk), strict=True)
        values = tuple(column.add(texts, numbers, source) for column, texts in zip(columns, cut, strict=True))
        if index is None:
            index = may_be_index and _counts(values[0])
        left_out = bool(index and may_be_index)
        table = Table(
            source, names, values, Places(numbers), frozenset(categorical), bool(header), left_out
        )  # fmt: skip
        yield table.without(names[0]) if left_out else table
    if empty:
        raise NoRows(f"{source}, line {line:,}: there is a header and nothing below it.")


def found_separator(lines: list[str]) -> str:
    """The separator that gives every line the same number of fields, and the most of them; a space, if no other does.

    Examples
    --------
    >>> found_separator(["a;b;c", "1,5;2;3"]), found_separator(["a , b", "1 , 2"]), found_separator(["a b", "1 2"])
    (';', ',', ' ')
    """
    best, most = ",", (False, 1)
    for separator in SEPARATORS:
        if separator == " " and most[0]:
            break
        try:
            found = [len(row) for row in _parsed(iter(lines), separator) if row]
        except csv.Error:
            continue
        if not found:
            continue
        agrees = min(found) == max(found) > 1
        if (agrees, found[0]) > most:
            best, most = separator, (agrees, found[0])
    return best


def _parsed(lines: Iterator[str], separator: str) -> Any:
    if separator == " ":
        return csv.reader((line.strip() for line in lines), delimiter=" ", skipinitialspace=True, strict=True)
    return csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)


def _rows(lines: Iterable[tuple[int, str]], source: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The rows, blank ones left out, each with the line it ends in; all of the same length."""
    if len(separator) != 1:
        raise wrong(source, None, f"the separator must be one character, not {separator!r}.")
    at = 0

    def counted() -> Iterator[str]:
        nonlocal at
        for number, text in lines:
            at = number
            yield text

    width, first = 0, 0
    reader = _parsed(counted(), separator)
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            why = f"({error}); is a quote left open?"
            if "new-line" in str(error):
                why = "because of a carriage return within it: save the file with a line feed at each line's end."
            raise wrong(source, at, f"the line cannot be read {why}") from None
        if not row or (len(row) == 1 and not row[0].strip()):  # a blank line
            continue
        if not width:
            width, first = len(row), at
        if len(row) != width:
            raise wrong(
                source, at,
                f"the line has {count(len(row), 'field')}, but line {first} has {width}; the separator is "
                f"{SEPARATORS.get(separator, repr(separator))}.",
            )  # fmt: skip
        yield at, row


def _names(top: list[str], source: str, line: int) -> tuple[str, ...]:
    names = [cell.strip() or f"column {j + 1}" for j, cell in enumerate(top)]
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise wrong(
                source, line, f"two columns have the name {quoted(name)}: give each a name of its own."
            )
        seen.add(name)
    return tuple(names)


def _counts(values: Array) -> bool:
    """Whether a column counts the rows: without a name it is then not part of the data."""
    if values.dtype.kind != "f":
        return False
    return bool(np.array_equal(values, np.arange(len(values)) + values[0]) and values[0] in (0, 1))


class _Cells:
    """What a cell means."""

    def __init__(self, missing: Collection[str], *, decimal_comma: bool) -> None:
        self.missing = missing
        self.decimal_comma = decimal_comma
        # -999 for instance; NaN is one anyway
        self.numbers_missing = any(
            self.is_number(word) and self.number(word) == self.number(word) for word in missing
        )

    def is_missing(self, cell: str) -> bool:
        return cell.strip().lower() in self.missing

    def number(self, cell: str) -> float:
        """The number, or ValueError."""
        cell = (
            cell.strip()
        )  # of more than float does: a text '9' must not come out of a cell that is no number
        try:
            return float(cell)
        except ValueError:
            if self.decimal_comma and cell.count(",") == 1:
                return float(cell.replace(",", "."))
            raise

    def is_number(self, cell: str) -> bool:
        try:
            self.number(cell)
        except ValueError:
            return False
        return True


def _plain_numbers(values: tuple[str, ...]) -> Array | None:
    """All cells as numbers, if that is what they are."""
    try:
        return np.array(values, dtype=np.float64)
    except ValueError:
        return None


class _Column:
    """A column that is read on: of numbers or of texts, never of both."""

    def __init__(self, name: str, cells: _Cells, told: bool) -> None:
        self.name, self.cells = name, cells
        self.texts: bool | None = True if told else None
        self.told = told

    def add(self, values: tuple[str, ...], lines: Array, source: str) -> Array:
        """The values of some more cells, and the lines they stand in."""
        part = None if self.texts or self.cells.numbers_missing else _plain_numbers(values)
        if part is None:
            part = self._slowly(values, lines, source)
        else:
            self.texts = False
        if part.dtype.kind == "f" and np.isinf(part).any():
            at = int(np.argmax(np.isinf(part)))
            raise wrong(
                source,
                int(lines[at]),
                f"column {quoted(self.name)} has an infinite number, {quoted(values[at])}.",
            )
        return part

    def _slowly(self, values: tuple[str, ...], lines: Array, source: str) -> Array:
        """Cell by cell: some are missing, or texts."""
        missing = np.array([self.cells.is_missing(cell) for cell in values])
        if not self.told:
            self._decide(values, missing, lines, source)
        if self.texts:
            once: dict[str, str] = {}  # columns repeat their texts; Python's own table may never forget one
            part = np.array([once.setdefault(text, text) for text in map(str.strip, values)], dtype=object)
            part[missing] = None
            return part
        number = self.cells.number
        return np.array([np.nan if no else number(cell) for no, cell in zip(missing, values, strict=True)])

    def _decide(self, values: tuple[str, ...], missing: Array, lines: Array, source: str) -> None:
        """Numbers or texts; a mixture is a mistake in the file, or has to be said to be none."""
        known = np.flatnonzero(~missing)
        if not len(known):
            return
        numeric = np.array([self.cells.is_number(values[j]) for j in known])
        if self.texts is None:
            self.texts = bool(numeric.mean() < 0.5)  # the fewer are the odd ones
        odd = numeric if self.texts else ~numeric
        if odd.any():
            at = int(known[int(np.argmax(odd))])
            cell = values[at].strip()[:60]
            among = "a number among texts" if self.texts else "no number, as others of the column are"
            raise wrong(
                source, int(lines[at]),
                f"column {quoted(self.name)} has {quoted(cell)}, {among}. If that stands for a missing value, add "
                f"--missing {quoted(cell)}; if the column holds categories, add --categorical {quoted(self.name)}.",
            )  # fmt: skip
