"""What custom cliques say to their members, at the lowest price.

A function of counts says the same to all members of one label: its answers are kept for as long as
the clique stays the same. In a clique of k members and L labels a round of single relabels then
takes L² questions, not k · L. A function of labels is called through its pointer, on one array.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inlined, inner, leaf
from policrf.crf.arrays import (
    ADDRESS,
    COUNTS,
    MARKED_ADDRESS,
    NUMBER,
    PARTIAL,
    SUMMARY,
    Arrays,
)
from policrf.crf.energy import label_costs
from policrf.crf.potentials import COMPLETE, CUSTOM, SUBSET
from policrf.crf.state import State
from policrf.crf.valued.custom_call import call_custom
from policrf.crf.valued.value_changes import add_partial_costs
from policrf.types import BoolArray, FloatArray, IntArray


class Answers(NamedTuple):
    """Mutable; N nodes, C cliques, L labels, L + 1 rows a clique whose answers are kept."""

    place: IntArray  # [C]; the clique's first row, −1 where answers are not kept
    quick: (
        BoolArray  # [N]; all cliques of the node have functions of labels, or answers that are kept
    )
    version: IntArray  # [C]; how often the clique has changed
    seen: IntArray  # [R]; the version that the row is of
    rows: FloatArray  # [R, L]; by a member's own label, the last one for members that have none
    members: IntArray  # [most members of a clique]; scratch space


def new_answers(a: Arrays) -> Answers:
    """Nothing is known yet.

    Kept for cliques with as many members as labels or more, all with the same number of labels.
    """
    n_nodes, n_labels = a.unary.shape
    n_cliques = len(a.clique_kind)
    place, quick = np.empty(n_cliques, np.int64), np.empty(n_nodes, np.bool_)
    n_rows = find_places(a, place, quick)
    return Answers(
        place=place,
        quick=quick,
        version=np.ones(n_cliques, np.int64),
        seen=np.zeros(n_rows, np.int64),
        rows=np.empty((n_rows, n_labels)),
        members=np.empty(int(np.diff(a.clique_ptr).max(initial=0)), np.int64),
    )


@leaf
def find_places(a: Arrays, place: IntArray, quick: BoolArray) -> int:
    """Fill `place` and `quick`; returns the number of rows."""
    n_labels, n_rows = a.unary.shape[1], 0
    for c in range(len(place)):
        start, stop = a.clique_ptr[c], a.clique_ptr[c + 1]
        kept = a.custom[c, COUNTS] >= 0 and stop - start >= n_labels
        for m in range(start, stop):
            kept &= a.cardinalities[a.clique_nodes[m]] == a.cardinalities[a.clique_nodes[start]]
        place[c] = n_rows if kept else -1
        n_rows += (n_labels + 1) * int(kept)
    for i in range(len(quick)):
        quick[i] = True
        for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
            c = a.node_clique[k]
            called = a.clique_kind[c] == CUSTOM and a.custom[c, SUMMARY] < 0
            quick[i] &= place[c] >= 0 or (called and a.custom[c, COUNTS] < 0)
    return n_rows


@inlined
def outdate(a: Arrays, v: Answers, i: int) -> None:
    """Node i has another label: what its cliques have answered holds no longer."""
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        v.version[a.node_clique[k]] += 1


@inlined
def node_costs(a: Arrays, s: State, v: Answers, i: int, out: FloatArray) -> None:
    """As `label_costs`, up to a constant, from the answers that are kept."""
    if not v.quick[i]:
        label_costs(a, s, i, out)
        return
    own = s.labels[i]
    for label in range(len(out)):
        out[label] = a.unary[i, label]
    for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        y = s.labels[a.adj_node[k]]
        if y >= 0:
            out[y] -= a.adj_weight[k]
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        if v.place[c] < 0:
            ask_function(a, s, v, i, k, out)
            continue
        row = v.place[c] + (own if own >= 0 else len(out))
        if v.seen[row] != v.version[c]:
            ask(a, s, v, i, k, row)
        for label in range(len(out)):
            out[label] += v.rows[row, label]


@inner
def ask(a: Arrays, s: State, v: Answers, i: int, k: int, row: int) -> None:
    """Ask the clique in entry k of the nodes' cliques what it says to members like node i."""
    c = a.node_clique[k]
    v.rows[row, :] = 0.0
    add_partial_costs(a, s, i, c, a.node_entry[k], v.rows[row])
    v.seen[row] = v.version[c]


@inner
def ask_function(a: Arrays, s: State, v: Answers, i: int, k: int, out: FloatArray) -> None:
    """Add what each label of node i changes in a clique with a function of labels (entry k)."""
    c, own = a.node_clique[k], s.labels[i]
    start, stop = a.clique_ptr[c], a.clique_ptr[c + 1]
    partial, address = a.custom[c, PARTIAL], a.custom[c, ADDRESS]
    marked = False
    if s.labeled[c] - (own >= 0) < stop - start - 1:
        if partial == COMPLETE:
            return
        marked = partial != SUBSET
        address = a.custom[c, MARKED_ADDRESS] if marked else address
    count, at = 0, 0
    for m in range(start, stop):
        label = s.labels[a.clique_nodes[m]]
        if m == a.node_entry[k]:
            at = count
        elif label < 0 and not marked:
            continue
        v.members[count] = label
        count += 1
    base = s.value[c] if own < 0 and not np.isinf(s.value[c]) else 0.0
    first, size = a.data_start[c], a.data_size[c]
    for label in range(a.cardinalities[i]):
        if label == own:
            out[label] += s.value[c]
            continue
        v.members[at] = label
        a.calls[0] += 1
        out[label] += (
            call_custom(  # type: ignore[call-arg]
                address, v.members, count, a.data[first:], size, a.custom[c, NUMBER]
            )
            - base
        )
