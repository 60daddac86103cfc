"""The scores of one node, π_i, and its best label (section "Policy Function"; `spec.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from policrf.compiled import inlined, inner, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.state import State
from policrf.mdp.completion import Completion
from policrf.mdp.graph import Graph
from policrf.policy.conditional import margins, relative_costs, special_inputs, squashed
from policrf.policy.kinds import MARGIN_INPUT, N_INPUTS
from policrf.policy.lanes import add, load, multiply_add, relu, spread, store, total
from policrf.policy.layers import ZERO, dense, embed, send
from policrf.policy.net import (
    COLUMNS,
    COST_MODE,
    HEAD_BIAS,
    HEAD_INPUTS,
    HEAD_OUT,
    HIDDEN,
    LAYERS,
    OUT,
    SCALE,
    SEES_COSTS,
    SILENT,
    SQUASH,
    STATIC_LAYERS,
    WIDTH,
    Net,
)
from policrf.policy.shared.clique_counts import count_all
from policrf.policy.shared.scores import shared_scores
from policrf.policy.work import Work
from policrf.types import Float32Array, FloatArray, IntArray


@inner
def correct(
    n: Net, scratch: Float32Array, labels: IntArray, inputs: Float32Array, count: int
) -> None:
    """Add v · ReLU(A x(l) + B μ + c) to the logits of all labels.

    `scratch` holds μ [P], the logits [Q], B μ [H] and the margins [Q]. Most labels have no other
    input than their margin: sixteen of these at once; the `count` special ones, each by itself.
    """
    width, columns, hidden = n.sizes[WIDTH], n.sizes[COLUMNS], n.sizes[HIDDEN]
    bracket, margin_at = width + columns, width + columns + hidden
    weights, out_weights = n.sizes[HEAD_INPUTS], n.sizes[HEAD_OUT]
    for q in range(0, hidden, 16):
        biased = add(load(scratch, bracket + q), load(n.numbers, n.sizes[HEAD_BIAS] + q))
        store(scratch, bracket + q, biased)
    for k in range(count):
        inputs[k, MARGIN_INPUT] = scratch[margin_at + labels[k]]
        out = spread(ZERO)
        for q in range(0, hidden, 16):
            unit = load(scratch, bracket + q)
            for column in range(N_INPUTS):
                x = inputs[k, column]
                if x != 0.0:
                    row = load(n.numbers, weights + column * hidden + q)
                    unit = multiply_add(spread(x), row, unit)
            out = multiply_add(relu(unit), load(n.numbers, out_weights + q), out)
        # The margin's place keeps the result until the others are done.
        inputs[k, MARGIN_INPUT] = scratch[width + labels[k]] + total(out)
    for q in range(0, columns, 16):
        out = load(scratch, width + q)
        margin = load(scratch, margin_at + q)
        for h in range(hidden):
            weight = spread(n.numbers[weights + MARGIN_INPUT * hidden + h])
            unit = multiply_add(weight, margin, spread(scratch[bracket + h]))
            out = multiply_add(spread(n.numbers[out_weights + h]), relu(unit), out)
        store(scratch, width + q, out)
    for k in range(count):
        scratch[width + labels[k]] = inputs[k, MARGIN_INPUT]


@inlined
def refresh_margins(n: Net, a: Arrays, s: State, z: Completion, w: Work, i: int) -> None:
    """φ(m_i(l)) into `w.margins[i]`."""
    relative_costs(a, n.sizes[COST_MODE], s, z, i, w.costs[0])
    margins(w.costs[0], w.costs[1])
    for label in range(w.costs.shape[1]):
        margin = w.costs[1, label]
        w.margins[i, label] = squashed(margin) if n.sizes[SQUASH] else margin
    w.stale[i] = False


@inlined
def residual_scores(n: Net, a: Arrays, s: State, z: Completion, w: Work, i: int) -> None:
    """s · φ(m(l)) + θ5 μ + correction into `w.costs[2]`.

    `w.scratch` holds μ, θ5 μ and B μ.
    """
    width, x = n.sizes[WIDTH], w.scratch
    if w.stale[i]:
        refresh_margins(n, a, s, z, w, i)
    margin, scores = w.margins[i], w.costs[2]
    scale = n.numbers[n.sizes[SCALE]]
    if n.sizes[SILENT]:
        for label in range(len(margin)):
            scores[label] = scale * margin[label]
        return
    at = width + n.sizes[COLUMNS] + n.sizes[HIDDEN]
    for label in range(len(margin)):
        x[at + label] = margin[label] if n.sizes[SQUASH] else squashed(margin[label])
    count = special_inputs(a, s, z, i, w.special, w.inputs)
    correct(n, x, w.special, w.inputs, count)
    for label in range(len(margin)):
        scores[label] = scale * margin[label] + x[width + label]


@leaf
def highest(scores: Any, start: int, count: int) -> int:
    """The first of the largest of scores[start : start + count], counted from start."""
    # Two runs side by side, even and odd, for half the latency.
    even, odd = start, start + min(1, count - 1)
    for k in range(start + 2, start + count - 1, 2):
        even = k if scores[k] > scores[even] else even
        odd = k + 1 if scores[k + 1] > scores[odd] else odd
    if count % 2 and scores[start + count - 1] > scores[even]:
        even = start + count - 1
    if scores[odd] > scores[even] or (scores[odd] == scores[even] and odd < even):
        even = odd
    return even - start


@leaf
def logits(
    n: Net, g: Graph, rows: Float32Array, n_nodes: int, i: int, label: int, scratch: Float32Array
) -> None:
    """μ_i, θ5 μ_i and, of the residual kind, B μ_i into scratch[: P + Q + H]."""
    width = n.sizes[WIDTH]
    embed(n, g, rows, n_nodes, n.sizes[LAYERS] - 1, i, label, scratch)
    columns = n.sizes[COLUMNS] + n.sizes[HIDDEN]
    dense(n.numbers, n.sizes[OUT], columns, scratch, width, scratch, width)


@inlined
def score_node(n: Net, g: Graph, a: Arrays, s: State, z: Completion, w: Work, i: int) -> int:
    """Scores of the unlabeled node i into `w.costs[2]`, −inf where not allowed; its best label."""
    width, scores = n.sizes[WIDTH], w.costs[2]
    if n.sizes[SILENT] == 0 and n.sizes[STATIC_LAYERS] == 0:
        logits(n, g, w.rows, len(w.best), i, s.labels[i], w.scratch)
    if n.sizes[STATIC_LAYERS]:
        shared_scores(n, g, a, s, z, w, i)
    elif n.sizes[SEES_COSTS]:
        residual_scores(n, a, s, z, w, i)
    else:
        for label in range(len(scores)):
            scores[label] = w.scratch[width + label]
    if w.restricted[i]:
        for label in range(len(scores)):
            if np.isinf(a.unary[i, label]):
                scores[label] = -np.inf
    return highest(scores, 0, len(scores))


@leaf
def score_all(n: Net, g: Graph, a: Arrays, s: State, z: Completion, w: Work) -> None:
    """Every message and score from scratch; the tournament's matches are left to `rebuild`."""
    n_nodes = len(w.best)
    count_all(a, w.counted, s.labels)
    for k in range(0 if n.sizes[SILENT] else n.sizes[LAYERS] - 1):
        for i in range(n_nodes):
            send(n, g, w.rows, n_nodes, k, i, s.labels[i], w.scratch)
    for i in range(n_nodes):
        w.stale[i] = True
        w.scores.values[i] = -np.inf
        if s.labels[i] < 0:
            w.best[i] = score_node(n, g, a, s, z, w, i)
            w.scores.values[i] = w.costs[2, w.best[i]]
    for k in range(len(w.added)):
        w.added[k] = s.added[k]


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
