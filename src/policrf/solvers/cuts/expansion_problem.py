"""A CRF laid out for expansion moves: costs by label, and one network that every move's cut reuses.

The network has a node for each of the N nodes and one more, N + b, for the z_b of each HOP1 box:

    w_b · min(#{y_i = l_b}, #{y_i ≠ l_b}) = min_z Σ_i w_b [z ≠ [y_i = l_b]].

Its arcs are the Potts edges, the pairwise tables and the pairs (member, z_b). Which of them a move
uses, and with what capacity, depends on the labels (see `expansion_move`).

Taken exactly: unaries, Potts with w ≥ 0, HOP1, tables of order 1 (added to the unaries) and those
of order 2 whose every move is submodular: θ(α,α) + θ(b,c) ≤ θ(b,α) + θ(α,c) for all labels allowed
at the two nodes. The rest is refused by name.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import kernel, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.checks import frozen
from policrf.crf.model import CRF
from policrf.crf.potentials import AGREE, SUPPORT, TABLE, CliquePotential, Potts, Tables
from policrf.errors import UnsupportedPotential
from policrf.solvers.cuts.maxflow import Network, new_network
from policrf.types import FloatArray, IntArray

ROUNDING = 1e-12  # of the largest capacity at a node: what counts as nothing there


class MoveProblem(NamedTuple):
    """N nodes, L labels, B HOP1 boxes, A arcs; arc k of node i has ptr[i] ≤ k < ptr[i + 1]."""

    costs: FloatArray  # [L, N]  unaries and order-1 tables, the lowest of each node 0
    network: Network  # of N + B nodes
    weight: FloatArray  # [A]  w_ij of a Potts arc, factor of a table, w_b of an arc to a z_b
    table: IntArray  # [A]  where the arc's table begins in `data`; −1 for the other arcs
    own_stride: IntArray  # [A]  stride of the arc's own node in the table
    other_stride: IntArray  # [A]  stride of its head
    data: FloatArray
    box_label: IntArray  # [B]
    box_weight: FloatArray  # [B]


def move_problem(crf: CRF) -> MoveProblem:
    """Lay `crf` out, HOP2 left aside; `refuse_what_no_cut_takes` has been called before."""
    arrays, n_nodes = crf.arrays, crf.n_nodes
    sizes = np.diff(arrays.clique_ptr)
    pairs = np.flatnonzero((arrays.clique_kind == TABLE) & (sizes == 2))
    boxes = np.flatnonzero(arrays.clique_kind == AGREE)
    first = arrays.clique_ptr
    members = np.flatnonzero(np.repeat(arrays.clique_kind == AGREE, sizes))
    z_nodes = n_nodes + np.repeat(np.arange(len(boxes)), sizes[boxes])
    tails = np.concatenate(
        [arrays.edges[:, 0], arrays.clique_nodes[first[pairs]], arrays.clique_nodes[members]]
    )
    heads = np.concatenate([arrays.edges[:, 1], arrays.clique_nodes[first[pairs] + 1], z_nodes])
    n_potts, n_boxed = len(arrays.edges), len(members)
    box_weight = arrays.clique_weight[boxes]
    weights = np.concatenate(
        [arrays.edge_weights, arrays.clique_weight[pairs], np.repeat(box_weight, sizes[boxes])]
    )
    tables = np.full(len(tails), -1, np.int64)
    tables[n_potts : len(tails) - n_boxed] = arrays.data_start[pairs]
    strides = np.zeros((2, len(tails)), np.int64)
    for side in range(2):
        strides[side, n_potts : len(tails) - n_boxed] = arrays.clique_stride[first[pairs] + side]

    ptr, head, sister, edge, backward = _group_arcs(n_nodes + len(boxes), tails, heads)
    network = new_network(ptr, head, sister)
    problem = MoveProblem(
        costs=_costs(crf),
        network=network,
        weight=weights[edge],
        table=tables[edge],
        own_stride=strides[backward, edge],
        other_stride=strides[1 - backward, edge],
        data=arrays.data,
        box_label=arrays.clique_label[boxes],
        box_weight=box_weight,
    )
    _set_tolerances(problem, arrays.cardinalities)
    return problem


def without_quotas(arrays: Arrays) -> Arrays:
    """The same CRF with every HOP2 penalty 0: the energy that the moves see."""
    weights = np.where(arrays.clique_kind == SUPPORT, 0.0, arrays.clique_weight)
    return arrays._replace(clique_weight=frozen(weights))


def _costs(crf: CRF) -> FloatArray:
    """Unaries and order-1 tables by label [L, N]; where no label is allowed, all cost nothing."""
    costs = crf.unary.copy()
    for group in crf.groups(Tables):
        assert isinstance(group, Tables)
        for t in np.flatnonzero(group.cliques.sizes == 1):
            table = group.table(int(t))
            costs[group.cliques[int(t)][0], : len(table)] += table
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


def refuse_what_no_cut_takes(crf: CRF, solver: str) -> None:
    """Raise `UnsupportedPotential` for negative Potts weights and for tables no cut represents."""
    for group in crf.groups(Potts):
        assert isinstance(group, Potts)
        if (group.weights < 0).any():
            e = int(np.argmax(group.weights < 0))
            raise UnsupportedPotential(
                f"{solver} cannot take Potts with negative weights: weights[{e}] is "
                f"{group.weights[e]}, which no cut represents; try tree_reweighted or exact"
            )
    start = 0
    for group in crf.groups(CliquePotential):
        assert isinstance(group, CliquePotential)
        if isinstance(group, Tables):
            _refuse_tables(crf, group, start, solver)
        start += len(group)


def _refuse_tables(crf: CRF, group: Tables, start: int, solver: str) -> None:
    large = np.flatnonzero(group.cliques.sizes > 2)
    if large.size:
        t = int(large[0])
        raise UnsupportedPotential(
            f"{solver} cannot take Tables of order {group.cliques.sizes[t]} (table {t}, nodes "
            f"{group.cliques[t].tolist()}); it takes order 1 and 2. Try belief_propagation or exact"
        )
    c = int(_first_non_metric(crf.arrays, start, start + len(group)))
    if c >= 0:
        t = c - start
        raise UnsupportedPotential(
            f"{solver} cannot take Tables: table {t} (nodes {group.cliques[t].tolist()}) is "
            "non-metric: θ(a,a) + θ(b,c) > θ(b,a) + θ(a,c), or infinite, for labels its nodes may "
            "have, so an expansion move is no minimum cut. Try tree_reweighted or exact"
        )


@leaf
def _first_non_metric(a: Arrays, start: int, stop: int) -> int:
    """The first order-2 table among cliques start … stop − 1 with a move that no cut represents."""
    for c in range(start, stop):
        entry = a.clique_ptr[c]
        if a.clique_ptr[c + 1] - entry == 2 and not _is_metric(a, c, entry):
            return c
    return -1


@leaf
def _is_metric(a: Arrays, c: int, entry: int) -> bool:
    """Whether an order-2 table is finite and submodular in every move its nodes can make."""
    i, j = a.clique_nodes[entry], a.clique_nodes[entry + 1]
    at, stride, factor = a.data_start[c], a.clique_stride[entry], a.clique_weight[c]
    for x in range(a.cardinalities[i]):
        if np.isinf(a.unary[i, x]):
            continue
        for y in range(a.cardinalities[j]):
            if np.isinf(a.unary[j, y]):
                continue
            neither = factor * a.data[at + x * stride + y]
            if np.isinf(neither):
                return False
            for alpha in range(min(a.cardinalities[i], a.cardinalities[j])):
                if np.isinf(a.unary[i, alpha]) or np.isinf(a.unary[j, alpha]):
                    continue
                both = factor * a.data[at + alpha * stride + alpha]
                first = factor * a.data[at + x * stride + alpha]
                second = factor * a.data[at + alpha * stride + y]
                size = abs(both) + abs(neither) + abs(first) + abs(second)
                if both + neither > first + second + 1e-9 * size:
                    return False
    return True
