"""SLIC superpixels (Achanta et al. 2010): the one place that touches scikit-image.

scikit-image's SLIC gives somewhat fewer segments than it is asked for. With compactness 20 and a
little smoothing the loss is 2–6 % on photographs, and the best labeling the segments allow is
better than with its own defaults (VOC train, 2,000 asked for: 97.8 against 96.0 IoU).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from policrf.optional import need
from policrf.types import Pixels

Segments = NDArray[np.int32]  # [H, W], superpixels 0 … N−1, each occurring


def superpixels(
    image: Pixels,
    count: int,
    *,
    compactness: float = 20.0,
    smoothing: float = 1.0,
    iterations: int = 5,
) -> Segments:
    """A map of about `count` superpixels; an image with fewer pixels gets one a pixel.

    Parameters
    ----------
    image, count
        `[H, W, 3]`, and how many superpixels to ask for.
    compactness
        Weight of closeness against colour.
    smoothing
        Width of the blur before it, in pixels.
    iterations
        Of SLIC.
    """
    height, width = image.shape[:2]
    if height * width <= count:
        return np.arange(height * width, dtype=np.int32).reshape(height, width)
    if count == 1:
        return np.zeros((height, width), np.int32)
    slic = need("skimage.segmentation", "scikit-image").slic
    # Smoothing needs a neighbourhood, which a strip of a few pixels does not have.
    sigma = smoothing if min(height, width) > 4 else 0.0
    raw = slic(
        image, n_segments=count, compactness=compactness, max_num_iter=iterations, sigma=sigma,
        start_label=0, channel_axis=-1,
    )  # fmt: skip
    return renumber(raw)


def renumber(segments: NDArray[np.int64] | NDArray[np.int32]) -> Segments:
    """The same partition with segments numbered 0 … N−1 by first occurrence in value order."""
    used = np.zeros(int(segments.max()) + 1, np.bool_)
    used[segments.reshape(-1)] = True
    number = np.cumsum(used, dtype=np.int64) - 1
    return number[segments].astype(np.int32)
