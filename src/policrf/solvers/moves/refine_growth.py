"""Growth moves: a label spreads from a node's neighbour over a patch of nodes of any labels.

A patch of several labels inside a region of another resists single, pair and region moves: each of
its nodes has a neighbour that agrees with it, or nothing to lose. Here one of its nodes takes the
region's label although that costs something, then the neighbour for which it is cheapest by now,
and so on (the variable-depth search of Kernighan & Lin 1970), until the energy is below the start
or too far above.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, kernel
from policrf.crf.arrays import Arrays
from policrf.crf.energy import State, label_costs, relabel
from policrf.solvers.moves.local_search import LocalSearch, adopt, flush, is_gain, row
from policrf.types import FloatArray, IntArray

DEPTH = 16  # nodes a label spreads over at most before it must have gained


@kernel
def growth_moves(a: Arrays, s: State, q: LocalSearch, start: int, stop: int) -> int:
    """Try the labels next to the touched nodes start … stop − 1; returns the moves made."""
    patch, old = np.empty(DEPTH, np.int64), np.empty(DEPTH, np.int64)
    frontier, prices = np.empty(len(a.unary), np.int64), np.empty(len(a.unary))
    costs = np.empty(a.unary.shape[1])
    moves = 0
    for i in range(start, stop):
        if not q.touched[i]:
            continue
        limit = 0.0
        for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
            limit += abs(a.adj_weight[k])
        for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
            label = s.labels[a.adj_node[k]]
            if label == s.labels[i] or seen_before(a, s, i, k, label):
                continue
            row(a, s, q, i)
            if q.costs[i, label] - q.costs[i, s.labels[i]] < limit:
                size = spread(a, s, q, i, label, limit, patch, old, frontier, prices, costs)
                for at in range(size):
                    adopt(a, s, q, patch[at], old[at])
                flush(a, s, q)
                moves += size > 0
    return moves


@inner
def seen_before(a: Arrays, s: State, i: int, k: int, label: int) -> bool:
    """Whether an earlier neighbour of node i than that at entry k has the label."""
    for earlier in range(a.adj_ptr[i], k):  # noqa: SIM110
        if s.labels[a.adj_node[earlier]] == label:
            return True
    return False


@inner
def spread(
    a: Arrays, s: State, q: LocalSearch, i: int, label: int, limit: float, patch: IntArray,
    old: IntArray, frontier: IntArray, prices: FloatArray, costs: FloatArray,
) -> int:  # fmt: skip
    """Let the label spread; the size of the patch (in `patch`, with `old` labels) if that gains.

    Otherwise the state is as it was, and 0 is returned. The other arrays are scratch space.
    """
    s.total[0] = 0.0
    forbidden = s.forbidden[0]
    size, waiting, found = 0, 0, False
    while True:
        patch[size], old[size] = i, s.labels[i]
        relabel(a, s, i, label)
        size += 1
        found = is_gain(s.forbidden[0], s.total[0], forbidden, q.margin[0])
        if found or size == len(patch) or not s.total[0] < limit:
            break
        for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
            j = a.adj_node[k]
            if s.labels[j] != label:
                if not q.inside[j]:
                    q.inside[j] = True
                    frontier[waiting] = j
                    waiting += 1
                label_costs(a, s, j, costs)
                prices[j] = costs[label] - costs[s.labels[j]] if costs[label] < np.inf else np.inf
        best = -1
        for at in range(waiting):
            if best < 0 or prices[frontier[at]] < prices[frontier[best]]:
                best = at
        if best < 0 or not s.total[0] + prices[frontier[best]] < limit:
            break
        i = frontier[best]
        q.inside[i] = False
        waiting -= 1
        frontier[best] = frontier[waiting]
    for at in range(waiting):
        q.inside[frontier[at]] = False
    if found:
        return size
    for at in range(size - 1, -1, -1):
        relabel(a, s, patch[at], old[at])
    return 0
