"""One expansion move: each node keeps its label (x_i = 0) or takes α (x_i = 1), all at once.

Boykov, Veksler and Zabih (PAMI 2001); any submodular pair term E(x_i, x_j) is written as

    E(0,0) + p x_i + q x_j + s [x_i ≠ x_j],   s = (E(0,1) + E(1,0) − E(0,0) − E(1,1)) / 2 ≥ 0,
    p = (E(1,0) + E(1,1) − E(0,0) − E(0,1)) / 2, and q likewise,

so that each pair is one undirected arc of capacity s. A node takes part where its label is not α
and α is allowed; the others are constants that change the p of their neighbours.

HOP1 in the move to α: a member pays w_b where [y_i = l_b] ≠ z_b. If α = l_b, moving makes a match,
so the pair (x_i, z_b) pays w_b [x_i ≠ z_b]. If α ≠ l_b, moving ends one: with x_z = 1 − z_b the
pair again pays w_b [x_i ≠ x_z]. Either is submodular. When matches can only become more and already
are the majority (or fewer, and already the minority), z_b is known and its terms are unary.

Label costs and robust Potts have nodes of their own too (`expansion_terms`).

Kept flow of earlier moves makes cuts short (`lay_out_pairs`); where little has changed since the
last move to α, it is found nearby (`move_near_changes`).
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, leaf
from policrf.solvers.cuts.expansion_problem import MoveProblem
from policrf.solvers.cuts.lay_out_pairs import OPEN, STAYS, keep_flow, lay_out_pair, push_kept_flow
from policrf.solvers.cuts.lay_out_terms import lay_out_terms
from policrf.solvers.cuts.maxflow import FREE, PAUSED, WORK, cut
from policrf.solvers.cuts.move_near_changes import UNKNOWN, expand_near
from policrf.solvers.cuts.move_state import MoveState, may_move, relabel
from policrf.types import IntArray

SLICE = 200_000  # arcs and nodes to lay out in one kernel call: some milliseconds
FEW = 100  # a cut that looks at fewer nodes than this part of them is as soon found again
VALID, INVALID, UNDECIDED = 1, 0, 2  # what a move knows of z_b before the cut


def expand(p: MoveProblem, s: MoveState, alpha: int) -> float:
    """Make the best move to α; returns by how much it lowers the energy, 0 if no node moved."""
    gain = expand_each(p, s, np.array([alpha]), np.zeros(2, np.int64), 1)
    while p.network.counts[PAUSED] > 0:
        gain = expand_each(p, s, np.array([alpha]), np.zeros(2, np.int64), 1)
    return gain


@leaf
def expand_each(
    p: MoveProblem, s: MoveState, order: IntArray, cursor: IntArray, limit: int
) -> float:
    """Up to `limit` moves, label after label of `order`, until a whole round changes nothing.

    cursor = (place in `order`, moves since the last change). Returns what the energy falls by.
    A move whose cut pauses (`maxflow`) is gone on with by the next call.
    """
    total = 0.0
    for _ in range(limit):
        if cursor[1] >= len(order):
            break
        alpha = order[cursor[0]]
        gain = UNKNOWN
        if len(s.changes.when) and p.network.counts[PAUSED] == 0:
            gain = expand_near(p, s, alpha)
        if gain == UNKNOWN:
            gain = _expand_all(p, s, alpha)
            if p.network.counts[PAUSED] > 0:
                break
        total += gain
        s.changes.tried[alpha] = s.changes.moves[0]
        s.changes.moves[0] += 1
        cursor[0] = (cursor[0] + 1) % len(order)
        cursor[1] = 1 if gain > 0.0 else cursor[1] + 1
    return total


@inner
def _expand_all(p: MoveProblem, s: MoveState, alpha: int) -> float:
    """The best move to α of all nodes; none while its cut pauses."""
    g, n_nodes, gain = p.network, len(s.labels), 0.0
    if g.counts[PAUSED] == 0 and not _lay_out(p, s, alpha):
        return 0.0
    if not cut(g):
        return 0.0
    s.kept[0] |= len(s.flow) > 0 and g.counts[WORK] > n_nodes
    if s.kept[0] and FEW * g.counts[WORK] > n_nodes:
        keep_flow(p, s, alpha)
    for i in range(len(g.level)):
        if g.level[i] != FREE:
            g.level[i] = FREE
            # No flow leaves the forest any more: it gains the excess it could not push.
            gain += g.excess[i]
            if i < n_nodes:
                relabel(p, s, i, alpha)
    return gain


@inner
def _lay_out(p: MoveProblem, s: MoveState, alpha: int) -> bool:
    """Fill the network's capacities; the excess of a node is what x_i = 1 gains on its own.

    Kept flow is pushed at once. Returns whether any node has excess: nobody moves without.
    """
    g, n_nodes = p.network, len(s.labels)
    for i in range(n_nodes):
        s.open[i] = may_move(p, s, i, alpha)
    for b in range(len(p.box_label)):
        _lay_out_box(p, s, alpha, b)
    for i in range(n_nodes):
        if not s.open[i]:
            g.excess[i] = 0.0
            for k in range(g.ptr[i], g.ptr[i + 1]):
                g.residual[k] = 0.0
            continue
        own = s.labels[i]
        gain = p.costs[i, own] - p.costs[i, alpha]
        for k in range(g.ptr[i], g.ptr[i + 1]):
            j = g.head[k]
            if j >= n_nodes + len(p.box_label):
                break
            if j >= n_nodes:
                gain += _lay_out_member(p, s, alpha, i, k)
                continue
            gain += lay_out_pair(p, s, alpha, own, k, OPEN if s.open[j] else STAYS)
            if s.kept[0] and g.residual[k] > 0.0:
                gain -= push_kept_flow(p, s, alpha, own, s.labels[j], k)
        g.excess[i] = gain
    lay_out_terms(g, p.terms, s.labels, s.open, alpha)
    some = False
    for i in range(len(g.excess)):
        some |= g.excess[i] > g.tolerance[i]
    return some


@inner
def _lay_out_box(p: MoveProblem, s: MoveState, alpha: int, b: int) -> None:
    """Decide z_b if it can be, or give its node arcs to the members whose match may change."""
    g, z = p.network, len(s.labels) + b
    size, label = g.ptr[z + 1] - g.ptr[z], p.box_label[b]
    s.decided[b] = UNDECIDED
    if alpha == label and 2 * s.matches[b] >= size:
        s.decided[b] = VALID
    elif alpha != label and 2 * s.matches[b] <= size:
        s.decided[b] = INVALID
    g.excess[z] = 0.0
    linked = 0
    for k in range(g.ptr[z], g.ptr[z + 1]):
        j = g.head[k]
        if s.decided[b] == UNDECIDED and s.open[j] and (alpha == label or s.labels[j] == label):
            g.residual[k] = p.box_weight[b]
            linked += 1
        else:
            g.residual[k] = 0.0
    if s.decided[b] == UNDECIDED:
        # x_z = 1 wins the members that match it whatever they do, and loses those that never will.
        never = size - s.matches[b]
        if alpha == label:
            g.excess[z] = p.box_weight[b] * (s.matches[b] - (never - linked))
        else:
            g.excess[z] = p.box_weight[b] * (never - (s.matches[b] - linked))


@inner
def _lay_out_member(p: MoveProblem, s: MoveState, alpha: int, i: int, k: int) -> float:
    """Arc k from the open node i to a z_b; returns what moving gains if z_b is decided."""
    g, b = p.network, p.network.head[k] - len(s.labels)
    w, label = p.box_weight[b], p.box_label[b]
    g.residual[k] = 0.0
    if alpha != label and s.labels[i] != label:
        return 0.0
    if s.decided[b] == UNDECIDED:
        g.residual[k] = w
        return 0.0
    return float(w if (s.decided[b] == VALID) == (alpha == label) else -w)
