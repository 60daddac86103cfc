"""KITTI-MOTS: sequences of frames with instance masks of cars (1) and pedestrians (2).

Images are in images/SEQ (or KITTI's training/image_02/SEQ); truth is instances/SEQ/FRAME.png
(16 bits, class · 1000 + instance) or instances_txt/SEQ.txt (frame, id, class, height, width, mask);
id 10000 is ignored. A split is one or more sequences, or the official "train" and "val".
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from policrf.crf.io.files import shown_name
from policrf.crf.io.text import read_text
from policrf.datasets.base import Sample, SplitDataset
from policrf.errors import InvalidFile
from policrf.types import VOID, LabelMap
from policrf.vision.boxes import SupportRule
from policrf.vision.classes import MOTS_LABELS
from policrf.vision.images import IMAGE_SUFFIXES, read_mask

_IMAGE_FOLDERS = ("images", "training/image_02", "image_02")
_IGNORE = 10000
_OFFICIAL = {
    "train": (0, 1, 3, 4, 5, 9, 11, 12, 15, 17, 19, 20),
    "val": (2, 6, 7, 8, 10, 13, 14, 16, 18),
}


class Mots(SplitDataset):
    """Sequences of KITTI-MOTS as one split."""

    labels = MOTS_LABELS
    support: ClassVar[SupportRule] = "rider"

    def sequences(self) -> list[str]:
        """The sequences of the split that are there, in order."""
        images = self._images()
        there = sorted(path.name for path in images.iterdir() if path.is_dir())
        if self.split in _OFFICIAL:
            chosen = [f"{number:04d}" for number in _OFFICIAL[self.split]]
            found = [name for name in chosen if name in there]
        else:
            found = [name.strip() for name in self.split.split(",")]
        missing = [name for name in found if name not in there]
        if missing or not found:
            raise InvalidFile(
                f"{images}: there is no sequence {', '.join(missing) or self.split!r}; "
                f"there are: {', '.join(there) or 'none'}"
            )
        return found

    def samples(self) -> list[Sample]:
        """All frames, named SEQ/FRAME."""
        images = self._images()
        out = []
        for sequence in self.sequences():
            frames = sorted((images / sequence).iterdir())
            frames = [path for path in frames if path.suffix.lower() in IMAGE_SUFFIXES]
            out += [Sample(shown_name(f"{sequence}/{path.stem}"), path) for path in frames]
        if not out:
            raise InvalidFile(f"{images}: the sequences hold no images")
        return out

    def truth(self, sample: Sample) -> LabelMap | None:
        """Labels from the frame's PNG, or from the sequence's text file."""
        sequence, frame = sample.name.split("/")
        picture = self.root / "instances" / sequence / f"{frame}.png"
        text = self.root / "instances_txt" / f"{sequence}.txt"
        if picture.exists() or not text.exists():
            return labels_of_instances(read_mask(picture), str(picture))
        return _labels_of_text(text, int(frame), sample)

    def _images(self) -> Path:
        for folder in _IMAGE_FOLDERS:
            path = self.root / folder
            if path.is_dir():
                return path
        raise InvalidFile(
            f"{self.root}: none of {', '.join(_IMAGE_FOLDERS)} is there; give KITTI-MOTS's folder"
        )


def labels_of_instances(instances: LabelMap, where: str) -> LabelMap:
    """class · 1000 + instance -> label; 10000 -> void."""
    labels = instances // 1000
    labels[instances == _IGNORE] = VOID
    bad = (labels >= len(MOTS_LABELS)) | ((labels == 0) & (instances != 0))
    if bad.any():
        value = instances[tuple(np.argwhere(bad)[0])]
        raise InvalidFile(
            f"{where}: value {value} is neither a car (1000–1999), a pedestrian (2000–2999), "
            "10000 (ignore) nor 0"
        )
    return labels.astype(np.int32)


def _labels_of_text(path: Path, frame: int, sample: Sample) -> LabelMap:
    from policrf.datasets.layouts.rle import decode_mask
    from policrf.vision.images import read_image

    labels: LabelMap | None = None
    for at, fields in _rows(path).get(frame, []):
        identity, kind, height, width = (int(text) for text in fields[:4])
        mask = decode_mask(fields[4], height, width, f"{path}, line {at}")
        if labels is None:
            labels = np.zeros((height, width), np.int32)
        if labels.shape != mask.shape:
            raise InvalidFile(f"{path}, line {at}: masks of frame {frame} differ in size")
        if identity == _IGNORE or kind == 10:
            labels[mask] = VOID
        elif kind in (1, 2):
            labels[mask] = kind
        else:
            raise InvalidFile(f"{path}, line {at}: class {kind} is neither car (1) nor person (2)")
    if labels is None:  # a frame without objects has no line
        labels = np.zeros(read_image(sample.image).shape[:2], np.int32)
    return labels


@cache
def _rows(path: Path) -> dict[int, list[tuple[int, list[str]]]]:
    """The lines of each frame: (line number, id, class, height, width, mask)."""
    rows: dict[int, list[tuple[int, list[str]]]] = {}
    for at, line in enumerate(read_text(path).splitlines(), start=1):
        fields = line.split()
        if not fields:
            continue
        counts = all(text.isdecimal() and len(text) < 10 for text in fields[:5])
        if len(fields) != 6 or not counts:
            raise InvalidFile(f"{path}, line {at}: not frame, id, class, height, width and mask")
        rows.setdefault(int(fields[0]), []).append((at, fields[1:]))
    return rows
