"""Inputs and readout in a description."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ModelFormatError
from ..inputs import Column, Inputs
from ..probability import Probability
from ..readout import (
    DensityReadout,
    FeaturesReadout,
    InlierReadout,
    LargestReadout,
    Readout,
    SignReadout,
    ValueReadout,
    VotesReadout,
    fits_outputs,
)
from ..rows import Array
from . import checks
from .values import CannotBeStored, Reader, Writer, least_whole

READOUTS: dict[str, Any] = {
    "sign": SignReadout,
    "largest": LargestReadout,
    "votes": VotesReadout,
    "value": ValueReadout,
    "inlier": InlierReadout,
    "features": FeaturesReadout,
    "density": DensityReadout,
}
LABELS = ("sign", "largest", "votes")
LINKS = ("logistic", "normal", "softmax")
# The entries each readout has besides classes and probability, and what they are.
ENTRIES: dict[str, dict[str, Callable[[Any, str], Any]]] = {
    "sign": {"zero": lambda value, what: checks.whole(value, what, most=1)},
    "largest": {"half_digits": checks.flag},
    "votes": {"break_ties": checks.flag, "one_for_each_pair": checks.flag},
    "value": {"one_target": checks.flag},
    "inlier": {"offset": checks.number},
    "features": {"prefix": checks.text},
    "density": {"log_unit": checks.number},
}
# Those that files may lack: they were written before there were such, and mean what is the default.
LATER = ("log_unit",)


def write_inputs(inputs: Inputs, writer: Writer) -> dict[str, Any]:
    """What is expected of a row."""
    stored: dict[str, Any] = {"n_features": inputs.n_features, "names": None, "columns": None, "allowed": []}
    if inputs.names is not None:
        stored["names"] = [str(name) for name in inputs.names]
    if inputs.columns is not None:
        writer.tensors["inputs.source"] = least_whole(
            np.array([column.source for column in inputs.columns]), inputs.n_features
        )
        writer.short(np.array([column.shift for column in inputs.columns]), "inputs.shift")
        writer.short(np.array([column.scale for column in inputs.columns]), "inputs.scale")
        categories = [
            [j, writer.value(column.category, "")]
            for j, column in enumerate(inputs.columns)
            if column.category is not None
        ]
        stored["columns"] = {"n": len(inputs.columns), "categories": categories}
    stored["allowed"] = [[source, writer.value(list(values), "")] for source, values in inputs.allowed]
    if inputs.fill:
        stored["fill"] = [[source, writer.value(value, "")] for source, value in inputs.fill]
    return stored


def read_inputs(stored: Any, reader: Reader) -> Inputs:
    """The inputs that were written."""
    what = "the inputs"
    entry = checks.table(stored, what, ("n_features", "names", "columns", "allowed"), ("fill",))
    n = checks.whole(entry["n_features"], f"{what}: n_features", 1)
    names = entry["names"]
    if names is not None:
        names = tuple(
            checks.text(name, f"{what}: names") for name in checks.listed(names, f"{what}: names", n)
        )
    columns = None if entry["columns"] is None else _read_columns(entry["columns"], reader)
    allowed = []
    for pair in checks.listed(entry["allowed"], f"{what}: allowed"):
        source, values = checks.listed(pair, f"{what}: allowed", 2)
        values = [_category(reader, value) for value in checks.listed(values, f"{what}: allowed")]
        allowed.append((checks.whole(source, f"{what}: allowed"), tuple(values)))
    fill = []
    for pair in checks.listed(entry.get("fill", []), f"{what}: fill"):
        source, value = checks.listed(pair, f"{what}: fill", 2)
        fill.append((checks.whole(source, f"{what}: fill"), _category(reader, value)))
    try:
        return Inputs(n, names, columns, tuple(allowed), tuple(fill))
    except ValueError as error:
        raise ModelFormatError(f"{what} do not fit together: {checks.said(error)}") from None


def _read_columns(stored: Any, reader: Reader) -> tuple[Column, ...]:
    what = "the inputs: columns"
    entry = checks.table(stored, what, ("n", "categories"))
    n = checks.whole(entry["n"], what, 1)
    source = reader.take("inputs.source", what, "u", (n,)).tolist()
    shift, scale = (reader.finite(f"inputs.{part}", what, (n,)).tolist() for part in ("shift", "scale"))
    category: list[Any] = [None] * n
    for pair in checks.listed(entry["categories"], what):
        j, value = checks.listed(pair, what, 2)
        category[checks.whole(j, what, most=n - 1)] = _category(reader, value)
    return tuple(map(Column, source, category, shift, scale))


def _category(reader: Reader, stored: Any) -> Any:
    value = reader.value(stored, "a category")
    if not isinstance(value, str | bool | int | float) or value != value:
        raise ModelFormatError("the inputs have a category that is not a text or a number.")
    return value


def write_readout(readout: Readout, writer: Writer) -> dict[str, Any]:
    """How outputs become answers."""
    kind = next(kind for kind, its in READOUTS.items() if type(readout) is its)
    stored = {"kind": kind, **{key: writer.value(getattr(readout, key), "") for key in ENTRIES[kind]}}
    if kind in LABELS:
        try:
            stored["classes"] = writer.items(readout.classes)  # type: ignore[union-attr]
        except CannotBeStored as error:
            raise ModelFormatError(f"the classes of this model cannot be saved: {error}.") from None
        p = readout.probability  # type: ignore[union-attr]
        stored["probability"] = None
        if p is not None:
            stored["probability"] = {"link": p.link, "factor": float(p.factor), "offset": list(p.offset)}
    return stored


def read_readout(stored: Any, n_outputs: int, reader: Reader) -> Readout:
    """The readout that was written, for an expansion of so many outputs."""
    what = "the readout"
    kind = checks.text(stored.get("kind") if isinstance(stored, dict) else None, f"{what}: kind", READOUTS)
    more = ("classes", "probability") if kind in LABELS else ()
    later = [key for key in ENTRIES[kind] if key in LATER]
    required = [key for key in ENTRIES[kind] if key not in LATER]
    entry = checks.table(stored, what, ("kind", *more, *required), later)
    options = {
        key: check(entry[key], f"{what}: {key}") for key, check in ENTRIES[kind].items() if key in entry
    }
    if kind in LABELS:
        options["classes"] = classes = read_classes(entry["classes"], reader)
        options["probability"] = _read_probability(entry["probability"], len(classes))
    made: Readout = READOUTS[kind](**options)
    if not fits_outputs(made, n_outputs):
        raise ModelFormatError(f"{what}, {kind}, does not fit an expansion of {n_outputs} outputs.")
    return made


def read_classes(stored: Any, reader: Reader) -> Array:
    """Class labels: at least two, all different."""
    classes = reader.items(stored, "the classes")
    entries = classes.ravel().tolist()
    if (
        classes.ndim != 1
        or len(entries) < 2
        or len(set(entries)) != len(entries)
        or any(x != x for x in entries)
    ):
        raise ModelFormatError("the classes must be two or more, all of them different.")
    return classes


def _read_probability(stored: Any, n_classes: int) -> Probability | None:
    if stored is None:
        return None
    what = "the probability"
    entry = checks.table(stored, what, ("link", "factor", "offset"))
    offset = tuple(checks.number(b, f"{what}: offset") for b in checks.listed(entry["offset"], what))
    if len(offset) not in ((0, 1) if n_classes == 2 else (0, n_classes)):
        raise ModelFormatError(f"{what} has {len(offset)} offsets for {n_classes} classes.")
    link = checks.text(entry["link"], f"{what}: link", LINKS)
    try:
        return Probability(link, checks.number(entry["factor"], f"{what}: factor"), offset)
    except ValueError as error:
        raise ModelFormatError(f"{what}: {checks.said(error)}") from None
