"""Trees as subproblems: forests cover the pairwise terms, each is minimised by dynamic programming.

min over x of Σ_v θ_v(x_v) + Σ over the forest's edges θ_uv(x_u, x_v): messages go from the leaves
to the roots, labels come back. O(V L) for Potts edges, O(V L²) for tables.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import kernel, leaf
from policrf.solvers.messages.graph.factor_graph import FactorGraph, all_terms
from policrf.solvers.messages.pair_messages import pair_cost, send
from policrf.solvers.messages.spanning_forests import forest_cover
from policrf.types import BoolArray, FloatArray, IntArray


class Forests(NamedTuple):
    """T forests over all V nodes; every pairwise term is in exactly one."""

    order: IntArray  # [T, V]; parents before their children
    parent_arc: IntArray  # [T, V]; the node's arc to its parent, −1 at a root
    joined: BoolArray  # [T, V]; whether the node has an edge in the forest


def cover_by_forests(g: FactorGraph) -> Forests:
    """Cover the arcs by forests; without any edge, one forest of single nodes."""
    n_nodes = len(g.unary)
    ptr, nodes, first = all_terms(g)
    pairs_from = len(g.clique_kind)
    cover = forest_cover(ptr[pairs_from:], nodes, n_nodes)
    arc_forest = np.empty(len(g.arc_node), np.int64)
    arc_forest[first] = arc_forest[g.arc_reverse[first]] = cover
    count = int(cover.max(initial=0)) + 1
    order = np.empty((count, n_nodes), np.int64)
    parent_arc = np.full((count, n_nodes), -1, np.int64)
    joined = np.zeros((count, n_nodes), np.bool_)
    joined[arc_forest, g.arc_node] = True
    for t in range(count):
        hang(g, arc_forest, t, order, parent_arc, np.zeros(n_nodes, np.bool_))
    return Forests(order, parent_arc, joined)


@leaf
def hang(
    g: FactorGraph,
    arc_forest: IntArray,
    t: int,
    order: IntArray,
    parent_arc: IntArray,
    seen: BoolArray,
) -> None:
    """Hang the trees of forest t from their first nodes, breadth first."""
    found = 0
    for start in range(len(seen)):
        if seen[start]:
            continue
        seen[start] = True
        order[t, found] = start
        head, found = found, found + 1
        while head < found:
            i = order[t, head]
            head += 1
            for k in range(g.arc_ptr[i], g.arc_ptr[i + 1]):
                j = g.arc_node[k]
                if arc_forest[k] == t and not seen[j]:
                    seen[j] = True
                    parent_arc[t, j] = g.arc_reverse[k]
                    order[t, found] = j
                    found += 1


@kernel
def gather(g: FactorGraph, f: Forests, t: int, costs: FloatArray, first: int, stop: int) -> float:
    """Upward over positions stop − 1 … first: `costs` [V, W] becomes each subtree's minimum.

    Returns what was taken out of messages and roots: summed over all slices, the forest's minimum.
    """
    width = g.unary.shape[1]
    h, out = np.empty(width), np.empty(width)
    total = 0.0
    for position in range(stop - 1, first - 1, -1):
        i = f.order[t, position]
        for x in range(width):
            h[x] = costs[i, x]
        k = f.parent_arc[t, i]
        if k < 0:
            low = np.inf
            for x in range(width):
                low = min(low, h[x])
            total += low
            continue
        total += send(g, k, h, out)
        parent = g.arc_node[k]
        for x in range(width):
            costs[parent, x] += out[x]
    return total


@leaf
def scatter(
    g: FactorGraph,
    f: Forests,
    t: int,
    costs: FloatArray,
    labels: IntArray,
    first: int,
    stop: int,
) -> None:
    """Downward over positions first … stop − 1: the labels [T, V] of a minimiser."""
    for position in range(first, stop):
        i = f.order[t, position]
        k = f.parent_arc[t, i]
        best, lowest = 0, np.inf
        for x in range(g.sizes[i]):
            value = costs[i, x]
            if k >= 0:
                value += pair_cost(g, k, x, labels[t, g.arc_node[k]])
            if value < lowest:
                best, lowest = x, value
        labels[t, i] = best
