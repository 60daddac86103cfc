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
SPARSE = 1.5  # the same, up to which annealing starts from beliefs
SAMPLE = 10_000  # nodes, and tables, whose ranges are looked at
LOOKED_AT, SHORT = 100, 0.5  # nodes, and the share of them that may be on short cycles then
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

    Of a large CRF some nodes and tables are looked at.
    """
    if _cycles(crf) < CYCLES or not beyond_cuts(crf):
        return False
    return _unary_range(crf.arrays) <= DECISIVE * _coupling(crf.arrays)


def is_like_a_tree(crf: CRF) -> bool:
    """Whether there are few cycles and hardly a short one: beliefs are a good start then.

    They are not on grids, whose cycles of four nodes tell a node what it has said itself.
    """
    if _cycles(crf) > SPARSE:
        return False
    some = _some(crf.n_nodes, LOOKED_AT)
    short = sum(_is_on_short_cycle(crf.arrays, int(i)) for i in some)
    return short <= SHORT * len(some)


def _is_on_short_cycle(a: Arrays, start: int) -> bool:
    """Whether a cycle of three or four nodes leads through a node."""
    seen = {start}
    for j in sorted(_next_to(a, start)):
        reached = _next_to(a, j) - {start}
        if reached & seen:
            return True
        seen |= reached | {j}
    return False


def _next_to(a: Arrays, i: int) -> set[int]:
    """The nodes that share a term with node i."""
    found = set(a.adj_node[a.adj_ptr[i] : a.adj_ptr[i + 1]].tolist())
    for c in a.node_clique[a.node_ptr[i] : a.node_ptr[i + 1]].tolist():
        found.update(a.clique_nodes[a.clique_ptr[c] : a.clique_ptr[c + 1]].tolist())
    return found - {i}


def _cycles(crf: CRF) -> float:
    """Independent cycles of the graph of terms, in units of the number of nodes."""
    a = crf.arrays
    joins = len(a.edges) + len(a.clique_nodes) - len(a.clique_kind)
    return (joins - crf.n_nodes) / crf.n_nodes


def is_frustrated(crf: CRF, labels: IntArray) -> bool:
    """Whether labels [N] that a short search has found contradict the terms much."""
    return frustration(crf, labels) >= MUCH


def frustration(crf: CRF, labels: IntArray) -> float:
    """Of labels [N]."""
    a = crf.arrays
    allowed = np.isfinite(a.unary)
    means = np.where(allowed, a.unary, 0.0).sum(axis=1) / allowed.sum(axis=1)
    tables = table_ranges(a, np.arange(len(a.clique_kind)))
    low = a.unary.min(axis=1).sum() + np.minimum(a.edge_weights, 0.0).sum() + tables[:, 0].sum()
    mean = means.sum() + a.edge_weights.sum() * (1 - 1 / crf.n_labels) + tables[:, 1].sum()
    return float((crf.energy(labels) - low) / (mean - low)) if mean > low else 0.0


def _some(count: int, most: int = SAMPLE) -> IntArray:
    """Up to so many of 0 … count − 1, evenly spaced."""
    return np.linspace(0, max(count - 1, 0), min(count, most)).astype(np.int64)


def _unary_range(a: Arrays) -> float:
    """Highest minus lowest finite unary, summed over the nodes, about."""
    some = _some(len(a.unary))
    unary = a.unary[some]
    highest = np.where(np.isfinite(unary), unary, -np.inf).max(axis=1)
    return float((highest - unary.min(axis=1)).mean() * len(a.unary))


def _coupling(a: Arrays) -> float:
    """Highest minus lowest entry of every other term, summed over the nodes of each, about."""
    coupling = 2 * float(np.abs(a.edge_weights).sum())
    if len(a.clique_kind):
        some = _some(len(a.clique_kind))
        tables = table_ranges(a, some)
        spans = (tables[:, 2] - tables[:, 0]) * (a.clique_ptr[some + 1] - a.clique_ptr[some])
        coupling += float(spans.mean() * len(a.clique_kind))
    return coupling


@kernel
def table_ranges(a: Arrays, some: IntArray) -> FloatArray:
    """The lowest, mean and highest entry of some tables, times their factors `[len(some), 3]`."""
    out = np.zeros((len(some), 3))
    for n in range(len(some)):
        c = some[n]
        low, total, high = np.inf, 0.0, -np.inf
        for k in range(a.data_start[c], a.data_start[c] + a.data_size[c]):
            value = a.clique_weight[c] * a.data[k]
            low, total, high = min(low, value), total + value, max(high, value)
        out[n, 0], out[n, 1], out[n, 2] = low, total / a.data_size[c], high
    return out
