"""Data that takes its time, and images that are too much for the process that reads them."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from policrf.datasets.layouts.folder import Folder

PREPARED = {
    "superpixels": 30, "score_kind": "probabilities", "components": 2, "keep_pixels": True,
}  # fmt: skip


@dataclass(frozen=True)
class Slow(Folder):
    """A folder of images that take `seconds` each; some need more memory than there is.

    An image whose name stands in the file `killers` ends its process as the kernel does when
    memory runs out, by SIGKILL, and takes its first line with it: so many lines, so many deaths.
    One in `fails` raises MemoryError, as numpy does where a limit is set.
    """

    seconds: float = 0.05
    killers: Path | None = None
    fails: tuple[str, ...] = ()

    def truth(self, sample):
        time.sleep(self.seconds)
        if sample.name in self.fails:
            raise MemoryError
        if self.killers is not None and self.killers.exists():
            lines = self.killers.read_text().splitlines()
            if lines and lines[0] == sample.name:
                self.killers.write_text("\n".join(lines[1:]))
                os.kill(os.getpid(), signal.SIGKILL)
        return super().truth(sample)


def files_of(folder: Path) -> dict[str, bytes]:
    """Everything in a folder, by name."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }
