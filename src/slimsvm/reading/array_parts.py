"""NumPy's and Parquet's files some rows at a time.

They are read, not mapped: pages of a mapped file count as memory of the process until the system takes them back.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from ..chunks.blocks import CHUNK_BYTES
from ..rows import Array
from ..words import size_in_words, some
from .arrays import Header, array_bytes, array_header, pyarrow, read_npz, table_of, usable
from .table import NoRows, Places, Table, UnnamedRows, wrong

# An array in an NPZ file that is stored column by column has its rows all over the file, which cannot be gone through
# backwards: up to so many bytes it is read as a whole.
MOST_BYTES_BY_COLUMNS = 2**29


def rows_a_part(width: int) -> int:
    """Rows that make about 16 MB of numbers."""
    return max(1, CHUNK_BYTES // (8 * max(1, width)))


def npy_parts(path: Path, source: str, start: int = 0, stop: int | None = None) -> Iterator[UnnamedRows]:
    """Rows of an NPY file.

    Parameters
    ----------
    path : Path
    source : str
        The file, as messages call it.
    start, stop : int or None
        The first row, and the one after the last; None means all.
    """
    with path.open("rb") as file:
        header = array_header(file, path.stat().st_size, source)
        n, d = _shape(header, source)
        begin, step = file.tell(), rows_a_part(d)
        for first in range(start, n if stop is None else stop, step):
            last = min(first + step, n if stop is None else stop)
            array = _rows(file, header, begin, first, last, source)
            yield UnnamedRows(source, usable(array, source, first), None, _counted(first, last))


def npy_rows(path: Path, source: str) -> tuple[int, int]:
    """Rows and columns of an NPY file."""
    with path.open("rb") as file:
        return _shape(array_header(file, path.stat().st_size, source), source)


def _shape(header: Header, source: str) -> tuple[int, int]:
    if len(header.shape) != 2:
        raise wrong(source, None, f"the array has {len(header.shape)} dimensions; a table has two.")
    if not header.shape[0]:
        raise NoRows(f"{source}: there are no rows.")
    n, d = header.shape
    return int(n), int(d)


def _counted(first: int, last: int) -> Places:
    return Places(np.arange(first, last), "row")


def _rows(file: Any, header: Header, begin: int, first: int, last: int, source: str) -> Array:
    """Rows of an array that begins at a byte of the file."""
    (n, d), fortran, dtype = header
    size = dtype.itemsize
    if not fortran:
        file.seek(begin + first * d * size)
        content = array_bytes(file, (last - first) * d * size, source)
        return np.frombuffer(content, dtype=dtype).reshape(-1, d)
    array = np.empty((last - first, d), dtype=dtype)
    for j in range(d):
        file.seek(begin + (j * n + first) * size)
        array[:, j] = np.frombuffer(array_bytes(file, (last - first) * size, source), dtype=dtype)
    return array


def npz_parts(path: Path, source: str) -> Iterator[UnnamedRows]:
    """Rows of the arrays X and y of an NPZ file, or of X alone."""
    try:
        with zipfile.ZipFile(path) as members, ExitStack() as opened:
            known = {member.filename.removesuffix(".npy"): member for member in members.infolist()}
            if "X" not in known:
                raise wrong(source, None, f"there is no array X; there are {some([*known]) or 'none'}.")
            files, headers = {}, {}
            for name in {"X", "y"} & set(known):
                called = f"{source}, array {name}"
                files[name] = opened.enter_context(members.open(known[name]))
                headers[name] = array_header(files[name], known[name].file_size, called)
            X = headers["X"]
            if not X.fortran and len(X.shape) == 2:
                yield from _read_on(files, headers, source)
                return
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError) as error:
        raise wrong(source, None, f"the file cannot be read ({error}).") from None
    if X.fortran and X.n_bytes > MOST_BYTES_BY_COLUMNS:
        raise wrong(
            source, None,
            f"the array X has {size_in_words(X.n_bytes)}, stored column by column, which cannot be read in parts: save "
            "np.ascontiguousarray(X), or X as an NPY file.",
        )  # fmt: skip
    whole = read_npz(path, source)
    if not len(whole):
        raise NoRows(f"{source}: there are no rows.")
    yield whole


def _read_on(files: dict[str, Any], headers: dict[str, Header], source: str) -> Iterator[UnnamedRows]:
    """Rows one after the other, of X and y at the same time."""
    X, y = headers["X"], headers.get("y")
    n, d = _shape(X, source)
    if y is not None and y.shape != (n,):
        raise wrong(
            source, None, f"X must have the shape (rows, columns) and y (rows,), not {X.shape} and {y.shape}."
        )
    step = rows_a_part(d)
    for first in range(0, n, step):
        last = min(first + step, n)
        content = array_bytes(files["X"], (last - first) * d * X.dtype.itemsize, source)
        rows = usable(np.frombuffer(content, dtype=X.dtype).reshape(-1, d), f"{source}, array X", first)
        labels = None
        if y is not None:
            content = array_bytes(files["y"], (last - first) * y.dtype.itemsize, source)
            labels = usable(np.frombuffer(content, dtype=y.dtype), f"{source}, array y", first)
        yield UnnamedRows(source, rows, labels, _counted(first, last))


def parquet_parts(
    path: Path, source: str, categorical: frozenset[str] = frozenset(), groups: tuple[int, ...] | None = None
) -> Iterator[Table]:
    """Rows of a Parquet file.

    Parameters
    ----------
    path : Path
    source : str
        The file, as messages call it.
    categorical : frozenset of str
        Columns whose values are categories even if they are numbers.
    groups : tuple of int or None
        Groups of rows, by number; None means all.
    """
    pa, parquet = pyarrow(source)
    first = 0
    try:
        with parquet.ParquetFile(path) as file:
            about = file.metadata
            if groups is not None:
                first = sum(about.row_group(group).num_rows for group in range(groups[0]))
            step = rows_a_part(about.num_columns)
            for batch in file.iter_batches(step, row_groups=groups):
                if not len(batch):
                    continue
                table = table_of(batch, source, categorical, first)
                places = _counted(first, first + len(table))
                first += len(table)
                yield Table(source, table.names, table.values, places, table.told)
            if not about.num_rows:
                raise NoRows(f"{source}: there are no rows.")
    except (pa.ArrowException, OSError) as error:
        raise wrong(source, None, f"the file cannot be read ({str(error).splitlines()[0]}).") from None


def parquet_groups(path: Path, source: str) -> int:
    """How many groups of rows a Parquet file has."""
    pa, parquet = pyarrow(source)
    try:
        with parquet.ParquetFile(path) as file:
            return int(file.metadata.num_row_groups)
    except (pa.ArrowException, OSError) as error:
        raise wrong(source, None, f"the file cannot be read ({str(error).splitlines()[0]}).") from None
