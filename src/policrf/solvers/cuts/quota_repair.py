"""HOP2 by greedy repair: λ_b is charged where fewer than `count` nodes of a box have its label.

No cut represents such a quota, so the moves leave it aside and repair it afterwards. For each
violated quota in turn, a price for every member with the label is found at which the move to the
label just meets the quota: the lower envelope of (members that change, cost), walked from chord to
chord (Eisner and Severance 1976), one cut a step. Members are then added (from the envelope's point
below) or taken away (from the one above) one by one at their true cost; whichever is better is kept
where it costs less than λ_b. Then moves to all labels at the prices found, single relabels and
exchanges polish the labeling, and it starts over while anything improves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.crf.arrays import Arrays
from policrf.crf.changes import load_labels
from policrf.crf.state import State, new_state
from policrf.solvers.cuts.crossover import Incumbent
from policrf.solvers.cuts.expansion_descent import Descent
from policrf.solvers.cuts.expansion_move import expand
from policrf.solvers.cuts.quota_moves import bring, exchange
from policrf.solvers.cuts.quotas import Quotas
from policrf.solvers.moves.icm import relabel_single_nodes
from policrf.types import FloatArray, IntArray

ROUNDS = 10
CHORDS = 40  # steps along an envelope; it takes a handful
SLICE = 10_000  # nodes a kernel call evaluates, some milliseconds


class _Point(NamedTuple):
    """What the move to a quota's label does at one price."""

    members: int  # that newly have the label
    cost: float  # without the price
    labels: IntArray


class QuotaRepair:
    """The quotas of a CRF, their prices, and the best labeling found with them."""

    def __init__(self, descent: Descent, labels: IntArray) -> None:
        self.descent = descent
        self.run = descent.run
        self.arrays: Arrays = descent.run.crf.arrays
        self.state: State = new_state(self.arrays)
        self.best = Incumbent(self.arrays, labels)
        assert descent.costs is not None
        self.quotas = Quotas(self.arrays, descent.costs)
        self.prices: FloatArray = np.zeros(len(self.quotas))

    def repair(self) -> None:
        """Improve the best labeling until a whole round does not."""
        refused: dict[int, bytes] = {}  # quota -> its members' labels when it did not pay
        for _ in range(ROUNDS):
            improved = False
            for q in range(len(self.quotas)):
                if self.run.expired():
                    return
                now = self.best.labels[self.quotas.members(q)]
                missed = np.count_nonzero(now == self.quotas.labels[q]) < self.quotas.counts[q]
                if missed and refused.get(q) != now.tobytes():
                    if self._meet(q):
                        improved = True
                    else:
                        refused[q] = now.tobytes()
            if self.prices.any():
                improved |= self.descend_at(self.prices, self.best.labels)[1]
            if not improved:
                return

    def descend_at(self, prices: FloatArray, labels: IntArray) -> tuple[IntArray, bool]:
        """Moves to all labels at `prices`, then the quotas one by one; did the best improve?"""
        self.quotas.set_prices(prices)
        priced = self.descent.descend(labels, self.descent.labels_in_use)
        self.bound_at(prices, priced)
        return priced, self.keep(self._polished(priced))

    def bound_at(self, prices: FloatArray, labels: IntArray) -> None:
        """Report a lower bound, if `labels` are proven to be the minimum at `prices`."""
        if self.descent.exact and self.descent.converged:
            energy = self.run.crf.energy(labels)
            paid = float((prices * self.quotas.counts).sum())
            margin = self.descent.margin + 1e-12 * paid
            self.run.bound(self.quotas.dual_value(prices, labels, energy), margin)

    def keep(self, labels: IntArray) -> bool:
        """Cross `labels` with the best labeling, and offer it if that made it better."""
        improved = self.best.keep(labels)
        if improved:
            self.run.offer(self.best.labels)
        return improved

    def _meet(self, q: int) -> bool:
        """Meet the violated quota q as cheaply as can be found; keep that if it pays."""
        before = self.prices[q]
        improved = False
        for labels in self._envelope(q):
            if self.run.expired():
                break
            improved |= self.keep(self._polished(labels, meet=q))
        if not improved:
            self.prices[q] = before
        return improved

    def _envelope(self, q: int) -> list[IntArray]:
        """The two points of the envelope on either side of the quota; none if it cannot pay."""
        start = self.best.labels
        missing = int(self.quotas.counts[q] - self.quotas.matches(start)[q])
        low = _Point(0, 0.0, start)
        # Whoever does not take the label at the price λ would cost more than λ.
        high = self._point(q, float(self.quotas.penalties[q]), start)
        if high.members < missing:
            return []
        for _ in range(CHORDS):
            slope = (high.cost - low.cost) / (high.members - low.members)
            self.prices[q] = max(0.0, slope)
            if self.run.expired():
                break
            point = self._point(q, slope, start)
            below = (low.cost - point.cost) - slope * (low.members - point.members)
            if below <= 1e-9 * (abs(high.cost) + abs(low.cost)):
                break
            if point.members >= missing:
                high = point
            else:
                low = point
        # The envelope is below every labeling that these moves can reach.
        cheapest = low.cost + self.prices[q] * (missing - low.members)
        return [low.labels, high.labels] if cheapest < self.quotas.penalties[q] else []

    def _point(self, q: int, price: float, start: IntArray) -> _Point:
        """The best move to the label of quota q at `price`, the other quotas at theirs."""
        prices = self.prices.copy()
        prices[q] = price
        self.quotas.set_prices(prices)
        self.descent.load(start)
        moved = self.descent.state.labels
        gain = expand(self.descent.problem, self.descent.state, int(self.quotas.labels[q]))
        members = int(self.quotas.matches(moved)[q] - self.quotas.matches(start)[q])
        # The moves pay for members of all quotas; the cost is to be that of the labels alone.
        others = prices * (self.quotas.matches(moved) - self.quotas.matches(start))
        return _Point(members, float(others.sum()) - gain, moved.copy())

    def _polished(self, labels: IntArray, meet: int = -1) -> IntArray:
        """Quotas near what changed brought to their count, nodes relabeled and exchanged.

        Each is met only where that pays, except `meet`, whose price the caller compares.
        """
        arrays, state, quotas = self.arrays, self.state, self.quotas
        near = quotas.touched(labels != self.best.labels)
        if meet >= 0:
            near = np.union1d(near, [meet])
        load_labels(arrays, state, labels)
        for q in near:
            c = int(quotas.cliques[q])
            if state.matches[c] < quotas.counts[q]:
                energy, before = state.total[0], state.labels.copy()
                self._bring(c, up=True)
                if q != meet and state.total[0] >= energy:
                    load_labels(arrays, state, before)
        for q in near:
            self._bring(int(quotas.cliques[q]), up=False)
        members = np.unique(quotas.nodes[np.isin(quotas.owner, near)])
        relabel_single_nodes(self.run, state, members)
        for q in near:
            if state.matches[quotas.cliques[q]] == quotas.counts[q]:
                self._exchange(int(quotas.cliques[q]))
        relabel_single_nodes(self.run, state, members)
        return state.labels.copy()

    def _bring(self, c: int, *, up: bool) -> None:
        while not self.run.expired() and not bring(self.arrays, self.state, c, up, SLICE):
            pass

    def _exchange(self, c: int) -> None:
        while not self.run.expired() and not exchange(self.arrays, self.state, c, SLICE):
            pass
