"""Scenes with a known truth, families of hard potentials, and frustrated fields."""

from policrf.scenes.families import FAMILIES, make_family
from policrf.scenes.frustrated import FRUSTRATED, make_frustrated
from policrf.scenes.render import RenderedScene, SceneBoxes, render_scene
from policrf.scenes.scene import make_scene
from policrf.scenes.scene_recipe import PRESETS, SceneRecipe

__all__ = [
    "FAMILIES",
    "FRUSTRATED",
    "PRESETS",
    "RenderedScene",
    "SceneBoxes",
    "SceneRecipe",
    "make_family",
    "make_frustrated",
    "make_scene",
    "render_scene",
]
