"""Expansion moves until no label improves: a local optimum of neighbourhoods of size 2^N."""

from __future__ import annotations

import numpy as np

from policrf.crf.potentials import BoxSupport
from policrf.solvers.cuts.expansion_move import MoveState, count_matches, expand_each, move_state
from policrf.solvers.cuts.expansion_problem import MoveProblem, move_problem, own_costs
from policrf.solvers.run import Run
from policrf.types import FloatArray, IntArray

SLICE = 1_000_000  # arcs and nodes that one kernel call lays out: some ten milliseconds


class Descent:
    """The moves of one CRF, HOP2 left aside, for as long as a solver works on it."""

    def __init__(self, run: Run, sweeps: int) -> None:
        self.run = run
        self.sweeps = sweeps
        self.converged = False
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
        self.state: MoveState = move_state(self.problem, self.start)
        size = len(self.problem.pair) + len(self.problem.network.excess)
        self._moves_a_slice = max(1, SLICE // size)

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
        self.state.labels[:] = labels
        count_matches(self.problem, self.state)

    def descend(self, labels: IntArray, order: IntArray, *, offer: bool = False) -> IntArray:
        """Move to label after label of `order`, from `labels`, until none improves."""
        self.load(labels)
        cursor = np.zeros(2, np.int64)
        left = self.sweeps * len(order)
        while cursor[1] < len(order) and left > 0 and not self.run.expired():
            # A slice ends where a sweep does, so that a labeling can be offered once a sweep.
            moves = min(self._moves_a_slice, len(order) - int(cursor[0]))
            expand_each(self.problem, self.state, order, cursor, moves)
            left -= moves
            if offer and cursor[0] == 0:
                self.run.offer(self.state.labels)
        self.converged = bool(cursor[1] >= len(order))
        return self.state.labels.copy()
