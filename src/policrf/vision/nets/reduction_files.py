"""The principal components of a prepared folder: two .npy files beside its recipe."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from policrf.crf.io.checksums import array_digest
from policrf.crf.io.files import atomic_write
from policrf.crf.io.npy import read_arrays
from policrf.errors import InvalidFile
from policrf.vision.nets.hypercolumns import Reduction


def write_reduction(folder: Path, reduction: Reduction) -> None:
    """Keep the principal components beside the recipe."""
    for name, values in (("mean", reduction.mean), ("components", reduction.components)):
        with atomic_write(folder / f"hypercolumn_{name}.npy") as file:
            np.save(file, values)


def read_reduction(folder: Path) -> Reduction | None:
    """What `write_reduction` wrote; None where it did not."""
    mean, components = folder / "hypercolumn_mean.npy", folder / "hypercolumn_components.npy"
    if not (mean.exists() and components.exists()):
        return None
    sides = [read_arrays(path, "a file of principal components") for path in (mean, components)]
    if [list(side) for side in sides] != [[""], [""]]:
        raise InvalidFile(f"{folder}: the principal components are damaged")
    first, second = (side[""] for side in sides)
    shapes = first.ndim == 1 and second.ndim == 2 and len(first) in second.shape
    if not shapes or first.dtype.kind != "f" or second.dtype.kind != "f":
        raise InvalidFile(f"{folder}: the principal components are damaged")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise InvalidFile(f"{folder}: the principal components are not finite")
    return Reduction(first, second)


def reduction_digest(reduction: Reduction | None) -> str:
    """A checksum of principal components, or of none."""
    arrays = {} if reduction is None else {"": reduction.mean, "components": reduction.components}
    return array_digest(arrays, "principal components")
