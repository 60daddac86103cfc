"""Where a run writes: looked at before any work is done, and one run at a time.

A folder is locked by `flock` on the folder itself: no file is left behind, and the lock ends with
its process, however that ends. Where folders cannot be locked (some network file systems, Windows)
nothing is: two runs in one folder are then the user's to avoid.
"""

from __future__ import annotations

import errno
import glob
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

from policrf.crf.io.files import UNFINISHED, make_folder
from policrf.errors import InUse, InvalidFile, InvalidOption

fcntl: Any = import_module("fcntl") if os.name == "posix" else None
_held: dict[Path, int] = {}  # folders that this process has claimed, by which thread


def check_output_folder(path: str | Path) -> Path:
    """The path of a folder that is there or can be made, and can be written to; makes nothing."""
    folder = Path(path)
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise InvalidFile(f"{folder}: is a file; give a folder that is to hold the results")
    _require_writable(folder, _nearest(folder))
    return folder


def check_output_file(path: str | Path) -> Path:
    """The path of a file that can be written, in a folder that is there; makes nothing."""
    file = Path(path)
    if os.path.isdir(file):
        raise InvalidFile(f"{file}: is a folder; give a file name")
    if not os.path.isdir(file.parent):
        raise InvalidFile(f"{file}: the folder {file.parent} does not exist; create it first")
    _require_writable(file, file.parent)
    return file


def _nearest(folder: Path) -> Path:
    """The folder, or the first above it that is there."""
    for place in (folder, *folder.absolute().parents):
        if os.path.isdir(place):
            return place
        if os.path.exists(place):
            raise InvalidFile(f"{folder}: cannot be made, since {place} is a file")
    return folder


def _require_writable(path: Path, folder: Path) -> None:
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"0" * 4096)  # a full disk takes an empty file
    except OSError as error:
        raise InvalidFile(
            f"{path}: cannot be written ({error.strerror or error}); choose another place"
        ) from None


@contextmanager
def claimed(path: str | Path) -> Iterator[Path]:
    """The folder for one run, made where it is missing; another process, or thread, is refused.

    What an earlier run was writing when it was killed is removed. A run may claim its folder again.
    """
    folder = make_folder(check_output_folder(path))
    key, thread = folder.resolve(), threading.get_ident()
    if _held.get(key) == thread:
        yield folder
        return
    if _held.setdefault(key, thread) != thread:
        raise _in_use(folder)
    handle = None
    try:
        handle = _locked(folder)
        remove_unfinished(folder)
        yield folder
    finally:
        del _held[key]
        if handle is not None:
            os.close(handle)


def _locked(folder: Path) -> int | None:
    if fcntl is None:
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        lock_file(handle, folder)
    except InUse:
        os.close(handle)
        raise
    return handle


def lock_file(handle: int, path: Path) -> None:
    """Lock an open file or folder until it is closed; `InUse` if another process has it."""
    if fcntl is None:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise _in_use(path) from None


def _in_use(path: Path) -> InUse:
    return InUse(f"{path}: another run is writing there; wait for it, or choose another --out")


def remove_unfinished(folder: Path, name: str = "", *, age: float = 0.0) -> None:
    """Remove what `atomic_write` was writing here when it was killed, and nothing else.

    Parameters
    ----------
    folder
        Where it was writing.
    name
        How the names of the files begin that were to be; all without.
    age
        Seconds since then, at least: where nobody has locked the folder, another run may be
        writing now.
    """
    for leftover in folder.glob(f".{glob.escape(name)}*{UNFINISHED}"):
        with suppress(OSError):
            if age <= 0 or time.time() - leftover.stat().st_mtime > age:
                leftover.unlink()


def refuse_replacing(results: Sequence[Path], inputs: Sequence[Path]) -> None:
    """Refuse results that would take the place of a file that is read."""
    places = {path.resolve() for path in inputs}
    for path in results:
        if path.resolve() in places:
            raise InvalidOption(
                f"{path} is one of the files that are read, and the results would replace it; "
                "choose another --out"
            )


def safe_name(name: str, what: str = "image") -> str:
    """A name that files are called after: a relative path that stays in its folder."""
    parts = PurePosixPath(name.replace("\\", "/")).parts if isinstance(name, str) else ()
    if not parts or ".." in parts or parts[0].endswith(("/", ":")) or "\0" in name:
        raise InvalidOption(
            f"the {what} is called {name!r}; files are named after it, so it must be a plain name, "
            "without .. and not an absolute path"
        )
    return name
