"""Bringing one HOP2 quota to its count node by node, at the lowest cost in the true energy.

Quota c wants `clique_count[c]` members with its label. `grow` adds the cheapest members, `peel`
takes those away that it does not need, `exchange` replaces one by another. Each does at most about
`limit` evaluations a call and returns whether it is done, so that callers can look at the clock in
between. Where a quota misses many members, a sixteenth of them is taken at a time.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import kernel
from policrf.crf.arrays import Arrays
from policrf.crf.checks import FloatArray, IntArray
from policrf.crf.energy import State, label_costs, relabel

BATCH = 16
PARTNERS = 8  # candidates on either side of an exchange
MARGIN = 1e-12  # relative; below it a change is rounding


@kernel
def grow(a: Arrays, s: State, c: int, limit: int) -> bool:
    """Give the label of quota c to its cheapest members until it is met, or none is left."""
    size = a.clique_ptr[c + 1] - a.clique_ptr[c]
    change, label = np.empty(size), np.empty(size, np.int64)
    for _ in range(max(1, limit // size)):
        missing = a.clique_count[c] - s.matches[c]
        if missing <= 0:
            return True
        _changes(a, s, c, change, label)
        order = np.argsort(change)
        taken = 0
        for m in order:
            i = a.clique_nodes[a.clique_ptr[c] + m]
            if taken >= max(1, missing // BATCH) or not change[m] < np.inf:
                break
            if s.labels[i] != a.clique_label[c]:
                relabel(a, s, i, a.clique_label[c])
                taken += 1
        if taken == 0:
            return True
    return False


@kernel
def peel(a: Arrays, s: State, c: int, limit: int) -> bool:
    """Relabel members that quota c does not need, those that gain most first, while any gains."""
    size = a.clique_ptr[c + 1] - a.clique_ptr[c]
    change, label = np.empty(size), np.empty(size, np.int64)
    for _ in range(max(1, limit // size)):
        spare = s.matches[c] - a.clique_count[c]
        if spare <= 0:
            return True
        _changes(a, s, c, change, label)
        order = np.argsort(change)
        taken = 0
        for m in order:
            i = a.clique_nodes[a.clique_ptr[c] + m]
            if taken >= max(1, spare // BATCH) or not change[m] < 0.0:
                break
            if s.labels[i] == a.clique_label[c]:
                relabel(a, s, i, label[m])
                taken += 1
        if taken == 0:
            return True
    return False


@kernel
def exchange(a: Arrays, s: State, c: int, limit: int) -> bool:
    """While it gains, let one member leave the label of the tight quota c and another take it."""
    size = a.clique_ptr[c + 1] - a.clique_ptr[c]
    change, label = np.empty(size), np.empty(size, np.int64)
    for _ in range(max(1, limit // size)):
        _changes(a, s, c, change, label)
        if not _exchange_once(a, s, c, change, label, np.argsort(change)):
            return True
    return False


@kernel
def _exchange_once(
    a: Arrays, s: State, c: int, change: FloatArray, label: IntArray, order: IntArray
) -> bool:
    """The first pair, of the cheapest on either side, whose exchange lowers the energy."""
    start, target = a.clique_ptr[c], a.clique_label[c]
    entered = 0
    for m in order:
        enter = a.clique_nodes[start + m]
        if s.labels[enter] == target:
            continue
        if entered == PARTNERS or not change[m] < np.inf:
            break
        entered += 1
        left = 0
        for n in order:
            leave = a.clique_nodes[start + n]
            if s.labels[leave] != target:
                continue
            if left == PARTNERS or change[m] + change[n] >= 0.0:
                break
            left += 1
            # The two changes may share an edge or a clique: only the energy itself decides.
            energy, old = s.total[0], s.labels[enter]
            relabel(a, s, enter, target)
            relabel(a, s, leave, label[n])
            if s.total[0] < energy - MARGIN * abs(energy):
                return True
            relabel(a, s, leave, target)
            relabel(a, s, enter, old)
            s.total[0] = energy
    return False


@kernel
def _changes(a: Arrays, s: State, c: int, change: FloatArray, label: IntArray) -> None:
    """For each member: what taking the label of quota c costs, or giving it up for the best other.

    The penalty of quota c itself is left out of both. `label` is what the member would get.
    """
    target, penalty = a.clique_label[c], a.clique_weight[c]
    tight, short = s.matches[c] == a.clique_count[c], s.matches[c] == a.clique_count[c] - 1
    costs = np.empty(a.unary.shape[1])
    for m in range(len(change)):
        i = a.clique_nodes[a.clique_ptr[c] + m]
        own = s.labels[i]
        label_costs(a, s, i, costs)
        if own != target:
            label[m] = target
            change[m] = costs[target] - costs[own] + (penalty if short else 0.0)
        else:
            here = costs[target]
            costs[target] = np.inf
            label[m] = np.argmin(costs)
            change[m] = costs[label[m]] - here - (penalty if tight else 0.0)
            if abs(change[m]) <= MARGIN * abs(here):
                change[m] = 0.0
