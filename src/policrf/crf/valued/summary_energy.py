"""CUSTOM cliques whose function is asked about a summary of their labels.

The state keeps the summary of the labeled members. A question about another label changes a copy:
taking a label out of floating-point sums again would leave rounding behind.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, inner_kernel
from policrf.crf.arrays import ADDRESS, NUMBER, SUMMARY, SUMMARY_SIZE, UPDATE_ADDRESS, Arrays
from policrf.crf.state import State
from policrf.crf.valued.custom_call import call_custom
from policrf.crf.valued.summary_call import call_update
from policrf.types import FloatArray, IntArray


@inner
def call_on_summary(a: Arrays, c: int, summary: FloatArray) -> float:
    """f_c of a summary."""
    a.calls[0] += 1
    return call_custom(  # type: ignore[call-arg]
        a.custom[c, ADDRESS], summary, len(summary), a.data[a.data_start[c] :], a.data_size[c],
        a.custom[c, NUMBER],
    )  # fmt: skip


@inner
def change_summary(
    a: Arrays, c: int, summary: FloatArray, member: int, label: int, sign: int
) -> None:
    """Let a member get (+1) or lose (−1) a label in a summary."""
    address, own = a.custom[c, UPDATE_ADDRESS], a.data[a.data_start[c] :]
    done: float = call_update(  # type: ignore[call-arg]
        address, summary, own, a.data_size[c], member, label, sign
    )
    # 0, or NaN after a mistake, which the function then hands on.
    summary[0] += done  # type: ignore[unreachable]


@inner
def update_summary(a: Arrays, s: State, i: int, c: int, entry: int, old: int) -> None:
    """Bring the summary up to date, after the label of node i at `entry` changed from `old`."""
    first, member = a.custom[c, SUMMARY], entry - a.clique_ptr[c]
    summary = s.summaries[first : first + a.custom[c, SUMMARY_SIZE]]
    if old >= 0:
        change_summary(a, c, summary, member, old, -1)
    if s.labels[i] >= 0:
        change_summary(a, c, summary, member, s.labels[i], 1)


@inner
def summarised_value(a: Arrays, s: State, c: int) -> float:
    """What the clique says of its labeled members; 0 where none is."""
    first = a.custom[c, SUMMARY]
    summary = s.summaries[first : first + a.custom[c, SUMMARY_SIZE]]
    return 0.0 if s.labeled[c] == 0 else call_on_summary(a, c, summary)


@inner_kernel
def summary_energy(a: Arrays, c: int, members: IntArray) -> float:
    """f_c from the labels of all members, −1 for none, without a state."""
    summary = np.zeros(a.custom[c, SUMMARY_SIZE])
    for m in range(len(members)):
        if members[m] >= 0:
            change_summary(a, c, summary, m, members[m], 1)
    return call_on_summary(a, c, summary)


@inner_kernel
def value_after_relabel(a: Arrays, s: State, i: int, c: int, entry: int, label: int) -> float:
    """f_c if node i at `entry`, which may be unlabeled, had the label."""
    first, member = a.custom[c, SUMMARY], entry - a.clique_ptr[c]
    summary = s.summaries[first : first + a.custom[c, SUMMARY_SIZE]].copy()
    if s.labels[i] >= 0:
        change_summary(a, c, summary, member, s.labels[i], -1)
    change_summary(a, c, summary, member, label, 1)
    return call_on_summary(a, c, summary)


@inner_kernel
def add_summary_costs(a: Arrays, s: State, i: int, c: int, entry: int, out: FloatArray) -> None:
    """Add what each label of node i changes in the clique."""
    own = s.labels[i]
    base = s.value[c] if own < 0 and not np.isinf(s.value[c]) else 0.0
    for label in range(a.cardinalities[i]):
        if label == own:
            out[label] += s.value[c]
        else:
            out[label] += value_after_relabel(a, s, i, c, entry, label) - base
