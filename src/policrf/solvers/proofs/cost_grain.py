"""The unit of which all costs of a network are whole multiples, where there is one.

Counts, prices in cents and penalties are whole numbers of something. toulbar2 then works on those
numbers: a labeling that is better at all is better by one, so that branches end a unit earlier, and
what is rounded is next to nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.solvers.claims import UNIT
from policrf.types import FloatArray

WHOLE = 1e-6  # in parts of a grain: what is left of a cost and is no smaller grain
MOST_GRAINS = float(2**31)  # of all costs together: beyond, a grain says nothing
BLUR = 2.0**-49  # of all costs together, for every table: what rounding does, and no more
MOST_STEPS = 64  # of Euclid's algorithm; each one halves the grain at least


class Grain(NamedTuple):
    """Costs are multiples of `size`, up to `blur` for a sum of one entry of every table."""

    size: float
    blur: float


def find_grain(tables: list[FloatArray], most: float) -> Grain | None:
    """Of all finite entries; `most` is what a labeling may cost. None if there is none.

    Euclid's algorithm for many numbers at once, on remainders that are not next to nothing.
    """
    flat = np.concatenate([table.reshape(-1) for table in tables]) if tables else np.zeros(0)
    flat = np.where(np.isfinite(flat), flat, 0.0)
    values = flat[flat > 0]
    if not len(values):
        return None
    size = float(values.min())
    for _ in range(MOST_STEPS):
        if most > MOST_GRAINS * size:
            return None
        left = np.abs(values - np.rint(values / size) * size)
        left = left[left > WHOLE * size]
        if not len(left):
            counts = np.rint(values / size)
            size = float(counts @ values / (counts @ counts))
            blur = _blur(tables, flat, size)
            return Grain(size, blur) if blur <= BLUR * len(tables) * most else None
        size = float(left.min())
    return None


def _blur(tables: list[FloatArray], flat: FloatArray, size: float) -> float:
    """How far a sum over all tables may be from a multiple of `size`; `flat`: all entries."""
    off = np.abs(flat - np.rint(flat / size) * size) + 4 * UNIT * flat
    first = np.cumsum([0] + [table.size for table in tables[:-1]])
    return float(np.maximum.reduceat(off, first).sum())
