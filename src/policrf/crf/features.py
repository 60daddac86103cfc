"""The paper's node features (appendix A), F = 4 L + 1, for scenes, images and plain CRFs.

A CRF without an image (`Instance.from_crf`) has the cliques of its `BoxAgreement` and `BoxSupport`
in the place of detections, and a graph weighted by its pairwise terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from policrf.crf.model import CRF
from policrf.crf.potentials import TABLE, BoxAgreement, BoxSupport
from policrf.types import Float32Array, FloatArray, IntArray


def unary_distribution(unary: FloatArray) -> FloatArray:
    """softmax(−unary) over labels, `[N, L]`; a forbidden label has probability 0."""
    shifted = np.exp(unary.min(axis=1, keepdims=True) - unary)
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def entropy(distribution: FloatArray) -> FloatArray:
    """−Σ p log p in nats, `[N]`, with 0 log 0 = 0."""
    logs = np.log(distribution, out=np.zeros_like(distribution), where=distribution > 0)
    return np.asarray(-(distribution * logs).sum(axis=1))


def feature_names(n_labels: int) -> tuple[str, ...]:
    """The names of the paper's 4 L + 1 features, in order."""
    blocks = ("unary", "box_confidence", "box_unary", "box_overlap")
    first, *rest = [[f"{block}:{label}" for label in range(n_labels)] for block in blocks]
    return (*first, "entropy", *(name for block in rest for name in block))


class FeatureBoxes(NamedTuple):
    """The B boxes (detections, or cliques in their place) that node features tell of."""

    members: Sequence[IntArray]
    """The nodes of each box."""
    labels: IntArray
    """`[B]`."""
    confidences: FloatArray | Float32Array
    """`[B]`, 0 … 1."""
    composition: FloatArray | Float32Array
    """A box's mean distribution over labels, `[B, L]`."""
    cover: FloatArray | Float32Array | sparse.csr_array
    """Share of box b that box c covers, `[B, B]`; the diagonal is not used."""


def paper_features(distribution: FloatArray | Float32Array, boxes: FeatureBoxes) -> Float32Array:
    """The paper's node features b_i, `[N, 4 L + 1]`.

    Per node: its unary distribution and entropy; per label, the highest confidence of a box of that
    label on the node; the unary composition of its most confident box; and per label, how much of
    that box other boxes of the label cover, times their confidence (the largest).

    Parameters
    ----------
    distribution
        Of every node over labels, `[N, L]`.
    boxes
        All with a label.
    """
    n_nodes, n_labels = distribution.shape
    out = np.zeros((n_nodes, 4 * n_labels + 1), np.float32)
    out[:, :n_labels] = distribution
    out[:, n_labels] = entropy(np.asarray(distribution, np.float64))
    confidence, box_unary, overlap = np.split(out[:, n_labels + 1 :], 3, axis=1)
    rows = sparse.csr_array(boxes.cover)
    # From the least confident box to the most: what is written last is the best box's.
    for b in np.argsort(boxes.confidences, kind="stable"):
        inside, entries = boxes.members[b], slice(rows.indptr[b], rows.indptr[b + 1])
        touching = rows.indices[entries]
        share = rows.data[entries] * boxes.confidences[touching] * (touching != b)
        others = np.zeros(n_labels)
        np.maximum.at(others, boxes.labels[touching], share)
        confidence[inside, boxes.labels[b]] = boxes.confidences[b]
        box_unary[inside] = boxes.composition[b]
        overlap[inside] = others
    return out


def derive_features(crf: CRF) -> tuple[Float32Array, tuple[str, ...]]:
    """The paper's features with cliques as boxes; confidence = weight / largest of its group."""
    distribution = unary_distribution(crf.unary)
    members: list[IntArray] = []
    labels: list[int] = []
    confidences: list[float] = []
    for group in crf.groups(BoxAgreement, BoxSupport):
        assert isinstance(group, BoxAgreement | BoxSupport)
        weights = group.weights if isinstance(group, BoxAgreement) else group.penalties
        members += list(group.cliques)
        labels += group.labels.tolist()
        confidences += (weights / max(float(weights.max(initial=0.0)), 1e-300)).tolist()
    composition = [distribution[nodes].mean(axis=0) for nodes in members]
    boxes = FeatureBoxes(
        members=members,
        labels=np.asarray(labels, np.int64),
        confidences=np.asarray(confidences),
        composition=np.asarray(composition).reshape(-1, crf.n_labels),
        cover=_shared_nodes(members, crf.n_nodes),
    )
    return paper_features(distribution, boxes), feature_names(crf.n_labels)


