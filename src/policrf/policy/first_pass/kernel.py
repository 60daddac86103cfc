"""One pass over the nodes: each takes the label of the lowest learned cost, and no clique is asked.

    cost_i(l) = f_i(l) + w · Σ_j labeled, beside i, with another label of the edge's weight
                       + Σ_{c ∋ i} g(x_c(l))

g is a network of one hidden layer, the same for all labels, cliques and nodes. Nodes come by the
lead of their cheapest label, the largest first, in a few levels. Inputs x_c(l), kept up to date
from step to step:

    share, there   part of the clique that has the label so far, and whether any member does
    open           part that has no label yet
    others         labels that are there, of all
    demand         Σ_{j ∈ c} (f_j(l) − min f_j) less its mean over labels, over √members: what the
                   clique's members would pay for the label
    rank           of the demand among the labels, from 0 to 1
    place, label   the node's place in the clique and the label's number, from 0 to 1: for cliques
                   that are no matter of counts
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, leaf
from policrf.crf.arrays import Arrays
from policrf.solvers.edges_first import FAR
from policrf.types import BoolArray, FloatArray, IntArray

INPUTS = ("share", "there", "open", "others", "demand", "rank", "place", "label")
UNITS = 8
D = len(INPUTS)
# Where the parts of the flat weights begin.
PAIR, LINEAR = 0, 1
FIRST = LINEAR + D  # [UNITS, D]
BIAS = FIRST + UNITS * D
OUT = BIAS + UNITS
N_WEIGHTS = OUT + UNITS


@inner
def find_demand(a: Arrays, c: int, demand: FloatArray, rank: FloatArray) -> None:
    """Demand and rank of every label in clique c, `[L]` each."""
    n_labels = len(demand)
    demand[:] = 0.0
    for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
        j = a.clique_nodes[m]
        least = np.inf
        for label in range(n_labels):
            least = min(least, a.unary[j, label])
        for label in range(n_labels):
            demand[label] += min(FAR, a.unary[j, label] - least)
    size, mean = a.clique_ptr[c + 1] - a.clique_ptr[c], 0.0
    for label in range(n_labels):
        mean += demand[label] / n_labels
    for label in range(n_labels):
        demand[label] = (demand[label] - mean) / np.sqrt(size)
    for label in range(n_labels):
        below = 0
        for other in range(n_labels):
            below += demand[other] < demand[label]
        rank[label] = below / max(1, n_labels - 1)


@leaf
def prepare(a: Arrays, used: BoolArray, demand: FloatArray, rank: FloatArray) -> None:
    """Demands and ranks `[C, L]` of the cliques that the network looks at."""
    for c in range(len(used)):
        if used[c]:
            find_demand(a, c, demand[c], rank[c])


@inner
def network(w: FloatArray, x: FloatArray) -> float:
    """g(x)."""
    found = 0.0
    for q in range(D):
        found += w[LINEAR + q] * x[q]
    for h in range(UNITS):
        unit = w[BIAS + h]
        for q in range(D):
            unit += w[FIRST + h * D + q] * x[q]
        if unit > 0.0:
            found += w[OUT + h] * unit
    return found


@inner
def count(a: Arrays, used: BoolArray, counts: IntArray, i: int, label: int, by: int) -> None:
    """Node i has this label (`by` = 1), or has it no more (−1)."""
    n_labels = a.unary.shape[1]
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        if used[c]:
            before = counts[c, label]
            counts[c, label] = before + by
            counts[c, n_labels] += by
            counts[c, n_labels + 1] += int(before + by > 0) - int(before > 0)


@leaf
def label_once(
    a: Arrays, used: BoolArray, order: IntArray, w: FloatArray, demand: FloatArray,
    rank: FloatArray, counts: IntArray, costs: FloatArray, x: FloatArray, labels: IntArray,
) -> None:  # fmt: skip
    """Label the nodes in `order`, anew where they have one.

    Counts `[C, L + 2]` are those of `labels`, then members labeled and labels there.
    """
    n_labels = a.unary.shape[1]
    for i in order:
        if labels[i] >= 0:
            count(a, used, counts, i, labels[i], -1)
        for label in range(n_labels):
            costs[label] = a.unary[i, label]
        for e in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
            other = labels[a.adj_node[e]]
            if other >= 0:
                costs[other] -= w[PAIR] * a.adj_weight[e]
        for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
            c = a.node_clique[k]
            if not used[c]:
                continue
            start, stop = a.clique_ptr[c], a.clique_ptr[c + 1]
            size = stop - start
            x[2] = 1.0 - counts[c, n_labels] / size
            x[3] = counts[c, n_labels + 1] / n_labels
            x[6] = (a.node_entry[k] - start) / size
            for label in range(n_labels):
                x[0] = counts[c, label] / size
                x[1] = 1.0 if counts[c, label] > 0 else 0.0
                x[4] = demand[c, label]
                x[5] = rank[c, label]
                x[7] = label / max(1, n_labels - 1)
                costs[label] += network(w, x)
        best = 0
        for label in range(1, n_labels):
            if costs[label] < costs[best]:
                best = label
        labels[i] = best
        count(a, used, counts, i, best, 1)
