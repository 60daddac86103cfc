"""Which superpixels touch, along how many pixels, and how sharp the image is there (numpy only)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from policrf.vision.superpixels import Segments


class Adjacency(NamedTuple):
    """M pairs of superpixels that share a border."""

    edges: NDArray[np.int32]  # [M, 2], the lower number first, in lexicographic order
    length: NDArray[np.int32]  # [M]; pairs of 4-neighbouring pixels across the border
    contrast: NDArray[np.float32]  # [M]; mean squared Lab distance of those pixel pairs


def adjacency(segments: Segments, lab: NDArray[np.float32]) -> Adjacency:
    """Count the pixel pairs across every border."""
    count = int(segments.max()) + 1
    keys, contrasts = [], []
    for ahead, back in (
        ((slice(1, None), slice(None)), (slice(None, -1), slice(None))),
        ((slice(None), slice(1, None)), (slice(None), slice(None, -1))),
    ):
        first, second = segments[back], segments[ahead]
        border = first != second
        low = np.minimum(first[border], second[border]).astype(np.int64)
        keys.append(low * count + np.maximum(first[border], second[border]))
        contrasts.append(((lab[ahead][border] - lab[back][border]) ** 2).sum(axis=1))
    pairs, which, length = np.unique(np.concatenate(keys), return_inverse=True, return_counts=True)
    total = np.bincount(which, np.concatenate(contrasts), len(pairs))
    return Adjacency(
        np.stack([pairs // count, pairs % count], axis=1).astype(np.int32),
        length.astype(np.int32),
        (total / np.maximum(length, 1)).astype(np.float32),
    )
