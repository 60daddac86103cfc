"""A binary heap over items 0 … n − 1 whose keys can change: the largest key, lowest item first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, leaf
from policrf.types import FloatArray, IntArray


class Heap(NamedTuple):
    """The items in the heap are `items[: size[0]]`."""

    items: IntArray  # [n]
    place: IntArray  # [n]; where an item is in `items`, −1 if not in the heap
    keys: FloatArray  # [n]
    size: IntArray  # [1]


def new_heap(n_items: int) -> Heap:
    """A heap of all items; set `keys`, then call `order_heap`."""
    items = np.arange(n_items, dtype=np.int64)
    return Heap(items, items.copy(), np.zeros(n_items), np.array([n_items], np.int64))


def empty_heap(n_items: int) -> Heap:
    """A heap of no items yet, out of 0 … n_items − 1."""
    heap = new_heap(n_items)
    heap.place[:] = -1
    heap.size[0] = 0
    return heap


@inner
def comes_before(h: Heap, first: int, second: int) -> bool:
    """Whether item `first` is popped before item `second`."""
    return h.keys[first] > h.keys[second] or (h.keys[first] == h.keys[second] and first < second)


@inner
def put(h: Heap, item: int, at: int) -> None:
    """Put an item at position `at`."""
    h.items[at] = item
    h.place[item] = at


@inner
def sift_up(h: Heap, at: int) -> None:
    """Move the item at position `at` towards the top until its parent comes before it."""
    item = h.items[at]
    while at > 0:
        parent = (at - 1) // 2
        if not comes_before(h, item, h.items[parent]):
            break
        put(h, h.items[parent], at)
        at = parent
    put(h, item, at)


@inner
def sift_down(h: Heap, at: int) -> None:
    """Move the item at position `at` away from the top until it comes before its children."""
    item = h.items[at]
    size = h.size[0]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and comes_before(h, h.items[child + 1], h.items[child]):
            child += 1
        if not comes_before(h, h.items[child], item):
            break
        put(h, h.items[child], at)
        at = child
    put(h, item, at)


@leaf
def order_heap(h: Heap) -> None:
    """Make a heap of items whose keys were set in any order: O(n)."""
    for at in range(h.size[0] // 2 - 1, -1, -1):
        sift_down(h, at)


@inner
def change_key(h: Heap, item: int, key: float) -> None:
    """Give an item that is in the heap another key: O(log n)."""
    h.keys[item] = key
    sift_up(h, h.place[item])
    sift_down(h, h.place[item])


@inner
def pop_first(h: Heap) -> int:
    """Take the item with the largest key out."""
    first = int(h.items[0])
    h.size[0] -= 1
    h.place[first] = -1
    if h.size[0] > 0:
        put(h, h.items[h.size[0]], 0)
        sift_down(h, 0)
    return first
