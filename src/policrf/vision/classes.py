"""Label names of the data sets, and how the class names of nets and detectors map onto them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from policrf import limits
from policrf.crf.io.text import read_text
from policrf.errors import InvalidFile, InvalidOption
from policrf.vision.yaml_file import read_mapping

VOC_LABELS = (
    "background", "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair",
    "cow", "diningtable", "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa",
    "train", "tvmonitor",
)  # fmt: skip
MOTS_LABELS = ("background", "car", "pedestrian")

# What COCO, VOC and KITTI call the same thing; compared without case, spaces, "_" and "-".
_SAME = {
    "airplane": "aeroplane", "motorcycle": "motorbike", "couch": "sofa", "tv": "tvmonitor",
    "pedestrian": "person", "bike": "bicycle",
}  # fmt: skip
NO_LABEL = -1


def canonical(name: str) -> str:
    """A class name in the form that names are compared in.

    >>> canonical("Potted plant"), canonical("motorcycle")
    ('pottedplant', 'motorbike')
    """
    plain = "".join(letter for letter in name.lower() if letter not in " _-")
    return _SAME.get(plain, plain)


def match_classes(
    classes: Sequence[str],
    labels: Sequence[str],
    *,
    chosen: Mapping[str, str | None] | None = None,
    what: str = "class map",
) -> NDArray[np.int64]:
    """The label of every class, −1 where it has none.

    Parameters
    ----------
    classes
        Names of a net or detector.
    labels
        Names of the data set.
    chosen
        The label of every class by name, None for a class without one; by name without it.
    what
        Where `chosen` comes from, for errors.
    """
    index = {canonical(label): k for k, label in enumerate(labels)}
    if chosen is None:
        return np.asarray([index.get(canonical(name), NO_LABEL) for name in classes], np.int64)
    missing = [name for name in classes if name not in chosen]
    if missing:
        raise InvalidOption(
            f"{what}: it does not say which label {', '.join(missing[:8])} "
            f"{'has' if len(missing) == 1 else 'have'}; map every class to a label or to null"
        )
    for name, label in chosen.items():
        if label is not None and canonical(label) not in index:
            raise InvalidOption(
                f"{what}: {name} is mapped to {label!r}; the labels are {', '.join(labels)}"
            )
    pairs = [chosen[name] for name in classes]
    return np.asarray([NO_LABEL if x is None else index[canonical(x)] for x in pairs], np.int64)


def read_names(path: str | Path) -> tuple[str, ...]:
    """One class name a line, as Darknet's `.names` files have them."""
    lines = read_text(path, "a list of class names", most=limits.NAMES_BYTES).splitlines()
    names = tuple(line.strip() for line in lines if line.strip())
    if not names:
        raise InvalidFile(f"{path}: no class names; write one a line")
    if any("\0" in name for name in names):
        raise InvalidFile(f"{path}: not a text file; write one class name a line")
    return names


def read_class_map(path: str | Path) -> dict[str, str | None]:
    """A YAML mapping from the detector's class names to label names or null."""
    loaded = read_mapping(path, "the class map", "motorcycle: motorbike")
    for name, label in loaded.items():
        if not isinstance(name, str) or not (label is None or isinstance(label, str)):
            raise InvalidFile(
                f"{path}: {name!r:.40}: {label!r:.40} is not a class name and a label name"
            )
    return loaded
