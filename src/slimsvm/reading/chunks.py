"""Data files in chunks, as `fit_chunks` takes them: any number of files, in the memory of one chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..adapters.slim import slim
from ..adapters.whole import as_model, folded
from ..chunks.passes import LocalPasses, Passes
from ..inputs import Column, Inputs
from ..rows import Array
from .array_parts import npy_parts, npy_rows, parquet_groups, parquet_parts, rows_a_part
from .copies import Copy
from .encoding import inputs_for_all
from .files import How, data_files
from .many import gathered, parts_of, surveyed
from .moments import Moments
from .survey import Survey
from .table import NoRows, Table, UnnamedRows, joined, wrong
from .target import split


@dataclass(frozen=True, eq=False)
class FileChunks:
    """A reader of chunks (X, y) from data files; `read_chunks` makes one.

    Calling it begins a pass: ``estimator.fit_chunks(reader)``.

    Parameters
    ----------
    files : tuple of str
    how : How
        How they are read.
    survey : Survey
        What the first pass found.
    target : str or None
        As it was asked for.
    drop : tuple of str
    classify : bool
        Whether the target is of classes.
    inputs : Inputs or None
        What becomes of the columns; None means that the rows are taken as they are.
    copy : Copy or None
        Where the numbers are kept between passes.
    """

    files: tuple[str, ...]
    how: How
    survey: Survey
    target: str | None
    drop: tuple[str, ...]
    classify: bool
    inputs: Inputs | None
    copy: Copy | None = None

    @property
    def n_rows(self) -> int:
        """Rows of all files."""
        return self.survey.n_rows

    @property
    def n_features(self) -> int:
        """Numbers of a row in the chunks."""
        if self.inputs is not None:
            return self.inputs.n_numbers
        survey = self.survey
        return max(1, survey.width - (survey.form == "a LIBSVM file" and survey.lowest > 0))

    def __call__(self) -> Iterator[tuple[Any, Array]]:
        """The chunks of one pass, each of about 16 MB."""
        return self._fresh() if self.copy is None else self.copy.chunks(self._fresh)

    def _fresh(self) -> Iterator[tuple[Any, Array]]:
        for rows in gathered(parts_of(self.files, self.how, self.survey.index), self.n_features):
            yield self.chunk(rows)

    def chunk(self, rows: Table | UnnamedRows) -> tuple[Any, Array]:
        """Rows of the files as numbers and targets."""
        features, y, _ = split(rows, target=self.target, drop=self.drop)
        if self.classify:
            y = y.astype(np.int64) if self.survey.y.whole else y
        else:
            y = y.astype(np.float64)
        if isinstance(features, Table):
            assert self.inputs is not None
            X = self.inputs(features) if self.inputs.columns is not None else features.to_numpy()
            return np.ascontiguousarray(X), y
        X = features.settled(self.survey.lowest, self.n_features).X
        return (X if self.inputs is None else self.inputs(X)), y

    def pieces(self) -> list[Callable[[], tuple[Any, Array]]]:
        """The rows in parts that can be read apart from each other, on other machines for instance.

        About 16 MB of an NPY file, a group of rows of a Parquet file, or all of another file.

        Returns
        -------
        list of callables
            Each gives a chunk (X, y), and can be pickled.
        """
        found: list[Callable[[], tuple[Any, Array]]] = []
        alone = replace(self, copy=None)
        for file in self.files:
            kind = self.how.kind(file)
            try:
                if kind == "npy":
                    n, d = npy_rows(Path(file), file)
                    step = rows_a_part(d)
                    found += [
                        Piece(alone, file, kind, first, min(first + step, n)) for first in range(0, n, step)
                    ]
                elif kind == "parquet":
                    groups = range(parquet_groups(Path(file), file))
                    found += [Piece(alone, file, kind, group, group + 1) for group in groups]
                else:
                    found.append(Piece(alone, file, kind))
            except NoRows:
                continue
        return found

    def scaled(self, passes: Passes | None = None) -> FileChunks:
        """The same with each number less its mean and divided by its standard deviation, as most estimators like it.

        It takes a pass over all rows. Sparse rows stay as they are.

        Parameters
        ----------
        passes : Passes or None, default=None
            Who goes through the chunks of this reader; None means this process.
        """
        if self.survey.form == "a LIBSVM file":
            return self
        passes = passes or LocalPasses(self, classify=self.classify)
        found = passes.run(Moments.of, Moments.merge, "finding means and spreads")
        inputs = self.inputs or Inputs(self.n_features)
        columns = inputs.columns or tuple(Column(j) for j in range(inputs.n_features))
        moved = tuple(
            replace(column, shift=float(mean), scale=float(1.0 / spread))
            for column, mean, spread in zip(columns, found.mean, found.spread, strict=True)
        )
        return replace(self, inputs=replace(inputs, columns=moved), copy=None)

    def copied(self, folder: str | Path) -> FileChunks:
        """The same with a copy of the numbers on disk, written in the next pass and read in later ones.

        Text is parsed in every pass otherwise, which takes many times as long as reading numbers.

        Parameters
        ----------
        folder : path
            Where the copy is kept, in a folder of its own, until the reader is no more. It takes 8 bytes a number.
        """
        return replace(self, copy=Copy(folder))

    def complete(self, estimator: Any) -> Any:
        """The fitted estimator's model as one that takes the rows of the files: names, texts, missing values.

        Parameters
        ----------
        estimator : fitted estimator
            Fitted to the chunks of this reader.

        Returns
        -------
        fitted estimator
            To predict for tables, to save and to export.
        """
        model = as_model(estimator)
        return slim(model if self.inputs is None else folded(self.inputs, model))


@dataclass(frozen=True, eq=False)
class Piece:
    """A part of a file that can be read alone: rows or groups of rows from `start` on, or all."""

    reader: FileChunks
    file: str
    kind: str
    start: int = 0
    stop: int | None = None

    def __call__(self) -> tuple[Any, Array]:
        """Read it: a chunk (X, y)."""
        how, index = self.reader.how, self.reader.survey.index
        parts: Iterable[Any]
        if self.kind == "npy":
            parts = npy_parts(Path(self.file), self.file, self.start, self.stop)
        elif self.kind == "parquet":
            groups = tuple(range(self.start, self.stop or 0))
            parts = parquet_parts(Path(self.file), self.file, frozenset(how.categorical), groups)
        else:
            parts = how.parts(self.file, index=index)
        try:
            return self.reader.chunk(joined(list(parts)))
        except NoRows:
            return np.empty((0, self.reader.n_features)), np.empty(0)


def read_chunks(
    paths: str | Path | Sequence[str | Path],
    *,
    target: str | None = None,
    task: str | None = None,
    categorical: Sequence[str] = (),
    drop: Sequence[str] = (),
    impute: bool = False,
    ignore_unknown: bool = False,
    scale: bool = False,
    cache: str | Path | None = None,
    format: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    missing: Sequence[str] = (),
) -> FileChunks:
    """A reader of data files in chunks, for `fit_chunks`: more rows than memory holds.

    A first pass goes through all files and finds out, column by column, whether there are numbers or texts, which
    texts, and whether values are missing. What is wrong is a `DataFormatError` with file, line and column.

    Parameters
    ----------
    paths : path or sequence of paths
        CSV, TSV (both also compressed by gzip), LIBSVM, NPY, NPZ and Parquet files with the same columns in the same
        order, and directories, which stand for the data files in them in the order of their names. Files without rows
        are passed over.
    target : str or None, default=None
        The column to predict, by name or number; None means one of the name target, label, class, y, outcome or
        response, or else the last.
    task : {"classification", "regression"} or None, default=None
        None means classification for texts, and for at most 20 different whole numbers.
    categorical : sequence of str
        Columns of numbers that are categories.
    drop : sequence of str
        Columns to leave out.
    impute : bool, default=False
        Whether a missing value is replaced, by the median of its column or the most frequent text. Medians of more
        than 2^17 rows are those of so many drawn at random.
    ignore_unknown : bool, default=False
        Whether texts that no file has are taken later as none of those it has, instead of being an error.
    scale : bool, default=False
        Whether numbers are brought to mean 0 and standard deviation 1, for which there is one more pass. `CompactSVC`
        and `CompactSVR` scale by themselves; the other methods need it.
    cache : path or None, default=None
        A folder for a copy of the numbers, 8 bytes each, so that text is not parsed in every pass; it is removed with
        the reader.
    format, separator, header, encoding, missing
        As in `slimsvm.reading.How`.

    Returns
    -------
    FileChunks
        To be given to `fit_chunks`; its `complete` puts the encoding before a fitted model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from slimsvm import FixedSizeLSSVC
    >>> from slimsvm.reading import read_chunks
    >>> folder = Path(tempfile.mkdtemp())
    >>> for month in (1, 2):
    ...     with (folder / f"month-{month}.csv").open("w") as file:
    ...         print("size,colour,sold", file=file)
    ...         for i in range(100):
    ...             print(i % 7, "red" if i % 3 else "blue", "yes" if i % 7 > 3 else "no", sep=",", file=file)
    >>> reader = read_chunks(folder, scale=True)
    >>> reader.n_rows, reader.n_features
    (200, 2)
    >>> model = reader.complete(FixedSizeLSSVC(n_vectors=10, random_state=0).fit_chunks(reader))
    >>> model.predict(np.array([[6, "red"], [0, "blue"]], dtype=object)).tolist()
    ['yes', 'no']
    """
    files = data_files([paths] if isinstance(paths, str | Path) else paths)
    if files == ("-",):
        raise wrong("standard input", None, "it can be gone through only once; chunks need files.")
    how = How(format, separator, header, encoding, tuple(missing), tuple(categorical))
    drop = tuple(drop)
    survey, _ = surveyed(files, how, target=target, drop=drop, impute=impute)
    reader = chunks_of(
        files, how, survey, target=target, drop=drop, task=task, impute=impute, ignore_unknown=ignore_unknown
    )
    reader = reader.scaled() if scale else reader
    return reader if cache is None else reader.copied(cache)


def chunks_of(
    files: tuple[str, ...],
    how: How,
    survey: Survey,
    *,
    target: str | None,
    drop: tuple[str, ...],
    task: str | None,
    impute: bool,
    ignore_unknown: bool,
) -> FileChunks:
    """A reader of files that were surveyed; the parameters are those of `read_chunks`."""
    classify = survey.y.classifies(task, survey.source, survey.target)
    inputs = None
    if survey.names is not None:
        inputs = inputs_for_all(survey, impute=impute, unknown="ignore" if ignore_unknown else "error")
    known = replace(survey, columns=(), sample=None)  # what was counted is of no more use
    return FileChunks(files, how, known, target, drop, classify, inputs)
