"""What a tuning run has measured, a JSON line each: a run that was killed goes on from there.

Racing is a function of the seed and of what is in the journal: measurements, and the plan of every
race, which depends on how long they took. So a run that goes on comes to the same decisions. Every
line has a checksum; one that a kill has cut short is measured again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from policrf.crf.io.checksums import KEY, SHORT, sealed, unsealed
from policrf.crf.io.files import atomic_write, make_folder
from policrf.crf.io.json_text import as_json, read_json, to_json, write_json
from policrf.crf.io.text import parsing, read_bytes, whole_lines
from policrf.errors import InvalidFile, InvalidOption
from policrf.learn.run_folder import JOURNAL, erase_run, refuse_run

CONFIG = "config.json"


class Journal:
    """Values by key; on disk if there is a folder.

    Parameters
    ----------
    folder
        Made if it is not there; None keeps all in memory.
    config
        What changes a measurement. It is written beside the journal, and must be the same to go on.
    resume
        Go on with the journal in the folder.
    overwrite
        Erase a run that the folder holds; without it, and without `resume`, that is an error.
    """

    def __init__(
        self, folder: Path | None, config: dict[str, Any], *, resume: bool, overwrite: bool = False
    ) -> None:
        self.path = None if folder is None else make_folder(folder) / JOURNAL
        self.values: dict[str, Any] = {}
        if folder is None or self.path is None:
            return
        if resume and overwrite:
            raise InvalidOption("resume goes on with a run, overwrite erases it; give one of them")
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
            erase_run(folder) if overwrite else refuse_run(folder)
        write_json(stamp, config)

    def _read(self) -> dict[str, Any]:
        assert self.path is not None
        if not self.path.exists():
            return {}
        found: dict[str, Any] = {}
        lines = whole_lines(read_bytes(self.path, "the journal"))
        for at, line in enumerate(lines, start=1):
            where, fix = f"{self.path}, line {at}", "delete this line, and it is measured again"
            with parsing(where, f"damaged; {fix}"):
                entry = json.loads(line)
                if not isinstance(entry, dict) or not {"key", "value", KEY} == entry.keys():
                    raise InvalidFile(f"{where}: not an entry of the journal; {fix}")
                entry = unsealed(entry, where, fix)
                found[entry["key"]] = entry["value"]
        with atomic_write(self.path) as file:
            file.write(b"".join(line + b"\n" for line in lines))
        return found

    def recall(self, key: str, find: Callable[[], Any]) -> Any:
        """The value of the key; where it is not known yet, what `find` gives, kept on disk."""
        if key not in self.values:
            value = as_json(find(), infinity="inf")
            self.values[key] = value
            if self.path is not None:
                self._append(to_json(sealed({"key": key, "value": value}, digits=SHORT)))
        return self.values[key]

    def _append(self, line: str) -> None:
        assert self.path is not None
        try:
            with self.path.open("a") as file:
                file.write(line + "\n")
        except OSError as error:
            raise InvalidFile(
                f"{self.path}: cannot be written ({error.strerror or error}); what was measured is "
                "kept, and --resume goes on from there"
            ) from None


def _differing(stored: Any, config: dict[str, Any]) -> list[str]:
    if not isinstance(stored, dict):
        return list(config)
    return [name for name in config if stored.get(name) != config[name] and name != "seconds"]
