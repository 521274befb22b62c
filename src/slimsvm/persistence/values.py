"""Plain values in a description: what JSON cannot say is an object with the entry "type".

Numbers, texts, true, false, null and lists are themselves. Arrays of numbers are arrays of the container; the
description has their names. There is no type that stands for code, and none that is looked up by a name
outside this file.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import ModelFormatError
from ..kernels import KERNELS, RBF, Laplacian, Linear, Polynomial, Sigmoid
from ..path import VectorPath
from ..reduction.task import Reduction
from ..rows import Array, Rows
from . import checks

# Values within values; what estimators take has three at most.
MAX_DEPTH = 8
# NumPy gives each text of an array the room of the longest. That may be so many times what the texts themselves take
# in the description, and beyond it so many bytes in all arrays together: a file of a kilobyte takes no gigabyte.
MANY_TIMES, SPARE_BYTES = 128, 2**20
FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
KERNEL_NAMES = tuple(name for name in KERNELS if name != "precomputed")
# Values with fields that are plain values themselves.
RECORDS: dict[str, type[Any]] = {"VectorPath": VectorPath, "Reduction": Reduction}
ITEM_DTYPE = re.compile(r"[<|][biuf](1|2|4|8)|<U\d{1,7}|\|S\d{1,7}|object")


class CannotBeStored(TypeError):
    """A value has no stored form."""


@dataclass
class Writer:
    """Turns values into their stored form, and collects the arrays."""

    tensors: dict[str, Array] = field(default_factory=dict)
    spare: int = SPARE_BYTES

    def array(self, array: Array, name: str) -> dict[str, Any]:
        """An array of numbers, as one of the container."""
        if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8 or array.ndim > 4:
            raise CannotBeStored(f"an array of {array.dtype} has no stored form")
        name = name if name not in self.tensors else f"{name}.{len(self.tensors)}"
        self.tensors[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
        # by columns: a product or a solution has other last digits then
        by_columns = array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous
        return {"type": "array", "tensor": name} | ({"order": "F"} if by_columns else {})

    def short(self, array: Array, name: str) -> dict[str, Any]:
        """The same in half the bytes, where no digit is lost."""
        single = array.astype(np.float32)
        return self.array(single if np.array_equal(single, array) else array, name)

    def rows(self, rows: Rows, name: str) -> dict[str, Any]:
        """An array or CSR."""
        if not sparse.issparse(rows):
            return self.array(rows, name)
        return {
            "type": "csr",
            "shape": [int(n) for n in rows.shape],
            "data": self.array(rows.data, name)["tensor"],
            "indices": self.array(least_whole(rows.indices, rows.shape[1]), f"{name}.indices")["tensor"],
            "indptr": self.array(least_whole(rows.indptr, rows.nnz), f"{name}.indptr")["tensor"],
        }

    def items(self, array: Array) -> dict[str, Any]:
        """An array whose entries stand in the description: texts, objects, class labels."""
        kind = array.dtype.kind
        if kind == "O" and not all(isinstance(item, str | bool | int | float) for item in array.ravel()):
            raise CannotBeStored("an array of objects that are not texts or numbers has no stored form")
        if kind not in "biufUSO" or (kind in "biuf" and array.dtype.itemsize > 8):
            raise CannotBeStored(f"an array of {array.dtype} has no stored form")
        listed = array.ravel().tolist()
        if kind in "US":
            if array.nbytes > (room := text_bytes(listed)):
                array = np.array(array.tolist())  # whose room is that of the longest
            self.spare -= max(0, array.nbytes - room)
            if self.spare < 0:
                raise CannotBeStored("an array of texts of which one is very much longer has no stored form")
        entries = (
            [item.decode("latin-1") for item in listed]
            if kind == "S"
            else [self.value(x, "") for x in listed]
        )
        dtype = "object" if kind == "O" else array.dtype.newbyteorder("<").str
        return {"type": "items", "dtype": dtype, "shape": list(array.shape), "items": entries}

    def kernel(self, kernel: Any, name: str) -> dict[str, Any]:
        """A built-in kernel."""
        its = getattr(kernel, "name", None)
        if its not in KERNEL_NAMES or type(kernel) is not KERNELS[its]:
            raise CannotBeStored(f"the kernel {kernel!r} has no stored form")
        parameters = {part.name: getattr(kernel, part.name) for part in fields(kernel)}
        for key, value in parameters.items():
            if isinstance(value, tuple):
                parameters[key] = self.short(np.array(value), f"{name}.{key}")
        return {"type": "kernel", "name": its, **parameters}

    def value(self, value: Any, name: str) -> Any:
        """A plain value."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"type": "float", "value": repr(value)}
        if isinstance(value, np.generic):
            return {"type": "number", "value": self.items(np.array([value]))}
        if isinstance(value, np.ndarray):
            return self._array_value(value, name)
        if sparse.issparse(value) and value.format == "csr":
            return self.rows(value, name)
        if type(value) is list:
            return [self.value(item, f"{name}.{i}") for i, item in enumerate(value)]
        if type(value) is tuple:
            return {"type": "tuple", "items": self.value(list(value), name)}
        if type(value) is dict:
            pairs = [self.value(list(pair), f"{name}.{i}") for i, pair in enumerate(value.items())]
            return {"type": "dict", "items": pairs}
        if type(value).__name__ in RECORDS and type(value) is RECORDS[type(value).__name__]:
            parts = {p.name: self.value(getattr(value, p.name), f"{name}.{p.name}") for p in fields(value)}
            return {"type": type(value).__name__, "fields": parts}
        if isinstance(value, RBF | Laplacian | Linear | Polynomial | Sigmoid):
            return self.kernel(value, name)
        raise CannotBeStored(f"{type(value).__name__} has no stored form")

    def _array_value(self, array: Array, name: str) -> dict[str, Any]:
        if array.dtype.names:
            columns = {key: self.value(np.array(array[key]), f"{name}.{key}") for key in array.dtype.names}
            return {"type": "records", "fields": columns}
        return self.array(array, name) if array.dtype.kind in "biuf" else self.items(array)


