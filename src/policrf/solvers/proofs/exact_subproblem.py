"""One component on its own: its nodes and the cliques that hold one of them.

Potts edges to nodes outside are paid in the unaries. A member outside, of a clique that reaches in,
stays as a node with one label. So the work on a component, and what rounding does to it, has the
component's size, not the model's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import kernel
from policrf.crf.arrays import COUNTS, Arrays
from policrf.crf.checks import frozen
from policrf.crf.energy import N_TERMS, energy_terms
from policrf.solvers.claims import Terms, lowest_of_cliques, terms_of
from policrf.types import BoolArray, FloatArray, IntArray


class Whole(NamedTuple):
    """The model that parts are taken from."""

    arrays: Arrays
    alive: BoolArray  # [N, L]
    lowest: FloatArray  # [C]; of every clique, for margins
    place: IntArray  # [N]; scratch, −1 everywhere between two uses


def whole(arrays: Arrays, alive: BoolArray) -> Whole:
    """What all parts of a model share."""
    return Whole(arrays, alive, lowest_of_cliques(arrays), np.full(len(alive), -1, np.int64))


class Subproblem:
    """A part of a model: `nodes` are free, all others have `labels` [N]."""

    def __init__(self, model: Whole, labels: IntArray, nodes: IntArray) -> None:
        a, place = model.arrays, model.place
        entries, cliques = _cliques_of(a, nodes)
        outside = np.setdiff1d(a.clique_nodes[entries], nodes)
        self.nodes: IntArray = np.concatenate([nodes, outside])
        """[K], in the model; the free ones first."""
        self.free = len(nodes)
        place[self.nodes] = np.arange(len(self.nodes))
        unary = np.full((len(self.nodes), a.unary.shape[1]), np.inf)
        unary[: self.free] = np.where(model.alive[nodes], a.unary[nodes], np.inf)
        unary[np.arange(self.free, len(self.nodes)), labels[outside]] = 0.0
        edges, weights = _edges_within(a, place, nodes, labels, unary)
        self.arrays: Arrays = _joined(a, self.nodes, place, unary, edges, weights, cliques, entries)
        self.alive: BoolArray = np.isfinite(unary)
        """The labels that are left, `[K, L]`; one outside."""
        self.terms: Terms = terms_of(self.arrays, model.lowest[cliques])
        place[self.nodes] = -1

    def energy(self, labels: IntArray) -> float:
        """The energy of labels `[K]`, of the terms in here."""
        return energy_of(self.arrays, labels)


def energy_of(a: Arrays, labels: IntArray) -> float:
    """E(y) of the terms of `a`."""
    return float(_sum_of_terms(a, labels))


@kernel
def _sum_of_terms(a: Arrays, labels: IntArray) -> float:
    terms = np.empty(N_TERMS)
    energy_terms(a, labels, terms)
    total = 0.0
    for t in range(N_TERMS):
        total += terms[t]
    return total


def _cliques_of(a: Arrays, nodes: IntArray) -> tuple[IntArray, IntArray]:
    """The cliques that hold one of `nodes`, and all their entries in `clique_nodes`."""
    at = _ranges(a.node_ptr[nodes], a.node_ptr[nodes + 1])
    cliques = np.unique(a.node_clique[at])
    return _ranges(a.clique_ptr[cliques], a.clique_ptr[cliques + 1]), cliques


def _ranges(start: IntArray, stop: IntArray) -> IntArray:
    """start[0] … stop[0] − 1, start[1] … stop[1] − 1, and so on."""
    sizes = stop - start
    ends = np.cumsum(sizes)
    return np.asarray(np.arange(int(sizes.sum())) + np.repeat(start - (ends - sizes), sizes))


def _edges_within(
    a: Arrays, place: IntArray, nodes: IntArray, labels: IntArray, unary: FloatArray
) -> tuple[IntArray, FloatArray]:
    """The edges between the free `nodes`; what the others cost goes into `unary`."""
    at = _ranges(a.adj_ptr[nodes], a.adj_ptr[nodes + 1])
    own = place[np.repeat(nodes, a.adj_ptr[nodes + 1] - a.adj_ptr[nodes])]
    other, weight = a.adj_node[at], a.adj_weight[at]
    inside = (place[other] >= 0) & (place[other] < len(nodes))
    held = ~inside
    np.add.at(unary, own[held], weight[held][:, None])
    forbidden = np.isinf(unary)
    np.subtract.at(unary, (own[held], labels[other[held]]), weight[held])
    unary[forbidden] = np.inf
    once = inside & (own < place[other])
    edges = np.stack([own[once], place[other[once]]], axis=1)
    return edges, weight[once]


def _joined(
    a: Arrays, nodes: IntArray, place: IntArray, unary: FloatArray, edges: IntArray,
    weights: FloatArray, cliques: IntArray, entries: IntArray,
) -> Arrays:  # fmt: skip
    """The arrays of the part; the data of cliques is shared with the model's."""
    count, n_edges = len(nodes), len(edges)
    adj_ptr, order = _group_by(edges.T.reshape(-1), count)
    edge = order % max(n_edges, 1)
    sizes = a.clique_ptr[cliques + 1] - a.clique_ptr[cliques]
    members = place[a.clique_nodes[entries]]
    node_ptr, node_entry = _group_by(members, count)
    custom = a.custom[cliques].copy()
    counted = custom[:, COUNTS] >= 0
    custom[counted, COUNTS] = np.arange(int(counted.sum())) * unary.shape[1]
    part = {
        "unary": unary,
        "cardinalities": a.cardinalities[nodes],
        "edges": np.ascontiguousarray(edges),
        "edge_weights": weights,
        "adj_ptr": adj_ptr,
        "adj_node": edges[:, ::-1].T.reshape(-1)[order],
        "adj_weight": weights[edge],
        "adj_edge": edge,
        "clique_ptr": np.append(0, np.cumsum(sizes)),
        "clique_nodes": members,
        "clique_stride": a.clique_stride[entries],
        "clique_kind": a.clique_kind[cliques],
        "clique_label": a.clique_label[cliques],
        "clique_weight": a.clique_weight[cliques],
        "clique_count": a.clique_count[cliques],
        "custom": custom,
        "data_start": a.data_start[cliques],
        "data_size": a.data_size[cliques],
        "node_ptr": node_ptr,
        "node_clique": np.repeat(np.arange(len(cliques)), sizes)[node_entry],
        "node_entry": node_entry,
    }
    # Kernels are compiled for arrays that cannot be written to.
    return a._replace(**{name: frozen(array) for name, array in part.items()})


def _group_by(owner: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """Pointers and a stable order that puts the entries of owner 0 first, then of owner 1, …"""
    ends = np.cumsum(np.bincount(owner, minlength=count))
    return np.append(0, ends), np.argsort(owner, kind="stable")
