"""What a scene shows: objects on a background, small ones inside larger ones, and void regions.

Everything is a function of a point of the unit square (x to the right, y down), so that the fast
scene (a few points a node) and the rendered one (a point a pixel) discretise the same description.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policrf.scenes.scene_recipe import SceneRecipe
from policrf.types import BoolArray, FloatArray, IntArray

_HARMONICS = np.arange(2, 5)


@dataclass(frozen=True)
class Blob:
    """A star-shaped region: distance to its centre below radius · (1 + Σ_k a_k cos(kθ + φ_k))."""

    centre: FloatArray
    radius: float
    stretch: float
    """Ratio of the longer half axis to `radius`; the shorter one is its inverse."""
    angle: float
    amplitudes: FloatArray
    phases: FloatArray

    @staticmethod
    def draw(rng: np.random.Generator, centre: FloatArray, radius: float) -> Blob:
        """A random shape of the given place and size."""
        return Blob(
            centre=centre,
            radius=radius,
            stretch=float(rng.uniform(1.0, 1.35)),
            angle=float(rng.uniform(0.0, np.pi)),
            amplitudes=rng.uniform(0.0, 0.5, len(_HARMONICS)) / _HARMONICS,
            phases=rng.uniform(0.0, 2 * np.pi, len(_HARMONICS)),
        )

    def level(self, points: FloatArray) -> FloatArray:
        """`[n]`: below 0 inside, 0 on the outline, about (distance to it) / radius near it."""
        cosine, sine = np.cos(self.angle), np.sin(self.angle)
        dx, dy = points[:, 0] - self.centre[0], points[:, 1] - self.centre[1]
        along = (cosine * dx + sine * dy) / (self.radius * self.stretch)
        across = (cosine * dy - sine * dx) * (self.stretch / self.radius)
        return np.asarray(np.hypot(along, across) - self._reach(np.arctan2(across, along)))

    def near(self, points: FloatArray, margin: float = 0.0) -> IntArray:
        """The points that may be inside, or within `margin` of the outline."""
        reach = self.radius * self.stretch * (1.0 + self.amplitudes.sum())
        # A level of margin / radius is, along the longer axis, stretch · margin away.
        reach += self.stretch * margin
        dx, dy = points[:, 0] - self.centre[0], points[:, 1] - self.centre[1]
        return np.flatnonzero(dx * dx + dy * dy <= reach * reach)

    def outline(self, count: int = 48) -> FloatArray:
        """`[count, 2]` points of the outline."""
        theta = np.linspace(0.0, 2 * np.pi, count, endpoint=False)
        reach = self.radius * self._reach(theta)
        along, across = reach * self.stretch * np.cos(theta), reach / self.stretch * np.sin(theta)
        cosine, sine = np.cos(self.angle), np.sin(self.angle)
        offsets = np.stack([cosine * along - sine * across, sine * along + cosine * across], 1)
        return np.asarray(self.centre + offsets)

    def box(self) -> FloatArray:
        """x0, y0, x1, y1 of the outline, cut to the unit square."""
        outline = np.clip(self.outline(), 0.0, 1.0)
        return np.concatenate([outline.min(axis=0), outline.max(axis=0)])

    def _reach(self, theta: FloatArray) -> FloatArray:
        reach = np.ones_like(theta)
        for k, amplitude, phase in zip(_HARMONICS, self.amplitudes, self.phases, strict=True):
            reach += amplitude * np.cos(k * theta + phase)
        return reach


@dataclass(frozen=True)
class SceneObject:
    """A blob with a label; later objects lie in front of earlier ones."""

    blob: Blob
    label: int
    parent: int
    """Region that holds it: 0 = background, k = object k − 1."""
    missed: bool
    """True if the scores do not see it."""


@dataclass(frozen=True)
class Layout:
    """The objects, back to front. Region 0 is the background, region k is object k − 1."""

    objects: tuple[SceneObject, ...]
    void: tuple[Blob, ...]
    """Regions whose truth is not known."""
    void_band: float

    @property
    def region_labels(self) -> IntArray:
        """The true label of every region."""
        return np.asarray([0, *(thing.label for thing in self.objects)], np.int64)

    def paint(self, points: FloatArray) -> tuple[IntArray, BoolArray]:
        """Region `[n]` and void mask `[n]` of points `[n, 2]`."""
        region = np.zeros(len(points), np.int64)
        void = np.zeros(len(points), np.bool_)
        for number, thing in enumerate(self.objects, start=1):
            near = thing.blob.near(points, self.void_band)
            distance = thing.blob.level(points[near]) * thing.blob.radius
            region[near[distance < 0]] = number
            void[near[distance < -self.void_band]] = False
            void[near[np.abs(distance) <= self.void_band]] = True
        for blob in self.void:
            near = blob.near(points)
            void[near[blob.level(points[near]) < 0]] = True
        return region, void

    def seen_regions(self, points: FloatArray) -> IntArray:
        """Region `[n]` as the scores see it: objects they miss are not there."""
        region = np.zeros(len(points), np.int64)
        for number, thing in enumerate(self.objects, start=1):
            if not thing.missed:
                near = thing.blob.near(points)
                region[near[thing.blob.level(points[near]) < 0]] = number
        return region


def draw_layout(rng: np.random.Generator, recipe: SceneRecipe, n_labels: int) -> Layout:
    """A few large objects apart from each other, and small ones inside some of them."""
    objects: list[SceneObject] = []
    n_large = int(rng.integers(recipe.large_objects[0], recipe.large_objects[1] + 1))
    centres: list[FloatArray] = []
    labels = 1 + rng.permutation(n_labels - 1)
    for k in range(n_large):
        candidates = rng.uniform(0.18, 0.82, (8, 2))
        centre = candidates[_most_distant(candidates, centres)]
        centres.append(centre)
        # A small spread of labels: the same class may be there twice.
        label = int(labels[rng.integers(0, min(k + 2, len(labels)))])
        blob = Blob.draw(rng, centre, float(rng.uniform(*recipe.large_radius)))
        objects.append(SceneObject(blob, label, parent=0, missed=False))
    n_small = int(rng.integers(recipe.small_objects[0], recipe.small_objects[1] + 1))
    for k in range(min(n_small, n_large)):
        # Counted from the front, so that the first small object's parent is never hidden.
        parent = n_large - k
        objects.append(_small_object(rng, recipe, objects[parent - 1], parent, n_labels))
    void: tuple[Blob, ...] = ()
    if rng.random() < recipe.void_patch:
        void = (Blob.draw(rng, rng.uniform(0.05, 0.95, 2), float(rng.uniform(0.02, 0.05))),)
    return Layout(tuple(objects), void, recipe.void_band)


def _most_distant(candidates: FloatArray, taken: list[FloatArray]) -> int:
    if not taken:
        return 0
    gaps = np.linalg.norm(candidates[:, None] - np.stack(taken)[None], axis=2)
    return int(np.argmax(gaps.min(axis=1)))


def _small_object(
    rng: np.random.Generator, recipe: SceneRecipe, holder: SceneObject, parent: int, n_labels: int
) -> SceneObject:
    radius = holder.blob.radius * float(rng.uniform(*recipe.small_share))
    angle = rng.uniform(0.0, 2 * np.pi)
    shift = rng.uniform(0.0, 0.35) * holder.blob.radius
    centre = np.clip(
        holder.blob.centre + shift * np.asarray([np.cos(angle), np.sin(angle)]), 0.08, 0.92
    )
    others = [label for label in range(1, n_labels) if label != holder.label]
    label = int(rng.choice(others)) if others else holder.label
    missed = bool(rng.random() < recipe.missed_small)
    return SceneObject(Blob.draw(rng, centre, radius), label, parent, missed)
