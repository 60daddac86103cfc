"""A labeling that nothing forbids, before its energy is lowered.

Propagation first; then guided search and breakout in turns, each with twice the work of its last
turn: search is quick where labels follow from each other (pedigrees, circuits, codes), breakout
where many labelings are allowed and each clique forbids few (satisfiability, frequencies).
"""

from __future__ import annotations

import numpy as np

from policrf.crf.arrays import Arrays
from policrf.crf.valued.custom_call import raise_if_failed
from policrf.random_numbers import new_generator
from policrf.solvers.feasibility.breakout import VIOLATED, Repair, new_repair, repair_steps
from policrf.solvers.feasibility.guided_search import FOUND, IMPOSSIBLE, SEARCHING, search
from policrf.solvers.feasibility.hard_terms import (
    SLICE,
    HardTerms,
    allowed_labels,
    hard_terms,
    optimistic_costs,
)
from policrf.solvers.feasibility.propagation import (
    CONSISTENT,
    PAUSED,
    STATUS,
    WORK,
    Domains,
    new_domains,
    propagate,
)
from policrf.solvers.pace import Pace
from policrf.solvers.run import Run
from policrf.types import BoolArray, FloatArray, IntArray

TURN = 2_000_000  # table entries of the first turn of the search, some 10 ms
STEPS = 5_000  # of the first turn of the repair, some 10 ms
TURNS = 4  # without a limit of time
AT_FIRST = 1_000  # steps, or hundreds of entries, before the first look at the clock


def feasible_labels(
    run: Run, labels: IntArray, *, costs: FloatArray | None = None, until: float = np.inf
) -> IntArray | None:
    """A labeling of finite energy near `labels` or of low `costs`; None if none was found.

    `costs` [N, L] is what the search prefers labels by: beliefs of messages, for one. It stops when
    `run.elapsed()` reaches `until`, or the run is over.
    """
    if np.isfinite(run.crf.energy(labels)):
        return labels
    if run.info.get("infeasible"):  # proven before
        return None
    a = run.crf.arrays
    hard = hard_terms(a)
    if hard is None or run.expired():
        return None
    domains = new_domains(a, hard, allowed_labels(a))
    status = PAUSED
    while status == PAUSED:
        if run.expired():
            return None
        status = propagate(a, hard, domains, domains.cursor[WORK] + SLICE)
    if status != CONSISTENT:
        run.info["infeasible"] = True
        return None
    domains.cursor[WORK] = 0
    phase = _Phase(run, hard, domains, until)
    return phase.find(labels, optimistic_costs(a, run.expired) if costs is None else costs)


class _Phase:
    """Both methods on the labels that propagation leaves."""

    def __init__(self, run: Run, hard: HardTerms, domains: Domains, until: float) -> None:
        self.run, self.hard, self.domains, self.until = run, hard, domains, until
        self.arrays: Arrays = run.crf.arrays
        self.alive: BoolArray = domains.alive.copy()
        self.generator = new_generator(run.seed)

    def over(self) -> bool:
        return self.run.expired() or self.run.elapsed() >= self.until

    def find(self, labels: IntArray, costs: FloatArray) -> IntArray | None:
        decisions = np.empty((len(labels), 3), np.int64)
        repair = new_repair(self.arrays, self.hard, cheapest(self.alive, costs, labels))
        status, turn = SEARCHING, 0
        while not self.over() and (self.run.seconds is not None or turn < TURNS):
            if status == SEARCHING:
                status = self._search(decisions, costs, TURN << turn)
                if status == IMPOSSIBLE:
                    self.run.info["infeasible"] = True
                    return None
                if status == FOUND:
                    found = cheapest(self.domains.alive, costs, labels)
                    if np.isfinite(self.run.crf.energy(found)):
                        return found
                    repair = new_repair(self.arrays, self.hard, found)  # cliques that are no tables
            self._repair(repair, STEPS << turn)
            if repair.cursor[VIOLATED] == 0 and np.isfinite(self.run.crf.energy(repair.labels)):
                return repair.labels
            turn += 1
        return None

    def _search(self, decisions: IntArray, costs: FloatArray, work: int) -> int:
        """Some table entries of the guided search; its status."""
        d, pace = self.domains, Pace(self.run, AT_FIRST)
        stop = d.cursor[WORK] + work
        while d.cursor[WORK] < stop and d.cursor[STATUS] == SEARCHING and not self.over():
            limit = 100 * pace.begin()
            search(self.arrays, self.hard, d, decisions, costs, self.generator, limit)
            pace.end()
        return int(d.cursor[STATUS])

    def _repair(self, repair: Repair, steps: int) -> None:
        """Some steps of breakout."""
        pace, done = Pace(self.run, max(1, AT_FIRST // 100)), 0
        while done < steps and repair.cursor[VIOLATED] and not self.over():
            count = min(pace.begin(), steps - done)
            repair_steps(self.arrays, self.hard, repair, self.alive, self.generator, count)
            raise_if_failed()
            done += count
            pace.end()


def cheapest(alive: BoolArray, costs: FloatArray, labels: IntArray) -> IntArray:
    """The label of every node where it is alive, else the cheapest that is."""
    rows = np.arange(len(labels))
    best = np.where(alive, np.where(np.isfinite(costs), costs, np.finfo(float).max), np.inf)
    return np.where(alive[rows, labels], labels, best.argmin(axis=1)).astype(np.int64)
