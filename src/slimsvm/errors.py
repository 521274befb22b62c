"""The library's own exceptions, and warnings that point at the user's line.

Python's and scikit-learn's exceptions are used where users expect them.
"""

from __future__ import annotations

import sys
import warnings


class SlimsvmError(Exception):
    """Base class of every exception this library defines."""


class DataFormatError(SlimsvmError, ValueError):
    """A data file is missing, altered or not what its name promises."""


class ModelFormatError(SlimsvmError, ValueError):
    """A stored model is incomplete or its parts do not fit together."""


class BudgetError(SlimsvmError, ValueError):
    """No model fits within the limits that were set, or the limits make no sense."""


class LongFitWarning(UserWarning):
    """What lies ahead likely takes more than ten minutes; the text has the estimate and what to do instead."""


def check_version(version: object, newest: int, what: str) -> None:
    """Refuse a stored value of another format version than this release has."""
    if version != newest:
        raise ModelFormatError(
            f"{what} has format version {version!r}, this release reads version {newest}; a newer slimsvm may read it."
        )


def warn_user(text: str, kind: type[Warning]) -> None:
    """Warn of something in the line that called the library, however deep in it, or in scikit-learn, it was found."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (
        "slimsvm",
        "sklearn",
        "contextlib",
    ):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, kind, stacklevel=level)
