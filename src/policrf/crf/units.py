"""The unit of cost of a CRF, so that policies decide the same for E and for c · E, c > 0.

A node's span is what its dearest label costs over the lowest, but no more than `MOST` times what is
usual there, the median of the labels that cost more: a few labels with a huge cost, or forbidden
ones, say nothing about the others. The unit is 1 / `SPAN` of the median span of the nodes that have
one; where all unaries are constant, what an edge weighs, and where there are no edges, what a
clique weighs. Custom functions are not asked.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import kernel
from policrf.crf.arrays import Arrays
from policrf.crf.potentials import AGREE, SUPPORT, TABLE
from policrf.types import FloatArray

SPAN = 7.0  # units that labels of a node differ by, as in scenes with energies in units of 1
MOST = 4.0
LOOKED_AT = 500  # nodes, about
SMALLEST, LARGEST = 1e-100, 1e100  # costs divided by a unit stay finite


def cost_unit(arrays: Arrays) -> float:
    """The unit of the CRF; 1 where nothing tells."""
    unary = arrays.unary
    step = max(1, len(unary) // LOOKED_AT)
    found = (
        _median(node_spans(unary, step)) / SPAN
        or _median(node_spans(unary, 1)) / SPAN
        or _median(np.abs(arrays.edge_weights))
        or _median(_clique_weights(arrays))
        or 1.0
    )
    return min(max(found, SMALLEST), LARGEST)


@kernel
def node_spans(unary: FloatArray, step: int) -> FloatArray:
    """The span of every `step`-th node; 0 where no label costs more than the lowest."""
    n_nodes, n_labels = unary.shape
    spans, over = np.zeros((n_nodes + step - 1) // step), np.empty(n_labels)
    for k in range(len(spans)):
        i = k * step
        lowest, count = np.inf, 0
        for label in range(n_labels):
            lowest = min(lowest, unary[i, label])
        for label in range(n_labels):
            if lowest < unary[i, label] < np.inf:
                over[count] = unary[i, label] - lowest
                count += 1
        if count:
            ordered = np.sort(over[:count])
            spans[k] = min(ordered[count - 1], MOST * ordered[(count - 1) // 2])
    return spans


def _median(values: FloatArray) -> float:
    """Of those above 0; 0 if there are none."""
    known = values[values > 0.0]
    return float(np.median(known)) if len(known) else 0.0


def _clique_weights(arrays: Arrays) -> FloatArray:
    """What cliques weigh: boxes, and the finite values of tables, the first ones `[≤ C]`."""
    kind, weight = arrays.clique_kind, np.abs(arrays.clique_weight)
    boxes = weight[(kind == AGREE) | (kind == SUPPORT)]
    spans = []
    for c in np.flatnonzero(kind == TABLE)[:LOOKED_AT]:
        first = arrays.data_start[c]
        table = arrays.data[first : first + arrays.data_size[c]]
        known = table[np.isfinite(table)]
        spans.append(float(weight[c] * np.ptp(known)) if len(known) else 0.0)
    return np.concatenate([boxes, np.asarray(spans, np.float64)])
