"""The shared kind's scores of one node: c' = c − t (r + d), then the margins of c'."""

from __future__ import annotations

from policrf.compiled import inlined, inner
from policrf.crf.arrays import Arrays
from policrf.crf.state import State
from policrf.mdp.completion import Completion
from policrf.mdp.graph import Graph
from policrf.policy.conditional import margins, squashed
from policrf.policy.halfway import touch
from policrf.policy.kinds import MARGIN_INPUT
from policrf.policy.lanes import load, multiply_add, relu, spread, total
from policrf.policy.layers import ZERO
from policrf.policy.net import (
    COST_MODE,
    HEAD_INPUTS,
    HEAD_LINEAR,
    HEAD_OUT,
    HIDDEN,
    SILENT,
    SQUASH,
    Net,
)
from policrf.policy.shared.clique_counts import counts_change
from policrf.policy.shared.state_view import COSTS, N_STATE, refresh_view, state_inputs
from policrf.policy.work import Work


@inlined
def shared_scores(n: Net, g: Graph, a: Arrays, s: State, z: Completion, w: Work, i: int) -> None:
    """The scores of the unlabeled node i into `w.costs[2]`."""
    n_labels = w.costs.shape[1]
    if w.stale[i]:
        refresh_view(a, n.sizes[COST_MODE], s, z, i, w.costs, w.views[i])
        w.stale[i] = False
    for label in range(n_labels):
        w.costs[0, label] = w.views[i, COSTS, label] - w.prior[i, label]
    margins(w.costs[0], w.costs[1])
    if n.sizes[SILENT] == 0:
        state_inputs(a, g, s, z, w.counted, i, w.views[i], w.scratch)
        for label in range(n_labels):
            w.scratch[label * N_STATE + MARGIN_INPUT] = squashed(w.costs[1, label])
        for label in range(n_labels):
            w.costs[0, label] -= head(n, w, i * n_labels + label, label * N_STATE)
        margins(w.costs[0], w.costs[1])
    for label in range(n_labels):
        margin = w.costs[1, label]
        w.costs[2, label] = squashed(margin) if n.sizes[SQUASH] else margin


@inner
def head(n: Net, w: Work, row: int, at: int) -> float:
    """d of the label in this row of `w.rows`, whose inputs begin at `at` of `w.scratch`."""
    hidden = n.sizes[HIDDEN]
    out = spread(ZERO)
    for q in range(0, N_STATE, 16):
        weight = load(n.numbers, n.sizes[HEAD_LINEAR] + q)
        out = multiply_add(load(w.scratch, at + q), weight, out)
    for q in range(0, hidden, 16):
        unit = load(w.rows, row * hidden + q)
        for column in range(N_STATE):
            x = w.scratch[at + column]
            if x != 0.0:
                weight = load(n.numbers, n.sizes[HEAD_INPUTS] + column * hidden + q)
                unit = multiply_add(spread(x), weight, unit)
        out = multiply_add(relu(unit), load(n.numbers, n.sizes[HEAD_OUT] + q), out)
    return float(total(out))


@inlined
def reach_counted(a: Arrays, s: State, w: Work, i: int, label: int, by: int, count: int) -> int:
    """Append the unlabeled members of node i's counted cliques that see another count now.

    Called once after every step (`by` = 1) and every undo (`by` = −1) of giving node i this label.
    """
    r = w.reach
    mark = r.stamp[len(r.stamp) - 1]
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        if w.counted.row[c] >= 0 and counts_change(a, w.counted, c, label, by, s.labeled[c]):
            for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
                count = touch(r, s.labels, a.clique_nodes[m], mark, count)
    return count
