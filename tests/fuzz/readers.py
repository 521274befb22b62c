"""What must hold for any bytes that a reader is given: the checks of the fuzzer and of the kept inputs.

Each check takes bytes and returns quietly: they were refused in one sentence of a documented class, or they are a model
or a table that keeps its promises. Anything else is raised. Time is that of the processor.
"""

from __future__ import annotations

import csv
import io
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import file_attacks as attacks
from slimsvm import ModelFormatError, from_libsvm
from slimsvm.errors import DataFormatError
from slimsvm.persistence.container import header_of
from slimsvm.persistence.files import content_for, estimator_from
from slimsvm.reading.delimited import read_delimited
from slimsvm.reading.svmlight import read_svmlight

# For an input of a few kilobytes.
MOST_SECONDS = 5.0
# What an input may take: so much whatever its size, and so many times its size. A cell of two characters in a table
# becomes a text of about 60 bytes and a reference to it.
LEAST_BYTES, MANY_TIMES = 2**21, 200


class Broken(AssertionError):
    """A promise that does not hold."""


def promise(holds: bool, text: str) -> None:
    """Say which promise is broken."""
    if not holds:
        raise Broken(text)


@contextmanager
def bounded(data: bytes) -> Iterator[None]:
    """No more time than a few seconds and no more memory than a small multiple of the input."""
    tracing = tracemalloc.is_tracing()
    if not tracing:
        tracemalloc.start(1)
    tracemalloc.reset_peak()
    before, start = tracemalloc.get_traced_memory()[0], time.process_time()
    try:
        yield
        seconds, taken = time.process_time() - start, tracemalloc.get_traced_memory()[1] - before
    finally:
        if not tracing:
            tracemalloc.stop()
    promise(seconds < MOST_SECONDS, f"{len(data)} bytes took {seconds:.1f} s")
    promise(taken < LEAST_BYTES + MANY_TIMES * len(data), f"{len(data)} bytes took {taken} bytes of memory")


def outcome(read: Callable[[], Any], data: bytes, refusal: type[Exception]) -> Any:
    """What was read, or None where it was refused in one sentence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with bounded(data):
            try:
                return read()
            except refusal as error:
                said = str(error)
    promise(said.endswith(".") or said.endswith("?"), f"no sentence: {said!r}")
    promise(len(said) < 1000, f"{len(said)} letters in a message")
    promise("\n" not in said, f"a message of several lines: {said!r}")
    return None


def check_model(data: bytes) -> None:
    """`slimsvm.load` and `slimsvm.inspect` of a file that states the hash it has."""
    content = attacks.with_hash(data)

    def read() -> Any:
        with attacks.nothing_is_imported_or_unpickled():
            return estimator_from(content, "the file")

    model = outcome(read, data, ModelFormatError)
    if model is not None:
        with np.errstate(all="ignore"):
            attacks.check_consistent(model)
        _check_saved(model)
    with _as_file(content) as path:
        described = outcome(lambda: header_of(path), data, ModelFormatError)
    promise(model is None or described is not None, "a model whose header cannot be read")


def check_libsvm(data: bytes) -> None:
    """`from_libsvm`, and the reader of LIBSVM's data files."""
    if not data.startswith(b"svm_type"):
        _check_svmlight(data)
        return
    with _as_file(data) as path:
        model = outcome(lambda: from_libsvm(path), data, ModelFormatError)
    if model is not None:
        with np.errstate(all="ignore"):
            attacks.check_consistent(model)
        _check_saved(model)


