"""The words of C: numbers, tables, and pieces of code with places to fill in."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from string import Template
from typing import Any

import numpy as np

from ...rows import Array

WIDTH = 100
BYTES = {
    "float": 4, "double": 8, "int8_t": 1, "uint8_t": 1, "int16_t": 2, "uint16_t": 2, "int32_t": 4, "uint32_t": 4,
    "char": 1,
}  # fmt: skip


def literal(value: Any, ctype: str) -> str:
    """A number as C writes it, with as many digits as it needs."""
    if ctype not in ("float", "double"):
        return str(int(value))
    text = str(np.float32(value)) if ctype == "float" else repr(float(value))
    text = text if any(mark in text for mark in ".e") else text + ".0"
    return text + ("f" if ctype == "float" else "")


def quoted(text: str) -> str:
    """Text as a C string, bytes beyond ASCII as octal numbers."""
    plain = {ord("\\"): "\\\\", ord('"'): '\\"', ord("?"): "\\?"}
    return '"' + "".join(
        plain.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}") for byte in text.encode()
    ) + '"'  # fmt: skip


def comment(text: str) -> str:
    """Text as it may stand inside a C comment: in ASCII, in one line, and without the end of the comment."""
    return text.encode("unicode_escape").decode().replace("*/", "* /").replace("/*", "/ *")


@dataclass
class Code:
    """A header while it is written: its tables, its functions, and what they share.

    Parameters
    ----------
    name : str
        What all names begin with.
    real : {"float", "double"}
        What rows and outputs are.
    progmem : bool
        Whether tables are read from the flash of an AVR.
    """

    name: str
    real: str
    progmem: bool = False
    tables: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    flash_bytes: int = 0
    ram_bytes: int = 0

    @property
    def largest(self) -> str:
        """The largest number, as C calls it."""
        return "FLT_MAX" if self.real == "float" else "DBL_MAX"

    def number(self, value: float) -> str:
        """A number in the type of rows and outputs."""
        return literal(value, self.real)

    def table(self, name: str, values: Any, ctype: str | None = None, *, counted: bool = True) -> None:
        """Add an array of constants; an empty one has a zero that nobody reads."""
        ctype = ctype or self.real
        numbers = np.ravel(np.asarray(values)).tolist() or [0]
        if self.progmem and ctype == self.real and not any(numbers):
            numbers[0] = -0.0  # avr-gcc takes a table of zeros for one without a value
        body = textwrap.fill(", ".join(literal(value, ctype) for value in numbers), WIDTH - 4)
        place = f" {self.name.upper()}_FLASH" if self.progmem else ""
        full = f"static const {ctype} {self.name}_{name}[{len(numbers)}]{place} = {{\n"
        self.tables.append(full + textwrap.indent(body, "    ") + "\n};")
        self.flash_bytes += len(numbers) * BYTES[ctype] * counted

    def read(self, pointer: str, ctype: str | None = None) -> str:
        """An entry of a table, by a pointer to it."""
        ctype = ctype or self.real
        if not self.progmem:
            return f"*({pointer})" if any(mark in pointer for mark in " +") else f"*{pointer}"
        if ctype in ("float", "double"):
            return f"{self.name.upper()}_REAL({pointer})"
        return f"({ctype}){self.name.upper()}_READ{BYTES[ctype] * 8}({pointer})"

    def entry(self, name: str, index: str | int = 0, ctype: str | None = None) -> str:
        """An entry of a table, by its number."""
        if not self.progmem:
            return f"{self.name}_{name}[{index}]"
        return self.read(f"{self.name}_{name} + {index}", ctype)

    def buffer(self, n: int, ctype: str | None = None) -> str:
        """Count an array on the stack; its type is returned."""
        self.ram_bytes += n * BYTES[ctype or self.real]
        return ctype or self.real

    def fill(self, text: str, **words: Any) -> str:
        """A piece of code with its places filled in: $name, $NAME, $real, $max and those given."""
        common = {"name": self.name, "NAME": self.name.upper(), "real": self.real, "max": self.largest}
        filled = Template(textwrap.dedent(text).strip("\n")).substitute({**common, **words})
        # places may stay empty; only functions are apart from each other
        return "\n".join(
            line
            for before, line in zip(["", *filled.splitlines()], filled.splitlines(), strict=False)
            if line.strip() or before == "}"
        )

    def add(self, text: str, **words: Any) -> None:
        """Add a function."""
        self.functions.append(self.fill(text, **words))


def indented(text: str, levels: int = 1) -> str:
    """Lines moved to the right."""
    return textwrap.indent(text, "    " * levels)


def smallest_unsigned(largest: int) -> str:
    """The shortest type for numbers from 0 to this."""
    return "uint8_t" if largest < 2**8 else "uint16_t" if largest < 2**16 else "uint32_t"


def dense_rows(rows: Any) -> Array:
    """Vectors or whole numbers as an array."""
    return rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
