"""What one entry of the catalogue of published sets says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class OpenMLSource:
    """Where OpenML keeps a set.

    Given only where rows, columns and class counts are those of the published file; the loader
    checks all three after a download, and tells the labels by their counts.

    Attributes
    ----------
    data_id : int
        OpenML's number of the set.
    n_train : int
        How many leading rows are the training part of a fixed split; 0 where the order of the
        rows is not known to follow one.
    """

    data_id: int
    n_train: int = 0


@dataclass(frozen=True)
class PublishedSet:
    """One published data set.

    Attributes
    ----------
    name : str
        What ``load`` calls it.
    sha256 : str
        Checksum of the file.
    n_rows, n_features : int
        Size of ``X``, training and test rows together.
    n_splits : int
        How many train/test splits the file holds.
    source : str
        Where the data comes from.
    task : {"classification", "regression"}
        What ``y`` is.
    class_counts : tuple of (int, int)
        Label and number of rows; empty for regression.
    note : str
        What to know before using it.
    openml : OpenMLSource or None
        The same set on OpenML, where there is one.
    """

    name: str
    sha256: str
    n_rows: int
    n_features: int
    n_splits: int
    source: str
    task: Literal["classification", "regression"] = "classification"
    class_counts: tuple[tuple[int, int], ...] = ()
    note: str = ""
    openml: OpenMLSource | None = None

    @property
    def file_name(self) -> str:
        """Name of the published file."""
        return f"{self.name}.npz"

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of ``X``."""
        return self.n_rows, self.n_features

    @property
    def description(self) -> str:
        """Size, origin and what to know, in a few sentences."""
        size = f"{self.n_rows} rows, {self.n_features} features, {self.task}"
        return f"{self.name}: {size}. From {self.source}. {self.note}".rstrip()
