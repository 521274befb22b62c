"""Loaders of the published sets: look for the file, check it, hand over plain arrays.

A file is looked for in the directory that the environment variable ``SLIMSVM_DATA`` names, then in
the cache directory: ``SLIMSVM_CACHE`` if set, otherwise ``slimsvm`` under ``XDG_CACHE_HOME`` or
``~/.cache``. Nothing is fetched unless the caller asks for it.
"""

from __future__ import annotations

import difflib
import hashlib
import io
import os
import zipfile
import zlib
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from slimsvm.datasets import openml
from slimsvm.datasets.catalogue import CATALOGUE
from slimsvm.datasets.entries import PublishedSet
from slimsvm.errors import DataFormatError

Features: TypeAlias = NDArray[np.float64] | NDArray[np.float32]
Target: TypeAlias = NDArray[np.int64] | NDArray[np.float64]
Rows: TypeAlias = NDArray[np.int64]

# What numpy.load may raise for an archive that was cut short or is no archive.
_UNREADABLE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True)
class _Stored:
    """The content of a file, in the types it is stored in."""

    X: NDArray[Any]  # (n, d)
    y: NDArray[Any]  # (n,)
    train_idx: Rows  # (n_splits, n_train)
    test_idx: Rows  # (n_splits, n_test)
    n_published: int


def load(name: str, *, download: bool = False) -> Bunch:
    """Load a published data set.

    Parameters
    ----------
    name : str
        Name of the set, a key of ``slimsvm.datasets.CATALOGUE``.
    download : bool, default=False
        Whether to take the set from OpenML when the published file is not found, for the sets
        whose entry in the catalogue has ``openml``. That copy is kept in the cache directory and
        serves later calls with ``download=True``. Where the entry has a recipe, rows, scaling and
        order become those of the published file; otherwise they may differ. Most have no split,
        because the published ones are lists of rows. pandas is needed to read it.

    Returns
    -------
    data : sklearn.utils.Bunch
        ``X``
            ndarray of shape (n_rows, n_features); float32 where the file has that, else float64.
        ``y``
            ndarray of shape (n_rows,); int64 labels, or float64 for regression.
        ``train_idx``, ``test_idx``
            Row numbers, ndarrays of shape (n_splits, n_train) and (n_splits, n_test). A set with
            a fixed training and test part has one split; a set without has shape (0, 0).
        ``n_published``
            How many of the leading splits are published ones.
        ``name``, ``task``, ``description``, ``file``
            What it is, and the file that was read.

    Raises
    ------
    ValueError
        If no set has that name.
    DataFormatError
        If the file is not found, its checksum is wrong, or OpenML has something else.

    See Also
    --------
    load_split : Training and test part of one split.

    Examples
    --------
    >>> from slimsvm.datasets import load
    >>> data = load("ida_banana")  # doctest: +SKIP
    >>> data.X.shape, data.train_idx.shape  # doctest: +SKIP
    ((5300, 2), (10, 400))
    >>> load("bananna")
    Traceback (most recent call last):
    ValueError: There is no published set 'bananna'; the nearest name is 'ida_banana'.
    """
    published = _entry(name)
    stored, file = _read(published, download=download)
    return Bunch(
        X=_features(stored.X),
        y=_target(stored.y, published),
        train_idx=stored.train_idx,
        test_idx=stored.test_idx,
        n_published=stored.n_published,
        name=published.name,
        task=published.task,
        description=published.description,
        file=str(file),
    )


def load_split(
    name: str, index: int = 0, *, download: bool = False
) -> tuple[Features, Features, Target, Target]:
    """Load the training and the test part of one split of a published data set.

    Parameters
    ----------
    name : str
        Name of the set, a key of ``slimsvm.datasets.CATALOGUE``.
    index : int, default=0
        Number of the split, from 0.
    download : bool, default=False
        As in ``load``.

    Returns
    -------
    X_train, X_test, y_train, y_test : ndarray
        In the order of ``sklearn.model_selection.train_test_split``.

    Raises
    ------
    ValueError
        If no set has that name, or it has no such split.
    DataFormatError
        If the file is not found, its checksum is wrong, or OpenML has something else.

    See Also
    --------
    load : All rows, and the row numbers of every split.

    Examples
    --------
    >>> from slimsvm.datasets import CATALOGUE, load_split
    >>> CATALOGUE["ida_banana"].n_splits
    10
    >>> X_train, X_test, y_train, y_test = load_split("ida_banana", 3)  # doctest: +SKIP
    >>> X_train.shape, X_test.shape  # doctest: +SKIP
    ((400, 2), (4900, 2))
    """
    published = _entry(name)
    stored, file = _read(published, download=download)
    n_splits = len(stored.train_idx)
    if n_splits == 0:
        raise ValueError(
            f"{file.name} holds no train/test split: take the rows from load({name!r}) and split "
            "them with sklearn.model_selection.train_test_split."
        )
    if not isinstance(index, Integral) or not 0 <= index < n_splits:
        numbers = "number 0" if n_splits == 1 else f"numbers 0 to {n_splits - 1}"
        raise ValueError(
            f"index must be the number of a split: {file.name} holds {n_splits} ({numbers}), "
            f"but index is {index!r}."
        )
    train, test = stored.train_idx[index], stored.test_idx[index]
    y = _target(stored.y, published)
    # Rows are picked before the conversion to float: for MNIST that saves 400 MB.
    return _features(stored.X[train]), _features(stored.X[test]), y[train], y[test]


