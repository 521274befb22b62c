"""One door for all formats."""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, cast

from ..errors import DataFormatError
from .array_parts import npy_parts, npz_parts, parquet_parts
from .arrays import read_npy, read_npz, read_parquet
from .delimited import delimited_parts, read_delimited
from .svmlight import looks_like_svmlight, read_svmlight, svmlight_parts
from .table import Table, UnnamedRows, wrong

SUFFIXES = {
    ".csv": "csv", ".tsv": "csv", ".txt": None, ".data": None, ".dat": None,
    ".svm": "libsvm", ".libsvm": "libsvm", ".svmlight": "libsvm", ".t": "libsvm",
    ".npy": "npy", ".npz": "npz", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
MAGIC = {b"\x93NUMPY": "npy", b"PK\x03\x04": "npz", b"PAR1": "parquet"}
BINARY = ("npy", "npz", "parquet")
FORMATS = ("csv", "libsvm", *BINARY)
PEEKED = 4096


@dataclass(frozen=True)
class How:
    """How data files are to be read; everything is found out that is not said.

    Parameters
    ----------
    format : {"csv", "libsvm", "npy", "npz", "parquet"} or None, default=None
        None goes by the name of the file, then by its first bytes.
    separator, header, encoding, missing, categorical
        As in `slimsvm.reading.delimited.read_delimited`.
    """

    format: str | None = None
    separator: str | None = None
    header: bool | None = None
    encoding: str = "utf-8"
    missing: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()

    def read(self, path: str | Path) -> Table | UnnamedRows:
        """All rows of a file."""
        with _unpacked(path, self) as (file, at, kind, source):
            if kind == "parquet":
                return read_parquet(at, source, frozenset(self.categorical))
            if kind in BINARY:
                return read_npy(at, source) if kind == "npy" else read_npz(at, source)
            if kind == "libsvm":
                return read_svmlight(file, source, self.encoding)
            return read_delimited(file, source, **self._of_text(at))

    def parts(self, path: str | Path, *, index: bool | None = None) -> Iterator[Table | UnnamedRows]:
        """The same rows, some after the other; of LIBSVM files with indices in the place of columns.

        Parameters
        ----------
        path : str or Path
        index : bool or None, default=None
            As in `slimsvm.reading.delimited.delimited_parts`.
        """
        with _unpacked(path, self) as (file, at, kind, source):
            if kind == "parquet":
                yield from parquet_parts(at, source, frozenset(self.categorical))
            elif kind in BINARY:
                yield from npy_parts(at, source) if kind == "npy" else npz_parts(at, source)
            elif kind == "libsvm":
                yield from svmlight_parts(file, source, self.encoding)
            else:
                yield from delimited_parts(file, source, index=index, **self._of_text(at))

    def kind(self, path: str | Path) -> str:
        """The format of a file: one of `FORMATS`."""
        with _unpacked(path, self) as (_, _, kind, _):
            return kind

    def _of_text(self, at: Path | None) -> dict[str, Any]:
        separator = self.separator
        if at is not None and ".tsv" in at.suffixes and separator is None:
            separator = "\t"
        return {
            "separator": separator, "header": self.header, "encoding": self.encoding, "missing": self.missing,
            "categorical": self.categorical,
        }  # fmt: skip


def read(
    path: str | Path,
    *,
    format: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    missing: Collection[str] = (),
    categorical: Collection[str] = (),
) -> Table | UnnamedRows:
    """The rows of a data file.

    Parameters
    ----------
    path : str or Path
        A file, which may be compressed by gzip; "-" is standard input, for the text formats.
    format, separator, header, encoding, missing, categorical
        As in `How`.

    Returns
    -------
    Table or UnnamedRows
    """
    return How(format, separator, header, encoding, tuple(missing), tuple(categorical)).read(path)


@contextmanager
def _unpacked(path: str | Path, how: How) -> Iterator[tuple[Any, Any, str, str]]:
    """A binary stream, the path if it is a file, the format, and what messages call it."""
    source = "standard input" if str(path) == "-" else str(path)
    if how.format is not None and how.format not in FORMATS:
        raise wrong(source, None, f"there is no format {how.format!r}; there are {', '.join(FORMATS)}.")
    opened, at = _opened(path, source)
    with opened as file:
        try:
            start = file.peek(PEEKED)[:PEEKED]
            kind = how.format or _kind(at, start)
            if kind in BINARY and (at is None or at.suffix.lower() == ".gz"):
                raise wrong(source, None, f"{kind} is read from a file by name, not compressed.")
            yield file, at, kind, source
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise wrong(source, None, f"the file cannot be unpacked ({error}).") from None


def _opened(path: str | Path, source: str) -> tuple[Any, Path | None]:
    """A binary stream that can be peeked into, and the path if it is a file."""
    if str(path) == "-":
        return BufferedReader(cast(Any, sys.stdin.buffer), PEEKED), None
    path = Path(path)
    try:
        if path.is_dir():
            raise wrong(source, None, "this is a directory; give a file.")
        if path.suffix.lower() == ".gz":
            return BufferedReader(cast(Any, gzip.open(path, "rb")), PEEKED), path
        return path.open("rb"), path
    except OSError as error:
        raise wrong(source, None, f"the file cannot be opened ({error.strerror or error}).") from None


def _kind(path: Path | None, start: bytes) -> str:
    for magic, kind in MAGIC.items():
        if start.startswith(magic):
            return kind
    suffix = "" if path is None else next((s for s in reversed(path.suffixes) if s.lower() != ".gz"), "")
    if known := SUFFIXES.get(suffix.lower()):
        return known
    line = next((text for text in start.decode("utf-8", "replace").splitlines() if text.strip()), "")
    return "libsvm" if looks_like_svmlight(line) else "csv"


def data_files(paths: Iterable[str | Path]) -> tuple[str, ...]:
    """The files that are meant: a directory stands for the data files in it, by name.

    Parameters
    ----------
    paths : iterable of paths
        Files and directories. Of a directory, hidden files, others that are not data by their names, and directories
        in it are left out.
    """
    found: list[str] = []
    for path in map(str, paths):
        if not os.path.isdir(path):
            found.append(path)
            continue
        inside = [os.path.join(path, name) for name in sorted(os.listdir(path)) if _is_data(name)]
        inside = [name for name in inside if os.path.isfile(name)]
        if not inside:
            known = ", ".join(sorted(SUFFIXES))
            raise wrong(
                path,
                None,
                f"there is no data file in the directory; their names end in {known}, or these and .gz.",
            )
        found += inside
    if not found:
        raise DataFormatError("no data file is given.")
    if "-" in found and len(found) > 1:
        raise wrong("standard input", None, "it is read alone, not with files.")
    return tuple(found)


def _is_data(name: str) -> bool:
    suffix = Path(name.lower().removesuffix(".gz")).suffix
    return not name.startswith((".", "_")) and suffix in SUFFIXES
