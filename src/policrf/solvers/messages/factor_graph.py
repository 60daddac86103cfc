"""The CRF as a factor graph: what the message-passing solvers share.

E(x) = Σ_v θ_v(x_v) + Σ over pairwise terms θ_uv(x_u, x_v) + Σ over cliques f_c(x_c), with

- the nodes in an order that suits sweeps (`node_order`); `origin` tells which is which;
- terms of one node folded into θ_v, and Potts edges given twice added up;
- a pairwise term as two *arcs*, one at each end; the arcs of a node are contiguous, those to
  earlier nodes first. Message row k is the message *into* the node that arc k belongs to;
- HOP1 either as a clique, or (`split_agreement`) through its z_b: an auxiliary node with two labels
  and a pairwise term w_b [(y_i = l_b) ≠ (z_b = 1)] to every member (section "Energy Function");
- +inf replaced by a finite cost above the sum of all finite differences: every minimiser stays one,
  every bound stays a bound, and no kernel has to fear inf − inf.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from policrf.crf.model import CRF
from policrf.crf.potentials import AGREE, SUPPORT, TABLE
from policrf.solvers.messages.explicit_tables import ExplicitTables
from policrf.solvers.messages.node_order import order_nodes
from policrf.types import BoolArray, FloatArray, IntArray

# Kinds of arc. HOP1 through its z_b: MEMBER is the arc of y_i, BOX the arc of z_b.
POTTS, MEMBER, BOX, DENSE = 0, 1, 2, 3


class FactorGraph(NamedTuple):
    """V nodes of at most W labels (W ≥ 2), A arcs, C cliques with M entries in all."""

    unary: FloatArray  # [V, W]
    sizes: IntArray  # [V]; number of labels; unary is forbidden beyond it
    allowed: BoolArray  # [V, W]; labels that are not forbidden by the node's own terms
    origin: IntArray  # [V]; the CRF's node, −1 for a z_b
    arc_ptr: IntArray  # [V + 1]; arcs of node v
    arc_node: IntArray  # [A]; the other end
    arc_reverse: IntArray  # [A]; the same term seen from the other end
    arc_kind: IntArray  # [A]
    arc_weight: FloatArray  # [A]; POTTS, MEMBER, BOX
    arc_label: IntArray  # [A]; l_b (MEMBER, BOX)
    arc_start: IntArray  # [A]; first entry of the table in `tables` (DENSE)
    arc_stride: IntArray  # [A, 2]; strides of the own and of the other label in it
    clique_ptr: IntArray  # [C + 1]
    clique_nodes: IntArray  # [M]
    clique_stride: IntArray  # [M]; TABLE
    clique_kind: IntArray  # [C]; AGREE, SUPPORT or TABLE
    clique_label: IntArray  # [C]
    clique_weight: FloatArray  # [C]
    clique_count: IntArray  # [C]
    clique_start: IntArray  # [C]; first entry of the table in `tables`
    member_ptr: IntArray  # [V + 1]; the entries of `clique_nodes` that are node v
    member_entry: IntArray  # [M]
    member_clique: IntArray  # [M]; the clique of each of them
    tables: FloatArray
    forbidden: float  # what +inf became, less the smallest entry of its term
    scale: float  # largest finite difference within one term: the unit of tolerances


class _Pairs(NamedTuple):
    """P pairwise terms; columns 0 and 1 belong to the first and second end."""

    ends: IntArray  # [P, 2]
    kind: IntArray  # [P, 2]
    weight: FloatArray
    label: IntArray
    start: IntArray
    stride: IntArray  # [P, 2]


def build_factor_graph(
    crf: CRF, explicit: ExplicitTables, *, split_agreement: bool = False
) -> FactorGraph:
    """Lay out `crf`; `explicit` holds the tables of its TABLE and CUSTOM cliques."""
    a = crf.arrays
    size = np.diff(a.clique_ptr)
    tabled = explicit.start >= 0
    # A box without weight, of one node (HOP1) or without a quota (HOP2) is the same for all labels.
    agree = (a.clique_kind == AGREE) & (a.clique_weight > 0) & (size > 1)
    support = (a.clique_kind == SUPPORT) & (a.clique_weight > 0) & (a.clique_count > 0)
    forbidden, scale = _forbidden_cost(crf, explicit, agree, support)
    tables = _without_infinities(explicit, forbidden)
    unary = _folded_unary(crf, explicit, np.flatnonzero(tabled & (size == 1)), tables, forbidden)

    boxes = np.flatnonzero(agree) if split_agreement else np.zeros(0, np.int64)
    pairs = _joined(
        _potts_pairs(crf),
        _dense_pairs(crf, explicit, np.flatnonzero(tabled & (size == 2))),
    )
    place = order_nodes(pairs.ends, crf.n_nodes)
    pairs = _joined(pairs, _box_pairs(crf, boxes))
    unary, sizes, origin, rank = _placed(crf, unary, place, boxes, forbidden)
    allowed = unary < unary.min(axis=1, keepdims=True) + forbidden / 2
    nodes_and_arcs = {"unary": unary, "sizes": sizes, "allowed": allowed, "origin": origin}
    nodes_and_arcs |= _arcs(pairs._replace(ends=rank[pairs.ends]), len(unary))

    kept = np.flatnonzero((agree & (not split_agreement)) | support | (tabled & (size > 2)))
    entries, clique_ptr = _entries_of(a.clique_ptr, kept)
    nodes = rank[a.clique_nodes[entries]]
    member_entry = np.argsort(nodes, kind="stable")
    clique_of = np.repeat(np.arange(len(kept)), np.diff(clique_ptr))
    return FactorGraph(
        **nodes_and_arcs,
        clique_ptr=clique_ptr,
        clique_nodes=nodes,
        clique_stride=explicit.stride[entries],
        clique_kind=np.where(tabled[kept], TABLE, a.clique_kind[kept]),
        clique_label=a.clique_label[kept],
        clique_weight=a.clique_weight[kept],
        clique_count=a.clique_count[kept],
        clique_start=explicit.start[kept],
        member_ptr=_pointers(np.bincount(nodes, minlength=len(unary))),
        member_entry=member_entry,
        member_clique=clique_of[member_entry],
        tables=tables,
        forbidden=forbidden,
        scale=scale,
    )


def all_terms(g: FactorGraph) -> tuple[IntArray, IntArray, IntArray]:
    """Cliques, then pairwise terms, as (ptr, nodes); and the first arc of every pairwise term."""
    own = np.repeat(np.arange(len(g.unary)), np.diff(g.arc_ptr))
    first = np.flatnonzero(np.arange(len(own)) < g.arc_reverse)
    ends = np.stack([own[first], g.arc_node[first]], axis=1).reshape(-1)
    ptr = np.append(g.clique_ptr, g.clique_ptr[-1] + 2 * np.arange(1, len(first) + 1))
    return ptr, np.append(g.clique_nodes, ends), first


def _forbidden_cost(
    crf: CRF, explicit: ExplicitTables, agree: IntArray, support: IntArray
) -> tuple[float, float]:
    """Far above the sum of the finite ranges of all terms, and the largest of these."""
    a = crf.arrays
    highest = np.where(np.isinf(crf.unary), -np.inf, crf.unary).max(axis=1)
    ranges = [highest - crf.unary.min(axis=1), np.abs(a.edge_weights)]
    ranges.append(a.clique_weight[agree] * (np.diff(a.clique_ptr)[agree] // 2))
    ranges.append(a.clique_weight[support])
    tabled = np.flatnonzero(explicit.start >= 0)
    if len(tabled):
        first = explicit.start[tabled]
        bounds = np.stack([first, first + explicit.size[tabled]], axis=1).reshape(-1)
        padded = np.append(explicit.values, 0.0)
        low = np.minimum.reduceat(padded, bounds)[::2]
        padded[np.isinf(padded)] = -np.inf
        high = np.maximum.reduceat(padded, bounds)[::2]
        some_finite = np.isfinite(low)
        ranges.append(high[some_finite] - low[some_finite])
    total = float(sum(r.sum() for r in ranges))
    largest = float(max(r.max(initial=0.0) for r in ranges))
    # A thousandfold: solvers split costs among many parts, and each of them has to forbid.
    return (1000 * total, largest) if total > 0 else (1.0, 1.0)


def _without_infinities(explicit: ExplicitTables, forbidden: float) -> FloatArray:
    """A copy of the tables in which +inf is the smallest entry of its table plus `forbidden`."""
    values = explicit.values.copy()
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        tabled = np.flatnonzero(explicit.start >= 0)
        tabled = tabled[np.argsort(explicit.start[tabled])]
        owner = tabled[np.searchsorted(explicit.start[tabled], infinite, side="right") - 1]
        for c in np.unique(owner):
            table = values[explicit.start[c] : explicit.start[c] + explicit.size[c]]
            finite = table[np.isfinite(table)]
            table[np.isinf(table)] = forbidden + (finite.min() if finite.size else 0.0)
    return values


def _folded_unary(
    crf: CRF, explicit: ExplicitTables, single: IntArray, tables: FloatArray, forbidden: float
) -> FloatArray:
    """θ_v with the tables of one node added."""
    lowest = crf.unary.min(axis=1, keepdims=True)
    unary: FloatArray = np.where(np.isinf(crf.unary), lowest + forbidden, crf.unary)
    for c in single:
        node = crf.arrays.clique_nodes[crf.arrays.clique_ptr[c]]
        table = tables[explicit.start[c] : explicit.start[c] + explicit.size[c]]
        unary[node, : explicit.size[c]] += table
    return unary


def _placed(
    crf: CRF, unary: FloatArray, place: IntArray, boxes: IntArray, forbidden: float
) -> tuple[FloatArray, IntArray, IntArray, IntArray]:
    """Nodes in their places, a z_b with two labels in the middle of the members of each box.

    Returns unary, sizes, origin, and rank [N + boxes]: where every node and box went.
    """
    a = crf.arrays
    n_nodes, n_labels = unary.shape
    # In the middle, a z_b ends half of its monotonic chains, not all: the bound rises faster.
    middle = [
        np.median(place[a.clique_nodes[a.clique_ptr[c] : a.clique_ptr[c + 1]]]) for c in boxes
    ]
    order = np.argsort(np.append(place, middle), kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    placed = np.full((len(order), max(n_labels, 2)), forbidden)
    placed[rank[:n_nodes], :n_labels] = unary
    placed[rank[:n_nodes], n_labels:] = unary.min(axis=1, keepdims=True) + forbidden
    placed[rank[n_nodes:], :2] = 0.0
    sizes = np.append(crf.cardinalities, np.full(len(boxes), 2))[order]
    return placed, sizes, np.where(order < n_nodes, order, -1), rank


def _potts_pairs(crf: CRF) -> _Pairs:
    a = crf.arrays
    n_nodes = len(a.unary)
    low, high = a.edges.min(axis=1, initial=n_nodes), a.edges.max(axis=1, initial=0)
    key, position = np.unique(low * n_nodes + high, return_inverse=True)
    weight = np.bincount(position, a.edge_weights, len(key)).astype(np.float64)
    key, weight = key[weight != 0], weight[weight != 0]
    zeros = np.zeros(len(key), np.int64)
    both = np.zeros((len(key), 2), np.int64)
    ends = np.stack([key // n_nodes, key % n_nodes], axis=1)
    return _Pairs(
        ends=ends, kind=both + POTTS, weight=weight, label=zeros, start=zeros, stride=both
    )


def _dense_pairs(crf: CRF, explicit: ExplicitTables, cliques: IntArray) -> _Pairs:
    a = crf.arrays
    entries = a.clique_ptr[cliques][:, None] + np.arange(2)
    zeros = np.zeros(len(cliques), np.int64)
    kind = np.full((len(cliques), 2), DENSE)
    return _Pairs(
        ends=a.clique_nodes[entries],
        kind=kind,
        weight=np.zeros(len(cliques)),
        label=zeros,
        start=explicit.start[cliques],
        stride=explicit.stride[entries],
    )


def _box_pairs(crf: CRF, boxes: IntArray) -> _Pairs:
    a = crf.arrays
    entries, ptr = _entries_of(a.clique_ptr, boxes)
    box = np.repeat(np.arange(len(boxes)), np.diff(ptr))
    ends = np.stack([a.clique_nodes[entries], len(a.unary) + box], axis=1)
    kind = np.tile(np.array([MEMBER, BOX]), (len(entries), 1))
    zeros = np.zeros(len(entries), np.int64)
    return _Pairs(
        ends=ends,
        kind=kind,
        weight=a.clique_weight[boxes][box],
        label=a.clique_label[boxes][box],
        start=zeros,
        stride=np.zeros((len(entries), 2), np.int64),
    )


def _joined(*parts: _Pairs) -> _Pairs:
    return _Pairs._make(np.concatenate(column) for column in zip(*parts, strict=True))


def _arcs(pairs: _Pairs, n_nodes: int) -> dict[str, Any]:
    """The arc columns of `FactorGraph`, sorted by the node they belong to, then the other end."""
    count = max(len(pairs.ends), 1)
    own, other = pairs.ends.T.reshape(-1), pairs.ends[:, ::-1].T.reshape(-1)
    order = np.argsort(own * n_nodes + other, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    pair = order % count
    stride = np.concatenate([pairs.stride, pairs.stride[:, ::-1]])
    return {
        "arc_ptr": _pointers(np.bincount(own, minlength=n_nodes)),
        "arc_node": other[order],
        "arc_reverse": place[(order + count) % (2 * count)],
        "arc_kind": pairs.kind.T.reshape(-1)[order],
        "arc_weight": pairs.weight[pair],
        "arc_label": pairs.label[pair],
        "arc_start": pairs.start[pair],
        "arc_stride": stride[order],
    }


def _entries_of(ptr: IntArray, cliques: IntArray) -> tuple[IntArray, IntArray]:
    """The entries of the given cliques, one after the other, and pointers into them."""
    sizes = ptr[cliques + 1] - ptr[cliques]
    new = _pointers(sizes)
    return np.arange(new[-1]) + np.repeat(ptr[cliques] - new[:-1], sizes), new


def _pointers(sizes: IntArray) -> IntArray:
    ptr = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=ptr[1:])
    return ptr
