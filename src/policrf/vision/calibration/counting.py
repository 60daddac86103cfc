"""What a process counts: the pixels that some settings get right on one image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from policrf.datasets.kept_pixels import RebuiltImage
from policrf.datasets.store import Prepared
from policrf.types import IntArray
from policrf.vision.calibration.kept_image import KeptImage, Labeled
from policrf.vision.energy.weights import Energy
from policrf.vision.pixels.stage import refined_labels, stage_of

ALL_POTENTIALS = "u+p+hop1+hop2"
KEPT_NODES = 200_000  # of images that a process keeps in memory, about 1 kB each


@dataclass(frozen=True)
class Job:
    """What every process knows."""

    prepared: Prepared
    solver: str
    seed: int


class Item(NamedTuple):
    """One image under some settings."""

    position: int
    energies: tuple[Energy, ...]
    averaged: bool
    """Score the temperatures, not the labelings."""


def count_item(job: Job, item: Item, cache: dict[str, Any]) -> IntArray:
    """Hits and predicted pixels of every setting on one image, `[S, 2, L]`."""
    images: dict[int, KeptImage] = cache.setdefault("images", {})
    image = images.get(item.position)
    if image is None:
        image = KeptImage(job.prepared.record(item.position), str(job.prepared.folder))
        nodes = image.record.n_nodes + cache.get("nodes", 0)
        if nodes <= KEPT_NODES:
            images[item.position], cache["nodes"] = image, nodes
    if item.averaged:
        return np.stack([image.averaged_counts(e.temperature) for e in item.energies])
    return np.stack(list(_counts(job, item, image)))


def _counts(job: Job, item: Item, image: KeptImage) -> Iterator[IntArray]:
    """Hits and predicted pixels of every setting, `[2, L]` each.

    Superpixels are solved once for all strengths of the pixel stage. The maps are rebuilt once, and
    kept no longer than this: they are L floats a pixel.
    """
    solved: dict[Energy, Labeled] = {}
    rebuilt: RebuiltImage | None = None
    for energy in item.energies:
        plain = energy.replace(pixels=0.0)
        if plain not in solved:
            solved[plain] = image.solved(plain, job.solver, job.seed)
        labels, solver = solved[plain]
        stage = stage_of(energy, ALL_POTENTIALS, solver)
        if stage is None:
            yield image.counts(labels)
            continue
        if rebuilt is None:
            rebuilt = job.prepared.rebuilt(item.position, image.record)
        confusion = rebuilt.confusion(refined_labels(rebuilt.maps, labels, stage))
        yield np.stack([np.diagonal(confusion), confusion.sum(axis=0)])
