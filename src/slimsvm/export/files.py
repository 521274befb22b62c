"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any


def write_whole(path: Any, content: bytes) -> None:
    """Write a file under a temporary name, sync it, and rename it."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
