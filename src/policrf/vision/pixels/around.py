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
    """The superpixels around a block by label: `first[l]` … `first[l + 1]` have label l."""

    colour: Float32Array
    """`[3, N]`."""
    weight: Float32Array
    entry: NDArray[np.int32]
    """Where in the table each falls for one pixel."""
    first: NDArray[np.int32]
    """`[L + 1]`."""
    mass: Float32Array
    """Sum of the weights by label, and the prior, `[L]`."""


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
    order = np.argsort(around.label, kind="stable")
    by_label = Around(
        position=around.position[order],
        colour=around.colour[order],
        size=around.size[order],
        label=around.label[order],
    )
    entries = np.arange(_ENTRIES + 1) / (-2 * _PER_UNIT * widths.sharp**2)
    table = np.exp(np.stack([entries, entries / SOFT**2], axis=1)).astype(np.float32)
    return _look(number, lab, by_label, widths, table, n_labels)


@kernel
def _look(
    number: NDArray[np.int32], lab: Float32Array, around: Around, widths: Widths,
    table: Float32Array, n_labels: int,
) -> tuple[Float32Array, Float32Array]:  # fmt: skip
    height, width = number.shape
    count, n_nodes = number.max() + 1, len(around.size)
    votes = np.empty((count, n_labels), np.float32)
    ratio = np.empty((count, n_labels), np.float32)
    near = _Near(
        np.empty((3, n_nodes), np.float32), np.empty(n_nodes, np.float32),
        np.empty(n_nodes, np.int32), np.empty(n_labels + 1, np.int32),
        np.empty(n_labels, np.float32),
    )  # fmt: skip
    floor = np.float32(widths.floor)
    for top in range(0, height, BLOCK):
        for left in range(0, width, BLOCK):
            gathered = False
            for y in range(top, min(top + BLOCK, height)):
                for x in range(left, min(left + BLOCK, width)):
                    p = number[y, x]
                    if p < 0:
                        continue
                    if not gathered:
                        _gather(near, around, top, left, widths.reach)
                        gathered = True
                    _enter(near, lab[y, x])
                    _sum_up(votes[p], ratio[p], near, table, floor)
    return votes, ratio


@inner
def _gather(near: _Near, around: Around, top: int, left: int, reach: float) -> None:
    """Fill `near` with the superpixels around a block."""
    middle_y, middle_x = np.float32(top + BLOCK / 2), np.float32(left + BLOCK / 2)
    square = np.float32(reach * reach)
    near.mass[:] = PRIOR
    near.first[:] = 0
    found = 0
    for s in range(len(around.size)):
        dy = around.position[s, 0] - middle_y
        dx = around.position[s, 1] - middle_x
        away = dx * dx + dy * dy
        if away < square:
            weight = around.size[s] * np.exp(-away / (2 * square))
            for channel in range(3):
                near.colour[channel, found] = around.colour[s, channel]
            near.weight[found] = weight
            near.mass[around.label[s]] += weight
            near.first[around.label[s] + 1] += 1
            found += 1
    for label in range(len(near.mass)):
        near.first[label + 1] += near.first[label]


@inner
def _enter(near: _Near, colour: Float32Array) -> None:
    """Find the entries of one pixel in the table; a loop that runs on several at once."""
    lightness, green, blue = near.colour[0], near.colour[1], near.colour[2]
    scale, last = np.float32(_PER_UNIT), np.float32(_ENTRIES)
    l0, a0, b0 = colour[0], colour[1], colour[2]
    for s in range(near.first[-1]):
        dl, da, db = lightness[s] - l0, green[s] - a0, blue[s] - b0
        near.entry[s] = np.int32(min((dl * dl + da * da + db * db) * scale, last))


@inner
def _sum_up(
    votes: Float32Array, ratio: Float32Array, near: _Near, table: Float32Array, floor: np.float32
) -> None:
    """V and log(D + floor) of one pixel, each `[L]`."""
    total = _TINY
    for label in range(len(votes)):
        vote = hits = np.float32(0)
        for s in range(near.first[label], near.first[label + 1]):
            weight, entry = near.weight[s], near.entry[s]
            vote += weight * table[entry, 0]
            hits += weight * table[entry, 1]
        votes[label] = vote
        total += vote
        ratio[label] = np.log(hits / near.mass[label] + floor)
    for label in range(len(votes)):
        votes[label] /= total
