"""What a label changes in the cliques that keep a value, asked before and after it is given."""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner
from policrf.crf.arrays import COUNTS, SUMMARY, Arrays
from policrf.crf.potentials import CONNECTED, COUNTED, ORDERED, TABLE
from policrf.crf.state import State
from policrf.crf.valued.clique_value import (
    call_clique,
    counted_value,
    keeps_value,
    members_value,
    part_energy,
    set_value,
)
from policrf.crf.valued.connectivity_energy import connected_change
from policrf.crf.valued.group_energy import add_order_costs, counted_changes
from policrf.crf.valued.lowest_energy import lowest_of_counts
from policrf.crf.valued.summary_energy import (
    add_summary_costs,
    update_summary,
    value_after_relabel,
)
from policrf.types import FloatArray


@inner
def add_partial_costs(a: Arrays, s: State, i: int, c: int, entry: int, out: FloatArray) -> None:
    """Add what each label of node i changes in a clique that keeps a value."""
    if a.custom[c, COUNTS] >= 0:
        add_counted_costs(a, s, i, c, out)
        return
    if a.custom[c, SUMMARY] >= 0:
        add_summary_costs(a, s, i, c, entry, out)
        return
    if a.clique_kind[c] < TABLE:
        wanted, known = a.clique_label[c], int(s.labels[i] >= 0)
        labeled, matches = s.labeled[c] - known, s.matches[c] - int(s.labels[i] == wanted)
        without = lowest_of_counts(a, c, labeled, matches)
        for label in range(a.cardinalities[i]):
            out[label] += lowest_of_counts(a, c, labeled + 1, matches + (label == wanted)) - without
        return
    if a.clique_kind[c] == ORDERED:
        finite = s.labels[i] < 0 and not np.isinf(s.value[c])
        add_order_costs(a, s.labels, c, entry, s.value[c] if finite else 0.0, out)
        return
    start, size, own = a.clique_ptr[c], a.clique_ptr[c + 1] - a.clique_ptr[c], s.labels[i]
    if a.clique_kind[c] == CONNECTED and own >= 0 and s.labeled[c] == size:
        for label in range(a.cardinalities[i]):
            out[label] += s.value[c] + connected_change(a, s, i, c, entry, label)
        return
    members, spare = s.scratch[:size], s.scratch[size : 2 * size]
    for m in range(size):
        members[m] = s.labels[a.clique_nodes[start + m]]
    base = s.value[c] if own < 0 and not np.isinf(s.value[c]) else 0.0
    for label in range(a.cardinalities[i]):
        if label == own:
            out[label] += s.value[c]
        else:
            members[entry - start] = label
            out[label] += part_energy(a, c, members, spare) - base


@inner
def add_counted_costs(a: Arrays, s: State, i: int, c: int, out: FloatArray) -> None:
    """Add what each label of node i changes in a clique that is a function of its counts."""
    own, first = s.labels[i], a.custom[c, COUNTS]
    counts = s.counts[first : first + a.unary.shape[1]]
    if own < 0:
        # The same for all unlabeled members: asked once for all of them.
        if np.isnan(s.added[first]):
            fill_added(a, s, c)
        for label in range(a.cardinalities[i]):
            out[label] += s.added[first + label]
        return
    counts[own] -= 1
    if a.clique_kind[c] == COUNTED:
        # What one more member adds is not known while this one has a label: room for the answers.
        answers = s.added[first : first + len(counts)]
        counted_changes(a, c, counts, 0.0, answers)
        for label in range(a.cardinalities[i]):
            out[label] += answers[label]
        s.added[first] = np.nan
    else:
        for label in range(a.cardinalities[i]):
            counts[label] += 1
            out[label] += s.value[c] if label == own else call_clique(a, c, counts)
            counts[label] -= 1
    counts[own] += 1


@inner
def fill_added(a: Arrays, s: State, c: int) -> None:
    """What one more member of each label adds to a function of counts, into `s.added`."""
    first, n_labels = a.custom[c, COUNTS], a.unary.shape[1]
    counts, added = s.counts[first : first + n_labels], s.added[first : first + n_labels]
    base = 0.0 if np.isinf(s.value[c]) else s.value[c]
    if a.clique_kind[c] == COUNTED:
        counted_changes(a, c, counts, base, added)
        return
    for label in range(n_labels):
        counts[label] += 1
        added[label] = call_clique(a, c, counts) - base
        counts[label] -= 1


@inner
def value_if_relabeled(a: Arrays, s: State, i: int, c: int, entry: int, label: int) -> float:
    """What a clique from CUSTOM on would say if its labeled member i had another label."""
    own, first = s.labels[i], a.custom[c, COUNTS]
    if first >= 0:
        s.counts[first + own] -= 1
        s.counts[first + label] += 1
        new = counted_value(a, s, c)
        s.counts[first + own] += 1
        s.counts[first + label] -= 1
        return new
    if a.clique_kind[c] == CONNECTED:
        return float(s.value[c] + connected_change(a, s, i, c, entry, label))
    if a.custom[c, SUMMARY] >= 0:
        return value_after_relabel(a, s, i, c, entry, label)
    s.labels[i] = label
    new = members_value(a, s, c)
    s.labels[i] = own
    return new


@inner
def ask_custom(a: Arrays, s: State, i: int, old: int) -> tuple[float, int]:
    """Ask the cliques of node i that keep a value, after its label changed from `old` (−1 = none).

    Returns the change of the finite sum, and of the number of infinite terms.
    """
    total, forbidden = 0.0, 0
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        if keeps_value(a, c):
            first = a.custom[c, COUNTS]
            if first >= 0 and old >= 0:
                s.counts[first + old] -= 1
            if first >= 0 and s.labels[i] >= 0:
                s.counts[first + s.labels[i]] += 1
            if first >= 0:
                s.added[first] = np.nan
            if a.custom[c, SUMMARY] >= 0:
                update_summary(a, s, i, c, a.node_entry[k], old)
            change, infinite = set_value(a, s, c)
            total += change
            forbidden += infinite
    return total, forbidden


@inner
def count_custom(a: Arrays, s: State, i: int, old: int) -> None:
    """Count what `ask_custom` finds in the energy."""
    change, infinite = ask_custom(a, s, i, old)
    s.total[0] += change
    s.forbidden[0] += infinite


@inner
def load_value(a: Arrays, s: State, c: int) -> tuple[float, int]:
    """Ask a clique whose counts and summary are empty about the labels as they stand."""
    first = a.custom[c, COUNTS]
    for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
        label = s.labels[a.clique_nodes[m]]
        if first >= 0 and label >= 0:
            s.counts[first + label] += 1
        if a.custom[c, SUMMARY] >= 0:
            update_summary(a, s, a.clique_nodes[m], c, m, -1)
    return set_value(a, s, c)
