"""An order of the nodes for sequential message passing: few monotonic chains through every node.

TRW-S splits a node's belief among max(earlier, later neighbours) chains; at best these are half of
its neighbours. Orders that follow the graph (rows of an image, superpixels) are close to that; an
order without any relation to the graph has half as many again, and takes twice as many sweeps.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import leaf
from policrf.types import BoolArray, IntArray

GOOD = 1.3  # chains, relative to half the neighbours, at which the given order is kept


def order_nodes(ends: IntArray, n_nodes: int) -> IntArray:
    """The place [N] of every node: its own number, or breadth first if that gives fewer chains."""
    given = np.arange(n_nodes)
    if chains(ends, given) <= GOOD * len(ends):
        return given
    own = ends.T.reshape(-1)
    neighbours = ends[:, ::-1].T.reshape(-1)[np.argsort(own, kind="stable")]
    ptr = np.zeros(n_nodes + 1, np.int64)
    np.cumsum(np.bincount(own, minlength=n_nodes), out=ptr[1:])
    order = np.empty(n_nodes, np.int64)
    breadth_first(ptr, neighbours, order, np.zeros(n_nodes, np.bool_))
    place = np.empty(n_nodes, np.int64)
    place[order] = given
    return place if chains(ends, place) < chains(ends, given) else given


def chains(ends: IntArray, place: IntArray) -> int:
    """Σ over the nodes of max(earlier neighbours, later neighbours)."""
    swapped = place[ends[:, 0]] > place[ends[:, 1]]
    first = np.where(swapped, ends[:, 1], ends[:, 0])
    second = np.where(swapped, ends[:, 0], ends[:, 1])
    later = np.bincount(first, minlength=len(place))
    earlier = np.bincount(second, minlength=len(place))
    return int(np.maximum(later, earlier).sum())


@leaf
def breadth_first(ptr: IntArray, neighbours: IntArray, order: IntArray, seen: BoolArray) -> None:
    """Every component from the end that is farthest from its first node."""
    found = 0
    for start in range(len(seen)):
        if seen[start]:
            continue
        begin = found
        for _ in range(2):
            # The second time from where the first ended: breadth first from a border, not a centre.
            source = order[found - 1] if found > begin else start
            for k in range(begin, found):
                seen[order[k]] = False
            seen[source] = True
            order[begin] = source
            head, found = begin, begin + 1
            while head < found:
                i = order[head]
                head += 1
                for k in range(ptr[i], ptr[i + 1]):
                    j = neighbours[k]
                    if not seen[j]:
                        seen[j] = True
                        order[found] = j
                        found += 1
