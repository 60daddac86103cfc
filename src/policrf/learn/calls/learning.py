"""Learning stand-ins: random questions first, then questions about what search makes of them.

A stand-in that fits random labelings may be wrong exactly where search ends, since search looks
for what is too cheap. So in every round training instances are labeled with the stand-ins as they
are, the functions are asked about these labelings and their neighbours, and the stand-ins are
fitted again. Those that know all answers are returned: what the rounds gain differs by luck.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from policrf.crf.model import CRF
from policrf.learn.calls.fit import FIRST_STEPS, STEPS, Fitter
from policrf.learn.calls.questions import (
    Answers,
    ask_around,
    calls_around,
    calls_of,
    spread_labelings,
)
from policrf.policy.stand_in.model import StandIn, replaced
from policrf.policy.stand_in.solving import SEARCH
from policrf.solvers import solve
from policrf.solvers.call_limit import without_expensive
from policrf.types import IntArray

SPREAD_SHARE = 0.4  # of the questions: about random labelings
ROUNDS = 4  # among which the others are divided
Report = Callable[[dict[str, Any]], None]


class Learned(NamedTuple):
    """What learning ends with."""

    stand_ins: tuple[StandIn, ...]
    calls: int
    rounds: int
    gains: list[float]
    """Of every round: mean energy below that of the known terms' labels, all terms asked."""


class Learner:
    """Stand-ins for all expensive functions of a family of CRFs.

    Parameters
    ----------
    crfs
        Training instances.
    questions
        Calls of expensive functions in all, about.
    seconds
        CPU time of a search on an instance, by its number of nodes.
    seed
        Of everything random.
    """

    def __init__(
        self, crfs: Sequence[CRF], questions: int, seconds: Callable[[int], float], seed: int = 0
    ) -> None:
        self.crfs, self.questions, self.seconds = crfs, questions, seconds
        self.rng = np.random.default_rng(seed)
        self.seed, self.answers = seed, dict[str, Answers]()
        self.known: dict[int, tuple[IntArray, float]] = {}
        self.fitters: dict[str, Fitter] = {}
        self._next = 0

    def learn(self, seconds: float, report: Report | None = None) -> Learned:
        """Rounds until the questions or the seconds (wall time) are spent."""
        begun = time.perf_counter()
        self.ask_spread(SPREAD_SHARE * self.questions)
        stand_ins, gains, spent = self.fit(FIRST_STEPS), list[float](), 0.0
        while calls_of(self.answers) < self.questions and (spent < seconds or not gains):
            questions = self.questions * (1 - SPREAD_SHARE) / ROUNDS
            gains.append(self.ask_search(stand_ins, questions))
            stand_ins = self.fit(STEPS)
            spent = time.perf_counter() - begun
            if report is not None:
                told = {"round": len(gains), "seconds": spent, "difference": -gains[-1]}
                report(told | {"solves": calls_of(self.answers)})
        return Learned(stand_ins, calls_of(self.answers), len(gains), gains)

    def fit(self, steps: int) -> tuple[StandIn, ...]:
        """Stand-ins for the answers so far."""
        found = []
        for name in sorted(self.answers):
            fitter = self.fitters.setdefault(name, Fitter(name, self.seed))
            found.append(fitter.fit(self.answers[name], steps))
        return tuple(found)

    def ask_spread(self, questions: float) -> None:
        """Ask about random labelings of instance after instance."""
        until = calls_of(self.answers) + questions
        while calls_of(self.answers) < until:
            place = self._place()
            labels, _ = self._known(place)
            for one in spread_labelings(self.crfs[place], labels, 4, self.rng):
                ask_around(self.answers, self.crfs[place], one, self.rng)

    def ask_search(self, stand_ins: tuple[StandIn, ...], questions: float) -> float:
        """Ask about what search finds; how far below the known terms' labels it is, in the mean."""
        until = calls_of(self.answers) + questions
        gains: list[float] = []
        while calls_of(self.answers) < until or not gains:
            place = self._place()
            crf = self.crfs[place]
            _, reference = self._known(place)
            seconds, seed = self.seconds(crf.n_nodes), int(self.rng.integers(1 << 30))
            labels = solve(replaced(crf, stand_ins), SEARCH, seconds=seconds, seed=seed).labels
            said = ask_around(self.answers, crf, labels, self.rng)
            gains.append(reference - without_expensive(crf).energy(labels) - said)
        return float(np.mean(gains))

    def _known(self, place: int) -> tuple[IntArray, float]:
        """What the terms that cost no call like best, and its energy with all terms."""
        if place not in self.known:
            crf = self.crfs[place]
            free = without_expensive(crf)
            labels = solve(free, seconds=self.seconds(crf.n_nodes), seed=0).labels
            said = ask_around(self.answers, crf, labels, self.rng)
            self.known[place] = labels, free.energy(labels) + said
        return self.known[place]

    def _place(self) -> int:
        """Instances in turn."""
        place, self._next = self._next % len(self.crfs), self._next + 1
        return place


def least_questions(crfs: Sequence[CRF]) -> int:
    """Calls below which nothing can be learned: a few labelings of some instances."""
    return 20 * max(calls_around(crf) for crf in crfs)
