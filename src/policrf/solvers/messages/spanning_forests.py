"""Spanning forests: how often a term is in one (TRBP), and covers by few (dual decomposition).

A forest may hold cliques as well as edges: a clique joins all its members at once.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import leaf
from policrf.types import BoolArray, FloatArray, IntArray

ROUNDS = 16  # spanning forests that appearance probabilities are counted over, at least


def appearance_probabilities(ptr: IntArray, nodes: IntArray, n_nodes: int) -> FloatArray:
    """ρ [F]: the share of spanning forests each term is in, as even as the graph allows; all > 0.

    Term f joins `nodes[ptr[f]:ptr[f + 1]]`. Every forest takes the least used terms first; ρ is the
    mean of the forests' indicators, as tree-reweighted messages want it (Wainwright et al. 2005).
    """
    uses = np.zeros(len(ptr) - 1, np.int64)
    rounds = 0
    while rounds < ROUNDS or uses.min(initial=1) == 0:
        order = np.argsort(uses, kind="stable")
        uses[forest(ptr, nodes, order, n_nodes)] += 1
        rounds += 1
    return uses / rounds


def forest_cover(ptr: IntArray, nodes: IntArray, n_nodes: int) -> IntArray:
    """The forest [F] each term is put into, 0, 1, …: the first in which it closes no cycle."""
    cover = np.zeros(len(ptr) - 1, np.int64)
    rest = np.arange(len(cover))
    count = 0
    while len(rest):
        taken = forest(ptr, nodes, rest, n_nodes)
        cover[taken] = count
        rest = rest[~taken[rest]]
        count += 1
    return cover


def forest(ptr: IntArray, nodes: IntArray, order: IntArray, n_nodes: int) -> BoolArray:
    """Which terms [F] a maximal forest holds that takes them in `order`."""
    taken = np.zeros(len(ptr) - 1, np.bool_)
    grow(ptr, nodes, order, np.arange(n_nodes), np.full(n_nodes, -1), taken)
    return taken


@leaf
def grow(
    ptr: IntArray,
    nodes: IntArray,
    order: IntArray,
    parent: IntArray,
    seen: IntArray,
    taken: BoolArray,
) -> None:
    """Kruskal: take the terms in `order` whose members are all in different trees so far."""
    for position in range(len(order)):
        f = order[position]
        apart = True
        for m in range(ptr[f], ptr[f + 1]):
            r = root(parent, nodes[m])
            apart = apart and seen[r] != f
            seen[r] = f
        if apart:
            taken[f] = True
            for m in range(ptr[f] + 1, ptr[f + 1]):
                parent[root(parent, nodes[m])] = root(parent, nodes[ptr[f]])


@leaf
def root(parent: IntArray, node: int) -> int:
    """The representative of the node's tree, halving the path to it."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node
