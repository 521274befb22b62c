"""The bytes of a file: a safetensors container with a description in JSON and a hash of everything.

The hash guards against accidents; who alters a file on purpose can make it right again. So nothing in here, nor in what
reads the description, trusts what is read.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save as to_safetensors

from ..errors import ModelFormatError
from ..rows import Array
from . import checks

FORMAT_VERSION = 1
# Most bytes of the header: the names of 200,000 features, or 400,000 classes. A text of so many bytes becomes 370 MB of
# Python objects at most.
MAX_HEADER = 8 * 2**20
MAX_BYTES = 2**31
MAX_TENSORS = 1024
# The length of the header stands before it.
LENGTH_BYTES = 8
DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
NO_HASH = "0" * 64
# What a description has.
ENTRIES = (
    "format_version", "written_by", "estimator", "parameters", "inputs", "expansion", "readout", "extras", "sha256",
)  # fmt: skip
# The description is a text in the header, its quotes are escaped; those of a text in the description twice.
HASH = re.compile(rb'\\"sha256\\":\\"([0-9a-f]{64})\\"')


@dataclass(frozen=True)
class Stored:
    """One array as the header tells of it."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


@dataclass(frozen=True)
class Header:
    """What stands before the arrays."""

    description: dict[str, Any]
    tensors: tuple[Stored, ...]
    sha256: str
    n_bytes: int


def packed(description: dict[str, Any], tensors: dict[str, Array]) -> bytes:
    """The bytes of a file."""
    text = json.dumps({**description, "sha256": NO_HASH}, separators=(",", ":"), allow_nan=False)
    content = to_safetensors(
        {name: np.asarray(array, order="C") for name, array in tensors.items()},
        metadata={"slimsvm": text},
    )
    size = int.from_bytes(content[:LENGTH_BYTES], "little")
    if size > MAX_HEADER:
        raise ModelFormatError(
            f"the description of the model has {size} bytes, more than the {MAX_HEADER} that a file may have: "
            "too many names, classes or categories."
        )
    found = HASH.search(content, LENGTH_BYTES, LENGTH_BYTES + size)
    assert found is not None
    return (
        content[: found.start(1)] + digest_of(content, LENGTH_BYTES + size).encode() + content[found.end(1) :]
    )


