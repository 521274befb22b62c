"""What a description may say: each function gives the value back as what it should be, or refuses."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Any

from ..errors import ModelFormatError


def table(value: Any, what: str, required: Iterable[str], optional: Iterable[str] = ()) -> dict[str, Any]:
    """A JSON object with these keys and no others."""
    value, required = mapping(value, what), tuple(required)
    missing = [key for key in required if key not in value]
    if missing:
        raise ModelFormatError(f"{what} lacks the entry {missing[0]!r}.")
    unknown = [key for key in value if key not in required and key not in tuple(optional)]
    if unknown:
        raise ModelFormatError(f"{what} has the entry {unknown[0][:60]!r}, which is unknown.")
    return value


# Of what is quoted from a file or another error.
MOST_LETTERS = 200


def said(error: BaseException) -> str:
    """What an error says, in one line that is not too long."""
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return f"{text[:MOST_LETTERS]}..." if len(text) > MOST_LETTERS else f"{text}."


def mapping(value: Any, what: str) -> dict[str, Any]:
    """A JSON object."""
    if not isinstance(value, dict):
        raise ModelFormatError(f"{what} is not a JSON object.")
    return value


def listed(value: Any, what: str, length: int | None = None) -> list[Any]:
    """A JSON list, of this length."""
    if not isinstance(value, list) or (length is not None and len(value) != length):
        wanted = "a list" if length is None else f"a list of {length}"
        raise ModelFormatError(f"{what} is not {wanted}.")
    return value


def whole(value: Any, what: str, least: int = 0, most: int = 2**31 - 1) -> int:
    """A whole number in these limits."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ModelFormatError(f"{what} is not a whole number from {least} to {most}.")
    return value


def number(value: Any, what: str) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1.8e308:
        raise ModelFormatError(f"{what} is not a finite number.")
    if not math.isfinite(value):
        raise ModelFormatError(f"{what} is not a finite number.")
    return float(value)


def flag(value: Any, what: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ModelFormatError(f"{what} is neither true nor false.")
    return value


def is_unicode(text: str) -> bool:
    """Whether a text can be written: JSON can also say half of a pair of surrogates."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def text(value: Any, what: str, among: Collection[str] | None = None) -> str:
    """A text, one of these."""
    if not isinstance(value, str) or not is_unicode(value):
        raise ModelFormatError(f"{what} is not a text.")
    if among is not None and value not in among:
        known = f"none of {', '.join(sorted(among))}" if len(among) < 10 else "unknown"
        raise ModelFormatError(f"{what} is {value[:60]!r}, which is {known}.")
    return value
