"""The subgradient of dual decomposition: where copies of a node disagree, cost moves between them.

Node v has n_v copies (its forests and its cliques). Copy s has chosen x_s; with n(l) copies at
label l, the subgradient of the bound in its unary is [x_s = l] − n(l) / n_v, 0 in sum over copies.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import kernel, leaf
from policrf.solvers.messages.clique_messages import clique_minimum
from policrf.solvers.messages.graph.factor_graph import FactorGraph
from policrf.solvers.relaxations.tree_slaves import Forests
from policrf.types import FloatArray, IntArray


@kernel
def solve_cliques(
    g: FactorGraph, dual: FloatArray, labels: IntArray, first: int, stop: int
) -> float:
    """Σ of the minima of cliques first … stop − 1 with unaries `dual`; `labels` [M] attain them."""
    total = 0.0
    width = g.unary.shape[1]
    for c in range(first, stop):
        start = g.clique_ptr[c]
        size = g.clique_ptr[c + 1] - start
        h, own = np.empty((size, width)), np.empty(size, np.int64)
        for i in range(size):
            for x in range(width):
                h[i, x] = dual[start + i, x]
        total += clique_minimum(g, c, h, own)
        for i in range(size):
            labels[start + i] = own[i]
    return total


@leaf
def count_votes(
    g: FactorGraph, f: Forests, tree_labels: IntArray, clique_labels: IntArray, votes: FloatArray
) -> float:
    """votes [V, W] = n(l) / n_v; returns the squared length of the subgradient."""
    length = 0.0
    for i in range(len(votes)):
        copies = 0
        for x in range(votes.shape[1]):
            votes[i, x] = 0.0
        for t in range(len(f.order)):
            if f.joined[t, i]:
                votes[i, tree_labels[t, i]] += 1.0
                copies += 1
        for m in range(g.member_ptr[i], g.member_ptr[i + 1]):
            votes[i, clique_labels[g.member_entry[m]]] += 1.0
            copies += 1
        same = 0.0
        for x in range(votes.shape[1]):
            same += votes[i, x] * votes[i, x]
            votes[i, x] /= copies
        length += copies - same / copies
    return length


@leaf
def step(
    g: FactorGraph,
    f: Forests,
    tree_labels: IntArray,
    clique_labels: IntArray,
    votes: FloatArray,
    size: float,
    tree_dual: FloatArray,
    clique_dual: FloatArray,
) -> None:
    """Every copy's unary += size · ([x_s = l] − n(l) / n_v), where the copies disagree."""
    width = votes.shape[1]
    for i in range(len(votes)):
        agreed = False
        for x in range(width):
            agreed = agreed or votes[i, x] == 1.0
        if agreed:
            continue
        for t in range(len(f.order)):
            if f.joined[t, i]:
                for x in range(width):
                    tree_dual[t, i, x] -= size * votes[i, x]
                tree_dual[t, i, tree_labels[t, i]] += size
        for m in range(g.member_ptr[i], g.member_ptr[i + 1]):
            entry = g.member_entry[m]
            for x in range(width):
                clique_dual[entry, x] -= size * votes[i, x]
            clique_dual[entry, clique_labels[entry]] += size
