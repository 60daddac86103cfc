"""Long-range edges: every superpixel and its nearest in position and colour, wherever they lie."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from policrf.types import Float32Array


def far_edges(position: Float32Array, colour: Float32Array, nearest: int) -> NDArray[np.int32]:
    """Pairs of superpixels of which one is among the k nearest of the other, `[K, 2]`.

    Lower number first, in lexicographic order; distances are Euclidean over both.

    Parameters
    ----------
    position, colour
        `[N, 2]` and `[N, 3]`, each divided by the distance that counts as one.
    nearest
        k; 0 for no edges.

    >>> line = np.asarray([[0.0, 0], [1, 0], [9, 0]])
    >>> far_edges(line, np.zeros((3, 3)), 1).tolist()
    [[0, 1], [1, 2]]
    """
    from scipy.spatial import cKDTree

    count = len(position)
    if nearest == 0 or count < 2:
        return np.zeros((0, 2), np.int32)
    feature = np.concatenate([position, colour], axis=1).astype(np.float64)
    # Every superpixel is the nearest of itself.
    found = cKDTree(feature).query(feature, min(nearest + 1, count))[1].astype(np.int64)
    first, second = np.repeat(np.arange(count), found.shape[1]), found.reshape(-1)
    low, high = np.minimum(first, second), np.maximum(first, second)
    keys = np.unique((low * count + high)[low != high])
    return np.stack([keys // count, keys % count], axis=1).astype(np.int32)
