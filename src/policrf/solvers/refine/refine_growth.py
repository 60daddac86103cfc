"""Growth moves: a label spreads from a node's neighbour over a patch of nodes of any labels.

A patch of several labels inside a region of another resists single, pair and region moves: each of
its nodes has a neighbour that agrees with it, or nothing to lose. Here one of its nodes takes the
region's label although that costs something, then the neighbour for which it is cheapest by now,
and so on (the variable-depth search of Kernighan & Lin 1970), until the energy is below the start
or too far above.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.changes import relabel
from policrf.crf.energy import label_costs
from policrf.crf.state import State
from policrf.solvers.moves.local_search import LocalSearch, adopt, flush, is_gain, row
from policrf.types import FloatArray, IntArray

DEPTH = 16  # the most nodes that a label spreads over before it must have gained


class Patch(NamedTuple):
    """The nodes that a label has spread over, and those that it may spread to next. Mutable."""

    nodes: IntArray  # [DEPTH]
    old: IntArray  # [DEPTH]; the label of each before
    frontier: IntArray  # [N]; scratch space: nodes next to the patch
    prices: FloatArray  # [N]; what the label costs a node of the frontier
    costs: FloatArray  # [L]; scratch space


def new_patch(a: Arrays) -> Patch:
    """An empty patch."""
    n_nodes, n_labels = a.unary.shape
    return Patch(
        nodes=np.empty(DEPTH, np.int64),
        old=np.empty(DEPTH, np.int64),
        frontier=np.empty(n_nodes, np.int64),
        prices=np.empty(n_nodes),
        costs=np.empty(n_labels),
    )


@leaf
def growth_moves(a: Arrays, s: State, q: LocalSearch, p: Patch, start: int, stop: int) -> int:
    """Try the labels next to the touched nodes start … stop − 1; returns the moves made."""
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
                size = spread(a, s, q, p, i, label, limit)
                for at in range(size):
                    adopt(a, s, q, p.nodes[at], p.old[at])
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
def spread(a: Arrays, s: State, q: LocalSearch, p: Patch, i: int, label: int, limit: float) -> int:
    """Let the label spread from node i; the size of the patch if that gains.

    Otherwise the state does not change, and 0 is returned.
    """
    frontier, prices, costs = p.frontier, p.prices, p.costs
    s.total[0] = 0.0
    forbidden = s.forbidden[0]
    size, waiting, found = 0, 0, False
    while True:
        p.nodes[size], p.old[size] = i, s.labels[i]
        relabel(a, s, i, label)
        size += 1
        found = is_gain(s.forbidden[0], s.total[0], forbidden, q.margin[0])
        if found or size == len(p.nodes) or not s.total[0] < limit:
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
        relabel(a, s, p.nodes[at], p.old[at])
    return 0
