"""A CRF laid out for expansion moves: costs by label, and one network that every move's cut reuses.

The network has a node for each of the N nodes and one more, N + b, for the z_b of each HOP1 box:

    w_b · min(#{y_i = l_b}, #{y_i ≠ l_b}) = min_z Σ_i w_b [z ≠ [y_i = l_b]].

Its arcs are the Potts edges, the pairwise tables and the pairs (member, z_b). Which of them a move
uses, and with what capacity, depends on the labels (see `expansion_move`). Label costs and robust
Potts add nodes after those (see `expansion_terms`). What is taken, and what not: `refusals`.

Costs, weights and tables are the CRF's own arrays: of an image, the network is what takes memory.
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
    TermEdges,
    Terms,
    clique_prices,
    term_edges,
)
from policrf.solvers.cuts.maxflow import Network, new_network
from policrf.types import FloatArray, Int32Array, IntArray

ROUNDING = 1e-12  # of the largest capacity at a node: what counts as nothing there


class PairTables(NamedTuple):
    """Tables of two nodes: arrays of the CRF, by clique."""

    weight: FloatArray  # [C]
    start: IntArray  # [C]  where the table begins in `data`
    entry: IntArray  # [C + 1]  the clique's first entry in `stride`
    stride: IntArray  # [M]
    data: FloatArray
    shared: int  # stride of the one table, at the beginning of `data`, that all pairs have; or 0


class MoveProblem(NamedTuple):
    """N nodes, L labels, E Potts edges, C cliques, B HOP1 boxes, A arcs (see `Network`)."""

    costs: FloatArray  # [N, L]  unaries and cliques of one node; read-only
    network: Network  # of N + B nodes, and those of the terms
    pair: Int32Array  # [A]  e for Potts edge e, E + c for the table of clique c, ~ of that on the
    # arc of a pair's second node; E + C on arcs of boxes and terms
    weight: FloatArray  # [E]  of Potts edges
    tables: PairTables
    box_label: IntArray  # [B]
    box_weight: FloatArray  # [B]
    terms: Terms  # label costs and robust Potts
    steepest: float  # the largest weight of an edge of the network


class _Edges(NamedTuple):
    """Edges of the network, each to become two arcs."""

    tails: IntArray
    heads: IntArray
    pairs: IntArray
    weights: FloatArray


def move_problem(crf: CRF, costs: FloatArray | None = None) -> MoveProblem:
    """Lay `crf` out, HOP2 left aside; `refuse_what_no_cut_takes` has been called before.

    Callers who change costs between moves pass those of `own_costs`.
    """
    a = crf.arrays
    boxes = np.flatnonzero(a.clique_kind == AGREE)
    added = term_edges(a, crf.n_nodes + len(boxes))
    edges = _edges(a, boxes, added)
    n_nodes = crf.n_nodes + len(boxes) + added.n_nodes
    of_terms = len(edges.tails) - len(added.tails)
    ptr, head, sister, pair, arcs = _group_arcs(n_nodes, edges.tails, edges.heads, edges.pairs)
    added.terms.members[:, [OWN_ARC, ALL_ARC]] = arcs[of_terms:].reshape(2, -1).T
    tables, steepest = _tables(a), float(edges.weights.max(initial=0.0))
    tolerance = np.zeros(n_nodes)
    _set_tolerances(tolerance, edges, tables, len(a.edges), a.data_size)
    del edges, arcs  # the most memory that is needed at once
    if costs is None:
        costs = own_costs(crf) if _adds_costs(a) else crf.unary
    seen = costs.view()
    return MoveProblem(
        costs=frozen(seen),
        network=new_network(ptr, head, sister)._replace(tolerance=tolerance),
        pair=pair,
        weight=a.edge_weights,
        tables=tables,
        box_label=a.clique_label[boxes],
        box_weight=a.clique_weight[boxes],
        terms=added.terms,
        steepest=steepest,
    )


def _edges(a: Arrays, boxes: IntArray, added: TermEdges) -> _Edges:
    """Potts edges, then tables of two nodes, then the pairs (member, z_b), then those of terms."""
    sizes, first = np.diff(a.clique_ptr), a.clique_ptr
    tables = np.flatnonzero((a.clique_kind == TABLE) & (sizes == 2))
    members = np.flatnonzero(np.repeat(a.clique_kind == AGREE, sizes))
    z_nodes = len(a.unary) + np.repeat(np.arange(len(boxes)), sizes[boxes])
    nodes, weight = a.clique_nodes, a.clique_weight
    n_pairs = len(a.edges) + len(a.clique_kind)
    pairs = [np.arange(len(a.edges)), len(a.edges) + tables]
    pairs.append(np.full(len(members) + len(added.tails), n_pairs, np.int64))
    weights = [a.edge_weights, weight[tables], np.repeat(weight[boxes], sizes[boxes])]
    return _Edges(
        tails=np.concatenate([a.edges[:, 0], nodes[first[tables]], nodes[members], added.tails]),
        heads=np.concatenate([a.edges[:, 1], nodes[first[tables] + 1], z_nodes, added.heads]),
        pairs=np.concatenate(pairs),
        weights=np.concatenate([*weights, added.weights]),
    )


def _tables(a: Arrays) -> PairTables:
    shared = len(a.clique_kind) and not a.data_start.any() and (a.clique_kind == TABLE).all()
    # Cliques that share all their data have the same sizes and labels.
    stride = int(a.clique_stride[0]) if shared and len(a.data) == a.data_size[0] else 0
    return PairTables(a.clique_weight, a.data_start, a.clique_ptr, a.clique_stride, a.data, stride)


def without_quotas(arrays: Arrays) -> Arrays:
    """The same CRF with every HOP2 penalty 0: the energy that the moves see."""
    quotas = arrays.clique_kind == SUPPORT
    if not quotas.any():
        return arrays
    weights = np.where(quotas, 0.0, arrays.clique_weight)
    return arrays._replace(clique_weight=frozen(weights))


def _adds_costs(a: Arrays) -> bool:
    """Whether cliques add to what labels cost on their own."""
    alone = (np.diff(a.clique_ptr) == 1) & (a.clique_kind == TABLE)
    return bool(alone.any() or np.isin(a.clique_kind, (COUNTED, DOMINANT)).any())


def own_costs(crf: CRF) -> FloatArray:
    """What labels cost on their own, [N, L], the lowest of each node 0; none allowed: all 0."""
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
    return costs


@kernel
def _group_arcs(
    n_nodes: int, tails: IntArray, heads: IntArray, pairs: IntArray
) -> tuple[Int32Array, Int32Array, Int32Array, Int32Array, Int32Array]:
    """Both arcs of every edge, grouped by tail: ptr, head, sister, pair; and its first arc."""
    ptr = np.zeros(n_nodes + 1, np.int32)
    for e in range(len(tails)):
        ptr[tails[e] + 1] += 1
        ptr[heads[e] + 1] += 1
    for i in range(n_nodes):
        ptr[i + 1] += ptr[i]
    place = ptr[:-1].copy()
    head = np.empty(2 * len(tails), np.int32)
    sister, pair = np.empty_like(head), np.empty_like(head)
    arcs = np.empty(len(tails), np.int32)
    for e in range(len(tails)):
        there, back = place[tails[e]], place[heads[e]]
        place[tails[e]] += 1
        place[heads[e]] += 1
        head[there], head[back] = heads[e], tails[e]
        sister[there], sister[back] = back, there
        pair[there], pair[back] = pairs[e], ~pairs[e]
        arcs[e] = there
    return ptr, head, sister, pair, arcs


@leaf
def _set_tolerances(
    tolerance: FloatArray, edges: _Edges, tables: PairTables, n_potts: int, data_size: IntArray
) -> None:
    """A part of the largest capacity at every node; `tolerance` is 0 before."""
    start, largest = -1, 0.0
    for e in range(len(edges.tails)):
        weight, c = edges.weights[e], edges.pairs[e] - n_potts
        if 0 <= c < len(tables.weight):
            if tables.start[c] != start:  # edges that share a table follow each other
                start, largest = tables.start[c], 0.0
                for entry in range(start, start + data_size[c]):
                    if np.isfinite(tables.data[entry]):
                        largest = max(largest, abs(tables.data[entry]))
            weight = abs(weight) * largest
        for i in (edges.tails[e], edges.heads[e]):
            tolerance[i] = max(tolerance[i], ROUNDING * weight)
