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

Labels change little from one sweep to the next, so most of a long cut would be found again. Flow up
to an arc's capacity may be pushed before a cut, wherever it is from: residuals and excess change,
− Σ excess_i x_i + Σ residual_ij [x_i = 1, x_j = 0] stays the same function of x. So every label
keeps its part of the flow of a pair, y_ij(α), as in Komodakis and Tziritas (PAMI 2007), and a move
begins with y_ij(α) − (y_ij(y_i) + y_ij(y_j)) / 2; the cut is the same, and sooner found.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, leaf
from policrf.solvers.cuts.expansion_problem import MoveProblem
from policrf.solvers.cuts.lay_out_terms import lay_out_terms
from policrf.solvers.cuts.maxflow import FREE, WORK, Network, cut
from policrf.types import BoolArray, FloatArray, IntArray

FLOWS = 1 << 25  # numbers that are kept at most: 256 MB
FEW = 100  # a cut that looks at fewer nodes than this part of them is as soon found again
VALID, INVALID, UNDECIDED = 1, 0, 2  # what a move knows of z_b before the cut


class MoveState(NamedTuple):
    """A labeling that moves; `labels` and `matches` change together."""

    labels: IntArray  # [N]
    matches: IntArray  # [B]  members of a HOP1 box with its label
    open: BoolArray  # [N]  whether the node takes part in the current move
    decided: IntArray  # [B]  VALID, INVALID or UNDECIDED in the current move
    flow: FloatArray  # [pairs, L]  what moves to a label pushed from the first node of a pair to
    # the second (`kept_flow`); [0, L] without room for it
    kept: BoolArray  # [1]  whether any is known


def move_state(p: MoveProblem, labels: IntArray) -> MoveState:
    """A copy of `labels`, ready to move."""
    (n_nodes, n_labels), n_boxes = p.costs.shape, len(p.box_label)
    n_pairs = len(p.weight) + len(p.tables.weight)
    room = n_pairs * n_labels <= FLOWS
    state = MoveState(
        labels.copy(),
        np.zeros(n_boxes, np.int64),
        np.zeros(n_nodes, np.bool_),
        np.zeros(n_boxes, np.int64),
        np.zeros((n_pairs if room else 0, n_labels)),  # no memory is taken before it is written to
        np.zeros(1, np.bool_),
    )
    count_matches(p, state)
    return state


@leaf
def count_matches(p: MoveProblem, s: MoveState) -> None:
    """Count `matches` again, after `labels` were set from outside."""
    g, n_nodes = p.network, len(s.labels)
    for b in range(len(p.box_label)):
        s.matches[b] = 0
        for k in range(g.ptr[n_nodes + b], g.ptr[n_nodes + b + 1]):
            s.matches[b] += s.labels[g.head[k]] == p.box_label[b]


def expand(p: MoveProblem, s: MoveState, alpha: int) -> float:
    """Make the best move to α; returns by how much it lowers the energy, 0 if no node moved."""
    return expand_each(p, s, np.array([alpha]), np.zeros(2, np.int64), 1)


@leaf
def expand_each(
    p: MoveProblem, s: MoveState, order: IntArray, cursor: IntArray, limit: int
) -> float:
    """Up to `limit` moves, label after label of `order`, until a whole round changes nothing.

    cursor = (place in `order`, moves since the last change). Returns what the energy falls by.
    """
    g, n_nodes, total = p.network, len(s.labels), 0.0
    for _ in range(limit):
        if cursor[1] >= len(order):
            break
        alpha = order[cursor[0]]
        gain = 0.0
        if _lay_out(p, s, alpha):
            cut(g)
            s.kept[0] |= len(s.flow) > 0 and g.counts[WORK] > n_nodes
            if s.kept[0] and FEW * g.counts[WORK] > n_nodes:
                _keep_flow(p, s, alpha)
            for i in range(len(g.level)):
                if g.level[i] != FREE:
                    # No flow leaves the forest any more: it gains the excess it could not push.
                    gain += g.excess[i]
                    if i < n_nodes:
                        _relabel(p, s, i, alpha)
        total += gain
        cursor[0] = (cursor[0] + 1) % len(order)
        cursor[1] = 1 if gain > 0.0 else cursor[1] + 1
    return total


@inner
def _relabel(p: MoveProblem, s: MoveState, i: int, alpha: int) -> None:
    g, n_nodes = p.network, len(s.labels)
    # The arcs to the z nodes and to those of other terms are the last ones of a node.
    for k in range(g.ptr[i + 1] - 1, g.ptr[i] - 1, -1):
        b = g.head[k] - n_nodes
        if b < 0:
            break
        if b >= len(p.box_label):
            continue
        s.matches[b] += (alpha == p.box_label[b]) - (s.labels[i] == p.box_label[b])
    s.labels[i] = alpha


