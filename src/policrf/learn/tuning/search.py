"""The search on training instances: numbers race, then what was learned challenges the best.

The race of the numbers is the same whether or not anything is learned after it: the same instances,
seeds, candidates and time. Its last few are compared on instances, or seeds of them, that they were
not found on. A first pass and which clique moves to try are learned next, and race against the best
numbers, with new seeds. What does not win there leaves the numbers as they are.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from policrf.evaluation.cpu_time import cpu_budgets
from policrf.learn.first_pass.learn_pass import learn_pass
from policrf.learn.move_weights import with_learned_choice
from policrf.learn.tuning.candidates import (
    Changes,
    Learned,
    challengers,
    first_candidates,
    next_candidates,
)
from policrf.learn.tuning.journal import Journal
from policrf.learn.tuning.judge import LEARNED, TUNED, Judged
from policrf.learn.tuning.race import Racer, Report
from policrf.learn.tuning.trials import Measured, Trials, crf_of
from policrf.policy.policy import Policy
from policrf.solvers.numbers import DEFAULT, Numbers

SEEDS = 4  # of every training instance, at most
NUMBERS_SHARE = 0.5  # of the seconds, to race the numbers, whether or not anything is learned
CHOICE_SHARE, PASS_SHARE = 0.05, 0.2  # to learn which moves to try, and a first pass; then races
CHALLENGE_SHARE, FEWEST = 1 / 3, 4  # of the instances, for the last races; fewer are not parted


class Search:
    """What is found on training instances: numbers, then what was learned with them.

    Parameters
    ----------
    training
        The instances and the budget.
    journal
        Where everything is kept.
    seed
        Of everything random.
    report
        Called now and then.
    start
        A policy whose numbers race along, and whose first pass evolution begins with.
    """

    def __init__(
        self, training: Trials, journal: Journal, seed: int, report: Report | None = None,
        start: Policy | None = None,
    ) -> None:  # fmt: skip
        self.trials, self.journal, self.seed, self.report = training, journal, seed, report
        self.begin = None if start is None else start.first_pass
        self.also = [] if start is None or start.tuning is None else [start.tuning.numbers]
        self.first, self.second = _in_two(training)
        self.found: dict[str, Numbers] = {}
        self.learned: dict[str, Any] = {}
        self.racers: list[Racer] = []
        self.spent = 0.0

    def run(self, seconds: float, passes: int) -> dict[str, Numbers]:
        """The best by the names of `judge`: those that are surely below the default here.

        `passes` of a first pass, 0: nothing is learned.
        """
        racer = self._racer(self.first, self.second, self._numbers)
        racer.run(NUMBERS_SHARE * seconds)
        self.spent, tuned = racer.spent, racer.best()
        self.found = {} if tuned == DEFAULT else {TUNED: tuned}
        if passes:
            choice = self._learn_choice(seconds)
            self._learn_pass(seconds, passes)
            near = [one for one in racer.finalists() if one != tuned]
            ready = Learned([tuned, *near], choice, True, self.also)
            best = self._challenge(ready, seconds)
            self.found |= {} if best == tuned else {LEARNED: best}
        return self.found

    def _numbers(self, count: int, elite: list[Numbers], rng: np.random.Generator) -> list[Numbers]:
        also = [numbers for numbers in self.also if numbers.start != "first_pass"]
        found = next_candidates(count, elite, rng)
        return found or first_candidates(count, rng, also)

    def _racer(self, trials: Trials, last: Trials, propose: Any, **options: Any) -> Racer:
        """Races on `trials`, with finals on the trials of `last`."""
        policies: dict[Numbers, Policy] = {}
        most = SEEDS * len(trials.problems)

        def measure(numbers: Numbers, trial: int) -> Measured:
            if numbers not in policies:
                policies[numbers] = trials.policy(numbers)
            if trial < most:
                return trials.measure(policies[numbers], trial)
            return last.measure(policies[numbers], trial - most)

        self.racers.append(
            Racer(measure, propose, self.journal, most_trials=most, seed=self.seed,
                  report=self.report, **options)
        )  # fmt: skip
        return self.racers[-1]

    def _challenge(self, ready: Learned, seconds: float) -> Numbers:
        """What was learned if it is surely below the best numbers; else these."""
        base = ready.numbers[0]
        seeds, first_pass = self.second.first_seed, self.trials.first_pass
        trials, last = (
            replace(self.second, first_pass=first_pass, first_seed=seeds + count * SEEDS)
            for count in (1, 2)
        )
        propose = partial(challengers, learned=ready)
        racer = self._racer(trials, last, propose, base=base, name="challenge ")
        racer.spent = self.spent
        racer.run(seconds)
        best = racer.best()
        self.learned["difference"] = racer.against(best, base).mean
        return best

    def _learn_choice(self, seconds: float) -> Changes:
        """Which clique moves to try, learned from moves that were tried."""
        crfs = [crf_of(problem) for problem in self.first.problems]

        def find() -> dict[str, Any]:
            with cpu_budgets():
                begun = time.perf_counter()
                found = with_learned_choice(
                    crfs, self.trials.budget, seed=self.seed, seconds=CHOICE_SHARE * seconds
                )
                return {"changes": found.changes, "spent": time.perf_counter() - begun}

        told = self.journal.recall("choice of moves", find)
        self.spent += float(told["spent"])
        return Numbers.from_dict(told["changes"]).changes

    def _learn_pass(self, seconds: float, passes: int) -> None:
        report, before = self.report, self.spent

        def show(line: dict[str, Any]) -> None:
            if report is not None:
                report(line | {"seconds": before + line["seconds"]})

        first_pass, self.learned = learn_pass(
            self.first, self.journal, passes=passes, seed=self.seed, begin=self.begin,
            seconds=PASS_SHARE * seconds, report=show,
        )  # fmt: skip
        self.spent += float(self.learned["spent"])
        self.trials = replace(self.trials, first_pass=first_pass)

    def reached(self, judged: Judged) -> dict[str, Any]:
        """What the file says of how it was found, and of the test."""
        test, numbers = judged.difference, self.racers[0]
        return {
            "candidates": sum(len(racer.energies) for racer in self.racers),
            "solves": sum(racer.solves for racer in self.racers),
            "numbers": judged.numbers.as_dict(), "unlearned": judged.unlearned.as_dict(),
            "training_difference": numbers.against(numbers.best(), DEFAULT).mean,
            "held_out": test.count, "difference": test.mean, "half_interval": test.half,
            "won": judged.won, "verdict": judged.sentence,
            **({"first_pass": self.learned} if self.learned else {}),
        }  # fmt: skip


def _in_two(training: Trials) -> tuple[Trials, Trials]:
    """Instances to choose numbers on and to learn from, and those for the last races."""
    problems, other = training.problems, int(CHALLENGE_SHARE * len(training.problems))
    if other < FEWEST or len(problems) - other < FEWEST:
        return training, replace(training, first_seed=SEEDS)
    return replace(training, problems=problems[other:]), replace(
        training, problems=problems[:other]
    )
