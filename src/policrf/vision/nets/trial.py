"""A net file is opened and run once in a process of its own before it is opened here.

The libraries behind nets (ai-edge-litert, onnxruntime, OpenCV) are made for whole files: over a
damaged one they may divide by zero, read outside their memory or ask for all of it. In a process of
its own that is one sentence. What has passed is remembered by its content and by the library's
version, in the user's cache folder where there is one: a net is tried once.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from policrf import limits
from policrf.errors import InvalidFile, PolicrfError, TooLarge

Role = Literal["net", "detector"]
CPU_SECONDS, PATIENCE = 120, 900  # of the processor, and by the clock of a busy machine
REFUSED, NO_MEMORY = 3, 4  # exit codes: an error of ours, which opening it here gives again; memory
LIBRARIES = {".tflite": "ai-edge-litert", ".onnx": "onnxruntime", ".cfg": "opencv-python-headless"}
PR_SET_PDEATHSIG = 1  # of Linux's prctl
_PIECE = 2**20

_passed: set[str] = set()  # digests


def try_apart(path: Path, role: Role) -> None:
    """Refuse a file over which its library crashes, hangs or takes all memory."""
    digest = _digest(path, role)
    if digest in _passed or _remembered(digest):
        return
    library = LIBRARIES.get(path.suffix, "its library")
    try:
        code = run_apart(path, role)
    except subprocess.TimeoutExpired:
        code = -int(getattr(signal, "SIGXCPU", signal.SIGTERM))
    if code == NO_MEMORY:
        raise TooLarge(f"{path}: this net does not fit in memory, or is damaged")
    if code not in (0, REFUSED):
        why = f"signal {-code}" if code < 0 else f"exit code {code}"
        if code == -int(getattr(signal, "SIGXCPU", 0)):
            why = "it does not come to an end"
        raise InvalidFile(f"{path}: {library} crashes over it ({why}); the net is damaged")
    if code == 0:
        _passed.add(digest)
        _remember(digest)


def run_apart(path: Path, role: Role) -> int:
    """The exit code of a process that opens the file and runs it once; minus a signal's number."""
    package = str(Path(__file__).resolve().parents[3])
    paths = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    arguments = [str(path.absolute()), role, str(os.getpid())]
    return subprocess.run(
        [sys.executable, "-m", "policrf.vision.nets.trial", *arguments],
        env=os.environ | {"PYTHONPATH": paths},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is ours to hear, and ends it
        timeout=PATIENCE,
        check=False,
    ).returncode


def attempt(path: Path, role: Role) -> int:
    """Open the file and run it on a grey image, here; the exit code."""
    import numpy as np

    from policrf.vision.nets.detectors import open_detector
    from policrf.vision.nets.segmentation_net import open_net

    try:
        if role == "detector":
            open_detector(path, trial=False).detect(np.full((64, 64, 3), 128, np.uint8), 0.5)
        else:
            net = open_net(path, trial=False)
            grey = np.full((*(net.input_size or (64, 64)), 3), 128, np.uint8)
            names = list(net.tensors())
            net.run(grey, names if any(net.tensors().values()) else names[-1:])
    except (TooLarge, MemoryError):
        return NO_MEMORY
    except PolicrfError:
        return REFUSED
    return 0


def bound_process(room: int) -> None:
    """No more than `room` bytes beyond what this process has, and no more than its time."""
    with suppress(ImportError, OSError, ValueError):  # Windows has neither
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + room, used + room))


def room_for(path: Path) -> int:
    """Bytes that opening and running a net may take."""
    return limits.ARRAY_BYTES + 16 * path.stat().st_size


def _digest(path: Path, role: Role) -> str:
    library = LIBRARIES.get(path.suffix, "")
    try:
        told = version(library) if library else ""
    except PackageNotFoundError:
        told = ""
    digest = hashlib.sha256(f"{role} {library} {told}".encode())
    for file in (path, path.with_suffix(".weights")) if path.suffix == ".cfg" else (path,):
        try:
            with file.open("rb") as stream:
                while piece := stream.read(_PIECE):
                    digest.update(piece)
        except OSError as error:
            raise InvalidFile(f"{file}: cannot be read ({error.strerror or error})") from None
    return digest.hexdigest()


def _marker(digest: str) -> Path | None:
    """The file that says that a net has passed; None where there is no cache folder."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    try:
        folder = Path(root) if os.path.isabs(root) else Path.home() / ".cache"
    except RuntimeError:  # no home
        return None
    return folder / "policrf" / "nets" / digest


def _remembered(digest: str) -> bool:
    marker = _marker(digest)
    with suppress(OSError):
        return marker is not None and marker.is_file()
    return False


def _remember(digest: str) -> None:
    marker = _marker(digest)
    with suppress(OSError):  # it is tried again then
        if marker is not None:
            marker.parent.mkdir(parents=True, exist_ok=True)
            marker.touch()


def _main(path: str, role: str, parent: str) -> int:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):
            return 1
    bound_process(room_for(Path(path)))
    return attempt(Path(path), "detector" if role == "detector" else "net")


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
