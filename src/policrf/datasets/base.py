"""What every data set offers: named images, their labels, and the truth of one image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from policrf.crf.io.outputs import safe_name
from policrf.errors import InvalidFile
from policrf.types import LabelMap
from policrf.vision.boxes import SupportRule
from policrf.vision.images import IMAGE_SUFFIXES


@dataclass(frozen=True)
class Sample:
    """One image of a data set."""

    name: str
    image: Path


def checked_samples(samples: Sequence[Sample]) -> list[Sample]:
    """The images, if each has a name of its own: files and results are kept by name."""
    first: dict[str, Path] = {}
    for sample in samples:
        other = first.setdefault(safe_name(sample.name), sample.image)
        if other is not sample.image:
            raise InvalidFile(
                f"{other} and {sample.image} would both be called {sample.name!r}; rename or move "
                "one of them"
            )
    return list(samples)


class Dataset(Protocol):
    """Images in a fixed order, with or without truth; picklable, for worker processes."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The label names, background first."""
        ...

    @property
    def support(self) -> SupportRule:
        """Which boxes HOP2 asks for a quota: "inside", "rider" or "none" (see `vision.boxes`)."""
        ...

    def samples(self) -> list[Sample]:
        """All images."""
        ...

    def truth(self, sample: Sample) -> LabelMap | None:
        """Labels of its pixels `[H, W]`, −1 = void; None without truth."""
        ...


@dataclass(frozen=True)
class SplitDataset:
    """A folder of which a split is chosen by name; the layouts of voc and mots build on it."""

    root: Path
    split: str = "train"

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", Path(self.root))


def relabeled(mask: LabelMap, labels: Mapping[int, int], where: str) -> LabelMap:
    """Map the values of a mask to labels; a value without one is an error that names it."""
    unknown, beyond = -2, max(labels) + 1
    table = np.full(beyond + 1, unknown, np.int32)
    for value, label in labels.items():
        table[value] = label
    if mask.min(initial=0) < 0:
        raise InvalidFile(f"{where}: the mask has negative values")
    out = table[np.minimum(mask, beyond)]
    if (out == unknown).any():
        at = np.argwhere(out == unknown)[0]
        known = sorted(labels)
        shown = ", ".join(map(str, known[:4])) + (f" … {known[-1]}" if len(known) > 4 else "")
        raise InvalidFile(
            f"{where}: the mask has value {mask[tuple(at)]} at row {at[0]}, column {at[1]}; "
            f"known values are {shown}"
        )
    return out


def find_image(folder: Path, stem: str) -> Path:
    """The image of that name, whatever its suffix (JPEG if it is not there at all)."""
    for suffix in IMAGE_SUFFIXES:
        path = folder / f"{stem}{suffix}"
        if path.exists():
            return path
    return folder / f"{stem}.jpg"


def existing_folder(path: Path, what: str) -> Path:
    """The folder, if it is there."""
    if not path.is_dir():
        raise InvalidFile(f"{path}: there is no such folder; {what}")
    return path
