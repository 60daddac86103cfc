"""Model files as they lie on disk or packed: `.gz`, `.xz` and `.bz2` after any format's ending."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from policrf.crf.io.files import atomic_write, existing_file
from policrf.errors import InvalidFile, TooLarge
from policrf.limits import free_bytes

PACKED = (".gz", ".xz", ".bz2")
CHUNK = 2**20
SHARE = 0.25  # of the free memory that the bytes of a file may take


def plain_ending(path: str | Path) -> str:
    """The ending that says the format, in small letters, without that of a compression.

    >>> plain_ending("grid.UAI.xz")
    '.uai'
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def read_bytes(path: str | Path) -> bytes:
    """What the file holds, unpacked; refused once it outgrows a share of the free memory."""
    file, limit = existing_file(path), SHARE * free_bytes()
    parts, size = [], 0
    try:
        with _unpacked(file) as stream:
            while part := stream.read(CHUNK):
                size += len(part)
                if size > limit:
                    raise TooLarge(
                        f"{path}: holds more than {limit / 2**30:.1f} GiB, a quarter of the memory "
                        "that is free"
                    )
                parts.append(part)
    except (lzma.LZMAError, EOFError, zlib.error, gzip.BadGzipFile, OSError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise InvalidFile(f"{path}: cannot be read ({reason})") from None
    return b"".join(parts)


def read_text(path: str | Path, what: str) -> str:
    """The text of a file; one that is not text is no `what`."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidFile(f"{path}: not a text file; {what} is plain text") from None


def _unpacked(file: Path) -> IO[bytes]:
    opened: Any = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}.get(file.suffix.lower())
    stream: IO[bytes] = file.open("rb") if opened is None else opened(file, "rb")
    return stream


@contextmanager
def packed_write(path: str | Path) -> Iterator[IO[bytes]]:
    """`atomic_write`, packed as the ending says; the same bytes for the same model."""
    with atomic_write(path) as file:
        packer: Any = None
        match Path(path).suffix.lower():
            case ".gz":
                packer = gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)
            case ".xz":
                packer = lzma.LZMAFile(file, "wb")  # noqa: SIM115
            case ".bz2":
                packer = bz2.BZ2File(file, "wb")
        if packer is None:
            yield file
            return
        with io.BufferedWriter(packer) as buffered:
            yield buffered
