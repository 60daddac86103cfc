"""PNG files from arrays with the standard library alone, for pages of a plain install."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray


def encode_png(image: NDArray[np.uint8]) -> bytes:
    """An RGB image `[H, W, 3]`, or a mask of grey levels `[H, W]`, as PNG bytes."""
    height, width = image.shape[:2]
    rows = np.zeros((height, 1 + image.size // height), np.uint8)  # filter byte 0, then the pixels
    rows[:, 1:] = image.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2 if image.ndim == 3 else 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(kind, data)
        for kind, data in (
            (b"IHDR", header),
            (b"IDAT", zlib.compress(rows.tobytes(), 9)),
            (b"IEND", b""),
        )
    )


def data_url(image: NDArray[np.uint8]) -> str:
    """The image as a `data:` address for an <img> element."""
    return "data:image/png;base64," + base64.b64encode(encode_png(image)).decode()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
