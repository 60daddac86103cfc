"""Whether the index of a prepared folder (or a shard's own summary) can be what it says it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from policrf.errors import InvalidFile

FIX = "run the policrf prepare that made it again"
_FIELDS = {"names", "nodes", "places", "digests"}


def check_index(index: Mapping[str, Any], path: Path, fix: str, *, places: bool = False) -> None:
    """Refuse fields that are missing, unknown, of another type, or not one an image.

    Parameters
    ----------
    index
        Lists with one entry an image: names, nodes (numbers of superpixels), where they are given
        digests (checksums), and places (shard, row).
    path
        The file.
    fix
        What to do about a damaged one.
    places
        Whether there must be places.
    """
    needed = {"names", "nodes"} | ({"places"} if places else set())
    if not needed <= index.keys() <= _FIELDS:
        raise InvalidFile(f"{path}: not the index of prepared data; {fix}")
    for field, fits in (
        ("names", lambda name: isinstance(name, str)),
        ("nodes", lambda count: type(count) is int and 0 < count < 2**31),
        ("places", _is_place),
        ("digests", _is_digests),
    ):
        if field not in index:
            continue
        entries = index[field]
        if not isinstance(entries, list) or not all(map(fits, entries)):
            raise InvalidFile(f"{path}: its field {field!r} is damaged; {fix}")
        if len(entries) != len(index["names"]):
            raise InvalidFile(f"{path}: {field!r} has not one entry an image; {fix}")


def _is_place(place: Any) -> bool:
    return (
        isinstance(place, list)
        and len(place) == 2
        and all(type(part) is int and 0 <= part < 10**6 for part in place)
    )


def _is_digests(digests: Any) -> bool:
    return digests is None or (
        isinstance(digests, list)
        and len(digests) in (1, 2)
        and all(isinstance(part, str) for part in digests)
    )
