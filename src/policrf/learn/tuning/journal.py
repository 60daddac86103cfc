"""What a tuning run has measured, a JSON line each: a run that was killed goes on from there.

Racing is a function of the seed and of what is in the journal: measurements, and the plan of every
race, which depends on how long they took. So a run that goes on comes to the same decisions.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from policrf.crf.io.files import atomic_write, make_folder
from policrf.crf.io.json_text import as_json, read_json, write_json
from policrf.errors import InvalidFile

JOURNAL, CONFIG = "journal.jsonl", "config.json"


class Journal:
    """Values by key; on disk if there is a folder.

    Parameters
    ----------
    folder
        Made if it is not there; None keeps all in memory.
    config
        What changes a measurement. It is written beside the journal, and must be the same to go on.
    resume
        Go on with the journal in the folder; without, an earlier one is removed.
    """

    def __init__(self, folder: Path | None, config: dict[str, Any], *, resume: bool) -> None:
        self.path = None if folder is None else make_folder(folder) / JOURNAL
        self.values: dict[str, Any] = {}
        if folder is None or self.path is None:
            return
        stamp, config = folder / CONFIG, as_json(config)
        if resume:
            if not stamp.is_file():
                raise InvalidFile(f"{stamp}: there is no run to go on with; train without resume")
            differing = _differing(read_json(stamp), config)
            if differing:
                raise InvalidFile(
                    f"{stamp} has other values of {', '.join(differing)} than now; give those, or "
                    "train again without resume"
                )
            self.values = self._read()
        else:
            self.path.unlink(missing_ok=True)
        write_json(stamp, config)

    def _read(self) -> dict[str, Any]:
        assert self.path is not None
        if not self.path.exists():
            return {}
        lines = self.path.read_text().splitlines(keepends=True)
        whole = [line for line in lines if line.endswith("\n")]  # a kill may leave half a line
        try:
            found = dict(json.loads(line) for line in whole)
        except (ValueError, TypeError) as error:
            raise InvalidFile(
                f"{self.path} is damaged ({error}); train again without resume"
            ) from None
        with atomic_write(self.path) as file:
            file.write("".join(whole).encode())
        return found

    def recall(self, key: str, find: Callable[[], Any]) -> Any:
        """The value of the key; where it is not known yet, what `find` gives, kept on disk."""
        if key not in self.values:
            value = as_json(find(), infinity="inf")
            self.values[key] = value
            if self.path is not None:
                with self.path.open("a") as file:
                    file.write(json.dumps([key, value]) + "\n")
        return self.values[key]


def _differing(stored: Any, config: dict[str, Any]) -> list[str]:
    if not isinstance(stored, dict):
        return list(config)
    return [name for name in config if stored.get(name) != config[name] and name != "seconds"]