def _shared_nodes(members: Sequence[IntArray], n_nodes: int) -> sparse.csr_array:
    """Share of the nodes of clique b that clique c has too, `[B, B]`."""
    sizes = np.array([len(nodes) for nodes in members], np.int64)
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    flat = np.concatenate(members) if members else np.zeros(0, np.int64)
    inside = sparse.csr_array((np.ones(len(flat)), flat, ptr), shape=(len(members), n_nodes))
    scaled = sparse.diags_array(1 / np.maximum(sizes, 1)) @ inside
    return sparse.csr_array(scaled @ inside.T)


def derive_graph(crf: CRF) -> tuple[IntArray, Float32Array]:
    """Edges `[M, 2]` of Potts and pairwise tables, and their weights `[M, 2]`.

    A node's weights are the softmax over its neighbours of s_ij, divided by the mean: |w_ij| of a
    Potts edge, and of a table, times its weight, the highest less the lowest finite energy.
    """
    arrays = crf.arrays
    pairs, strengths = [arrays.edges], [np.abs(arrays.edge_weights)]
    two = (arrays.clique_kind == TABLE) & (np.diff(arrays.clique_ptr) == 2)
    starts = arrays.clique_ptr[:-1][two]
    pairs.append(np.stack([arrays.clique_nodes[starts], arrays.clique_nodes[starts + 1]], axis=1))
    strengths.append(_table_strengths(crf, np.flatnonzero(two), strengths[0]))
    both, strength = np.concatenate(pairs), np.concatenate(strengths)
    if len(both) == 0:
        return np.zeros((0, 2), np.int64), np.zeros((0, 2), np.float32)
    edges, index = np.unique(np.sort(both, axis=1), axis=0, return_inverse=True)
    summed = np.bincount(index.reshape(-1), weights=strength, minlength=len(edges))
    return edges, softmax_over_neighbours(edges, summed / max(summed.mean(), 1e-300), crf.n_nodes)


def _table_strengths(crf: CRF, cliques: IntArray, others: FloatArray) -> FloatArray:
    """What the labels of a pair may change by the tables of `cliques`, `[len(cliques)]`.

    A table that forbids pairs is as strong as the strongest of all tables and of `others`.
    """
    a = crf.arrays
    if not len(cliques):
        return np.zeros(0)
    # Edges may share a table: each is looked at once.
    first, index, which = np.unique(a.data_start[cliques], return_index=True, return_inverse=True)
    bounds = np.stack([first, first + a.data_size[cliques][index]], axis=1).reshape(-1)
    padded = np.append(a.data, 0.0)
    low = np.minimum.reduceat(padded, bounds)[::2]
    forbids = np.isinf(np.maximum.reduceat(padded, bounds)[::2])[which.reshape(-1)]
    padded[np.isinf(padded)] = -np.inf
    high = np.maximum.reduceat(padded, bounds)[::2]
    spread = np.where(np.isfinite(low), high, 0.0) - np.where(np.isfinite(low), low, 0.0)
    strength = np.abs(a.clique_weight[cliques]) * spread[which.reshape(-1)]
    highest = max(strength.max(initial=0.0), others.max(initial=0.0)) or 1.0
    return np.where(forbids, highest, strength)


def softmax_over_neighbours(edges: IntArray, scores: FloatArray, n_nodes: int) -> Float32Array:
    """w(i, j) = exp(s_ij) / Σ_k exp(s_ik) for both directions of every edge, `[M, 2]`."""
    highest = np.full(n_nodes, -np.inf)
    np.maximum.at(highest, edges.reshape(-1), np.repeat(scores, 2))
    raised = np.exp(scores[:, None] - highest[edges])
    total = np.bincount(edges.reshape(-1), weights=raised.reshape(-1), minlength=n_nodes)
    return np.asarray(raised / total[edges], np.float32)
