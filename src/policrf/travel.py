"""What objects are between processes: arrays, whole numbers in the smallest type that holds them.

Files hold no pickles, so that one of somebody else can do no harm. Between processes that one user
has started, on this machine or on a cluster, there is nobody else: objects travel as pickles (Ray
brings cloudpickle, which takes functions along). What is in them is what `packed` gives; who
arrives is built again by its constructor, and equal.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Packed(NamedTuple):
    """An array of whole numbers in a smaller type, and the type that it has."""

    array: NDArray[Any]
    kind: str


def packed(value: Any) -> Any:
    """An array of whole numbers as `Packed`, if that is smaller; anything else as it is.

    >>> packed(np.array([3, -1, 200])).array.dtype
    dtype('int16')
    >>> unpacked(packed(np.array([3, -1, 200])))
    array([  3,  -1, 200])
    """
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu" or not value.size:
        return value
    ends = (np.min_scalar_type(int(value.min())), np.min_scalar_type(int(value.max())))
    smallest = np.result_type(*ends)
    if smallest.itemsize >= value.dtype.itemsize:
        return value
    return Packed(value.astype(smallest), value.dtype.str)


def unpacked(value: Any) -> Any:
    """What `packed` was given."""
    return value.array.astype(value.kind) if isinstance(value, Packed) else value
