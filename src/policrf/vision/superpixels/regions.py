"""Regions: the superpixels of an image under a recipe, and which of their pixels speak for them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.types import Float32Array, LabelMap, Pixels, Segments
from policrf.vision.opencv import to_lab
from policrf.vision.recipe import Recipe
from policrf.vision.superpixels.follow import follow_labels
from policrf.vision.superpixels.slic import superpixels
from policrf.vision.unaries import best_labels


class Regions(NamedTuple):
    """Superpixels with the colours they were found by."""

    segments: Segments
    own: Segments
    """The same, −1 inside joined fragments of another label: those pixels have no say in the class
    scores of the superpixel they were joined to, whose label is thus the net's."""
    lab: Float32Array
    """Lab after the blur, `[H, W, 3]`."""
    best: LabelMap
    """The net's label of every pixel, `[H, W]`."""


def find_regions(image: Pixels, distribution: Float32Array, recipe: Recipe) -> Regions:
    """Superpixels of an image `[H, W, 3]` whose pixels have class scores `[L, H, W]`."""
    best = best_labels(distribution)
    lab = to_lab(image, recipe.smoothing)
    found = superpixels(
        lab, recipe.superpixels, compactness=recipe.compactness, iterations=recipe.slic_iterations
    )
    if not recipe.follow_net:
        return Regions(segments=found, own=found, lab=lab, best=best)
    pieces = follow_labels(found, best, recipe.smallest, recipe.superpixels)
    own = np.where(best == pieces.labels[pieces.segments], pieces.segments, np.int32(-1))
    return Regions(segments=pieces.segments, own=own, lab=lab, best=best)
