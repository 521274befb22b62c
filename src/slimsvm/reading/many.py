"""Many data files as one: their rows after each other, in parts, passed on in chunks, or surveyed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from scipy import sparse

from ..chunks.blocks import CHUNK_BYTES
from ..progress import tell
from .array_parts import rows_a_part
from .files import How
from .survey import Survey, n_bytes
from .table import NoRows, Table, UnnamedRows, joined


def parts_of(files: tuple[str, ...], how: How, index: bool | None = None) -> Iterator[Any]:
    """The rows of all files, some after the other; those without rows are passed over.

    Parameters
    ----------
    files : tuple of str
    how : How
    index : bool or None, default=None
        Whether a column without a name counts the rows; None means if it does so in the first file.
    """
    empty = True
    for number, file in enumerate(files, 1):
        try:
            for part in how.parts(file, index=index):
                if index is None and isinstance(part, Table):
                    index = part.index
                empty = False
                yield part
        except NoRows:
            if len(files) == 1:
                raise
        tell("reading files", number, len(files))
    if empty:
        raise NoRows(f"{files[0]}: there are no rows, nor in the other files.")


def gathered(parts: Iterable[Any], n_features: int) -> Iterator[Any]:
    """The same rows in chunks of about 16 MB.

    Parameters
    ----------
    parts : iterable of Table or UnnamedRows
    n_features : int
        Numbers of a row as it will be used: texts become several.
    """
    held: list[Any] = []
    for part in parts:
        if held and not _alike(held[0], part):
            yield joined(held)
            held = []
        held.append(part)
        n, size = sum(map(len, held)), sum(map(n_bytes, held))
        step = rows_a_part(n_features)
        if _is_sparse(part):  # by what there is in the rows
            step = n if size >= CHUNK_BYTES else n + 1
        if n < step:
            continue
        whole, last = joined(held), n - n % step
        for first in range(0, last, step):
            yield whole.take(slice(first, first + step))
        held = [whole.take(slice(last, n))] if last < n else []
    if held:
        yield joined(held)


def _is_sparse(part: Any) -> bool:
    return isinstance(part, UnnamedRows) and bool(sparse.issparse(part.X))


def _alike(a: Any, b: Any) -> bool:
    """Whether parts have the same columns; those of files to predict from need not."""
    if isinstance(a, Table) or isinstance(b, Table):
        return isinstance(a, Table) and isinstance(b, Table) and a.names == b.names
    if _is_sparse(a) or _is_sparse(b):
        return _is_sparse(a) and _is_sparse(b)
    return bool(a.X.shape[1] == b.X.shape[1]) and (a.y is None) == (b.y is None)


def chunks_to_predict(files: tuple[str, ...], how: How, n_features: int) -> Iterator[Any]:
    """The rows of all files in chunks, as tables or with columns in the place of a LIBSVM file's indices.

    Parameters
    ----------
    files : tuple of str
    how : How
    n_features : int
        Numbers of a row as it will be used.
    """
    if files == ("-",) and how.format in (None, "libsvm"):
        yield from _from_standard_input(how, n_features)
        return
    lowest = 0
    if any(
        how.kind(file) == "libsvm" for file in files
    ):  # whether columns are counted from 0 shows in all rows
        lowest = min(part.lowest or 0 for part in parts_of(files, how) if isinstance(part, UnnamedRows))
    for rows in gathered(parts_of(files, how), n_features):
        yield rows.settled(lowest) if isinstance(rows, UnnamedRows) else rows


def _from_standard_input(how: How, n_features: int) -> Iterator[Any]:
    """As it comes, but LIBSVM's format whole: standard input can be read only once."""
    parts = parts_of(("-",), how)
    first = next(parts)
    if isinstance(first, Table):
        yield from gathered(chain([first], parts), n_features)
        return
    whole = joined([first, *parts])
    yield whole.settled(whole.lowest)


def surveyed(
    files: tuple[str, ...],
    how: How,
    *,
    target: str | None,
    drop: tuple[str, ...],
    impute: bool,
    keep: int = 0,
    index: bool | None = None,
) -> tuple[Survey, Table | UnnamedRows | None]:
    """What the files have, and their rows where those take at most so many bytes.

    Parameters
    ----------
    files : tuple of str
    how : How
    target, drop, impute
        As in `read_chunks`.
    keep : int, default=0
        The most bytes of numbers that are kept.
    index : bool or None, default=None
        As in `parts_of`.
    """
    found: Survey | None = None
    kept: list[Any] | None = []
    for part in parts_of(files, how, index):
        one = Survey.of(part, target=target, drop=drop, impute=impute)
        found = one if found is None else found.merge(one)
        if kept is not None:
            kept.append(part)
            kept = kept if found.n_bytes <= keep else None
    assert found is not None
    whole = None if kept is None else joined(kept)
    return found, whole.settled(found.lowest) if isinstance(whole, UnnamedRows) else whole
