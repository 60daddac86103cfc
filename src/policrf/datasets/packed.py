"""Arrays as compressed bytes: NumPy's own format, under Zstandard at its quickest level.

Worker processes pack what they send, so that the process that writes holds and copies little.
"""

from __future__ import annotations

import io
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policrf import limits
from policrf.crf.io.npy import read_array
from policrf.optional import need

_LARGEST_RATIO = 200_000  # of Zstandard; a page of one colour has some 10,000
_SIZE = 8  # bytes in front that say how many there are without compression


def pack(values: NDArray[Any]) -> bytes:
    """An array of any shape as bytes.

    >>> unpack(pack(np.arange(6).reshape(2, 3))).tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    file = io.BytesIO()
    np.save(file, values, allow_pickle=False)
    content = file.getvalue()
    packed: bytes = _codec().compress(content, asbytes=True)
    return len(content).to_bytes(_SIZE, "little") + packed


def unpack(content: bytes) -> NDArray[Any]:
    """What `pack` was given; a ValueError where the bytes are not of that form."""
    size = int.from_bytes(content[:_SIZE], "little")
    if size > limits.ARRAY_BYTES or size > (len(content) - _SIZE) * _LARGEST_RATIO:
        raise ValueError(f"not a packed array (it asks for {size} bytes)")
    try:
        plain = _codec().decompress(content[_SIZE:], decompressed_size=size, asbytes=True)
    except (OSError, EOFError, MemoryError, OverflowError, SyntaxError) as error:
        raise ValueError(f"not a packed array ({error})") from None
    return read_array(io.BytesIO(plain), len(plain), "a packed array")


@cache
def _codec() -> Any:
    return need("pyarrow", "pyarrow").Codec("zstd", compression_level=1)
