"""The search on training instances: numbers race, a first pass is learned, then it races too.

Before the first race, which clique moves to try is learned from moves: numbers like the others.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from policrf.evaluation.cpu_time import cpu_budgets
from policrf.learn.first_pass.learn_pass import learn_pass
from policrf.learn.move_weights import with_learned_choice
from policrf.learn.tuning.journal import Journal
from policrf.learn.tuning.judge import PASS, TUNED, Judged
from policrf.learn.tuning.race import Racer, Report
from policrf.learn.tuning.trials import Measured, Trials, crf_of
from policrf.policy.first_pass.model import FirstPass
from policrf.policy.policy import Policy
from policrf.solvers.numbers import DEFAULT, Numbers

SEEDS = 4  # of every training instance, at most
NUMBERS_SHARE, LEARN_SHARE = 0.45, 0.25  # of the seconds, where a first pass is learned; then races
CHOICE_SHARE = 0.05  # of the seconds, to learn which moves to try


class Search:
    """What is found on training instances: numbers, then a first pass with them."""

    def __init__(
        self, training: Trials, journal: Journal, seed: int, report: Report | None
    ) -> None:
        self.trials, self.journal, self.seed, self.report = training, journal, seed, report
        self.policies: dict[Numbers, Policy] = {}
        self.racer = Racer(
            self._measure, journal, most_trials=SEEDS * len(training.problems), seed=seed,
            report=report,
        )  # fmt: skip
        self.found: dict[str, Numbers] = {}
        self.learned: dict[str, Any] = {}

    def run(
        self, seconds: float, passes: int, begin: FirstPass | None = None
    ) -> dict[str, Numbers]:
        """The best by the names of `judge`: those that are surely below the default here.

        `passes` of a first pass, 0: nothing is learned; it begins with the weights of `begin`.
        """
        if passes:
            self._learn_choice(seconds)
        self.racer.run(NUMBERS_SHARE * seconds if passes else seconds)
        if passes:
            self._learn(seconds, passes, begin)
        tuned, passed = self.racer.best(), self.racer.best(first_pass=True)
        self.found = {} if tuned == DEFAULT else {TUNED: tuned}
        if passed != DEFAULT and self.racer.against(passed, tuned).limit < 0:
            self.found[PASS] = passed
        return self.found

    def _learn_choice(self, seconds: float) -> None:
        """Which clique moves to try, learned from moves that were tried; it races like the rest."""
        crfs = [crf_of(problem) for problem in self.trials.problems]

        def find() -> dict[str, Any]:
            with cpu_budgets():
                begun = time.perf_counter()
                found = with_learned_choice(
                    crfs, self.trials.budget, seed=self.seed, seconds=CHOICE_SHARE * seconds
                )
                return {"changes": found.changes, "spent": time.perf_counter() - begun}

        told = self.journal.recall("choice of moves", find)
        self.racer.spent += float(told["spent"])
        self.racer.learned = Numbers.from_dict(told["changes"]).changes

    def _learn(self, seconds: float, passes: int, begin: FirstPass | None) -> None:
        report, before = self.report, self.racer.spent

        def show(line: dict[str, Any]) -> None:
            if report is not None:
                report(line | {"seconds": before + line["seconds"]})

        first_pass, self.learned = learn_pass(
            self.trials, self.journal, passes=passes, seed=self.seed, begin=begin,
            seconds=LEARN_SHARE * seconds, report=show,
        )  # fmt: skip
        self.racer.spent += float(self.learned["spent"])
        self.trials = replace(self.trials, first_pass=first_pass)
        self.racer.run(seconds, first_pass=True)

    def _measure(self, numbers: Numbers, trial: int) -> Measured:
        if numbers not in self.policies:
            self.policies[numbers] = self.trials.policy(numbers)
        return self.trials.measure(self.policies[numbers], trial)

    def reached(self, judged: Judged) -> dict[str, Any]:
        """What the file says of how it was found, and of the test."""
        test, racer = judged.difference, self.racer
        best = list(self.found.values())[-1] if self.found else DEFAULT
        return {
            "candidates": len(racer.energies), "solves": racer.solves,
            "numbers": judged.numbers.as_dict(), "held_out": test.count,
            "training_difference": racer.against(best, DEFAULT).mean,
            "difference": test.mean, "half_interval": test.half, "won": judged.won,
            "verdict": judged.sentence, **({"first_pass": self.learned} if self.learned else {}),
        }  # fmt: skip
