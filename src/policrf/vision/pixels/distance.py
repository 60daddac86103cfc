"""The distance of every pixel to the nearest boundary between labels.

Chamfer distance: 3 for a step to the side, 4 for a diagonal step, thirds of a pixel. Within 8 % of
the Euclidean one, in two passes over the image.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from policrf.compiled import inner, kernel
from policrf.types import BoolArray, LabelMap

SIDE, DIAGONAL = 3, 4
_FAR = 1 << 29


def near_boundary(labels: LabelMap, width: float) -> BoolArray:
    """Pixels of a label map `[H, W]` closer than `width` to a pixel at a boundary.

    A pixel is at a boundary if one of its four neighbours has another label.

    >>> near_boundary(np.asarray([[0, 0, 0, 1, 1, 1]], np.int32), 1.5)
    array([[False,  True,  True,  True,  True, False]])
    """
    close: BoolArray = boundary_distance(labels) < SIDE * width
    return close


@kernel
def boundary_distance(labels: LabelMap) -> NDArray[np.int32]:
    """Thirds of a pixel to the nearest pixel at a boundary, `[H, W]`; huge without boundaries."""
    height, width = labels.shape
    # A frame of far pixels around the image spares the checks of its sides.
    distance = np.full((height + 2, width + 2), _FAR, np.int32)
    for y in range(height):
        for x in range(width):
            if x + 1 < width and labels[y, x] != labels[y, x + 1]:
                distance[y + 1, x + 1] = 0
                distance[y + 1, x + 2] = 0
            if y + 1 < height and labels[y, x] != labels[y + 1, x]:
                distance[y + 1, x + 1] = 0
                distance[y + 2, x + 1] = 0
    for y in range(1, height + 1):
        _sweep(distance[y], distance[y - 1], 1, width + 1, 1)
    for y in range(height, 0, -1):
        _sweep(distance[y], distance[y + 1], width, 0, -1)
    return distance[1:-1, 1:-1].copy()


@inner
def _sweep(
    row: NDArray[np.int32], other: NDArray[np.int32], start: int, stop: int, step: int
) -> None:
    """Shorten the distances of a row by way of the row that was done before and of itself."""
    for x in range(start, stop, step):
        best = min(row[x], other[x] + SIDE, row[x - step] + SIDE)
        row[x] = min(best, other[x - 1] + DIAGONAL, other[x + 1] + DIAGONAL)
