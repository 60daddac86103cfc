"""M1, M2 and M3 of every action at once, straight from appendix B1: for figures and tests."""

from __future__ import annotations

import numpy as np

from policrf.crf.features import entropy, unary_distribution
from policrf.crf.instance import Instance
from policrf.types import FloatArray, IntArray


def m1_scores(instance: Instance, labels: IntArray) -> FloatArray:
    """`[N]`: the fraction of a node's neighbours that are labeled; 0 without neighbours."""
    n_nodes = instance.crf.n_nodes
    ends = np.concatenate([instance.edges, instance.edges[:, ::-1]])
    degree = np.bincount(ends[:, 0], minlength=n_nodes)
    labeled = np.bincount(ends[:, 0], weights=labels[ends[:, 1]] >= 0, minlength=n_nodes)
    return np.asarray(labeled / np.maximum(degree, 1))


def m2_scores(instance: Instance, labels: IntArray) -> FloatArray:
    """`[N]`: exp(−S_i), normalised over the unlabeled nodes; 0 where labeled."""
    weight = np.exp(-entropy(unary_distribution(instance.crf.unary))) * (labels < 0)
    return np.asarray(weight / max(float(weight.sum()), 1e-300))


def m3_scores(instance: Instance, labels: IntArray) -> FloatArray:
    """`[N, L]`: 1 for the majority label of a node's labeled clique mates, 0 elsewhere."""
    a = instance.crf.arrays
    scores = np.zeros(instance.crf.unary.shape)
    for i in range(instance.crf.n_nodes):
        cliques = a.node_clique[a.node_ptr[i] : a.node_ptr[i + 1]]
        mates = [a.clique_nodes[a.clique_ptr[c] : a.clique_ptr[c + 1]] for c in cliques]
        nodes = np.unique(np.concatenate(mates)) if mates else np.zeros(0, np.int64)
        given = labels[nodes[(labels[nodes] >= 0) & (nodes != i)]]
        if len(given):
            votes = np.bincount(given, minlength=instance.crf.n_labels).astype(float)
            votes[~np.isfinite(instance.crf.unary[i])] = -1.0
            scores[i, int(np.argmax(votes))] = 1.0
    return scores