def _entry(name: str) -> PublishedSet:
    if name in CATALOGUE:
        return CATALOGUE[name]
    near = difflib.get_close_matches(str(name), CATALOGUE, n=1)
    hint = f"the nearest name is {near[0]!r}" if near else f"the names are {', '.join(CATALOGUE)}"
    raise ValueError(f"There is no published set {name!r}; {hint}.")


def _features(X: NDArray[Any]) -> Features:
    if X.dtype == np.float32:
        return np.ascontiguousarray(X, dtype=np.float32)
    return np.ascontiguousarray(X, dtype=np.float64)


def _target(y: NDArray[Any], published: PublishedSet) -> Target:
    if published.task == "classification":
        return y.astype(np.int64)
    return y.astype(np.float64)


def _data_directory() -> Path | None:
    named = os.environ.get("SLIMSVM_DATA")
    return Path(named).expanduser() if named else None


def _cache_directory() -> Path:
    if named := os.environ.get("SLIMSVM_CACHE"):
        return Path(named).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base).expanduser() if base else Path.home() / ".cache") / "slimsvm"


def _read(published: PublishedSet, *, download: bool) -> tuple[_Stored, Path]:
    """Read the published file or, where the caller allows it, OpenML's copy of the set."""
    for directory in (_data_directory(), _cache_directory()):
        if directory is not None and (path := directory / published.file_name).is_file():
            return _read_published(published, path), path
    if not download:
        raise DataFormatError(_missing(published))
    if published.openml is None:
        raise DataFormatError(f"OpenML is not known to hold this set. {_missing(published)}")
    path = _cache_directory() / f"openml_{published.name}.npz"
    if not path.is_file():
        openml.write(path, openml.fetch(published, published.openml))
    return _read_openml(published, path), path


def _missing(published: PublishedSet) -> str:
    named = _data_directory()
    source = published.openml
    return (
        f"The file {published.file_name} (sha256 {published.sha256}) is wanted, but it is neither "
        f"in the directory SLIMSVM_DATA names ({named or 'not set'}) nor in the cache directory "
        f"({_cache_directory()}); its data comes from {published.source}"
        + (
            f", and download=True takes the set from OpenML (data_id {source.data_id}) by "
            "sklearn.datasets.fetch_openml."
            if source
            else "."
        )
    )


def _read_published(published: PublishedSet, path: Path) -> _Stored:
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != published.sha256:
        raise DataFormatError(
            f"{path} is not the published file: its sha256 is {found}, but {published.sha256} is "
            "expected; replace it with an intact copy, or remove it so that it is looked for "
            "elsewhere."
        )
    return _unpack(io.BytesIO(content))


def _read_openml(published: PublishedSet, path: Path) -> _Stored:
    try:
        stored = _unpack(io.BytesIO(path.read_bytes()))
        complete = stored.X.shape == published.shape
    except _UNREADABLE as error:
        raise DataFormatError(
            f"{path} cannot be read ({error}); delete it, and it will be downloaded again."
        ) from error
    if not complete:
        raise DataFormatError(
            f"{path} holds X of shape {stored.X.shape}, but {published.name} has "
            f"{published.shape}; delete it, and it will be downloaded again."
        )
    return stored


def _unpack(file: io.BytesIO) -> _Stored:
    """Give the three layouts of the files one form."""
    with np.load(file, allow_pickle=False) as archive:
        if "X_train" in archive:
            X = np.concatenate((archive["X_train"], archive["X_test"]))
            y = np.concatenate((archive["y_train"], archive["y_test"]))
            train, test = _head_and_tail(len(archive["y_train"]), len(y))
            return _Stored(X, y, train, test, n_published=1)
        X, y = archive["X"], archive["y"]
        if "train_idx" not in archive:
            none = np.empty((0, 0), dtype=np.int64)
            return _Stored(X, y, none, none.copy(), n_published=0)
        train = archive["train_idx"].astype(np.int64)
        test = archive["test_idx"].astype(np.int64)
        # Files that do not count them hold published splits only.
        n_published = int(archive["n_published"][0]) if "n_published" in archive else len(train)
        return _Stored(X, y, train, test, n_published)


def _head_and_tail(n_train: int, n_rows: int) -> tuple[Rows, Rows]:
    rows = np.arange(n_rows, dtype=np.int64)[None, :]
    return rows[:, :n_train].copy(), rows[:, n_train:].copy()
