"""The compiled energy core that every solver and the learning share.

E(y) = Σ_i f_i(y_i) + Σ_ij w_ij [y_i ≠ y_j] + Σ_c f_c(y_c), and for a partial labeling (label −1 =
not labeled yet) the same sum over the terms whose nodes are all labeled (the paper's E_t), and
over what potentials that are asked half-way say of their labeled members.

`State` holds a labeling with the counts that make a change cheap: labeling, unlabeling or
relabeling node i costs O(degree + its cliques), the cost of each of its labels O(degree + its
cliques + L); a table or custom clique adds the lookups or calls it takes, never O(N).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, leaf
from policrf.crf.arrays import COUNTS, PARTIAL, SUMMARY, SUMMARY_SIZE, TERM, Arrays
from policrf.crf.potentials import (
    AGREE,
    COMPLETE,
    CONNECTED,
    COUNTED,
    CUSTOM,
    SUPPORT,
    TABLE,
    TERM_NAMES,
)
from policrf.crf.valued.connectivity_energy import connected_change
from policrf.crf.valued.custom_energy import (
    add_partial_costs,
    ask_custom,
    count_custom,
    counted_value,
    custom_clique_energy,
    keeps_value,
    members_value,
    partial_value,
    set_value,
)
from policrf.crf.valued.group_energy import counted_change
from policrf.crf.valued.summary_energy import update_summary, value_after_relabel
from policrf.types import FloatArray, IntArray

UNARY_TERM, PAIRWISE_TERM = TERM_NAMES.index("unary"), TERM_NAMES.index("pairwise")
N_TERMS = len(TERM_NAMES)


class State(NamedTuple):
    """A labeling in progress. Mutable; change it only through `assign` and `unassign`."""

    labels: IntArray  # [N]; −1 where unlabeled
    labeled: IntArray  # [C]; members that are labeled
    matches: IntArray  # [C]; members labeled with clique_label
    counts: IntArray  # [...]; members labeled with each label, of cliques that are functions of it
    summaries: FloatArray  # [...]; of CUSTOM cliques that have one
    added: FloatArray  # as `counts`: what one more member of each label adds; NaN = not known
    value: FloatArray  # [C]; what cliques from CUSTOM on say of their labeled members; [0]: none
    scratch: IntArray  # [2 · most members of a clique that keeps a value]; of no lasting use
    total: FloatArray  # [1]; sum of the finite terms of the partial energy
    forbidden: IntArray  # [1]; number of infinite terms


def new_state(arrays: Arrays) -> State:
    """The empty labeling."""
    n_cliques = len(arrays.clique_kind)
    valued = (arrays.clique_kind >= CUSTOM) | (arrays.custom[:, PARTIAL] != COMPLETE)
    n_counts = arrays.unary.shape[1] * int((arrays.custom[:, COUNTS] >= 0).sum())
    return State(
        labels=np.full(len(arrays.unary), -1, np.int64),
        labeled=np.zeros(n_cliques, np.int64),
        matches=np.zeros(n_cliques, np.int64),
        counts=np.zeros(n_counts, np.int64),
        summaries=np.zeros(int(arrays.custom[:, SUMMARY_SIZE].sum())),
        added=np.full(n_counts, np.nan),
        value=np.zeros(n_cliques if valued.any() else 0),
        scratch=np.empty(2 * int(np.diff(arrays.clique_ptr)[valued].max(initial=0)), np.int64),
        total=np.zeros(1),
        forbidden=np.zeros(1, np.int64),
    )


def total_energy(state: State) -> float:
    """E_t of the labels of a state: +inf where they use something forbidden; O(1)."""
    return float("inf") if state.forbidden[0] else float(state.total[0])


@inner
def clique_energy(a: Arrays, c: int, labels: IntArray) -> float:
    """f_c of a clique whose members are all labeled, from the labels alone."""
    start, stop = a.clique_ptr[c], a.clique_ptr[c + 1]
    kind = a.clique_kind[c]
    if kind == AGREE or kind == SUPPORT:
        matches = 0
        for m in range(start, stop):
            matches += labels[a.clique_nodes[m]] == a.clique_label[c]
        return counting_energy(a, c, matches)
    if kind == TABLE:
        return table_energy(a, c, labels)
    return custom_clique_energy(a, c, labels)


@inner
def table_energy(a: Arrays, c: int, labels: IntArray) -> float:
    """f_c of a TABLE clique whose members are all labeled."""
    at = a.data_start[c]
    for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
        at += a.clique_stride[m] * labels[a.clique_nodes[m]]
    return float(a.clique_weight[c] * a.data[at])


@inner
def counting_energy(a: Arrays, c: int, matches: int) -> float:
    """f_c of an AGREE or SUPPORT clique with `matches` members of its label."""
    if a.clique_kind[c] == AGREE:
        size = a.clique_ptr[c + 1] - a.clique_ptr[c]
        return float(a.clique_weight[c] * min(matches, size - matches))
    return float(a.clique_weight[c]) if matches < a.clique_count[c] else 0.0


@leaf
def energy_terms(a: Arrays, labels: IntArray, out: FloatArray) -> None:
    """Energy by term (`TERM_NAMES`), of the terms whose nodes are all labeled, into `out`."""
    out[:] = 0.0
    for i in range(len(a.unary)):
        if labels[i] >= 0:
            out[UNARY_TERM] += a.unary[i, labels[i]]
    for e in range(len(a.edges)):
        y, z = labels[a.edges[e, 0]], labels[a.edges[e, 1]]
        if y >= 0 and z >= 0 and y != z:
            out[PAIRWISE_TERM] += a.edge_weights[e]
    for c in range(len(a.clique_kind)):
        complete = True
        for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
            if labels[a.clique_nodes[m]] < 0:
                complete = False
                break
        if complete:
            out[a.custom[c, TERM]] += clique_energy(a, c, labels)
        elif a.custom[c, PARTIAL] != COMPLETE:
            out[a.custom[c, TERM]] += partial_value(a, c, labels)


@leaf
def label_costs(a: Arrays, s: State, i: int, out: FloatArray) -> None:
    """Sum of the terms of node i for each of its labels, given the other labeled nodes, into `out`.

    A term with another unlabeled node is left out, unless its clique is asked half-way: it counts
    with the change that the label makes, up to a constant where node i is labeled. `out[l]` is the
    energy that labeling an unlabeled node adds, `out[l] − out[y_i]` that of relabeling another.
    """
    n_labels = a.unary.shape[1]
    base = 0.0
    for label in range(n_labels):
        out[label] = a.unary[i, label]
    for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        y = s.labels[a.adj_node[k]]
        if y >= 0:
            base += a.adj_weight[k]
            out[y] -= a.adj_weight[k]
    own = s.labels[i]
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        size = a.clique_ptr[c + 1] - a.clique_ptr[c]
        kind = a.clique_kind[c]
        halfway = a.custom[c, PARTIAL] != COMPLETE
        if not halfway and s.labeled[c] - (own >= 0) != size - 1:
            continue
        if halfway or kind >= CUSTOM:
            add_partial_costs(a, s, i, c, a.node_entry[k], out)
        elif kind == AGREE or kind == SUPPORT:
            others = s.matches[c] - (own == a.clique_label[c])
            without = counting_energy(a, c, others)
            base += without
            out[a.clique_label[c]] += counting_energy(a, c, others + 1) - without
        else:
            add_table_costs(a, s.labels, i, c, a.node_entry[k], out)
    for label in range(n_labels):
        out[label] += base


@inner
def add_table_costs(
    a: Arrays, labels: IntArray, i: int, c: int, entry: int, out: FloatArray
) -> None:
    """Add the table's column for node i (at `entry` of the flat cliques), the others fixed."""
    at = a.data_start[c]
    for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
        if m != entry:
            at += a.clique_stride[m] * labels[a.clique_nodes[m]]
    for label in range(a.cardinalities[i]):
        out[label] += a.clique_weight[c] * a.data[at + a.clique_stride[entry] * label]


