"""Writing a file so that it is there whole or not at all, and reading it with clear errors."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from policrf.errors import InvalidFile

UNFINISHED = ".unfinished"  # how files end that are being written; `outputs.remove_unfinished`


@contextmanager
def atomic_write(path: str | Path, mode: str = "wb") -> Iterator[IO[bytes]]:
    """Write beside `path`, then rename: a kill or a full disk leaves the old file untouched."""
    target = Path(path)
    if not target.parent.is_dir():
        raise InvalidFile(f"{target}: the folder {target.parent} does not exist; create it first")
    if target.is_dir():
        raise InvalidFile(f"{target}: is a folder; give a file name")
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(UNFINISHED, f".{target.name[:200]}.", target.parent)
        with os.fdopen(handle, mode) as file:
            yield file
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except OSError as error:
        _remove(temporary)
        raise InvalidFile(f"{target}: cannot be written ({error.strerror or error})") from error
    except BaseException:
        _remove(temporary)
        raise


def make_folder(path: str | Path) -> Path:
    """The folder, made with its parents where it is missing."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a null byte
        reason = getattr(error, "strerror", None) or error
        raise InvalidFile(f"{folder}: cannot be made ({reason})") from None
    return folder


def existing_file(path: str | Path) -> Path:
    """The path, if a readable file is there."""
    file = Path(path)
    try:
        there, regular = file.exists(), file.is_file()
    except OSError as error:  # such as a name that is too long
        raise InvalidFile(f"{str(file)[:200]}: {error.strerror or error}") from None
    if not there:
        raise InvalidFile(f"{file}: there is no such file")
    if not regular:
        raise InvalidFile(f"{file}: is not a file")
    return file


def shown_name(name: str) -> str:
    """A file's name as text: bytes that are no UTF-8 are written out.

    >>> shown_name("caf\\udce9")  # what Python makes of the Latin-1 bytes of café
    'caf\\\\xe9'
    """
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _remove(path: str) -> None:
    if os.path.exists(path):
        os.unlink(path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
