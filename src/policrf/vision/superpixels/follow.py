"""Superpixels that follow the net: SLIC's, cut along the boundaries of the net's own labels.

The label of a superpixel is then that of the net at every one of its pixels, except inside joined
fragments: connected pieces of one label within one SLIC superpixel that have fewer pixels than
`smallest`. So taking the best label of every superpixel gives the net back.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from policrf.types import Segments
from policrf.vision.superpixels.pieces import Pieces, connected_pieces, join_small


def follow_labels(
    segments: Segments, labels: NDArray[np.integer], smallest: int, count: int
) -> Pieces:
    """Cut superpixels along the boundaries of a label map.

    Parameters
    ----------
    segments
        Superpixels, `[H, W]`.
    labels
        The label of every pixel, `[H, W]`.
    smallest
        Fragments with fewer pixels join a neighbour, of the same label if there is one.
    count
        The number of superpixels that was asked for: where a quarter of their mean size is less
        than `smallest`, fragments join below that, so that small superpixels stay.
    """
    pieces = connected_pieces(segments, labels.astype(np.int32))
    return join_small(pieces, fragment_size(segments.size, smallest, count))


def fragment_size(pixels: int, smallest: int, count: int) -> int:
    """Pieces below this number of pixels are joined.

    >>> fragment_size(180_000, 8, 1000), fragment_size(180_000, 8, 10_000), fragment_size(9, 8, 50)
    (8, 4, 0)
    """
    return min(smallest, pixels // count // 4)
