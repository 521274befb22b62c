"""What a fit says of its search, in words that need no knowledge of it."""

from __future__ import annotations

from collections.abc import Sequence

from ...words import count

# The metrics as users know them; "fixed" and "one" are both metric="one".
METRICS = {
    "fixed": "one width",
    "one": "one width, learnt",
    "per_feature": "a width for each feature",
    "linear": "a projection",
}


def reached(value: float, *, classify: bool, scored: bool = False) -> str:
    """What a model has reached on rows held out.

    Parameters
    ----------
    value : float
        Share of mistakes, or of the variance that is left; with `scored` the score, less than zero.

    Examples
    --------
    >>> reached(0.1433, classify=True), reached(0.493, classify=False)
    ('14.3 % wrong', 'R² 0.507')
    """
    if scored:
        return f"score {-value:.4g}"
    return f"{100 * value:.1f} % wrong" if classify else f"R² {1 - value:.3f}"


def why(sizes: Sequence[int], found: Sequence[str], at: int, best: int, most: int) -> str:
    """Why a size was chosen.

    Parameters
    ----------
    sizes : sequence of int
        That were tried.
    found : sequence of str
        What each has reached.
    at, best : int
        Places of the chosen one and of the best.
    most : int
        The most vectors that are allowed.

    Examples
    --------
    >>> why([1, 2, 4, 8], ["20 % wrong", "9 % wrong", "5 % wrong", "4.9 % wrong"], 2, 3, 512)
    '5 % wrong, not noticeably more than the best, 8 vectors with 4.9 % wrong'
    """
    if sizes[at] == most:
        return f"{found[at]}; no more vectors are allowed"
    if at == best:
        return f"{found[at]}, the best that was tried"
    less = "less" if found[at].startswith(("R²", "score")) else "more"
    return (
        f"{found[at]}, not noticeably {less} than the best, {count(sizes[best], 'vector')} with {found[best]}"
    )
