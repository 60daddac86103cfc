"""Depth-first search over connected sets of nodes and their labels, for the lazy flipper.

Sets of `size` nodes that hold a root grow one neighbour at a time, each set in one order only (the
extension rule of Wernicke's ESU). A node joins with another label than it has; the last one needs
no trial, its row of costs tells its best label. With every smaller set already at its best,
relabeling a node costs something, and the nodes still to come can win back no more than what ties
them to the set: a trial that has lost more than that is cut off.

The stack lives in arrays, so that the search can stop after any number of steps and go on later.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.changes import relabel
from policrf.crf.energy import label_costs
from policrf.crf.potentials import AGREE, SUPPORT
from policrf.crf.state import State
from policrf.solvers.moves.local_search import LocalSearch, adopt, flush, is_gain
from policrf.types import BoolArray, FloatArray, IntArray

WIDE_CLIQUE = 8  # larger cliques join a member to the next WIDE_CLIQUE / 2 only, either way


class Subsets(NamedTuple):
    """Where the search stands; level d of the stack is the (d + 1)-th node of the set."""

    depth: IntArray  # [1]; −1 when there is nothing to go on with
    root: IntArray  # [1]
    node: IntArray  # [size]
    own: IntArray  # [size]; its label outside the trial
    label: IntArray  # [size]; its label in the trial, −1 before the first
    before: FloatArray  # [size]; change in energy before it joined
    rows: FloatArray  # [size, L]; its costs then
    next_child: IntArray  # [size]
    n_children: IntArray  # [size]
    children: IntArray  # [size, W]; nodes that may join after it
    seen: IntArray  # [N]; level + 1 at which a node became a child, 0 if none
    barred: BoolArray  # [N]; roots of this sweep that are done
    reach: FloatArray  # [N]; what nodes near a root can win back, each
    forbidden: IntArray  # [1]; infinite terms outside the trial
    graph_ptr: IntArray  # [N + 1]; the neighbours of node i are entries graph_ptr[i] … of
    graph: IntArray
    scratch: FloatArray  # [N]


def new_subsets(a: Arrays, size: int) -> Subsets:
    """An empty stack for sets of up to `size` nodes."""
    n_nodes, n_labels = a.unary.shape
    graph_ptr, graph = subset_graph(a)
    width = size * int(np.diff(graph_ptr).max(initial=0)) + 1
    return Subsets(
        depth=np.full(1, -1, np.int64),
        root=np.zeros(1, np.int64),
        node=np.zeros(size, np.int64),
        own=np.zeros(size, np.int64),
        label=np.zeros(size, np.int64),
        before=np.zeros(size),
        rows=np.zeros((size, n_labels)),
        next_child=np.zeros(size, np.int64),
        n_children=np.zeros(size, np.int64),
        children=np.zeros((size, width), np.int64),
        seen=np.zeros(n_nodes, np.int64),
        barred=np.zeros(n_nodes, np.bool_),
        reach=np.zeros(n_nodes),
        forbidden=np.zeros(1, np.int64),
        graph_ptr=graph_ptr,
        graph=graph,
        scratch=np.zeros(n_nodes),
    )


def subset_graph(a: Arrays) -> tuple[IntArray, IntArray]:
    """Neighbours over edges and cliques: pointers `[N + 1]`, nodes. Wide cliques are thinned."""
    pairs, sizes = [a.edges], np.diff(a.clique_ptr)
    for size in set(sizes.tolist()):
        first = a.clique_ptr[:-1][sizes == size]
        members = a.clique_nodes[first[:, None] + np.arange(size)]
        for step in range(1, min(size, WIDE_CLIQUE) // 2 + 1):
            both = np.stack([members, np.roll(members, -step, axis=1)], axis=2)
            pairs.append(both.reshape(-1, 2))
    n_nodes, (first, second) = len(a.unary), np.concatenate(pairs).T
    both = np.sort(np.append(first * n_nodes + second, second * n_nodes + first))
    both = both[np.append(True, both[1:] != both[:-1])[: len(both)]]
    ptr = np.zeros(n_nodes + 1, np.int64)
    np.cumsum(np.bincount(both // n_nodes, minlength=n_nodes), out=ptr[1:])
    return ptr, both % n_nodes


def most_neighbours(a: Arrays) -> int:
    """How many pairs `subset_graph` looks at."""
    sizes = np.diff(a.clique_ptr)
    return len(a.edges) + int((sizes * np.minimum(sizes, WIDE_CLIQUE) // 2).sum())


@leaf
def update_reach(a: Arrays, s: State, t: Subsets, size: int) -> None:
    """Bound what a node can gain from `size` − 1 others having changed, then spread the largest."""
    n_nodes, own, reach = len(a.unary), t.scratch, t.reach
    for i in range(n_nodes):
        strongest, own[i] = 0.0, 0.0
        for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
            strongest = max(strongest, abs(a.adj_weight[k]))
        own[i] = 2.0 * (size - 1) * strongest
        for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
            c = a.node_clique[k]
            if a.clique_kind[c] == AGREE:
                own[i] += 2.0 * a.clique_weight[c]
            elif a.clique_kind[c] == SUPPORT:
                if abs(s.matches[c] - a.clique_count[c]) <= 2 * size:
                    own[i] += a.clique_weight[c]
            else:
                own[i] = np.inf
    for _ in range(size - 1):
        for i in range(n_nodes):
            reach[i] = own[i]
            for k in range(t.graph_ptr[i], t.graph_ptr[i + 1]):
                reach[i] = max(reach[i], own[t.graph[k]])
        for i in range(n_nodes):
            own[i] = reach[i]


@inner
def enter(a: Arrays, s: State, t: Subsets, i: int) -> None:
    """Push node i: its children are those left to its parent, and its own new neighbours."""
    d = t.depth[0] + 1
    t.depth[0] = d
    t.node[d], t.own[d], t.label[d] = i, s.labels[i], -1
    t.before[d] = s.total[0]
    label_costs(a, s, i, t.rows[d])
    count = 0
    if d > 0:
        for k in range(t.next_child[d - 1], t.n_children[d - 1]):
            t.children[d, count] = t.children[d - 1, k]
            count += 1
    else:
        t.root[0] = i
        t.seen[i] = 1
    for k in range(t.graph_ptr[i], t.graph_ptr[i + 1]):
        j = t.graph[k]
        if t.seen[j] == 0 and not t.barred[j]:
            t.seen[j] = d + 1
            t.children[d, count] = j
            count += 1
    t.n_children[d] = count
    t.next_child[d] = count


@inner
def leave(t: Subsets) -> None:
    """Pop the top of the stack, its node having its own label again."""
    d = t.depth[0]
    for k in range(t.n_children[d]):
        if t.seen[t.children[d, k]] == d + 1:
            t.seen[t.children[d, k]] = 0
    if d == 0:
        t.seen[t.node[0]] = 0
    t.depth[0] = d - 1


@inner
def next_label(a: Arrays, s: State, t: Subsets, size: int, margin: float) -> bool:
    """Give the top node its next label worth trying; False (and its own label) if there is none."""
    d = t.depth[0]
    i, own = t.node[d], t.own[d]
    hope = t.reach[t.root[0]] * (size - 1 - d) - margin
    for label in range(t.label[d] + 1, a.cardinalities[i]):
        if label == own or a.unary[i, label] == np.inf:
            continue
        # Where tables may forbid, or something is forbidden now, nothing can be cut off.
        lost = t.before[d] + t.rows[d, label] - t.rows[d, own]
        if hope < np.inf and t.forbidden[0] == 0 and lost >= hope:
            continue
        t.label[d] = label
        relabel(a, s, i, label)
        t.next_child[d] = 0
        return True
    if s.labels[i] != own:
        relabel(a, s, i, own)
    return False


@inner
def explore(
    a: Arrays, s: State, t: Subsets, size: int, margin: float, costs: FloatArray, steps: int
) -> int:
    """Go on for up to `steps`, or until a set lowers the energy; returns the steps left.

    That set is on the stack, its last node on level `size` − 1, where the label is −1 otherwise.
    """
    t.label[size - 1] = -1
    while steps > 0 and t.depth[0] >= 0:
        steps -= 1
        d = t.depth[0]
        if t.label[d] < 0 or t.next_child[d] == t.n_children[d]:
            if not next_label(a, s, t, size, margin):
                leave(t)
            continue
        i = t.children[d, t.next_child[d]]
        t.next_child[d] += 1
        if d < size - 2:
            enter(a, s, t, i)
            continue
        label_costs(a, s, i, costs)
        own, best, least = s.labels[i], -1, np.inf
        for label in range(a.cardinalities[i]):
            if label != own and costs[label] < least:
                best, least = label, costs[label]
        if best >= 0 and (costs[own] == np.inf or s.total[0] + least - costs[own] < -margin):
            relabel(a, s, i, best)
            better = is_gain(s.forbidden[0], s.total[0], t.forbidden[0], margin)
            relabel(a, s, i, own)
            if better:
                t.node[d + 1], t.label[d + 1] = i, best
                return steps
    return steps


@leaf
def abandon(a: Arrays, s: State, t: Subsets) -> None:
    """Take the trial's labels back and empty the stack."""
    while t.depth[0] >= 0:
        d = t.depth[0]
        if s.labels[t.node[d]] != t.own[d]:
            relabel(a, s, t.node[d], t.own[d])
        leave(t)


@inner
def accept(a: Arrays, s: State, q: LocalSearch, t: Subsets, size: int) -> None:
    """Make the move that `explore` found."""
    abandon(a, s, t)
    for d in range(size):
        old = s.labels[t.node[d]]
        relabel(a, s, t.node[d], t.label[d])
        adopt(a, s, q, t.node[d], old)
    flush(a, s, q)
