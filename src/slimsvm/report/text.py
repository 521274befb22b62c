"""Numbers as people read them."""

from __future__ import annotations

import math
from typing import Any


def share(value: float, digits: int = 1) -> str:
    """A share in percent.

    Examples
    --------
    >>> share(0.87931), share(1.0)
    ('87.9 %', '100.0 %')
    """
    return f"{100 * value:.{digits}f} %"


def short(value: Any, digits: int = 4) -> str:
    """A number with so many digits that count, others as they are.

    Examples
    --------
    >>> short(1234567.0), short(0.000123456), short(3.14159), short(12), short("red")
    ('1,234,567', '0.0001235', '3.142', '12', 'red')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if not math.isfinite(value):
        return str(value)
    if value == round(value) and abs(value) < 1e9:
        return f"{value:,.0f}"
    if abs(value) >= 1000:
        return f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.3e}"
    return f"{value:.{digits}g}"


def factor(ratio: float) -> str:
    """How many times, with one digit after the point below ten.

    Examples
    --------
    >>> factor(2.345), factor(130.2)
    ('2.3', '130')
    """
    return f"{ratio:.1f}" if ratio < 10 else f"{ratio:,.0f}"
