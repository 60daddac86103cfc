"""The colours of labels, and label maps laid over images."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from policrf.types import Pixels

_ROWS = 256  # rows of an image that are tinted at once: real numbers take 8 times its memory


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
    mixed: Pixels = pixels.copy()
    for top in range(0, len(labels), _ROWS):
        rows = slice(top, top + _ROWS)
        shown = labels[rows] > 0
        tint = colours[labels[rows][shown]] * opacity
        mixed[rows][shown] = (pixels[rows][shown] * (1 - opacity) + tint).round()
    return mixed
