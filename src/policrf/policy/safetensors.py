"""Reading and writing safetensors files, without torch and without the safetensors package.

The format: 8 bytes with the length of a JSON header (little-endian), the header (name -> dtype,
shape, offsets, and "__metadata__": strings), then the tensors' bytes. Other tools that know
safetensors can open the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policrf.crf.io.files import atomic_write, make_folder
from policrf.errors import InvalidFile

Tensors = Mapping[str, NDArray[Any]]
DTYPES = {
    "F32": "<f4", "F64": "<f8", "I64": "<i8", "I32": "<i4", "I16": "<i2", "BOOL": "|b1",
}  # fmt: skip
_LARGEST_HEADER = 10_000_000


def write_safetensors(path: Path, tensors: Tensors, metadata: dict[str, str]) -> None:
    """Write the file whole or not at all; the header is padded so that the data is aligned."""
    codes = {np.dtype(text): code for code, text in DTYPES.items()}
    header: dict[str, Any] = {"__metadata__": metadata}
    offset = 0
    for name, array in tensors.items():
        header[name] = {
            "dtype": codes[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    make_folder(path.parent)
    with atomic_write(path) as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for array in tensors.values():
            file.write(array.tobytes())


def read_safetensors(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """What `write_safetensors` wrote; the arrays are copies that may be changed."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > min(_LARGEST_HEADER, len(data) - 8):
        raise InvalidFile(f"{path} is not a safetensors file, or it is cut off")
    try:
        header = json.loads(data[8 : 8 + size])
        metadata = header.pop("__metadata__", {})
        tensors = {}
        for name, entry in header.items():
            if entry["dtype"] not in DTYPES:
                raise InvalidFile(f"{path}: tensor {name} is {entry['dtype']}, which is not known")
            start, stop = (8 + size + k for k in entry["data_offsets"])
            array = np.frombuffer(data[start:stop], DTYPES[entry["dtype"]])
            tensors[name] = array.reshape(entry["shape"]).copy()
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidFile(
            f"{path} is not a safetensors file, or it is damaged ({error})"
        ) from error
    return tensors, metadata
