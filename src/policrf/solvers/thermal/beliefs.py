"""Sum-product messages at one temperature over Potts edges and tables of up to three nodes.

A node's belief is the product of exp(−unary / T), of what its terms tell it, and of its last belief
to the power `pull`: it is reinforced by what it believed itself. It tells each term its belief
without what that term has told it. Nodes are visited one after the other, and what one says counts
at once.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, leaf
from policrf.crf.arrays import Arrays
from policrf.random_numbers import Generator, uniform
from policrf.types import Float32Array, FloatArray, IntArray

LEAST = 1e-12  # of what a term tells, so that it can be divided by
TINY = 1e-30  # of a belief, so that it has a logarithm
FADED = 1e-100  # a product that is scaled up again
STEEP = 60.0  # an edge's weight in units of the temperature, at most
DOUBT = 0.01  # most that luck adds to a first belief: labels that are alike have to be told apart


class Beliefs(NamedTuple):
    """Mutable; N nodes, L labels, E edges, C tables with M members and S entries in all."""

    edge_factors: FloatArray  # [E]; exp(−weight / T)
    table_starts: IntArray  # [C]
    table_factors: Float32Array  # [S]; exp(−(cost − the table's lowest) / T)
    to_edges: Float32Array  # [2 E, L]; rows 2 e and 2 e + 1: what the ends of edge e tell it
    to_tables: Float32Array  # [M + 1, L]; what members tell their table; the last row is nobody's
    logs: FloatArray  # [N, L]; of the beliefs
    belief: FloatArray  # [L]
    told: FloatArray  # [most terms of a node, L]


def new_beliefs(a: Arrays) -> Beliefs:
    """Nobody has told anything yet; the factors are not computed (`weigh`)."""
    n_labels = a.unary.shape[1]
    terms = int((np.diff(a.adj_ptr) + np.diff(a.node_ptr)).max())
    beliefs = Beliefs(
        edge_factors=np.empty(len(a.edges)),
        table_starts=np.cumsum(a.data_size) - a.data_size,
        table_factors=np.empty(int(a.data_size.sum()), np.float32),
        to_edges=np.zeros((2 * len(a.edges), n_labels), np.float32),
        to_tables=np.zeros((len(a.clique_nodes) + 1, n_labels), np.float32),
        logs=np.zeros(a.unary.shape),
        belief=np.empty(n_labels),
        told=np.empty((terms, n_labels)),
    )
    beliefs.to_tables[-1] = 1.0
    return beliefs


@leaf
def weigh(a: Arrays, b: Beliefs, temperature: float, first: int, stop: int) -> None:
    """The factors of the terms first … stop − 1, edges before tables."""
    n_edges = len(a.edges)
    for e in range(first, min(stop, n_edges)):
        steepness = a.edge_weights[e] / temperature
        b.edge_factors[e] = math.exp(-min(max(steepness, -STEEP), STEEP))
    for c in range(max(first, n_edges) - n_edges, stop - n_edges):
        start, size, factor = a.data_start[c], a.data_size[c], a.clique_weight[c]
        low = np.inf
        for k in range(start, start + size):
            low = min(low, factor * a.data[k])
        for k in range(size):
            cost = factor * a.data[start + k] - low
            b.table_factors[b.table_starts[c] + k] = math.exp(-cost / temperature)


@leaf
def visit(
    a: Arrays, b: Beliefs, generator: Generator, temperature: float, pull: float, backward: bool,
    first: int, stop: int,
) -> None:  # fmt: skip
    """The visits first … stop − 1 of a sweep, from the last node on if `backward`.

    A first sweep, without `pull`, adds some doubt.
    """
    for n in range(first, stop):
        i = len(b.logs) - 1 - n if backward else n
        low = np.inf
        for x in range(a.cardinalities[i]):
            low = min(low, a.unary[i, x])
        for x in range(a.cardinalities[i]):
            b.belief[x] = math.exp(pull * b.logs[i, x] - (a.unary[i, x] - low) / temperature)
            if pull == 0:
                b.belief[x] *= 1 + DOUBT * uniform(generator)
        listen(a, b, i)
        believe(a, b, i)
        tell(a, b, i)


@inner
def listen(a: Arrays, b: Beliefs, i: int) -> None:
    """What the terms of node i tell it, one row of `told` each, multiplied into its belief."""
    n_labels, at = a.cardinalities[i], 0
    for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        e = a.adj_edge[k]
        row = 2 * e + (1 if a.edges[e, 0] == i else 0)
        factor, total = b.edge_factors[e], 0.0
        for x in range(b.to_edges.shape[1]):
            total += b.to_edges[row, x]
        # own label's part + factor · all others', over the larger of 1 and the factor
        base, slope = (factor * total, 1 - factor) if factor <= 1 else (total, 1 / factor - 1)
        for x in range(n_labels):
            b.told[at, x] = max(base + slope * b.to_edges[row, x], 0.0) + LEAST
        take_in(b, at, n_labels)
        at += 1
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        ask_table(a, b, a.node_clique[k], a.node_entry[k], b.told[at])
        take_in(b, at, n_labels)
        at += 1


@inner
def take_in(b: Beliefs, at: int, n_labels: int) -> None:
    """Multiply a row of `told` into the belief."""
    most = 0.0
    for x in range(n_labels):
        b.belief[x] *= b.told[at, x]
        most = max(most, b.belief[x])
    if most < FADED:
        for x in range(n_labels):
            b.belief[x] /= most


@inner
def ask_table(a: Arrays, b: Beliefs, c: int, own: int, told: FloatArray) -> None:
    """What table c tells its member `own`: the sum over the labels of up to two others."""
    second = third = len(b.to_tables) - 1  # nobody: one label
    seconds, thirds, second_stride, third_stride = 1, 1, 0, 0
    for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
        if m != own:
            third, thirds, third_stride = second, seconds, second_stride
            second, second_stride = m, a.clique_stride[m]
            seconds = a.cardinalities[a.clique_nodes[m]]
    start, stride = b.table_starts[c], a.clique_stride[own]
    for x in range(a.cardinalities[a.clique_nodes[own]]):
        total = 0.0
        for z in range(thirds):
            at = start + stride * x + third_stride * z
            part = 0.0
            for y in range(seconds):
                part += b.table_factors[at + second_stride * y] * b.to_tables[second, y]
            total += part * b.to_tables[third, z]
        told[x] = total + LEAST


@inner
def believe(a: Arrays, b: Beliefs, i: int) -> None:
    """Make the belief of node i sum to 1, and keep its logarithm."""
    total = 0.0
    for x in range(a.cardinalities[i]):
        total += b.belief[x]
    for x in range(a.cardinalities[i]):
        b.belief[x] = b.belief[x] / total
        b.logs[i, x] = math.log(max(b.belief[x], TINY))


@inner
def tell(a: Arrays, b: Beliefs, i: int) -> None:
    """Tell every term of node i its belief, divided by what the term has told it."""
    at = 0
    for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        e = a.adj_edge[k]
        row = 2 * e + (0 if a.edges[e, 0] == i else 1)
        tell_term(b, at, a.cardinalities[i], b.to_edges[row])
        at += 1
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        tell_term(b, at, a.cardinalities[i], b.to_tables[a.node_entry[k]])
        at += 1


@inner
def tell_term(b: Beliefs, at: int, n_labels: int, out: Float32Array) -> None:
    """The belief divided by a row of `told`, summing to 1."""
    total = 0.0
    for x in range(n_labels):
        b.told[at, x] = b.belief[x] / b.told[at, x]
        total += b.told[at, x]
    for x in range(n_labels):
        out[x] = b.told[at, x] / total


@leaf
def likeliest(a: Arrays, b: Beliefs, labels: IntArray) -> None:
    """The label of the highest belief of every node, into labels [N]."""
    for i in range(len(labels)):
        best = 0
        for x in range(1, a.cardinalities[i]):
            if b.logs[i, x] > b.logs[i, best]:
                best = x
        labels[i] = best
