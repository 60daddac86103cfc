"""Scenes with a known truth (`make_scene`, `render_scene`), and families of hard potentials."""

from policrf.scenes.families import FAMILIES, make_family
from policrf.scenes.render import Detections, RenderedScene, render_scene
from policrf.scenes.scene import make_scene
from policrf.scenes.scene_recipe import PRESETS, SceneRecipe

__all__ = [
    "FAMILIES",
    "PRESETS",
    "Detections",
    "RenderedScene",
    "SceneRecipe",
    "make_family",
    "make_scene",
    "render_scene",
]
