"""The JSON header of a native `.npz`: what it may hold, each field of the right type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from policrf import limits
from policrf.crf.io.checksums import KEY
from policrf.crf.io.text import parsing
from policrf.errors import InvalidFile

SCHEMA = 1
_HEADER = {"format", "schema", "kind", "groups", KEY}
_INSTANCE_HEADER = _HEADER | {"label_names", "feature_names", "source"}


def read_header(stored: NDArray[Any] | None, path: str | Path) -> dict[str, Any]:
    """The header, each of its fields of the right type."""
    if stored is None or stored.dtype.kind != "U" or stored.ndim:
        raise InvalidFile(f"{path}: an .npz file, but not one of policrf's")
    with parsing(path, "the header is damaged"):
        header = json.loads(str(stored))
    if not isinstance(header, dict) or header.get("format") != "policrf":
        raise InvalidFile(f"{path}: an .npz file, but not one of policrf's")
    if header.get("schema") != SCHEMA:
        raise InvalidFile(
            f"{path}: schema {header.get('schema')!r:.20}, this policrf reads {SCHEMA}; "
            "update policrf"
        )
    known = {"crf": _HEADER, "instance": _INSTANCE_HEADER}.get(str(header.get("kind")))
    if known is None or not known.issuperset(header):
        raise InvalidFile(f"{path}: the header has fields that are not known; update policrf")
    groups = header.get("groups")
    if not isinstance(groups, list) or not all(map(_is_group, groups)):
        raise InvalidFile(f"{path}: the header's field 'groups' is damaged; save the model again")
    for field in ("label_names", "feature_names"):
        if not _is_names(header.get(field, [])):
            raise InvalidFile(f"{path}: the header's field {field!r} is no list of names")
    if not isinstance(header.get("source", {}), dict):
        raise InvalidFile(f"{path}: the header's field 'source' is damaged; save the model again")
    return header


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_group(described: Any) -> bool:
    """Whether it has a class, and names, a size and a list of fields where it has them."""
    if not isinstance(described, dict) or not isinstance(described.get("class"), str):
        return False
    texts = (described.get(key, "") for key in ("function", "of", "partial", "update", "marked"))
    size = described.get("summary_size", 1)
    return (
        all(isinstance(text, str) for text in texts)
        and _is_names(described.get("fields", []))
        and isinstance(size, int)
        and 0 < size <= limits.WIDTH
    )
