"""Pair moves: both ends of an edge relabeled at once, where neither alone can be.

With Δ_i(a) the cost of relabeling node i alone, a Potts edge of weight w changes the pair's cost to

    Δ_i(a) + Δ_j(b) + w ([a ≠ b] − [a ≠ y_j] − [y_i ≠ b] + [y_i ≠ y_j]),

which is below 0 only where both ends take the same new label, both leave the same one, or (where a
counting clique holds both) they exchange their labels. Small tables are tried label by label.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, kernel, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.changes import relabel
from policrf.crf.energy import label_costs
from policrf.crf.potentials import AGREE, SUPPORT
from policrf.crf.state import State
from policrf.solvers.moves.local_search import LocalSearch, adopt, flush, is_gain, row

SMALL_CLIQUE = 4  # members of a table or custom clique whose pairs are tried


@leaf
def pair_moves(a: Arrays, s: State, q: LocalSearch, start: int, stop: int) -> int:
    """Try the edges start … stop − 1 that have a touched end; returns how many moves were made."""
    moves = 0
    for e in range(start, stop):
        i, j = a.edges[e, 0], a.edges[e, 1]
        if not (q.touched[i] or q.touched[j]):
            continue
        row(a, s, q, i)
        row(a, s, q, j)
        y, z = s.labels[i], s.labels[j]
        for attempt in range(2):
            if attempt == 0:
                first, second = best_pair(q, i, j, y, z, a.edge_weights[e])
            else:
                first, second = (z, y) if exchange_matters(a, i, j, y, z) else (y, z)
            if first == y and second == z:
                continue
            s.total[0] = 0.0
            forbidden = s.forbidden[0]
            relabel(a, s, i, first)
            relabel(a, s, j, second)
            if settle_pair(a, s, q, i, y, j, z, forbidden):
                moves += 1
                break
    return moves


@inner
def settle_pair(
    a: Arrays, s: State, q: LocalSearch, i: int, y: int, j: int, z: int, forbidden: int
) -> bool:
    """Keep the new labels of nodes i and j if the energy fell, or give them y and z back.

    Before the move, `forbidden` terms were infinite and the running total was 0.
    """
    gained = is_gain(s.forbidden[0], s.total[0], forbidden, q.margin[0])
    if gained:
        adopt(a, s, q, i, y)
        adopt(a, s, q, j, z)
        flush(a, s, q)
    else:
        relabel(a, s, i, y)
        relabel(a, s, j, z)
    return gained


@inner
def best_pair(q: LocalSearch, i: int, j: int, y: int, z: int, weight: float) -> tuple[int, int]:
    """The joint relabeling of an edge's ends that promises most, or (y, z) if none does."""
    first, second, least = y, z, -q.margin[0]
    base = q.costs[i, y] + q.costs[j, z]
    if not base < np.inf:
        return y, z
    best_i, best_j = -1, -1
    for label in range(q.costs.shape[1]):
        bend = int(y != z) - int(label != z) - int(label != y)
        change = q.costs[i, label] + q.costs[j, label] - base + weight * bend
        if change < least:
            first, second, least = label, label, change
        if label != y and (best_i < 0 or q.costs[i, label] < q.costs[i, best_i]):
            best_i = label
        if label != z and (best_j < 0 or q.costs[j, label] < q.costs[j, best_j]):
            best_j = label
    if best_i >= 0 and best_j >= 0 and (y == z or weight < 0):
        bend = int(best_i != best_j) - int(best_i != z) - int(y != best_j) + int(y != z)
        change = q.costs[i, best_i] + q.costs[j, best_j] - base + weight * bend
        if change < least:
            first, second = best_i, best_j
    return first, second


@inner
def exchange_matters(a: Arrays, i: int, j: int, y: int, z: int) -> bool:
    """Whether a counting clique of one of the labels holds both: an exchange keeps its count."""
    if y == z or not (a.unary[i, z] < np.inf and a.unary[j, y] < np.inf):
        return False
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        if a.clique_label[c] == y or a.clique_label[c] == z:
            for n in range(a.node_ptr[j], a.node_ptr[j + 1]):
                if a.node_clique[n] == c:
                    return True
    return False


@kernel
def table_pair_moves(a: Arrays, s: State, q: LocalSearch, start: int, stop: int) -> int:
    """Try the pairs inside the small table and custom cliques start … stop − 1.

    For every label of the one, the other takes its best; the first that gains is made.
    """
    costs = np.empty(a.unary.shape[1])
    moves = 0
    for c in range(start, stop):
        first, last = a.clique_ptr[c], a.clique_ptr[c + 1]
        if a.clique_kind[c] == AGREE or a.clique_kind[c] == SUPPORT or last - first > SMALL_CLIQUE:
            continue
        for pair in range((last - first) ** 2):
            i = a.clique_nodes[first + pair // (last - first)]
            j = a.clique_nodes[first + pair % (last - first)]
            if i >= j or not (q.touched[i] or q.touched[j]):
                continue
            y, z = s.labels[i], s.labels[j]
            for label in range(a.cardinalities[i]):
                if label == y or a.unary[i, label] == np.inf:
                    continue
                forbidden, s.total[0] = s.forbidden[0], 0.0
                relabel(a, s, i, label)
                label_costs(a, s, j, costs)
                answer = int(np.argmin(costs))
                if answer == z:
                    relabel(a, s, i, y)
                    continue
                relabel(a, s, j, answer)
                if settle_pair(a, s, q, i, y, j, z, forbidden):
                    moves += 1
                    break
    return moves
