"""What the shared kind sees of an unlabeled node in a state: its costs by group, and its inputs.

Costs are those of `conditional.relative_costs`, to the last bit. The margins of what each group of
terms adds (unaries, pairs, cliques) are inputs of their own; they change only with the costs, so
that both are kept until a step makes them stale. `neighbours` is Σ_j w(i, j) [y_j = l] over the
instance's graph, `open_neighbours` the same over its unlabeled nodes; inputs of cliques are means
over those of `clique_counts`, boxes have the columns of `network.INPUTS`.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inlined, inner
from policrf.crf.arrays import Arrays
from policrf.crf.state import State
from policrf.mdp.completion import Completion
from policrf.mdp.gains import EIGHTHS, open_eighths
from policrf.mdp.graph import Graph
from policrf.policy.conditional import (
    add_clique_costs,
    add_pair_costs,
    clique_inputs,
    margins,
    squashed,
)
from policrf.policy.kinds import DEFAULT_INPUT, INPUTS, STATE_INPUTS
from policrf.policy.shared.clique_counts import Counted, label_share
from policrf.types import Float32Array, FloatArray

N_STATE = len(STATE_INPUTS)
# Rows of a view [4, L]: the costs, then φ of the margins of each group of terms.
COSTS, UNARY, PAIRS, CLIQUES = range(4)
PARTS = STATE_INPUTS.index("unary_margin")  # the column of the first of them
NEIGHBOURS, OPEN = STATE_INPUTS.index("neighbours"), STATE_INPUTS.index("open_neighbours")
SHARE, PRESENT = STATE_INPUTS.index("clique_share"), STATE_INPUTS.index("clique_present")
CLIQUE_OPEN = STATE_INPUTS.index("clique_open")
assert STATE_INPUTS[: len(INPUTS)] == INPUTS


@inlined
def refresh_view(
    a: Arrays, mode: int, s: State, z: Completion, i: int, costs: FloatArray, view: FloatArray
) -> None:
    """The costs of the unlabeled node i and the parts they are made of; `costs` [≥ 3, L]: scratch.

    The third row of `costs` holds the sum before a group was added.
    """
    for label in range(view.shape[1]):
        costs[0, label] = a.unary[i, label]
        costs[2, label] = 0.0
    note_part(costs, z.unit, view[UNARY])
    add_pair_costs(a, mode, s, z, i, costs[0])
    note_part(costs, z.unit, view[PAIRS])
    add_clique_costs(a, mode, s, z, i, costs[0])
    note_part(costs, z.unit, view[CLIQUES])
    for label in range(view.shape[1]):
        view[COSTS, label] = costs[0, label] / z.unit


@inner
def note_part(costs: FloatArray, unit: float, out: FloatArray) -> None:
    """φ of the margins of what was added since the last part into `out` [L]."""
    for label in range(len(out)):
        added = costs[0, label]
        if not np.isinf(costs[2, label]):
            added -= costs[2, label]
        elif np.isinf(added):  # forbidden before: nothing to add
            added = 0.0
        costs[1, label] = added / unit
        costs[2, label] = costs[0, label]
    margins(costs[1], out)
    for label in range(len(out)):
        out[label] = squashed(out[label])


@inner
def state_inputs(
    a: Arrays, g: Graph, s: State, z: Completion, counted: Counted, i: int, view: FloatArray,
    out: Float32Array,
) -> None:  # fmt: skip
    """x_i(l) of every label into `out` [L · D], flat; the margin's column is left to the caller."""
    n_labels = view.shape[1]
    free = np.float32(0.0)
    for at in range(n_labels * N_STATE):
        out[at] = 0.0
    for e in range(g.ptr[i], g.ptr[i + 1]):
        label = s.labels[g.node[e]]
        if label >= 0:
            out[label * N_STATE + NEIGHBOURS] += g.weight[e]
        else:
            free += g.weight[e]
    for label in range(n_labels):
        out[label * N_STATE + OPEN] = free
        for part in range(3):
            out[label * N_STATE + PARTS + part] = view[UNARY + part, label]
    out[z.default[i] * N_STATE + DEFAULT_INPUT] = 1.0
    many = 0
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        column, first, second = clique_inputs(a, s, c)
        if column >= 0:
            at = a.clique_label[c] * N_STATE + column
            out[at] += 1.0
            out[at + 1] += first
            out[at + 2] += second
        many += int(counted.row[c] >= 0)
    if many:
        clique_means(a, s, counted, i, 1.0 / many, n_labels, out)


@inner
def clique_means(
    a: Arrays, s: State, counted: Counted, i: int, part: float, n_labels: int, out: Float32Array
) -> None:
    """The mean of what the counted cliques of node i show; `part` is one over their number."""
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        row = counted.row[c]
        if row < 0:
            continue
        free = open_eighths(a.clique_ptr[c + 1] - a.clique_ptr[c], s.labeled[c]) / EIGHTHS
        for label in range(n_labels):
            at = label * N_STATE
            out[at + SHARE] += part * label_share(a, counted, c, label)
            out[at + PRESENT] += part * int(counted.counts[row, label] > 0)
            out[at + CLIQUE_OPEN] += part * free
