"""Bringing one HOP2 quota to its count node by node, at the lowest cost in the true energy.

Quota c wants `clique_count[c]` members with its label. `bring` adds the cheapest members, or takes
those away that it does not need; `exchange` replaces one by another. Each does about `limit`
evaluations a call and returns whether it is done, so that callers can look at the clock in between.
Where many members are to change, a sixteenth of them changes at a time.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, inner_kernel, kernel
from policrf.crf.arrays import Arrays
from policrf.crf.changes import relabel
from policrf.crf.energy import label_costs
from policrf.crf.state import State
from policrf.solvers.moves.cheapest import cheapest_other, rank
from policrf.types import FloatArray, IntArray

BATCH = 16
PARTNERS = 8  # candidates on either side of an exchange
MARGIN = 1e-12  # relative; below it a change is rounding


@kernel
def bring(a: Arrays, s: State, c: int, up: bool, limit: int) -> bool:
    """Up: the cheapest members get the label until quota c is met. Down: who gains most leaves it.

    Down ends where no member gains, or the quota has no more than it needs.
    """
    start, stop, target = a.clique_ptr[c], a.clique_ptr[c + 1], a.clique_label[c]
    change, label = np.empty(stop - start), np.empty(stop - start, np.int64)
    highest = np.inf if up else 0.0
    for _ in range(max(1, limit // (stop - start))):
        spare = s.matches[c] - a.clique_count[c]
        wanted = -spare if up else spare
        if wanted <= 0:
            return True
        _changes(a, s, c, change, label)
        for m in range(stop - start):
            if (s.labels[a.clique_nodes[start + m]] == target) == up:
                change[m] = np.inf
        wanted = max(1, wanted // BATCH)
        at_most = _about_lowest(change, wanted)
        taken = 0
        for m in range(stop - start):
            if taken < wanted and change[m] <= at_most and change[m] < highest:
                relabel(a, s, a.clique_nodes[start + m], label[m])
                taken += 1
        if taken == 0:
            return True
    return False


@kernel
def exchange(a: Arrays, s: State, c: int, limit: int) -> bool:
    """While it gains, let one member leave the label of the tight quota c and another take it."""
    start, stop, target = a.clique_ptr[c], a.clique_ptr[c + 1], a.clique_label[c]
    change, label = np.empty(stop - start), np.empty(stop - start, np.int64)
    partners, prices = np.empty((2, PARTNERS), np.int64), np.empty((2, PARTNERS))
    for _ in range(max(1, limit // (stop - start))):
        _changes(a, s, c, change, label)
        partners[:] = -1
        prices[:] = np.inf
        for m in range(stop - start):
            side = 1 if s.labels[a.clique_nodes[start + m]] == target else 0
            rank(partners[side], prices[side], m, change[m])
        if not _exchange_once(a, s, c, change, label, partners):
            return True
    return False


@inner
def _about_lowest(change: FloatArray, wanted: int) -> float:
    """A value that at least `wanted` of the finite changes do not exceed, and few more."""
    low, high = np.inf, -np.inf
    for m in range(len(change)):
        if change[m] < np.inf:
            low, high = min(low, change[m]), max(high, change[m])
    if wanted == 1 or not low < high:
        return low
    for _ in range(30):
        middle = 0.5 * (low + high)
        count = 0
        for m in range(len(change)):
            count += change[m] <= middle
        if count >= wanted:
            high = middle
        else:
            low = middle
    return high


@inner_kernel
def _changes(a: Arrays, s: State, c: int, change: FloatArray, label: IntArray) -> None:
    """For each member: what taking the label of quota c costs, or leaving it for the best other.

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
            label[m] = cheapest_other(costs, target)
            change[m] = costs[label[m]] - here - (penalty if tight else 0.0)
            if abs(change[m]) <= MARGIN * abs(here):
                change[m] = 0.0
            if label[m] == target:
                change[m] = np.inf


@inner
def _exchange_once(
    a: Arrays, s: State, c: int, change: FloatArray, label: IntArray, partners: IntArray
) -> bool:
    """The first pair, of the cheapest on either side, whose exchange lowers the energy."""
    start, target = a.clique_ptr[c], a.clique_label[c]
    for m in partners[0]:
        for n in partners[1]:
            if m < 0 or n < 0 or not change[m] + change[n] < 0.0:
                break
            # The two changes may share an edge or a clique: only the energy itself decides.
            enter, leave = a.clique_nodes[start + m], a.clique_nodes[start + n]
            energy, old = s.total[0], s.labels[enter]
            relabel(a, s, enter, target)
            relabel(a, s, leave, label[n])
            if s.total[0] < energy - MARGIN * abs(energy):
                return True
            relabel(a, s, leave, target)
            relabel(a, s, enter, old)
            s.total[0] = energy
    return False
