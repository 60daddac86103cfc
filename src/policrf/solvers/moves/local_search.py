"""What local searches share: a queue of nodes to look at again, and moves that can be taken back.

A node is relabeled by the core and then adopted (`adopt`): noted as changed, its neighbours queued.
`flush` queues the members of the cliques for which the changes since then made a difference. A
trial that is taken back at once needs neither. A larger move is: `keep`, any changes, a `descend`,
then `end_move`, which keeps it or takes it back. `keep` sets the state's running total to 0: it is
then the move's own change in energy, rounded at the scale of the terms that it touched and not at
that of the whole energy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, leaf
from policrf.crf.arrays import ADDRESS, Arrays
from policrf.crf.changes import relabel
from policrf.crf.checks import frozen
from policrf.crf.energy import label_costs
from policrf.crf.potentials import AGREE, SUPPORT
from policrf.crf.state import State
from policrf.solvers.moves.violations import least_violating
from policrf.types import BoolArray, FloatArray, IntArray

RELATIVE = 1e-12  # a move must gain this part of the largest coefficient
FIRST, LENGTH, N_CHANGED, N_MOVED = range(4)  # entries of `LocalSearch.cursor`


class LocalSearch(NamedTuple):
    """Mutable; N nodes, C cliques."""

    queue: IntArray  # [N]; ring buffer of nodes whose surroundings changed
    cursor: IntArray  # [4]; first entry and length of the ring, lengths of `changed` and `moved`
    queued: BoolArray  # [N]
    stale: BoolArray  # [N]; `costs` of the node is out of date
    touched: BoolArray  # [N]; changed since pairs were last looked at
    costs: FloatArray  # [N, L]; the cost of every label of a node, given the labels of the others
    before: IntArray  # [N]; label before the current move, −1 where it is the same
    changed: IntArray  # [N]; the nodes that the current move changed
    shift: IntArray  # [C]; change in the number of matches that `flush` has not seen yet
    moved: IntArray  # [C]; the cliques that it is to look at
    open_clique: BoolArray  # [C]; something near the clique changed since it was last tried
    inside: BoolArray  # [N]; all False between moves: the nodes a move is about
    in_moved: BoolArray  # [C]; whether the clique is in `moved`
    margin: FloatArray  # [1]; gains below it are rounding
    noted: IntArray  # [2, N]; scratch space: nodes, and a label of each


def new_search(a: Arrays) -> LocalSearch:
    """Every node queued and stale."""
    n_nodes, n_cliques = len(a.unary), len(a.clique_kind)
    return LocalSearch(
        queue=np.arange(n_nodes, dtype=np.int64),
        cursor=np.array([0, n_nodes, 0, 0], np.int64),
        queued=np.ones(n_nodes, np.bool_),
        stale=np.ones(n_nodes, np.bool_),
        touched=np.ones(n_nodes, np.bool_),
        costs=np.empty(a.unary.shape),
        before=np.full(n_nodes, -1, np.int64),
        changed=np.empty(n_nodes, np.int64),
        shift=np.zeros(n_cliques, np.int64),
        moved=np.empty(n_cliques, np.int64),
        open_clique=np.ones(n_cliques, np.bool_),
        inside=np.zeros(n_nodes, np.bool_),
        in_moved=np.zeros(n_cliques, np.bool_),
        margin=np.array([RELATIVE * largest(a)]),
        noted=np.empty((2, n_nodes), np.int64),
    )


def leave_alone(a: Arrays, q: LocalSearch, nodes: BoolArray) -> None:
    """Keep a new search from these nodes [N], and from cliques that have no others."""
    others = np.flatnonzero(~nodes)
    q.queue[: len(others)] = others
    q.cursor[LENGTH] = len(others)
    q.queued[nodes] = q.touched[nodes] = False
    q.open_clique[:] = np.add.reduceat(~nodes[a.clique_nodes], a.clique_ptr[:-1]) > 0


def centred(a: Arrays) -> Arrays:
    """The same CRF up to a constant, each lowest unary at 0: differences keep their digits."""
    unary: FloatArray = a.unary - a.unary.min(axis=1, keepdims=True)
    return a._replace(unary=frozen(unary))


def largest(a: Arrays) -> float:
    """The largest finite coefficient of the energy."""
    parts = (a.unary.reshape(-1), a.edge_weights, a.clique_weight, a.data)
    return max(largest_finite(part) for part in parts)


@leaf
def largest_finite(numbers: FloatArray) -> float:
    """The largest size of the finite ones; 0 where there are none."""
    most = 0.0
    for number in numbers:
        if abs(number) < np.inf and abs(number) > most:
            most = abs(number)
    return most


def slice_size(a: Arrays) -> int:
    """Nodes or edges that a kernel call may visit: fewer where Custom terms may be slow Python."""
    return 100 if (a.custom[:, ADDRESS] != 0).any() else 2_000


@inner
def is_gain(now: int, total: float, before: int, margin: float) -> bool:
    """Whether a move lowers the energy: fewer infinite terms, or as many and a lower sum."""
    return now < before or (now == before and total < -margin)


@inner
def push(q: LocalSearch, i: int) -> None:
    """Queue node i and mark what is known of it as out of date."""
    q.stale[i] = True
    q.touched[i] = True
    if not q.queued[i]:
        q.queued[i] = True
        q.queue[(q.cursor[FIRST] + q.cursor[LENGTH]) % len(q.queue)] = i
        q.cursor[LENGTH] += 1


@inner
def step_energy(a: Arrays, c: int, matches: int) -> float:
    """What one more match costs a counting clique; equal steps are equal to the last bit."""
    if a.clique_kind[c] == AGREE:
        size = a.clique_ptr[c + 1] - a.clique_ptr[c]
        rise = min(matches + 1, size - matches - 1) - min(matches, size - matches)
    else:
        rise = -1 if matches + 1 == a.clique_count[c] else 0
    return float(a.clique_weight[c] * rise)


@inner
def adopt(a: Arrays, s: State, q: LocalSearch, i: int, old: int) -> None:
    """Node i was relabeled from `old`: note it, and queue it and its neighbours."""
    if q.before[i] < 0:
        q.before[i] = old
        q.changed[q.cursor[N_CHANGED]] = i
        q.cursor[N_CHANGED] += 1
    push(q, i)
    for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        push(q, a.adj_node[k])
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        q.shift[c] += int(s.labels[i] == a.clique_label[c]) - int(old == a.clique_label[c])
        if not q.in_moved[c]:
            q.in_moved[c] = True
            q.moved[q.cursor[N_MOVED]] = c
            q.cursor[N_MOVED] += 1


@inner
def flush(a: Arrays, s: State, q: LocalSearch) -> None:
    """Queue the members of cliques of adopted nodes, but where counting says it is all the same."""
    for n in range(q.cursor[N_MOVED]):
        c = q.moved[n]
        now, was = s.matches[c], s.matches[c] - q.shift[c]
        q.shift[c] = 0
        q.in_moved[c] = False
        # Members without the label see the step after the count, members with it the step before.
        if (a.clique_kind[c] == AGREE or a.clique_kind[c] == SUPPORT) and (
            step_energy(a, c, was) == step_energy(a, c, now)
            and step_energy(a, c, was - 1) == step_energy(a, c, now - 1)
        ):
            continue
        for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
            push(q, a.clique_nodes[m])
    q.cursor[N_MOVED] = 0


@inner
def row(a: Arrays, s: State, q: LocalSearch, i: int) -> None:
    """Bring `costs[i]` up to date."""
    if q.stale[i]:
        label_costs(a, s, i, q.costs[i])
        q.stale[i] = False


@inner
def price(s: State, q: LocalSearch, i: int, label: int) -> float:
    """What it costs node i, whose row is fresh, to take the label; +inf where it may not."""
    asked, own = q.costs[i, label], q.costs[i, s.labels[i]]
    if own < np.inf:
        return float(asked - own)
    return 0.0 if asked < np.inf else np.inf


@leaf
def keep(a: Arrays, s: State, q: LocalSearch) -> None:
    """End a move for good: the cliques at and next to its nodes are worth another try."""
    for n in range(q.cursor[N_CHANGED]):
        i = q.changed[n]
        if s.labels[i] != q.before[i]:
            for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
                q.open_clique[a.node_clique[k]] = True
            for e in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
                j = a.adj_node[e]
                for k in range(a.node_ptr[j], a.node_ptr[j + 1]):
                    q.open_clique[a.node_clique[k]] = True
        q.before[i] = -1
    q.cursor[N_CHANGED] = 0
    s.total[0] = 0.0


@leaf
def undo(a: Arrays, s: State, q: LocalSearch) -> None:
    """Take the changes since the last `keep` back. The queue keeps what was queued."""
    for n in range(q.cursor[N_CHANGED]):
        i = q.changed[n]
        old, label = s.labels[i], q.before[i]
        if old != label:
            relabel(a, s, i, label)
            adopt(a, s, q, i, old)
        q.before[i] = -1
    flush(a, s, q)
    q.cursor[N_CHANGED] = 0
    s.total[0] = 0.0


@leaf
def end_move(a: Arrays, s: State, q: LocalSearch, forbidden: int) -> bool:
    """Keep the move if it gained (before it, `forbidden` terms were infinite), else undo it."""
    gained = is_gain(s.forbidden[0], s.total[0], forbidden, q.margin[0])
    if gained:
        keep(a, s, q)
    else:
        undo(a, s, q)
    return gained


@leaf
def descend(a: Arrays, s: State, q: LocalSearch, limit: int) -> int:
    """Relabel queued nodes while that lowers the energy; returns what is left of `limit` visits."""
    n_labels = a.unary.shape[1]
    flush(a, s, q)
    while q.cursor[LENGTH] > 0 and limit > 0:
        limit -= 1
        i = q.queue[q.cursor[FIRST]]
        q.cursor[FIRST] = (q.cursor[FIRST] + 1) % len(q.queue)
        q.cursor[LENGTH] -= 1
        q.queued[i] = False
        row(a, s, q, i)
        old = s.labels[i]
        best, own = old, q.costs[i, old]
        if own < np.inf:
            least = own - max(q.margin[0], 1e-14 * abs(own))
            for label in range(n_labels):
                if q.costs[i, label] < least:
                    best, least = label, q.costs[i, label]
        else:
            best = least_violating(a, s, i, q.margin[0])
        if best != old:
            relabel(a, s, i, best)
            adopt(a, s, q, i, old)
            flush(a, s, q)
    return limit
