"""A chunk of rows with their targets, checked, and where it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _get_feature_names,
    check_array,
    check_consistent_length,
    column_or_1d,
)

from ..errors import DataFormatError, SlimsvmError
from ..rows import Array, Rows, as_rows, sound

# Called once for each pass; gives chunks (X, y) or (X, y, sample_weight), the same ones every time.
Reader: TypeAlias = Callable[[], Iterable[Any]]
# Bytes of a chunk cut from an array.
CHUNK_BYTES = 16 * 2**20


@dataclass(frozen=True, eq=False)
class Block:
    """A chunk that was found to be in order; rows of weight zero are left out.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
    y : array of shape (n,) or (n, n_targets)
    weight : array of shape (n,)
    numbers : array of shape (n,)
        Number of each row in the chunk.
    n_rows : int
        Rows of the chunk, those of weight zero included.
    name : str
        As messages call it: "chunk 3".
    columns : tuple of str or None
        Names of the features, where the chunk is a data frame.
    """

    X: Rows
    y: Array
    weight: Array
    numbers: Array
    n_rows: int
    name: str
    columns: tuple[str, ...] | None = None

    @property
    def n(self) -> int:
        """Rows of positive weight."""
        return len(self.weight)


def checked(chunk: Any, name: str, *, classify: bool) -> Block:
    """A chunk as a `Block`; what is wrong with it is a `DataFormatError` that names it."""
    try:
        parts = tuple(chunk)
        if len(parts) not in (2, 3):
            raise TypeError(f"a chunk is (X, y) or (X, y, sample_weight), this one has {len(parts)} parts.")
        X, y, weight = parts if len(parts) == 3 else (*parts, None)
        return _checked(X, y, weight, name, classify=classify)
    except SlimsvmError:
        raise
    except (ValueError, TypeError) as error:
        raise DataFormatError(f"{name}: {error}") from error


def _checked(X: Any, y: Any, sample_weight: Any, name: str, *, classify: bool) -> Block:
    names = _get_feature_names(X)
    X = as_rows(
        check_array(
            sound(X),
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            ensure_min_samples=0,
            input_name="X",
        )
    )
    n = X.shape[0]
    if classify:
        y = column_or_1d(y, warn=False)
        if n:
            check_classification_targets(y)
    else:
        y = check_array(y, ensure_2d=False, dtype=np.float64, ensure_min_samples=0, input_name="y")
    check_consistent_length(X, y)
    weight = np.ones(n)
    if sample_weight is not None:  # in a chunk they may all be zero
        weight = check_array(
            sample_weight, ensure_2d=False, dtype=np.float64, ensure_min_samples=0, input_name="sample_weight"
        )  # fmt: skip
        if weight.shape != (n,) or (weight < 0).any():
            raise ValueError(f"sample_weight must have {n} entries, one for each row, none of them negative.")
    numbers = np.flatnonzero(weight > 0)
    if len(numbers) < n:
        X, y, weight = X[numbers], y[numbers], weight[numbers]
    return Block(X, y, weight, numbers, n, name, None if names is None else tuple(map(str, names)))


def read(reader: Reader, *, classify: bool) -> Iterator[Block]:
    """The chunks of one pass; a reader that fails is named with the chunk it failed at."""
    chunks = iter(reader())
    number = 0
    while True:
        name = f"chunk {number}"
        try:
            chunk = next(chunks)
        except StopIteration:
            return
        except SlimsvmError:
            raise
        except Exception as error:
            raise DataFormatError(
                f"{name}: the reader failed with {type(error).__name__}: {error}"
            ) from error
        yield checked(chunk, name, classify=classify)
        number += 1


@dataclass(frozen=True)
class ArrayReader:
    """Chunks of arrays that are there as a whole: in memory, or mapped from a file.

    Parameters
    ----------
    X, y, sample_weight : arrays
    rows : int or None
        Rows of a chunk; None takes what makes about 16 MB.
    """

    X: Any
    y: Any
    sample_weight: Any = None
    rows: int | None = None

    def __call__(self) -> Iterator[tuple[Any, ...]]:
        """The chunks, from the first row on."""
        n, d = self.X.shape
        step = self.rows or max(1, CHUNK_BYTES // max(1, self.X.dtype.itemsize * d))
        given = [part for part in (self.X, self.y, self.sample_weight) if part is not None]
        for start in range(0, n, step):
            yield tuple(part[start : start + step] for part in given)
