"""Store: finished cells on disk, a folder each, and what cells under way tell of themselves.

    WORK/cells/score-voc-50-u+p-icm-1f0c…/cell.json     written last, whole, with a checksum

A cell is finished if and only if its cell.json is there. Everything else in the folder is what the
work left on its way: prepared shards, checkpoints, results so far, from which it goes on after a
kill.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from policrf.bench.reproduce.cells import Cell
from policrf.crf.io.files import make_folder
from policrf.crf.io.json_text import as_json, read_sealed_json, write_sealed_json

Tell = Callable[[float, str], None]
RESULT, TOLD = "cell.json", "progress.txt"
EVERY = 0.5  # seconds between two words of a cell about itself


class Store:
    """The cells of one work folder.

    Parameters
    ----------
    work
        Made if it is not there.
    """

    def __init__(self, work: Path) -> None:
        self.work = Path(work)
        self.root = self.work / "cells"
        self._known: dict[str, dict[str, Any]] = {}

    def folder(self, cell: Cell) -> Path:
        """Where the cell works; it may not be there yet."""
        return self.root / cell.folder

    def start(self, cell: Cell) -> Path:
        """The folder of a cell, made."""
        return make_folder(self.folder(cell))

    def finished(self, cell: Cell) -> bool:
        """Whether there is a result."""
        return cell.key in self._known or (self.folder(cell) / RESULT).is_file()

    def entry(self, cell: Cell) -> dict[str, Any]:
        """Configuration, result and seconds of a finished cell."""
        if cell.key not in self._known:
            path = self.folder(cell) / RESULT
            self._known[cell.key] = read_sealed_json(path, "delete it, and the cell is run again")
        return self._known[cell.key]

    def result(self, cell: Cell) -> Any:
        """The result of a finished cell, None of another."""
        return self.entry(cell)["result"] if self.finished(cell) else None

    def seconds(self, cell: Cell) -> float | None:
        """What a finished cell took; None of another."""
        return float(self.entry(cell)["seconds"]) if self.finished(cell) else None

    def keep(self, cell: Cell, result: Any, seconds: float, **more: Any) -> None:
        """Write a result, with more to say of it; from now on the cell is finished."""
        content = {
            "kind": cell.kind,
            "name": cell.name,
            "about": as_json(cell.about, infinity="inf"),
            "needs": {role: need.key for role, need in cell.needs.items()},
            "result": as_json(result),
            "seconds": seconds,
            **more,
        }
        write_sealed_json(self.folder(cell) / RESULT, content)
        self.forget(cell)

    def forget(self, cell: Cell) -> None:
        """Drop what the cell has told of itself."""
        with suppress(OSError):
            (self.folder(cell) / TOLD).unlink(missing_ok=True)

    def teller(self, cell: Cell) -> Tell:
        """`tell(share done, text)` for the cell's work: read by whoever shows progress."""
        path, last = self.folder(cell) / TOLD, [0.0]

        def tell(share: float, text: str = "") -> None:
            if time.monotonic() - last[0] >= EVERY:
                last[0] = time.monotonic()
                with suppress(OSError):
                    path.write_text(f"{share:.4f} {text}")

        return tell

    def told(self, cell: Cell) -> tuple[float, str]:
        """The share done and a text; 0 before a cell has told anything."""
        try:
            share, _, text = (self.folder(cell) / TOLD).read_text().partition(" ")
            return float(share), text
        except (OSError, ValueError):
            return 0.0, ""
