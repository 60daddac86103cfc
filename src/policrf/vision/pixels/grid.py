"""The 4-connected grid among the pixels that are decided again, by contrast.

    weight · exp(−‖ΔLab‖² / 2 contrast²) [y_p ≠ y_q] for neighbours p, q

What a pixel pays towards neighbours that keep their label is known: it goes into its unaries.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from policrf.compiled import inlined, kernel
from policrf.types import Float32Array, FloatArray, IntArray, LabelMap


class Grid(NamedTuple):
    """Terms among P numbered pixels."""

    pairs: IntArray
    """`[M, 2]`."""
    weights: FloatArray
    """`[M]`."""
    paid: FloatArray
    """What neighbours outside add to every label, `[P, L]`."""


class Contrast(NamedTuple):
    """How much a boundary costs."""

    weight: float
    """Nats, between pixels of the same colour."""
    width: float
    """Lab."""


def grid_of(
    number: NDArray[np.int32], lab: Float32Array, labels: LabelMap, n_labels: int, cost: Contrast
) -> Grid:
    """The grid of the numbered pixels.

    Parameters
    ----------
    number
        `[H, W]`, 0 … P−1 row by row, −1 for pixels that keep their label.
    lab
        `[H, W, 3]`.
    labels
        `[H, W]`, 0 … L−1, of the pixels that keep theirs.
    n_labels
        L.
    cost
        Of a boundary.
    """
    return Grid(*_edges(number, lab, labels, n_labels, cost))


@kernel
def _edges(
    number: NDArray[np.int32], lab: Float32Array, labels: LabelMap, n_labels: int, cost: Contrast
) -> tuple[IntArray, FloatArray, FloatArray]:
    height, width = number.shape
    count = number.max() + 1
    pairs, weights = np.empty((2 * count, 2), np.int64), np.empty(2 * count)
    paid = np.zeros((count, n_labels))
    found = 0
    for y in range(height):
        for x in range(width):
            for side in range(2):
                v, u = y + side, x + 1 - side
                if v >= height or u >= width:
                    continue
                p, q = number[y, x], number[v, u]
                if p < 0 and q < 0:
                    continue
                weight = cost.weight * _likeness(lab, y, x, v, u, cost.width)
                if p >= 0 and q >= 0:
                    pairs[found, 0], pairs[found, 1] = p, q
                    weights[found] = weight
                    found += 1
                    continue
                free, kept = (p, labels[v, u]) if p >= 0 else (q, labels[y, x])
                for label in range(n_labels):
                    if label != kept:
                        paid[free, label] += weight
    return pairs[:found].copy(), weights[:found].copy(), paid


@inlined
def _likeness(lab: Float32Array, y: int, x: int, v: int, u: int, width: float) -> float:
    apart = 0.0
    for channel in range(3):
        difference = lab[y, x, channel] - lab[v, u, channel]
        apart += difference * difference
    return float(np.exp(-apart / (2 * width * width)))
