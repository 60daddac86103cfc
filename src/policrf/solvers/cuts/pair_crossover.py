"""Crossover where no term has more than two nodes: all regions at once, in one pass (`crossover`).

Neighbours that differ are in one region, so that every term belongs to one region, or to none.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, kernel
from policrf.crf.arrays import Arrays
from policrf.crf.energy import table_energy
from policrf.crf.model import CRF
from policrf.crf.potentials import TABLE
from policrf.types import Int32Array, IntArray


def is_of_pairs(a: Arrays) -> bool:
    """Whether all terms are edges and tables of one or two nodes."""
    return bool((a.clique_kind == TABLE).all()) and int(np.diff(a.clique_ptr).max(initial=0)) <= 2


def pair_mixture(crf: CRF, labels: IntArray, other: IntArray) -> IntArray:
    """The lower labeling with all regions of the other one that lower it further."""
    energy, energy_of_other = crf.energy(labels), crf.energy(other)
    if energy_of_other < energy:
        labels, other, energy = other, labels, energy_of_other
    mixed = labels.copy()
    if np.isfinite(energy) and np.isfinite(energy_of_other):
        _take_regions(crf.arrays, mixed, other, 1e-12 * abs(energy))
    return mixed


@kernel
def _take_regions(a: Arrays, labels: IntArray, other: IntArray, margin: float) -> None:
    region, queue = np.zeros(len(labels), np.int32), np.empty(len(labels), np.int32)
    count = 0
    for start in range(len(labels)):
        if region[start] == 0 and labels[start] != other[start]:
            count += 1
            _fill(a, labels, other, start, count, region, queue)
    gain = np.zeros(count + 1)  # of each region; [0] is of no use
    for i in range(len(labels)):
        gain[region[i]] += a.unary[i, labels[i]] - a.unary[i, other[i]]
    for e in range(len(a.edges)):
        i, j = a.edges[e, 0], a.edges[e, 1]
        change = int(labels[i] != labels[j]) - int(other[i] != other[j])
        gain[max(region[i], region[j])] += a.edge_weights[e] * change
    for c in range(len(a.clique_kind)):
        of = 0
        for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
            of = max(of, region[a.clique_nodes[m]])
        if of > 0:
            gain[of] += table_energy(a, c, labels) - table_energy(a, c, other)
    for i in range(len(labels)):
        if region[i] > 0 and gain[region[i]] > margin:
            labels[i] = other[i]


@inner
def _fill(
    a: Arrays, labels: IntArray, other: IntArray, start: int, number: int, region: Int32Array,
    queue: Int32Array,
) -> None:  # fmt: skip
    """Give the nodes that differ and are connected to `start` the region's number."""
    queue[0], size, at = start, 1, 0
    region[start] = number
    while at < size:
        i = queue[at]
        at += 1
        for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
            j = a.adj_node[k]
            if region[j] == 0 and labels[j] != other[j]:
                region[j], queue[size] = number, j
                size += 1
        for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
            c = a.node_clique[k]
            for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
                j = a.clique_nodes[m]
                if region[j] == 0 and labels[j] != other[j]:
                    region[j], queue[size] = number, j
                    size += 1
