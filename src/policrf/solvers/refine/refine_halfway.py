"""Half-way moves: some nodes lose their labels and get new ones, one after another.

A large-neighbourhood search (Shaw 1998) whose repair asks the potentials half-way. The nodes of a
ball, of a part of a clique, of one label in a clique or of a whole clique are unlabeled. Then the
node whose best label leads by most takes it, given all nodes that are labeled by then, until none
is left. Members that can only change together are found this way. The caller settles the nodes
around by single relabels before it judges the move.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inlined, inner
from policrf.crf.arrays import PARTIAL, Arrays
from policrf.crf.potentials import COMPLETE
from policrf.crf.state import State
from policrf.random_numbers import Generator, below, uniform
from policrf.solvers.refine.refine_answers import node_costs
from policrf.solvers.refine.refine_gains import clique_gains, promise, set_gains
from policrf.solvers.refine.refine_neighbourhoods import (
    AT,
    CLIQUE,
    LENGTH,
    SCOPE,
    SWEPT,
    Workspace,
    append_new,
    begin_list,
    collect_ball,
    collect_members,
    collect_part,
    draw_clique,
)
from policrf.solvers.refine.refine_trial import Trial, try_labeled, try_unlabeled
from policrf.types import FloatArray, IntArray

FEW = 8  # most nodes of a ball or of a part
MANY = 40  # most nodes of one label, or of a whole clique
BALLS, PARTS, LABELS = 0.4, 0.4, 0.15  # shares of the moves; the others are about whole cliques
WHOLE = 400  # most members of a clique in the first sweep: its time grows as their square
SMALL = 16  # the same where answers are not kept
AROUND = 100  # most nodes to settle beside those next to the region


@inner
def draw_halfway_move(a: Arrays, s: State, w: Workspace, i: int, generator: Generator) -> None:
    """Draw the nodes to unlabel around node i into `nodes`, and those to settle into `scope`."""
    c = draw_clique(a, i, generator)
    kind = uniform(generator)
    w.cursor[CLIQUE] = c
    few = 2 + below(generator, FEW - 1)
    if c < 0 or kind < BALLS:
        collect_ball(a, w, i, few, generator)
    elif kind < BALLS + PARTS:
        collect_part(a, w, i, c, few, generator)
    else:
        first = below(generator, a.clique_ptr[c + 1] - a.clique_ptr[c])
        label = s.labels[i] if kind < BALLS + PARTS + LABELS else -1
        collect_members(a, s.labels, w, c, first, MANY, label)
    open_nodes(a, w)


@inner
def draw_next_clique(a: Arrays, s: State, t: Trial, w: Workspace) -> bool:
    """The next clique of the first sweep, all its members into `nodes`; False after the last.

    Those whose answers are kept, and small ones: else it takes k² · L questions.
    """
    while w.cursor[SWEPT] < len(a.clique_kind):
        c = w.cursor[SWEPT]
        w.cursor[SWEPT] += 1
        size = a.clique_ptr[c + 1] - a.clique_ptr[c]
        most = WHOLE if t.answers.place[c] >= 0 else SMALL
        if a.custom[c, PARTIAL] != COMPLETE and size <= most:
            w.cursor[CLIQUE] = c
            collect_members(a, s.labels, w, c, 0, size, -1)
            open_nodes(a, w)
            return True
    return False


@inner
def open_nodes(a: Arrays, w: Workspace) -> None:
    """What is known of `nodes` is out of date; the nodes around them go into `scope`."""
    for at in range(w.cursor[LENGTH]):
        w.stale[w.nodes[at]] = True
    collect_around(a, w)


@inner
def collect_around(a: Arrays, w: Workspace) -> None:
    """The nodes of the move, their neighbours, and members of their cliques, into `scope`."""
    mark, n = begin_list(w), 0
    for at in range(w.cursor[LENGTH]):
        i = w.nodes[at]
        n = append_new(w.node_mark, mark, w.scope, n, i)
        for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
            j = a.adj_node[k]
            n = append_new(w.node_mark, mark, w.scope, n, j)
    room = n + AROUND
    for at in range(w.cursor[LENGTH]):
        i = w.nodes[at]
        for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
            c = a.node_clique[k]
            if w.clique_mark[c] == mark or n + a.clique_ptr[c + 1] - a.clique_ptr[c] > room:
                continue
            w.clique_mark[c] = mark
            for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
                j = a.clique_nodes[m]
                n = append_new(w.node_mark, mark, w.scope, n, j)
    w.cursor[SCOPE] = n


@inner
def unlabel_nodes(a: Arrays, s: State, t: Trial, w: Workspace, limit: int) -> int:
    """Take the labels of `nodes` away from AT on; returns what is left of `limit` visits."""
    while w.cursor[AT] < w.cursor[LENGTH] and limit > 0:
        limit -= 1
        try_unlabeled(a, s, t, w.nodes[w.cursor[AT]])
        w.cursor[AT] += 1
    return limit


@inner
def label_surest(a: Arrays, s: State, t: Trial, w: Workspace, gain: float) -> int:
    """Label the surest of `nodes`, and drop it from the list; returns how many were priced.

    A label's cost is what it adds to the energy, less `gain` times what it promises.
    """
    priced, surest = 0, 0
    mark = w.cursor[AT]  # of the cliques that the last label changed; 0 at first
    if mark == 0 and gain > 0:
        set_gains(a, s, w)
    for at in range(w.cursor[LENGTH]):
        i = w.nodes[at]
        if w.stale[i] or hears(a, w, i, mark):
            node_costs(a, s, t.answers, i, w.costs)
            if gain > 0:
                promise(a, w, i, gain)
            w.choice[i] = t.before[i]
            w.margin[i] = lead(w.costs, w.choice, i)
            w.stale[i] = False
            priced += 1
        if w.margin[i] > w.margin[w.nodes[surest]]:
            surest = at
    i = w.nodes[surest]
    try_labeled(a, s, t, i, w.choice[i])
    w.cursor[LENGTH] -= 1
    w.nodes[surest] = w.nodes[w.cursor[LENGTH]]
    w.cursor[AT] = begin_list(w)
    for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        w.stale[a.adj_node[k]] = True
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        # A clique speaks when one member is left, or at every step if it is asked half-way.
        if a.custom[c, PARTIAL] != COMPLETE:
            w.clique_mark[c] = w.cursor[AT]
            if gain > 0:
                clique_gains(a, s, w, c)
        elif s.labeled[c] == a.clique_ptr[c + 1] - a.clique_ptr[c] - 1:
            w.clique_mark[c] = w.cursor[AT]
    return priced


@inlined
def hears(a: Arrays, w: Workspace, i: int, mark: int) -> bool:
    """Whether node i is in a clique that carries the mark."""
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        if w.clique_mark[a.node_clique[k]] == mark:
            return True
    return False


@inner
def lead(costs: FloatArray, choice: IntArray, i: int) -> float:
    """Second-lowest minus lowest cost, +inf where fewer than two labels are allowed.

    The label of the lowest goes into `choice[i]`, which stays if none is allowed.
    """
    least = second = np.inf
    for label in range(len(costs)):
        if costs[label] < least:
            second, least = least, costs[label]
            choice[i] = label
        elif costs[label] < second:
            second = costs[label]
    return np.inf if second == np.inf else second - least
