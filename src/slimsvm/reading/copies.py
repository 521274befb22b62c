"""A copy of chunks as NumPy files: text is parsed once, and later passes read at the speed of the disk."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import DataFormatError
from ..rows import Array


class Copy:
    """Chunks in a folder of their own, which is removed with this object or when Python ends.

    Parameters
    ----------
    folder : path
        Where the folder is made; it has to be there.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        try:
            self._folder = Path(tempfile.mkdtemp(prefix="slimsvm-", dir=os.path.abspath(folder)))
        except OSError as error:
            raise DataFormatError(
                f"{folder}: no copy can be kept there ({error.strerror or error})."
            ) from None
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._n_chunks: int | None = None

    def chunks(self, fresh: Callable[[], Iterator[tuple[Any, Array]]]) -> Iterator[tuple[Any, Array]]:
        """The chunks: from the copy, or fresh ones until the first pass that goes to the end has made it."""
        if self._n_chunks is None:
            n_chunks = 0
            for X, y in fresh():
                self._write(n_chunks, X, y)
                n_chunks += 1
                yield X, y
            self._n_chunks = n_chunks
            return
        for number in range(self._n_chunks):
            yield self._read(number)

    def _paths(self, number: int) -> tuple[Path, Path, Path]:
        folder = self._folder
        return folder / f"{number}-X.npy", folder / f"{number}-X.npz", folder / f"{number}-y.npy"

    def _write(self, number: int, X: Any, y: Array) -> None:
        dense, thin, target = self._paths(number)
        try:
            np.save(target, y, allow_pickle=False)
            if sparse.issparse(X):
                sparse.save_npz(thin, X, compressed=False)
            else:
                np.save(dense, X, allow_pickle=False)
        except OSError as error:
            raise DataFormatError(
                f"{self._folder}: the copy of the numbers cannot be written ({error.strerror or error}); each number "
                "takes 8 bytes there."
            ) from None

    def _read(self, number: int) -> tuple[Any, Array]:
        dense, thin, target = self._paths(number)
        y = np.load(target, allow_pickle=False)
        return (np.load(dense, allow_pickle=False) if dense.exists() else sparse.load_npz(thin)), y
