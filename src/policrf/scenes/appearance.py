"""The colours of a scene: boundaries that mostly, but not always, show; edges where there is none.

Each region has a colour and a texture of its own, under one smooth light. An object may have nearly
the colour of what lies behind it, so that its boundary hardly shows; light and texture make edges
inside regions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policrf.scenes.fields import SmoothField
from policrf.scenes.layout import Layout
from policrf.scenes.scene_recipe import SceneRecipe
from policrf.types import FloatArray, IntArray

_CONTRAST = 0.35
"""Smallest distance of an object's colour from that of what lies behind it, camouflage apart."""
_LIGHT = 0.15
"""Standard deviation of the light, relative to a colour."""


@dataclass(frozen=True)
class Appearance:
    """Colours as functions of the plane."""

    colours: FloatArray
    """`[R, 3]`: red, green and blue of every region, in [0, 1]."""
    textures: tuple[SmoothField, ...]
    light: SmoothField

    def shade(
        self,
        base: FloatArray,
        points: FloatArray,
        region: IntArray,
        amplitude: float,
        window: float = 0.0,
    ) -> FloatArray:
        """Colours `[n, 3]` under light and texture.

        Parameters
        ----------
        base
            The plain colours there, `[n, 3]`.
        points
            `[n, 2]`.
        region
            The region of every point, `[n]`.
        amplitude
            Of the texture.
        window
            The width that a point stands for; finer texture is averaged away.
        """
        texture = np.zeros(len(points))
        for number, field in enumerate(self.textures):
            members = np.flatnonzero(region == number)
            texture[members] = amplitude * field(points[members], window)
        light = 1.0 + _LIGHT * self.light(points)
        return np.asarray(base * light[:, None] + texture[:, None])


def draw_appearance(rng: np.random.Generator, recipe: SceneRecipe, layout: Layout) -> Appearance:
    """Colours for every region of the layout, each far from its background's unless camouflaged."""
    colours = [rng.uniform(0.25, 0.75, 3)]
    for thing in layout.objects:
        behind = colours[thing.parent]
        candidates = rng.uniform(0.08, 0.92, (16, 3))
        far = np.linalg.norm(candidates - behind, axis=1) >= _CONTRAST
        colour = candidates[int(np.argmax(far))]
        if rng.random() < recipe.camouflage:
            colour = np.clip(behind + rng.normal(0.0, 0.05, 3), 0.05, 0.95)
        colours.append(colour)
    textures = tuple(
        SmoothField.draw(rng, float(rng.uniform(0.012, 0.05)), float(rng.choice([1.0, 1.0, 4.0])))
        for _ in colours
    )
    return Appearance(np.stack(colours), textures, SmoothField.draw(rng, 0.45))
