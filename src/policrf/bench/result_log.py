"""Results of a benchmark as they come: one JSON line each, and a run that was killed goes on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from policrf.crf.io.checksums import KEY, SHORT, sealed, unsealed
from policrf.crf.io.files import atomic_write, make_folder
from policrf.crf.io.json_text import read_json, write_json
from policrf.crf.io.text import parsing, read_bytes, whole_lines
from policrf.errors import InvalidFile

Result = dict[str, Any]
# Older versions wrote lines without checksums; none follow one that has, damaged or not.
_HAS_SEAL = re.compile(rb'"[0-9a-f]{%d}"' % SHORT)
Key = Callable[[Result], tuple[Any, ...]]


class ResultLog:
    """`results.jsonl` in a folder, with `grid.json` beside it.

    Parameters
    ----------
    folder
        Made if it is not there.
    settings
        What changes a measurement. Rows and sizes may grow between runs; this may not.
    """

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        self.path = make_folder(folder) / "results.jsonl"
        stamp = folder / "grid.json"
        if stamp.exists() and read_json(stamp) != settings:
            raise InvalidFile(
                f"{stamp}: other {', '.join(settings)} than now; give another --out, or delete the "
                "folder"
            )
        write_json(stamp, settings)
        self.results = self._read()

    def _read(self) -> list[Result]:
        if not self.path.exists():
            return []
        content = read_bytes(self.path, "results")
        whole = whole_lines(content)
        results, sealed_so_far = [], False
        for at, line in enumerate(whole, start=1):
            sealed_so_far |= _HAS_SEAL.search(line) is not None
            results.append(self._result(at, line, sealed_so_far))
        if not content.endswith(b"\n"):  # a kill may leave half a line at the end
            with atomic_write(self.path) as file:
                file.write(b"".join(line + b"\n" for line in whole))
        return results

    def _result(self, at: int, line: bytes, must_be_sealed: bool) -> Result:
        where = f"{self.path}, line {at}"
        fix = "delete this line, and it is measured again"
        with parsing(where, f"not a result, or damaged; {fix}"):
            values = json.loads(line)
            if not isinstance(values, dict) or (must_be_sealed and KEY not in values):
                raise InvalidFile(f"{where}: not a result; {fix}")
            return unsealed(values, where, fix)

    def missing(self, tasks: Iterable[Result], key: Key) -> list[Result]:
        """The tasks that have no result yet."""
        done = {key(result) for result in self.results}
        return [task for task in tasks if key(task) not in done]

    def append(self, result: Result) -> None:
        """Keep a result, on disk first."""
        try:
            with self.path.open("a") as file:
                file.write(json.dumps(sealed(result, digits=SHORT)) + "\n")
        except OSError as error:
            raise InvalidFile(
                f"{self.path}: cannot be written ({error.strerror or error}); what is finished is "
                "kept, and the same command goes on from there"
            ) from None
        self.results.append(result)
