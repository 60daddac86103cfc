"""Crossover of two labelings: where they differ, take the better one, region by region.

The nodes whose labels differ fall into regions connected by edges and pairwise tables. Without
larger cliques the energy is a sum over regions, so that taking each region from the labeling where
it is cheaper gives the best of all 2^regions mixtures; larger cliques may tie regions together, and
then the regions are tried one after the other. The result is never worse than the labeling started
from.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, kernel
from policrf.crf.arrays import Arrays
from policrf.crf.changes import load_labels, relabel
from policrf.crf.potentials import TABLE
from policrf.crf.state import State, new_state, total_energy
from policrf.solvers.moves.local_search import is_gain
from policrf.types import BoolArray, IntArray


class Incumbent:
    """The best labeling so far, and its energy; every labeling it is shown is crossed with it."""

    def __init__(self, arrays: Arrays, labels: IntArray) -> None:
        self.arrays = arrays
        self._state = new_state(arrays)
        load_labels(arrays, self._state, labels)
        self.labels: IntArray = labels.copy()
        self.energy = total_energy(self._state)

    def keep(self, labels: IntArray) -> bool:
        """Take `labels`, or regions of them, if that lowers the energy; returns whether it did."""
        if np.array_equal(labels, self.labels):
            return False
        before = self.energy
        load_labels(self.arrays, self._state, labels)
        if total_energy(self._state) < self.energy:
            labels, self.labels, self.energy = self.labels, labels.copy(), total_energy(self._state)
        else:
            load_labels(self.arrays, self._state, self.labels)
        if cross(self.arrays, self._state, labels) > 0:
            self.labels, self.energy = self._state.labels.copy(), total_energy(self._state)
        return self.energy < before


@kernel
def cross(a: Arrays, s: State, other: IntArray) -> int:
    """Bring the regions of `other` that lower the energy into `s`; returns how many there were."""
    region = np.empty((2, len(other)), np.int64)
    left = s.labels != other
    taken = 0
    for start in range(len(other)):
        if left[start]:
            size = connected_region(a, start, left, region[0], True)
            taken += take_region(a, s, other, region, size, 1e-12 * abs(s.total[0]))
    return taken


@inner
def connected_region(
    a: Arrays, start: int, left: BoolArray, region: IntArray, over_tables: bool
) -> int:
    """The nodes that are `left` [N] and connected to `start`, into `region`; how many there are.

    Nodes are connected by Potts edges, and also by tables if asked for. They are no longer left.
    """
    region[0], size, at = start, 1, 0
    left[start] = False
    while at < size:
        i = region[at]
        at += 1
        for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
            size = _append(a.adj_node[k], left, region, size)
        if over_tables:
            for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
                c = a.node_clique[k]
                if a.clique_kind[c] == TABLE:
                    for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
                        size = _append(a.clique_nodes[m], left, region, size)
    return size


@inner
def _append(i: int, left: BoolArray, region: IntArray, size: int) -> int:
    if not left[i]:
        return size
    left[i] = False
    region[size] = i
    return size + 1


@inner
def take_region(
    a: Arrays, s: State, other: IntArray, region: IntArray, size: int, margin: float
) -> bool:
    """Give the nodes region[0, : size] their labels of `other` [N] if that gains above `margin`.

    region[1, : size] becomes their labels before. Otherwise nothing changes.
    """
    total, forbidden = s.total[0], s.forbidden[0]
    for at in range(size):
        i = region[0, at]
        region[1, at] = s.labels[i]
        relabel(a, s, i, other[i])
    if is_gain(s.forbidden[0], s.total[0] - total, forbidden, margin):
        return True
    for at in range(size):
        relabel(a, s, region[0, at], region[1, at])
    s.total[0] = total
    return False
