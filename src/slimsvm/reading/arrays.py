"""NumPy's and Parquet's files."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..rows import Array
from ..words import quoted, size_in_words, some
from .table import NoRows, Table, UnnamedRows, wrong

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
        raise wrong(source, None, f"there is no array X; there are {some(names) or 'none'}.")
    X, y = found["X"], found.get("y")
    if X.ndim != 2 or (y is not None and (y.ndim != 1 or len(y) != len(X))):
        shapes = f"{X.shape} and {None if y is None else y.shape}"
        raise wrong(source, None, f"X must have the shape (rows, columns) and y (rows,), not {shapes}.")
    return UnnamedRows(source, X, y)


class Header(NamedTuple):
    """What a NumPy file says of its array."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: Any

    @property
    def n_bytes(self) -> int:
        """Bytes of the array."""
        return int(np.prod([*map(int, self.shape), self.dtype.itemsize], dtype=object))


def array_header(file: Any, size: int, source: str) -> Header:
    """The header, which must promise no more than the file has; nothing is unpickled."""
    try:
        version = np.lib.format.read_magic(file)
        read = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        header = Header(*read(file))
    except (ValueError, EOFError) as error:
        raise wrong(source, None, f"this is no NumPy file ({error}).") from None
    dtype = header.dtype
    if dtype.kind not in ("fiub" if len(header.shape) == 2 else "fiubU"):
        able = (
            "numbers can be read" if dtype.kind == "U" else "numbers and texts can be read, objects never are"
        )
        raise wrong(source, None, f"the array is of {dtype}; {able}.")
    if header.n_bytes > size:
        raise wrong(
            source, None, f"the header promises {size_in_words(header.n_bytes)}, more than there are."
        )
    return header


def array_bytes(file: Any, needed: int, source: str) -> bytes:
    """The next bytes of an array."""
    content: bytes = file.read(needed)
    if len(content) < needed:
        raise wrong(
            source, None, f"the file ends after {size_in_words(len(content))} of {size_in_words(needed)}."
        )
    return content


def usable(array: Array, source: str, first: int = 0) -> Array:
    """Numbers of a table in floating point, all finite; the first row is the one of this number."""
    if array.dtype.kind in "iub" and array.ndim == 2:
        array = array.astype(np.float64)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        row = first + int(np.argwhere(~np.isfinite(array))[0][0])
        raise wrong(source, None, f"row {row} has a number that is not finite.")
    return array


def _array(file: Any, size: int, source: str) -> Array:
    shape, fortran, dtype = header = array_header(file, size, source)
    if header.n_bytes > MOST_BYTES:
        raise wrong(
            source, None, f"the array has {size_in_words(header.n_bytes)}, too many to be read at once."
        )
    array = np.frombuffer(array_bytes(file, header.n_bytes, source), dtype=dtype)
    return usable(array.reshape(shape[::-1]).T if fortran else array.reshape(shape), source)


def read_parquet(path: Path, source: str, categorical: frozenset[str] = frozenset()) -> Table:
    """Columns of numbers, truth values and texts."""
    pa, parquet = pyarrow(source)
    try:
        found = parquet.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise wrong(source, None, f"the file cannot be read ({str(error).splitlines()[0]}).") from None
    return table_of(found, source, categorical)


def pyarrow(source: str) -> tuple[Any, Any]:
    """The package that reads Parquet files."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as parquet
    except ImportError:
        raise wrong(
            source,
            None,
            "Parquet files need the package pyarrow: pip install pyarrow, or save the table as CSV.",
        ) from None
    return pa, parquet


def table_of(found: Any, source: str, categorical: frozenset[str], first: int = 0) -> Table:
    """A table or a batch of Arrow's as ours; the first row is the one of this number."""
    names: list[str] = []
    values, told = [], set(categorical)
    for name, column in zip(found.schema.names, found.columns, strict=True):
        if name in names:
            raise wrong(
                source, None, f"two columns have the name {quoted(name)}: give each a name of its own."
            )
        names.append(name)
        array, of_categories = _parquet_column(column, name, source, first)
        values.append(array)
        if of_categories:
            told.add(name)
    if not names or not len(values[0]):
        raise NoRows(f"{source}: there are no rows.")
    return Table(source, tuple(names), tuple(values), told=frozenset(told))


def _parquet_column(column: Any, name: str, source: str, first: int) -> tuple[Array, bool]:
    """Values, and whether the file says that they are categories."""
    import pyarrow as pa

    kind, told = column.type, False
    if pa.types.is_dictionary(kind):
        told = True
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan), told
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        plain = column.cast(pa.float64(), safe=False)  # very large whole numbers are rounded
        numbers = np.array(
            plain.to_numpy(zero_copy_only=False) if isinstance(plain, pa.Array) else plain.to_numpy()
        )
        if np.isinf(numbers).any():
            row = first + int(np.argmax(np.isinf(numbers)))
            raise wrong(source, None, f"column {quoted(name)} has an infinite number in row {row}.")
        return numbers, told
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return np.array(column.to_pylist(), dtype=object), told
    raise wrong(
        source, None, f"column {quoted(name)} is of {kind}; numbers, truth values and texts can be used."
    )
