"""The scores of an imperfect net: errors in patches, missed small objects, shifted boundaries.

At a point x the net sees label s(x): the scene's label at x + a smooth displacement, without the
small objects that it misses. A distractor d(x), constant over large cells, competes with s(x); the
net's margin between the two is

    m(x) = clip(slope · (τ − h(x)), −M, M) + noise,    logit s = κ + m/2,    logit d = κ − m/2

with h a smooth field, so that wrong labels win in patches, timidly at their border, firmly inside.
τ is set for every scene such that the expected fraction of right labels is the recipe's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from policrf.scenes.fields import SmoothField
from policrf.scenes.layout import Layout
from policrf.scenes.scene_recipe import SceneRecipe
from policrf.types import FloatArray, IntArray

_REFERENCE_SIDE = 24
"""Points a side of the grid on which τ is set; it does not depend on the size of the scene."""

_BEND = 0.06
"""Displacement of the borders between distractors, per unit of the shift fields."""


@dataclass(frozen=True)
class NetErrors:
    """How the net errs on one scene."""

    field: SmoothField
    threshold: float
    """τ."""
    shift_x: SmoothField
    shift_y: SmoothField
    sites: FloatArray
    """`[S, 2]`: the distractor of a point is that of its nearest site."""
    site_labels: IntArray
    """`[S, 2]`: the distractor, and the one to take where the net sees that label."""

    def shift(self, points: FloatArray) -> FloatArray:
        """A smooth displacement of the plane `[n, 2]`, of standard deviation 1."""
        return np.stack([self.shift_x(points), self.shift_y(points)], axis=1)

    def distractors(self, points: FloatArray, shift: FloatArray, seen: IntArray) -> IntArray:
        """The competing label of every point `[n]`, never the seen one."""
        bent = points + _BEND * shift
        gaps = ((bent[:, None, :] - self.sites[None]) ** 2).sum(axis=2)
        first, second = self.site_labels[np.argmin(gaps, axis=1)].T
        return np.asarray(np.where(first == seen, second, first))

    def margins(self, points: FloatArray, recipe: SceneRecipe) -> FloatArray:
        """m(x) without its noise, `[n]`."""
        return _clipped(recipe.patch_slope * (self.threshold - self.field(points)), recipe)


def draw_errors(
    rng: np.random.Generator, recipe: SceneRecipe, layout: Layout, n_labels: int
) -> NetErrors:
    """Random patches that cover what the recipe's accuracy leaves to be wrong."""
    field = SmoothField.draw(rng, recipe.patch_length)
    shift_x, shift_y = SmoothField.draw(rng, 0.1), SmoothField.draw(rng, 0.1)
    sites = rng.uniform(0.0, 1.0, (14, 2))
    labels = _site_labels(rng, layout, n_labels, len(sites))
    accuracy = float(np.clip(rng.normal(recipe.accuracy, recipe.accuracy_spread), 0.0, 1.0))
    errors = NetErrors(
        field=field,
        threshold=0.0,
        shift_x=shift_x,
        shift_y=shift_y,
        sites=sites,
        site_labels=labels,
    )
    return replace(errors, threshold=_threshold(errors, recipe, layout, accuracy))


def _site_labels(rng: np.random.Generator, layout: Layout, n_labels: int, count: int) -> IntArray:
    """Half of the distractors are labels of the scene, half are any label."""
    present = layout.region_labels[rng.integers(0, len(layout.objects) + 1, count)]
    anything = rng.integers(0, n_labels, count)
    first = np.where(rng.random(count) < 0.5, present, anything)
    second = (first + rng.integers(1, n_labels, count)) % n_labels
    return np.stack([first, second], axis=1)


def _threshold(errors: NetErrors, recipe: SceneRecipe, layout: Layout, accuracy: float) -> float:
    """τ for which the expected accuracy on the reference grid is the wanted one, by bisection."""
    side = (np.arange(_REFERENCE_SIDE) + 0.5) / _REFERENCE_SIDE
    points = np.stack(np.meshgrid(side, side), axis=2).reshape(-1, 2)
    # Void points count too: most nodes they belong to have a true label.
    true = layout.region_labels[layout.paint(points)[0]]
    shift = errors.shift(points)
    seen = layout.region_labels[layout.seen_regions(points + recipe.boundary_shift * shift)]
    heights = errors.field(points)
    seen_right = seen == true
    other_right = errors.distractors(points, shift, seen) == true
    low, high = -8.0, 8.0
    for _ in range(16):
        middle = 0.5 * (low + high)
        margin = _clipped(recipe.patch_slope * (middle - heights), recipe)
        trust = ndtr(margin / recipe.node_noise)
        right = float(np.mean(np.where(seen_right, trust, np.where(other_right, 1 - trust, 0.0))))
        low, high = (middle, high) if right < accuracy else (low, middle)
    return 0.5 * (low + high)


def _clipped(margin: FloatArray, recipe: SceneRecipe) -> FloatArray:
    return np.clip(margin, -recipe.patch_margin, recipe.patch_margin)


def probabilities(
    points: FloatArray,
    shift: FloatArray,
    seen_shares: FloatArray,
    errors: NetErrors,
    recipe: SceneRecipe,
    rng: np.random.Generator,
    *,
    stray: float,
) -> FloatArray:
    """The net's distribution over labels at every point, `[n, L]`.

    Parameters
    ----------
    points
        `[n, 2]`.
    shift
        The net's displacement of the points, `[n, 2]`.
    errors
        Of the net on this scene.
    recipe
        Of the scene.
    rng
        Draws the noise.
    stray
        Probability that the competing label is a random one.
    seen_shares
        `[n, L]`, how much of what the point stands for the net sees as each label.
    """
    n_points, n_labels = seen_shares.shape
    margin = errors.margins(points, recipe) + rng.normal(0.0, recipe.node_noise, n_points)
    seen = np.argmax(seen_shares, axis=1)
    largest = np.log(np.max(seen_shares, axis=1))
    other = errors.distractors(points, shift, seen)
    strays = np.flatnonzero(rng.random(n_points) < stray)
    other[strays] = (seen[strays] + rng.integers(1, n_labels, len(strays))) % n_labels
    logits = rng.standard_normal((n_points, n_labels)) * recipe.label_noise
    node, label = np.nonzero(seen_shares)
    logits[node, label] = (recipe.confidence + 0.5 * margin)[node] + np.log(
        seen_shares[node, label]
    )
    rows = np.arange(n_points)
    logits[rows, other] = np.maximum(
        logits[rows, other], recipe.confidence - 0.5 * margin + largest
    )
    logits -= logits.max(axis=1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=1, keepdims=True)
    return logits
