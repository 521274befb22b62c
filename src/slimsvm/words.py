"""Numbers, names and values in messages, as people write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# Letters of a name or value that a message quotes; names that it lists, and about how many letters of them.
MOST_LETTERS, MOST_NAMES, MOST_LIST = 60, 20, 300


def count(n: float, thing: str, number: str = "d") -> str:
    """So many things, one of them in the singular.

    Parameters
    ----------
    n : int or float
    thing : str
    number : str, default="d"
        How the number is written, as in `format`.

    Examples
    --------
    >>> count(1, "vector"), count(2, "vector"), count(1234.4, "vector", ",.0f")
    ('1 vector', '2 vectors', '1,234 vectors')
    """
    written = format(n, number)
    return f"{written} {thing}" if written == "1" else f"{written} {thing}s"


def size_in_words(n_bytes: int) -> str:
    """A size of memory: 1 kB is 1,024 bytes.

    Examples
    --------
    >>> size_in_words(800), size_in_words(9114), size_in_words(3 * 2**20)
    ('800 bytes', '8.9 kB', '3.0 MB')
    """
    if n_bytes < 1024:
        return count(n_bytes, "byte")
    for unit in ("kB", "MB"):
        n_bytes /= 1024  # type: ignore[assignment]
        if n_bytes < 1024:
            return f"{n_bytes:.1f} {unit}"
    return f"{n_bytes / 1024:.1f} GB"


def quoted(value: Any) -> str:
    r"""A name or value in quotation marks: in one line, and its beginning alone where it is long.

    Examples
    --------
    >>> print(quoted("two\nlines"), quoted(1.5), quoted("a" * 1000))
    'two\nlines' 1.5 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'
    """
    if isinstance(value, str) and len(value) > MOST_LETTERS:
        value = value[:MOST_LETTERS] + "..."
    return repr(value)


def some(names: Sequence[str]) -> str:
    """The first of many names, in one line.

    Examples
    --------
    >>> some(["a", "b"]), some(["a"] * 21)[-9:]
    ('a, b', 'a, a, ...')
    """
    written: list[str] = []
    for name in names[:MOST_NAMES]:
        if sum(map(len, written)) < MOST_LIST:
            written.append(name if len(name) <= MOST_LETTERS and name.isprintable() else quoted(name))
    return ", ".join(written) + (", ..." if len(names) > len(written) else "")
