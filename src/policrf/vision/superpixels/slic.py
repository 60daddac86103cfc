"""SLIC superpixels (Achanta et al. 2010), compiled: `assign`, then connected pieces of some size.

Pieces below a quarter of the mean size join a neighbour, as in SLIC's own last step; what comes out
is within some percent of the number asked for.
"""

from __future__ import annotations

import numpy as np

from policrf.types import Float32Array, Segments
from policrf.vision.superpixels.assign import Cells, assign
from policrf.vision.superpixels.pieces import connected_pieces, join_small


def superpixels(
    lab: Float32Array, count: int, *, compactness: float = 10.0, iterations: int = 4
) -> Segments:
    """A map of about `count` superpixels; an image with fewer pixels gets one a pixel.

    Parameters
    ----------
    lab, count
        The image in Lab, `[H, W, 3]`, and how many superpixels to ask for.
    compactness
        The distance in Lab that counts as much as the side of a superpixel.
    iterations
        Of SLIC.
    """
    height, width = lab.shape[:2]
    if height * width <= count:
        return np.arange(height * width, dtype=np.int32).reshape(height, width)
    if count == 1:
        return np.zeros((height, width), np.int32)
    planes = np.ascontiguousarray(lab.transpose(2, 0, 1), np.float32)
    nearest = assign(planes, cells(height, width, count, compactness), iterations)
    pieces = connected_pieces(nearest, np.zeros_like(nearest))
    return join_small(pieces, height * width // count // 4).segments


def cells(height: int, width: int, count: int, compactness: float) -> Cells:
    """About `count` cells of about square shape, never more than pixels in a direction.

    >>> cells(300, 400, 12, 10.0)
    Cells(rows=3, columns=4, step=0.1)
    """
    rows = min(max(1, round((count * height / width) ** 0.5)), height, count)
    columns = min(max(1, round(count / rows)), width)
    return Cells(rows=rows, columns=columns, step=compactness * (count / (height * width)) ** 0.5)
