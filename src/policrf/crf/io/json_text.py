"""JSON as the project writes it: plain values only, and no number that JSON does not have.

JSON has no infinities and no NaN. A missing figure (no bound, no time) is null; a weight that is
infinite on purpose is the text "inf", which YAML and people can read. The caller says which.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from policrf import limits
from policrf.crf.io.checksums import sealed, unsealed
from policrf.crf.io.files import atomic_write
from policrf.crf.io.text import parsing, read_text
from policrf.errors import InvalidFile


def as_json(value: Any, *, infinity: str | None = None) -> Any:
    """A dataclass, an array's entry, or anything nested, as values that JSON can hold.

    Parameters
    ----------
    value
        What to convert; paths become text, tuples lists, keys text.
    infinity
        What stands for +inf, such as "inf". NaN and −inf are always None.

    >>> as_json({"bound": float("-inf"), "sizes": (1, 2)})
    {'bound': None, 'sizes': [1, 2]}
    >>> as_json(float("inf"), infinity="inf")
    'inf'
    """
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {str(key): as_json(inner, infinity=infinity) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(inner, infinity=infinity) for inner in value]
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "item"):  # a number of NumPy
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return infinity if value == math.inf else None
    return value


def to_json(
    value: Any, *, indent: int | None = None, infinity: str | None = None, ascii_only: bool = True
) -> str:
    """The text of `as_json(value)`; for terminals in ASCII, for files as they are."""
    return json.dumps(as_json(value, infinity=infinity), indent=indent, ensure_ascii=ascii_only)


def write_json(path: str | Path, value: Any) -> None:
    """A JSON file, whole or not at all; the same bytes for the same value."""
    with atomic_write(path) as file:
        file.write(as_bytes(to_json(value, indent=1, ascii_only=False) + "\n"))


def as_bytes(text: str) -> bytes:
    """JSON text as UTF-8; letters of file names that UTF-8 has not become JSON's own escapes."""
    return text.encode("utf-8", "backslashreplace")


def read_json(path: str | Path) -> Any:
    """What a JSON file holds; one that is missing or damaged is an error that names it."""
    text = read_text(path, "a JSON file", most=limits.JSON_BYTES)
    with parsing(path, "not a readable JSON file"):
        return json.loads(text)


def write_sealed_json(path: str | Path, value: Mapping[str, Any]) -> None:
    """As `write_json`, with a checksum among the values."""
    write_json(path, sealed(as_json(value)))


def read_sealed_json(path: str | Path, fix: str) -> dict[str, Any]:
    """What `write_sealed_json` wrote; one that somebody else wrote has no checksum.

    Parameters
    ----------
    path
        The file.
    fix
        What to do about a damaged one.
    """
    try:
        loaded = read_json(path)
    except InvalidFile as error:
        raise InvalidFile(f"{error}; {fix}") from None
    if not isinstance(loaded, dict):
        raise InvalidFile(f"{path}: not a JSON object; {fix}")
    return unsealed(loaded, path, fix)
