"""The band: which superpixels are variables; the others keep the net's label.

Most of what a CRF can win lies at the boundaries of the net's labels. Only superpixels near one are
variables then; the rest act on them with their labels. A strong energy may move a boundary by some
superpixels, but it cannot swallow an object.

The others stay nodes of the CRF, with every label but their own forbidden: labelings, truth, boxes
and features keep their N rows, and the best label of every single node stays the net's. What the
edges among them cost is known and paid in the unaries: a solver sees only the edges of the band.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.types import BoolArray, FloatArray, IntArray
from policrf.vision.energy.weights import Energy
from policrf.vision.record import Record


def free_nodes(record: Record, labels: IntArray, energy: Energy) -> BoolArray:
    """The variables, `[N]`: near a boundary between `labels` `[N]`, or unsure; all without a band.

    The first ring are the superpixels that touch one of another label; each further ring are those
    that touch the ring before.
    """
    if energy.band == 0:
        return np.ones(record.n_nodes, np.bool_)
    edges = record.edges
    free = np.zeros(record.n_nodes, np.bool_)
    free[edges[labels[edges[:, 0]] != labels[edges[:, 1]]].reshape(-1)] = True
    for _ in range(energy.band - 1):
        free[edges[free[edges].any(axis=1)].reshape(-1)] = True
    free[record.distribution.max(axis=1) < energy.unsure] = True
    return free


class WeightedEdges(NamedTuple):
    """Potts terms: w [y_i ≠ y_j]."""

    pairs: IntArray
    """`[M, 2]`."""
    weights: FloatArray
    """`[M]`."""


NO_EDGES = WeightedEdges(np.zeros((0, 2), np.int64), np.zeros(0))


def pinned(
    unary: FloatArray, edges: WeightedEdges, labels: IntArray, free: BoolArray
) -> tuple[FloatArray, WeightedEdges]:
    """Unaries and edges with every node that is not free held to its label, at the same energy.

    Parameters
    ----------
    unary
        `[N, L]`.
    edges
        Of all nodes; those between two fixed nodes are left out of what is returned.
    labels
        What the fixed nodes are held to, `[N]`.
    free
        Which nodes are not fixed, `[N]`.
    """
    fixed = np.flatnonzero(~free)
    known = ~free[edges.pairs].any(axis=1)
    first, second = edges.pairs[known].T
    paid = edges.weights[known] * (labels[first] != labels[second])
    cost = unary[np.arange(len(unary)), labels] + np.bincount(first, paid, len(unary))
    out = unary.copy()
    out[fixed] = np.inf
    out[fixed, labels[fixed]] = cost[fixed]
    return out, WeightedEdges(edges.pairs[~known], edges.weights[~known])
