"""The graph embedding network, one node and one layer at a time (section "Policy Function").

    μ_i^(k+1) = ReLU(θ1^(k) h_i + θ2^(k) ỹ_i + θ3^(k) b_i + Σ_j w(i, j) θ4^(k) μ_j^(k)),   μ^(0) = 0

What a state cannot change, θ3 b_i, is a node's base row; what it sends, θ4^(k) μ_j^(k), its
message; both are kept for every node and layer. An embedding is then the base row, the row of the
node's own label and one weighted sum of its neighbours' messages, always in the same order: a pure
function of the labeling, so that nothing drifts however many steps are taken and undone.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, leaf
from policrf.mdp.graph import Graph
from policrf.policy.lanes import add, load, multiply_add, relu, spread, store
from policrf.policy.net import BIAS, FEATURES, LAYERS, MIX, OWN, WIDTH, Net
from policrf.types import Float32Array

ZERO = np.float32(0.0)


@leaf
def dense(
    matrix: Float32Array,
    start: int,
    width: int,
    x: Float32Array,
    size: int,
    out: Float32Array,
    to: int,
) -> None:
    """out[to + q] = Σ_k x[k] · matrix[start + k · width + q], q < `width`, which is whole lanes."""
    q = 0
    while q + 32 <= width:
        a0, a1, b0, b1 = spread(ZERO), spread(ZERO), spread(ZERO), spread(ZERO)
        row = start + q
        for k in range(0, size - 1, 2):  # two sums in flight hide the latency of an addition
            x0, x1 = spread(x[k]), spread(x[k + 1])
            a0 = multiply_add(x0, load(matrix, row), a0)
            a1 = multiply_add(x0, load(matrix, row + 16), a1)
            row += width
            b0 = multiply_add(x1, load(matrix, row), b0)
            b1 = multiply_add(x1, load(matrix, row + 16), b1)
            row += width
        if size % 2:
            x0 = spread(x[size - 1])
            a0 = multiply_add(x0, load(matrix, row), a0)
            a1 = multiply_add(x0, load(matrix, row + 16), a1)
        store(out, to + q, add(a0, b0))
        store(out, to + q + 16, add(a1, b1))
        q += 32
    if q < width:
        a0, b0 = spread(ZERO), spread(ZERO)
        row = start + q
        for k in range(0, size - 1, 2):
            a0 = multiply_add(spread(x[k]), load(matrix, row), a0)
            b0 = multiply_add(spread(x[k + 1]), load(matrix, row + width), b0)
            row += 2 * width
        if size % 2:
            a0 = multiply_add(spread(x[size - 1]), load(matrix, row), a0)
        store(out, to + q, add(a0, b0))


@leaf
def embed(
    n: Net,
    g: Graph,
    rows: Float32Array,
    n_nodes: int,
    k: int,
    i: int,
    label: int,
    out: Float32Array,
) -> None:
    """μ_i^(k+1) into the first P entries of `out`; label −1 = none."""
    layers, width = n.sizes[LAYERS], n.sizes[WIDTH]
    base = (k * n_nodes + i) * width
    own = n.sizes[OWN] + (k * own_labels(n) + label) * width
    incoming = (layers + k - 1) * n_nodes * width
    first, last = (g.ptr[i], g.ptr[i + 1]) if k > 0 else (0, 0)
    q = 0
    while q + 32 <= width:
        a0, a1 = load(rows, base + q), load(rows, base + q + 16)
        if label >= 0:
            a0 = add(a0, load(n.numbers, own + q))
            a1 = add(a1, load(n.numbers, own + q + 16))
        for e in range(first, last):
            at = incoming + g.node[e] * width + q
            w = spread(g.weight[e])
            a0 = multiply_add(w, load(rows, at), a0)
            a1 = multiply_add(w, load(rows, at + 16), a1)
        store(out, q, relu(a0))
        store(out, q + 16, relu(a1))
        q += 32
    if q < width:
        a0 = load(rows, base + q)
        if label >= 0:
            a0 = add(a0, load(n.numbers, own + q))
        for e in range(first, last):
            at = incoming + g.node[e] * width + q
            a0 = multiply_add(spread(g.weight[e]), load(rows, at), a0)
        store(out, q, relu(a0))


@inner
def own_labels(n: Net) -> int:
    """L, from the size of the tensor [K, L, P]."""
    return int((n.sizes[FEATURES] - n.sizes[OWN]) // (n.sizes[LAYERS] * n.sizes[WIDTH]))


@leaf
def send(
    n: Net, g: Graph, rows: Float32Array, n_nodes: int, k: int, i: int, label: int,
    scratch: Float32Array,
) -> None:  # fmt: skip
    """The message of node i after layer k + 1."""
    width = n.sizes[WIDTH]
    embed(n, g, rows, n_nodes, k, i, label, scratch)
    matrix = n.sizes[MIX] + k * width * width
    to = ((n.sizes[LAYERS] + k) * n_nodes + i) * width
    dense(n.numbers, matrix, width, scratch, width, rows, to)


@leaf
def fill_base(n: Net, features: Float32Array, rows: Float32Array) -> None:
    """θ3 b_i (+ bias) of every node and layer; `features` is [N, F]."""
    layers, width = n.sizes[LAYERS], n.sizes[WIDTH]
    n_nodes, size = features.shape
    for i in range(n_nodes):
        for k in range(layers):
            to = (k * n_nodes + i) * width
            start = n.sizes[FEATURES] + k * size * width
            dense(n.numbers, start, width, features[i], size, rows, to)
            bias = n.sizes[BIAS] + k * width
            for q in range(0, width, 16):
                store(rows, to + q, add(load(rows, to + q), load(n.numbers, bias + q)))


@inner
def copy_row(source: Float32Array, at: int, target: Float32Array, to: int, width: int) -> None:
    """target[to : to + width] = source[at : at + width], whole lanes."""
    for q in range(0, width, 16):
        store(target, to + q, load(source, at + q))
