"""A CRF laid out for expansion moves: costs by label, and one network that every move's cut reuses.

The network has a node for each of the N nodes and one more, N + b, for the z_b of each HOP1 box:

    w_b · min(#{y_i = l_b}, #{y_i ≠ l_b}) = min_z Σ_i w_b [z ≠ [y_i = l_b]].

Its arcs are the Potts edges, the pairwise tables and the pairs (member, z_b). Which of them a move
uses, and with what capacity, depends on the labels (see `expansion_move`). Label costs and robust
Potts add nodes after those (see `expansion_terms`). What is taken, and what not: `refusals`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import kernel, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.checks import frozen
from policrf.crf.model import CRF
from policrf.crf.potentials import AGREE, COUNTED, DOMINANT, SUPPORT, TABLE
from policrf.crf.tabulate import tabulate_clique
from policrf.solvers.cuts.expansion_terms import (
    ALL_ARC,
    OWN_ARC,
    Terms,
    clique_prices,
    term_edges,
)
from policrf.solvers.cuts.maxflow import Network, new_network
from policrf.types import FloatArray, IntArray

ROUNDING = 1e-12  # of the largest capacity at a node: what counts as nothing there


class MoveProblem(NamedTuple):
    """N nodes, L labels, B HOP1 boxes, A arcs; arc k of node i has ptr[i] ≤ k < ptr[i + 1]."""

    costs: FloatArray  # [L, N]  unaries and cliques of one node, the lowest of each node 0
    network: Network  # of N + B nodes, and those of the terms
    weight: FloatArray  # [A]  w_ij of a Potts arc, factor of a table, w_b of an arc to a z_b, the
    # largest capacity of an arc of a term
    table: IntArray  # [A]  where the arc's table begins in `data`; −1 for the other arcs
    own_stride: IntArray  # [A]  stride of the arc's own node in the table
    other_stride: IntArray  # [A]  stride of its head
    data: FloatArray
    box_label: IntArray  # [B]
    box_weight: FloatArray  # [B]
    terms: Terms  # label costs and robust Potts


class _Edges(NamedTuple):
    """Edges of the network, each to become two arcs."""

    tails: IntArray
    heads: IntArray
    weights: FloatArray
    tables: IntArray  # where the table begins; −1 where there is none
    strides: IntArray  # [2, edges]; of either end in the table


def move_problem(crf: CRF) -> MoveProblem:
    """Lay `crf` out, HOP2 left aside; `refuse_what_no_cut_takes` has been called before."""
    arrays = crf.arrays
    boxes = np.flatnonzero(arrays.clique_kind == AGREE)
    added = term_edges(arrays, crf.n_nodes + len(boxes))
    own = _edges(arrays, boxes)
    none = np.full(len(added.tails), -1, np.int64)
    edges = _Edges(
        tails=np.concatenate([own.tails, added.tails]),
        heads=np.concatenate([own.heads, added.heads]),
        weights=np.concatenate([own.weights, added.weights]),
        tables=np.concatenate([own.tables, none]),
        strides=np.concatenate([own.strides, np.zeros((2, len(none)), np.int64)], axis=1),
    )
    n_nodes = crf.n_nodes + len(boxes) + added.n_nodes
    ptr, head, sister, edge, backward = _group_arcs(n_nodes, edges.tails, edges.heads)
    forward = np.flatnonzero(backward == 0)
    arc_of = np.empty(len(edges.tails), np.int64)
    arc_of[edge[forward]] = forward
    added.terms.members[:, [OWN_ARC, ALL_ARC]] = arc_of[len(own.tails) :].reshape(2, -1).T
    problem = MoveProblem(
        costs=_costs(crf),
        network=new_network(ptr, head, sister),
        weight=edges.weights[edge],
        table=edges.tables[edge],
        own_stride=edges.strides[backward, edge],
        other_stride=edges.strides[1 - backward, edge],
        data=arrays.data,
        box_label=arrays.clique_label[boxes],
        box_weight=arrays.clique_weight[boxes],
        terms=added.terms,
    )
    _set_tolerances(problem, arrays.cardinalities)
    return problem


def _edges(arrays: Arrays, boxes: IntArray) -> _Edges:
    """Potts edges, then tables of two nodes, then the pairs (member, z_b)."""
    sizes, first = np.diff(arrays.clique_ptr), arrays.clique_ptr
    pairs = np.flatnonzero((arrays.clique_kind == TABLE) & (sizes == 2))
    members = np.flatnonzero(np.repeat(arrays.clique_kind == AGREE, sizes))
    z_nodes = len(arrays.unary) + np.repeat(np.arange(len(boxes)), sizes[boxes])
    nodes = arrays.clique_nodes
    potts, boxed = np.full(len(arrays.edges), -1), np.full(len(members), -1)
    ends = [arrays.clique_stride[first[pairs] + side] for side in range(2)]
    strides = [np.concatenate([0 * potts, end, 0 * boxed]) for end in ends]
    box_weights = np.repeat(arrays.clique_weight[boxes], sizes[boxes])
    return _Edges(
        tails=np.concatenate([arrays.edges[:, 0], nodes[first[pairs]], nodes[members]]),
        heads=np.concatenate([arrays.edges[:, 1], nodes[first[pairs] + 1], z_nodes]),
        weights=np.concatenate([arrays.edge_weights, arrays.clique_weight[pairs], box_weights]),
        tables=np.concatenate([potts, arrays.data_start[pairs], boxed]),
        strides=np.stack(strides),
    )


def without_quotas(arrays: Arrays) -> Arrays:
    """The same CRF with every HOP2 penalty 0: the energy that the moves see."""
    weights = np.where(arrays.clique_kind == SUPPORT, 0.0, arrays.clique_weight)
    return arrays._replace(clique_weight=frozen(weights))


def _costs(crf: CRF) -> FloatArray:
    """What labels cost on their own, [L, N]; where none is allowed, all cost nothing."""
    a, costs = crf.arrays, crf.unary.copy()
    sizes = np.diff(a.clique_ptr)
    alone = (sizes == 1) & np.isin(a.clique_kind, (TABLE, COUNTED, DOMINANT))
    for c in np.flatnonzero(alone):
        table = tabulate_clique(crf, int(c))
        costs[a.clique_nodes[a.clique_ptr[c]], : len(table)] += table
    priced = np.flatnonzero((a.clique_kind == COUNTED) & (sizes > 1))
    forbids = np.isinf(clique_prices(a, priced)[:, :-1])
    for t in np.flatnonzero(forbids.any(axis=1)):
        c = priced[t]
        members = a.clique_nodes[a.clique_ptr[c] : a.clique_ptr[c + 1]]
        costs[np.ix_(members, np.flatnonzero(forbids[t]))] = np.inf
    lowest = costs.min(axis=1, keepdims=True)
    costs -= np.where(np.isfinite(lowest), lowest, 0.0)
    costs[~np.isfinite(lowest[:, 0])] = 0.0
    return np.ascontiguousarray(costs.T)


@kernel
def _group_arcs(
    n_nodes: int, tails: IntArray, heads: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray]:
    """Both arcs of every edge, grouped by tail: ptr, head, sister, the edge, 1 where backward."""
    ptr = np.zeros(n_nodes + 1, np.int64)
    for e in range(len(tails)):
        ptr[tails[e] + 1] += 1
        ptr[heads[e] + 1] += 1
    for i in range(n_nodes):
        ptr[i + 1] += ptr[i]
    place = ptr[:-1].copy()
    head, sister, edge, backward = np.zeros((4, 2 * len(tails)), np.int64)
    for e in range(len(tails)):
        there, back = place[tails[e]], place[heads[e]]
        place[tails[e]] += 1
        place[heads[e]] += 1
        head[there], head[back] = heads[e], tails[e]
        sister[there], sister[back] = back, there
        edge[there], edge[back] = e, e
        backward[back] = 1
    return ptr, head, sister, edge, backward


@leaf
def _set_tolerances(p: MoveProblem, cardinalities: IntArray) -> None:
    g = p.network
    for i in range(len(g.tolerance)):
        largest = 0.0
        for k in range(g.ptr[i], g.ptr[i + 1]):
            if p.table[k] >= 0:
                size = cardinalities[i] * cardinalities[g.head[k]]
                for entry in range(p.table[k], p.table[k] + size):
                    if np.isfinite(p.data[entry]):
                        largest = max(largest, abs(p.weight[k] * p.data[entry]))
            else:
                largest = max(largest, p.weight[k])
        g.tolerance[i] = ROUNDING * largest
