"""Box moves: many members of a counting clique take its label at once, or give it up.

A quota (HOP2) that several members would have to change for is out of reach of single and pair
moves. `box_move` lets the cheapest members take the label one after the other, each choice changing
what the next costs, until the quota is met (or all have it, for HOP1); or it lets every holder take
its best other label. The caller descends, and takes the move back unless the energy fell.
At a quota just met, members then trade the label (`refine_trades`).
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, kernel, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.changes import relabel
from policrf.crf.energy import counting_energy
from policrf.crf.potentials import AGREE, SUPPORT
from policrf.crf.state import State
from policrf.solvers.moves.cheapest import cheapest_other
from policrf.solvers.moves.indexed_heap import Heap, change_key, order_heap, pop_first
from policrf.solvers.moves.local_search import (
    LENGTH,
    LocalSearch,
    adopt,
    descend,
    end_move,
    keep,
    price,
    row,
    step_energy,
)
from policrf.solvers.refine.refine_trades import trade_moves
from policrf.types import IntArray

BEGIN, SETTLE, TRADE, END = range(4)  # what `box_moves` does next with a clique
CLIQUE, STAGE, FORBIDDEN, MADE = range(4)  # entries of its cursor
CHAINS = 4  # chains of trades at a time


@kernel
def box_moves(a: Arrays, s: State, q: LocalSearch, h: Heap, cursor: IntArray, limit: int) -> None:
    """The moves of the open counting cliques from cursor[CLIQUE] on, about `limit` visits' worth.

    Each is settled by single relabels, and taken back unless the energy fell: while cursor[STAGE]
    is SETTLE, it is neither. cursor[MADE] counts those that gained.
    """
    while cursor[CLIQUE] < len(a.clique_kind) and limit > 0:
        c = cursor[CLIQUE]
        if cursor[STAGE] == BEGIN:
            if not (q.open_clique[c] and a.clique_label[c] >= 0):
                cursor[CLIQUE] += 1
                continue
            q.open_clique[c] = False
            limit -= a.clique_ptr[c + 1] - a.clique_ptr[c]
            cursor[FORBIDDEN] = s.forbidden[0]
            s.total[0] = 0.0
            box_move(a, s, q, h, c)
            cursor[STAGE] = SETTLE
        elif cursor[STAGE] == TRADE:
            made = trade_moves(a, s, q, c, CHAINS) if a.clique_kind[c] == SUPPORT else 0
            limit -= a.clique_ptr[c + 1] - a.clique_ptr[c]
            cursor[MADE] += made
            if made < CHAINS:
                cursor[STAGE] = END
        else:
            limit = descend(a, s, q, limit)
            if q.cursor[LENGTH] > 0:
                continue
            if cursor[STAGE] == SETTLE:
                cursor[MADE] += end_move(a, s, q, cursor[FORBIDDEN])
                cursor[STAGE] = TRADE
            else:
                keep(a, s, q)
                cursor[STAGE] = BEGIN
                cursor[CLIQUE] += 1


@leaf
def box_move(a: Arrays, s: State, q: LocalSearch, h: Heap, c: int) -> bool:
    """Make the move of counting clique c if it promises something; `h` is an empty heap."""
    label, size = a.clique_label[c], a.clique_ptr[c + 1] - a.clique_ptr[c]
    first, last = a.clique_ptr[c], a.clique_ptr[c + 1]
    for m in range(first, last):
        row(a, s, q, a.clique_nodes[m])
    if a.clique_kind[c] == AGREE:
        grows, wanted = 2 * s.matches[c] < size, size
    else:
        grows, wanted = s.matches[c] < a.clique_count[c], a.clique_count[c]
    if not (grows and a.clique_kind[c] == SUPPORT) and estimate(a, s, q, c, grows) >= 0:
        return False
    if not grows:
        for m in range(first, last):
            i = a.clique_nodes[m]
            row(a, s, q, i)
            other = cheapest_other(q.costs[i], label)
            if s.labels[i] == label and other != label:
                relabel(a, s, i, other)
                adopt(a, s, q, i, label)
        return True
    take_label(a, s, q, h, c, wanted)
    for m in range(first, last):
        i = a.clique_nodes[m]
        for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
            other = a.node_clique[k]
            quota = a.clique_count[other]
            # A quota that this has just broken looks for other members.
            if (
                a.clique_kind[other] == SUPPORT
                and s.matches[other] < quota <= s.matches[other] - q.shift[other]
            ):
                take_label(a, s, q, h, other, quota)
    return bool(a.clique_kind[c] == AGREE or s.matches[c] >= wanted)


@inner
def take_label(a: Arrays, s: State, q: LocalSearch, h: Heap, c: int, wanted: int) -> int:
    """Let members take the label of clique c, the cheapest next, until `wanted` have it.

    Returns how many did; they and their old labels are in `q.noted`. None does where the count of a
    quota is out of reach. `h` is an empty heap.
    """
    label, count = a.clique_label[c], 0
    for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
        i = a.clique_nodes[m]
        if s.labels[i] != label and a.unary[i, label] < np.inf:
            row(a, s, q, i)
            h.keys[i] = -price(s, q, i, label)
            h.items[h.size[0]] = i
            h.place[i] = h.size[0]
            h.size[0] += 1
    possible = a.clique_kind[c] == AGREE or s.matches[c] + h.size[0] >= wanted
    order_heap(h)
    while possible and s.matches[c] < wanted and h.size[0] > 0:
        i = int(h.items[0])
        q.stale[i] = True  # members of other quotas that those before it have left just met
        row(a, s, q, i)
        now = -price(s, q, i, label)
        if now < h.keys[i]:
            change_key(h, i, now)
            continue
        pop_first(h)
        old = s.labels[i]
        relabel(a, s, i, label)
        adopt(a, s, q, i, old)
        q.noted[0, count], q.noted[1, count] = i, old
        count += 1
        for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
            j = a.adj_node[k]
            if h.place[j] >= 0:
                row(a, s, q, j)
                change_key(h, j, -price(s, q, j, label))
    for at in range(h.size[0]):
        h.place[h.items[at]] = -1
    h.size[0] = 0
    return count


@inner
def estimate(a: Arrays, s: State, q: LocalSearch, c: int, grows: bool) -> float:
    """An optimistic guess of the change if all members take the label, or all holders give it up.

    Members that leave are taken to agree among themselves, and one for which the label costs much
    is taken to stay out at the price of one disagreement. At 0 or more the move is not worth
    trying. Members' rows are fresh.
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
            moved = q.shift[other]
            if moved:
                q.shift[other] = 0
                after = s.matches[other] + (moved if grows else -moved)
                total += counting_energy(a, other, after)
                total -= counting_energy(a, other, s.matches[other])
    return total


@inner
def alone(a: Arrays, s: State, q: LocalSearch, i: int, label: int, grows: bool) -> float:
    """The part of node i in `estimate`, counting cliques of the label left out but counted."""
    if grows:
        value = price(s, q, i, label)
    else:
        value = q.costs[i, cheapest_other(q.costs[i], label)] - q.costs[i, label]
    if not value < np.inf:
        return 0.0
    for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        j = a.adj_node[k]
        if q.inside[j]:
            value -= a.adj_weight[k]
            if s.labels[j] != s.labels[i]:
                value += 0.5 * a.adj_weight[k]
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        if a.clique_label[c] == label:
            q.shift[c] += 1
            if grows:
                value -= step_energy(a, c, s.matches[c])
            else:
                value += step_energy(a, c, s.matches[c] - 1)
    return float(value)