@inner
def _lay_out(p: MoveProblem, s: MoveState, alpha: int) -> bool:
    """Fill the network's capacities; the excess of a node is what x_i = 1 gains on its own.

    Kept flow is pushed at once. Returns whether any node has excess: nobody moves without.
    """
    g, n_nodes, n_potts = p.network, len(s.labels), len(p.weight)
    for i in range(n_nodes):
        s.open[i] = s.labels[i] != alpha and p.costs[i, alpha] < np.inf
    for b in range(len(p.box_label)):
        _lay_out_box(p, s, alpha, b)
    for i in range(n_nodes):
        if not s.open[i]:
            g.excess[i] = 0.0
            for k in range(g.ptr[i], g.ptr[i + 1]):
                g.residual[k] = 0.0
            continue
        gain = p.costs[i, s.labels[i]] - p.costs[i, alpha]
        for k in range(g.ptr[i], g.ptr[i + 1]):
            j = g.head[k]
            if j >= n_nodes + len(p.box_label):
                break
            if j >= n_nodes:
                gain += _lay_out_member(p, s, alpha, i, k)
            else:
                pair = max(p.pair[k], ~p.pair[k])
                if pair < n_potts:
                    gain += _lay_out_potts(g, s, alpha, i, k, p.weight[pair])
                else:
                    gain += _lay_out_table(p, s, alpha, i, k)
                if s.kept[0] and g.residual[k] > 0.0:
                    there = _kept_flow(s, alpha, i, j, pair)
                    there = there if pair == p.pair[k] else -there
                    there = min(max(there, -g.residual[k]), g.residual[k])
                    gain -= there
                    g.residual[k] -= there
        g.excess[i] = gain
    lay_out_terms(g, p.terms, s.labels, s.open, alpha)
    some = False
    for i in range(len(g.excess)):
        some |= g.excess[i] > g.tolerance[i]
    return some


@inner
def _kept_flow(s: MoveState, alpha: int, i: int, j: int, pair: int) -> float:
    """What an earlier cut says of the flow from the first node of a pair to the second."""
    stay = s.flow[pair, s.labels[i]] + s.flow[pair, s.labels[j]]
    return float(s.flow[pair, alpha] - 0.5 * stay)


@inner
def _keep_flow(p: MoveProblem, s: MoveState, alpha: int) -> None:
    """Note what the cut has pushed; pairs that had no part in the move keep what they had."""
    g, n_nodes = p.network, len(s.labels)
    for i in range(n_nodes):
        if not s.open[i]:
            continue
        for k in range(g.ptr[i], g.ptr[i + 1]):
            j, pair = g.head[k], p.pair[k]
            if j >= n_nodes:
                break
            if pair >= 0 and s.open[j]:
                # Before the cut, both directions had the same capacity.
                there = 0.5 * (g.residual[g.sister[k]] - g.residual[k])
                s.flow[pair, alpha] += there - _kept_flow(s, alpha, i, j, pair)


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


@inner
def _lay_out_potts(g: Network, s: MoveState, alpha: int, i: int, k: int, weight: float) -> float:
    """Arc k of the open node i with a Potts weight; returns what moving gains on its own."""
    j = g.head[k]
    g.residual[k] = 0.0
    if s.labels[j] == alpha:
        return weight
    same = s.labels[j] == s.labels[i]
    if s.open[j]:
        g.residual[k] = weight if same else 0.5 * weight
        return 0.0 if same else 0.5 * weight
    return -weight if same else 0.0


@inner
def _lay_out_table(p: MoveProblem, s: MoveState, alpha: int, i: int, k: int) -> float:
    """Arc k of the open node i with a table; returns what moving gains on its own."""
    g, t, j = p.network, p.tables, p.network.head[k]
    first = p.pair[k] >= 0
    c = max(p.pair[k], ~p.pair[k]) - len(p.weight)
    stride, at, weight = t.shared, 0, t.weight[c]
    if stride == 0:
        stride, at = t.stride[t.entry[c]], t.start[c]
    own, other = (stride, 1) if first else (1, stride)
    stay, move = at + own * s.labels[i], at + own * alpha
    still = other * s.labels[j]
    gain = weight * (t.data[stay + still] - t.data[move + still])
    g.residual[k] = 0.0
    if not s.open[j]:
        return float(gain)
    moved = other * alpha
    gain_if_moved = weight * (t.data[stay + moved] - t.data[move + moved])
    g.residual[k] = max(0.0, 0.5 * (gain_if_moved - gain))
    return float(0.5 * (gain + gain_if_moved))