def unpacked(content: bytes, what: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Description and arrays from the bytes of a file, the hash checked."""
    header = read_header(content, len(content), what)
    if digest_of(content, header.n_bytes) != header.sha256:
        raise ModelFormatError(f"{what} was altered or damaged: its SHA-256 is not the one it states.")
    try:
        parts = deserialize(content)  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise ModelFormatError(f"{what} is not a valid safetensors file: {checks.said(error)}") from None
    if {name for name, _ in parts} != {tensor.name for tensor in header.tensors}:
        raise ModelFormatError(f"{what} is not a valid safetensors file: its header has two meanings.")
    return header.description, {name: _array(part, f"{what}: {name}") for name, part in parts}


def digest_of(content: bytes, n_bytes: int) -> str:
    """The SHA-256 of a file with zeros in the place of the hash it states; n_bytes are those before the arrays."""
    found = HASH.search(content, LENGTH_BYTES, n_bytes)
    assert found is not None
    digest = hashlib.sha256(content[: found.start(1)] + NO_HASH.encode())
    digest.update(memoryview(content)[found.end(1) :])
    return digest.hexdigest()


def _array(part: Any, what: str) -> Array:
    raw = np.frombuffer(bytes(part["data"]), dtype=np.uint8)
    dtype = np.dtype(DTYPES[part["dtype"]])
    if dtype.kind == "b" and raw.max(initial=0) > 1:
        raise ModelFormatError(f"{what} has a truth value that is neither 0 nor 1.")
    try:
        return raw.view(dtype).reshape(part["shape"])
    except (ValueError, OverflowError):
        raise ModelFormatError(f"{what} has a shape that its bytes do not fill.") from None


def content_of(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    """The bytes of a file that is not larger than allowed."""
    with Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            raise ModelFormatError(
                f"{os.fspath(path)} has {size} bytes, more than the {max_bytes} that are allowed; give load a larger "
                "max_bytes if you trust it."
            )
        return file.read(size)


def header_of(path: str | os.PathLike[str]) -> Header:
    """The header of a file, without its arrays."""
    with Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = file.read(LENGTH_BYTES)
        length = min(int.from_bytes(start, "little"), MAX_HEADER, size)
        return read_header(start + file.read(length), size, os.fspath(path))


def read_header(start: bytes, size: int, what: str) -> Header:
    """The header from the first bytes of a file of this size."""
    length = int.from_bytes(start[:LENGTH_BYTES], "little")
    if size < LENGTH_BYTES + 2 or not start[LENGTH_BYTES:].startswith(b"{"):
        raise ModelFormatError(f"{what} is not a model file of slimsvm.")
    if length > MAX_HEADER or LENGTH_BYTES + length > size:
        raise ModelFormatError(
            f"{what} is not a model file of slimsvm, or is cut off: its header should have {length} bytes."
        )
    end = LENGTH_BYTES + length
    raw = start[LENGTH_BYTES:end]
    outer = parsed(raw, f"the header of {what}")
    if not isinstance(outer, dict) or not isinstance(outer.get("__metadata__"), dict):
        raise ModelFormatError(f"{what} is not a model file of slimsvm: its header has no description.")
    metadata = outer.pop("__metadata__")
    if not isinstance(metadata.get("slimsvm"), str):
        raise ModelFormatError(f"{what} is not a model file of slimsvm: its header has no description.")
    description = parsed(metadata["slimsvm"], f"the description in {what}")
    if not isinstance(description, dict) or "sha256" not in description:
        raise ModelFormatError(f"{what} is not a model file of slimsvm: its description states no SHA-256.")
    version = description.get("format_version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise ModelFormatError(
            f"{what} has the format version {version}, this release reads versions up to {FORMAT_VERSION}; "
            "install a newer slimsvm."
        )
    if version != FORMAT_VERSION or isinstance(version, bool | float):
        raise ModelFormatError(f"{what} has no format version that was ever written.")
    hashes = HASH.findall(raw)
    if list(metadata) != ["slimsvm"] or hashes != [str(description["sha256"]).encode()]:
        raise ModelFormatError(
            f"the header of {what} must have a description with one SHA-256, nothing else."
        )
    return Header(description, _tensors(outer, end, size, what), hashes[0].decode(), end)


def _tensors(outer: dict[str, Any], end: int, size: int, what: str) -> tuple[Stored, ...]:
    if len(outer) > MAX_TENSORS:
        raise ModelFormatError(f"{what} has {len(outer)} arrays, more than {MAX_TENSORS}.")
    tensors = []
    for name, entry in outer.items():
        where = f"{what}: the array {name[:60]!r}"
        checks.table(entry, where, ("dtype", "shape", "data_offsets"))
        dtype = checks.text(entry["dtype"], f"{where}: dtype", DTYPES)
        shape = [checks.whole(n, f"{where}: shape", most=2**40) for n in checks.listed(entry["shape"], where)]
        if len(shape) > 4:
            raise ModelFormatError(f"{where} has {len(shape)} dimensions, more than 4.")
        ends = [
            checks.whole(n, f"{where}: data_offsets", most=2**62)
            for n in checks.listed(entry["data_offsets"], where, 2)
        ]
        tensors.append(Stored(name, dtype, tuple(shape), *ends))
    last = max((tensor.end for tensor in tensors), default=0)
    if end + last != size:
        raise ModelFormatError(
            f"{what} has {size} bytes, but its header speaks of {end + last}: it is cut off or has more behind it."
        )
    return tuple(tensors)


def parsed(text: str | bytes, what: str) -> Any:
    """What strict JSON says: no key twice, no NaN, no text that is not UTF-8."""
    try:
        text = text if isinstance(text, str) else text.decode("utf-8")
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{what} is not valid JSON: {checks.said(error)}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an entry stands there twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")
