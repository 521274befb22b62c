"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write to, under another name until the end; then it is synced and renamed, or removed after an error.

    Parameters
    ----------
    path : path
        What a symbolic link points to is replaced, not the link.
    """
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name[:200]}.{secrets.token_hex(6)}")
    try:  # from the first call on: Ctrl-C may come when the file is there and nobody knows yet
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            os.chmod(beside, target.stat().st_mode & 0o7777)
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file under another name, sync it and rename it: whoever looks finds the old file or the new one.

    Parameters
    ----------
    path : path
        What a symbolic link points to is replaced, not the link.
    content : bytes
    """
    with whole_file(path) as file:
        file.write(content)


def _sync_directory(directory: Path) -> None:
    """Make a rename last; not every system can."""
    if os.name == "nt":
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
