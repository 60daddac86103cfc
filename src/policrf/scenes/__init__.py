"""Scenes with a known truth: `make_scene` (a planar graph, fast) and `render_scene` (an image)."""

from policrf.scenes.render import Detections, RenderedScene, render_scene
from policrf.scenes.scene import make_scene
from policrf.scenes.scene_recipe import PRESETS, SceneRecipe

__all__ = [
    "PRESETS",
    "Detections",
    "RenderedScene",
    "SceneRecipe",
    "make_scene",
    "render_scene",
]
