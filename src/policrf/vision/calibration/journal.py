"""A journal of counts, one image and pass a line (JSON): a killed calibration goes on from it.

The first line says what was asked for. A journal of another question is thrown away: it is only a
saving of time. A last line that a kill has cut short is left out.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import IO

import numpy as np

from policrf.crf.io.files import atomic_write
from policrf.crf.io.json_text import to_json
from policrf.errors import InvalidFile
from policrf.types import IntArray

Key = tuple[str, int]


class Journal:
    """Counts `[S, 2, L]` by pass and image, in memory and, with a path, on disk.

    Parameters
    ----------
    path
        The file; None keeps nothing.
    question
        A text that is the same if and only if the same counts come out.
    """

    def __init__(self, path: Path | None, question: str) -> None:
        self.path = path
        self._known: dict[Key, list[list[int]]] = {}
        self._file: IO[str] | None = None
        if path is None:
            return
        head = to_json({"question": digest(question)})
        lines = _whole_lines(path)
        if not lines or lines[0] != head:
            lines = [head]
        with atomic_write(path) as file:
            file.write("".join(line + "\n" for line in lines).encode())
        for line in lines[1:]:
            entry = json.loads(line)
            self._known[entry["pass"], entry["image"]] = entry["rows"]
        self._file = path.open("a", encoding="utf-8")

    def get(self, key: Key, shape: tuple[int, int]) -> IntArray | None:
        """The counts of a pass on an image, for (settings, labels); None where there are none."""
        rows = self._known.get(key)
        if rows is None:
            return None
        counts = np.zeros((shape[0], 2, shape[1]), np.int64)
        for setting, label, hits, predicted in rows:
            counts[setting, :, label] = hits, predicted
        return counts

    def add(self, key: Key, counts: IntArray) -> None:
        """Write the counts of a pass on an image."""
        if self._file is None:
            return
        settings, labels = np.nonzero(counts.any(axis=1))
        values = counts[settings, :, labels]
        rows = np.column_stack([settings, labels, values]).tolist()
        try:
            self._file.write(to_json({"pass": key[0], "image": key[1], "rows": rows}) + "\n")
            self._file.flush()
        except OSError as error:
            raise InvalidFile(
                f"{self.path}: cannot be written ({error.strerror or error})"
            ) from None

    def close(self) -> None:
        """Close the file; it stays, for the next run."""
        if self._file is not None:
            self._file.close()
            self._file = None


def digest(text: str) -> str:
    """A short name of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _whole_lines(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidFile(f"{path}: not a readable journal ({error}); delete it") from None
    lines = []
    for line in text.split("\n")[:-1]:
        try:
            json.loads(line)
        except ValueError:
            break
        lines.append(line)
    return lines
