"""Min-sum messages across one pairwise term: out(x_j) = min over x_i of h(x_i) + θ_ij(x_i, x_j).

Potts and HOP1's link to z_b take O(L), because all but one value of the minimum is shared; so does
a truncated distance, by two passes (Felzenszwalb and Huttenlocher 2006). A table takes O(L²).
Messages are normalised to a minimum of 0, which is returned.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, leaf
from policrf.solvers.messages.graph.factor_graph import FactorGraph
from policrf.solvers.messages.graph.pair_terms import BOX, DENSE, LINEAR, MEMBER, POTTS
from policrf.types import FloatArray


@leaf
def send(g: FactorGraph, k: int, h: FloatArray, out: FloatArray) -> float:
    """The message along arc k from its node, whose costs are `h` [W], into `out` [W]."""
    kind = g.arc_kind[k]
    if kind == POTTS:
        return send_potts(g.arc_weight[k], h, out)
    if kind == DENSE:
        return send_table(g, k, h, out)
    if kind == LINEAR:
        return send_linear(g, k, h, out)
    return send_link(g, k, h, out)


@inner
def send_potts(weight: float, h: FloatArray, out: FloatArray) -> float:
    """min(h(x), w + min over the other labels of h); with w ≥ 0 these may be all labels."""
    low = h[0]
    for x in range(1, len(h)):
        low = min(low, h[x])
    if weight >= 0:
        for x in range(len(h)):
            out[x] = min(h[x] - low, weight)
        return float(low)
    second, at = np.inf, -1
    for x in range(len(h)):
        if h[x] == low and at < 0:
            at = x
        elif h[x] < second:
            second = h[x]
    lowest = np.inf
    for x in range(len(h)):
        others = second if x == at else low
        out[x] = min(h[x], weight + others)
        lowest = min(lowest, out[x])
    for x in range(len(h)):
        out[x] -= lowest
    return lowest


@inner
def send_link(g: FactorGraph, k: int, h: FloatArray, out: FloatArray) -> float:
    """Between a member y_i of a box and its z_b: w_b [(y_i = l_b) ≠ (z_b = 1)]."""
    weight, label = g.arc_weight[k], g.arc_label[k]
    if g.arc_kind[k] == MEMBER:
        match, other = h[label], np.inf
        for x in range(len(h)):
            if x != label:
                other = min(other, h[x])
    else:
        match, other = h[1], h[0]
    low = min(match, other)
    with_match, with_other = (
        min(match - low, other - low + weight),
        min(other - low, match - low + weight),
    )
    rest = 0.0 if g.arc_kind[k] == MEMBER else with_other
    for x in range(len(out)):
        out[x] = rest
    if g.arc_kind[k] == MEMBER:
        out[0], out[1] = with_other, with_match
    else:
        out[label] = with_match
    return float(low)


@inner
def send_table(g: FactorGraph, k: int, h: FloatArray, out: FloatArray) -> float:
    """Any table; labels beyond those of the receiver get 0."""
    i, j = g.arc_node[g.arc_reverse[k]], g.arc_node[k]
    own, other, factor = g.arc_stride[k, 0], g.arc_stride[k, 1], g.arc_weight[k]
    lowest = np.inf
    for y in range(g.sizes[j]):
        at = g.arc_start[k] + y * other
        low = np.inf
        for x in range(g.sizes[i]):
            low = min(low, h[x] + factor * g.tables[at + x * own])
        out[y] = low
        lowest = min(lowest, low)
    for y in range(len(out)):
        out[y] = out[y] - lowest if y < g.sizes[j] else 0.0
    return lowest


@inner
def send_linear(g: FactorGraph, k: int, h: FloatArray, out: FloatArray) -> float:
    """A factor times min(step · |x − y|, limit); both ends have all the table's L labels."""
    n_labels = g.sizes[g.arc_node[k]]
    step = g.arc_weight[k] * g.tables[g.arc_start[k] + 1]
    limit = g.arc_weight[k] * g.tables[g.arc_start[k] + n_labels - 1]
    low, reached = np.inf, np.inf
    for x in range(n_labels):
        low = min(low, h[x])
        reached = min(h[x], reached + step)
        out[x] = reached
    reached = np.inf
    for y in range(n_labels - 1, -1, -1):
        reached = min(out[y], reached + step)
        out[y] = min(reached - low, limit)
    for y in range(n_labels, len(out)):
        out[y] = 0.0
    return low


@leaf
def pair_cost(g: FactorGraph, k: int, x: int, y: int) -> float:
    """θ_ij(x, y) of arc k: x the label of its own node, y that of the other end."""
    kind = g.arc_kind[k]
    if kind == POTTS:
        return float(g.arc_weight[k]) if x != y else 0.0
    if kind == MEMBER:
        return float(g.arc_weight[k]) if (x == g.arc_label[k]) != (y == 1) else 0.0
    if kind == BOX:
        return float(g.arc_weight[k]) if (y == g.arc_label[k]) != (x == 1) else 0.0
    at = g.arc_start[k] + x * g.arc_stride[k, 0] + y * g.arc_stride[k, 1]
    return float(g.arc_weight[k] * g.tables[at])
