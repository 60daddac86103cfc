"""The scores of one node, π_i, and its best label (section "Policy Function"; `spec.py`)."""

from __future__ import annotations

import numpy as np

from policrf.compiled import leaf
from policrf.crf.arrays import Arrays
from policrf.crf.checks import FloatArray, IntArray
from policrf.crf.energy import State
from policrf.mdp.completion import Completion
from policrf.mdp.graph import Float32Array, Graph
from policrf.policy.conditional import label_inputs, margins, relative_costs, squashed
from policrf.policy.lanes import load, multiply_add, relu, spread, total
from policrf.policy.layers import ZERO, dense, embed, send
from policrf.policy.net import (
    COLUMNS,
    COST_MODE,
    HEAD_BIAS,
    HEAD_EMBEDDING,
    HEAD_INPUTS,
    HEAD_OUT,
    HIDDEN,
    KIND,
    OUT,
    PAPER,
    ROUNDS,
    SCALE,
    SQUASH,
    WIDTH,
    Net,
)
from policrf.policy.work import Work


@leaf
def correction(n: Net, inputs: Float32Array, label: int, scratch: Float32Array) -> float:
    """v · ReLU(A x(l) + (B μ + c)); the bracket stands in the last H entries of `scratch`."""
    hidden = n.sizes[HIDDEN]
    bracket = len(scratch) - hidden
    out = spread(ZERO)
    for q in range(0, hidden, 16):
        unit = load(scratch, bracket + q)
        for column in range(inputs.shape[1]):
            x = inputs[label, column]
            if x != 0.0:
                row = load(n.numbers, n.sizes[HEAD_INPUTS] + column * hidden + q)
                unit = multiply_add(spread(x), row, unit)
        out = multiply_add(relu(unit), load(n.numbers, n.sizes[HEAD_OUT] + q), out)
    return float(total(out))


@leaf
def residual_scores(
    n: Net, a: Arrays, s: State, z: Completion, costs: FloatArray, inputs: Float32Array,
    scratch: Float32Array, i: int,
) -> None:  # fmt: skip
    """s · φ(m(l)) + θ5 μ + correction into `costs[2]`; `scratch` holds μ and θ5 μ."""
    width, hidden = n.sizes[WIDTH], n.sizes[HIDDEN]
    relative_costs(a, n.sizes[COST_MODE], s, z, i, costs[0])
    margins(costs[0], costs[1])
    label_inputs(a, s, z, i, costs[1], inputs)
    bracket = len(scratch) - hidden
    dense(n.numbers, n.sizes[HEAD_EMBEDDING], hidden, scratch, width, scratch, bracket)
    for q in range(hidden):
        scratch[bracket + q] += n.numbers[n.sizes[HEAD_BIAS] + q]
    for label in range(costs.shape[1]):
        margin = squashed(costs[1, label]) if n.sizes[SQUASH] else costs[1, label]
        learned = scratch[width + label] + correction(n, inputs, label, scratch)
        costs[2, label] = n.numbers[n.sizes[SCALE]] * margin + learned


@leaf
def score_node(n: Net, g: Graph, a: Arrays, s: State, z: Completion, w: Work, i: int) -> int:
    """Scores of the unlabeled node i into `w.costs[2]`, −inf where not allowed; its best label."""
    width = n.sizes[WIDTH]
    embed(n, g, w.rows, len(w.best), n.sizes[ROUNDS] - 1, i, s.labels[i], w.scratch)
    dense(n.numbers, n.sizes[OUT], n.sizes[COLUMNS], w.scratch, width, w.scratch, width)
    row = w.costs[2]
    if n.sizes[KIND] == PAPER:
        for label in range(len(row)):
            row[label] = w.scratch[width + label]
    else:
        residual_scores(n, a, s, z, w.costs, w.inputs, w.scratch, i)
    if w.restricted[i]:
        for label in range(len(row)):
            if np.isinf(a.unary[i, label]):
                row[label] = -np.inf
    best, highest = 0, row[0]
    for label in range(1, len(row)):
        higher = row[label] > highest
        best = label if higher else best
        highest = row[label] if higher else highest
    return best


@leaf
def score_all(n: Net, g: Graph, a: Arrays, s: State, z: Completion, w: Work) -> None:
    """Every message and score from scratch; the tournament's matches are left to `rebuild`."""
    n_nodes = len(w.best)
    for k in range(n.sizes[ROUNDS] - 1):
        for i in range(n_nodes):
            send(n, g, w.rows, n_nodes, k, i, s.labels[i], w.scratch)
    for i in range(n_nodes):
        w.scores.values[i] = -np.inf
        if s.labels[i] < 0:
            w.best[i] = score_node(n, g, a, s, z, w, i)
            w.scores.values[i] = w.costs[2, w.best[i]]


@leaf
def scores_of(
    n: Net, g: Graph, a: Arrays, s: State, z: Completion, w: Work, nodes: IntArray, out: FloatArray
) -> None:
    """The scores of every label of some nodes into `out` [nodes, L]; −inf where labeled."""
    for k in range(len(nodes)):
        labeled = s.labels[nodes[k]] >= 0
        if not labeled:
            score_node(n, g, a, s, z, w, nodes[k])
        for label in range(out.shape[1]):
            out[k, label] = -np.inf if labeled else w.costs[2, label]
