"""Crossing a labeling with the one it came from: the better of both, region by region.

Nodes whose labels differ fall into regions that no term connects. The energy's change is the sum of
theirs, so each is kept or taken back by itself: the result is the best of 2^regions labelings, and
not above either of the two. In a large field a cycle that would be rejected as a whole gains in
some regions nearly always (Möbius et al. 1997, for tours).
"""

from __future__ import annotations

from policrf.compiled import inner, leaf
from policrf.crf.arrays import Arrays
from policrf.solvers.thermal.kept_costs import Kept, give_label
from policrf.types import BoolArray, IntArray


@leaf
def cross(a: Arrays, k: Kept, before: IntArray, region: IntArray, left: BoolArray) -> float:
    """Give regions back their labels `before` [N] where these are cheaper; the energy gained.

    `before` becomes the labels; `region` [N] and `left` [N] are scratch space. Regions of equal
    energy keep their new labels.
    """
    for i in range(len(before)):
        left[i] = k.labels[i] != before[i]
    gained = 0.0
    for start in range(len(before)):
        if left[start]:
            size = connected(a, start, left, region)
            change = swap_region(a, k, before, region, size)
            if change >= 0:
                swap_region(a, k, before, region, size)
                gained += change
    for i in range(len(before)):
        before[i] = k.labels[i]
    return gained


@inner
def swap_region(a: Arrays, k: Kept, other: IntArray, region: IntArray, size: int) -> float:
    """Exchange the labels of the nodes region[: size] with `other`; the energy's change."""
    change = 0.0
    for n in range(size):
        i = region[n]
        now, then = k.labels[i], other[i]
        change += k.costs[i, then] - k.costs[i, now]
        give_label(a, k, i, then)
        other[i] = now
    return change


@inner
def connected(a: Arrays, start: int, left: BoolArray, region: IntArray) -> int:
    """The nodes that are `left` and connected to `start` by terms, into `region`; how many.

    They are no longer left.
    """
    region[0], size, at = start, 1, 0
    left[start] = False
    while at < size:
        i = region[at]
        at += 1
        for e in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
            j = a.adj_node[e]
            if left[j]:
                left[j] = False
                region[size] = j
                size += 1
        for e in range(a.node_ptr[i], a.node_ptr[i + 1]):
            c = a.node_clique[e]
            for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
                j = a.clique_nodes[m]
                if left[j]:
                    left[j] = False
                    region[size] = j
                    size += 1
    return size
