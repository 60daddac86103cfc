"""A journal of counts, one image and pass a line (JSON): a killed calibration goes on from it.

The first line says what was asked for. A journal of another question is thrown away: it is only a
saving of time. Every entry has a checksum; from the first that is cut short or damaged on they are
counted again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from policrf.crf.io.checksums import SHORT, sealed, unsealed
from policrf.crf.io.files import atomic_write
from policrf.crf.io.json_text import to_json
from policrf.crf.io.outputs import lock_file
from policrf.crf.io.text import parsing, read_bytes, whole_lines
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
        with _unused(path):
            lines = _whole_lines(path)
            if not lines or lines[0] != head:
                lines = [head]
            with atomic_write(path) as file:
                file.write("".join(line + "\n" for line in lines).encode())
            self._file = path.open("a", encoding="utf-8")
            lock_file(self._file.fileno(), path)
        for line in lines[1:]:
            entry = json.loads(line)
            self._known[entry["pass"], entry["image"]] = entry["rows"]

    def get(self, key: Key, shape: tuple[int, int]) -> IntArray | None:
        """The counts of a pass on an image, for (settings, labels); None where there are none."""
        rows = self._known.get(key)
        if rows is None:
            return None
        counts = np.zeros((shape[0], 2, shape[1]), np.int64)
        for setting, label, hits, predicted in rows:
            if not (setting < shape[0] and label < shape[1]):
                return None  # of another question: count again
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
            entry = sealed({"pass": key[0], "image": key[1], "rows": rows}, digits=SHORT)
            self._file.write(to_json(entry) + "\n")
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


@contextmanager
def _unused(path: Path) -> Iterator[None]:
    """Refuse a journal that another calibration is writing, and hold it meanwhile."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        yield
        return
    except OSError as error:
        raise InvalidFile(f"{path}: not a readable journal ({error}); delete it") from None
    with file:
        lock_file(file.fileno(), path)
        yield


def digest(text: str) -> str:
    """A short name of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _whole_lines(path: Path) -> list[str]:
    """The head, and the entries up to the first that is cut short or damaged."""
    if not path.exists():
        return []
    lines: list[str] = []
    for line in whole_lines(read_bytes(path, "the journal")):
        try:
            text = line.decode()
            with parsing(path, "not a line of JSON"):
                entry = json.loads(text)
            if lines:
                _check(unsealed(entry, path, "count again") if isinstance(entry, dict) else {})
        except ValueError:
            break
        lines.append(text)
    return lines


def _check(entry: dict[str, Any]) -> None:
    """A ValueError for what is no entry of this version."""
    counts = (entry.get("image"), *(v for row in _rows(entry) for v in row))
    if not isinstance(entry.get("pass"), str) or not all(
        type(v) is int and 0 <= v < 2**62 for v in counts
    ):
        raise ValueError("not an entry")


def _rows(entry: dict[str, Any]) -> list[Any]:
    rows = entry.get("rows")
    if not isinstance(rows, list) or not all(isinstance(r, list) and len(r) == 4 for r in rows):
        raise ValueError("not rows of setting, label, hits and predicted")
    return rows
