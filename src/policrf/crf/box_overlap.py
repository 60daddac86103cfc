"""How boxes lie on each other: the share that one covers of another, and boxes inside larger ones.

Boxes are rows (left, top, right, bottom) in any unit.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from policrf.types import BoolArray

Number = TypeVar("Number", bound=np.floating[Any])

INSIDE_SHARE = 0.8
"""A box is inside a larger one if that covers this much of it …"""
LARGER_BY = 1.5
"""… and has at least this many times its area."""


def covered_share(boxes: NDArray[Number]) -> NDArray[Number]:
    """`[B, B]`: the share of box a's area that box b covers.

    >>> covered_share(np.array([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 4.0, 2.0]])).tolist()
    [[1.0, 1.0], [0.5, 1.0]]
    """
    low = np.maximum(boxes[:, None, :2], boxes[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    common = np.prod(np.clip(high - low, 0, None), axis=2)
    share: NDArray[Number] = common / np.maximum(_area(boxes), 1e-12)[:, None]
    return share


def inside_larger(boxes: NDArray[Number], holders: BoolArray | None = None) -> BoolArray:
    """`[B]`: True for a box inside a larger one.

    Parameters
    ----------
    boxes
        `[B, 4]`.
    holders
        `[B]`, the boxes that may be the larger one; all without it.
    """
    area = _area(boxes)
    larger = area[None, :] >= LARGER_BY * area[:, None]
    if holders is not None:
        larger &= holders[None, :]
    return np.asarray(((covered_share(boxes) >= INSIDE_SHARE) & larger).any(axis=1))


def _area(boxes: NDArray[Number]) -> NDArray[Number]:
    area: NDArray[Number] = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    return area
