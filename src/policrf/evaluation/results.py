"""One result a line (JSON), appended as it comes: a killed run goes on from the whole lines."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from policrf.crf.io.json_text import to_json
from policrf.errors import InvalidFile


@dataclass(frozen=True)
class Result:
    """One solver on one instance."""

    solver: str
    name: str
    nodes: int
    energy: float = math.nan
    terms: dict[str, float] = field(default_factory=dict)
    lower_bound: float = -math.inf
    optimal: bool = False
    seconds: float = math.nan
    cpu_seconds: float = math.nan
    """Processor time of the solving thread: what other work on the machine does not change."""
    pixels: list[list[int]] | None = None
    """Confusion of pixels as rows (true, predicted, count), see `metrics.sparse_rows`; None without
    truth."""
    superpixels: list[list[int]] | None = None
    """The same for superpixels, each counted once under the majority of its pixels."""
    failed: str = ""
    """Why there is no labeling: the solver cannot take one of the potentials."""

    @property
    def key(self) -> tuple[str, str]:
        """What must be unique in a file of results."""
        return self.solver, self.name


def to_line(result: Result) -> str:
    """JSON, with null for what is not finite."""
    return to_json(result, ascii_only=False)


def from_line(line: str) -> Result:
    """What `to_line` wrote."""
    values = json.loads(line)
    for name in ("energy", "seconds", "cpu_seconds"):
        values[name] = math.nan if values.get(name) is None else values[name]
    values["lower_bound"] = -math.inf if values["lower_bound"] is None else values["lower_bound"]
    return Result(**values)


def read_results(path: Path) -> list[Result]:
    """All whole lines; a last line that a kill has cut short is left out."""
    if not path.exists():
        return []
    results = []
    lines = path.read_text(encoding="utf-8").split("\n")
    for at, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            results.append(from_line(line))
        except (ValueError, TypeError, KeyError):
            if at == len(lines):
                break
            raise InvalidFile(f"{path}, line {at}: not a result; delete the file") from None
    return results


def rewrite(path: Path, results: Iterable[Result]) -> None:
    """Replace the file by whole lines only, so that appending to it is safe."""
    from policrf.crf.io.files import atomic_write

    with atomic_write(path) as file:
        file.write("".join(to_line(result) + "\n" for result in results).encode())
