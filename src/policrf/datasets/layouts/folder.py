"""Any folder of images, with masks of the same names in another folder, or without."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from policrf.crf.io.files import shown_name
from policrf.datasets.base import Sample, existing_folder, relabeled
from policrf.errors import InvalidFile, InvalidOption
from policrf.types import VOID, LabelMap
from policrf.vision.boxes import SupportRule
from policrf.vision.classes import VOC_LABELS
from policrf.vision.images import IMAGE_SUFFIXES, read_mask


@dataclass(frozen=True)
class Folder:
    """Every image of a folder, in the order of names; masks are PNGs with label indices."""

    root: Path
    labels: tuple[str, ...]
    masks: Path | None = None
    void: int = 255
    support: SupportRule = "inside"

    def samples(self) -> list[Sample]:
        """All files with an image's suffix, also in subfolders; names keep the subfolder."""
        root = existing_folder(Path(self.root), "give the folder that holds the images")
        files = sorted(p for p in root.rglob("*") if p.suffix.lower() in IMAGE_SUFFIXES)
        files = [path for path in files if not path.name.startswith(".")]
        if not files:
            raise InvalidFile(f"{root}: there are no images ({', '.join(IMAGE_SUFFIXES)})")
        stems = [path.relative_to(root).with_suffix("").as_posix() for path in files]
        return [Sample(shown_name(stem), path) for stem, path in zip(stems, files, strict=True)]

    def truth(self, sample: Sample) -> LabelMap | None:
        """The mask of the same name."""
        if self.masks is None:
            return None
        path = Path(self.masks) / f"{sample.name}.png"
        values = {label: label for label in range(len(self.labels))} | {self.void: VOID}
        return relabeled(read_mask(path), values, str(path))


def folder_with_masks(
    root: Path, *, masks: Path | None = None, labels: tuple[str, ...] = VOC_LABELS
) -> Folder:
    """The data set `folder`: images with truth."""
    if masks is None:
        raise InvalidOption(
            "the data set 'folder' needs --masks; for images without truth use the data set "
            "'images'"
        )
    return Folder(root, labels, masks)


def folder_of_images(root: Path, *, labels: tuple[str, ...] = VOC_LABELS) -> Folder:
    """The data set `images`: no truth."""
    return Folder(root, labels)
