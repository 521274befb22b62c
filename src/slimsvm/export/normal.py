"""The normal distribution function by exponentials and a polynomial, where there is no other.

With a = |z| / sqrt(2), the tail beyond |z| is exp(-a^2) erfcx(a) / 2, and (1 + 2 a) erfcx(a) is smooth in
t = (a - 3) / (a + 3): a polynomial has it to 1e-14.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import erfcx

from ..rows import Array

ERFCX_DEGREE = 20
ERFCX_MIDDLE = 3.0


@cache
def erfcx_polynomial() -> Array:  # (degree + 1,)
    """Coefficients of (1 + 2 a) erfcx(a) in powers of t = (a - middle) / (a + middle), for a >= 0."""

    def values(t: Array) -> Array:
        a = ERFCX_MIDDLE * (1 + t) / (1 - t)
        return (1 + 2 * a) * erfcx(a)

    series = np.polynomial.Chebyshev.interpolate(values, ERFCX_DEGREE)
    return np.asarray(series.convert(kind=np.polynomial.Polynomial).coef)
