"""Sets from OpenML, brought into the layout of the published files."""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slimsvm.datasets import recipes
from slimsvm.datasets.entries import OpenMLSource, PublishedSet
from slimsvm.errors import DataFormatError


def fetch(published: PublishedSet, source: OpenMLSource) -> dict[str, NDArray[Any]]:
    """Fetch a set, check that it is the one the catalogue means, and give it our labels.

    Parameters
    ----------
    published : PublishedSet
        What the set must be: its shape and its class counts.
    source : OpenMLSource
        Where OpenML keeps it.

    Returns
    -------
    arrays : dict of str to ndarray
        ``X`` and ``y``, with ``train_idx`` and ``test_idx`` where OpenML keeps a fixed split, or where
        splits can be drawn again.

    Examples
    --------
    >>> from slimsvm.datasets.catalogue import CATALOGUE
    >>> from slimsvm.datasets.openml import fetch
    >>> banana = CATALOGUE["ida_banana"]
    >>> arrays = fetch(banana, banana.openml)  # doctest: +SKIP
    """
    import sklearn.datasets

    origin = f"OpenML's set {source.data_id}" + (f" ({source.name})" if source.name else "")
    instead = (
        f"put {published.file_name} (sha256 {published.sha256}) in the directory that SLIMSVM_DATA names"
    )
    try:
        # The parser "auto" leaves coded features (-1, 0, 1) as they are; "liac-arff" numbers them.
        fetched = sklearn.datasets.fetch_openml(
            data_id=source.data_id, as_frame=bool(source.recipe), parser="auto"
        )
    except ImportError as error:
        raise ImportError(f"Reading {origin} needs pandas: install it, or {instead}.") from error
    except (OSError, ValueError) as error:
        raise DataFormatError(
            f"{origin} could not be fetched ({type(error).__name__}: {error}); try again later, or {instead}."
        ) from error
    if source.recipe:
        return _by_recipe(published, source, fetched, origin)
    try:
        X = np.asarray(fetched.data, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataFormatError(
            f"{origin} holds features that are not numbers ({error}): it is not {published.name}."
        ) from error
    if X.shape != published.shape:
        raise DataFormatError(
            f"{origin} has X of shape {X.shape}, but {published.name} has {published.shape}: "
            "OpenML may have changed it."
        )
    arrays: dict[str, NDArray[Any]] = {"X": _narrowed(X)}
    if published.task == "regression":
        arrays["y"] = np.asarray(fetched.target, dtype=np.float64)
    else:
        arrays["y"] = _relabelled(np.asarray(fetched.target).astype(str), published, origin)
    if source.n_train:
        rows = np.arange(published.n_rows)[None, :]
        arrays["train_idx"] = rows[:, : source.n_train]
        arrays["test_idx"] = rows[:, source.n_train :]
    return arrays


def _by_recipe(
    published: PublishedSet, source: OpenMLSource, fetched: Any, origin: str
) -> dict[str, NDArray[Any]]:
    """The published set from a raw table, in the order of the published file."""
    columns = [_texts(fetched.data[name]) for name in fetched.data.columns]
    try:
        X, y = recipes.in_published_order(*recipes.RECIPES[source.recipe](columns, _texts(fetched.target)))
    except ValueError as error:
        raise DataFormatError(
            f"{origin} is not the table {published.name} was made from ({error}): OpenML may have changed it."
        ) from error
    labels, counts = np.unique(y, return_counts=True)
    found = tuple(zip(labels.tolist(), counts.tolist(), strict=True))
    if X.shape != published.shape or found != published.class_counts:
        raise DataFormatError(
            f"{origin} gives X of shape {X.shape} with the classes {dict(found)}, but {published.name} has "
            f"{published.shape} and {dict(published.class_counts)}: OpenML may have changed it."
        )
    if source.pattern and recipes.pattern(X, y) != source.pattern:
        raise DataFormatError(
            f"{origin} gives other rows than {published.name} has (checksum {recipes.pattern(X, y)}, expected "
            f"{source.pattern}): OpenML may have changed it."
        )
    arrays: dict[str, NDArray[Any]] = {"X": _narrowed(X), "y": y}
    if source.drawn:
        arrays |= drawn_splits(published, source.drawn) | {"n_published": np.zeros(1, dtype=np.int64)}
    return arrays


def drawn_splits(published: PublishedSet, n_train: int) -> dict[str, NDArray[np.int64]]:
    """Splits as we drew them for the files whose published splits are lost.

    Parameters
    ----------
    published : PublishedSet
    n_train : int
        Training rows of each.
    """
    rng = np.random.default_rng(zlib.crc32(published.name.removeprefix("ida_").encode()))
    orders = np.array([rng.permutation(published.n_rows) for _ in range(published.n_splits)], dtype=np.int64)
    return {"train_idx": orders[:, :n_train], "test_idx": orders[:, n_train:]}


def _texts(column: Any) -> NDArray[np.str_]:
    """A column of a table as text without quotation marks."""
    return np.array([str(value).strip().strip("'\"") for value in column], dtype=str)


def write(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write an archive so that no reader ever sees part of it.

    Parameters
    ----------
    path : Path
        The file to make; its directory is made too.
    arrays : mapping of str to ndarray
        Its content.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from slimsvm.datasets.openml import write
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = pathlib.Path(directory, "cache", "ones.npz")
    ...     write(path, {"X": np.ones((2, 2))})
    ...     [file.name for file in path.parent.iterdir()]
    ['ones.npz']
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _relabelled(labels: NDArray[np.str_], published: PublishedSet, origin: str) -> NDArray[np.int64]:
    """Give each class our label: no two classes of a set have the same number of rows."""
    names, which, counts = np.unique(labels, return_inverse=True, return_counts=True)
    ours = {count: label for label, count in published.class_counts}
    if sorted(counts.tolist()) != sorted(ours):
        found = dict(zip(names.tolist(), counts.tolist(), strict=True))
        raise DataFormatError(
            f"{origin} has the classes {found}, but {published.name} has "
            f"{dict(published.class_counts)}: OpenML may have changed it."
        )
    return np.array([ours[count] for count in counts.tolist()], dtype=np.int64)[which]


def _narrowed(X: NDArray[np.float64]) -> NDArray[Any]:
    """Store whole numbers in the smallest type that holds them, as the published files do."""
    if not np.array_equal(X, np.rint(X)):
        return X
    low, high = np.min_scalar_type(int(X.min())), np.min_scalar_type(int(X.max()))
    return X.astype(np.promote_types(low, high))
