"""What data files hold for a command: rows and targets, whole or in chunks, and the numbers that they become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..adapters.table_encoder import inputs_for
from ..inputs import Inputs, is_missing
from ..reading import FileChunks, Table, UnnamedRows
from ..reading.chunks import chunks_of
from ..reading.encoding import categories_told, refuse_missing, rows_for
from ..reading.files import data_files
from ..reading.many import surveyed
from ..reading.table import wrong
from ..reading.target import TargetSummary, split, whole_numbers
from ..rows import Array
from ..words import count, some
from .options import Columns, Format
from .output import Output

__all__ = [
    "Data", "categories_told", "encoded", "held_out_data", "learning_data", "learning_files", "rows_for",
]  # fmt: skip

# Files with at most so many bytes of numbers are read whole; larger ones in chunks. The 60,000 rows of MNIST, 376 MB,
# are still fitted at once, by any method, and no command needs more than a few times as much memory.
WHOLE_BYTES = 2**29


@dataclass(frozen=True, eq=False)
class Data:
    """Rows to learn from or to test with.

    Parameters
    ----------
    rows : Table or UnnamedRows
        The columns but the target.
    y : array of shape (n,)
    target : str or None
        Name of the target.
    classify : bool
    """

    rows: Table | UnnamedRows
    y: Array
    target: str | None
    classify: bool

    def __str__(self) -> str:
        rows, texts = self.rows, ""
        d = rows.shape[1] if isinstance(rows, Table) else rows.X.shape[1]
        if isinstance(rows, Table) and rows.texts:
            texts = f", {len(rows.texts)} of them of texts"
        kind = f"{len(np.unique(self.y))} classes" if self.classify else "numbers"
        target = "the labels" if self.target is None else f"target {self.target!r}"
        return f"{rows.source}: {count(len(rows), 'row', ',')} of {count(d, 'column', ',')}{texts}; {target}: {kind}"


def learning_data(path: str | Path, options: Columns, format: Format) -> Data:
    """Rows and target of a file; the target is found where it is not named."""
    return _data(format.file(path, options.categorical), options)


def learning_files(
    paths: Sequence[str], options: Columns, format: Format, say: Output, *, impute: bool, ignore_unknown: bool
) -> Data | FileChunks:
    """Rows and target of files and directories; a reader of chunks where they are large."""
    files, how = data_files(paths), format.how(options.categorical)
    if files == ("-",):
        return _data(how.read("-"), options)
    asked: dict[str, Any] = {"target": options.target, "drop": options.drop, "impute": impute}
    survey, whole = surveyed(files, how, **asked, keep=WHOLE_BYTES)
    if whole is not None:
        return _data(whole, options)
    say_filled(say, {name: column.n_missing for name, column in survey.columns} if impute else {})
    return chunks_of(files, how, survey, **asked, task=options.task, ignore_unknown=ignore_unknown)


def _data(found: Table | UnnamedRows, options: Columns) -> Data:
    rows, y, name = split(found, target=options.target, drop=options.drop)
    if isinstance(rows, Table) and not rows.names:
        raise wrong(
            rows.source, None,
            "there is one column only, so nothing to predict the target from; if the separator was not found, say "
            "which it is with --separator.",
        )  # fmt: skip
    classify = TargetSummary.of(y).classifies(options.task, found.source, name)
    return Data(rows, whole_numbers(y), name, classify)


def held_out_data(paths: str | Sequence[str], options: Columns, format: Format, like: Data) -> Data:
    """Rows and target of other files, of the same kind."""
    files = data_files([paths] if isinstance(paths, str) else paths)
    how = format.how(_told(like.rows))
    if len(files) == 1:
        found: Any = how.read(files[0])
    else:
        target = options.target if like.target is None else like.target
        _, found = surveyed(files, how, target=target, drop=(), impute=False, keep=2**62)
    if isinstance(found, Table) and like.target is not None:
        if like.target not in found.names:
            raise wrong(found.source, None, f"there is no column {like.target!r}, the target.")
        rows, y, name = split(found, target=like.target)
    else:
        rows, y, name = split(found, target=options.target, drop=options.drop)
    return Data(rows, whole_numbers(y), name, like.classify)


def _told(rows: Table | UnnamedRows) -> tuple[str, ...]:
    return tuple(sorted(rows.told)) if isinstance(rows, Table) else ()


def say_filled(say: Output, missing: dict[str, int]) -> None:
    """Say where values are replaced, and how many."""
    filled = [f"{name} ({n:,})" for name, n in missing.items() if n]
    if filled:
        say.say(f"Missing values are replaced by medians and most frequent texts: {some(filled)}.")


def encoded(data: Data, *, impute: bool, ignore_unknown: bool, say: Output) -> tuple[Inputs | None, Any]:
    """What becomes of the columns, and the rows as numbers."""
    rows = data.rows
    if isinstance(rows, UnnamedRows):
        return None, rows.X
    refuse_missing(rows, () if impute else rows.names)
    columns = [(values, name in rows.told) for name, values in zip(rows.names, rows.values, strict=True)]
    unknown = "ignore" if ignore_unknown else "error"
    try:
        inputs = inputs_for(columns, rows.names, impute=impute, unknown=unknown)
    except ValueError as error:
        raise wrong(rows.source, None, f"{error} At the shell, --drop leaves a column out.") from None
    if impute:
        say_filled(say, {name: int(is_missing(rows.column(name)).sum()) for name in rows.names})
    numbers = np.ascontiguousarray(inputs(rows))
    if not impute and all(column.category is None for column in inputs.columns or ()):
        inputs = Inputs(inputs.n_features, inputs.names)  # the rows themselves
    return inputs, numbers
