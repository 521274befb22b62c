"""Numbers in messages, as people write them."""

from __future__ import annotations


def count(number: int, noun: str) -> str:
    """A number and its noun, in the plural where it is due.

    Examples
    --------
    >>> count(1, "vector"), count(30, "vector")
    ('1 vector', '30 vectors')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


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
