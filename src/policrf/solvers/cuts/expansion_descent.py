"""Expansion moves until no label improves: a local optimum of neighbourhoods of size 2^N."""

from __future__ import annotations

import numpy as np

from policrf.crf.arrays import Arrays
from policrf.crf.potentials import BoxSupport
from policrf.solvers.cuts.expansion_move import SLICE, expand_each
from policrf.solvers.cuts.expansion_problem import MoveProblem, move_problem, own_costs
from policrf.solvers.cuts.maxflow import PAUSED
from policrf.solvers.cuts.move_state import MoveState, load_moves, move_state
from policrf.solvers.moves.icm import local_minimum
from policrf.solvers.run import Run
from policrf.types import FloatArray, IntArray

LAY_OUT = 2e-8  # seconds an arc or node takes before a move, about
MANY = 50  # a sweep that changes fewer nodes than this part of them ends a rough descent


def seconds_to_begin(a: Arrays) -> float:
    """About what a descent takes before its first move."""
    return LAY_OUT * (len(a.unary) + 2 * len(a.edges) + 2 * len(a.clique_nodes))


class Descent:
    """The moves of one CRF, HOP2 left aside, for as long as a solver works on it."""

    def __init__(self, run: Run, sweeps: int) -> None:
        self.run = run
        self.sweeps = sweeps
        self.converged = False
        self.large_sweeps = 0  # of the last descent: those that changed many nodes
        self.costs: FloatArray | None = own_costs(run.crf) if run.crf.groups(BoxSupport) else None
        """Those of the problem where prices of quotas change them."""
        self.problem: MoveProblem = move_problem(run.crf, self.costs)
        allowed = np.isfinite(self.problem.costs)
        self.labels_in_use: IntArray = np.flatnonzero(allowed.any(axis=0)).astype(np.int64)
        self.start: IntArray = np.argmin(self.problem.costs, axis=1).astype(np.int64)
        if run.initial is not None:
            # Moves start from an allowed labeling: none of their costs is infinite.
            kept = allowed[np.arange(run.crf.n_nodes), run.initial]
            self.start = np.where(kept, run.initial, self.start)
        elif not len(run.crf.arrays.clique_kind):
            # Potts edges alone: single relabels are cheap, and leave less for moves to do.
            self.start = local_minimum(run, self.start)
        self.state: MoveState = move_state(
            self.problem, self.start, note_changes=self.costs is None and not self.exact
        )
        size = len(self.problem.pair) + len(self.problem.network.excess)
        self._moves_a_slice = max(1, SLICE // size)
        self._longest_slice = LAY_OUT * size  # seconds; no other begins that might not end in time

    @property
    def exact(self) -> bool:
        """Whether a converged descent has found the minimum.

        It has where nodes are independent; and with two labels, where the energy is a submodular
        function of a set that no subset and no superset improves.
        """
        return len(self.labels_in_use) <= 2 or len(self.problem.pair) == 0

    @property
    def margin(self) -> float:
        """What a converged, exact descent may be above the minimum: flow that counts as nothing.

        A minimum cut is off by what is left at its nodes, and by what its sums round.
        """
        network, terms = self.problem.network, self.run.terms
        left = 4 * float(network.tolerance.sum())
        return left + 4 * terms.rounding(max(self.run.energy, terms.lowest))

    def load(self, labels: IntArray) -> None:
        """Let the next move start from `labels`."""
        load_moves(self.problem, self.state, labels)

    def remember(self) -> MoveState:
        """The state as it is, for `recall`: kept flow is not part of it."""
        labels, when, tried = self.state.labels, self.state.changes.when, self.state.changes.tried
        changes = self.state.changes._replace(when=when.copy(), tried=tried.copy())
        return self.state._replace(labels=labels.copy(), changes=changes)

    def recall(self, known: MoveState) -> None:
        """Go back to a remembered state, so that moves from near it need not look elsewhere."""
        self.state.labels[:] = known.labels
        self.state.changes.when[:] = known.changes.when
        self.state.changes.tried[:] = known.changes.tried

    def descend(
        self,
        labels: IntArray,
        order: IntArray,
        *,
        offer: bool = False,
        rough: bool = False,
        sweeps: int | None = None,
    ) -> IntArray:
        """Move to label after label of `order`, from `labels`, until none improves.

        With `rough`, until a sweep changes few nodes: for one that another descent follows. With
        `offer`, the run hears of its labels once a sweep.
        """
        self.load(labels)
        cursor, counts, made = np.zeros(2, np.int64), self.problem.network.counts, 0
        before, many = labels, len(labels) / MANY
        most = (self.sweeps if sweeps is None else sweeps) * len(order)
        self.large_sweeps = 0
        while cursor[1] < len(order) and made < most and self._has_time():
            # A slice ends where a sweep does.
            moves = min(self._moves_a_slice, len(order) - int(cursor[0]))
            made += self._move(order, cursor, moves)
            if counts[PAUSED] > 0 or cursor[0] > 0:
                continue
            if offer:
                self.run.offer(self.state.labels)
            if rough:
                if np.count_nonzero(before != self.state.labels) < many:
                    break
                before = self.state.labels.copy()
                self.large_sweeps += 1
        self.converged = bool(cursor[1] >= len(order))
        return self.state.labels.copy()

    def _has_time(self) -> bool:
        return self.run.remaining() > self._longest_slice

    def _move(self, order: IntArray, cursor: IntArray, limit: int) -> int:
        """A slice of moves; how many came to their end."""
        began, before = self.run.elapsed(), int(self.state.changes.moves[0])
        expand_each(self.problem, self.state, order, cursor, limit)
        self._longest_slice = max(self._longest_slice, self.run.elapsed() - began)
        return int(self.state.changes.moves[0]) - before
