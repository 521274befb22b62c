"""The library's own exceptions; Python's and scikit-learn's are used where users expect them."""


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
