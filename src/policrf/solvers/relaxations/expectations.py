"""Expected energies under independent labels, the heart of mean field.

q [V, W] are the nodes' label probabilities. Node i's label x costs θ_i(x) + Σ_j w_ij (1 − q_j(x))
over its Potts edges, the expectation of its tables, and, where x is the label of a counting clique,
E[f(K + 1) − f(K)], K the number of the other members with that label.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, kernel, leaf
from policrf.crf.potentials import TABLE
from policrf.solvers.messages.clique_messages import advance, cost_of_count
from policrf.solvers.messages.graph.factor_graph import FactorGraph
from policrf.solvers.messages.graph.pair_terms import POTTS
from policrf.solvers.messages.pair_messages import pair_cost
from policrf.solvers.relaxations.poisson_binomial import insert_event, leave_one_out
from policrf.types import FloatArray, IntArray


class Counts(NamedTuple):
    """How many members of each counting clique have its label, as of the last `count_labels`."""

    pmf: FloatArray  # [M + C]; clique c's P(0 … n) starts at clique_ptr[c] + c
    window: IntArray  # [C, 2]; the counts that are kept
    inside: FloatArray  # [M]; the probability with which each member is in
    scratch: FloatArray  # one clique's distribution without one member
    odometer: IntArray  # one clique's labels


def new_counts(g: FactorGraph) -> Counts:
    """Room for the distributions of all cliques."""
    size, n_cliques = len(g.clique_nodes), len(g.clique_kind)
    largest = int(np.diff(g.clique_ptr).max(initial=0))
    return Counts(
        pmf=np.zeros(size + n_cliques),
        window=np.zeros((n_cliques, 2), np.int64),
        inside=np.zeros(size),
        scratch=np.zeros(largest + 2),
        odometer=np.zeros(largest, np.int64),
    )


@leaf
def count_labels(g: FactorGraph, q: FloatArray, counts: Counts, first: int, stop: int) -> None:
    """The distributions of counting cliques first … stop − 1 under q."""
    for c in range(first, stop):
        if g.clique_kind[c] == TABLE:
            continue
        at = g.clique_ptr[c] + c
        counts.pmf[at] = 1.0
        counts.window[c, 0] = counts.window[c, 1] = 0
        for m in range(g.clique_ptr[c], g.clique_ptr[c + 1]):
            p = q[g.clique_nodes[m], g.clique_label[c]]
            counts.inside[m] = p
            insert_event(counts.pmf, at, counts.window, c, p)


@leaf
def expected_costs(
    g: FactorGraph, q: FloatArray, counts: Counts, i: int, costs: FloatArray
) -> None:
    """The expected energy of every label of node i, up to a constant, into `costs` [W]."""
    for x in range(len(costs)):
        costs[x] = g.unary[i, x]
    add_expected_pairs(g, q, i, costs)
    for m in range(g.member_ptr[i], g.member_ptr[i + 1]):
        c, entry = g.member_clique[m], g.member_entry[m]
        if g.clique_kind[c] == TABLE:
            add_expected_table(g, q, c, entry, counts.odometer, costs)
        else:
            costs[g.clique_label[c]] += expected_rise(g, counts, c, entry)


@inner
def add_expected_pairs(g: FactorGraph, q: FloatArray, i: int, costs: FloatArray) -> None:
    """Add the expectation of the pairwise terms of node i; of Potts edges, less Σ_j w_ij."""
    for k in range(g.arc_ptr[i], g.arc_ptr[i + 1]):
        j = g.arc_node[k]
        if g.arc_kind[k] == POTTS:
            for x in range(len(costs)):
                costs[x] -= g.arc_weight[k] * q[j, x]
        else:
            for x in range(g.sizes[i]):
                for y in range(g.sizes[j]):
                    costs[x] += q[j, y] * pair_cost(g, k, x, y)


@inner
def expected_rise(g: FactorGraph, counts: Counts, c: int, entry: int) -> float:
    """E[f(K + 1) − f(K)] for the member at `entry`."""
    others = g.clique_ptr[c + 1] - g.clique_ptr[c] - 1
    p = counts.inside[entry]
    first = leave_one_out(counts.pmf, g.clique_ptr[c] + c, counts.window, c, p, counts.scratch)
    rise = 0.0
    for k in range(max(first, 0), min(counts.window[c, 1], others) + 1):
        slope = cost_of_count(g, c, k + 1) - cost_of_count(g, c, k)
        rise += counts.scratch[k - first] * slope
    return rise


@inner
def add_expected_table(
    g: FactorGraph, q: FloatArray, c: int, entry: int, odometer: IntArray, costs: FloatArray
) -> None:
    """Add E[f_c | x_i] for every label of the member at `entry`, by enumeration."""
    start, size = g.clique_ptr[c], g.clique_ptr[c + 1] - g.clique_ptr[c]
    own = entry - start
    for m in range(size):
        odometer[m] = 0
    more = True
    while more:
        at, probability = g.clique_start[c], 1.0
        for m in range(size):
            at += g.clique_stride[start + m] * odometer[m]
            if m != own:
                probability *= q[g.clique_nodes[start + m], odometer[m]]
        costs[odometer[own]] += probability * g.tables[at]
        more = advance(g, c, odometer)


@kernel
def relax(
    g: FactorGraph,
    q: FloatArray,
    counts: Counts,
    temperature: float,
    damping: float,
    first: int,
    stop: int,
) -> float:
    """New q_i ∝ exp(−costs / T) for nodes first … stop − 1 in turn; the largest change of a q."""
    width = g.unary.shape[1]
    costs = np.empty(width)
    change = 0.0
    for i in range(first, stop):
        expected_costs(g, q, counts, i, costs)
        low, total = np.inf, 0.0
        for x in range(width):
            low = min(low, costs[x])
        for x in range(width):
            costs[x] = np.exp((low - costs[x]) / temperature)
            total += costs[x]
        for x in range(width):
            value = costs[x] / total
            value += damping * (q[i, x] - value)
            change = max(change, abs(value - q[i, x]))
            q[i, x] = value
    return change
