"""What a label promises a clique that is asked half-way: worth its price, though the first pays it.

    gain_c(l) = u_c · Σ_{j ∈ c} max(0, r_j − f_j(l))

r_j is the lowest unary of member j among the labels that the clique has already, or j's mean where
it has none; u_c is the part of the clique that is unlabeled, in full eighths. The sum depends on
which labels are there, and on nothing else: a gain changes when a label appears or an eighth ends,
L + 8 times in an episode, and is the same for all members.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, leaf
from policrf.crf.arrays import PARTIAL, Arrays
from policrf.crf.potentials import COMPLETE, CUSTOM
from policrf.types import FloatArray, IntArray

EIGHTHS = 8


class Gains(NamedTuple):
    """Of all cliques; boxes, tables and those not asked half-way have none. Mutable."""

    unit: FloatArray  # [1]; what a unit of gain counts
    counts: IntArray  # [C, L]; labeled members with each label; or [0, L], as what follows
    sums: FloatArray  # [C, L]; over all members, given which labels are there
    values: FloatArray  # [C, L]; the gains as costs count them


def new_gains(arrays: Arrays, unit: float) -> Gains:
    """Room for them; without any where nothing is asked half-way, or `unit` is 0."""
    asked = (arrays.custom[:, PARTIAL] != COMPLETE) & (arrays.clique_kind >= CUSTOM)
    promising = unit > 0 and bool(asked.any())
    shape = (len(arrays.clique_kind) if promising else 0, arrays.unary.shape[1])
    return Gains(
        unit=np.array([unit]),
        counts=np.zeros(shape, np.int64),
        sums=np.zeros(shape),
        values=np.zeros(shape),
    )


@leaf
def find_gains(a: Arrays, g: Gains, labels: IntArray) -> None:
    """All gains of a full or partial labeling [N] (−1 = unlabeled)."""
    for c in range(len(g.counts)):
        if a.custom[c, PARTIAL] == COMPLETE or a.clique_kind[c] < CUSTOM:
            continue
        labeled = 0
        g.counts[c] = 0
        for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
            label = labels[a.clique_nodes[m]]
            if label >= 0:
                labeled += 1
                g.counts[c, label] += 1
        sum_members(a, g, c)
        weigh(a, g, c, labeled)


@leaf
def gains_change(a: Arrays, g: Gains, c: int, label: int, by: int, labeled: int) -> bool:
    """Count `by` = ±1 members of clique c with this label more; whether its gains have changed.

    `labeled` members have a label now.
    """
    if len(g.counts) == 0 or a.clique_kind[c] < CUSTOM:
        return False
    size = a.clique_ptr[c + 1] - a.clique_ptr[c]
    before = g.counts[c, label] > 0
    g.counts[c, label] += by
    appeared = (g.counts[c, label] > 0) != before
    if appeared:
        sum_members(a, g, c)
    if appeared or open_eighths(size, labeled) != open_eighths(size, labeled - by):
        weigh(a, g, c, labeled)
        return True
    return False


@leaf
def open_eighths(size: int, labeled: int) -> int:
    """The part of a clique that is unlabeled, in full eighths."""
    return EIGHTHS * (size - labeled) // size


@inner
def weigh(a: Arrays, g: Gains, c: int, labeled: int) -> None:
    """The gains of clique c from its sums."""
    size = a.clique_ptr[c + 1] - a.clique_ptr[c]
    weight = g.unit[0] * open_eighths(size, labeled) / EIGHTHS
    for label in range(g.values.shape[1]):
        g.values[c, label] = weight * g.sums[c, label]


@inner
def sum_members(a: Arrays, g: Gains, c: int) -> None:
    """Σ_j max(0, r_j − f_j(l)) of clique c for every label: O(clique · L)."""
    g.sums[c] = 0.0
    anything = False
    for label in range(g.counts.shape[1]):
        anything |= g.counts[c, label] > 0
    for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
        j = a.clique_nodes[m]
        reference = np.inf if anything else finite_mean(a, j)
        for label in range(a.cardinalities[j]):
            if g.counts[c, label] > 0:
                reference = min(reference, a.unary[j, label])
        if reference == np.inf:
            continue
        for label in range(a.cardinalities[j]):
            g.sums[c, label] += max(0.0, reference - a.unary[j, label])


@inner
def finite_mean(a: Arrays, j: int) -> float:
    """The mean of the finite unaries of node j."""
    total, count = 0.0, 0
    for label in range(a.cardinalities[j]):
        if a.unary[j, label] < np.inf:
            total += a.unary[j, label]
            count += 1
    return total / count
