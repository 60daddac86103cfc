"""Box moves: many members of a counting clique take its label at once, or give it up, or trade it.

A quota (HOP2) of which no single relabel changes the verdict is out of reach of single and pair
moves. `box_move` lets the cheapest members take the label one after the other, each choice changing
what the next costs, until the quota is met (or all have it, for HOP1); or it lets every holder take
its best other label. The caller descends, and takes the move back unless the energy fell.
`trade_moves` lets members take the label for others that give it up, at a quota just met.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, kernel, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.energy import State, counting_energy, relabel
from policrf.crf.potentials import AGREE, SUPPORT
from policrf.solvers.moves.indexed_heap import Heap, change_key, order_heap, pop_first
from policrf.solvers.moves.local_search import (
    LENGTH,
    LocalSearch,
    adopt,
    descend,
    end_move,
    flush,
    keep,
    row,
    step_energy,
)
from policrf.types import FloatArray, IntArray

BEGIN, SETTLE, TRADE, END = range(4)  # what `box_moves` does next with a clique
CLIQUE, STAGE, FORBIDDEN, MADE = range(4)  # entries of its cursor
CHAINS = 4  # chains of trades at a time
DEPTH = 64  # trades in a chain
PARTNERS = 4  # givers and takers to choose a trade from
PATIENCE = 16  # trades in a row that gain nothing


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
            other = cheapest_other(q, i, label)
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
def price(s: State, q: LocalSearch, i: int, label: int) -> float:
    """What it costs node i, whose row is fresh, to take the label; +inf where it may not."""
    asked, own = q.costs[i, label], q.costs[i, s.labels[i]]
    if own < np.inf:
        return float(asked - own)
    return 0.0 if asked < np.inf else np.inf


@inner
def cheapest_other(q: LocalSearch, i: int, own: int) -> int:
    """The cheapest label of node i, whose row is fresh, but `own`; `own` if it has no other."""
    best, least = own, np.inf
    for label in range(q.costs.shape[1]):
        if label != own and q.costs[i, label] < least:
            best, least = label, q.costs[i, label]
    return best


@inner
def estimate(a: Arrays, s: State, q: LocalSearch, c: int, grows: bool) -> float:
    """A hopeful guess of what all members taking the label, or all holders giving it up, changes.

    Members that leave are taken to agree among themselves, and one for which the label is dear is
    taken to stay out at the price of one disagreement. At 0 or more the move is not worth trying.
    Members' rows are fresh.
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
        value = q.costs[i, cheapest_other(q, i, label)] - q.costs[i, label]
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


@kernel
def trade_moves(a: Arrays, s: State, q: LocalSearch, c: int, limit: int) -> int:
    """Trades at a quota just met, in chains: the best trade next, even if it gains nothing yet.

    A chain moves each node once and is cut back to its best length (Kernighan & Lin 1970). Returns
    how many chains gained; stops at the first that does not, or after `limit`.
    """
    chain = np.empty((DEPTH, 2), np.int64)  # giver and taker of every trade
    old = np.empty((DEPTH, 2), np.int64)
    new = np.empty(2, np.int64)
    ranked = np.empty((2, PARTNERS), np.int64)
    prices = np.empty((2, PARTNERS))
    label = a.clique_label[c]
    for moves in range(limit):
        if s.matches[c] != a.clique_count[c]:
            return moves
        forbidden, least, length, best = s.forbidden[0], s.total[0] - q.margin[0], 0, 0
        while length < DEPTH and length - best < PATIENCE:
            find_trade(a, s, q, c, chain[length], new, ranked, prices)
            if chain[length, 0] < 0 or chain[length, 1] < 0:
                break
            for side in range(2):
                i = chain[length, side]
                old[length, side] = s.labels[i]
                relabel(a, s, i, new[side])
                outdate(a, q, i)
                q.inside[i] = True
            length += 1
            if s.forbidden[0] <= forbidden and s.total[0] < least:
                least, best = s.total[0], length
        for trade in range(length - 1, -1, -1):
            for side in range(2):
                i = chain[trade, side]
                q.inside[i] = False
                if trade >= best:
                    relabel(a, s, i, old[trade, side])
                    outdate(a, q, i)
        for trade in range(best):
            adopt(a, s, q, chain[trade, 0], label)
            adopt(a, s, q, chain[trade, 1], old[trade, 1])
        flush(a, s, q)
        if best == 0:
            return moves
    return limit


@inner
def outdate(a: Arrays, q: LocalSearch, i: int) -> None:
    """Node i was relabeled in a trial: its neighbours' rows are out of date, and its own."""
    q.stale[i] = True
    for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        q.stale[a.adj_node[k]] = True


@inner
def find_trade(
    a: Arrays, s: State, q: LocalSearch, c: int, pair: IntArray, new: IntArray, ranked: IntArray,
    prices: FloatArray,
) -> None:  # fmt: skip
    """The cheapest giver and taker of the clique's label (−1: none) and what they take instead.

    Of the cheapest few on either side: each alone, neighbours would both count on the edge they
    share. `ranked` and `prices` [2, PARTNERS] are scratch space.
    """
    label = a.clique_label[c]
    pair[0] = pair[1] = -1
    prices[:] = np.inf
    for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
        i = a.clique_nodes[m]
        if q.inside[i]:
            continue
        row(a, s, q, i)
        if s.labels[i] == label:
            other = cheapest_other(q, i, label)
            if other != label:
                rank(ranked[0], prices[0], i, q.costs[i, other] - q.costs[i, label])
        else:
            rank(ranked[1], prices[1], i, price(s, q, i, label))
    least = np.inf
    for first in range(PARTNERS):
        for second in range(PARTNERS):
            both = prices[0, first] + prices[1, second]
            if not both < least:
                break
            i, j = ranked[0, first], ranked[1, second]
            other = cheapest_other(q, i, label)
            for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
                if a.adj_node[k] == j:
                    both += a.adj_weight[k] * (2 if s.labels[j] == other else 1)
            if both < least:
                least, pair[0], pair[1], new[0], new[1] = both, i, j, other, label


@inner
def rank(ranked: IntArray, prices: FloatArray, i: int, value: float) -> None:
    """Put node i where it belongs among the lowest prices so far; +inf is an empty place."""
    if not value < prices[-1]:
        return
    at = len(prices) - 1
    while at > 0 and value < prices[at - 1]:
        ranked[at], prices[at] = ranked[at - 1], prices[at - 1]
        at -= 1
    ranked[at], prices[at] = i, value
