"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any


def write_whole(path: Any, content: bytes) -> None:
    """Write a file under a temporary name, sync it, and rename it."""
    path = Path(path)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
