"""A detector's answer to a scene: shifted, missing and false boxes, and wrong labels.

Every box comes with a blob that its foreground is cut from, as GrabCut would cut it from an image:
the object's own outline, moved in and out by a smooth error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policrf.scenes.fields import SmoothField
from policrf.scenes.layout import Blob, Layout, SceneObject
from policrf.scenes.scene_recipe import SceneRecipe
from policrf.types import BoolArray, FloatArray


@dataclass(frozen=True)
class Detection:
    """One box of the detector."""

    box: FloatArray
    """x0, y0, x1, y1 in the unit square."""
    label: int
    confidence: float
    blob: Blob
    """What its foreground is cut from."""
    shows: int
    """The region that it shows (k = object k − 1), −1 for a false box."""
    offset: FloatArray
    """Where in the error field its foreground's error is read."""

    def foreground(self, points: FloatArray, error: SmoothField, amount: float) -> BoolArray:
        """Mask `[n]` of the points that its foreground holds."""
        x0, y0, x1, y1 = self.box
        x, y = points[:, 0], points[:, 1]
        chosen = np.flatnonzero((x >= x0) & (x <= x1) & (y >= y0) & (y <= y1))
        near = points[chosen]
        mask = np.zeros(len(points), np.bool_)
        mask[chosen] = self.blob.level(near) + amount * error(near + self.offset) < 0
        return mask


def draw_detections(
    rng: np.random.Generator, recipe: SceneRecipe, layout: Layout, n_labels: int
) -> tuple[Detection, ...]:
    """As many as `recipe.boxes` allows; the first small object and its holder always have one."""
    objects = layout.objects
    first_small = next((k for k, thing in enumerate(objects) if thing.parent), None)
    kept = {first_small, objects[first_small].parent - 1} if first_small is not None else set()
    fewest, most = recipe.boxes
    found: list[Detection] = []
    for k, thing in enumerate(objects):
        missing = rng.random() < recipe.missing_box
        if k in kept or not missing:
            found.append(_box_of(rng, recipe, thing, k + 1, n_labels))
    found = sorted(found, key=lambda d: d.shows - 1 not in kept)[:most]
    while len(found) < most and (len(found) < fewest or rng.random() < recipe.false_box):
        found.append(_false_box(rng, n_labels))
    return tuple(sorted(found, key=lambda d: -d.confidence))


def _box_of(
    rng: np.random.Generator, recipe: SceneRecipe, thing: SceneObject, region: int, n_labels: int
) -> Detection:
    box = thing.blob.box()
    size = np.tile(box[2:] - box[:2], 2)
    box = np.clip(box + rng.normal(0.0, recipe.box_jitter, 4) * size, 0.0, 1.0)
    label = thing.label
    confidence = float(rng.uniform(0.55, 0.99))
    if n_labels > 2 and rng.random() < recipe.wrong_box_label:
        label = int(rng.choice([x for x in range(1, n_labels) if x != thing.label]))
        confidence *= 0.8
    return Detection(
        box=box,
        label=label,
        confidence=confidence,
        blob=thing.blob,
        shows=region,
        offset=rng.uniform(0.0, 9.0, 2),
    )


def _false_box(rng: np.random.Generator, n_labels: int) -> Detection:
    blob = Blob.draw(rng, rng.uniform(0.12, 0.88, 2), float(rng.uniform(0.07, 0.18)))
    label = int(rng.integers(1, n_labels))
    return Detection(
        box=blob.box(),
        label=label,
        confidence=float(rng.uniform(0.3, 0.7)),
        blob=blob,
        shows=-1,
        offset=rng.uniform(0.0, 9.0, 2),
    )
