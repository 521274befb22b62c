"""One door for all formats."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Collection
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, cast

from .arrays import read_npy, read_npz, read_parquet
from .delimited import read_delimited
from .svmlight import looks_like_svmlight, read_svmlight
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
    format : {"csv", "libsvm", "npy", "npz", "parquet"} or None, default=None
        None goes by the name of the file, then by its first bytes.
    separator, header, encoding, missing, categorical
        As in `slimsvm.reading.delimited.read_delimited`.

    Returns
    -------
    Table or UnnamedRows
    """
    source = "standard input" if str(path) == "-" else str(path)
    if format is not None and format not in FORMATS:
        raise wrong(source, None, f"there is no format {format!r}; there are {', '.join(FORMATS)}.")
    opened, at = _opened(path, source)
    with opened as file:
        try:
            start = file.peek(PEEKED)[:PEEKED]
            kind = format or _kind(at, start)
            if kind in BINARY:
                if at is None or at.suffix.lower() == ".gz":
                    raise wrong(source, None, f"{kind} is read from a file by name, not compressed.")
                if kind == "parquet":
                    return read_parquet(at, source, frozenset(categorical))
                return read_npy(at, source) if kind == "npy" else read_npz(at, source)
            if kind == "libsvm":
                return read_svmlight(cast(IO[bytes], file), source, encoding)
            if at is not None and ".tsv" in at.suffixes and separator is None:
                separator = "\t"
            return read_delimited(
                cast(IO[bytes], file), source, separator=separator, header=header, encoding=encoding,
                missing=missing, categorical=categorical,
            )  # fmt: skip
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
