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
first is moved to another node as labels change, so that a clique costs O(members) whatever L is
(`lay_out_terms`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.crf.arrays import Arrays
from policrf.crf.potentials import COUNTED, DOMINANT
from policrf.types import FloatArray, IntArray

KIND, NODE, LABEL_NODES, FIRST, SIZE = 0, 1, 2, 3, 4  # columns of Terms.cliques
MEMBER, OWN_ARC, ALL_ARC = 0, 1, 2  # columns of Terms.members
COUNT, CLOSED, PLACE, OWNER = 0, 1, 2, 3  # rows of Terms.seen


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
