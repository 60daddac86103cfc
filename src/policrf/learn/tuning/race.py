"""Racing: many candidates on few trials, the better half on twice as many, and so on.

Successive halving (Jamieson and Talwalkar 2016) on paired differences from a base, the default or
the best so far, in several races; the later ones are between the best of the earlier ones and their
neighbours (as in irace, López-Ibáñez et al. 2016). The last few are compared on further trials,
which chose nothing: the lowest of many is lucky on the trials that it was chosen by. Candidates
come from the seed. How many a race has depends on how long solves take, and which survive on
energies within a budget of CPU time: both differ a little from run to run, and nothing else does.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from policrf.learn.tuning.journal import Journal
from policrf.learn.tuning.paired import Difference, difference
from policrf.learn.tuning.trials import Measured
from policrf.solvers.numbers import DEFAULT, Numbers

Measure = Callable[[Numbers, int], Measured]
Propose = Callable[[int, Sequence[Numbers], np.random.Generator], list[Numbers]]
Report = Callable[[dict[str, Any]], None]
Energies = dict[Numbers, list[float]]
FIRST_RACE, RACE = 0.4, 0.2  # of the time given; races go on while there is time for a rung
FINAL = 0.25  # of the time given, for the best of all races
MOST_RACES = 30
LEAST_SOLVES = 20  # that a further race is worth beginning for
AT_FIRST, IN_HASTE = 4, 2  # trials of every candidate before the first are dropped
MANY_SOLVES = 200  # with time for fewer, races are in haste: solves of large CRFs differ little
FEWEST, MOST = 6, 128  # candidates of a race
ELITE = 4  # that go on to the next race


class Racer:
    """Candidates on trials; every measurement goes through the journal.

    Parameters
    ----------
    measure
        Numbers on a trial.
    propose
        So many candidates of a race, by the best of the races before: none at first.
    journal
        Where measurements are kept.
    base
        What all are compared with.
    name
        What the journal calls these races, where there are others.
    most_trials
        That are worth making of one candidate: a few for every training instance. As many more, by
        the numbers after these, are for the finalists.
    seed
        Of the candidates.
    report
        Called after every rung of a race.
    """

    def __init__(
        self, measure: Measure, propose: Propose, journal: Journal, *, most_trials: int,
        base: Numbers = DEFAULT, name: str = "", seed: int = 0, report: Report | None = None,
    ) -> None:  # fmt: skip
        self.measure, self.propose, self.journal = measure, propose, journal
        self.base, self.name, self.most_trials, self.report = base, name, most_trials, report
        self.rng = np.random.default_rng(seed)
        self.energies: Energies = {}  # by trial
        self.finals: Energies = {}  # the same of further trials
        self.elite: list[Numbers] = []  # of all races so far, the base never
        self.spent, self.solving, self.solves, self.races = 0.0, 0.0, 0, 0
        self.at_first = AT_FIRST

    def run(self, until: float) -> None:
        """Races until so many seconds are spent.

        The last part of the time goes to the best of all: as many trials for each of them.
        """
        self._extend([self.base], AT_FIRST, math.inf)
        self.at_first = AT_FIRST if self._affordable(until) >= MANY_SOLVES else IN_HASTE
        seconds = until - self.spent
        for end in (until - FINAL * seconds, until):  # finalists may need less than their part
            while self.races < MOST_RACES and self._affordable(end) >= LEAST_SOLVES:
                stop = min(end, self.spent + (RACE if self.races else FIRST_RACE) * seconds)
                self._race(self.propose(self._count(stop), self.finalists(), self.rng), stop)
            self._extend([self.base, *self._last()], self.most_trials, until, self.finals)

    def best(self) -> Numbers:
        """Of the finalists the lowest, if it is surely below the base; else the base.

        Of those that are level with the lowest the one with the fewest changes from the default:
        chance is not to decide between numbers that are equally good.
        """
        sure = [one for one in self._last() if self.against(one, self.base).limit < 0]
        if not sure:
            return self.base
        lowest = min(sure, key=lambda one: self.against(one, sure[0]).mean)
        level = [one for one in sure if not self.against(one, lowest).loses]
        return min(level, key=lambda one: (len(one.changes), self.against(one, lowest).mean))

    def finalists(self) -> list[Numbers]:
        """Of all races the few most surely below the base."""
        return sorted(self.elite, key=self._limit)[:ELITE]

    def _last(self) -> list[Numbers]:
        """The finalists, and their starts without any other change."""
        finalists = self.finalists()
        plain = [Numbers(start=one.start) for one in finalists]
        return list(dict.fromkeys(one for one in (*finalists, *plain) if one != self.base))

    def against(self, numbers: Numbers, other: Numbers) -> Difference:
        """On the further trials that both have."""
        return _less(self.finals, numbers, other)

    def _mean(self, numbers: Numbers) -> float:
        mean = _less(self.energies, numbers, self.base).mean
        return math.inf if math.isnan(mean) else mean

    def _limit(self, numbers: Numbers) -> float:
        limit = _less(self.energies, numbers, self.base).limit
        return math.inf if math.isnan(limit) else limit

    def _count(self, until: float) -> int:
        """How many candidates fit into the time: all rungs of a race take about as long."""

        def plan() -> int:
            count, affordable = MOST, self._affordable(until)
            while count > FEWEST and count * self.at_first * math.log2(count) > affordable:
                count -= 1
            return count

        return int(self.journal.recall(f"{self.name}candidates of race {self.races}", plan))

    def _affordable(self, until: float) -> float:
        """How many solves there is time for."""
        cost = self.solving / max(1, self.solves)
        return (until - self.spent) / max(cost, 1e-9)

    def _race(self, candidates: Sequence[Numbers], until: float) -> None:
        """The best of the candidates join the elite; the base runs along and is none of them."""
        alive = [numbers for numbers in candidates if numbers != self.base]
        trials = self.at_first
        while alive:
            complete = self._extend([self.base, *alive], trials, until)
            alive.sort(key=self._mean)
            self._tell(trials, alive)
            if not complete or len(alive) <= ELITE or trials >= self.most_trials:
                break
            alive = alive[: max(ELITE, len(alive) // 2)]
            trials = min(2 * trials, self.most_trials)
        while alive and trials < self.most_trials and self.spent < until:
            trials = min(2 * trials, self.most_trials)
            self._extend([self.base, *alive[:ELITE]], trials, until)
        self.elite += [one for one in alive[:ELITE] if one not in self.elite]
        self.races += 1

    def _extend(
        self, candidates: Sequence[Numbers], trials: int, until: float, of: Energies | None = None
    ) -> bool:
        """Give the candidates their first `trials` trials, trial after trial; False: no time."""
        energies = self.energies if of is None else of
        for trial in range(trials):
            for numbers in candidates:
                known = energies.setdefault(numbers, [])
                if len(known) > trial:
                    continue
                if self.spent >= until:
                    return False
                known.append(
                    self._measured(numbers, trial + (0 if of is None else self.most_trials))
                )
        return True

    def _measured(self, numbers: Numbers, trial: int) -> float:
        key = f"{self.name}{json.dumps(numbers.changes)} {trial}"
        energy, _, spent = self.journal.recall(key, lambda: list(self.measure(numbers, trial)))
        self.spent += float(spent)
        self.solving += float(spent)
        self.solves += 1
        return float(energy)

    def _tell(self, trials: int, alive: Sequence[Numbers]) -> None:
        if self.report is not None:
            self.report({
                "race": self.races + 1, "candidates": len(alive), "trials": trials,
                "seconds": round(self.spent, 2), "solves": self.solves,
                "difference": self._mean(alive[0]),
                "numbers": alive[0].as_dict(),
            })  # fmt: skip


def _less(energies: Energies, numbers: Numbers, other: Numbers) -> Difference:
    """On the trials that both have."""
    own, others = energies.get(numbers, []), energies.get(other, [])
    common = min(len(own), len(others))
    return difference(own[:common], others[:common], clipped=True)
