"""Grey pictures as PNG within the page."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

from ..rows import Array


def grey_png(pixels: Array) -> str:  # (height, width), 0 to 255
    """A picture as the address of an image.

    Parameters
    ----------
    pixels : uint8 array of shape (height, width)
        0 is black.

    Examples
    --------
    >>> grey_png(np.zeros((2, 2), dtype=np.uint8))[:22]
    'data:image/png;base64,'
    """
    height, width = pixels.shape
    lines = np.zeros((height, width + 1), dtype=np.uint8)  # each begins with the number of its filter: none
    lines[:, 1:] = pixels
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    content = b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(kind, data)
        for kind, data in ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    )
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def sheet(images: Array, low: float, high: float, columns: int) -> Array:  # (n, h, w) -> one picture
    """Images side by side with a line between them: dark where values are high."""
    n, h, w = images.shape
    rows = -(-n // columns)
    out = np.full((rows * (h + 1) - 1, columns * (w + 1) - 1), 255, dtype=np.uint8)
    for k, image in enumerate(shades(images, low, high)):
        i, j = divmod(k, columns)
        out[i * (h + 1) : i * (h + 1) + h, j * (w + 1) : j * (w + 1) + w] = image
    return out


def shades(values: Array, low: float, high: float) -> Array:
    """Values as shades of grey, white for low ones."""
    share = np.clip((values - low) / ((high - low) or 1.0), 0.0, 1.0)
    return np.asarray(np.round(255 * (1 - share)), dtype=np.uint8)
