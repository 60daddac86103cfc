"""Pascal VOC 2012, with SBD's extra annotations: the layout of VOCdevkit/VOC2012.

ImageSets/Segmentation/SPLIT.txt, JPEGImages, SegmentationClass (palette PNGs, 255 = void) and, for
the split trainaug, SegmentationClassAug.
"""

from __future__ import annotations

from typing import ClassVar

from policrf.crf.io.text import read_text
from policrf.datasets.base import Sample, SplitDataset, existing_folder, find_image, relabeled
from policrf.errors import InvalidFile
from policrf.types import VOID, LabelMap
from policrf.vision.boxes import SupportRule
from policrf.vision.classes import VOC_LABELS
from policrf.vision.images import read_mask

LONGEST_NAME = 200  # bytes; file systems take 255, with a suffix
_VALUES = {label: label for label in range(len(VOC_LABELS))} | {255: VOID}


class Voc(SplitDataset):
    """One split of VOC 2012."""

    labels = VOC_LABELS
    support: ClassVar[SupportRule] = "inside"

    def samples(self) -> list[Sample]:
        """The images that the split's file lists."""
        images = existing_folder(
            self.root / "JPEGImages", "give the folder VOC2012, which holds JPEGImages"
        )
        lists = self.root / "ImageSets" / "Segmentation"
        file = lists / f"{self.split}.txt"
        if not file.is_file():
            there = ", ".join(sorted(path.stem for path in lists.glob("*.txt"))) or "none"
            raise InvalidFile(f"{file}: there is no split {self.split!r}; there are: {there}")
        names = read_text(file, "the split").split()
        if not names:
            raise InvalidFile(f"{file}: the split is empty")
        for name in names:
            if "\0" in name or len(name.encode()) > LONGEST_NAME:
                raise InvalidFile(f"{file}: {name[:40]!r} … is no name of an image")
        return [Sample(name, find_image(images, name)) for name in names]

    def truth(self, sample: Sample) -> LabelMap | None:
        """The class mask; the augmented one for trainaug."""
        folder = "SegmentationClassAug" if self.split.endswith("aug") else "SegmentationClass"
        path = self.root / folder / f"{sample.name}.png"
        return relabeled(read_mask(path), _VALUES, str(path))
