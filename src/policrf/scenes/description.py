"""The shared description of a scene: drawn once from (recipe, seed, L), discretised in two ways."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policrf.random_numbers import checked_seed
from policrf.scenes.appearance import Appearance, draw_appearance
from policrf.scenes.fields import SmoothField
from policrf.scenes.layout import Layout, draw_layout
from policrf.scenes.net_scores import NetErrors, draw_errors, probabilities
from policrf.scenes.scene_boxes import Detection, draw_detections
from policrf.scenes.scene_recipe import SceneRecipe
from policrf.types import BoolArray, FloatArray, IntArray

# What stands for an area of the scene: its centre and four points around it, in units of its side.
SAMPLES = np.asarray([[0.0, 0.0], [0.25, 0.25], [-0.25, 0.25], [0.25, -0.25], [-0.25, -0.25]])


@dataclass(frozen=True)
class Description:
    """Everything about a scene that does not depend on its resolution."""

    recipe: SceneRecipe
    seed: int
    n_labels: int
    layout: Layout
    errors: NetErrors
    detections: tuple[Detection, ...]
    foreground_error: SmoothField
    appearance: Appearance

    def foreground(self, detection: Detection, points: FloatArray) -> BoolArray:
        """Mask `[n]` of the points that belong to a box's foreground, errors included."""
        return detection.foreground(points, self.foreground_error, self.recipe.foreground_error)

    def net(
        self, points: FloatArray, side: float, rng: np.random.Generator, *, stray: float
    ) -> FloatArray:
        """The net's distribution `[n, L]` over areas of the given side around points `[n, 2]`.

        Parameters
        ----------
        points, side
            Centres of the areas `[n, 2]`, and the length of a side.
        rng
            Draws the noise from area to area.
        stray
            Probability that an area's competing label is a random one.
        """
        shift = self.errors.shift(points)
        seen = points + self.recipe.boundary_shift * shift
        labels = self.layout.region_labels[self.layout.seen_regions(sampled(seen, side))]
        shares = label_counts(labels, np.ones(len(labels), np.bool_), self.n_labels) / len(SAMPLES)
        return probabilities(points, shift, shares, self.errors, self.recipe, rng, stray=stray)


def describe(recipe: SceneRecipe, seed: int, n_labels: int) -> Description:
    """Draw a scene. Each part has its own stream, so that one can change without the others."""
    streams = [
        np.random.default_rng(s) for s in np.random.SeedSequence(checked_seed(seed)).spawn(4)
    ]
    layout = draw_layout(streams[0], recipe, n_labels)
    errors = draw_errors(streams[1], recipe, layout, n_labels)
    detections = draw_detections(streams[2], recipe, layout, n_labels)
    foreground_error = SmoothField.draw(streams[2], 0.06)
    appearance = draw_appearance(streams[3], recipe, layout)
    return Description(
        recipe=recipe, seed=seed, n_labels=n_labels, layout=layout, errors=errors,
        detections=detections, foreground_error=foreground_error, appearance=appearance,
    )  # fmt: skip


def sampled(points: FloatArray, side: float) -> FloatArray:
    """`[5 n, 2]`: the points that stand for an area around each point, area by area."""
    return np.asarray((points[:, None, :] + side * SAMPLES).reshape(-1, 2))


def label_counts(labels: IntArray, keep: BoolArray, n_labels: int) -> IntArray:
    """`[n, L]`: how many of the five samples of each area are kept and have each label."""
    n_areas = len(labels) // len(SAMPLES)
    area = np.repeat(np.arange(n_areas), len(SAMPLES))
    codes = (area * n_labels + labels)[keep]
    return np.bincount(codes, minlength=n_areas * n_labels).reshape(n_areas, n_labels)