def _check_svmlight(data: bytes) -> None:
    found = outcome(lambda: read_svmlight(io.BytesIO(data), "the file"), data, DataFormatError)
    if found is None:
        return
    X, y = found.X, found.y
    promise(X.shape[0] == len(y) == len(found) > 0, "rows and labels differ in number")
    promise(bool(np.isfinite(X.data).all() and np.isfinite(y).all()), "a number that is not finite")
    promise(X.has_canonical_format, "indices that do not rise")
    promise(X.nnz == 0 or (X.indices.min() >= 0 and X.indices.max() < X.shape[1]), "an index out of range")
    text = "\n".join(
        " ".join(
            [
                repr(float(label)),
                *(f"{j}:{float(value)!r}" for j, value in zip(row.indices, row.data, strict=True)),
            ]
        )
        for label, row in ((y[i], X[[i]]) for i in range(len(y)))
    )
    again = read_svmlight(io.BytesIO((text + "\n").encode()), "the file")
    first = 0 if X.nnz == 0 or X.indices.min() == 0 else 1  # rows without an index 0 begin with column 1
    promise(np.array_equal(again.y, y), "other labels when written and read again")
    promise(np.array_equal(again.X.data, X.data), "other values when written and read again")
    promise(np.array_equal(again.X.indices + first, X.indices), "other columns when written and read again")


def check_table(data: bytes) -> None:
    """The reader of CSV and other text; the first byte says with which options."""
    option = data[0] if data else 0
    data = data[1:]
    options: dict[str, Any] = {
        "separator": [None, None, None, ",", ";", "\t", "|", " "][option & 7],
        "header": [None, None, True, False][option >> 3 & 3],
        "missing": () if option >> 5 & 1 else ("-999", "none"),
    }
    if option >> 6 & 1:
        options["categorical"] = ("a",)
    if option >> 7 & 1:
        options["encoding"] = "latin-1"
    table = outcome(lambda: read_delimited(io.BytesIO(data), "the file", **options), data, DataFormatError)
    if table is None:
        return
    promise(len(set(table.names)) == len(table.names) > 0, "columns of one name")
    promise(all(len(values) == len(table) > 0 for values in table.values), "columns of different length")
    for name, values in zip(table.names, table.values, strict=True):
        if values.dtype.kind == "f":
            promise(not np.isinf(values).any(), f"an infinite number in {name!r}")
        else:
            promise(
                all(cell is None or isinstance(cell, str) for cell in values),
                f"{name!r} is no column of texts",
            )
    if len(table.names) > 1 and options["header"] is not False:
        _check_written(table, options)


def _check_written(table: Any, options: dict[str, Any]) -> None:
    """A table that is written as CSV and read again is the same."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerow(table.names)
    for cells in zip(*table.values, strict=True):
        writer.writerow([_written(cell) for cell in cells])
    told = tuple(name for name in options.get("categorical", ()) if name in table.names)
    again = read_delimited(
        io.BytesIO(text.getvalue().encode()), "the file", separator=",", header=True, missing=options["missing"],
        categorical=told,
    )  # fmt: skip
    promise(again.names == table.names, f"other names: {again.names} and {table.names}")
    for name, one, other in zip(table.names, table.values, again.values, strict=True):
        known = one == one if one.dtype.kind == "f" else np.array([cell is not None for cell in one])
        if not known.any():
            continue  # numbers or texts: nobody can tell
        same = (
            np.array_equal(one, other, equal_nan=True) if one.dtype.kind == "f" else list(one) == list(other)
        )
        promise(bool(same), f"column {name!r} is another when written and read again")


def _written(cell: Any) -> str:
    """A cell as text, a missing one as none."""
    if isinstance(cell, str):
        return cell
    return "" if cell is None or cell != cell else repr(float(cell))


def _check_saved(model: Any) -> None:
    """What was read can be saved, and is the same when it is loaded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        content = content_for(model)  # loads it once and compares
        promise(
            content_for(estimator_from(content, "the file")) == content, "saved again, it is another file"
        )


@contextmanager
def _as_file(content: bytes) -> Iterator[Path]:
    with tempfile.NamedTemporaryFile(suffix=".model") as file:
        file.write(content)
        file.flush()
        yield Path(file.name)


CHECKS = {"models": check_model, "libsvm": check_libsvm, "tables": check_table}
