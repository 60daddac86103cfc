"""Labels of superpixels -> pixels, at the image's own size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from policrf.types import Segments


def enlarged(segments: Segments, shape: tuple[int, ...]) -> Segments:
    """A map of the working size at another size, by nearest pixel."""
    height, width = segments.shape
    if (height, width) == tuple(shape):
        return segments
    rows = np.minimum(((np.arange(shape[0]) + 0.5) * (height / shape[0])).astype(int), height - 1)
    columns = np.minimum(((np.arange(shape[1]) + 0.5) * (width / shape[1])).astype(int), width - 1)
    return np.asarray(segments[rows][:, columns], np.int32)


def project(
    labels: NDArray[np.int64], segments: Segments, shape: tuple[int, ...]
) -> NDArray[np.int32]:
    """The label of every pixel of an image of that shape.

    >>> project(np.asarray([3, 7]), np.asarray([[0, 1]], np.int32), (2, 4)).tolist()
    [[3, 3, 7, 7], [3, 3, 7, 7]]
    """
    return np.asarray(labels, np.int32)[enlarged(segments, shape)]
