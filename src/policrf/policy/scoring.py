"""The scores of one node, π_i, and its best label (section "Policy Function"; `spec.py`)."""

from __future__ import annotations

import numpy as np

from policrf.compiled import inlined, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.checks import FloatArray, IntArray
from policrf.crf.energy import State
from policrf.mdp.completion import Completion
from policrf.mdp.graph import Float32Array, Graph
from policrf.policy.conditional import (
    add_clique_inputs,
    margins,
    relative_costs,
    squashed,
)
from policrf.policy.lanes import load, multiply_add, relu, spread, store
from policrf.policy.layers import dense, embed, send
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
def correct(n: Net, scratch: Float32Array, active: IntArray, count: int) -> None:
    """Add v · ReLU(A x(l) + B μ + c) to the logits of all labels, sixteen labels at once.

    `scratch` holds μ [P], the logits [Q], room for the hidden units [H], and x [D, Q], of which the
    `count` inputs in `active` are not all zero.
    """
    width, columns, hidden = n.sizes[WIDTH], n.sizes[COLUMNS], n.sizes[HIDDEN]
    bracket = width + columns
    inputs = bracket + hidden
    weights, bias, out_weights = n.sizes[HEAD_INPUTS], n.sizes[HEAD_BIAS], n.sizes[HEAD_OUT]
    dense(n.numbers, n.sizes[HEAD_EMBEDDING], hidden, scratch, width, scratch, bracket)
    for q in range(0, columns, 16):
        out = load(scratch, width + q)
        for h in range(hidden):
            unit = spread(scratch[bracket + h] + n.numbers[bias + h])
            for k in range(count):
                weight = spread(n.numbers[weights + active[k] * hidden + h])
                x = load(scratch, inputs + active[k] * columns + q)
                unit = multiply_add(weight, x, unit)
            out = multiply_add(spread(n.numbers[out_weights + h]), relu(unit), out)
        store(scratch, width + q, out)


@inlined
def residual_scores(n: Net, a: Arrays, s: State, z: Completion, w: Work, i: int) -> int:
    """s · φ(m(l)) + θ5 μ + correction into `w.costs[2]`; returns the best label.

    `w.scratch` holds μ and θ5 μ. Its inputs are all zero but for the margins, before and after.
    """
    width, columns, costs, x = n.sizes[WIDTH], n.sizes[COLUMNS], w.costs, w.scratch
    relative_costs(a, n.sizes[COST_MODE], s, z, i, costs[0])
    margins(costs[0], costs[1])
    inputs = width + columns + n.sizes[HIDDEN]
    for label in range(costs.shape[1]):
        squashed_margin = squashed(costs[1, label])
        x[inputs + label] = squashed_margin
        costs[1, label] = squashed_margin if n.sizes[SQUASH] else costs[1, label]
    default = inputs + columns + z.default[i]
    x[default] = 1.0
    count = add_clique_inputs(a, s, i, x, inputs, columns, w.active, 1)
    correct(n, x, w.active, count)
    x[default] = 0.0
    if count > 2:
        add_clique_inputs(a, s, i, x, inputs, columns, w.active, 0)
    scale = n.numbers[n.sizes[SCALE]]
    best, value = 0, -np.inf
    for label in range(costs.shape[1]):
        score = scale * costs[1, label] + x[width + label]
        costs[2, label] = score
        best = label if score > value else best
        value = max(score, value)
    return best


@leaf
def highest(scores: Float32Array, start: int, count: int) -> int:
    """The first of the largest of scores[start : start + count], counted from start."""
    best, value = 0, scores[start]
    for label in range(1, count):
        higher = scores[start + label] > value
        best = label if higher else best
        value = scores[start + label] if higher else value
    return best


@leaf
def logits(
    n: Net, g: Graph, rows: Float32Array, n_nodes: int, i: int, label: int, scratch: Float32Array
) -> None:
    """θ5 μ_i into scratch[P : P + Q], after μ_i itself."""
    width = n.sizes[WIDTH]
    embed(n, g, rows, n_nodes, n.sizes[ROUNDS] - 1, i, label, scratch)
    dense(n.numbers, n.sizes[OUT], n.sizes[COLUMNS], scratch, width, scratch, width)


@inlined
def score_node(n: Net, g: Graph, a: Arrays, s: State, z: Completion, w: Work, i: int) -> int:
    """Scores of the unlabeled node i into `w.costs[2]`, −inf where not allowed; its best label."""
    width, n_labels = n.sizes[WIDTH], w.costs.shape[1]
    logits(n, g, w.rows, len(w.best), i, s.labels[i], w.scratch)
    if n.sizes[KIND] == PAPER:
        for label in range(n_labels):
            w.costs[2, label] = w.scratch[width + label]
        best = highest(w.scratch, width, n_labels)
    else:
        best = residual_scores(n, a, s, z, w, i)
    if not w.restricted[i]:
        return best
    for label in range(n_labels):
        if np.isinf(a.unary[i, label]):
            w.costs[2, label] = -np.inf
    for label in range(n_labels):
        best = label if w.costs[2, label] > w.costs[2, best] else best
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
