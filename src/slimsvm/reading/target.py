"""Which column of a file is to be predicted, and whether it has classes or numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DataFormatError
from ..inputs import is_missing
from ..rows import Array
from ..words import quoted, some
from .table import Table, UnnamedRows, wrong

# Names that a target often has, in the order of preference; failing these, it is the last column.
TARGETS = ("target", "label", "class", "y", "outcome", "response")
# A target of whole numbers with at most so many different ones is of classes.
MOST_CLASSES = 20
# Different labels that are kept in mind: with more of them a model that has an output for each is of no use.
MOST_LABELS = 10_000


def split(
    found: Table | UnnamedRows, *, target: str | None = None, drop: Sequence[str] = ()
) -> tuple[Table | UnnamedRows, Array, str | None]:
    """Features, target, and the target's name.

    Parameters
    ----------
    found : Table or UnnamedRows
    target : str or None, default=None
        Name or number of the target; None finds it by its name, or takes the last column.
    drop : sequence of str
        Columns to leave out.
    """
    if isinstance(found, UnnamedRows):
        if found.y is not None:
            return found, found.y, None
        at = found.X.shape[1] - 1 if target is None else _number(target, found.X.shape[1], found.source)
        keep = np.delete(np.arange(found.X.shape[1]), at)
        return (
            UnnamedRows(found.source, found.X[:, keep], None, found.places),
            np.asarray(found.X[:, at]),
            None,
        )
    name = target_name(found, target, drop)
    return found.without(*drop, name), _target(found, name), name


def target_name(found: Table, target: str | None, drop: Sequence[str]) -> str:
    """The name of the target of a table."""
    for name in drop:
        if name not in found.names:
            raise wrong(
                found.source,
                None,
                f"there is no column {quoted(name)} to drop; there are {some(found.names)}.",
            )
    names = [name for name in found.names if name not in drop]
    if not names:
        raise wrong(found.source, None, "all columns are to be dropped.")
    if target is None:
        lower = {known.lower(): known for known in names}
        return next((lower[word] for word in TARGETS if word in lower), names[-1])
    if target in names:
        return target
    if target.lstrip("-").isdigit():
        return names[_number(target, len(names), found.source)]
    raise wrong(found.source, None, f"there is no column {quoted(target)}; there are {some(names)}.")


def _number(target: str, width: int, source: str) -> int:
    if not target.lstrip("-").isdigit() or not -width <= int(target) < width:
        raise wrong(source, None, f"there is no column {target}; there are {width}, counted from 0.")
    return int(target) % width


def _target(table: Table, name: str) -> Array:
    y = table.column(name)
    missing = is_missing(y)
    if missing.any():
        row = int(np.argmax(missing))
        raise DataFormatError(
            f"{table.where(row)}: the target {quoted(name)} has no value; rows without one cannot be learnt from, "
            "leave them out."
        )
    return np.array(y.tolist()) if y.dtype.kind == "O" else y


def whole_numbers(y: Array) -> Array:
    """Labels without a decimal point where none has a fraction."""
    return y.astype(np.int64) if y.dtype.kind == "f" and _all_whole(y) else y


def _all_whole(y: Array) -> bool:
    return bool((y == np.round(y)).all()) and bool(np.abs(y).max(initial=0) < 2**53)


@dataclass(frozen=True, eq=False)
class TargetSummary:
    """What is known of a target.

    Parameters
    ----------
    kind : {"text", "truth", "number"}
    whole : bool
        Whether no number has a fraction.
    labels : frozenset or None
        The different values; None if there are more than `MOST_LABELS`.
    """

    kind: str
    whole: bool
    labels: frozenset[Any] | None

    @staticmethod
    def of(y: Array) -> TargetSummary:
        """The summary of some values."""
        kind = {"U": "text", "b": "truth"}.get(y.dtype.kind, "number")
        values = np.unique(y)
        labels = _bounded(values.tolist())
        return TargetSummary(kind, kind == "number" and _all_whole(values.astype(np.float64)), labels)

    def merge(self, other: TargetSummary) -> TargetSummary:
        """The summary of both; they must be of the same kind."""
        labels = None
        if self.labels is not None and other.labels is not None:
            labels = _bounded(self.labels | other.labels)
        return TargetSummary(self.kind, self.whole and other.whole, labels)

    def classifies(self, task: str | None, source: str, name: str | None) -> bool:
        """Whether it is of classes; what cannot be learnt is an error.

        Parameters
        ----------
        task : {"classification", "regression"} or None
            None finds out.
        source, name : str
            File and target, as messages call them.
        """
        few = self.labels is not None and len(self.labels) <= MOST_CLASSES
        classify = self.kind != "number" or (self.whole and few) if task is None else task == "classification"
        if not classify and self.kind == "text":
            raise wrong(
                source, None, f"the target {quoted(name)} has texts: that is classification, not regression."
            )
        if classify and self.labels is not None and len(self.labels) < 2:
            (only,) = self.labels
            only = int(only) if self.whole else only
            raise wrong(
                source, None,
                f"the target {'' if name is None else quoted(name) + ' '}has one value only, {quoted(only)}: there is "
                "nothing to tell apart.",
            )  # fmt: skip
        return classify


def _bounded(labels: Iterable[Any]) -> frozenset[Any] | None:
    found = frozenset(labels)
    return found if len(found) <= MOST_LABELS else None
