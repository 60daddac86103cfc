"""HOP2 by greedy repair: λ_b is charged where fewer than `count` nodes of a box have its label.

No cut represents such a quota, so the moves leave it aside and repair it afterwards. For each
violated quota in turn, a price μ for every member with the label is found at which the move to the
label just meets the quota: the lower envelope of (members that change, cost), walked from chord to
chord (Eisner and Severance 1976), one cut a step. Members are then added (from the envelope's point
below) or taken away (from the one above) one by one at their true cost; whichever is better is kept
where it costs less than λ_b. Then moves to all labels at the prices found, single relabels and
exchanges polish the labeling, and it starts over while anything improves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from policrf.crf.arrays import Arrays
from policrf.crf.checks import FloatArray, IntArray
from policrf.crf.energy import State, load_labels, new_state
from policrf.crf.potentials import SUPPORT
from policrf.solvers.crossover import Incumbent
from policrf.solvers.expansion_descent import Descent
from policrf.solvers.expansion_move import expand
from policrf.solvers.icm import descend as relabel_single_nodes
from policrf.solvers.quota_moves import exchange, grow, peel

ROUNDS = 10
CHORDS = 40  # steps along an envelope; it takes a handful
SLICE = 50_000  # nodes a kernel call evaluates, some ten milliseconds


class _Point(NamedTuple):
    """What the move to a quota's label does at one price."""

    members: int  # that newly have the label
    cost: float  # without the price
    labels: IntArray


