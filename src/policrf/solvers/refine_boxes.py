"""Box moves: many members of a counting clique take its label at once, or give it up, or trade it.

A quota (HOP2) of which no single relabel changes the verdict is out of reach of single and pair
moves: `grow` lets the cheapest members take the label one after the other, each choice changing
what the next costs, until the quota is met (or all have it, for HOP1); `shrink` gives every holder
its best other label; `trade` lets one member take the label for another that gives it up, at a
quota just met. Each is followed by a descent, and taken back unless the energy falls.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import kernel, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.energy import State, counting_energy
from policrf.crf.potentials import AGREE, SUPPORT
from policrf.solvers.indexed_heap import Heap, change_key, order_heap, pop_first
from policrf.solvers.local_search import (
    Search,
    change,
    change_two,
    descend,
    gained,
    keep,
    mark,
    row,
    step_energy,
    undo,
)
from policrf.solvers.refine_pairs import VISITS, cheapest_other


@kernel
def box_moves(a: Arrays, s: State, q: Search, h: Heap, c: int) -> int:
    """Try the moves of counting clique c; returns how many were made. `h` is an empty heap."""
    if not q.open_clique[c]:
        return 0
    q.open_clique[c] = False
    size = a.clique_ptr[c + 1] - a.clique_ptr[c]
    if a.clique_kind[c] == AGREE and 2 * s.matches[c] < size:
        return grow(a, s, q, h, c, size) if estimate(a, s, q, c, True) < 0 else 0
    if a.clique_kind[c] == SUPPORT and s.matches[c] < a.clique_count[c]:
        return grow(a, s, q, h, c, a.clique_count[c])
    moves = shrink(a, s, q, c) if estimate(a, s, q, c, False) < 0 else 0
    if a.clique_kind[c] == SUPPORT:
        while s.matches[c] == a.clique_count[c] and trade(a, s, q, c):
            moves += 1
    return moves


@leaf
def estimate(a: Arrays, s: State, q: Search, c: int, grows: bool) -> float:
    """A hopeful guess of what all members taking the label, or all holders giving it up, changes.

    Members that leave are taken to agree among themselves, and one for which the label is dear is
    taken to stay out at the price of one disagreement. A guess of 0 or more: the move is not worth
    trying.
    """
    label = a.clique_label[c]
    for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
        i = a.clique_nodes[m]
        q.inside[i] = (s.labels[i] != label) == grows
    total = 0.0
    for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
        i = a.clique_nodes[m]
        if q.inside[i]:
            value = alone(a, s, q, i, label, grows)
            total += min(value, a.clique_weight[c]) if grows else value
    for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
        i = a.clique_nodes[m]
        q.inside[i] = False
        for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
            other = a.node_clique[k]
            moved = q.tally[other]
            if moved:
                q.tally[other] = 0
                after = s.matches[other] + (moved if grows else -moved)
                total += counting_energy(a, other, after)
                total -= counting_energy(a, other, s.matches[other])
    return total


@leaf
def alone(a: Arrays, s: State, q: Search, i: int, label: int, grows: bool) -> float:
    """The part of node i in `estimate`, counting cliques of the label left out but tallied."""
    row(a, s, q, i)
    own = s.labels[i]
    if grows:
        value = price(a, s, q, i, label)
    else:
        value = q.costs[i, cheapest_other(q, i, label)] - q.costs[i, label]
    if not value < np.inf:
        return 0.0
    for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        j = a.adj_node[k]
        if q.inside[j]:
            value -= a.adj_weight[k]
            if s.labels[j] != own:
                value += 0.5 * a.adj_weight[k]
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        if a.clique_label[c] == label:
            q.tally[c] += 1
            if grows:
                value -= step_energy(a, c, s.matches[c])
            else:
                value += step_energy(a, c, s.matches[c] - 1)
    return value


@leaf
def price(a: Arrays, s: State, q: Search, i: int, label: int) -> float:
    """What it costs node i to take the label, +inf where it may not."""
    row(a, s, q, i)
    asked, own = q.costs[i, label], q.costs[i, s.labels[i]]
    if own < np.inf:
        return float(asked - own)
    return 0.0 if asked < np.inf else np.inf


@leaf
def grow(a: Arrays, s: State, q: Search, h: Heap, c: int, wanted: int) -> int:
    """Let members take the label, the cheapest next, until `wanted` have it."""
    label = a.clique_label[c]
    h.size[0] = 0
    for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
        i = a.clique_nodes[m]
        if s.labels[i] != label and a.unary[i, label] < np.inf:
            h.keys[i] = -price(a, s, q, i, label)
            h.items[h.size[0]] = i
            h.place[i] = h.size[0]
            h.size[0] += 1
    if a.clique_kind[c] == SUPPORT and s.matches[c] + h.size[0] < wanted:
        clear(h)
        return 0
    order_heap(h)
    forbidden = mark(s, q)
    while s.matches[c] < wanted and h.size[0] > 0:
        i = pop_first(h)
        change(a, s, q, i, label)
        for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
            j = a.adj_node[k]
            if h.place[j] >= 0:
                change_key(h, j, -price(a, s, q, j, label))
    clear(h)
    return settle(a, s, q, forbidden)


@leaf
def clear(h: Heap) -> None:
    """Take out what is left."""
    for at in range(h.size[0]):
        h.place[h.items[at]] = -1
    h.size[0] = 0


@leaf
def shrink(a: Arrays, s: State, q: Search, c: int) -> int:
    """Let every member that has the label take its best other one."""
    label = a.clique_label[c]
    forbidden = mark(s, q)
    for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
        i = a.clique_nodes[m]
        if s.labels[i] == label:
            row(a, s, q, i)
            other = cheapest_other(q, i, label)
            if other != label:
                change(a, s, q, i, other)
    return settle(a, s, q, forbidden)


@leaf
def trade(a: Arrays, s: State, q: Search, c: int) -> bool:
    """One member gives the label up, the cheapest other one takes it."""
    label = a.clique_label[c]
    giver, taker = -1, -1
    least_given, least_taken = np.inf, np.inf
    for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
        i = a.clique_nodes[m]
        if s.labels[i] == label:
            row(a, s, q, i)
            given = q.costs[i, cheapest_other(q, i, label)] - q.costs[i, label]
            if given < least_given and cheapest_other(q, i, label) != label:
                giver, least_given = i, given
        else:
            taken = price(a, s, q, i, label)
            if taken < least_taken:
                taker, least_taken = i, taken
    # The giver's cost holds the penalty of the broken quota, which the trade does not break.
    if giver < 0 or taker < 0 or least_given + least_taken - a.clique_weight[c] >= -q.margin[0]:
        return False
    forbidden = mark(s, q)
    change_two(a, s, q, giver, cheapest_other(q, giver, label), taker, label)
    return settle(a, s, q, forbidden) > 0


@leaf
def settle(a: Arrays, s: State, q: Search, forbidden: int) -> int:
    """Descend, and keep the move if the energy fell."""
    descend(a, s, q, VISITS)
    if q.n_changed[0] and gained(s, q, forbidden):
        keep(a, s, q)
        return 1
    undo(a, s, q)
    return 0
