"""One result a line (JSON), appended as it comes: a killed run goes on from the whole lines."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from policrf.crf.io.checksums import SHORT, sealed, unsealed
from policrf.crf.io.json_text import as_bytes, as_json, to_json
from policrf.crf.io.text import parsing, read_bytes, whole_lines
from policrf.errors import InvalidFile

_NUMBERS = ("energy", "seconds", "cpu_seconds", "pixel_cpu_seconds")


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
    pixel_cpu_seconds: float = math.nan
    """The same of the pixel stage; not a number where there was none."""
    pixels: list[list[int]] | None = None
    """Confusion of pixels, after the pixel stage if there was one, as rows (true, predicted,
    count), see `metrics.sparse_rows`; None without truth."""
    superpixels: list[list[int]] | None = None
    """The same for superpixels, each counted once under the majority of its pixels."""
    failed: str = ""
    """Why there is no labeling: the solver cannot take one of the potentials."""

    @property
    def key(self) -> tuple[str, str]:
        """What must be unique in a file of results."""
        return self.solver, self.name


def to_line(result: Result) -> str:
    """JSON, with null for what is not finite, and a checksum of the line at its end."""
    return to_json(sealed(as_json(result), digits=SHORT), ascii_only=False)


def from_line(line: str) -> Result:
    """What `to_line` wrote; anything else is a ValueError."""
    with parsing("a result", "not a line of JSON"):
        values = json.loads(line)
    if not isinstance(values, dict):
        raise InvalidFile("a result is a JSON object")
    values = unsealed(values, "a result", "solve it again")
    for name in _NUMBERS:
        values[name] = math.nan if values.get(name) is None else values[name]
    bound = values.get("lower_bound")
    values["lower_bound"] = -math.inf if bound is None else bound
    _check(values)
    return Result(**values)


def _check(values: dict[str, Any]) -> None:
    """Refuse a field that is missing, not known or of another type."""
    known = {field.name: field for field in fields(Result)}
    if not {"solver", "name", "nodes"} <= values.keys() <= known.keys():
        raise InvalidFile("a result has other fields")
    wrong = [name for name in (*_NUMBERS, "lower_bound") if not _is_number(values[name])]
    wrong += [name for name in ("solver", "name", "failed") if not _is(values.get(name, ""), str)]
    wrong += [] if _is(values.get("optimal", False), bool) else ["optimal"]
    wrong += [] if _is(values["nodes"], int) and values["nodes"] >= 0 else ["nodes"]
    terms = values.get("terms", {})
    if not _is(terms, dict) or not all(v is None or _is_number(v) for v in terms.values()):
        wrong.append("terms")
    wrong += [name for name in ("pixels", "superpixels") if not _are_rows(values.get(name))]
    if wrong:
        raise InvalidFile(f"a result's field {wrong[0]!r} is of another type")


def _is(value: Any, kind: type) -> bool:
    return type(value) is kind


def _is_number(value: Any) -> bool:
    return type(value) is float or (type(value) is int and abs(value) < 2**62)


def _are_rows(value: Any) -> bool:
    """Whether it is None, or rows of (true, predicted, count)."""
    if value is None:
        return True
    return _is(value, list) and all(
        _is(row, list) and len(row) == 3 and all(_is(v, int) and 0 <= v < 2**62 for v in row)
        for row in value
    )


def read_results(path: Path) -> list[Result]:
    """All whole lines; a last line that a kill has cut short is left out."""
    if not path.exists():
        return []
    results = []
    for at, line in enumerate(whole_lines(read_bytes(path, "results")), start=1):
        if not line:
            continue
        try:
            results.append(from_line(line.decode()))
        except ValueError as error:
            raise InvalidFile(
                f"{path}, line {at}: not a result, or damaged ({error}); delete this line, and the "
                "same command solves it again"
            ) from None
    return results


def rewrite(path: Path, results: Iterable[Result]) -> None:
    """Replace the file by whole lines only, so that appending to it is safe."""
    from policrf.crf.io.files import atomic_write

    with atomic_write(path) as file:
        file.write(as_bytes("".join(to_line(result) + "\n" for result in results)))
