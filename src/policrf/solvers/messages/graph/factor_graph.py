"""The CRF as a factor graph: what the message-passing solvers share.

E(x) = Σ_v θ_v(x_v) + Σ over pairwise terms θ_uv(x_u, x_v) + Σ over cliques f_c(x_c), with

- the nodes in an order that suits sweeps (`node_order`); `origin` tells which is which;
- terms of one node folded into θ_v, and Potts edges given twice added up;
- a pairwise term as two *arcs*, one at each end; the arcs of a node are contiguous, those to
  earlier nodes first. Message row k is the message *into* the node that arc k belongs to;
- tables kept once however many terms share them: an arc has a factor of its own;
- HOP1 either as a clique, or (`split_agreement`) through its z_b: an auxiliary node with two labels
  and a pairwise term w_b [(y_i = l_b) ≠ (z_b = 1)] to every member (section "Energy Function");
- Σ_l g_l(n_l) as a counting clique for every label (`count_rows`), and the order of labels along a
  sequence, where it has no cap, as a pairwise term for every two members;
- +inf replaced by a finite cost (`finite_costs`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.crf.arrays import Arrays
from policrf.crf.model import CRF
from policrf.crf.potentials import AGREE, COUNTED, DOMINANT, ORDERED, SUPPORT, TABLE
from policrf.solvers.messages.graph.count_rows import CountRows, count_rows
from policrf.solvers.messages.graph.explicit_tables import ExplicitTables
from policrf.solvers.messages.graph.finite_costs import (
    TableUses,
    finite_rows,
    finite_tables,
    forbidden_cost,
    table_spans,
)
from policrf.solvers.messages.graph.node_order import order_nodes
from policrf.solvers.messages.graph.pair_terms import (
    Pairs,
    arcs,
    box_pairs,
    joined,
    potts_pairs,
    sequence_pairs,
    table_pairs,
    with_linear_kind,
)
from policrf.types import BoolArray, FloatArray, IntArray

ROUNDING = 2.0**-48  # of a node's largest cost: sums of its terms are not told apart below that


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
    arc_weight: FloatArray  # [A]; of a table, the factor that multiplies it
    arc_label: IntArray  # [A]; l_b (MEMBER, BOX)
    arc_start: IntArray  # [A]; first entry of the table in `tables` (DENSE, LINEAR)
    arc_stride: IntArray  # [A, 2]; strides of the own and of the other label in it
    clique_ptr: IntArray  # [C + 1]
    clique_nodes: IntArray  # [M]
    clique_stride: IntArray  # [M]; TABLE
    clique_kind: IntArray  # [C]; AGREE, SUPPORT, TABLE, COUNTED (of one label) or DOMINANT
    clique_label: IntArray  # [C]
    clique_weight: FloatArray  # [C]; COUNTED: forbidden counts are above it
    clique_count: IntArray  # [C]; quota (SUPPORT), length of f (COUNTED), L (DOMINANT)
    clique_start: IntArray  # [C]; first entry in `tables` of the table, of f, or of Q and γ_l
    member_ptr: IntArray  # [V + 1]; the entries of `clique_nodes` that are node v
    member_entry: IntArray  # [M]
    member_clique: IntArray  # [M]; the clique of each of them
    tables: FloatArray
    forbidden: float  # what +inf became, less the smallest entry of its term
    scale: float  # largest finite difference within one term: the unit of tolerances


class _Kinds(NamedTuple):
    """How each of the C cliques takes part; a clique that is in none says nothing."""

    agree: BoolArray
    support: BoolArray
    dominant: BoolArray
    ordered: BoolArray
    tabled: BoolArray
    rows: CountRows


def build_factor_graph(
    crf: CRF, explicit: ExplicitTables, *, split_agreement: bool = False
) -> FactorGraph:
    """Lay out `crf`; `explicit` holds the tables of those cliques that need one."""
    a = crf.arrays
    size = np.diff(a.clique_ptr)
    kinds = _kinds(a, explicit)
    uses = TableUses(
        start=np.where(kinds.ordered, a.data_start, explicit.start),
        size=np.where(kinds.ordered, a.data_size, explicit.size),
        factor=explicit.factor,
    )
    used = np.flatnonzero(kinds.tabled | kinds.ordered)
    uses = TableUses._make(column[used] for column in uses)
    forbidden, scale = forbidden_cost(_spans(crf, explicit.values, kinds, uses, used))
    tables, placed = finite_tables(explicit.values, uses, forbidden)
    count_limit = finite_rows(tables, kinds.rows, forbidden)
    start = explicit.start.copy()
    start[used] = placed

    unary = _folded_unary(crf, explicit, start, tables, forbidden)
    _fold_counts(a, kinds.rows, unary, forbidden)
    boxes = np.flatnonzero(kinds.agree) if split_agreement else np.zeros(0, np.int64)
    pairs = _pairs(crf, kinds, explicit, start, tables)
    place = order_nodes(pairs.ends, crf.n_nodes)
    pairs = joined(pairs, box_pairs(a, boxes, *_entries_of(a.clique_ptr, boxes)))
    unary, sizes, origin, rank = _placed(crf, unary, place, boxes, forbidden)
    # A label too many only lowers bounds; beside huge costs, `forbidden` may be less than rounding.
    blur = ROUNDING * np.abs(unary).max(axis=1, keepdims=True)
    real = np.arange(unary.shape[1]) < sizes[:, None]
    lowest = np.where(real, unary, np.inf).min(axis=1, keepdims=True)
    allowed = real & (unary <= lowest + (forbidden / 2 + blur))

    kept = kinds.support | kinds.dominant | (kinds.tabled & (size > 2))
    if not split_agreement:
        kept |= kinds.agree
    single, rows = np.flatnonzero(kept), kinds.rows
    cliques = np.append(single, rows.clique)
    entries, clique_ptr = _entries_of(a.clique_ptr, cliques)
    nodes = rank[a.clique_nodes[entries]]
    member_entry = np.argsort(nodes, kind="stable")
    clique_of = np.repeat(np.arange(len(cliques)), np.diff(clique_ptr))
    count = np.where(kinds.dominant, crf.n_labels, a.clique_count)[single]
    first = np.where(kinds.dominant, a.data_start, start)[single]
    return FactorGraph(
        unary=unary,
        sizes=sizes,
        allowed=allowed,
        origin=origin,
        **arcs(pairs._replace(ends=rank[pairs.ends]), len(unary)),
        clique_ptr=clique_ptr,
        clique_nodes=nodes,
        clique_stride=explicit.stride[entries],
        clique_kind=np.where(kinds.tabled[cliques], TABLE, a.clique_kind[cliques]),
        clique_label=np.append(a.clique_label[single], rows.label),
        clique_weight=np.append(a.clique_weight[single], count_limit),
        clique_count=np.append(count, rows.width),
        clique_start=np.append(first, rows.start),
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


def _kinds(a: Arrays, explicit: ExplicitTables) -> _Kinds:
    size = np.diff(a.clique_ptr)
    tabled = explicit.start >= 0
    weighs = a.clique_weight > 0
    counted = (a.clique_kind == COUNTED) & ~tabled
    return _Kinds(
        # A box without weight, of one node (HOP1) or without a quota (HOP2) is the same for all
        # labels.
        agree=(a.clique_kind == AGREE) & weighs & (size > 1),
        support=(a.clique_kind == SUPPORT) & weighs & (a.clique_count > 0),
        dominant=(a.clique_kind == DOMINANT) & ~tabled,
        ordered=(a.clique_kind == ORDERED) & ~tabled,
        tabled=tabled,
        rows=count_rows(a, np.flatnonzero(counted)),
    )


def _spans(
    crf: CRF, values: FloatArray, kinds: _Kinds, uses: TableUses, used: IntArray
) -> list[FloatArray]:
    """The largest finite difference within every term; `used` are the cliques of `uses`."""
    a = crf.arrays
    size = np.diff(a.clique_ptr)
    highest = np.where(np.isinf(crf.unary), -np.inf, crf.unary).max(axis=1)
    times = np.where(kinds.ordered, size * (size - 1) // 2, 1)
    dominant = np.flatnonzero(kinds.dominant)
    own = a.data[a.data_start[dominant][:, None] + np.arange(1, crf.n_labels + 1)]
    return [
        highest - crf.unary.min(axis=1),
        np.abs(a.edge_weights),
        a.clique_weight[kinds.agree] * (size[kinds.agree] // 2),
        a.clique_weight[kinds.support],
        a.clique_weight[dominant] - own.min(axis=1),
        table_spans(values, uses) * times[used],
        kinds.rows.span,
    ]


def _pairs(
    crf: CRF, kinds: _Kinds, explicit: ExplicitTables, start: IntArray, tables: FloatArray
) -> Pairs:
    a = crf.arrays
    dense = np.flatnonzero(kinds.tabled & (np.diff(a.clique_ptr) == 2))
    entries = a.clique_ptr[dense][:, None] + np.arange(2)
    sequences = np.flatnonzero(kinds.ordered)
    with_table = joined(
        table_pairs(
            a.clique_nodes[entries], start[dense], explicit.factor[dense], explicit.stride[entries]
        ),
        sequence_pairs(a, sequences, start[sequences]),
    )
    return joined(potts_pairs(a), with_linear_kind(with_table, tables, crf.cardinalities))


def _folded_unary(
    crf: CRF, explicit: ExplicitTables, start: IntArray, tables: FloatArray, forbidden: float
) -> FloatArray:
    """θ_v with the tables of one node added; `start` [C] is where they are in `tables`."""
    a = crf.arrays
    lowest = crf.unary.min(axis=1, keepdims=True)
    unary: FloatArray = np.where(np.isinf(crf.unary), lowest + forbidden, crf.unary)
    for c in np.flatnonzero((explicit.start >= 0) & (np.diff(a.clique_ptr) == 1)):
        table = tables[start[c] : start[c] + explicit.size[c]]
        unary[a.clique_nodes[a.clique_ptr[c]], : explicit.size[c]] += explicit.factor[c] * table
    return unary


def _fold_counts(a: Arrays, rows: CountRows, unary: FloatArray, forbidden: float) -> None:
    """Add to `unary` [N, L] what rows of counts say of single nodes, and their constants."""
    fixed = np.flatnonzero(rows.constant)
    np.add.at(unary, a.clique_nodes[a.clique_ptr[fixed]], rows.constant[fixed][:, None])
    entries, ptr = _entries_of(a.clique_ptr, rows.banned[:, 0])
    np.add.at(
        unary, (a.clique_nodes[entries], np.repeat(rows.banned[:, 1], np.diff(ptr))), forbidden
    )


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


def _entries_of(ptr: IntArray, cliques: IntArray) -> tuple[IntArray, IntArray]:
    """The entries of the given cliques, one after the other, and pointers into them."""
    sizes = ptr[cliques + 1] - ptr[cliques]
    new = _pointers(sizes)
    return np.arange(new[-1]) + np.repeat(ptr[cliques] - new[:-1], sizes), new


def _pointers(sizes: IntArray) -> IntArray:
    ptr = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=ptr[1:])
    return ptr
