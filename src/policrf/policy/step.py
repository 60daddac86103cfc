"""One decision in the incremental engine: label a node, bring what it reaches up to date, and back.

A step changes the messages of nodes within K − 2 edges of its node and the scores of those within K
− 1; with the residual kind also those of nodes that share an edge or a clique of the CRF with it,
where what they see has changed (in cliques that are asked half-way: `halfway.py`). These, and no
others, are computed from their neighbours' messages. Undo puts back what a step overwrote
(`Journal`); where the journal was full, it recomputes the same nodes, which gives the same bits,
since every value is a pure function of the labeling.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inlined, inner, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.changes import assign, unassign
from policrf.crf.state import State
from policrf.mdp.completion import Completion, set_completed
from policrf.mdp.graph import Graph
from policrf.mdp.tournament import Tournament, update
from policrf.policy.conditional import costs_change, inputs_change
from policrf.policy.halfway import reach_halfway, touch
from policrf.policy.layers import copy_row, send
from policrf.policy.net import (
    COST_MODE,
    EXPECTED,
    LAYERS,
    PARTIAL,
    SEES_COSTS,
    SILENT,
    STATIC_LAYERS,
    WIDTH,
    Net,
)
from policrf.policy.scoring import highest, logits, score_node
from policrf.policy.shared.scores import reach_counted
from policrf.policy.work import (
    FIRST_LEAF,
    FIRST_ROW,
    KEPT,
    LEAVES,
    NODE,
    RECORDING,
    ROWS,
    STEPS,
    TRACKING,
    Journal,
    Reach,
    Work,
)
from policrf.types import Float32Array, IntArray


@inner
def reach_network(g: Graph, r: Reach, i: int) -> int:
    """The nodes within K − 1 edges of i into `r.touched`, nearest first; returns how many."""
    clock = len(r.stamp) - 1
    r.stamp[clock] += 1
    mark = r.stamp[clock]
    r.stamp[i] = mark
    r.touched[0] = i
    r.levels[0] = 1
    start, count = 0, 1
    for k in range(1, len(r.levels)):
        end = count
        for t in range(start, end):
            j = r.touched[t]
            for e in range(g.ptr[j], g.ptr[j + 1]):
                other = g.node[e]
                r.touched[count] = other  # overwritten by the next one, unless it is new
                count += r.stamp[other] != mark
                r.stamp[other] = mark
        start = end
        r.levels[k] = count
    return count


@inlined
def reach_energy(a: Arrays, mode: int, s: State, z: Completion, w: Work, i: int, count: int) -> int:
    """Append the unlabeled nodes whose costs or clique inputs the label of node i changes.

    Where it is the costs, their margins are stale from now on. Called while node i is labeled:
    after a step, before an undo.
    """
    r = w.reach
    mark = r.stamp[len(r.stamp) - 1]
    label, old = s.labels[i], z.default[i]
    if mode == PARTIAL or mode == EXPECTED or label != old:
        for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
            j = a.adj_node[k]
            w.stale[j] = True
            count = touch(r, s.labels, j, mark, count)
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        costly = costs_change(a, mode, s, z, c, label, old)
        if costly or inputs_change(a, s, c, label):
            for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
                j = a.clique_nodes[m]
                w.stale[j] |= costly
                count = touch(r, s.labels, j, mark, count)
    return count


@leaf
def record(
    j: Journal, r: Reach, labels: IntArray, rows: Float32Array, best: IntArray, t: Tournament,
    sizes: IntArray, i: int, count: int, energy: float,
) -> None:  # fmt: skip
    """Note the step on node i and keep what it is about to overwrite, if it fits."""
    n_nodes, layers, width = len(best), sizes[LAYERS], sizes[WIDTH]
    step = j.used[STEPS]
    j.used[STEPS] += 1
    needed = 0
    for k in range(layers - 1):
        needed += r.levels[k]
    fits = j.used[ROWS] + needed <= len(j.row_at) and j.used[LEAVES] + count <= len(j.score)
    j.energies[step] = energy
    j.steps[step, NODE], j.steps[step, KEPT] = i, fits
    j.steps[step, FIRST_ROW], j.steps[step, FIRST_LEAF] = j.used[ROWS], j.used[LEAVES]
    if not fits:
        return
    for k in range(layers - 1):
        for m in range(r.levels[k]):
            at = ((layers + k) * n_nodes + r.touched[m]) * width
            j.row_at[j.used[ROWS]] = at
            copy_row(rows, at, j.rows, j.used[ROWS] * width, width)
            j.used[ROWS] += 1
    for m in range(count):
        node = r.touched[m]
        if labels[node] < 0 or node == i:
            j.leaf[j.used[LEAVES], 0], j.leaf[j.used[LEAVES], 1] = node, best[node]
            j.score[j.used[LEAVES]] = t.values[node]
            j.used[LEAVES] += 1


@inlined
def recompute(n: Net, g: Graph, a: Arrays, s: State, z: Completion, w: Work, count: int) -> None:
    """Messages by layers, then the scores of the touched nodes that are unlabeled."""
    n_nodes, n_labels, width = len(w.best), w.costs.shape[1], n.sizes[WIDTH]
    touched = w.reach.touched
    blind = n.sizes[SEES_COSTS] == 0
    for k in range(0 if n.sizes[SILENT] else n.sizes[LAYERS] - 1):
        for t in range(w.reach.levels[k]):
            send(n, g, w.rows, n_nodes, k, touched[t], s.labels[touched[t]], w.scratch)
    for t in range(count):
        node = touched[t]
        if s.labels[node] >= 0:
            continue
        if blind and not w.restricted[node]:  # the same as score_node, without passing the energy
            logits(n, g, w.rows, n_nodes, node, s.labels[node], w.scratch)
            best = highest(w.scratch, width, n_labels)
            score = float(w.scratch[width + best])
        else:
            best = score_node(n, g, a, s, z, w, node)
            score = w.costs[2, best]
        w.best[node] = best
        update(w.scores, node, score)


@inlined
def step(
    n: Net, g: Graph, a: Arrays, s: State, z: Completion, w: Work, i: int, label: int
) -> float:
    """Label the unlabeled node i; returns the energy it adds, E_t − E_{t−1}.

    The paper kind sees labels only: without tracking the energy it returns 0, and its time does not
    depend on the potentials.
    """
    recording = w.journal.used[RECORDING] != 0
    residual = n.sizes[SEES_COSTS] != 0
    before, added = s.total[0], 0.0
    if residual or w.journal.used[TRACKING]:
        added = assign(a, s, i, label)
        set_completed(a, z, i, label)
    else:
        s.labels[i] = label
    count = reach_network(g, w.reach, i)
    if residual:
        count = reach_energy(a, n.sizes[COST_MODE], s, z, w, i, count)
        count = reach_halfway(a, s, z, w, i, label, 1, count)
        if n.sizes[STATIC_LAYERS]:
            count = reach_counted(a, s, w, i, label, 1, count)
    if recording:
        record(w.journal, w.reach, s.labels, w.rows, w.best, w.scores, n.sizes, i, count, before)
    update(w.scores, i, -np.inf)
    recompute(n, g, a, s, z, w, count)
    return added


@leaf
def undo(n: Net, g: Graph, a: Arrays, s: State, z: Completion, w: Work) -> int:
    """Take the last recorded step back, to the last bit; returns its node."""
    j = w.journal
    j.used[STEPS] -= 1
    step = j.used[STEPS]
    i = j.steps[step, NODE]
    label = s.labels[i]
    kept = j.steps[step, KEPT] != 0
    count = 0
    if not kept:
        count = reach_network(g, w.reach, i)
        if n.sizes[SEES_COSTS]:
            count = reach_energy(a, n.sizes[COST_MODE], s, z, w, i, count)
    w.stale[i] = True
    unassign(a, s, i)
    s.total[0] = j.energies[step]
    set_completed(a, z, i, z.default[i])
    if n.sizes[SEES_COSTS]:
        count = reach_halfway(a, s, z, w, i, label, -1, count)
        if n.sizes[STATIC_LAYERS]:
            count = reach_counted(a, s, w, i, label, -1, count)
    if not kept:
        recompute(n, g, a, s, z, w, count)
        return int(i)
    width = n.sizes[WIDTH]
    for t in range(j.steps[step, FIRST_ROW], j.used[ROWS]):
        copy_row(j.rows, t * width, w.rows, j.row_at[t], width)
    for t in range(j.steps[step, FIRST_LEAF], j.used[LEAVES]):
        node = j.leaf[t, 0]
        w.stale[node] = True
        w.best[node] = j.leaf[t, 1]
        update(w.scores, node, j.score[t])
    j.used[ROWS], j.used[LEAVES] = j.steps[step, FIRST_ROW], j.steps[step, FIRST_LEAF]
    return int(i)
