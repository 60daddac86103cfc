"""What a page can be about: a scene, a model in a file, a prepared image, a segmented photo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from policrf.crf.instance import Instance
from policrf.datasets.sources import load_instances
from policrf.errors import InvalidFile, InvalidOption
from policrf.explore.answers import Answer
from policrf.explore.drawing import Drawing, draw_image, draw_instance
from policrf.metrics import mean_iou, node_confusion
from policrf.types import Float32Array

if TYPE_CHECKING:
    from policrf.vision.segmentation import Segmentation

PHOTOS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff")


@dataclass(frozen=True)
class SubjectOptions:
    """What a source may need to be opened."""

    image: str | None = None
    energy: Path | None = None
    potentials: str = "u+p+hop1+hop2"
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Subject:
    """An instance, where its nodes are drawn, and what a net said of it, if one did."""

    title: str
    instance: Instance
    drawing: Drawing
    net: Answer | None = None


def open_subject(
    source: str, options: SubjectOptions, segmented: Callable[[Path], Segmentation]
) -> Subject:
    """The subject that `source` names; photos are segmented by the function that is given."""
    path = Path(source)
    if path.suffix.lower() in PHOTOS and path.is_file():
        return _photo(segmented(path))
    if (path / "index.json").is_file():
        return _prepared(path, options)
    if options.image is not None:
        raise InvalidOption(f"--image names an image of a prepared folder; {source} is none")
    if path.is_dir():
        raise InvalidFile(
            f"{source}: not a folder of prepared images (index.json is missing); give one of its "
            "files"
        )
    found = load_instances(
        source, energy=options.energy, potentials=options.potentials, count=1, seed=options.seed
    )
    instance = found[0]
    return Subject(path.name if path.is_file() else source, instance, draw_instance(instance))


def _photo(result: Segmentation) -> Subject:
    name, view = result.view.record.name, result.view
    drawing = draw_image(view.segments, view.image)
    return Subject(name, result.instance, drawing, _net(result.instance, view.record.distribution))


def _prepared(folder: Path, options: SubjectOptions) -> Subject:
    from policrf.datasets.instances import load_prepared

    data = load_prepared(folder, options.energy, potentials=options.potentials)
    if not len(data):
        raise InvalidFile(f"{folder}: holds no image")
    if options.image is not None and options.image not in data.names:
        raise InvalidFile(f"{folder}: there is no prepared image {options.image!r}")
    position = 0 if options.image is None else data.names.index(options.image)
    record = data.record(position)
    instance = data.build(record)
    drawing = draw_instance(instance)
    if data.prepared.recipe.keep_pixels:
        rebuilt = data.rebuilt(position, record)
        drawing = draw_image(rebuilt.maps.segments, rebuilt.image)
    return Subject(record.name, instance, drawing, _net(instance, record.distribution))


def _net(instance: Instance, distribution: Float32Array) -> Answer:
    """What the net alone says of every superpixel."""
    labels = distribution.argmax(axis=1).astype(np.int64)
    truth = instance.truth
    return Answer(
        name="net",
        labels=labels,
        energy=instance.crf.energy(labels),
        iou=None if truth is None else mean_iou(node_confusion(truth, labels)),
    )