class QuotaRepair:
    """The quotas of a CRF that can be met at all, their prices, and the moves that meet them."""

    def __init__(self, descent: Descent, labels: IntArray) -> None:
        self.descent = descent
        self.run = descent.run
        self.arrays: Arrays = descent.run.crf.arrays
        self.state: State = new_state(self.arrays)
        self.best = Incumbent(self.arrays, labels)
        self.unpriced: FloatArray = descent.problem.costs.copy()
        self.quotas = [int(c) for c in np.flatnonzero(self.arrays.clique_kind == SUPPORT)]
        self.quotas = [c for c in self.quotas if self._can_be_met(c)]
        self.prices = dict.fromkeys(self.quotas, 0.0)
        everyone = [self.members(c) for c in self.quotas]
        self.everyone: IntArray = np.unique(np.concatenate([*everyone, np.zeros(0, np.int64)]))

    def members(self, c: int) -> IntArray:
        """The nodes of quota c."""
        return self.arrays.clique_nodes[self.arrays.clique_ptr[c] : self.arrays.clique_ptr[c + 1]]

    def matches(self, c: int, labels: IntArray) -> int:
        """How many members have the label of quota c."""
        return int(np.count_nonzero(labels[self.members(c)] == self.arrays.clique_label[c]))

    def _can_be_met(self, c: int) -> bool:
        row = self.unpriced[self.arrays.clique_label[c], self.members(c)]
        count = int(self.arrays.clique_count[c])
        matters = count > 0 and self.arrays.clique_weight[c] > 0
        return bool(matters and count <= np.count_nonzero(np.isfinite(row)))

    def set_prices(self, prices: dict[int, float]) -> None:
        """Pay `prices[c]` for every member of quota c with its label, in the moves to come."""
        costs = self.descent.problem.costs
        for c in self.quotas:
            at = self.arrays.clique_label[c], self.members(c)
            costs[at] = self.unpriced[at]
        for c in self.quotas:
            costs[self.arrays.clique_label[c], self.members(c)] -= prices[c]

    def repair(self) -> None:
        """Improve the best labeling until a whole round does not."""
        for _ in range(ROUNDS):
            improved = False
            for c in self.quotas:
                if self.run.expired():
                    return
                if self.matches(c, self.best.labels) < self.arrays.clique_count[c]:
                    improved |= self._meet(c)
            if any(self.prices.values()):
                improved |= self.descend_at(self.prices, self.best.labels)[1]
            if not improved:
                return

    def descend_at(self, prices: dict[int, float], labels: IntArray) -> tuple[IntArray, bool]:
        """Moves to all labels at `prices`, then the quotas one by one; did the best improve?"""
        self.set_prices(prices)
        priced = self.descent.descend(labels, self.descent.labels_in_use)
        self.bound_at(prices, priced)
        return priced, self.keep(self._polish(priced))

    def bound_at(self, prices: dict[int, float], labels: IntArray) -> None:
        """Report D(μ) (see `quota_lagrangian`), if `labels` are proven to be the minimum there."""
        if not (self.descent.exact and self.descent.converged):
            return
        value = self.run.crf.energy(labels)
        for c in self.quotas:
            matches, count = self.matches(c, labels), int(self.arrays.clique_count[c])
            penalty = float(self.arrays.clique_weight[c])
            value += min(penalty, prices[c] * count) - prices[c] * matches
            value -= penalty if matches < count else 0.0
        self.run.bound(value)

    def keep(self, labels: IntArray) -> bool:
        """Cross `labels` with the best labeling, and offer it if that made it better."""
        improved = self.best.keep(labels)
        if improved:
            self.run.offer(self.best.labels)
        return improved

    def _meet(self, c: int) -> bool:
        """Meet the violated quota c as cheaply as can be found; keep that if it pays."""
        before = self.prices[c]
        improved = False
        for labels in self._envelope(c):
            improved |= self.keep(self._polish(labels, meet=c))
        if not improved:
            self.prices[c] = before
        return improved

    def _envelope(self, c: int) -> list[IntArray]:
        """The two points of the envelope on either side of the quota; none if it cannot pay."""
        start = self.best.labels
        missing = int(self.arrays.clique_count[c]) - self.matches(c, start)
        low = _Point(0, 0.0, start)
        # At the price λ whoever is not moved would cost more than λ.
        high = self._point(c, float(self.arrays.clique_weight[c]), start)
        if high.members < missing:
            return []
        for _ in range(CHORDS):
            slope = (high.cost - low.cost) / (high.members - low.members)
            self.prices[c] = max(0.0, slope)
            if self.run.expired():
                break
            point = self._point(c, slope, start)
            below = (low.cost - point.cost) - slope * (low.members - point.members)
            if below <= 1e-9 * (abs(high.cost) + abs(low.cost)):
                break
            if point.members >= missing:
                high = point
            else:
                low = point
        return [low.labels, high.labels]

    def _point(self, c: int, price: float, start: IntArray) -> _Point:
        """The best move to the label of quota c at `price`, the other quotas at theirs."""
        self.set_prices({**self.prices, c: price})
        self.descent.load(start)
        state = self.descent.state
        gain = expand(self.descent.problem, state, int(self.arrays.clique_label[c]))
        members = self.matches(c, state.labels) - self.matches(c, start)
        return _Point(members, price * members - gain, state.labels.copy())

    def _polish(self, labels: IntArray, meet: int = -1) -> IntArray:
        """Bring every quota that pays to its count, then relabel and exchange single nodes."""
        arrays, state = self.arrays, self.state
        load_labels(arrays, state, labels)
        for c in self.quotas:
            if state.matches[c] < arrays.clique_count[c]:
                energy, before = state.total[0], state.labels.copy()
                self._finish(grow, c)
                if c != meet and state.total[0] >= energy:
                    load_labels(arrays, state, before)
        for c in self.quotas:
            self._finish(peel, c)
        self._relabel_members()
        for c in self.quotas:
            if state.matches[c] == arrays.clique_count[c]:
                self._finish(exchange, c)
        self._relabel_members()
        return state.labels.copy()

    def _finish(self, step: Callable[[Arrays, State, int, int], bool], c: int) -> None:
        while not self.run.expired():
            if step(self.arrays, self.state, c, SLICE):
                return

    def _relabel_members(self) -> None:
        """Single relabels in the true energy, from the members of all quotas outwards."""
        queue = np.zeros(self.run.crf.n_nodes, np.int64)
        queue[: len(self.everyone)] = self.everyone
        queued = np.zeros(self.run.crf.n_nodes, np.bool_)
        queued[self.everyone] = True
        cursor = np.array([0, len(self.everyone)], np.int64)
        while cursor[1] > 0 and not self.run.expired():
            relabel_single_nodes(self.arrays, self.state, queue, queued, cursor, SLICE)
