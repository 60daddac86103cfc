"""`train(goal="energy", budget=…, network=True)`: a first pass learned for small budgets.

It is judged on held-out instances at the budget, with refine after it, against the untrained rule
and against the best of all untrained starts and generic solvers on training instances; it is
published only if it is below both by more than noise. Where it is not, but the best was an
untrained start that beats the rule, the policy is the rule with that start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from policrf.errors import InvalidOption
from policrf.evaluation.tables import write_tables
from policrf.learn.first_pass.evolve_pass import Evolved, evolve_pass
from policrf.learn.opponents import TRAINED, Budget, best_opponent, opponents_table, verdict
from policrf.learn.run_folder import BEST, begin_run
from policrf.learn.tuning.budget import budget_text, read_budget
from policrf.learn.tuning.paired import difference
from policrf.learn.tuning.trials import Problem, crf_of
from policrf.learn.tuning.tune import REPORT, parts
from policrf.policy.first_pass.model import MOST_PASSES
from policrf.policy.policy import Policy
from policrf.solvers.numbers import DEFAULT, StartName

UNTRAINED = "untrained:refine=true"
STARTED: dict[str, StartName] = {
    f"{UNTRAINED},start={start}": start for start in get_args(StartName) if start != "rule"
}
OPPONENTS = (
    *STARTED,
    "refine", "auto", "icm", "highest_confidence_first", "annealing",
)  # fmt: skip


@dataclass(frozen=True)
class PassTraining:
    """How to learn a first pass for the energy at an inference budget."""

    budget: str = "3us"
    """CPU time a node at inference."""
    seconds: float = 60.0
    """For evolution; judging comes on top."""
    passes: int = 2
    """How often every node is labeled; each costs some 0.25 µs a node."""
    table: bool = True
    """Whether all opponents are compared in the end, or those that judge only."""
    network: bool = True
    """Always: it is what chooses this way to train."""

    def __post_init__(self) -> None:
        read_budget(self.budget)
        if not 1 <= self.passes <= MOST_PASSES:
            raise InvalidOption(f"passes is {self.passes!r}; it must be from 1 to {MOST_PASSES}")
        if not 0 <= self.seconds < float("inf"):
            raise InvalidOption(f"seconds is {self.seconds!r}; it must be a number, 0 or more")


def train_pass(
    instances: Sequence[Problem],
    options: PassTraining,
    *,
    out: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    name: str | None = None,
    seed: int = 0,
    report: Callable[[dict[str, Any]], None] | None = None,
    about: dict[str, Any] | None = None,
) -> Policy:
    """A policy that begins with a first pass, or, where it does not win, the untrained rule.

    The parameters are those of `train`.
    """
    if resume:
        raise InvalidOption("training a first pass keeps no state to go on from; leave out resume")
    folder = begin_run(out, overwrite=overwrite)
    training, held_out = parts(instances, read_budget(options.budget))
    crfs = [crf_of(problem) for problem in training.problems]
    fresh = [crf_of(problem) for problem in held_out.problems]
    evolved = evolve_pass(
        crfs, passes=options.passes, seconds=options.seconds, seed=seed, report=report
    )
    rule = training.policy(DEFAULT, won=True, name=name or "first-pass")
    policy = replace(rule, first_pass=evolved.first_pass)
    budget = Budget(training.budget)
    best = best_opponent(budget, OPPONENTS, crfs)
    rows = {TRAINED: budget.energies(policy, fresh)}
    for opponent in (UNTRAINED, *(OPPONENTS if options.table else (best,))):
        rows[opponent] = budget.energies(opponent, fresh)
    at = f"at {budget_text(training.budget)} of CPU a node"
    sentence, won = verdict(rows, (UNTRAINED, best), at)
    told = _told(options, seed, len(instances), evolved) | (about or {})
    told["reached"] = {"verdict": sentence, "won": won, "best_opponent": best}
    if not won:
        start, better = best_start(rows, best)
        numbers = replace(DEFAULT, start=start) if better else DEFAULT
        policy = training.policy(numbers, won=better, name=name or "first-pass")
        if better:
            sentence = f"{sentence}; {start} is a better start than the rule, and is kept"
            told["reached"]["verdict"] = sentence
    policy = replace(policy, training=told)
    table = opponents_table(rows, "First pass, on held-out instances")
    if folder is not None:
        policy.save(folder / BEST)
        write_tables(folder, REPORT, [table], told)
    if report is not None:
        report({"table": table, "verdict": sentence, "won": won})
    return policy


def best_start(rows: dict[str, list[float]], best: str) -> tuple[StartName, bool]:
    """Where the pass did not win: the untrained start that may, and whether it beats the rule."""
    if best not in STARTED:
        return "rule", False
    found = difference(rows[best], rows[UNTRAINED], clipped=True)
    return STARTED[best], found.wins


def _told(options: PassTraining, seed: int, count: int, evolved: Evolved) -> dict[str, Any]:
    return {
        "goal": "energy", "budget": options.budget, "seed": seed, "instances": count,
        "passes": options.passes, "steps": evolved.steps, "pass_energy": evolved.energy,
        "start_energy": evolved.start,
    }  # fmt: skip
