"""What rounding may have done to the cost of a node's label: a smaller gain is none."""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner
from policrf.crf.arrays import Arrays
from policrf.crf.energy import counting_energy, table_energy
from policrf.crf.potentials import AGREE, SUPPORT, TABLE
from policrf.crf.state import State

ROUNDING = 4 * 2.0**-53  # of a term, for every term that is added to it


@inner
def node_rounding(a: Arrays, s: State, i: int) -> float:
    """An upper bound of the rounding of node i's terms, all labeled, as they are now."""
    size, count = _size(a.unary[i, s.labels[i]]), 1
    for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        size += abs(a.adj_weight[k])
        count += 1
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        kind = a.clique_kind[c]
        count += 1
        if kind == AGREE or kind == SUPPORT:
            size += abs(counting_energy(a, c, s.matches[c])) + abs(a.clique_weight[c])
        elif kind == TABLE:
            size += _size(table_energy(a, c, s.labels))
        else:
            size += _size(s.value[c])
    return ROUNDING * count * size


@inner
def _size(value: float) -> float:
    return abs(value) if np.isfinite(value) else 0.0
