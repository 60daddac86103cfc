"""What the superpixels around a pixel say of its label, by the pixel's colour.

With k(p, s) = n_s · exp(−‖Δposition‖² / 2 reach²) for the superpixels s within `reach` of p, n_s
their pixels, and c(p, s; σ) = exp(−‖ΔLab‖² / 2σ²) between the pixel and the mean of the superpixel:

    V_l(p) = Σ_{s: y_s = l} k c(sharp) / Σ_s k c(sharp)              votes
    D_l(p) = Σ_{s: y_s = l} k c(4 sharp) / (Σ_{s: y_s = l} k + 50)   how common the colour is in l

V favours the larger region, D does not. The position part is taken at the centre of the pixel's
8 × 8 block, the colour part from a table: that makes it five times as fast.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from policrf.compiled import inner, kernel
from policrf.types import Float32Array

BLOCK = 8  # side of a block, pixels
SOFT = 4.0  # width of colours in D against that in V
PRIOR = 50.0  # pixels without the colour that every label is given: a tiny region is no evidence
_PER_UNIT = 4.0  # entries of a table a unit of ‖ΔLab‖²
_ENTRIES = 4000
_TINY = np.float32(1e-12)


class Around(NamedTuple):
    """The superpixels of a solution."""

    position: Float32Array
    """Centre (y, x) in pixels, `[N, 2]`; the first pixel's centre is (½, ½)."""
    colour: Float32Array
    """Mean Lab, `[N, 3]`."""
    size: Float32Array
    """Pixels, `[N]`."""
    label: NDArray[np.int32]
    """`[N]`, 0 … L−1."""


class Widths(NamedTuple):
    """Of the kernel between pixels and superpixels."""

    reach: float
    """Pixels."""
    sharp: float
    """Lab."""
    floor: float
    """Smallest D."""


class _Near(NamedTuple):
    """The superpixels around a block, the first so many entries."""

    colour: Float32Array
    weight: Float32Array
    label: NDArray[np.int32]
    mass: Float32Array
    """Sum of the weights by label, and the prior, `[L]`."""


@kernel
def look_around(
    number: NDArray[np.int32], lab: Float32Array, around: Around, widths: Widths, n_labels: int
) -> tuple[Float32Array, Float32Array]:
    """V and log(D + floor) of the numbered pixels, each `[P, L]`.

    Parameters
    ----------
    number
        `[H, W]`, 0 … P−1 row by row, −1 for pixels to leave out.
    lab
        `[H, W, 3]`.
    around
        The superpixels.
    widths
        Of the kernel.
    n_labels
        L.
    """
    height, width = number.shape
    count = number.max() + 1
    votes = np.empty((count, n_labels), np.float32)
    ratio = np.empty((count, n_labels), np.float32)
    entries = np.arange(_ENTRIES + 1) / (-2 * _PER_UNIT * widths.sharp**2)
    hard, soft = np.exp(entries).astype(np.float32), np.exp(entries / SOFT**2).astype(np.float32)
    n_nodes = len(around.size)
    near = _Near(
        np.empty((n_nodes, 3), np.float32), np.empty(n_nodes, np.float32),
        np.empty(n_nodes, np.int32), np.empty(n_labels, np.float32),
    )  # fmt: skip
    hits = np.empty(n_labels, np.float32)
    for top in range(0, height, BLOCK):
        for left in range(0, width, BLOCK):
            found = -1
            for y in range(top, min(top + BLOCK, height)):
                for x in range(left, min(left + BLOCK, width)):
                    p = number[y, x]
                    if p < 0:
                        continue
                    if found < 0:
                        found = _gather(near, around, top, left, widths.reach)
                    _sum_up(votes[p], hits, near, found, lab[y, x], hard, soft)
                    for label in range(n_labels):
                        share = hits[label] / near.mass[label]
                        ratio[p, label] = np.log(share + np.float32(widths.floor))
    return votes, ratio


@inner
def _gather(near: _Near, around: Around, top: int, left: int, reach: float) -> int:
    """Fill `near` with the superpixels around a block; returns their number."""
    middle_y, middle_x = np.float32(top + BLOCK / 2), np.float32(left + BLOCK / 2)
    square = np.float32(reach * reach)
    near.mass[:] = PRIOR
    found = 0
    for s in range(len(around.size)):
        dy = around.position[s, 0] - middle_y
        dx = around.position[s, 1] - middle_x
        away = dx * dx + dy * dy
        if away < square:
            weight = around.size[s] * np.exp(-away / (2 * square))
            for channel in range(3):
                near.colour[found, channel] = around.colour[s, channel]
            near.weight[found] = weight
            near.label[found] = around.label[s]
            near.mass[around.label[s]] += weight
            found += 1
    return found


@inner
def _sum_up(
    votes: Float32Array, hits: Float32Array, near: _Near, found: int, colour: Float32Array,
    hard: Float32Array, soft: Float32Array,
) -> None:  # fmt: skip
    """V and the numerators of D of one pixel, each `[L]`."""
    votes[:] = 0
    hits[:] = 0
    total = _TINY
    last = np.float32(_ENTRIES)
    for s in range(found):
        light = near.colour[s, 0] - colour[0]
        green = near.colour[s, 1] - colour[1]
        blue = near.colour[s, 2] - colour[2]
        apart = (light * light + green * green + blue * blue) * np.float32(_PER_UNIT)
        entry = int(min(apart, last))
        vote = near.weight[s] * hard[entry]
        votes[near.label[s]] += vote
        total += vote
        hits[near.label[s]] += near.weight[s] * soft[entry]
    for label in range(len(votes)):
        votes[label] /= total
