"""What a file says of itself, seen without its arrays."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from ..errors import ModelFormatError
from ..words import count, size_in_words
from . import checks
from .container import ENTRIES, FORMAT_VERSION, header_of
from .estimators import TABLE


@dataclass(frozen=True)
class ModelFile:
    """What a model file says of itself; the hash is as stated, and its arrays are not looked at.

    Parameters
    ----------
    path : str
    n_bytes : int
    format_version : int
    written_by : str
    estimator : str
    kernel : str or None
    number : str or None
        Format of the stored numbers.
    n_vectors, n_features, n_outputs : int
        `n_features` are those of a raw row.
    classes : tuple
        Empty where there are none.
    feature_names : tuple of str or None
    parameters : dict
        As stored: plain values, and names of arrays.
    arrays : tuple of (name, type, shape)
    sha256 : str
    """

    path: str
    n_bytes: int
    format_version: int
    written_by: str
    estimator: str
    kernel: str | None
    number: str | None
    n_vectors: int
    n_features: int
    n_outputs: int
    classes: tuple[Any, ...]
    feature_names: tuple[str, ...] | None
    parameters: dict[str, Any]
    arrays: tuple[tuple[str, str, tuple[int, ...]], ...]
    sha256: str

    def __str__(self) -> str:
        lines = [f"{self.estimator} in {self.path}, {size_in_words(self.n_bytes)}"]
        if self.kernel is not None:
            sizes = (count(self.n_vectors, "vector"), count(self.n_outputs, "output"))
            lines.append(f"  {self.kernel} kernel, {', '.join(sizes)}, numbers in {self.number}")
        lines.append(f"  {count(self.n_features, 'feature')}" + _some(self.feature_names or ()))
        if self.classes:
            lines.append(f"  {len(self.classes)} classes" + _some(self.classes))
        lines.append(
            f"  format {self.format_version}, written by {self.written_by}, SHA-256 {self.sha256[:16]}..."
        )
        return "\n".join(lines)


def _some(values: tuple[Any, ...], most: int = 10) -> str:
    if not values:
        return ""
    more = f", and {len(values) - most} more" if len(values) > most else ""
    return ": " + ", ".join(map(str, values[:most])) + more


def inspect(path: str | os.PathLike[str]) -> ModelFile:
    """Describe a model file without loading its arrays.

    Parameters
    ----------
    path : path

    Returns
    -------
    ModelFile
        A value whose text is a summary: `print(slimsvm.inspect(path))`.

    Raises
    ------
    ModelFormatError
        The file is not a model file, is cut off or of a newer format. Whether its hash is right is seen by `load`.
    """
    header, what = header_of(path), os.fspath(path)
    try:
        entry = checks.table(header.description, "the description", ENTRIES)
        inputs = checks.mapping(entry["inputs"], "the inputs")
        names, classes = inputs.get("names"), _classes(entry)
        return ModelFile(
            path=what,
            n_bytes=header.n_bytes + max((tensor.end for tensor in header.tensors), default=0),
            format_version=FORMAT_VERSION,
            written_by=checks.text(entry["written_by"], "written_by"),
            estimator=checks.text(entry["estimator"], "the estimator", TABLE),
            n_features=checks.whole(inputs.get("n_features"), "n_features"),
            classes=classes,
            feature_names=None if names is None else tuple(map(str, checks.listed(names, "the names"))),
            parameters=checks.mapping(entry["parameters"], "the parameters"),
            arrays=tuple((tensor.name, tensor.dtype, tensor.shape) for tensor in header.tensors),
            sha256=header.sha256,
            **_sizes(entry["expansion"]),
        )
    except ModelFormatError as error:
        raise ModelFormatError(f"{what} does not describe a model: {error}") from None


def _classes(entry: dict[str, Any]) -> tuple[Any, ...]:
    readout = {} if entry["readout"] is None else checks.mapping(entry["readout"], "the readout")
    stored = readout.get("classes", checks.mapping(entry["extras"], "the extras").get("classes_"))
    if stored is None:
        return ()
    return tuple(checks.listed(checks.mapping(stored, "the classes").get("items"), "the classes"))


def _sizes(expansion: Any) -> dict[str, Any]:
    if expansion is None:
        return {"kernel": None, "number": None, "n_vectors": 0, "n_outputs": 0}
    entry = checks.mapping(expansion, "the expansion")
    kernel = checks.mapping(entry.get("kernel"), "the kernel")
    return {
        "kernel": checks.text(kernel.get("name"), "the kernel"),
        "number": checks.text(entry.get("number"), "number"),
        "n_vectors": checks.whole(checks.listed(entry.get("shape"), "the shape", 2)[0], "the shape"),
        "n_outputs": checks.whole(entry.get("n_outputs"), "n_outputs"),
    }
