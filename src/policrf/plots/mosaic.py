"""A labeling as a picture: every pixel takes the colour of the nearest node."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from policrf.crf.instance import Instance
from policrf.errors import InvalidInstance
from policrf.plots.colours import label_colours

Image = NDArray[np.uint8]
_BORDER = np.array([255, 255, 255], np.uint8)


class Mosaic:
    """Draws labelings of one instance, with the borders between labels in white."""

    def __init__(self, instance: Instance, width: int = 220) -> None:
        if instance.positions is None:
            raise InvalidInstance("this instance has no node positions to draw it by")
        low, high = instance.positions.min(axis=0), instance.positions.max(axis=0)
        span = np.maximum(high - low, 1e-9)
        height = max(1, round(width * float(span[1] / span[0])))
        x = low[0] + (np.arange(width) + 0.5) / width * span[0]
        y = low[1] + (np.arange(height) + 0.5) / height * span[1]
        pixels = np.stack(np.meshgrid(x, y), axis=-1)
        self.nearest: NDArray[Any] = np.asarray(cKDTree(instance.positions).query(pixels)[1])
        self.colours = label_colours(max(instance.crf.n_labels, 21))

    def draw(self, labels: NDArray[np.int64]) -> Image:
        """The labeling as RGB; unlabeled nodes (−1) are mid-grey."""
        colour = np.where(labels[:, None] >= 0, self.colours[labels], 110).astype(np.uint8)
        at = labels[self.nearest]
        image: Image = colour[self.nearest]
        edge = np.zeros(at.shape, bool)
        edge[:, 1:] |= at[:, 1:] != at[:, :-1]
        edge[1:] |= at[1:] != at[:-1]
        image[edge] = _BORDER
        return image

    def mark(self, labels: NDArray[np.int64], truth: NDArray[np.int64]) -> Image:
        """Where the labeling is wrong: red; right: dark; truth unknown: grey."""
        right, unknown = labels == truth, truth < 0
        colour = np.where(right[:, None], [38, 50, 56], [229, 57, 53])
        colour[unknown] = 110
        return np.asarray(colour[self.nearest], np.uint8)
