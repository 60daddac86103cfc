"""Checksums of what the package writes: damage is an error, not another result.

SHA-256 of values as JSON with sorted keys, so that spaces and the order of keys do not count, or of
arrays by name, type, shape and bytes. Files without one are read too: those of other tools, of
older versions and those that people write.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policrf.crf.io.text import parsing
from policrf.errors import InvalidFile

KEY = "sha256"
SHORT = 16  # hexadecimal digits of a line's checksum


def value_digest(value: Any) -> str:
    """Of plain values.

    >>> value_digest({"a": 1, "b": [2]}) == value_digest({"b": [2], "a": 1})
    True
    """
    text = json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    """The value with texts for keys: YAML has others, which cannot be sorted."""
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value


def array_digest(arrays: Mapping[str, NDArray[Any]], about: Any) -> str:
    """Of arrays and of the plain values that come with them."""
    digest = hashlib.sha256(value_digest(about).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        if array.size:
            digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def sealed(values: Mapping[str, Any], *, digits: int = 64) -> dict[str, Any]:
    """The values with their checksum as the last one."""
    return {**values, KEY: value_digest(dict(values))[:digits]}


def unsealed(values: Mapping[str, Any], path: str | Path, fix: str) -> dict[str, Any]:
    """The values without their checksum, if they have one and it holds.

    Parameters
    ----------
    values
        What `sealed` gave, or values that never had a checksum.
    path
        Where they are from, for errors.
    fix
        What to do about damaged ones.
    """
    plain = dict(values)
    stored = plain.pop(KEY, None)
    if stored is not None:
        with parsing(path, "its checksum cannot be computed"):
            found = value_digest(plain)
        require_same(stored, found, path, fix)
    return plain


def require_same(stored: Any, found: str, path: str | Path, fix: str) -> None:
    """Refuse a checksum (or the beginning of one) that does not hold."""
    if not isinstance(stored, str) or len(stored) < SHORT or not found.startswith(stored):
        raise InvalidFile(
            f"{path}: damaged, or changed after it was written (its checksum is wrong); {fix}"
        )
