"""The shared kind's graph network over (node, label), once an instance, in lanes.

    h_i^(k+1)(l) = ReLU(Σ_s M_s^(k) a_s^(k) + b^(k)),  s over `network.SOURCES`

A layer goes over the cliques once (each adds its mean to what its members hear), then over the
nodes. What is the same for all nodes (the graph's mean) or for all labels of a node (the pools) is
multiplied once. In the end nodes keep r_i(l), and B h_i^(K)(l) + c, where the head goes on from.
Cliques of two nodes are left out: they are edges of the graph.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, leaf
from policrf.crf.arrays import Arrays
from policrf.mdp.graph import Graph
from policrf.policy.lanes import add, load, multiply_add, padded, relu, spread, store, total
from policrf.policy.layers import ZERO, dense
from policrf.policy.net import (
    BIAS,
    FEATURES,
    HEAD_BIAS,
    HIDDEN,
    MIX,
    OUT,
    PRIOR_INPUTS,
    PRIOR_OUT,
    STATIC_LAYERS,
    STATIC_WIDTH,
    WIDTH,
    Net,
)
from policrf.types import BoolArray, Float32Array, FloatArray

SMALLEST_CLIQUE = 3


class StaticRoom(NamedTuple):
    """N nodes, L labels, D and P padded inputs and width, W the larger of them. Flat arrays."""

    inputs: Float32Array  # [N, L, D]
    averaged: BoolArray  # [C]; which cliques members hear of
    share: Float32Array  # [N]; 1 / how many of them a node has
    now: Float32Array  # [N, L, W]; a layer …
    following: Float32Array  # [N, L, W]; … and the next one
    cliques: Float32Array  # [N, L, W]; what nodes hear through cliques
    hop: Float32Array  # [L, W]; sums in progress: a clique's, the graph's, a node's neighbours'
    graph: Float32Array  # [L, P]; what all nodes hear
    pools: Float32Array  # [2 W + P]; mean and highest over the labels of a node, what comes of it


def averaged_cliques(a: Arrays) -> tuple[BoolArray, Float32Array]:
    """Which cliques members hear of `[C]`, and one over their number for every node `[N]`."""
    sizes = np.diff(a.clique_ptr)
    chosen = sizes >= SMALLEST_CLIQUE
    count = np.bincount(a.clique_nodes[np.repeat(chosen, sizes)], minlength=len(a.unary))
    return chosen, (1 / np.maximum(count, 1)).astype(np.float32)


def new_static_room(net: Net, arrays: Arrays, inputs: Float32Array) -> StaticRoom:
    """Room for an instance, with its static inputs `[N, L, D]`."""
    n_nodes, n_labels, size = inputs.shape
    width, columns = int(net.sizes[WIDTH]), padded(size)
    wide = max(width, columns)
    lined_up = np.zeros((n_nodes, n_labels, columns), np.float32)
    lined_up[:, :, :size] = inputs
    averaged, share = averaged_cliques(arrays)
    some = n_nodes if averaged.any() else 0
    return StaticRoom(
        inputs=lined_up.reshape(-1),
        averaged=averaged,
        share=share,
        now=np.zeros(n_nodes * n_labels * wide, np.float32),
        following=np.zeros(n_nodes * n_labels * wide, np.float32),
        cliques=np.zeros(some * n_labels * wide, np.float32),
        hop=np.zeros(n_labels * wide, np.float32),
        graph=np.zeros(n_labels * width, np.float32),
        pools=np.zeros(2 * wide + width, np.float32),
    )


@leaf
def fill_static(
    n: Net, g: Graph, a: Arrays, room: StaticRoom, rows: Float32Array, prior: FloatArray
) -> None:
    """r into `prior` [N, L], B h + c into `rows` [N, L, H], flat."""
    size, width, layers = n.sizes[STATIC_WIDTH], n.sizes[WIDTH], n.sizes[STATIC_LAYERS]
    now, following = room.inputs, room.following
    for k in range(layers):
        matrix = n.sizes[FEATURES]
        if k > 0:
            size = width
            matrix = n.sizes[MIX] + (k - 1) * 6 * width * width
        mix_layer(n, g, a, room, now, following, size, matrix, n.sizes[BIAS] + k * width)
        now = following
        following = room.now if k % 2 == 0 else room.following
    hidden, entry = n.sizes[HIDDEN], n.sizes[STATIC_WIDTH]
    n_nodes, n_labels = prior.shape
    for i in range(n_nodes):
        for label in range(n_labels):
            row = i * n_labels + label
            out = spread(ZERO)
            for q in range(0, width, 16):
                weight = load(n.numbers, n.sizes[PRIOR_OUT] + q)
                out = multiply_add(load(now, row * width + q), weight, out)
            for q in range(0, entry, 16):
                weight = load(n.numbers, n.sizes[PRIOR_INPUTS] + q)
                out = multiply_add(load(room.inputs, row * entry + q), weight, out)
            prior[i, label] = total(out)
            for q in range(0, hidden, 16):
                unit = load(n.numbers, n.sizes[HEAD_BIAS] + q)
                for p in range(width):
                    weight = load(n.numbers, n.sizes[OUT] + p * hidden + q)
                    unit = multiply_add(spread(now[row * width + p]), weight, unit)
                store(rows, row * hidden + q, unit)


@inner
def mix_layer(
    n: Net, g: Graph, a: Arrays, room: StaticRoom, now: Float32Array, following: Float32Array,
    size: int, matrix: int, bias: int,
) -> None:  # fmt: skip
    """One layer: `now` [N, L, size] to `following` [N, L, P]; `matrix` is [6, size, P]."""
    n_nodes, n_labels = a.unary.shape
    width = n.sizes[WIDTH]
    span, block = n_labels * size, size * width
    hear_cliques(a, room, now, span)
    hear_graph(room.hop, now, n_nodes, span)
    for label in range(n_labels):
        at = room.hop[label * size : (label + 1) * size]
        dense(n.numbers, matrix + 3 * block, width, at, size, room.graph, label * width)
    for i in range(n_nodes):
        pool_labels(room.pools, now, i * span, n_labels, size)
        pooled = 2 * size
        dense(n.numbers, matrix + 4 * block, width, room.pools, 2 * size, room.pools, pooled)
        for q in range(0, span, 16):
            heard = spread(ZERO)
            for e in range(g.ptr[i], g.ptr[i + 1]):
                neighbour = load(now, g.node[e] * span + q)
                heard = multiply_add(spread(g.weight[e]), neighbour, heard)
            store(room.hop, q, heard)
        for label in range(n_labels):
            own, beside = i * span + label * size, label * size
            for q in range(0, width, 16):
                base = add(load(room.pools, pooled + q), load(room.graph, label * width + q))
                first = add(base, load(n.numbers, bias + q))
                second, third = spread(ZERO), spread(ZERO)
                row = matrix + q
                for p in range(size):
                    first = multiply_add(spread(now[own + p]), load(n.numbers, row), first)
                    weight = load(n.numbers, row + block)
                    second = multiply_add(spread(room.hop[beside + p]), weight, second)
                    row += width
                if len(room.cliques):
                    row = matrix + 2 * block + q
                    for p in range(size):
                        weight = load(n.numbers, row)
                        third = multiply_add(spread(room.cliques[own + p]), weight, third)
                        row += width
                value = relu(add(first, add(second, third)))
                store(following, (i * n_labels + label) * width + q, value)


@inner
def hear_cliques(a: Arrays, room: StaticRoom, now: Float32Array, span: int) -> None:
    """The mean of every node's cliques, each the mean of its members, into `room.cliques`."""
    for q in range(0, min(len(room.cliques), len(room.share) * span), 16):
        store(room.cliques, q, spread(ZERO))
    for c in range(len(room.averaged)):
        if not room.averaged[c]:
            continue
        first, last = a.clique_ptr[c], a.clique_ptr[c + 1]
        part = spread(np.float32(1.0 / (last - first)))
        for q in range(0, span, 16):
            mean = spread(ZERO)
            for m in range(first, last):
                mean = multiply_add(part, load(now, a.clique_nodes[m] * span + q), mean)
            store(room.hop, q, mean)
        for m in range(first, last):
            i = a.clique_nodes[m]
            share = spread(room.share[i])
            for q in range(0, span, 16):
                heard = load(room.cliques, i * span + q)
                store(room.cliques, i * span + q, multiply_add(share, load(room.hop, q), heard))


@inner
def hear_graph(hop: Float32Array, now: Float32Array, n_nodes: int, span: int) -> None:
    """The mean of all nodes into `hop`."""
    part = spread(np.float32(1.0 / n_nodes))
    for q in range(0, span, 16):
        store(hop, q, spread(ZERO))
    for i in range(n_nodes):
        for q in range(0, span, 16):
            store(hop, q, multiply_add(part, load(now, i * span + q), load(hop, q)))


@inner
def pool_labels(pools: Float32Array, now: Float32Array, at: int, n_labels: int, size: int) -> None:
    """Mean and highest over the labels of a node, whose rows begin at `at`, into `pools`."""
    part = np.float32(1.0 / n_labels)
    for p in range(size):
        mean, highest = ZERO, now[at + p]
        for label in range(n_labels):
            value = now[at + label * size + p]
            mean += part * value
            highest = max(highest, value)
        pools[p] = mean
        pools[size + p] = highest
