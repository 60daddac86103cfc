"""Labeling, unlabeling and relabeling one node: the energy follows.

A change of node i costs O(degree + its cliques), the cost of each of its labels O(degree + its
cliques + L); a table or custom clique adds the lookups or calls it takes, never O(N).
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, leaf
from policrf.crf.arrays import COUNTS, PARTIAL, Arrays
from policrf.crf.energy import counting_energy, table_energy
from policrf.crf.potentials import AGREE, COMPLETE, COUNTED, SUPPORT, TABLE
from policrf.crf.state import State
from policrf.crf.valued.clique_value import keeps_value
from policrf.crf.valued.group_energy import counted_change
from policrf.crf.valued.value_changes import (
    ask_custom,
    count_custom,
    load_value,
    value_if_relabeled,
)
from policrf.types import IntArray


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
        elif kind == TABLE:
            old = table_energy(a, c, s.labels)
            s.labels[i] = label
            new = table_energy(a, c, s.labels)
            s.labels[i] = own
            if new != old:
                change += new - old
        else:
            old = s.value[c]
            new = value_if_relabeled(a, s, i, c, a.node_entry[k], label)
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
            change, infinite = load_value(a, s, c)
            s.total[0] += change
            s.forbidden[0] += infinite
