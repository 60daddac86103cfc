"""PrepareOptions: how a data set becomes prepared records; `prepare` and its command take these."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from policrf.errors import InvalidOption
from policrf.vision.image_options import ImageOptions
from policrf.vision.recipe import Recipe

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Options = TypeVar("Options", bound=DataclassInstance)


@dataclass(frozen=True)
class PrepareOptions(ImageOptions):
    """Where scores and boxes come from, and what is made of them."""

    split: str | None = None
    """voc: a file of ImageSets/Segmentation; mots: sequences (0000,0002), train or val."""
    masks: Path | None = None
    """folder: where the masks are (PNG, same names, label indices, 255 = void)."""
    detections: Path | None = None
    """Precomputed detections in COCO's results format."""
    categories: Path | None = None
    """For detections: a COCO annotation file, or names, the first being category 1."""
    trackrcnn: Path | None = None
    """mots: folder with TrackR-CNN results, SEQ.txt, for scores and boxes."""
    components: int = Recipe.components
    """Principal components of the hypercolumns to keep; 0 for none."""
    keep_pixels: bool = Recipe.keep_pixels
    """Keep the pixels, too (about half a megabyte an image): evaluate and calibrate then see what
    segment gives."""
    like: Path | None = None
    """Prepared training data whose principal components to use."""
    limit: int | None = None
    """Only the first images, this many."""
    strict: bool = False
    """Stop at the first image that cannot be used instead of skipping it."""


def changed(options: Options, changes: dict[str, Any], command: str) -> Options:
    """A dataclass of options with some fields changed by name; paths may be given as text.

    An unknown name is an error that lists the fields of `command`.
    """
    known = {field.name: str(field.type) for field in fields(options)}
    values = {}
    for name, value in changes.items():
        if name not in known:
            raise InvalidOption(f"{command} has no option {name!r}; there are {', '.join(known)}")
        is_path = "Path" in known[name] and isinstance(value, str)
        values[name] = Path(value) if is_path else value
    return replace(options, **values)
