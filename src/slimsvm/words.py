"""Words in messages."""

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
