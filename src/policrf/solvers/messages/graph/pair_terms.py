"""Pairwise terms of the factor graph, and their two arcs each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from policrf.crf.arrays import Arrays
from policrf.types import FloatArray, IntArray

# Kinds of arc. HOP1 through its z_b: MEMBER is the arc of y_i, BOX the arc of z_b. DENSE is a
# factor times any table, LINEAR a factor ≥ 0 times a table min(step · |x − y|, limit).
POTTS, MEMBER, BOX, DENSE, LINEAR = 0, 1, 2, 3, 4


class Pairs(NamedTuple):
    """P pairwise terms; columns 0 and 1 belong to the first and second end."""

    ends: IntArray  # [P, 2]
    kind: IntArray  # [P, 2]
    weight: FloatArray
    label: IntArray
    start: IntArray
    stride: IntArray  # [P, 2]


def joined(*parts: Pairs) -> Pairs:
    """All terms one after the other."""
    return Pairs._make(np.concatenate(column) for column in zip(*parts, strict=True))


def potts_pairs(a: Arrays) -> Pairs:
    """One term for all Potts edges between the same two nodes."""
    n_nodes = len(a.unary)
    low, high = a.edges.min(axis=1, initial=n_nodes), a.edges.max(axis=1, initial=0)
    key, position = np.unique(low * n_nodes + high, return_inverse=True)
    weight = np.bincount(position, a.edge_weights, len(key)).astype(np.float64)
    key, weight = key[weight != 0], weight[weight != 0]
    zeros = np.zeros(len(key), np.int64)
    both = np.zeros((len(key), 2), np.int64)
    ends = np.stack([key // n_nodes, key % n_nodes], axis=1)
    return Pairs(ends=ends, kind=both + POTTS, weight=weight, label=zeros, start=zeros, stride=both)


def table_pairs(ends: IntArray, start: IntArray, factor: FloatArray, stride: IntArray) -> Pairs:
    """`factor` times a table for each of `ends` [P, 2]; terms may share their table."""
    return Pairs(
        ends=ends,
        kind=np.full(ends.shape, DENSE),
        weight=factor,
        label=np.zeros(len(ends), np.int64),
        start=start,
        stride=stride,
    )


def sequence_pairs(a: Arrays, sequences: IntArray, start: IntArray) -> Pairs:
    """The pairs of members, earlier and later, of the given ORDERED cliques."""
    ends, first = [np.zeros((0, 2), np.int64)], [np.zeros(0, np.int64)]
    for c, at in zip(sequences.tolist(), start.tolist(), strict=True):
        members = a.clique_nodes[a.clique_ptr[c] : a.clique_ptr[c + 1]]
        earlier, later = np.triu_indices(len(members), 1)
        ends.append(np.stack([members[earlier], members[later]], axis=1))
        first.append(np.full(len(earlier), at))
    both = np.concatenate(ends)
    stride = np.tile(np.array([a.unary.shape[1], 1]), (len(both), 1))
    return table_pairs(both, np.concatenate(first), np.ones(len(both)), stride)


def box_pairs(a: Arrays, boxes: IntArray, entries: IntArray, ptr: IntArray) -> Pairs:
    """From every member of the boxes to their z_b, which are nodes N, N + 1, …"""
    box = np.repeat(np.arange(len(boxes)), np.diff(ptr))
    zeros = np.zeros(len(entries), np.int64)
    return Pairs(
        ends=np.stack([a.clique_nodes[entries], len(a.unary) + box], axis=1),
        kind=np.tile(np.array([MEMBER, BOX]), (len(entries), 1)),
        weight=a.clique_weight[boxes][box],
        label=a.clique_label[boxes][box],
        start=zeros,
        stride=np.zeros((len(entries), 2), np.int64),
    )


def with_linear_kind(pairs: Pairs, tables: FloatArray, cardinalities: IntArray) -> Pairs:
    """Shared tables of truncated distances become LINEAR, whose messages take O(L).

    `pairs` are all DENSE. A table that a single term has is not looked at.
    """
    shared, count = np.unique(pairs.start, return_counts=True)
    n_labels = int(cardinalities.max())
    full = (cardinalities[pairs.ends] == n_labels).all(axis=1)
    kind = pairs.kind.copy()
    for start in shared[count > 1]:
        ours = (pairs.start == start) & full & (pairs.weight >= 0)
        if ours.any() and _is_linear(tables[start : start + n_labels**2], n_labels):
            kind[ours] = LINEAR
    return pairs._replace(kind=kind)


def _is_linear(flat: FloatArray, n_labels: int) -> bool:
    if n_labels < 2 or len(flat) < n_labels**2:
        return False
    table = flat.reshape(n_labels, n_labels)
    labels = np.arange(n_labels)
    distance = np.abs(labels[:, None] - labels)
    step, limit = table[0, 1], table[0, -1]
    return bool(step >= 0 and np.array_equal(table, np.minimum(step * distance, limit)))


def arcs(pairs: Pairs, n_nodes: int) -> dict[str, Any]:
    """The arc columns of `FactorGraph`, sorted by the node they belong to, then the other end."""
    count = max(len(pairs.ends), 1)
    own, other = pairs.ends.T.reshape(-1), pairs.ends[:, ::-1].T.reshape(-1)
    order = np.argsort(own * n_nodes + other, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    pair = order % count
    stride = np.concatenate([pairs.stride, pairs.stride[:, ::-1]])
    arc_ptr = np.zeros(n_nodes + 1, np.int64)
    np.cumsum(np.bincount(own, minlength=n_nodes), out=arc_ptr[1:])
    return {
        "arc_ptr": arc_ptr,
        "arc_node": other[order],
        "arc_reverse": place[(order + count) % (2 * count)],
        "arc_kind": pairs.kind.T.reshape(-1)[order],
        "arc_weight": pairs.weight[pair],
        "arc_label": pairs.label[pair],
        "arc_start": pairs.start[pair],
        "arc_stride": stride[order],
    }
