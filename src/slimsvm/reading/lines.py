"""The lines of a text file, one after the other, each of bounded length and in the encoding that was said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from .table import wrong

# A line that is longer is no row of a table: it is refused before it is read.
MOST_BYTES_A_LINE = 2**24
UTF8_BOM = b"\xef\xbb\xbf"
OTHER_BOMS = (b"\xff\xfe", b"\xfe\xff")


def text_lines(stream: IO[bytes], source: str, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Number and text of every line.

    Parameters
    ----------
    stream : binary file
    source : str
        The file, as messages call it.
    encoding : str, default="utf-8"
    """
    number = 0
    while raw := stream.readline(MOST_BYTES_A_LINE + 1):
        number += 1
        if len(raw) > MOST_BYTES_A_LINE:
            raise wrong(
                source, number, f"the line is longer than {MOST_BYTES_A_LINE:,} bytes; is it a table of text?"
            )
        if number == 1:
            if raw.startswith(OTHER_BOMS):
                raise wrong(source, 1, "the file is in UTF-16: save it as UTF-8.")
            raw = raw.removeprefix(UTF8_BOM)
        if b"\0" in raw:
            raise wrong(source, number, "the line has a byte 0, so it is no text: is it a binary file?")
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError as error:
            raise wrong(
                source, number,
                f"byte {error.start + 1} of the line (0x{raw[error.start]:02x}) is not {encoding.upper()}: save the "
                "file as UTF-8, or say what it is with --encoding, for instance latin-1.",
            ) from None  # fmt: skip
        except LookupError:
            raise wrong(source, None, f"there is no encoding of the name {encoding!r}.") from None
        yield number, text
