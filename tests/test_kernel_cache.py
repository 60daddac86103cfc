"""Kernels run wherever the cache is: nowhere, in the way, damaged or full."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MODULE = """
from policrf.compiled import kernel

@kernel
def twice(x):
    return 2 * x
"""
CALL = "import own_kernel; print(own_kernel.twice(21), own_kernel.twice.stats.cache_hits)"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A module with a kernel whose own cache folder cannot be made, as in a read-only package."""
    (tmp_path / "own_kernel.py").write_text(MODULE)
    (tmp_path / "__pycache__").write_text("in the way")
    return tmp_path


def call(home: Path, code: str = CALL, **environment: str) -> subprocess.CompletedProcess[str]:
    paths = [str(home), *filter(None, [os.environ.get("PYTHONPATH", "")])]
    settings = os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | environment
    settings.pop("NUMBA_CACHE_DIR", None)
    settings.update(environment)
    return subprocess.run(
        [sys.executable, "-B", "-c", code],
        env=settings, capture_output=True, text=True, timeout=120, cwd=home,
    )  # fmt: skip


def nowhere(home: Path, name: str) -> str:
    """A path at which no folder can be made, for root neither."""
    (home / name).write_text("a file")
    return str(home / name / "below")


def test_a_user_cache_folder_is_used_in_silence(home: Path) -> None:
    place = {"XDG_CACHE_HOME": str(home / "cache")}
    assert call(home, **place).stdout == "42 Counter()\n"
    second = call(home, **place)
    assert second.stdout.startswith("42 Counter({(int64,): 1})")
    assert "kept" not in second.stderr


def test_without_one_kernels_are_kept_among_temporary_files(home: Path) -> None:
    (home / "tmp").mkdir()
    place = {"XDG_CACHE_HOME": nowhere(home, "no"), "TMPDIR": str(home / "tmp")}
    first = call(home, **place)
    assert first.stdout == "42 Counter()\n"
    (folder,) = (home / "tmp").glob("policrf-kernels-*")
    assert folder.stat().st_mode & 0o077 == 0
    assert first.stderr.count(f"they are kept in {folder}") == 1
    assert call(home, **place).stdout.startswith("42 Counter({(int64,): 1})")


def test_a_temporary_folder_that_others_can_write_is_not_trusted(home: Path) -> None:
    folder = home / "tmp" / f"policrf-kernels-{os.getuid()}"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    found = call(home, XDG_CACHE_HOME=nowhere(home, "no"), TMPDIR=str(home / "tmp"))
    assert found.stdout == "42 Counter()\n"
    assert "every process compiles them again" in found.stderr
    assert list(folder.iterdir()) == []


def test_without_any_folder_kernels_are_compiled_again(home: Path) -> None:
    code = "import tempfile; tempfile.tempdir = '/nowhere/at/all'; " + CALL
    found = call(home, code, XDG_CACHE_HOME=nowhere(home, "no"))
    assert found.stdout == "42 Counter()\n"
    assert found.stderr.count("every process compiles them again") == 1


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "other"])
def test_a_damaged_cache_is_made_again(home: Path, suffix: str, damage: str) -> None:
    place = {"XDG_CACHE_HOME": str(home / "cache")}
    call(home, **place)
    (file,) = (home / "cache").rglob(f"*{suffix}")
    whole = file.read_bytes()
    middle = len(whole) // 2
    file.write_bytes(
        {
            "flip": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
            "cut": whole[:middle],
            "empty": b"",
            "other": b"not a cache at all",
        }[damage]
    )
    second = call(home, **place)
    assert second.stdout == "42 Counter()\n"
    assert second.stderr.count("damaged files of compiled kernels") == 1
    third = call(home, **place)
    assert third.stdout.startswith("42 Counter({(int64,): 1})")
    assert "damaged" not in third.stderr


def test_a_full_disk_is_borne(home: Path) -> None:
    code = (
        "import builtins; real = open\n"
        "def full(path, mode='r', *rest, **more):\n"
        "    if 'w' in mode and '.nb' in str(path): raise OSError(28, 'No space left on device')\n"
        "    return real(path, mode, *rest, **more)\n"
        "import numba.core.caching as c; c.open = full\n"
    ) + CALL
    found = call(home, code, XDG_CACHE_HOME=str(home / "cache"))
    assert found.stdout == "42 Counter()\n"
    assert found.stderr.count("No space left on device") == 1