@inner
def node_terms(a: Arrays, s: State, i: int) -> tuple[float, int]:
    """The counted terms of the labeled node i: sum of the finite ones, number of infinite ones.

    Cliques that keep a value are left out: `set_value` counts them.
    """
    own = s.labels[i]
    total, forbidden = 0.0, 0
    if np.isinf(a.unary[i, own]):
        forbidden += 1
    else:
        total += a.unary[i, own]
    for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        y = s.labels[a.adj_node[k]]
        if y >= 0 and y != own:
            total += a.adj_weight[k]
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        counted = a.custom[c, PARTIAL] == COMPLETE
        if counted and s.labeled[c] == a.clique_ptr[c + 1] - a.clique_ptr[c]:
            kind = a.clique_kind[c]
            if kind == AGREE or kind == SUPPORT:
                value = counting_energy(a, c, s.matches[c])
            elif kind == TABLE:
                value = table_energy(a, c, s.labels)
            else:
                continue
            if np.isinf(value):
                forbidden += 1
            else:
                total += value
    return total, forbidden


@inner
def note_label(a: Arrays, s: State, i: int, label: int) -> None:
    """Write the label of the unlabeled node i down, and count it in its cliques."""
    s.labels[i] = label
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        s.labeled[c] += 1
        s.matches[c] += a.clique_label[c] == label


@leaf
def assign(a: Arrays, s: State, i: int, label: int) -> float:
    """Label the unlabeled node i; returns the energy it adds (E_t − E_{t−1})."""
    note_label(a, s, i, label)
    total, forbidden = node_terms(a, s, i)
    if len(s.value):
        change, infinite = ask_custom(a, s, i, -1)
        total += change
        forbidden += infinite
    s.total[0] += total
    s.forbidden[0] += forbidden
    return np.inf if forbidden else total


