"""A labeling with the cost of every label of every node kept up to date.

costs[i, l] is the sum of the terms of node i if it had label l and all others kept theirs, up to a
constant of the node. Looking at a node is then O(L), whatever its degree; only a relabel touches
the neighbours, O(terms of the node · (their order − 1) · L). When it is cold, few nodes are
relabeled, and a sweep is a walk through one array.

Taken are Potts edges and finite tables of any order. The model's own arrays are read in place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.potentials import TABLE
from policrf.types import FloatArray, IntArray


class Kept(NamedTuple):
    """Mutable; N nodes, L labels, C tables."""

    labels: IntArray  # [N]
    costs: FloatArray  # [N, L]; +inf where a label is forbidden
    at: IntArray  # [C]; where the current entry of a table is in the model's data


def takes(a: Arrays) -> bool:
    """Whether all terms are unaries, Potts edges and finite tables, and some label is allowed."""
    if len(a.clique_kind) and not (a.clique_kind == TABLE).all():
        return False
    return bool(np.isfinite(a.data).all() and np.isfinite(a.unary).any(axis=1).all())


def new_kept(a: Arrays, labels: IntArray) -> Kept:
    """A copy of `labels` [N], and their costs. Forbidden ones give way to the lowest unary."""
    allowed = np.isfinite(a.unary[np.arange(len(labels)), labels])
    own = np.where(allowed, labels, np.argmin(a.unary, axis=1))
    kept = Kept(own, np.empty(a.unary.shape), np.empty(len(a.clique_kind), np.int64))
    load_costs(a, kept)
    return kept


@leaf
def load_costs(a: Arrays, k: Kept) -> None:
    """The costs of the labels, from nothing: O(size of the CRF)."""
    for i in range(len(k.labels)):
        for label in range(a.unary.shape[1]):
            k.costs[i, label] = a.unary[i, label]
        for e in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
            k.costs[i, k.labels[a.adj_node[e]]] -= a.adj_weight[e]
    for c in range(len(k.at)):
        start, stop = a.clique_ptr[c], a.clique_ptr[c + 1]
        at = a.data_start[c]
        for m in range(start, stop):
            at += a.clique_stride[m] * k.labels[a.clique_nodes[m]]
        k.at[c] = at
        for m in range(start, stop):
            i, stride = a.clique_nodes[m], a.clique_stride[m]
            base = at - stride * k.labels[i]
            for label in range(a.cardinalities[i]):
                k.costs[i, label] += a.clique_weight[c] * a.data[base + stride * label]


@inner
def give_label(a: Arrays, k: Kept, i: int, label: int) -> None:
    """Relabel node i; the costs of its neighbours follow. Its own stay as they are."""
    old = k.labels[i]
    k.labels[i] = label
    for e in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        j, weight = a.adj_node[e], a.adj_weight[e]
        k.costs[j, old] += weight
        k.costs[j, label] -= weight
    for e in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[e]
        shift = a.clique_stride[a.node_entry[e]] * (label - old)
        before = k.at[c]
        k.at[c] = before + shift
        weight = a.clique_weight[c]
        for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
            j = a.clique_nodes[m]
            if j != i:
                stride = a.clique_stride[m]
                base = before - stride * k.labels[j]
                for other in range(a.cardinalities[j]):
                    entry = base + stride * other
                    k.costs[j, other] += weight * (a.data[entry + shift] - a.data[entry])
