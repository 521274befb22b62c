"""Numbers in messages, as people write them."""

from __future__ import annotations


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
