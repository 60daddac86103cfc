"""Where compiled kernels are kept, whatever the disk is like: a cache may never stop the work.

numba keeps them beside their source or, where that cannot be written, in the user's cache folder.
Where neither can be, they go to a folder of this user's among the temporary files; where that is
impossible too, every process compiles its own. Each file ends with a checksum: machine code with
a wrong byte is compiled again, not run. What fails is said once.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    NullCache,
    _CacheLocator,
    _SourceFileBackedLocatorMixin,
)

from policrf.ahead.foreman import missed
from policrf.interrupts import interrupt_in

_MARK = b"policrf-sha256:"
_TRAILER = len(_MARK) + hashlib.sha256().digest_size


def open_cache(function: Callable[..., Any]) -> Any:
    """The cache of a function that is to be compiled; one that keeps nothing where none can be."""
    try:
        return _KernelCache(function)
    except (RuntimeError, OSError):  # numba: no place to write to
        _say("no folder for compiled kernels can be written; every process compiles them again")
        return NullCache()


@cache
def _say(text: str) -> None:
    """Once a process."""
    print(f"policrf: {text}", file=sys.stderr, flush=True)


def temporary_folder() -> Path | None:
    """A folder that this user alone can write to: what is in it is run. Or None."""
    with suppress(OSError):
        user = os.getuid() if hasattr(os, "getuid") else "user"
        folder = Path(tempfile.gettempdir()) / f"policrf-kernels-{user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        theirs = hasattr(os, "getuid") and (
            found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        )
        if stat.S_ISDIR(found.st_mode) and not theirs:
            return folder
    return None


class _TemporaryLocator(_SourceFileBackedLocatorMixin, _CacheLocator):
    """Puts the files under `temporary_folder`; numba asks it after its own."""

    def __init__(self, function: Any, file: str) -> None:
        self._py_file = file
        self._lineno = function.__code__.co_firstlineno
        self._cache_path = str(self.folder / self.get_suitable_cache_subpath(file))

    def get_cache_path(self) -> str:
        """The folder of this function's files."""
        return self._cache_path

    @classmethod
    def from_function(cls, function: Any, file: str) -> Any:
        """A locator, or None where there is no such folder."""
        folder = temporary_folder()
        if folder is None or not os.path.exists(file):
            return None
        cls.folder = folder
        found = cls(function, file)
        try:
            found.ensure_cache_path()
        except OSError:
            return None
        _say(
            "compiled kernels cannot be kept beside the package nor in the user's cache folder; "
            f"they are kept in {folder}"
        )
        return found

    folder: Path


class _Implementation(CompileResultCacheImpl):
    _locator_classes = [*CompileResultCacheImpl._locator_classes, _TemporaryLocator]  # noqa: RUF012


class _Sealing:
    """A file for writing that knows the checksum of what was written."""

    def __init__(self, file: Any) -> None:
        self._file, self._digest = file, hashlib.sha256()

    def write(self, content: bytes) -> None:
        """As a file does."""
        self._digest.update(content)
        self._file.write(content)

    def seal(self) -> None:
        """Write the checksum."""
        self._file.write(_MARK + self._digest.digest())


class _SealedFile(IndexDataCacheFile):
    """numba's index and data files with a checksum behind them, which plain numba passes over."""

    def _load_index(self) -> Any:
        if os.path.exists(self._index_path):
            _verify(self._index_path)
        return super()._load_index()

    def _load_data(self, name: str) -> Any:
        _verify(self._data_path(name))
        return super()._load_data(name)

    @contextmanager
    def _open_for_write(self, path: str) -> Iterator[Any]:
        with super()._open_for_write(path) as file:
            sealing = _Sealing(file)
            yield sealing
            sealing.seal()


def _verify(path: str) -> None:
    """Refuse a file whose checksum is wrong; one that plain numba wrote has none."""
    content = Path(path).read_bytes()
    body, mark = content[:-_TRAILER], content[-_TRAILER : len(_MARK) - _TRAILER]
    if mark == _MARK and hashlib.sha256(body).digest() != content[len(_MARK) - _TRAILER :]:
        raise ValueError("the checksum is wrong")


class _KernelCache(FunctionCache):
    """numba's cache of one function; damaged files are misses, and a full disk is borne."""

    _impl_class = _Implementation

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        there = self._cache_file
        self._cache_file = _SealedFile(
            self._cache_path, there._index_name.removesuffix(".nbi"), there._source_stamp
        )

    def load_overload(self, signature: Any, context: Any) -> Any:
        """What is kept for a signature, or None; another process may be compiling it just now."""
        try:
            found = super().load_overload(signature, context)
            if found is None and missed(self._py_func, signature):
                found = super().load_overload(signature, context)
            return found
        except Exception as error:  # pickles fail in every way
            if (interrupt := interrupt_in(error)) is not None:
                raise interrupt from None
            _say(
                f"damaged files of compiled kernels in {self._cache_path} are made again ({error})"
            )
            with suppress(OSError):
                os.unlink(self._cache_file._index_path)
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep what was compiled, if that is possible."""
        try:
            super().save_overload(signature, compiled)
        except OSError as error:
            _say(
                f"compiled kernels cannot be kept in {self._cache_path} "
                f"({error.strerror or error}); this goes on without"
            )
