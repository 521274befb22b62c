"""Dask arrays and data frames as blocks of rows."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed


def is_collection(X: Any) -> bool:
    """Whether this is something of Dask's."""
    return bool(dask.is_dask_collection(X))


def row_blocks(X: Any) -> list[Delayed]:
    """The blocks of rows of a dask array or data frame."""
    if isinstance(X, da.Array):
        if X.ndim == 2 and X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        blocks: list[Delayed] = X.to_delayed().ravel().tolist()
        return blocks
    if hasattr(X, "to_delayed"):
        return list(X.to_delayed())
    raise TypeError(f"a dask array or data frame was expected, got {type(X).__name__}.")


def block_lengths(X: Any) -> tuple[int, ...] | None:
    """Rows of each block, or None where Dask does not know."""
    if not isinstance(X, da.Array) or any(np.isnan(size) for size in X.chunks[0]):
        return None
    return tuple(int(size) for size in X.chunks[0])


def known_bytes(X: Any) -> float | None:
    """What the rows take in memory, or None where Dask does not know."""
    size = float(X.nbytes) if isinstance(X, da.Array) else float("nan")
    return None if np.isnan(size) else size


def chunks_of(X: Any, y: Any, sample_weight: Any = None) -> list[Delayed]:
    """Chunks (X, y) or (X, y, sample_weight), one for each block of X."""
    blocks, lengths = row_blocks(X), block_lengths(X)
    columns = [blocks]
    for name, part in (("y", y), ("sample_weight", sample_weight)):
        if part is None:
            continue
        if not is_collection(part):
            if lengths is None:
                raise ValueError(
                    f"{name} is no dask collection, and the blocks of X have unknown lengths: "
                    f"call X.compute_chunk_sizes() first, or give {name} in the blocks of X."
                )
            part = da.from_array(np.asarray(part), chunks=(lengths, *np.shape(part)[1:]))
        if lengths is not None and (own := block_lengths(part)) is not None and own != lengths:
            if sum(own) != sum(lengths):
                raise ValueError(f"X has {sum(lengths)} rows, but {name} has {sum(own)}.")
            part = part.rechunk({0: lengths})
        its = row_blocks(part)
        if len(its) != len(blocks):
            raise ValueError(
                f"{name} has {len(its)} blocks, but X has {len(blocks)}, and their lengths are not known: "
                "repartition one like the other."
            )
        columns.append(its)
    return [delayed(_together, pure=False)(*parts) for parts in zip(*columns, strict=True)]


def _together(*parts: Any) -> tuple[Any, ...]:
    return parts
