"""Reading and writing safetensors files, without torch and without the safetensors package.

The format: 8 bytes with the length of a JSON header (little-endian), the header (name -> dtype,
shape, offsets, and "__metadata__": strings), then the tensors' bytes, one after the other. Other
tools that know safetensors can open the file. Among the strings is a checksum of everything else;
files of other tools, which have none, are read too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policrf import limits
from policrf.crf.io.checksums import KEY, array_digest, require_same
from policrf.crf.io.files import atomic_write, make_folder
from policrf.crf.io.text import parsing, require_size
from policrf.errors import InvalidFile

Tensors = Mapping[str, NDArray[Any]]
DTYPES = {
    "F32": "<f4", "F64": "<f8", "I64": "<i8", "I32": "<i4", "I16": "<i2", "BOOL": "|b1",
}  # fmt: skip
_LARGEST_HEADER = 10_000_000


def write_safetensors(path: Path, tensors: Tensors, metadata: dict[str, str]) -> None:
    """Write the file whole or not at all; the header is padded so that the data is aligned."""
    codes = {np.dtype(text): code for code, text in DTYPES.items()}
    sealed = metadata | {KEY: array_digest(tensors, metadata)}
    header: dict[str, Any] = {"__metadata__": sealed}
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


def read_safetensors(
    path: Path, *, sealed: bool = False
) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """What `write_safetensors` wrote; the arrays are copies that may be changed.

    Parameters
    ----------
    path
        The file.
    sealed
        Whether one without a checksum is refused.
    """
    with parsing(path, "the file cannot be read"):
        data = require_size(path, limits.ARRAY_BYTES).read_bytes()
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > min(_LARGEST_HEADER, len(data) - 8):
        raise InvalidFile(f"{path} is not a safetensors file, or it is cut off")
    with parsing(path, "not a safetensors file, or damaged"):
        header = json.loads(data[8 : 8 + size])
    if not isinstance(header, dict):
        raise InvalidFile(f"{path} is not a safetensors file: its header is no JSON object")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise InvalidFile(f"{path} is damaged: its metadata are not texts")
    body = memoryview(data)[8 + size :]
    tensors: dict[str, NDArray[Any]] = {}
    for name, start, stop, entry in _places(header, len(body), path):
        array = np.frombuffer(body[start:stop], DTYPES[entry["dtype"]])
        tensors[name] = array.reshape(entry["shape"]).copy()
    if sealed or KEY in metadata:
        stored = metadata.pop(KEY, None)
        require_same(stored, array_digest(tensors, metadata), path, "get it or make it again")
    return tensors, metadata


def _places(
    header: dict[str, Any], size: int, path: Path
) -> list[tuple[str, int, int, dict[str, Any]]]:
    """Where every tensor is, in the header's order; together they are all `size` bytes, once."""
    places = []
    for name, entry in header.items():
        if not isinstance(entry, dict) or not set(entry) == {"dtype", "shape", "data_offsets"}:
            raise InvalidFile(f"{path} is damaged: tensor {name!r} lacks dtype, shape or place")
        if entry["dtype"] not in list(DTYPES):
            raise InvalidFile(f"{path}: tensor {name} is {entry['dtype']}, which is not known")
        shape, offsets = entry["shape"], entry["data_offsets"]
        if not _are_counts(shape) or not _are_counts(offsets) or len(offsets) != 2:
            raise InvalidFile(f"{path} is damaged: the shape or place of tensor {name!r} is wrong")
        wanted = math.prod(shape) * np.dtype(DTYPES[entry["dtype"]]).itemsize
        if offsets[1] - offsets[0] != wanted:
            raise InvalidFile(
                f"{path} is damaged: tensor {name!r} has {offsets[1] - offsets[0]} bytes for a "
                f"shape of {wanted}"
            )
        places.append((name, offsets[0], offsets[1], entry))
    end = 0
    for name, start, stop, _ in sorted(places, key=lambda place: place[1:3]):
        if start != end:
            raise InvalidFile(
                f"{path} is damaged: tensor {name!r} overlaps another or leaves a gap"
            )
        end = stop
    if end != size:
        raise InvalidFile(f"{path} is damaged: it has {size} bytes of tensors, its header {end}")
    return places


def _are_counts(values: Any) -> bool:
    return isinstance(values, list) and all(type(v) is int and 0 <= v < 2**48 for v in values)
