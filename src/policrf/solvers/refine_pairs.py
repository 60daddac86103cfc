"""Pair moves: both ends of an edge relabeled at once, where neither alone can be.

With Δ_i(a) the cost of relabeling node i alone, a Potts edge of weight w changes the pair's cost to

    Δ_i(a) + Δ_j(b) + w ([a ≠ b] − [a ≠ y_j] − [y_i ≠ b] + [y_i ≠ y_j]),

which is below 0 only where both ends take the same new label, both leave the same one, or (where a
counting clique holds both) they exchange their labels. Small tables are tried label by label.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import kernel, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.energy import State
from policrf.crf.potentials import AGREE, SUPPORT
from policrf.solvers.local_search import (
    Search,
    change,
    change_two,
    descend,
    gained,
    keep,
    mark,
    row,
    undo,
)

VISITS = 1 << 30  # a descent inside a move goes to its end: it is short, being local
SMALL_CLIQUE = 4  # members of a table or custom clique whose pairs are tried


@leaf
def try_pair(a: Arrays, s: State, q: Search, i: int, j: int, first: int, second: int) -> bool:
    """Give both nodes their labels and descend from there; taken back unless the energy falls."""
    forbidden = mark(s, q)
    change_two(a, s, q, i, first, j, second)
    if not gained(s, q, forbidden):
        undo(a, s, q)
        return False
    descend(a, s, q, VISITS)
    keep(a, s, q)
    return True


@kernel
def pair_moves(a: Arrays, s: State, q: Search, start: int, stop: int) -> int:
    """Try the edges start … stop − 1 that have a touched end; returns how many moves were made."""
    moves = 0
    for e in range(start, stop):
        i, j = a.edges[e, 0], a.edges[e, 1]
        if q.touched[i] or q.touched[j]:
            moves += edge_moves(a, s, q, i, j, a.edge_weights[e])
    return moves


@leaf
def edge_moves(a: Arrays, s: State, q: Search, i: int, j: int, weight: float) -> int:
    """Try the best joint relabeling of an edge's ends, then their exchange."""
    row(a, s, q, i)
    row(a, s, q, j)
    y, z = s.labels[i], s.labels[j]
    base = q.costs[i, y] + q.costs[j, z]
    if not base < np.inf:
        return 0
    first, second = y, z
    least = -q.margin[0]
    for label in range(a.unary.shape[1]):
        bend = (y != z) - (label != z) - (label != y)
        change_by = q.costs[i, label] + q.costs[j, label] - base + weight * bend
        if change_by < least:
            first, second, least = label, label, change_by
    if y == z or weight < 0:
        best_i, best_j = cheapest_other(q, i, y), cheapest_other(q, j, z)
        bend = (best_i != best_j) - (best_i != z) - (y != best_j) + (y != z)
        change_by = q.costs[i, best_i] + q.costs[j, best_j] - base + weight * bend
        if change_by < least:
            first, second, least = best_i, best_j, change_by
    if (first != y or second != z) and try_pair(a, s, q, i, j, first, second):
        return 1
    if y != z and exchange_matters(a, i, j, y, z) and try_pair(a, s, q, i, j, z, y):
        return 1
    return 0


@leaf
def cheapest_other(q: Search, i: int, own: int) -> int:
    """The cheapest label of node i but `own`; `own` if it has no other."""
    best, least = own, np.inf
    for label in range(q.costs.shape[1]):
        if label != own and q.costs[i, label] < least:
            best, least = label, q.costs[i, label]
    return best


@leaf
def exchange_matters(a: Arrays, i: int, j: int, y: int, z: int) -> bool:
    """Whether a counting clique of one of the labels holds both: an exchange keeps its count."""
    if not (a.unary[i, z] < np.inf and a.unary[j, y] < np.inf):
        return False
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        if a.clique_label[c] == y or a.clique_label[c] == z:
            for n in range(a.node_ptr[j], a.node_ptr[j + 1]):
                if a.node_clique[n] == c:
                    return True
    return False


@kernel
def table_pair_moves(a: Arrays, s: State, q: Search, start: int, stop: int) -> int:
    """Try the pairs inside the small table and custom cliques start … stop − 1."""
    moves = 0
    for c in range(start, stop):
        first, last = a.clique_ptr[c], a.clique_ptr[c + 1]
        if a.clique_kind[c] == AGREE or a.clique_kind[c] == SUPPORT or last - first > SMALL_CLIQUE:
            continue
        for m in range(first, last):
            for n in range(m + 1, last):
                i, j = a.clique_nodes[m], a.clique_nodes[n]
                if q.touched[i] or q.touched[j]:
                    moves += joint_moves(a, s, q, i, j)
    return moves


@leaf
def joint_moves(a: Arrays, s: State, q: Search, i: int, j: int) -> int:
    """For every label of node i, the best answer of node j; the first that gains is made."""
    own = s.labels[i]
    for label in range(a.cardinalities[i]):
        if label == own or a.unary[i, label] == np.inf:
            continue
        forbidden = mark(s, q)
        change(a, s, q, i, label)
        row(a, s, q, j)
        answer = s.labels[j]
        for other in range(a.cardinalities[j]):
            if q.costs[j, other] < q.costs[j, answer]:
                answer = other
        if answer != s.labels[j]:
            change(a, s, q, j, answer)
            if gained(s, q, forbidden):
                descend(a, s, q, VISITS)
                keep(a, s, q)
                return 1
        undo(a, s, q)
    return 0
