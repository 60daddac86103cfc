"""Text files as people and programs leave them, and the edge of other people's parsers.

A file is UTF-8, with or without a mark in front (BOM), and no larger than its limit; anything else
is one error that names it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from policrf import limits
from policrf.crf.io.files import existing_file
from policrf.errors import InvalidFile, PolicrfError, TooLarge
from policrf.interrupts import interrupt_in


def require_size(path: str | Path, most: int, what: str = "the file") -> Path:
    """The path of a file that is there and not larger than `most` bytes."""
    try:
        file = existing_file(path)
        size = file.stat().st_size
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be read ({error.strerror or error})") from None
    if size > most:
        raise TooLarge(
            f"{path}: {what} has {limits.shown_bytes(size)}, more than the limit of "
            f"{limits.shown_bytes(most)}"
        )
    return file


def read_bytes(path: str | Path, what: str = "the file", *, most: int | None = None) -> bytes:
    """All of a file that is not larger than `most` bytes."""
    try:
        most = limits.TEXT_BYTES if most is None else most
        return require_size(path, most, what).read_bytes()
    except OSError as error:
        raise InvalidFile(f"{path}: {what} cannot be read ({error.strerror or error})") from None


def read_text(path: str | Path, what: str = "the file", *, most: int | None = None) -> str:
    """All of a text file.

    Parameters
    ----------
    path
        The file.
    what
        What it should be, for errors, such as "the energy".
    most
        Its largest size in bytes; `limits.TEXT_BYTES` unless told.
    """
    content = read_bytes(path, what, most=most)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidFile(
            f"{path}: {what} cannot be read, byte {error.start} is no UTF-8 text; save it as UTF-8"
        ) from None


def whole_lines(content: bytes) -> list[bytes]:
    """The lines that end in a line break: what a kill has cut short, even inside a letter, is not.

    >>> whole_lines(b"one\\ntwo\\nthr")
    [b'one', b'two']
    """
    return content.split(b"\n")[:-1]


@contextmanager
def parsing(path: str | Path, sentence: str) -> Iterator[None]:
    """Around one call of somebody else's parser: whatever it raises names the file.

    For libraries whose damaged inputs end in exceptions of any kind (PIL, PyYAML, pyarrow, NumPy's
    headers, zipfile). What is inside should be their calls only: own mistakes stay visible.

    Parameters
    ----------
    path
        The file.
    sentence
        What is wrong with it then, such as "not a readable picture".
    """
    try:
        yield
    except PolicrfError:
        raise
    except RecursionError:
        raise InvalidFile(f"{path}: {sentence} (it is nested too deeply)") from None
    except MemoryError as error:
        raise TooLarge(f"{path}: does not fit in memory {str(error)[:200]}".rstrip()) from None
    except Exception as error:
        if (interrupt := interrupt_in(error)) is not None:
            raise interrupt from None
        reason = " ".join(str(error).replace(str(path), "the file").split())[:200]
        raise InvalidFile(f"{path}: {sentence} ({reason or type(error).__name__})") from None
