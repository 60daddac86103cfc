"""Sums of maps over the pixels of each superpixel, and their number, compiled."""

from __future__ import annotations

import numpy as np

from policrf.compiled import kernel
from policrf.types import Float32Array, FloatArray, IntArray, Segments


@kernel
def sums(planes: Float32Array, segments: Segments, count: int) -> FloatArray:
    """The sum of every plane over each superpixel, `[N, C]`.

    Parameters
    ----------
    planes
        `[C, H, W]`, C-contiguous.
    segments
        `[H, W]`; pixels with a negative number are left out.
    count
        N.
    """
    out = np.zeros((len(planes), count))
    for c in range(len(planes)):
        plane, total = planes[c], out[c]
        for y in range(segments.shape[0]):
            for x in range(segments.shape[1]):
                if segments[y, x] >= 0:
                    total[segments[y, x]] += plane[y, x]
    return out.T.copy()


@kernel
def count_pixels(segments: Segments, count: int) -> IntArray:
    """The number of pixels of superpixels 0 … count − 1; negative numbers stand for none."""
    out = np.zeros(count, np.int64)
    for y in range(segments.shape[0]):
        for x in range(segments.shape[1]):
            if segments[y, x] >= 0:
                out[segments[y, x]] += 1
    return out
