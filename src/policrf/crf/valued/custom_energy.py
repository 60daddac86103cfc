"""Cliques that keep a value: what they say of all members, of some, and what a label changes in it.

These are the CUSTOM ones, whose function is behind a C pointer (`custom_call`), and the built-in
groups of `group_energy`, and HOP1, HOP2 and tables that are asked for their lowest value
(`lowest_energy`). One that is asked half-way is asked about its labeled members (SUBSET), or
about all, −1 where there is no label (MARKED). A function of counts is asked about the counts that
the state keeps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from policrf.compiled import inner, inner_kernel
from policrf.crf.arrays import (
    ADDRESS,
    COUNTS,
    MARKED_ADDRESS,
    NUMBER,
    PARTIAL,
    SUMMARY,
    Arrays,
)
from policrf.crf.potentials import COMPLETE, CONNECTED, COUNTED, CUSTOM, ORDERED, SUBSET, TABLE
from policrf.crf.valued.connectivity_energy import connected_change, connected_energy
from policrf.crf.valued.custom_call import call_custom
from policrf.crf.valued.group_energy import (
    add_order_costs,
    counted_changes,
    counts_energy,
    order_energy,
)
from policrf.crf.valued.lowest_energy import lowest_of_counts, lowest_of_members
from policrf.crf.valued.summary_energy import (
    add_summary_costs,
    summarised_value,
    summary_energy,
    update_summary,
)
from policrf.types import FloatArray, IntArray

if TYPE_CHECKING:
    from policrf.crf.energy import State


@inner
def keeps_value(a: Arrays, c: int) -> bool:
    """Whether `State.value` has the clique: it is asked half-way, or a question to it is dear."""
    return bool(a.clique_kind[c] >= CUSTOM or a.custom[c, PARTIAL] != COMPLETE)


@inner_kernel
def labels_of_members(a: Arrays, c: int, labels: IntArray) -> IntArray:
    """The labels of clique c as an array of their own."""
    start, stop = a.clique_ptr[c], a.clique_ptr[c + 1]
    members = np.empty(stop - start, np.int64)
    for m in range(start, stop):
        members[m - start] = labels[a.clique_nodes[m]]
    return members


@inner_kernel
def custom_clique_energy(a: Arrays, c: int, labels: IntArray) -> float:
    """f_c from the labels of all nodes."""
    return custom_energy(a, c, labels_of_members(a, c, labels))


@inner_kernel
def custom_energy(a: Arrays, c: int, members: IntArray) -> float:
    """f_c from the labels of all its members."""
    return part_energy(a, c, members, np.empty_like(members))


@inner_kernel
def energy_of_counts(a: Arrays, c: int, members: IntArray) -> float:
    """f_c of a function of counts from the labels of some members."""
    counts = np.zeros(a.unary.shape[1], np.int64)
    for label in members:
        counts[label] += 1
    return call_clique(a, c, counts)


@inner
def call_clique(a: Arrays, c: int, numbers: IntArray) -> float:
    """f_c of labels, or of counts if it is a function of those; not for CONNECTED cliques."""
    if a.clique_kind[c] == ORDERED:
        return order_energy(a, c, numbers)
    if a.clique_kind[c] != CUSTOM:
        return counts_energy(a, c, numbers)
    first, count = a.data_start[c], a.data_size[c]
    a.calls[0] += 1
    return call_custom(  # type: ignore[call-arg]
        a.custom[c, ADDRESS], numbers, len(numbers), a.data[first:], count, a.custom[c, NUMBER]
    )


@inner_kernel
def partial_value(a: Arrays, c: int, labels: IntArray) -> float:
    """What a clique says of its labeled members; 0 where none is, or it is not asked yet.

    From the labels alone.
    """
    members = labels_of_members(a, c, labels)
    return part_energy(a, c, members, np.empty_like(members))


@inner
def part_energy(a: Arrays, c: int, members: IntArray, scratch: IntArray) -> float:
    """The same from the members' labels, −1 where there is none; `scratch` is as long."""
    count = 0
    for m in range(len(members)):
        if members[m] >= 0:
            scratch[count] = members[m]
            count += 1
    complete, form = count == len(members), a.custom[c, PARTIAL]
    if count == 0 or (form == COMPLETE and not complete):
        return 0.0
    if a.custom[c, SUMMARY] >= 0:
        return summary_energy(a, c, members)
    if a.clique_kind[c] == CONNECTED:
        return connected_energy(a, c, members)
    if a.clique_kind[c] < CUSTOM:
        return lowest_of_members(a, c, members)
    if a.custom[c, COUNTS] >= 0:
        return energy_of_counts(a, c, scratch[:count])
    if complete or form == SUBSET:
        return call_clique(a, c, scratch[:count])
    first, size = a.data_start[c], a.data_size[c]
    address, number = a.custom[c, MARKED_ADDRESS], a.custom[c, NUMBER]
    a.calls[0] += 1
    return call_custom(  # type: ignore[call-arg]
        address, members, len(members), a.data[first:], size, number
    )


@inner
def members_value(a: Arrays, s: State, c: int) -> float:
    """The same from the labels of a state, without new arrays."""
    start, size = a.clique_ptr[c], a.clique_ptr[c + 1] - a.clique_ptr[c]
    for m in range(size):
        s.scratch[m] = s.labels[a.clique_nodes[start + m]]
    return part_energy(a, c, s.scratch[:size], s.scratch[size : 2 * size])


@inner
def counted_value(a: Arrays, s: State, c: int) -> float:
    """The same of a function of counts, from the counts as they stand."""
    if s.labeled[c] == 0:
        return 0.0
    first = a.custom[c, COUNTS]
    return call_clique(a, c, s.counts[first : first + a.unary.shape[1]])


@inner
def set_value(a: Arrays, s: State, c: int) -> tuple[float, int]:
    """Ask clique c about the labels as they stand: change of the finite sum, of infinite terms."""
    old = s.value[c]
    if a.custom[c, COUNTS] >= 0:
        new = counted_value(a, s, c)
    elif a.custom[c, SUMMARY] >= 0:
        new = summarised_value(a, s, c)
    elif a.clique_kind[c] < TABLE:
        new = lowest_of_counts(a, c, s.labeled[c], s.matches[c])
    else:
        new = members_value(a, s, c)
    s.value[c] = new
    was_inf, is_inf = np.isinf(old), np.isinf(new)
    change = (0.0 if is_inf else new) - (0.0 if was_inf else old)
    return change, int(is_inf) - int(was_inf)


@inner_kernel
def add_custom_costs(
    a: Arrays, labels: IntArray, i: int, c: int, entry: int, out: FloatArray
) -> None:
    """Add f_c of a clique that keeps a value for every label of node i, the others fixed."""
    members = labels_of_members(a, c, labels)
    for label in range(a.cardinalities[i]):
        members[entry - a.clique_ptr[c]] = label
        out[label] += custom_energy(a, c, members)


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
