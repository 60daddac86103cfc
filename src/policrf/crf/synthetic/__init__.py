"""Scenes with a known truth: `make_scene` (a planar graph, fast) and `render_scene` (an image)."""

from policrf.crf.synthetic.recipe import PRESETS, SceneRecipe
from policrf.crf.synthetic.render import Detections, RenderedScene, render_scene
from policrf.crf.synthetic.scene import make_scene, scene_positions

__all__ = [
    "PRESETS",
    "Detections",
    "RenderedScene",
    "SceneRecipe",
    "make_scene",
    "render_scene",
    "scene_positions",
]
