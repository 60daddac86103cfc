"""What a clique that keeps a value says of all its members, or of some.

These are the CUSTOM ones, whose function is behind a C pointer (`custom_call`), the built-in groups
of `group_energy`, and HOP1, HOP2 and tables that are asked for their lowest value
(`lowest_energy`). One that is asked half-way is asked about its labeled members (SUBSET), or
about all, −1 where there is no label (MARKED). A function of counts is asked about the counts that
the state keeps.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, inner_kernel
from policrf.crf.arrays import ADDRESS, COUNTS, MARKED_ADDRESS, NUMBER, PARTIAL, SUMMARY, Arrays
from policrf.crf.potentials import COMPLETE, CONNECTED, CUSTOM, ORDERED, SUBSET, TABLE
from policrf.crf.state import State
from policrf.crf.valued.connectivity_energy import connected_energy
from policrf.crf.valued.custom_call import call_custom
from policrf.crf.valued.group_energy import counts_energy, order_energy
from policrf.crf.valued.lowest_energy import lowest_of_counts, lowest_of_members
from policrf.crf.valued.summary_energy import summarised_value, summary_energy
from policrf.types import FloatArray, IntArray


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
