"""A kind of file: how a good one is made, how it is read and used, what must not change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tests.robustness.mutations import Mutation, mutated


@dataclass(frozen=True)
class Kind:
    """A kind of file under test."""

    name: str
    make: Callable[[Path], Path]
    """Write a good file (with whatever it needs beside it) into a folder; the file to damage."""
    read: Callable[[Path], Any]
    """Read and use it; what it gives is compared by `fingerprint`."""
    sealed: bool = False
    """Whether it has a checksum: a damaged file may then not be accepted with another result."""
    part: bool = False
    """Whether a part of the result may be missing, since it is found again (lines of a log)."""
    mutate: Mutation = mutated


def fingerprint(value: Any) -> Any:
    """Nested plain values that can be compared: arrays by type, shape and bytes, floats by repr."""
    if isinstance(value, dict):
        return {repr(key): fingerprint(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [fingerprint(part) for part in value]
    if hasattr(value, "numpy"):  # a tensor
        value = value.numpy()
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    return repr(value)


def same(kind: Kind, before: Any, after: Any) -> bool:
    """Whether what was read is what was written, or a part of it."""
    if not kind.part:
        return bool(before == after)
    return all(key in before and before[key] == value for key, value in after.items())
