"""SLIC's two steps, compiled: every pixel to the best centre around it, every centre to its mean.

    distance(pixel, centre) = ‖ΔLab‖² + s² ‖Δposition‖²,  s = compactness · √(superpixels / pixels)

Centres start on a regular grid of cells. A pixel looks at the centres of its own cell and of the
eight around it, so a pass takes the same time whatever their number. Equal distances go to the
centre with the lower number: the same image always gives the same map.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from policrf.compiled import inner, inner_kernel, kernel
from policrf.types import Float32Array


class Cells(NamedTuple):
    """The grid of centres over an image."""

    rows: int
    columns: int
    step: float
    """s: what a pixel of distance counts, in units of Lab."""


@kernel
def assign(planes: Float32Array, cells: Cells, iterations: int) -> NDArray[np.int32]:
    """The cell that every pixel ends in, `[H, W]`; a cell may have lost all of its pixels.

    Parameters
    ----------
    planes
        Lab as `[3, H, W]`, C-contiguous.
    cells
        At least one and at most one a pixel in each direction.
    iterations
        Passes over the image, at least one.
    """
    centres = _start(planes, cells)
    nearest = np.zeros(planes.shape[1:], np.int32)
    distance = np.empty(planes.shape[1:], np.float32)
    for _ in range(iterations):
        distance[:] = np.inf
        for k in range(len(centres)):
            _offer(planes, cells, centres[k], k, nearest, distance)
        _move(planes, cells.step, nearest, centres)
    return nearest


@inner_kernel
def _start(planes: Float32Array, cells: Cells) -> Float32Array:
    """Centres (y, x, L, a, b) in the middle of their cells, `[rows · columns, 5]`."""
    height, width = planes.shape[1:]
    centres = np.empty((cells.rows * cells.columns, 5), np.float32)
    for k in range(len(centres)):
        y = int((k // cells.columns + 0.5) * height / cells.rows)
        x = int((k % cells.columns + 0.5) * width / cells.columns)
        centres[k, 0], centres[k, 1] = y * cells.step, x * cells.step
        for q in range(3):
            centres[k, 2 + q] = planes[q, y, x]
    return centres


@inner
def _first(cell: int, cells: int, pixels: int) -> int:
    """The first pixel of a cell: the least x with x · cells // pixels = cell."""
    return (cell * pixels + cells - 1) // cells


@inner
def _offer(
    planes: Float32Array,
    cells: Cells,
    centre: Float32Array,
    k: int,
    nearest: NDArray[np.int32],
    distance: Float32Array,
) -> None:
    """Take the pixels of the nine cells around centre k that are closer to it than so far."""
    height, width = nearest.shape
    row, column = k // cells.columns, k % cells.columns
    top = _first(max(row - 1, 0), cells.rows, height)
    bottom = _first(min(row + 2, cells.rows), cells.rows, height)
    left = _first(max(column - 1, 0), cells.columns, width)
    right = _first(min(column + 2, cells.columns), cells.columns, width)
    step, number = np.float32(cells.step), np.int32(k)
    cx, light, green, blue = centre[1] - left * step, centre[2], centre[3], centre[4]
    for y in range(top, bottom):
        dy = y * step - centre[0]
        first, second = planes[0, y, left:right], planes[1, y, left:right]
        third = planes[2, y, left:right]
        best, who = distance[y, left:right], nearest[y, left:right]
        away = dy * dy
        for x in range(right - left):
            dx = np.float32(x) * step - cx
            dl, da, db = first[x] - light, second[x] - green, third[x] - blue
            d = np.float32(away + dx * dx + dl * dl + da * da + db * db)
            closer = d < best[x]
            best[x] = d if closer else best[x]
            who[x] = number if closer else who[x]


@inner_kernel
def _move(
    planes: Float32Array, step: float, nearest: NDArray[np.int32], centres: Float32Array
) -> None:
    """Every centre that has pixels goes to their mean."""
    height, width = nearest.shape
    total = np.zeros((len(centres), 6))
    for y in range(height):
        for x in range(width):
            k = nearest[y, x]
            total[k, 0] += y
            total[k, 1] += x
            total[k, 2] += planes[0, y, x]
            total[k, 3] += planes[1, y, x]
            total[k, 4] += planes[2, y, x]
            total[k, 5] += 1
    for k in range(len(centres)):
        if total[k, 5] > 0:
            centres[k, 0] = total[k, 0] * step / total[k, 5]
            centres[k, 1] = total[k, 1] * step / total[k, 5]
            for q in range(2, 5):
                centres[k, q] = total[k, q] / total[k, 5]
