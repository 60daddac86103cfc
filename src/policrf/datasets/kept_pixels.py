"""The pixels of a prepared image: what its maps are rebuilt from, bit for bit.

Records hold what is known of superpixels. The pixel stage (`vision/pixels/`) also looks at the
picture, at which pixels a superpixel has and at the net's scores; a result is then held against the
truth of every pixel. These are kept beside the record, and read only where they are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from policrf.datasets.packed import pack, unpack
from policrf.metrics import map_confusion
from policrf.types import FloatArray, IntArray, LabelMap, Pixels
from policrf.vision.nets.grids import Grid
from policrf.vision.nets.loaded import label_distribution
from policrf.vision.opencv import to_lab
from policrf.vision.pipeline import ImageView
from policrf.vision.pixels.maps import PixelMaps
from policrf.vision.recipe import Recipe
from policrf.vision.record import Record
from policrf.vision.superpixels.project import enlarged


class KeptPixels(NamedTuple):
    """One image in the form on disk."""

    image: bytes
    """Packed, at the working size, as differences: 1 ms where PNG takes 15, for a tenth more."""
    segments: bytes
    """Packed, int32 `[H, W]`."""
    scores: tuple[bytes, ...]
    """Packed, float32 `[h, w, C]` as the net gave them, one a window."""
    places: FloatArray
    """`[windows, 8]`: top, left, bottom, right, and y0, dy, x0, dx of each `Grid`."""
    truth: bytes
    """Packed, int32 at the image's own size, −1 = void; empty without truth."""


@dataclass(frozen=True, eq=False)
class RebuiltImage:
    """What was kept of an image."""

    maps: PixelMaps
    truth: LabelMap | None
    """The label of every pixel at the image's own size, −1 = void; None without truth."""
    image: Pixels
    """At the working size, `[H, W, 3]`."""

    def confusion(self, labels: LabelMap) -> IntArray:
        """Pixels by (true label, label), `[L, L]`, of labels at the working size."""
        assert self.truth is not None
        full = enlarged(labels, self.truth.shape)
        return map_confusion(self.truth, full, self.maps.record.n_labels)


def keep(view: ImageView, truth: LabelMap | None) -> KeptPixels:
    """The pixels of an image that was just seen, for the disk."""
    places = [[*grid.window, grid.y0, grid.dy, grid.x0, grid.dx] for grid in view.scores]
    return KeptPixels(
        image=pack(_differences(view.image)),
        segments=pack(view.segments),
        scores=tuple(pack(grid.values) for grid in view.scores),
        places=np.asarray(places, np.float64),
        truth=b"" if truth is None else pack(np.asarray(truth, np.int32)),
    )


def rebuild(kept: KeptPixels, record: Record, recipe: Recipe) -> RebuiltImage:
    """The maps of an image as `Pipeline.view` had them; a ValueError for damaged content.

    Parameters
    ----------
    kept
        What `keep` made.
    record
        Of the same image.
    recipe
        Under which both were made.
    """
    image, segments = _picture(unpack(kept.image)), unpack(kept.segments)
    shape = image.shape[:2]
    if segments.shape != shape or int(segments.max()) + 1 != record.n_nodes:
        raise ValueError(f"the superpixels of {record.name} do not fit its image")
    truth = unpack(kept.truth) if kept.truth else None
    if truth is not None and truth.shape != (record.height, record.width):
        raise ValueError(f"the truth of {record.name} does not fit its image")
    grids = [_grid(part, place) for part, place in zip(kept.scores, kept.places, strict=True)]
    maps = PixelMaps(
        record=record,
        segments=segments,
        distribution=label_distribution(grids, shape, recipe),
        lab=to_lab(image, recipe.smoothing),
    )
    return RebuiltImage(maps, truth, image)


def _differences(image: Pixels) -> Pixels:
    """Every pixel minus the one on its left, modulo 256, `[3, H, W]`: mostly small numbers."""
    planes = np.ascontiguousarray(image.transpose(2, 0, 1))
    planes[:, :, 1:] = image[:, 1:].transpose(2, 0, 1) - image[:, :-1].transpose(2, 0, 1)
    return planes


def _picture(differences: Pixels) -> Pixels:
    """The image `[H, W, 3]` of such differences."""
    planes = np.add.accumulate(differences, axis=2, dtype=np.uint8)
    return np.ascontiguousarray(planes.transpose(1, 2, 0))


def _grid(scores: bytes, place: FloatArray) -> Grid:
    top, left, bottom, right = (int(side) for side in place[:4])
    y0, dy, x0, dx = place[4:].tolist()
    return Grid(unpack(scores), (top, left, bottom, right), y0=y0, dy=dy, x0=x0, dx=dx)