def text_bytes(texts: list[Any]) -> int:
    """What an array of these texts may take."""
    return MANY_TIMES * (64 + sum(4 + len(text) for text in texts))


def least_whole(array: Array, most: int) -> Array:
    """Whole numbers of 0 .. most in as few bytes as they need."""
    return array.astype(np.min_scalar_type(int(most)))


@dataclass
class Reader:
    """Turns stored forms into values; each array of the container serves once."""

    tensors: dict[str, Array]
    spare: int = SPARE_BYTES

    def take(
        self, name: Any, what: str, kinds: str = "f", shape: tuple[int | None, ...] | None = None
    ) -> Array:
        """An array of the container, of these kinds of numbers and this shape, finite; it cannot be written to."""
        if not isinstance(name, str) or name not in self.tensors:
            raise ModelFormatError(f"{what}: there is no array {str(name)[:60]!r}, or it serves twice.")
        array = self.tensors.pop(name)
        if array.dtype.kind not in kinds:
            raise ModelFormatError(f"{what}: the array {name!r} has numbers of type {array.dtype}.")
        if shape is not None and (
            len(shape) != array.ndim
            or any(n is not None and n != m for n, m in zip(shape, array.shape, strict=True))
        ):
            raise ModelFormatError(
                f"{what}: the array {name!r} has the shape {array.shape}, which does not fit."
            )
        return array

    def size_of(self, name: str) -> int:
        """Entries of an array that has not served yet."""
        return self.tensors[name].size if name in self.tensors else 0

    def finite(self, name: Any, what: str, shape: tuple[int | None, ...]) -> Array:
        """Numbers that are all finite."""
        array = self.take(name, what, "f", shape)
        if array.dtype not in (np.float32, np.float64) or not np.isfinite(array).all():
            raise ModelFormatError(f"{what} has numbers that are not finite.")
        return array

    def short(self, stored: Any, what: str, shape: tuple[int | None, ...]) -> Array:
        """What `Writer.short` wrote, in double precision."""
        entry = checks.table(stored, what, ("type", "tensor"))
        return self.finite(entry["tensor"], what, shape).astype(np.float64)

    def finish(self, what: str) -> None:
        """Refuse arrays that nothing has used."""
        if self.tensors:
            raise ModelFormatError(
                f"{what} has the array {sorted(self.tensors)[0][:60]!r}, which nothing uses."
            )

    def rows(self, stored: Any, what: str) -> Rows:
        """An array or CSR of finite numbers, two-dimensional."""
        if not isinstance(stored, dict) or stored.get("type") != "csr":
            entry = checks.table(stored, what, ("type", "tensor"))
            return self.finite(entry["tensor"], what, (None, None))
        entry = checks.table(stored, what, ("type", "shape", "data", "indices", "indptr"))
        return self.csr(entry, self.finite(entry["data"], what, (None,)), what)

    def csr(self, entry: dict[str, Any], data: Array, what: str) -> Rows:
        """CSR rows with this data, of canonical form."""
        m, d = (checks.whole(n, f"{what}: shape") for n in checks.listed(entry["shape"], f"{what}: shape", 2))
        indptr = self.take(entry["indptr"], what, "u", (m + 1,)).astype(np.int64)
        indices = self.take(entry["indices"], what, "u", data.shape).astype(np.int64)
        rising = indptr[0] == 0 and indptr[-1] == data.size and (np.diff(indptr) >= 0).all()
        if not rising or indices.max(initial=-1) >= d or indices.min(initial=0) < 0:
            raise ModelFormatError(f"{what}: the rows of the CSR array begin or end where they cannot.")
        within = np.ones(data.size, dtype=bool)
        within[indptr[:-1][indptr[:-1] < data.size]] = False
        if (np.diff(indices)[within[1:]] <= 0).any():
            raise ModelFormatError(f"{what}: the columns of a CSR row do not rise.")
        small = max(m, d, data.size) <= np.iinfo(np.int32).max
        parts = (part.astype(np.int32 if small else np.int64) for part in (indices, indptr))
        return sparse.csr_array((data, *parts), shape=(m, d))

    def items(self, stored: Any, what: str) -> Array:
        """What `Writer.items` wrote."""
        entry = checks.table(stored, what, ("type", "dtype", "shape", "items"))
        name = checks.text(entry["dtype"], f"{what}: dtype")
        if not ITEM_DTYPE.fullmatch(name) or entry["type"] != "items":
            raise ModelFormatError(f"{what}: an array of {name[:20]!r} has no stored form.")
        try:
            dtype = np.dtype(name)
        except TypeError:
            raise ModelFormatError(f"{what}: an array of {name[:20]!r} has no stored form.") from None
        shape = [checks.whole(n, f"{what}: shape") for n in checks.listed(entry["shape"], what)]
        entries = checks.listed(entry["items"], what, math.prod(shape))
        if len(shape) > 4:
            raise ModelFormatError(f"{what} has {len(shape)} dimensions.")
        if dtype.kind == "S":
            values: list[Any] = [checks.text(item, what).encode("latin-1", "replace") for item in entries]
        else:
            values = [self.value(item, what, MAX_DEPTH) for item in entries]
        kinds = {"b": (bool,), "i": (int,), "u": (int,), "f": (float, int), "U": (str,), "S": (bytes,)}
        allowed = kinds.get(dtype.kind, (str, bool, int, float))
        if not all(type(value) in allowed for value in values):
            raise ModelFormatError(f"{what} has entries that are not of type {name}.")
        if dtype.kind in "US":
            self.spare -= max(0, len(values) * dtype.itemsize - text_bytes(values))
            if self.spare < 0:
                raise ModelFormatError(f"{what} is too large.")
        array = np.empty(len(values), dtype=dtype)
        try:
            with np.errstate(over="ignore"):
                array[:] = values
        except (ValueError, OverflowError, TypeError):
            raise ModelFormatError(f"{what} has entries that {name} cannot hold.") from None
        if dtype.kind in "iuUS" and array.tolist() != values:
            raise ModelFormatError(f"{what} has entries that {name} cannot hold.")
        return array.reshape(shape)

    def kernel(self, stored: Any, what: str) -> Any:
        """A built-in kernel."""
        name = checks.text(stored.get("name") if isinstance(stored, dict) else None, what, KERNEL_NAMES)
        kind = KERNELS[name]
        keys = [part.name for part in fields(kind)]
        entry = checks.table(stored, what, ("type", "name", *keys))
        parameters = {key: entry[key] for key in keys}
        if isinstance(parameters.get("gamma"), dict):
            parameters["gamma"] = self.short(parameters["gamma"], f"{what}: gamma", (None,))
        for key, value in parameters.items():
            if not isinstance(value, np.ndarray):
                checks.number(value, f"{what}: {key}")
        try:
            return kind(**parameters)
        except (TypeError, ValueError, OverflowError) as error:
            raise ModelFormatError(f"{what}: {checks.said(error)}") from None

    def value(self, stored: Any, what: str, depth: int = 0) -> Any:
        """A plain value."""
        if isinstance(stored, str):
            return checks.text(stored, what)
        if stored is None or isinstance(stored, bool | int | float):
            return stored
        if depth > MAX_DEPTH:
            raise ModelFormatError(f"{what} has values within values more than {MAX_DEPTH} deep.")
        if isinstance(stored, list):
            return [self.value(item, what, depth + 1) for item in stored]
        return self._typed(stored, what, depth)

    def _typed(self, stored: Any, what: str, depth: int) -> Any:
        kind = checks.text(stored.get("type"), f"{what}: type")
        if kind == "float":
            entry = checks.table(stored, what, ("type", "value"))
            return FLOATS[checks.text(entry["value"], what, FLOATS)]
        if kind == "number":
            numbers = self.items(checks.table(stored, what, ("type", "value"))["value"], what)
            if numbers.shape != (1,) or numbers.dtype.kind == "O":
                raise ModelFormatError(f"{what} is not one number.")
            return numbers[0]
        if kind == "array":
            entry = checks.table(stored, what, ("type", "tensor"), ("order",))
            order = checks.text(entry.get("order", "C"), f"{what}: order", "CF")
            return np.array(self.take(entry["tensor"], what, "biuf"), order="F" if order == "F" else "C")
        if kind == "items":
            return self.items(stored, what)
        if kind == "csr":
            return self.rows(stored, what)
        if kind == "kernel":
            return self.kernel(stored, what)
        if kind in ("tuple", "dict"):
            entries = self.value(
                checks.listed(checks.table(stored, what, ("type", "items"))["items"], what), what, depth + 1
            )
            return tuple(entries) if kind == "tuple" else _dictionary(entries, what)
        if kind == "records" or kind in RECORDS:
            parts = checks.mapping(checks.table(stored, what, ("type", "fields"))["fields"], what)
            names = [part.name for part in fields(RECORDS[kind])] if kind in RECORDS else list(parts)
            checks.table(parts, what, names)
            read = {key: self.value(parts[key], f"{what}: {key}", depth + 1) for key in names}
            return RECORDS[kind](**read) if kind in RECORDS else _records(read, what)
        raise ModelFormatError(f"{what}: the type {kind[:60]!r} is unknown.")


def _dictionary(pairs: list[Any], what: str) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for pair in pairs:
        key, value = checks.listed(pair, what, 2)
        if not isinstance(key, str | int | float | bool | np.generic):
            raise ModelFormatError(f"{what} has a key that is not a text or a number.")
        found[key] = value
    return found


def _records(columns: dict[str, Any], what: str) -> Array:
    lengths = {column.shape if isinstance(column, np.ndarray) else () for column in columns.values()}
    if len(lengths) != 1 or () in lengths or any(not name.isidentifier() for name in columns):
        raise ModelFormatError(f"{what} has columns that do not fit together.")
    made = np.empty(lengths.pop(), dtype=[(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        made[name] = column
    return made