@leaf
def unassign(a: Arrays, s: State, i: int) -> float:
    """Take the label of node i away; returns the energy that goes with it."""
    total, forbidden = node_terms(a, s, i)
    label = s.labels[i]
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        s.labeled[c] -= 1
        s.matches[c] -= a.clique_label[c] == label
    s.labels[i] = -1
    if len(s.value):
        change, infinite = ask_custom(a, s, i, label)
        total -= change
        forbidden -= infinite
    s.total[0] -= total
    s.forbidden[0] -= forbidden
    return np.inf if forbidden else total


@inner
def relabel(a: Arrays, s: State, i: int, label: int) -> None:
    """Give the labeled node i another label."""
    old = s.labels[i]
    change, infinite = finite_change(a.unary[i, old], a.unary[i, label])
    for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        y = s.labels[a.adj_node[k]]
        if y >= 0:
            change += a.adj_weight[k] * (int(y != label) - int(y != old))
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        complete = s.labeled[c] == a.clique_ptr[c + 1] - a.clique_ptr[c]
        complete &= a.custom[c, PARTIAL] == COMPLETE
        if a.clique_kind[c] < TABLE:
            before = s.matches[c]
            now = before + int(a.clique_label[c] == label) - int(a.clique_label[c] == old)
            s.matches[c] = now
            if complete and now != before:
                change += counting_energy(a, c, now) - counting_energy(a, c, before)
        elif a.clique_kind[c] == TABLE and complete:
            before = table_energy(a, c, s.labels)
            s.labels[i] = label
            finite, others = finite_change(before, table_energy(a, c, s.labels))
            s.labels[i] = old
            change += finite
            infinite += others
    s.labels[i] = label
    s.total[0] += change
    s.forbidden[0] += infinite
    if len(s.value):
        count_custom(a, s, i, old)


@inner
def finite_change(before: float, after: float) -> tuple[float, int]:
    """The change of a term's finite part, and of the number of infinite terms."""
    was, now = np.isinf(before), np.isinf(after)
    return (0.0 if now else after) - (0.0 if was else before), int(now) - int(was)


@inner
def relabel_change(a: Arrays, s: State, i: int, label: int) -> float:
    """The change in energy of giving the labeled node i another label; all nodes are labeled.

    +inf where a term becomes infinite, −inf where one stops being so and none becomes.
    """
    own = s.labels[i]
    change = a.unary[i, label] - a.unary[i, own]
    if np.isnan(change):
        change = 0.0
    for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        y = s.labels[a.adj_node[k]]
        change += a.adj_weight[k] * (int(y != label) - int(y != own))
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        kind = a.clique_kind[c]
        if kind == COUNTED and np.isfinite(s.value[c]):
            first = a.custom[c, COUNTS]
            counted = s.counts[first : first + a.unary.shape[1]]
            change += counted_change(a, c, counted, own, label)
        elif kind == AGREE or kind == SUPPORT:
            wanted = a.clique_label[c]
            if wanted == own or wanted == label:
                others = s.matches[c] - int(own == wanted)
                change += counting_energy(a, c, others + int(label == wanted)) - counting_energy(
                    a, c, s.matches[c]
                )
        else:
            old = s.value[c] if kind >= CUSTOM else table_energy(a, c, s.labels)
            if a.custom[c, COUNTS] >= 0:
                first = a.custom[c, COUNTS]
                s.counts[first + own] -= 1
                s.counts[first + label] += 1
                new = counted_value(a, s, c)
                s.counts[first + own] += 1
                s.counts[first + label] -= 1
            elif kind == CONNECTED:
                new = old + connected_change(a, s, i, c, a.node_entry[k], label)
            elif a.custom[c, SUMMARY] >= 0:
                new = value_after_relabel(a, s, i, c, a.node_entry[k], label)
            else:
                s.labels[i] = label
                new = members_value(a, s, c) if kind >= CUSTOM else table_energy(a, c, s.labels)
                s.labels[i] = own
            if new != old:
                change += new - old
    return float(change)


@leaf
def load_labels(a: Arrays, s: State, labels: IntArray) -> None:
    """Start over from a full or partial labeling (−1 = unlabeled): O(size of the CRF)."""
    s.labels[:] = -1
    s.labeled[:] = 0
    s.matches[:] = 0
    s.counts[:] = 0
    s.summaries[:] = 0.0
    s.added[:] = np.nan
    s.value[:] = 0.0
    s.total[0] = 0.0
    s.forbidden[0] = 0
    for i in range(len(labels)):
        if labels[i] >= 0:
            note_label(a, s, i, labels[i])
            total, forbidden = node_terms(a, s, i)
            s.total[0] += total
            s.forbidden[0] += forbidden
    # Once a clique, not once a member.
    for c in range(len(a.clique_kind)):
        if keeps_value(a, c):
            if a.custom[c, COUNTS] >= 0:
                for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
                    if labels[a.clique_nodes[m]] >= 0:
                        s.counts[a.custom[c, COUNTS] + labels[a.clique_nodes[m]]] += 1
            if a.custom[c, SUMMARY] >= 0:
                for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
                    update_summary(a, s, a.clique_nodes[m], c, m, -1)
            change, infinite = set_value(a, s, c)
            s.total[0] += change
            s.forbidden[0] += infinite
