"""The colours of labels, and label maps laid over images."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from policrf.types import Pixels


def label_colours(count: int) -> NDArray[np.uint8]:
    """The Pascal VOC colours `[count, 3]`: the bits of a label dealt to red, green and blue.

    >>> label_colours(3).tolist()
    [[0, 0, 0], [128, 0, 0], [0, 128, 0]]
    """
    labels = np.arange(count)
    colours = np.zeros((count, 3), np.uint8)
    for shift in range(8):
        for channel in range(3):
            bit = (labels >> (3 * shift + channel)) & 1
            colours[:, channel] |= (bit << (7 - shift)).astype(np.uint8)
    return colours


def overlay(pixels: Pixels, labels: NDArray[Any], opacity: float = 0.55) -> Pixels:
    """The image with every labeled pixel tinted in its label's colour; label 0 is not tinted."""
    colours = label_colours(256)
    mixed = pixels.copy()
    for top in range(0, len(pixels), 256):  # a photo of floats would not fit
        part, label = pixels[top : top + 256], labels[top : top + 256]
        share = np.where(label[..., None] > 0, opacity, 0.0)
        mixed[top : top + 256] = (part * (1 - share) + colours[label] * share).round()
    return mixed
