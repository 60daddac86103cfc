"""render_scene: the same scenes as an image, a net's scores and a detector's boxes.

The scores come on a coarse grid and are interpolated, as those of a segmentation net with an output
stride are. Nothing here knows of superpixels: that is for the vision pipeline to find.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from policrf.argument_types import typed
from policrf.errors import InvalidOption
from policrf.scenes.description import Description, describe
from policrf.scenes.scene_options import checked_integer, checked_size
from policrf.scenes.scene_recipe import SceneRecipe, chosen_recipe
from policrf.types import VOID, BoolArray, FloatArray, IntArray, LabelMap

MOST_LABELS = 255
"""Masks are written with 8 bits a pixel, of which 255 is void."""
_STRIDE = 8
"""Pixels a side of a cell of the net's output grid."""
_MOST_PIXELS = 2_000_000
_SMALLEST_SIDE = 16
_ASPECT = 4 / 3
_PIXEL_NOISE = 0.025
_RELIEF = 0.12
"""How much darker than its middle an object is at its outline."""


class SceneBoxes(NamedTuple):
    """A detector's answer, most confident first."""

    boxes: FloatArray
    """`[D, 4]`: x0, y0, x1, y1 in pixels."""
    labels: IntArray
    """`[D]`."""
    confidences: FloatArray
    """`[D]`."""


@dataclass(frozen=True, eq=False)
class RenderedScene:
    """What a camera, a segmentation net, a detector and an annotator say of one scene."""

    image: NDArray[np.uint8]
    """`[H, W, 3]`."""
    scores: NDArray[np.float32]
    """`[H, W, L]`: the net's distribution at every pixel."""
    detections: SceneBoxes
    truth: LabelMap
    """`[H, W]`; −1 where there is none."""
    recipe: SceneRecipe
    seed: int


@typed()
def render_scene(
    size: int | tuple[int, int],
    preset: str = "A",
    *,
    seed: int = 0,
    n_labels: int = 21,
    recipe: SceneRecipe | None = None,
) -> RenderedScene:
    """A scene as an image, with everything the vision pipeline needs and no real data.

    Parameters
    ----------
    size
        (height, width) in pixels, or a number of nodes: the image then has about 100 pixels a
        node, and at most 2,000,000 in all.
    preset
        As in `make_scene`, which puts the same scene on a graph.
    seed
        As in `make_scene`.
    recipe
        As in `make_scene`.
    n_labels
        L, from 2 to 255.

    >>> scene = render_scene((60, 80), "B", seed=3)
    >>> scene.image.shape, scene.scores.shape, scene.truth.shape
    ((60, 80, 3), (60, 80, 21), (60, 80))
    """
    height, width = _checked_shape(size)
    chosen = chosen_recipe(preset, recipe)
    labels = checked_integer("n_labels", n_labels, 2)
    if labels > MOST_LABELS:
        raise InvalidOption(
            f"n_labels must be at most {MOST_LABELS} in a rendered scene, not {labels}"
        )
    scene = describe(chosen, checked_integer("seed", seed, 0), labels)
    rng = np.random.default_rng([scene.seed, height, width])

    points = _grid(height, width)
    region, void = scene.layout.paint(points)
    return RenderedScene(
        image=_image(scene, points, region, (height, width), rng),
        scores=_scores(scene, height, width, rng),
        detections=_detections(scene, height, width),
        truth=_truth(scene, region, void).reshape(height, width),
        recipe=chosen,
        seed=scene.seed,
    )


def _checked_shape(size: object) -> tuple[int, int]:
    """Height and width."""
    if isinstance(size, tuple | list):
        if len(size) != 2:
            raise InvalidOption(f"size must be (height, width) or a number of nodes, not {size!r}")
        height = checked_integer("height", size[0], _SMALLEST_SIDE)
        width = checked_integer("width", size[1], _SMALLEST_SIDE)
        if height * width > _MOST_PIXELS:
            raise InvalidOption(
                f"an image of {height} × {width} pixels is too large; at most {_MOST_PIXELS:,}"
            )
        return height, width
    pixels = min(100 * checked_size(size), _MOST_PIXELS)
    height = round(np.sqrt(pixels / _ASPECT))
    return height, pixels // height


def _grid(height: int, width: int) -> FloatArray:
    """The centres of H · W cells of the unit square, row by row, `[H · W, 2]`."""
    x, y = np.meshgrid((np.arange(width) + 0.5) / width, (np.arange(height) + 0.5) / height)
    return np.stack([x.ravel(), y.ravel()], axis=1)


def _truth(scene: Description, region: IntArray, void: BoolArray) -> LabelMap:
    truth = scene.layout.region_labels[region].astype(np.int32)
    truth[void] = VOID
    return truth


def _image(
    scene: Description,
    points: FloatArray,
    region: IntArray,
    shape: tuple[int, int],
    rng: np.random.Generator,
) -> NDArray[np.uint8]:
    look = scene.appearance
    # A pixel shows finer texture than the mean over a node does.
    colours = look.shade(look.colours[region], points, region, scene.recipe.texture)
    colours *= _relief(scene, points, region)[:, None]
    image = gaussian_filter(colours.reshape(*shape, 3), (0.7, 0.7, 0.0))
    image += rng.normal(0.0, _PIXEL_NOISE, image.shape)
    return np.rint(np.clip(image, 0.0, 1.0) * 255).astype(np.uint8)


def _relief(scene: Description, points: FloatArray, region: IntArray) -> FloatArray:
    """`[n]`: 1 + relief in the middle of an object, less towards its outline; 1 on the ground."""
    relief = np.ones(len(points))
    for number, thing in enumerate(scene.layout.objects, start=1):
        members = np.flatnonzero(region == number)
        depth = -thing.blob.level(points[members])
        relief[members] += _RELIEF * (2.0 * np.sqrt(np.clip(depth, 0.0, 1.0)) - 1.0)
    return relief


def _scores(
    scene: Description, height: int, width: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """The net's coarse output, interpolated to the pixels: `[H, W, L]`."""
    rows, columns = -(-height // _STRIDE), -(-width // _STRIDE)
    side = 1.0 / np.sqrt(rows * columns)
    # Strays are what superpixels see of a noisy net. Interpolation would dilute them, and with them
    # the recipe's share of errors.
    coarse = scene.net(_grid(rows, columns), side, rng, stray=0.0).astype(np.float32)
    down = _interpolation(height, rows) @ coarse.reshape(rows, columns * scene.n_labels)
    across = _interpolation(width, columns)
    return np.asarray(np.matmul(across, down.reshape(height, columns, scene.n_labels)), np.float32)


def _interpolation(fine: int, coarse: int) -> NDArray[np.float32]:
    """`[fine, coarse]`: linear weights; each row sums to 1, the border repeats its last cell."""
    place = np.clip((np.arange(fine) + 0.5) * (coarse / fine) - 0.5, 0.0, coarse - 1.0)
    left = np.minimum(place.astype(np.int64), max(coarse - 2, 0))
    weights = np.zeros((fine, coarse), np.float32)
    rows = np.arange(fine)
    weights[rows, left] = 1.0 - (place - left)
    weights[rows, np.minimum(left + 1, coarse - 1)] += place - left
    return weights


def _detections(scene: Description, height: int, width: int) -> SceneBoxes:
    found = scene.detections
    return SceneBoxes(
        np.asarray([d.box for d in found]).reshape(-1, 4) * [width, height, width, height],
        np.asarray([d.label for d in found], np.int64),
        np.asarray([d.confidence for d in found], np.float64),
    )
