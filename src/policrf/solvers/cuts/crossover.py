"""Crossover of two labelings: where they differ, take the better one, region by region.

The nodes whose labels differ fall into regions connected by edges and pairwise tables. Without
larger cliques the energy is a sum over regions, so that taking each region from the labeling where
it is cheaper gives the best of all 2^regions mixtures; larger cliques may tie regions together, and
then the regions are tried one after the other. The result is never worse than the labeling started
from.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import kernel
from policrf.crf.arrays import Arrays
from policrf.crf.energy import State, load_labels, new_state, relabel
from policrf.crf.potentials import TABLE
from policrf.types import IntArray


class Incumbent:
    """The best labeling so far, and its energy; every labeling it is shown is crossed with it."""

    def __init__(self, arrays: Arrays, labels: IntArray) -> None:
        self.arrays = arrays
        self._state = new_state(arrays)
        load_labels(arrays, self._state, labels)
        self.labels: IntArray = labels.copy()
        self.energy = self._energy()

    def keep(self, labels: IntArray) -> bool:
        """Take `labels`, or regions of them, if that lowers the energy; returns whether it did."""
        if np.array_equal(labels, self.labels):
            return False
        before = self.energy
        load_labels(self.arrays, self._state, labels)
        if self._energy() < self.energy:
            labels, self.labels, self.energy = self.labels, labels.copy(), self._energy()
        else:
            load_labels(self.arrays, self._state, self.labels)
        if cross(self.arrays, self._state, labels) > 0:
            self.labels, self.energy = self._state.labels.copy(), self._energy()
        return self.energy < before

    def _energy(self) -> float:
        return float("inf") if self._state.forbidden[0] else float(self._state.total[0])


@kernel
def cross(a: Arrays, s: State, other: IntArray) -> int:
    """Bring the regions of `other` that lower the energy into `s`; returns how many there were."""
    n_nodes = len(other)
    region, own = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    seen = s.labels == other
    taken = 0
    for start in range(n_nodes):
        if seen[start]:
            continue
        size = _region(a, start, seen, region)
        energy, forbidden = s.total[0], s.forbidden[0]
        for m in range(size):
            own[m] = s.labels[region[m]]
            relabel(a, s, region[m], other[region[m]])
        lower = s.total[0] < energy - 1e-12 * abs(energy)
        if s.forbidden[0] < forbidden or (s.forbidden[0] == forbidden and lower):
            taken += 1
        else:
            for m in range(size):
                relabel(a, s, region[m], own[m])
            s.total[0] = energy
    return taken


@kernel
def _region(a: Arrays, start: int, seen: IntArray, region: IntArray) -> int:
    """The unseen nodes connected to `start`, into `region`; returns their number."""
    region[0], size, at = start, 1, 0
    seen[start] = True
    while at < size:
        i = region[at]
        at += 1
        for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
            size = _append(a.adj_node[k], seen, region, size)
        for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
            c = a.node_clique[k]
            if a.clique_kind[c] == TABLE:
                for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
                    size = _append(a.clique_nodes[m], seen, region, size)
    return size


@kernel
def _append(i: int, seen: IntArray, region: IntArray, size: int) -> int:
    if seen[i]:
        return size
    seen[i] = True
    region[size] = i
    return size + 1
