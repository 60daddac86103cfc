"""Trials: numbers or solvers on instances, at a budget of CPU time a node.

Trial t is of instance t mod n with seed t div n, from the first seed on, the same for everybody who
is compared, so that differences are paired. A trial's energy is scaled by mean size / size of its
instance: instances of one size keep their energies, and in a mixture the large ones do not decide
alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from policrf.crf.instance import Instance
from policrf.crf.model import CRF
from policrf.errors import TooLarge, UnsupportedPotential
from policrf.evaluation.cpu_time import cpu_budgets
from policrf.policy.first_pass.model import FirstPass
from policrf.policy.policy import Policy
from policrf.policy.tuning import Tuning
from policrf.solvers import solve
from policrf.solvers.numbers import DEFAULT, UNTRAINED_STARTS, Numbers

BRIEF = 0.002  # seconds of a solve that a scheduler may well leave alone
UNBROKEN, ATTEMPTS = 1.3, 4  # wall time / CPU time of such a solve, and how often it is tried
WARM, WARM_NODE = 0.05, 3e-6  # seconds of a solve that loads kernels, in all and a node
Problem = CRF | Instance
Solver = str | Callable[..., None]


class Measured(NamedTuple):
    """One solve."""

    energy: float
    cpu: float
    """CPU seconds."""
    spent: float
    """CPU seconds that it took from the tuning run, attempts that do not count among them."""


def crf_of(problem: Problem) -> CRF:
    """The CRF of an instance, or itself."""
    return problem.crf if isinstance(problem, Instance) else problem


@dataclass(frozen=True)
class Trials:
    """Instances and the budget that they are solved with."""

    problems: Sequence[Problem]
    budget: float
    """CPU seconds a node."""
    first_pass: FirstPass | None = None
    """What numbers that start with a first pass start with."""
    first_seed: int = 0
    """Of the first n trials: those with other seeds tell something new of the same instances."""

    @cached_property
    def sizes(self) -> list[int]:
        """Nodes of every instance."""
        return [crf_of(problem).n_nodes for problem in self.problems]

    @cached_property
    def labels(self) -> tuple[int, int]:
        """Fewest and most labels."""
        counts = [crf_of(problem).n_labels for problem in self.problems]
        return min(counts), max(counts)

    def tuning(self, numbers: Numbers, *, won: bool) -> Tuning:
        """The numbers, with what they were tried on."""
        return Tuning(numbers, (min(self.sizes), max(self.sizes)), self.labels, self.budget, won)

    def policy(self, numbers: Numbers, *, won: bool = True, **described: Any) -> Policy:
        """The untrained rule with these numbers, and the first pass where they ask for it."""
        if numbers.start == "first_pass":
            described["first_pass"] = self.first_pass
        return Policy.rule(self.tuning(numbers, won=won), self.labels[1], **described)

    def measure(self, solver: Solver, trial: int, **options: Any) -> Measured:
        """One solve within the budget; a solver that refuses the problem has energy +inf.

        A short solve that other programs interrupted is made again: after that its caches are
        cold, and a budget of a millisecond is worth half. Whether it was is no matter of energy.
        """
        brief = self.budget * self.sizes[trial % len(self.problems)] < BRIEF
        solves: list[tuple[float, Measured]] = []  # how often it was interrupted, about, and it
        for _ in range(ATTEMPTS if brief else 1):
            solves.append(self._measure_once(solver, trial, options))
            if solves[-1][0] < UNBROKEN:
                break
        _, least = min(solves, key=lambda solved: solved[0])
        return least._replace(spent=sum(solved.spent for _, solved in solves))

    def _measure_once(
        self, solver: Solver, trial: int, options: dict[str, Any]
    ) -> tuple[float, Measured]:
        """Wall time / CPU time, and the solve."""
        place = trial % len(self.problems)
        seed = self.first_seed + trial // len(self.problems)
        problem, size = self.problems[place], self.sizes[place]
        _ = crf_of(problem).arrays  # built before the clock runs
        began = time.perf_counter()
        with cpu_budgets():
            start = time.perf_counter()
            try:
                energy = solve(
                    problem, solver, seconds=self.budget * size, seed=seed, **options
                ).energy
            except (UnsupportedPotential, TooLarge):
                energy = float("inf")
            cpu = time.perf_counter() - start
        wall = time.perf_counter() - began
        scale = float(np.mean(self.sizes)) / size
        return wall / max(cpu, 1e-9), Measured(energy * scale, cpu, cpu)

    def warm_up(self, solvers: Sequence[str] = ()) -> None:
        """Load every kernel that a trial may need: none is charged for that."""
        smallest, size = self.problems[int(np.argmin(self.sizes))], min(self.sizes)
        seconds = max(WARM, WARM_NODE * size)
        for start in UNTRAINED_STARTS:
            numbers: dict[str, Any] = {"start": start, "random_first": 1, "icm": True}
            solve(smallest, self.policy(DEFAULT), seconds=seconds, **numbers)
        for solver in solvers:
            try:
                solve(smallest, solver, seconds=max(0.2, self.budget * size))
            except (UnsupportedPotential, TooLarge):
                continue
