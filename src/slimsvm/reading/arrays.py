"""NumPy's and Parquet's files."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from ..rows import Array
from ..words import size_in_words
from .table import Table, UnnamedRows, wrong

MOST_BYTES = 2**33


def read_npy(path: Path, source: str) -> UnnamedRows:
    """An array of two dimensions; the last column is the target unless another is named."""
    with path.open("rb") as file:
        array = _array(file, path.stat().st_size, source)
    if array.ndim != 2:
        raise wrong(source, None, f"the array has {array.ndim} dimensions; a table has two.")
    return UnnamedRows(source, array)


def read_npz(path: Path, source: str) -> UnnamedRows:
    """Arrays X and y, or an array X alone."""
    try:
        with zipfile.ZipFile(path) as members:
            found = {}
            for member in members.infolist():
                name = member.filename.removesuffix(".npy")
                if name in ("X", "y"):
                    with members.open(member) as file:
                        found[name] = _array(file, member.file_size, f"{source}, array {name}")
            names = [member.filename.removesuffix(".npy") for member in members.infolist()]
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError) as error:
        raise wrong(source, None, f"the file cannot be read ({error}).") from None
    if "X" not in found:
        raise wrong(source, None, f"there is no array X; there are {', '.join(names[:20]) or 'none'}.")
    X, y = found["X"], found.get("y")
    if X.ndim != 2 or (y is not None and (y.ndim != 1 or len(y) != len(X))):
        shapes = f"{X.shape} and {None if y is None else y.shape}"
        raise wrong(source, None, f"X must have the shape (rows, columns) and y (rows,), not {shapes}.")
    return UnnamedRows(source, X, y)


def _array(file: Any, size: int, source: str) -> Array:
    """An array whose header promises no more than the file has; nothing is unpickled."""
    try:
        version = np.lib.format.read_magic(file)
        read = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, fortran, dtype = read(file)
    except (ValueError, EOFError) as error:
        raise wrong(source, None, f"this is no NumPy file ({error}).") from None
    needed = int(np.prod([*map(int, shape), dtype.itemsize], dtype=object))
    if dtype.kind not in "fiubU":
        raise wrong(
            source, None, f"the array is of {dtype}; numbers and texts can be read, objects never are."
        )
    if needed > size or needed > MOST_BYTES:
        raise wrong(source, None, f"the header promises {size_in_words(needed)}, more than there are.")
    content = file.read(needed)
    if len(content) < needed:
        raise wrong(
            source, None, f"the file ends after {size_in_words(len(content))} of {size_in_words(needed)}."
        )
    array = np.frombuffer(content, dtype=dtype)
    array = array.reshape(shape[::-1]).T if fortran else array.reshape(shape)
    if dtype.kind in "iub" and array.ndim == 2:
        array = array.astype(np.float64)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        row = int(np.argwhere(~np.isfinite(array))[0][0])
        raise wrong(source, None, f"row {row} has a number that is not finite.")
    return array


def read_parquet(path: Path, source: str, categorical: frozenset[str] = frozenset()) -> Table:
    """Columns of numbers, truth values and texts."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as parquet
    except ImportError:
        raise wrong(
            source,
            None,
            "Parquet files need the package pyarrow: pip install pyarrow, or save the table as CSV.",
        ) from None
    try:
        found = parquet.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise wrong(source, None, f"the file cannot be read ({str(error).splitlines()[0]}).") from None
    names, values, told = [], [], set(categorical)
    for name, column in zip(found.column_names, found.columns, strict=True):
        if name in names:
            raise wrong(source, None, f"two columns have the name {name!r}: give each a name of its own.")
        kind = column.type
        if pa.types.is_dictionary(kind):
            told.add(name)
            column = column.cast(kind.value_type)
            kind = column.type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
            numbers = np.array([np.nan if x is None else float(x) for x in column.to_pylist()])
            if np.isinf(numbers).any():
                raise wrong(
                    source,
                    None,
                    f"column {name!r} has an infinite number in row {int(np.argmax(np.isinf(numbers)))}.",
                )
            values.append(numbers)
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
            values.append(np.array(column.to_pylist(), dtype=object))
        else:
            raise wrong(
                source, None, f"column {name!r} is of {kind}; numbers, truth values and texts can be used."
            )
        names.append(name)
    if not names or not len(values[0]):
        raise wrong(source, None, "there are no rows.")
    return Table(source, tuple(names), tuple(values), told=frozenset(told))
