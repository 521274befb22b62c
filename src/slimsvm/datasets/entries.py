"""What one entry of the catalogue of published sets says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class OpenMLSource:
    """Where OpenML keeps a set, and how it becomes the published one.

    Without a recipe, rows, columns and class counts are those of the published file; the loader
    checks all three after a download, and tells the labels by their counts. With one, the result
    has the rows, the scaling and the order of the published file.

    Attributes
    ----------
    data_id : int
        OpenML's number of the set, which is that of one version of it.
    name : str
        What OpenML calls it.
    recipe : str
        Name of a function of ``slimsvm.datasets.recipes``; empty where numbers stay as they are.
    pattern : str
        Checksum of the result, as ``slimsvm.datasets.recipes.pattern`` makes it; empty where digits
        that were cut off would change it.
    drawn : int
        Training rows of splits that were drawn by us, and are drawn again in the same way; 0 where
        the splits of the file were published and only the file has them.
    n_train : int
        How many leading rows are the training part of a fixed split; 0 where the order of the
        rows is not known to follow one.
    """

    data_id: int
    name: str = ""
    recipe: str = ""
    pattern: str = ""
    drawn: int = 0
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
