"""The shared description of a scene: drawn once from (recipe, seed, L), discretised in two ways."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policrf.crf.checks import FloatArray, IntArray
from policrf.crf.synthetic.boxes import Detection, draw_detections
from policrf.crf.synthetic.fields import SmoothField
from policrf.crf.synthetic.layout import Layout, draw_layout
from policrf.crf.synthetic.recipe import SceneRecipe
from policrf.crf.synthetic.scores import NetErrors, draw_errors

_BACKGROUND_CONTRAST = 0.3
"""Smallest distance between the colours of an object and of what lies behind it, camouflage apart."""


@dataclass(frozen=True)
class Appearance:
    """Colours as functions of the plane: one a region, under smooth light, with a texture of its own."""

    colours: FloatArray
    """`[R, 3]`, in [0, 1]."""
    light: SmoothField
    texture: SmoothField

    def __call__(self, points: FloatArray, region: IntArray, amplitude: float) -> FloatArray:
        """Colours `[n, 3]` of points whose regions are given, without pixel noise."""
        base = self.colours[region]
        # Each region reads the texture at its own scale and place.
        scale = 1.0 + 0.6 * region[:, None]
        texture = amplitude * self.texture(points * scale + 3.0 * region[:, None])
        return np.asarray(base * (1.0 + 0.12 * self.light(points))[:, None] + texture[:, None])


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


def describe(recipe: SceneRecipe, seed: int, n_labels: int) -> Description:
    """Draw a scene. Each part has its own stream, so that one can change without the others."""
    streams = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(4)]
    layout = draw_layout(streams[0], recipe, n_labels)
    errors = draw_errors(streams[1], recipe, layout, n_labels)
    detections = draw_detections(streams[2], recipe, layout, n_labels)
    foreground_error = SmoothField.draw(streams[2], 0.06)
    appearance = _draw_appearance(streams[3], recipe, layout)
    return Description(
        recipe, seed, n_labels, layout, errors, detections, foreground_error, appearance
    )


def _draw_appearance(rng: np.random.Generator, recipe: SceneRecipe, layout: Layout) -> Appearance:
    colours = [rng.uniform(0.3, 0.7, 3)]
    for thing in layout.objects:
        behind = colours[thing.parent]
        if rng.random() < recipe.camouflage:
            colours.append(np.clip(behind + rng.normal(0.0, 0.05, 3), 0.05, 0.95))
            continue
        candidates = rng.uniform(0.05, 0.95, (16, 3))
        far = np.linalg.norm(candidates - behind, axis=1) >= _BACKGROUND_CONTRAST
        colours.append(candidates[int(np.argmax(far))])
    return Appearance(np.stack(colours), SmoothField.draw(rng, 0.5), SmoothField.draw(rng, 0.06))
