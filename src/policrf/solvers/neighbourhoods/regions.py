"""Connected regions of a CRF: the neighbourhoods of a large-neighbourhood search.

A region grows from one node over edges and cliques, either as a ball (nearest nodes first) or at
random along its boundary, which makes longer and thinner regions.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import leaf
from policrf.crf.arrays import Arrays
from policrf.types import BoolArray, FloatArray, IntArray

MEMBERS = 64  # of one clique that a node leads to; of a larger one, those from a random place on


class Regions:
    """Draws regions of the nodes that have a choice, `free` [N]; every node is a first one in turn.

    The order is drawn anew when all have been.
    """

    def __init__(self, arrays: Arrays, free: BoolArray, rng: np.random.Generator) -> None:
        self._arrays, self._free, self._rng = arrays, free, rng
        self._firsts: IntArray = np.zeros(0, np.int64)
        self._seen = np.zeros(len(free), np.bool_)
        self._list = np.zeros(len(free), np.int64)

    def draw(self, size: int) -> IntArray:
        """Up to `size` connected nodes, in ascending order."""
        if not len(self._firsts):
            self._firsts = self._rng.permutation(np.flatnonzero(self._free))
        first, self._firsts = int(self._firsts[0]), self._firsts[1:]
        draws = self._rng.random(size)
        ball = bool(self._rng.random() < 0.5)
        count = grow(self._arrays, self._free, first, draws, ball, self._seen, self._list)
        return np.sort(self._list[:count])


@leaf
def grow(
    a: Arrays, free: BoolArray, first: int, draws: FloatArray, ball: bool, seen: BoolArray,
    found: IntArray,
) -> int:  # fmt: skip
    """Put up to len(draws) connected nodes at the front of `found` [N]; returns how many.

    `draws` lie in [0, 1). `seen` [N] is False everywhere before and after.
    """
    taken, length = 0, 1
    found[0] = first
    seen[first] = True
    while taken < min(len(draws), length):
        if not ball:
            at = taken + int(draws[taken] * (length - taken))
            found[taken], found[at] = found[at], found[taken]
        i = found[taken]
        for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
            j = a.adj_node[k]
            if free[j] and not seen[j]:
                seen[j] = True
                found[length] = j
                length += 1
        for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
            start, stop = a.clique_ptr[a.node_clique[k]], a.clique_ptr[a.node_clique[k] + 1]
            size = stop - start
            begin = int(draws[taken] * size) if size > MEMBERS else 0
            for m in range(min(size, MEMBERS)):
                j = a.clique_nodes[start + (begin + m) % size]
                if free[j] and not seen[j]:
                    seen[j] = True
                    found[length] = j
                    length += 1
        taken += 1
    for at in range(length):
        seen[found[at]] = False
    return taken
