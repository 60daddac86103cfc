"""Whether a CRF's terms contradict each other so much that cuts, messages and proofs do not pay.

Frustration is how far an energy E is from what all terms could have by themselves, Σ min, in units
of how far a random labeling is: (E − Σ min) / (Σ mean − Σ min). It is 0 where every term gets its
best label, and about 1 where labels are drawn at random. Fields with few cycles are left to
messages, which are exact on trees, and those whose unaries decide most labels to proofs.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import kernel
from policrf.crf.arrays import Arrays
from policrf.crf.model import CRF
from policrf.errors import UnsupportedPotential
from policrf.solvers.cuts.refusals import refuse_what_no_cut_takes
from policrf.solvers.thermal.kept_costs import takes
from policrf.types import FloatArray, IntArray

MUCH = 0.15  # frustration of a local minimum from which on bounds are far from energies
CYCLES = 0.25  # independent cycles a node, from which on messages are far from exact
DECISIVE = 0.5  # range of the unaries, in units of that of all other terms of a node


def beyond_cuts(crf: CRF) -> bool:
    """Whether thermal cycles take the CRF, and cuts do not."""
    if not takes(crf.arrays):
        return False
    try:
        refuse_what_no_cut_takes(crf, "alpha_expansion")
    except UnsupportedPotential:
        return True
    return False


def may_be_frustrated(crf: CRF) -> bool:
    """Whether it is beyond cuts, messages and proofs, unless its labels turn out to agree.

    O(size of the CRF).
    """
    a = crf.arrays
    joins = len(a.edges) + len(a.clique_nodes) - len(a.clique_kind)
    if joins - crf.n_nodes < CYCLES * crf.n_nodes or not beyond_cuts(crf):
        return False
    return _unary_range(a) <= DECISIVE * _coupling(a, table_ranges(a))


def is_frustrated(crf: CRF, labels: IntArray) -> bool:
    """Whether labels [N] that a short search has found contradict the terms much."""
    return frustration(crf, labels) >= MUCH


def frustration(crf: CRF, labels: IntArray) -> float:
    """Of labels [N]."""
    a = crf.arrays
    allowed = np.isfinite(a.unary)
    means = np.where(allowed, a.unary, 0.0).sum(axis=1) / allowed.sum(axis=1)
    tables = table_ranges(a)
    low = a.unary.min(axis=1).sum() + np.minimum(a.edge_weights, 0.0).sum() + tables[:, 0].sum()
    mean = means.sum() + a.edge_weights.sum() * (1 - 1 / crf.n_labels) + tables[:, 1].sum()
    return float((crf.energy(labels) - low) / (mean - low)) if mean > low else 0.0


def _unary_range(a: Arrays) -> float:
    """Highest minus lowest finite unary, summed over the nodes."""
    highest = np.where(np.isfinite(a.unary), a.unary, -np.inf).max(axis=1)
    return float((highest - a.unary.min(axis=1)).sum())


def _coupling(a: Arrays, tables: FloatArray) -> float:
    """Highest minus lowest entry of every other term, summed over the nodes of each."""
    spans = (tables[:, 2] - tables[:, 0]) * np.diff(a.clique_ptr)
    return float(2 * np.abs(a.edge_weights).sum() + spans.sum())


@kernel
def table_ranges(a: Arrays) -> FloatArray:
    """The lowest, mean and highest entry of every table, times its factor `[C, 3]`."""
    out = np.zeros((len(a.clique_kind), 3))
    for c in range(len(out)):
        low, total, high = np.inf, 0.0, -np.inf
        for k in range(a.data_start[c], a.data_start[c] + a.data_size[c]):
            value = a.clique_weight[c] * a.data[k]
            low, total, high = min(low, value), total + value, max(high, value)
        out[c, 0], out[c, 1], out[c, 2] = low, total / a.data_size[c], high
    return out
