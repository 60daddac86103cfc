"""Scenes with a known truth: `make_scene` (a planar graph, fast) and `render_scene` (an image)."""

from policrf.crf.synthetic.recipe import PRESETS, SceneRecipe
from policrf.crf.synthetic.scene import make_scene

__all__ = ["PRESETS", "SceneRecipe", "make_scene"]
