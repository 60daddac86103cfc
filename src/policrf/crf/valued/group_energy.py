"""What the built-in groups say, from counts or from the labels of some or all members.

COUNTED    Σ_l g_l(n_l)                                 label costs, any function of counts
TOGETHER   Σ over pairs of labels a < b with n_a, n_b > 0 of their price
DOMINANT   min(γ, min_l γ_l + (γ − γ_l) (n − n_l) / Q)  robust P^n Potts
ORDERED    min(cap, Σ over members i before j of prices[y_i, y_j])

n_l is the number of members with label l, n of all that are labeled. A count that is forbidden but
can still grow says what the best count within reach costs: g_l = +inf away from 5 members means
"exactly 5", and forbids a part of the labels only once it has 6, or too few are left.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, inner_kernel
from policrf.crf.arrays import Arrays
from policrf.crf.potentials import COUNTED, TOGETHER
from policrf.types import FloatArray, IntArray


@inner
def count_value(a: Arrays, c: int, label: int, count: int, open_members: int) -> float:
    """g_l(count) of a COUNTED clique with so many unlabeled members; +inf: no reachable count is.

    Its last entry holds for all larger counts.
    """
    width = a.clique_count[c]
    first, last = a.data_start[c] + label * width, width - 1
    value = a.data[first + min(count, last)]
    if open_members > 0 and np.isinf(value):
        for reached in range(count + 1, min(count + open_members, last) + 1):
            value = min(value, a.data[first + reached])
    return float(value)


@inner
def counts_energy(a: Arrays, c: int, counts: IntArray) -> float:
    """f_c of a COUNTED, TOGETHER or DOMINANT clique: O(L), O(L · labels present), O(L)."""
    n_labels, first = len(counts), a.data_start[c]
    total = 0.0
    if a.clique_kind[c] == COUNTED:
        open_members = a.clique_ptr[c + 1] - a.clique_ptr[c] - counts.sum()
        for label in range(n_labels):
            total += count_value(a, c, label, counts[label], open_members)
        return total
    if a.clique_kind[c] == TOGETHER:
        for label in range(n_labels):
            if counts[label] > 0:
                for other in range(label):
                    if counts[other] > 0:
                        total += a.data[first + label * n_labels + other]
        return total
    labeled, lowest = 0, a.clique_weight[c]
    for label in range(n_labels):
        labeled += counts[label]
    for label in range(n_labels):
        own = a.data[first + 1 + label]
        slope = (a.clique_weight[c] - own) / a.data[first]
        lowest = min(lowest, own + slope * (labeled - counts[label]))
    return float(lowest)


@inner
def counted_changes(a: Arrays, c: int, counts: IntArray, base: float, out: FloatArray) -> None:
    """f_c of a COUNTED clique with one member more of each label, less `base`, into `out` [L]."""
    total, forbidden = 0.0, 0
    left = a.clique_ptr[c + 1] - a.clique_ptr[c] - counts.sum() - 1
    for label in range(len(counts)):
        value = count_value(a, c, label, counts[label], left)
        if np.isinf(value):
            forbidden += 1
        else:
            total += value
    for label in range(len(counts)):
        before = count_value(a, c, label, counts[label], left)
        after = count_value(a, c, label, counts[label] + 1, left)
        if np.isinf(after) or forbidden > int(np.isinf(before)):
            out[label] = np.inf
        else:
            # Where `base` is f_c, the difference of two entries is left, whatever the others are.
            change = after if np.isinf(before) else after - before
            out[label] = (total - base) + change


@inner
def counted_change(a: Arrays, c: int, counts: IntArray, own: int, label: int) -> float:
    """The change of a fully labeled COUNTED clique with a finite value by a member's new label."""
    if own == label:
        return 0.0
    after = count_value(a, c, own, counts[own] - 1, 0)
    after += count_value(a, c, label, counts[label] + 1, 0)
    before = count_value(a, c, own, counts[own], 0) + count_value(a, c, label, counts[label], 0)
    return after - before


@inner
def order_energy(a: Arrays, c: int, members: IntArray) -> float:
    """f_c of an ORDERED clique from the labels of its labeled members, in order; O(k²)."""
    n_labels, first = a.unary.shape[1], a.data_start[c]
    total = 0.0
    for later in range(len(members)):
        for earlier in range(later):
            total += a.data[first + members[earlier] * n_labels + members[later]]
        if total >= a.clique_weight[c]:  # prices are not negative
            return float(a.clique_weight[c])
    return total


@inner_kernel
def add_order_costs(
    a: Arrays, labels: IntArray, c: int, entry: int, base: float, out: FloatArray
) -> None:
    """Add f_c, less `base`, for every label of the member at `entry`; O(k · labels present + L²).

    `labels` [N] has −1 for members without a label.
    """
    n_labels, first = a.unary.shape[1], a.data_start[c]
    before, after = np.zeros(n_labels, np.int64), np.zeros(n_labels, np.int64)
    others = 0.0
    for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
        y = labels[a.clique_nodes[m]]
        if m != entry and y >= 0:
            for x in range(n_labels):
                seen = before[x] + after[x]
                if seen:
                    others += seen * a.data[first + x * n_labels + y]
            if m < entry:
                before[y] += 1
            else:
                after[y] += 1
    for label in range(a.cardinalities[a.clique_nodes[entry]]):
        own = 0.0
        for x in range(n_labels):
            if before[x]:
                own += before[x] * a.data[first + x * n_labels + label]
            if after[x]:
                own += after[x] * a.data[first + label * n_labels + x]
        out[label] += min(a.clique_weight[c], others + own) - base
