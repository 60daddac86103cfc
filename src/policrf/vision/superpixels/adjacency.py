"""Which superpixels touch, and along how many pixels (compiled)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from policrf.compiled import kernel
from policrf.types import IntArray, Segments


class Adjacency(NamedTuple):
    """M pairs of superpixels that share a border."""

    edges: NDArray[np.int32]  # [M, 2], the lower number first, in lexicographic order
    length: NDArray[np.int32]  # [M]; pairs of 4-neighbouring pixels across the border


def adjacency(segments: Segments) -> Adjacency:
    """Count the pixel pairs across every border.

    >>> found = adjacency(np.asarray([[0, 0, 1], [0, 2, 1]], np.int32))
    >>> found.edges.tolist(), found.length.tolist()
    ([[0, 1], [0, 2], [1, 2]], [1, 2, 1])
    """
    count = int(segments.max()) + 1
    pairs, length = np.unique(_border_keys(segments, count), return_counts=True)
    edges = np.stack([pairs // count, pairs % count], axis=1).astype(np.int32)
    return Adjacency(edges, length.astype(np.int32))


@kernel
def _border_keys(segments: Segments, count: int) -> IntArray:
    """lower · count + higher of every pair of 4-neighbouring pixels in two superpixels."""
    height, width = segments.shape
    n = 0
    for y in range(height):
        for x in range(width):
            n += x + 1 < width and segments[y, x + 1] != segments[y, x]
            n += y + 1 < height and segments[y + 1, x] != segments[y, x]
    keys = np.empty(n, np.int64)
    for y in range(height):
        for x in range(width):
            here = np.int64(segments[y, x])
            for v, u in ((y, x + 1), (y + 1, x)):
                if v < height and u < width and segments[v, u] != here:
                    there = np.int64(segments[v, u])
                    n -= 1
                    keys[n] = min(here, there) * count + max(here, there)
    return keys
