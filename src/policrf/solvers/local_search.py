"""What local searches share: a queue of nodes to look at again, and moves that can be taken back.

A compound move is: `mark`, any number of `change`s and a `descend`, then `keep` or `undo`. The
state's running total is set to 0 by `mark`, so that after the changes it is the move's own change
in energy, rounded at the scale of the terms that it touched and not at that of the whole energy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import kernel, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.checks import BoolArray, FloatArray, IntArray, frozen
from policrf.crf.energy import State, label_costs, relabel
from policrf.crf.potentials import AGREE, SUPPORT

RELATIVE = 1e-12  # a move must gain this part of the largest coefficient


class Search(NamedTuple):
    """Mutable; N nodes."""

    queue: IntArray  # [N]; ring buffer of nodes whose surroundings changed
    queued: BoolArray  # [N]
    cursor: IntArray  # [2]; first entry and length of the ring
    stale: BoolArray  # [N]; `costs` of the node is out of date
    touched: BoolArray  # [N]; changed since pairs were last looked at
    costs: FloatArray  # [N, L]; the cost of every label of a node, the others as they are
    before: IntArray  # [N]; label before the current move, −1 where it is the same
    changed: IntArray  # [N]; the nodes that the current move changed
    n_changed: IntArray  # [1]
    margin: FloatArray  # [1]; gains below it are rounding
    open_clique: BoolArray  # [C]; something near the clique changed since it was last tried
    inside: BoolArray  # [N]; all False between moves: the nodes a move is about
    tally: IntArray  # [C]; all 0 between moves


def new_search(a: Arrays) -> Search:
    """Every node queued and stale."""
    n_nodes = len(a.unary)
    return Search(
        np.arange(n_nodes, dtype=np.int64),
        np.ones(n_nodes, np.bool_),
        np.array([0, n_nodes], np.int64),
        np.ones(n_nodes, np.bool_),
        np.ones(n_nodes, np.bool_),
        np.empty(a.unary.shape),
        np.full(n_nodes, -1, np.int64),
        np.empty(n_nodes, np.int64),
        np.zeros(1, np.int64),
        np.array([RELATIVE * largest(a)]),
        np.ones(len(a.clique_kind), np.bool_),
        np.zeros(n_nodes, np.bool_),
        np.zeros(len(a.clique_kind), np.int64),
    )


def centred(a: Arrays) -> Arrays:
    """The same CRF up to a constant, each lowest unary at 0: differences keep their digits."""
    unary: FloatArray = a.unary - a.unary.min(axis=1, keepdims=True)
    return a._replace(unary=frozen(unary))


@leaf
def largest(a: Arrays) -> float:
    """The largest finite coefficient of the energy."""
    most = 0.0
    for i in range(len(a.unary)):
        for label in range(a.unary.shape[1]):
            if a.unary[i, label] < np.inf:
                most = max(most, abs(a.unary[i, label]))
    for weight in a.edge_weights:
        most = max(most, abs(weight))
    for weight in a.clique_weight:
        most = max(most, abs(weight))
    for value in a.data:
        if value < np.inf:
            most = max(most, abs(value))
    return most


@leaf
def push(q: Search, i: int) -> None:
    """Queue node i and mark what is known of it as out of date."""
    q.stale[i] = True
    q.touched[i] = True
    if not q.queued[i]:
        q.queued[i] = True
        q.queue[(q.cursor[0] + q.cursor[1]) % len(q.queue)] = i
        q.cursor[1] += 1


@leaf
def pop(q: Search) -> int:
    """The next node of the queue."""
    i = int(q.queue[q.cursor[0]])
    q.cursor[0] = (q.cursor[0] + 1) % len(q.queue)
    q.cursor[1] -= 1
    q.queued[i] = False
    return i


@leaf
def step_energy(a: Arrays, c: int, matches: int) -> float:
    """What one more match costs a counting clique; equal steps are equal to the last bit."""
    if a.clique_kind[c] == AGREE:
        size = a.clique_ptr[c + 1] - a.clique_ptr[c]
        rise = min(matches + 1, size - matches - 1) - min(matches, size - matches)
    else:
        rise = -1 if matches + 1 == a.clique_count[c] else 0
    return float(a.clique_weight[c] * rise)


@leaf
def remember(s: State, q: Search, i: int) -> None:
    """Note the label of node i before the current move."""
    if q.before[i] < 0:
        q.before[i] = s.labels[i]
        q.changed[q.n_changed[0]] = i
        q.n_changed[0] += 1


@leaf
def change(a: Arrays, s: State, q: Search, i: int, label: int) -> None:
    """Relabel node i as part of the current move, and queue the nodes that it matters to."""
    old = s.labels[i]
    remember(s, q, i)
    relabel(a, s, i, label)
    push_edges(a, q, i)
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        wanted = a.clique_label[c]
        push_clique(a, s, q, c, s.matches[c] - (label == wanted) + (old == wanted))


@leaf
def change_two(
    a: Arrays, s: State, q: Search, i: int, label: int, j: int, other_label: int
) -> None:
    """Relabel two nodes at once: cliques that hold both are looked at after both have changed."""
    old, other_old = s.labels[i], s.labels[j]
    remember(s, q, i)
    remember(s, q, j)
    relabel(a, s, i, label)
    relabel(a, s, j, other_label)
    push_edges(a, q, i)
    push_edges(a, q, j)
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        wanted = a.clique_label[c]
        was = s.matches[c] - (label == wanted) + (old == wanted)
        if is_member(a, j, c):
            was += (other_old == wanted) - (other_label == wanted)
        push_clique(a, s, q, c, was)
    for k in range(a.node_ptr[j], a.node_ptr[j + 1]):
        c = a.node_clique[k]
        if not is_member(a, i, c):
            wanted = a.clique_label[c]
            was = s.matches[c] - (other_label == wanted) + (other_old == wanted)
            push_clique(a, s, q, c, was)


@leaf
def is_member(a: Arrays, i: int, c: int) -> bool:
    """Whether clique c holds node i: O(cliques of i)."""
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):  # noqa: SIM110
        if a.node_clique[k] == c:
            return True
    return False


@leaf
def push_edges(a: Arrays, q: Search, i: int) -> None:
    """Queue node i and its neighbours."""
    push(q, i)
    for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        push(q, a.adj_node[k])


@leaf
def push_clique(a: Arrays, s: State, q: Search, c: int, was: int) -> None:
    """Queue the members, unless the clique counts and its steps are those of `was` matches."""
    if a.clique_kind[c] == AGREE or a.clique_kind[c] == SUPPORT:
        now = s.matches[c]
        # Members without the label see the step after the count, members with it the step before.
        if was == now or (
            step_energy(a, c, was) == step_energy(a, c, now)
            and step_energy(a, c, was - 1) == step_energy(a, c, now - 1)
        ):
            return
    for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
        push(q, a.clique_nodes[m])


@leaf
def row(a: Arrays, s: State, q: Search, i: int) -> None:
    """Bring `costs[i]` up to date."""
    if q.stale[i]:
        label_costs(a, s, i, q.costs[i])
        q.stale[i] = False


@leaf
def mark(s: State, q: Search) -> int:
    """Begin a move; returns the number of infinite terms before it."""
    for k in range(q.n_changed[0]):
        q.before[q.changed[k]] = -1
    q.n_changed[0] = 0
    s.total[0] = 0.0
    return int(s.forbidden[0])


@leaf
def keep(a: Arrays, s: State, q: Search) -> None:
    """End a move for good: the cliques at and next to its nodes are worth another try."""
    for n in range(q.n_changed[0]):
        i = q.changed[n]
        if s.labels[i] == q.before[i]:
            continue
        open_cliques(a, q, i)
        for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
            open_cliques(a, q, a.adj_node[k])
    mark(s, q)


@leaf
def open_cliques(a: Arrays, q: Search, i: int) -> None:
    """Mark the cliques of node i as worth another try."""
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        q.open_clique[a.node_clique[k]] = True


@leaf
def gained(s: State, q: Search, forbidden: int) -> bool:
    """Whether the move lowers the energy: fewer infinite terms, or as many and a lower sum."""
    now = s.forbidden[0]
    return bool(now < forbidden or (now == forbidden and s.total[0] < -q.margin[0]))


@leaf
def undo(a: Arrays, s: State, q: Search) -> None:
    """Take the move back. The queue is emptied: it was empty when the move began."""
    while q.cursor[1] > 0:
        pop(q)
    for k in range(q.n_changed[0]):
        i = q.changed[k]
        if s.labels[i] != q.before[i]:
            change(a, s, q, i, q.before[i])
    while q.cursor[1] > 0:
        pop(q)
    mark(s, q)


@kernel
def descend(a: Arrays, s: State, q: Search, limit: int) -> int:
    """Relabel queued nodes while that lowers the energy; returns what is left of `limit` visits."""
    n_labels = a.unary.shape[1]
    while q.cursor[1] > 0 and limit > 0:
        limit -= 1
        i = pop(q)
        row(a, s, q, i)
        best, own = s.labels[i], q.costs[i, s.labels[i]]
        least = own - max(q.margin[0], 1e-14 * abs(own)) if own < np.inf else np.inf
        for label in range(n_labels):
            if q.costs[i, label] < least:
                best, least = label, q.costs[i, label]
        if best != s.labels[i]:
            change(a, s, q, i, best)
    return limit
