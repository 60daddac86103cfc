"""Label costs and robust P^n Potts in expansion moves: cliques that bring nodes of their own.

In the move to α a member keeps its label (x_i = 0) or takes α (x_i = 1). Both groups are sums of

    −e [all of S move]   (saved)     and     +e [some of S moves]   (charged),

or of their gradual forms, each with one more node z in the network:

    saved     min over z of  −e z + a Σ_{i ∈ S} z (1 − x_i)          arcs z → i of capacity a
    charged   min over z of   e z + a Σ_{i ∈ S} (1 − z) x_i          arcs i → z of capacity a

Label costs (Delong et al., IJCV 2012), a = e = the price: that of l ≠ α is saved if all members
with l move; that of α is charged if nobody has it and some member moves.

Robust Potts (Kohli et al., CVPR 2008): where no two labels can both have N_l < Q,

    min(γ, min_l γ_l + (γ − γ_l) N_l / Q)  =  γ − Σ_l a_l max(0, Q − N_l),    a_l = (γ − γ_l) / Q.

For α: N_α = members that cannot move + Σ (1 − x_i), saved, e = a (Q − those that cannot move). For
the one label d ≠ α that is dominant now: N_d = N + Σ_{i with d} x_i, charged, e = a (Q − N). Else
two labels may compete for the members that stay, and the move is no minimum cut.

A member has two arcs a clique: to the node of its own label, and to the node of all members. The
first is moved to another node as labels change, so that a clique costs O(members) whatever L is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import leaf
from policrf.crf.arrays import Arrays
from policrf.crf.potentials import COUNTED, DOMINANT
from policrf.solvers.cuts.maxflow import Network
from policrf.types import BoolArray, FloatArray, IntArray

KIND, NODE, LABEL_NODES, FIRST, SIZE = 0, 1, 2, 3, 4  # columns of Terms.cliques
MEMBER, OWN_ARC, ALL_ARC = 0, 1, 2  # columns of Terms.members
_COUNT, _CLOSED, _PLACE, _OWNER = 0, 1, 2, 3  # rows of Terms.seen


class Terms(NamedTuple):
    """T cliques with nodes of their own, M members in all, L labels."""

    cliques: IntArray  # [T, 5]; its kind, its first node in the network, how many of them are for
    # labels (that of all members comes next), its first member and their number
    members: IntArray  # [M, 3]; the node, its arc to the node of its label, and to that of all
    prices: FloatArray  # [T, L + 1]; of every label, or a_l; then Q
    seen: IntArray  # [4, L]; scratch space


class TermEdges(NamedTuple):
    """The edges that the terms add to the network: to label nodes, then to those of all members."""

    terms: Terms  # its arcs not known yet
    tails: IntArray  # [2 M]
    heads: IntArray  # [2 M]
    weights: FloatArray  # [2 M]  the largest capacity
    n_nodes: int


def clique_prices(a: Arrays, cliques: IntArray) -> FloatArray:
    """What every label costs (COUNTED) or a_l (DOMINANT), then Q, `[T, L + 1]`."""
    n_labels = a.unary.shape[1]
    label, start = np.arange(n_labels), a.data_start[cliques][:, None]
    prices = np.zeros((len(cliques), n_labels + 1))
    counted = a.clique_kind[cliques] == COUNTED
    # A label cost is a table [L, 2]: without a member of the label, and with some.
    prices[counted, :-1] = a.data[start[counted] + 2 * label + 1]
    robust, most = ~counted, a.clique_weight[cliques][~counted, None]
    allowed = a.data[start[robust]]
    prices[robust, :-1] = (most - a.data[start[robust] + 1 + label]) / allowed
    prices[robust, -1] = allowed[:, 0]
    return prices


def term_edges(a: Arrays, first_node: int) -> TermEdges:
    """The terms of all cliques of two members or more that cost something."""
    sizes = np.diff(a.clique_ptr)
    cliques = np.flatnonzero(np.isin(a.clique_kind, (COUNTED, DOMINANT)) & (sizes > 1))
    prices = clique_prices(a, cliques)
    prices[np.isinf(prices)] = 0.0  # such labels are forbidden to every member
    matters = (prices[:, :-1] > 0).any(axis=1)
    cliques, prices = cliques[matters], prices[matters]
    kinds, sizes = a.clique_kind[cliques], sizes[cliques]
    # Of robust Potts, only the dominant label has a node.
    for_labels = np.where(kinds == COUNTED, np.minimum(sizes, a.unary.shape[1]), 1)
    nodes = first_node + np.cumsum(for_labels + 1) - for_labels - 1
    first = np.cumsum(sizes) - sizes
    entries = np.repeat(a.clique_ptr[cliques] - first, sizes) + np.arange(sizes.sum())
    members = np.zeros((len(entries), 3), np.int64)
    members[:, MEMBER] = a.clique_nodes[entries]
    weights = np.repeat(prices[:, :-1].max(axis=1, initial=0.0), sizes)
    return TermEdges(
        terms=Terms(
            cliques=np.stack([kinds, nodes, for_labels, first, sizes], axis=1),
            members=members,
            prices=prices,
            seen=np.zeros((4, a.unary.shape[1]), np.int64),
        ),
        tails=np.tile(members[:, MEMBER], 2),
        heads=np.repeat(np.concatenate([nodes, nodes + for_labels]), np.tile(sizes, 2)),
        weights=np.tile(weights, 2),
        n_nodes=int((for_labels + 1).sum()),
    )


@leaf
def lay_out_terms(g: Network, t: Terms, labels: IntArray, is_open: BoolArray, alpha: int) -> None:
    """Fill the capacities of all terms in the move to α, and add to the excess of members.

    Members whose x_i is free are open. What no cut has to decide is added to their excess.
    """
    for c in range(len(t.cliques)):
        first, node = t.cliques[c, FIRST], t.cliques[c, NODE]
        last = node + t.cliques[c, LABEL_NODES]
        for z in range(node, last + 1):
            g.excess[z] = 0.0
        for k in range(g.ptr[node], g.ptr[last + 1]):
            g.residual[k] = 0.0
            g.residual[g.sister[k]] = 0.0
        t.seen[_COUNT, alpha] = t.seen[_CLOSED, alpha] = 0
        for m in range(first, first + t.cliques[c, SIZE]):
            label = labels[t.members[m, MEMBER]]
            t.seen[_COUNT, label] = t.seen[_CLOSED, label] = 0
        for m in range(first, first + t.cliques[c, SIZE]):
            i = t.members[m, MEMBER]
            t.seen[_COUNT, labels[i]] += 1
            t.seen[_CLOSED, labels[i]] += not is_open[i]
        if t.cliques[c, KIND] == COUNTED:
            _save_prices(g, t, c, labels, alpha)
            if t.seen[_COUNT, alpha] == 0 and t.prices[c, alpha] > 0.0:
                _charge(g, t, c, -1, labels, is_open, t.prices[c, alpha], t.prices[c, alpha])
        else:
            _lay_out_dominant(g, t, c, labels, is_open, alpha)


@leaf
def _save_prices(g: Network, t: Terms, c: int, labels: IntArray, alpha: int) -> None:
    """Hang every member on the node of its label, and save the labels that may disappear."""
    first, size = t.cliques[c, FIRST], t.cliques[c, SIZE]
    node, last = t.cliques[c, NODE], t.cliques[c, NODE] + t.cliques[c, LABEL_NODES]
    for m in range(first, first + size):
        t.seen[_PLACE, labels[t.members[m, MEMBER]]] = -1
    place = g.ptr[node]
    for m in range(first, first + size):
        label = labels[t.members[m, MEMBER]]
        if t.seen[_PLACE, label] < 0:
            t.seen[_PLACE, label], t.seen[_OWNER, label] = place, node
            place += t.seen[_COUNT, label]
            node += 1
            g.ptr[node] = place
    for z in range(node, last):
        g.ptr[z + 1] = place
    for m in range(first, first + size):
        i, arc = t.members[m, MEMBER], t.members[m, OWN_ARC]
        label = labels[i]
        back, z = t.seen[_PLACE, label], t.seen[_OWNER, label]
        t.seen[_PLACE, label] += 1
        g.head[arc], g.head[back] = z, i
        g.sister[arc], g.sister[back] = back, arc
        if label != alpha and t.seen[_CLOSED, label] == 0:
            if t.seen[_COUNT, label] == 1:
                g.excess[i] += t.prices[c, label]
            else:
                g.excess[z] = g.residual[back] = t.prices[c, label]


@leaf
def _lay_out_dominant(
    g: Network, t: Terms, c: int, labels: IntArray, is_open: BoolArray, alpha: int
) -> None:
    first, size = t.cliques[c, FIRST], t.cliques[c, SIZE]
    allowed = t.prices[c, -1]
    others, stuck, dominant = size - t.seen[_COUNT, alpha], 0, -1
    for m in range(first, first + size):
        i = t.members[m, MEMBER]
        if labels[i] != alpha:
            stuck += not is_open[i]
            if size - t.seen[_COUNT, labels[i]] < allowed:
                dominant = labels[i]
    step = t.prices[c, alpha]
    if stuck < allowed and step > 0.0:
        node = t.cliques[c, NODE] + t.cliques[c, LABEL_NODES]
        if others > allowed:
            g.excess[node] = step * (allowed - stuck)
        for m in range(first, first + size):
            i, arc = t.members[m, MEMBER], t.members[m, ALL_ARC]
            if labels[i] != alpha and is_open[i]:
                if others > allowed:
                    g.residual[g.sister[arc]] = step
                else:  # α is dominant and stays it
                    g.excess[i] += step
    if dominant >= 0 and t.prices[c, dominant] > 0.0:
        step = t.prices[c, dominant]
        left = allowed - (size - t.seen[_COUNT, dominant])
        _charge(g, t, c, dominant, labels, is_open, step * left, step)


@leaf
def _charge(
    g: Network, t: Terms, c: int, label: int, labels: IntArray, is_open: BoolArray, most: float,
    step: float,
) -> None:  # fmt: skip
    """Charge `step` for every open member with `label` (−1: any) that moves, `most` in all."""
    first, size = t.cliques[c, FIRST], t.cliques[c, SIZE]
    node, column = t.cliques[c, NODE], OWN_ARC
    if label < 0:
        node, column = node + t.cliques[c, LABEL_NODES], ALL_ARC
    movers = 0
    for m in range(first, first + size):
        i = t.members[m, MEMBER]
        movers += is_open[i] and (label < 0 or labels[i] == label)
    shared = movers * step > most
    if shared:
        g.excess[node] = -most
    for m in range(first, first + size):
        i = t.members[m, MEMBER]
        if is_open[i] and (label < 0 or labels[i] == label):
            if shared:
                g.residual[t.members[m, column]] = step
            else:
                g.excess[i] -= step
