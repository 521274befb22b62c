"""Models from files: our own, LIBSVM's, and pickles where that was allowed."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

from ..adapters.libsvm import from_libsvm
from ..adapters.whole import as_model
from ..errors import ModelFormatError
from ..model import Model
from ..persistence.files import load
from .output import Output

# How LIBSVM's model files begin, and pickles of protocol 2 and later.
LIBSVM_STARTS, PICKLE_START = (b"svm_type", b"kernel_type"), b"\x80"


def start_of(path: Path) -> bytes:
    """The first bytes of a model file."""
    try:
        with path.open("rb") as file:
            return file.read(16)
    except OSError as error:
        raise ModelFormatError(f"{path}: the file cannot be opened ({error.strerror or error}).") from None


def fitted_model(path: Path, *, allow_pickle: bool, say: Output) -> Any:
    """The fitted estimator of a file."""
    start = start_of(path)
    if start.startswith(LIBSVM_STARTS):
        return from_libsvm(path)
    ours = start[4:9] == b"\0\0\0\0{"  # the end of a header's length, and its beginning
    if (start.startswith(PICKLE_START) and not ours) or path.suffix.lower() in (".pkl", ".pickle", ".joblib"):
        if not allow_pickle:
            raise ModelFormatError(
                f"{path} is a pickle, which can run any program when it is read. If you made it yourself, add "
                "--allow-pickle."
            )
        say.say(f"Note: {path} is a pickle: reading it runs what is in it.")
        return _unpickled(path)
    return load(path)


def whole_model(path: Path, *, allow_pickle: bool, say: Output) -> Model:
    """The model of a file as a value."""
    found = fitted_model(path, allow_pickle=allow_pickle, say=say)
    try:
        return as_model(found)
    except (TypeError, ValueError) as error:
        raise ModelFormatError(f"{path}: {error}") from None


def _unpickled(path: Path) -> Any:
    import joblib

    try:
        return joblib.load(path)
    except (
        pickle.UnpicklingError,
        EOFError,
        AttributeError,
        ImportError,
        KeyError,
        ValueError,
        IndexError,
    ) as error:
        raise ModelFormatError(
            f"{path}: the pickle cannot be read ({type(error).__name__}: {error})."
        ) from None
