"""The band: which superpixels are variables; the others keep the net's label.

Most of what a CRF can win lies at the boundaries of the net's labels. Only superpixels near one are
variables then; the rest act on them with their labels. A strong energy may move a boundary by some
superpixels, but it cannot swallow an object.
"""

from __future__ import annotations

import numpy as np

from policrf.types import BoolArray, FloatArray, IntArray
from policrf.vision.energy_weights import Energy
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


def pinned(unary: FloatArray, labels: IntArray, free: BoolArray) -> FloatArray:
    """The unaries `[N, L]` with every label but its own forbidden to each node that is not free."""
    out = unary.copy()
    fixed = np.flatnonzero(~free)
    out[fixed] = np.inf
    out[fixed, labels[fixed]] = unary[fixed, labels[fixed]]
    return out
