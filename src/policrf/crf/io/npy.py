"""NumPy's .npy and .npz files: headers are held against sizes before anything is allocated.

An array's header says how many bytes follow. Here they must be exactly those that the file (or the
member of the archive) has, and no more than the limit: a few bytes cannot ask for gigabytes.
Objects (pickles) are refused, encrypted and overlapping members too.
"""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from policrf import limits
from policrf.crf.io.files import existing_file
from policrf.crf.io.text import parsing
from policrf.errors import InvalidFile, TooLarge

_ENCRYPTED = 0x1  # a flag of a member
_PIECE = 2**24  # bytes that are read at a time
_HEADERS = {
    (1, 0): npy_format.read_array_header_1_0,
    (2, 0): npy_format.read_array_header_2_0,
}


def read_arrays(
    path: str | Path, what: str = "an .npy or .npz file", *, content: bytes | None = None
) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz by name; of an .npy its one array, under the empty name.

    Parameters
    ----------
    path
        The file.
    what
        What it should be, for errors.
    content
        What it holds, if that has been read already, such as from a packed file.
    """
    with parsing(path, f"not {what}, or damaged"), _opened(path, content) as stream:
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        if stream.read(len(npy_format.MAGIC_PREFIX)) != npy_format.MAGIC_PREFIX:
            return _read_archive(stream, size, path)
        stream.seek(0)
        return {"": read_array(stream, size, str(path))}


def _opened(path: str | Path, content: bytes | None) -> IO[bytes]:
    return open(existing_file(path), "rb") if content is None else io.BytesIO(content)


def _read_archive(file: IO[bytes], size: int, path: str | Path) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        _check_members(members, size, path)
        for member in members:
            name = member.filename.removesuffix(".npy")
            where = f"{path}: the field {name!r}"
            with parsing(path, f"the field {name!r} is damaged"), archive.open(member) as stream:
                if name in arrays:
                    raise InvalidFile(f"{where} is there twice")
                arrays[name] = read_array(stream, member.file_size, where)
                if stream.read(1):  # also makes zipfile compare its own checksum
                    raise InvalidFile(f"{where} is longer than its archive says")
    return arrays


def _check_members(members: list[zipfile.ZipInfo], size: int, path: str | Path) -> None:
    total = sum(member.file_size for member in members)
    if total > min(limits.ARRAY_BYTES, limits.free_bytes() / 2):
        raise TooLarge(
            f"{path}: its arrays take {limits.shown_bytes(total)}, more than the limit of "
            f"{limits.shown_bytes(limits.ARRAY_BYTES)} or half of the memory that is free"
        )
    if sum(member.compress_size for member in members) > size:
        raise InvalidFile(f"{path}: damaged, its parts overlap")
    for member in members:
        if member.flag_bits & _ENCRYPTED:
            raise InvalidFile(f"{path}: {member.filename!r} is encrypted; save it without password")


def read_array(stream: IO[bytes], size: int, where: str) -> NDArray[Any]:
    """The array of a stream of `size` bytes, which are its header and its numbers exactly."""
    version = npy_format.read_magic(stream)
    if version not in _HEADERS:
        raise InvalidFile(f"{where} has version {version} of NumPy's format, which is not known")
    shape, by_columns, dtype = _HEADERS[version](stream)
    if dtype.hasobject:
        raise InvalidFile(f"{where} is damaged or holds Python objects, which are not read")
    if any(side < 0 for side in shape):
        raise InvalidFile(f"{where} is damaged: its shape is {list(shape)}")
    bytes_needed = math.prod(shape) * dtype.itemsize
    left = size - stream.tell()
    if bytes_needed != left:
        raise InvalidFile(
            f"{where} is damaged: its header asks for {limits.shown_bytes(bytes_needed)}, "
            f"{limits.shown_bytes(left)} follow"
        )
    if bytes_needed > min(limits.ARRAY_BYTES, limits.free_bytes() / 2):
        raise TooLarge(
            f"{where} takes {limits.shown_bytes(bytes_needed)}, more than the limit of "
            f"{limits.shown_bytes(limits.ARRAY_BYTES)} or half of the memory that is free"
        )
    content = np.empty(bytes_needed, np.uint8)
    for start in range(0, bytes_needed, _PIECE):
        piece = stream.read(min(_PIECE, bytes_needed - start))
        content[start : start + len(piece)] = np.frombuffer(piece, np.uint8)
        if len(piece) < min(_PIECE, bytes_needed - start):
            raise InvalidFile(f"{where} is damaged: it is cut off")
    if dtype.itemsize == 0:
        return np.zeros(shape, dtype)
    return content.view(dtype).reshape(shape, order="F" if by_columns else "C")
