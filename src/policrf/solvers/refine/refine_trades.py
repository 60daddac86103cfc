"""Trades: at a quota just met, members take its label for others that give it up.

Single relabels would break the quota, or cost more than they gain while it has one member too many.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, inner_kernel
from policrf.crf.arrays import Arrays
from policrf.crf.changes import relabel
from policrf.crf.state import State
from policrf.solvers.moves.cheapest import cheapest_other, rank
from policrf.solvers.moves.local_search import LocalSearch, adopt, flush, price, row
from policrf.types import FloatArray, IntArray

DEPTH = 64  # trades in a chain
PARTNERS = 4  # givers and takers to choose a trade from
PATIENCE = 16  # trades in a row that gain nothing


@inner_kernel
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
            other = cheapest_other(q.costs[i], label)
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
            other = cheapest_other(q.costs[i], label)
            for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
                if a.adj_node[k] == j:
                    both += a.adj_weight[k] * (2 if s.labels[j] == other else 1)
            if both < least:
                least, pair[0], pair[1], new[0], new[1] = both, i, j, other, label
