"""Min-sum messages and minimisers of one clique of the factor graph, whatever its kind.

h [n, W] holds what each member costs as far as the clique is told; W ≥ 2, all entries finite.
Counting cliques (boxes, counts of one label) go through `counting_messages` in O(n L + n log n),
robust P^n Potts through `dominant_messages`; tables are enumerated, once for all members.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inlined, inner, inner_kernel, leaf
from policrf.crf.potentials import COUNTED, DOMINANT, TABLE
from policrf.solvers.messages.counting_messages import (
    count_cost,
    counting_messages,
    counting_minimum,
)
from policrf.solvers.messages.dominant_messages import dominant_minimum, send_from_dominant
from policrf.solvers.messages.graph.factor_graph import FactorGraph
from policrf.solvers.moves.cheapest import cheapest_other
from policrf.types import FloatArray, IntArray


@leaf
def member_costs(
    g: FactorGraph,
    c: int,
    share: FloatArray,
    belief: FloatArray,
    from_cliques: FloatArray,
    h: FloatArray,
) -> None:
    """h_i = share · b_i − m_ci for the members of clique c, into the first n rows of `h`."""
    start = g.clique_ptr[c]
    for entry in range(start, g.clique_ptr[c + 1]):
        i = g.clique_nodes[entry]
        for x in range(h.shape[1]):
            h[entry - start, x] = share[entry] * belief[i, x] - from_cliques[entry, x]


@leaf
def send_from_clique(g: FactorGraph, c: int, h: FloatArray, out: FloatArray) -> None:
    """out_i(x_i) = min over the other members of f_c + Σ_{j ≠ i} h_j, less its minimum; [n, W]."""
    size = g.clique_ptr[c + 1] - g.clique_ptr[c]
    if g.clique_kind[c] == TABLE:
        send_from_table(g, c, h, out, size)
    elif g.clique_kind[c] == DOMINANT:
        send_from_dominant(g, c, h, out)
    else:
        send_from_counts(g, c, h, out, size)


@leaf
def clique_minimum(g: FactorGraph, c: int, h: FloatArray, labels: IntArray) -> float:
    """min over x_c of f_c + Σ h_i(x_i); `labels` [≥ n] becomes a minimiser."""
    size = g.clique_ptr[c + 1] - g.clique_ptr[c]
    if g.clique_kind[c] == TABLE:
        return table_minimum(g, c, h, labels, size)
    if g.clique_kind[c] == DOMINANT:
        return dominant_minimum(g, c, h, labels)
    return counts_minimum(g, c, h, labels, size)


@inlined
def cost_of_count(g: FactorGraph, c: int, matches: int) -> float:
    """f(matches) of a counting clique: AGREE, SUPPORT or COUNTED."""
    if g.clique_kind[c] == COUNTED:
        return float(g.tables[g.clique_start[c] + min(matches, g.clique_count[c] - 1)])
    size = g.clique_ptr[c + 1] - g.clique_ptr[c]
    return count_cost(g.clique_kind[c], g.clique_weight[c], g.clique_count[c], size, matches)


@inner_kernel
def send_from_counts(g: FactorGraph, c: int, h: FloatArray, out: FloatArray, size: int) -> None:
    """Messages of a counting clique."""
    costs, difference, without = np.empty(size + 1), np.empty(size), np.empty(size)
    label = g.clique_label[c]
    for k in range(size + 1):
        costs[k] = cost_of_count(g, c, k)
    for i in range(size):
        difference[i] = h[i, label] - h[i, cheapest_other(h[i], label)]
    with_label = np.empty(size)
    counting_messages(costs, difference, with_label, without)
    for i in range(size):
        low = min(with_label[i], without[i])
        for x in range(h.shape[1]):
            out[i, x] = without[i] - low
        out[i, label] = with_label[i] - low


@inner_kernel
def counts_minimum(g: FactorGraph, c: int, h: FloatArray, labels: IntArray, size: int) -> float:
    """The minimum of a counting clique, and a minimiser."""
    costs, difference = np.empty(size + 1), np.empty(size)
    label = g.clique_label[c]
    for k in range(size + 1):
        costs[k] = cost_of_count(g, c, k)
    matched = np.empty(size, np.int64)
    base = 0.0
    for i in range(size):
        labels[i] = cheapest_other(h[i], label)
        base += h[i, labels[i]]
        difference[i] = h[i, label] - h[i, labels[i]]
    value = counting_minimum(costs, difference, matched)
    for i in range(size):
        if matched[i] == 1:
            labels[i] = label
    return float(base + value)


@inner_kernel
def send_from_table(g: FactorGraph, c: int, h: FloatArray, out: FloatArray, size: int) -> None:
    """Min-marginals by enumeration, less what each member said itself."""
    start = g.clique_ptr[c]
    for i in range(size):
        for x in range(h.shape[1]):
            out[i, x] = np.inf
    odometer = np.zeros(size, np.int64)
    more = True
    while more:
        value = table_value(g, c, h, odometer)
        for i in range(size):
            out[i, odometer[i]] = min(out[i, odometer[i]], value)
        more = advance(g, c, odometer)
    for i in range(size):
        n_labels = g.sizes[g.clique_nodes[start + i]]
        low = np.inf
        for x in range(n_labels):
            out[i, x] -= h[i, x]
            low = min(low, out[i, x])
        for x in range(h.shape[1]):
            out[i, x] = out[i, x] - low if x < n_labels else 0.0


@inner_kernel
def table_minimum(g: FactorGraph, c: int, h: FloatArray, labels: IntArray, size: int) -> float:
    """The cheapest entry, with the members' costs added."""
    odometer = np.zeros(size, np.int64)
    best = np.inf
    more = True
    while more:
        value = table_value(g, c, h, odometer)
        if value < best:
            best = value
            for i in range(size):
                labels[i] = odometer[i]
        more = advance(g, c, odometer)
    return best


@inner
def table_value(g: FactorGraph, c: int, h: FloatArray, odometer: IntArray) -> float:
    """f_c + Σ h_i at the labels `odometer` [n]."""
    start = g.clique_ptr[c]
    at, value = g.clique_start[c], 0.0
    for i in range(g.clique_ptr[c + 1] - start):
        at += g.clique_stride[start + i] * odometer[i]
        value += h[i, odometer[i]]
    return float(value + g.tables[at])


@leaf
def advance(g: FactorGraph, c: int, odometer: IntArray) -> bool:
    """The next joint labeling; False after the last."""
    start = g.clique_ptr[c]
    for i in range(g.clique_ptr[c + 1] - start - 1, -1, -1):
        odometer[i] += 1
        if odometer[i] < g.sizes[g.clique_nodes[start + i]]:
            return True
        odometer[i] = 0
    return False
