"""Options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter
from cyclopts.validators import Number

FILE = Group("The data file")
MODEL = Group("The model")
LIMIT = Group("Limits")
RESULT = Group("What comes of it")

# A list that is given by repeating the option.
Several = Annotated[tuple[str, ...], Parameter(negative="", show_default=False)]
Switch = Annotated[bool, Parameter(negative="", show_default=False)]
Positive = Annotated[int | None, Parameter(validator=Number(gte=1))]
NumberFormat = Literal["float64", "float32", "int16", "int8", "int4"]


@Parameter(name="*", group=FILE)
@dataclass(frozen=True)
class Format:
    """How a data file is to be read; everything is found out that is not said."""

    separator: str | None = None
    "What stands between two fields."
    header: bool | None = None
    "Whether the first line has the names of the columns."
    encoding: str = "utf-8"
    "Of text files."
    format: Literal["csv", "libsvm", "npy", "npz", "parquet"] | None = None
    "By default the file's name and its first bytes tell."
    missing: Several = ()
    "Another word for a missing value, beside an empty field, NA, nan, null and ?. May be repeated."

    def how(self, categorical: tuple[str, ...] = ()) -> Any:
        """The same for `slimsvm.reading`: a `How`."""
        from ..reading import How

        return How(self.format, self.separator, self.header, self.encoding, self.missing, categorical)

    def file(self, path: str | Path, categorical: tuple[str, ...] = ()) -> Any:
        """The rows of a file: a Table or UnnamedRows."""
        return self.how(categorical).read(path)


@Parameter(name="*", group=FILE)
@dataclass(frozen=True)
class Columns:
    """What the columns of a file are."""

    target: str | None = None
    "The column to predict, by name or number; by default target, label, class, y, outcome, response, or the last."
    task: Literal["classification", "regression"] | None = None
    "By default classification for texts and for at most 20 different whole numbers."
    categorical: Several = ()
    "A column of numbers that are categories. May be repeated."
    drop: Several = ()
    "A column to leave out. May be repeated."

    def but(self, **changes: Any) -> Columns:
        """The same with changes."""
        return replace(self, **changes)


@Parameter(name="*", group=LIMIT)
@dataclass(frozen=True)
class Limits:
    """What a model may cost."""

    max_vectors: Positive = None
    "The most vectors."
    max_bytes: Positive = None
    "The most bytes of the model's numbers."
    max_latency_us: Annotated[float | None, Parameter(validator=Number(gt=0))] = None
    "The most microseconds for one row."
    number: NumberFormat | None = None
    "Format of the model's numbers, which --max-bytes counts in: float32 by default."


@Parameter(name="*", group=RESULT)
@dataclass(frozen=True)
class Saying:
    """What is printed."""

    json: Switch = False
    "Standard output for machines."
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="", show_default=False)] = False
    "No messages and no progress; errors only."
