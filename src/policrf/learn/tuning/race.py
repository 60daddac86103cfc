"""Racing: many candidates on few trials, the better half on twice as many, and so on.

Successive halving (Jamieson and Talwalkar 2016) on paired differences from the default, in several
races; the later ones are between the best of the earlier ones and their neighbours (as in irace,
López-Ibáñez et al. 2016). Candidates come from the seed. How many a race has depends on how long
solves take, and which survive on energies within a budget of CPU time: both differ a little from
run to run, and nothing else does.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from policrf.learn.tuning.candidates import first_candidates, next_candidates
from policrf.learn.tuning.journal import Journal
from policrf.learn.tuning.paired import Difference, difference
from policrf.learn.tuning.trials import Measured
from policrf.solvers.numbers import DEFAULT, Numbers

Measure = Callable[[Numbers, int], Measured]
Report = Callable[[dict[str, Any]], None]
FIRST_RACE, RACE = 0.4, 0.2  # of the seconds; races go on while there is time for a rung
MOST_RACES = 30
LEAST_SOLVES = 100  # that a further race is worth beginning for
AT_FIRST = 4  # trials of every candidate before the first are dropped
FEWEST, MOST = 6, 128  # candidates of a race
ELITE = 4  # that go on to the next race


class Found(NamedTuple):
    """What racing ends with."""

    numbers: Numbers
    difference: Difference
    """From the default, on training instances: too good by the luck of being chosen."""
    candidates: int
    solves: int


class Racer:
    """Candidates on trials; every measurement goes through the journal.

    Parameters
    ----------
    measure
        Numbers on a trial.
    journal
        Where measurements are kept.
    seconds
        For all races together, as the measurements count them.
    most_trials
        That are worth making of one candidate: a few for every training instance.
    seed
        Of the candidates.
    report
        Called after every rung of a race.
    """

    def __init__(
        self, measure: Measure, journal: Journal, *, seconds: float, most_trials: int,
        seed: int = 0, report: Report | None = None,
    ) -> None:  # fmt: skip
        self.measure, self.journal, self.seconds = measure, journal, seconds
        self.most_trials, self.report = most_trials, report
        self.rng = np.random.default_rng(seed)
        self.energies: dict[Numbers, list[float]] = {}
        self.spent, self.solves = 0.0, 0

    def run(self) -> Found:
        """All races, then the candidate that is most surely below the default; else the default."""
        elite: list[Numbers] = []
        self._extend([DEFAULT], AT_FIRST, math.inf)
        number = 0
        while number < MOST_RACES and self._affordable(self.seconds) >= LEAST_SOLVES:
            share = RACE if number else FIRST_RACE
            until = min(self.seconds, self.spent + share * self.seconds)
            count = self._count(number, until)
            candidates = (
                next_candidates(count, elite, self.rng)
                if elite
                else first_candidates(count, self.rng)
            )
            elite = self._race(number, candidates, until)
            number += 1
        best = min(elite, key=self._limit, default=DEFAULT)
        if best == DEFAULT or not self._limit(best) < 0:
            best = DEFAULT
        return Found(best, self.against_default(best), len(self.energies), self.solves)

    def against_default(self, numbers: Numbers) -> Difference:
        """On the trials that both have."""
        own, others = self.energies.get(numbers, []), self.energies[DEFAULT]
        common = min(len(own), len(others))
        return difference(own[:common], others[:common], clipped=True)

    def _mean(self, numbers: Numbers) -> float:
        mean = self.against_default(numbers).mean
        return math.inf if math.isnan(mean) else mean

    def _limit(self, numbers: Numbers) -> float:
        limit = self.against_default(numbers).limit
        return math.inf if math.isnan(limit) else limit

    def _count(self, number: int, until: float) -> int:
        """How many candidates fit into the time: all rungs of a race take about as long."""

        def plan() -> int:
            count, affordable = MOST, self._affordable(until)
            while count > FEWEST and count * AT_FIRST * math.log2(count) > affordable:
                count -= 1
            return count

        return int(self.journal.recall(f"candidates of race {number}", plan))

    def _affordable(self, until: float) -> float:
        """How many solves there is time for."""
        cost = self.spent / max(1, self.solves)
        return (until - self.spent) / max(cost, 1e-9)

    def _race(self, number: int, candidates: Sequence[Numbers], until: float) -> list[Numbers]:
        """The best of the candidates, best first; the default runs along, and is none of them."""
        alive = [numbers for numbers in candidates if numbers != DEFAULT]
        trials = AT_FIRST
        while alive:
            complete = self._extend([DEFAULT, *alive], trials, until)
            alive.sort(key=self._mean)
            self._tell(number, trials, alive)
            if not complete or len(alive) <= ELITE or trials >= self.most_trials:
                break
            alive = alive[: max(ELITE, len(alive) // 2)]
            trials = min(2 * trials, self.most_trials)
        while alive and trials < self.most_trials and self.spent < until:
            trials = min(2 * trials, self.most_trials)
            self._extend([DEFAULT, *alive[:ELITE]], trials, until)
        return sorted(alive[:ELITE], key=self._limit)

    def _extend(self, candidates: Sequence[Numbers], trials: int, until: float) -> bool:
        """Give the candidates their first `trials` trials, trial after trial; False: no time."""
        for trial in range(trials):
            for numbers in candidates:
                known = self.energies.setdefault(numbers, [])
                if len(known) > trial:
                    continue
                if self.spent >= until:
                    return False
                self._measure(numbers, trial)
        return True

    def _measure(self, numbers: Numbers, trial: int) -> None:
        key = f"{json.dumps(numbers.changes)} {trial}"
        energy, _, wall = self.journal.recall(key, lambda: list(self.measure(numbers, trial)))
        self.energies[numbers].append(float(energy))
        self.spent += float(wall)
        self.solves += 1

    def _tell(self, number: int, trials: int, alive: Sequence[Numbers]) -> None:
        if self.report is not None:
            self.report({
                "race": number + 1, "candidates": len(alive), "trials": trials,
                "seconds": round(self.spent, 2), "solves": self.solves,
                "difference": self._mean(alive[0]),
                "numbers": alive[0].as_dict(),
            })  # fmt: skip
