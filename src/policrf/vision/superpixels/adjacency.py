"""Which superpixels touch, and along how many pixels (numpy only)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from policrf.types import Segments


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
    keys = []
    for first, second in (
        (segments[:-1], segments[1:]),
        (segments[:, :-1], segments[:, 1:]),
    ):
        border = first != second
        low = np.minimum(first[border], second[border]).astype(np.int64)
        keys.append(low * count + np.maximum(first[border], second[border]))
    pairs, length = np.unique(np.concatenate(keys), return_counts=True)
    edges = np.stack([pairs // count, pairs % count], axis=1).astype(np.int32)
    return Adjacency(edges, length.astype(np.int32))
