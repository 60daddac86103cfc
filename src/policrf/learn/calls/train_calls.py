"""`train(goal="energy", calls=…)`: stand-ins for expensive functions, judged with few calls.

A third of the instances is held out. On them, the policy with its stand-ins is compared with the
untrained rule and with the solver that was best on training instances, all with the same limit of
calls and the same CPU time; it is published only if it is below both by more than noise. The
energies that are compared have all terms asked.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policrf.crf.model import CRF
from policrf.errors import InvalidInstance, InvalidOption
from policrf.evaluation.tables import write_tables
from policrf.learn.calls.learning import Learned, Learner, least_questions
from policrf.learn.opponents import TRAINED, Budget, best_opponent, opponents_table, verdict
from policrf.learn.run_folder import BEST, begin_run
from policrf.learn.tuning.budget import budget_text, read_budget
from policrf.learn.tuning.trials import Problem, Trials, crf_of
from policrf.learn.tuning.tune import REPORT, parts
from policrf.policy.policy import Policy
from policrf.policy.stand_in.model import own_parameters
from policrf.solvers.call_limit import expensive_groups
from policrf.solvers.numbers import DEFAULT

UNTRAINED = "untrained:refine=true"
OTHERS = ("refine", "auto", "icm", "highest_confidence_first", "lazy_flipper", "annealing")
_A_NODE = re.compile(r"\s*(?P<number>\d+(\.\d+)?)\s*/\s*node\s*")


@dataclass(frozen=True)
class FewCalls:
    """How to learn for few calls of expensive functions."""

    calls: str = "0"
    """Calls at inference: 0, 100, or 1/node."""
    budget: str = "100us"
    """CPU time a node at inference, beside the calls."""
    questions: int = 4000
    """Calls while learning; choosing and judging solvers comes on top."""
    seconds: float = 60.0
    """For learning, at most."""
    table: bool = True
    """Whether all solvers are compared in the end, or those that judge only."""

    def __post_init__(self) -> None:
        read_budget(self.budget)
        read_calls(self.calls)
        if isinstance(self.questions, bool) or self.questions < 1:
            raise InvalidOption(f"questions is {self.questions!r}; it must be a number from 1")
        if not 0 <= self.seconds < float("inf"):
            raise InvalidOption(f"seconds is {self.seconds!r}; it must be a number, 0 or more")


def read_calls(calls: str | float) -> Callable[[int], int]:
    """Calls that an instance of so many nodes may have.

    >>> read_calls("0.5/node")(100), read_calls(7)(100)
    (50, 7)
    """
    match = _A_NODE.fullmatch(str(calls))
    if match is not None:
        a_node = float(match["number"])
        return lambda n_nodes: int(a_node * n_nodes)
    try:
        value = float(calls)
    except ValueError:
        value = -1.0
    if value < 0 or value != int(value):
        raise InvalidOption(
            f'calls is {calls!r}; it must be a whole number ≥ 0, or calls a node such as "1/node"'
        )
    return lambda n_nodes: int(value)


def train_calls(
    instances: Sequence[Problem],
    options: FewCalls,
    *,
    out: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    name: str | None = None,
    seed: int = 0,
    report: Callable[[dict[str, Any]], None] | None = None,
    about: dict[str, Any] | None = None,
) -> Policy:
    """A policy with stand-ins, or, where it does not win, the untrained rule without.

    The parameters are those of `train`.
    """
    if resume:
        raise InvalidOption("training for few calls takes seconds and keeps no state; leave resume")
    folder = begin_run(out, overwrite=overwrite)
    training, held_out = parts(instances, read_budget(options.budget))
    _check([crf_of(problem) for problem in (*training.problems, *held_out.problems)])
    crfs = [crf_of(problem) for problem in training.problems]
    least = least_questions(crfs)
    if options.questions < least:
        raise InvalidOption(
            f"questions is {options.questions}; CRFs of this size need {least} or more"
        )
    learned = _learn(crfs, options, seed, report)
    budget = Budget(read_budget(options.budget), read_calls(options.calls))
    fresh = [crf_of(problem) for problem in held_out.problems]
    trained = _policy(training, learned, won=True, name=name or "few-calls")
    best = best_opponent(budget, OTHERS, crfs)
    rows = {TRAINED: budget.energies(trained, fresh)}
    for opponent in (UNTRAINED, *(OTHERS if options.table else (best,))):
        rows[opponent] = budget.energies(opponent, fresh)
    at = f"with {options.calls} calls and {budget_text(budget.seconds)} a node"
    sentence, won = verdict(rows, (UNTRAINED, best), at)
    told = {
        "goal": "energy", "calls": options.calls, "budget": options.budget, "seed": seed,
        "instances": len(instances), "questions": learned.calls, "rounds": learned.rounds,
        "gains": learned.gains, "reached": {"verdict": sentence, "won": won}, **(about or {}),
    }  # fmt: skip
    policy = _policy(training, learned, won=won, name=name or "few-calls", training=told)
    table = opponents_table(rows, "Few calls, on held-out instances")
    if folder is not None:
        policy.save(folder / BEST)
        write_tables(folder, REPORT, [table], told)
    if report is not None:
        report({"table": table, "verdict": sentence, "won": won})
    return policy


def _check(crfs: list[CRF]) -> None:
    """Refuse instances that no stand-in can be learned from."""
    counts: dict[str, int] = {}
    for crf in crfs:
        groups = expensive_groups(crf)
        if not groups:
            raise InvalidInstance(
                "calls= is for CRFs with Custom(…, expensive=True); an instance has no such group"
            )
        if crf.n_labels != crfs[0].n_labels:
            raise InvalidInstance(
                f"instances have {crfs[0].n_labels} and {crf.n_labels} labels; with calls= train "
                "on CRFs with the same number"
            )
        for group in groups:
            name = str(group.function_name)
            for own in own_parameters(group):
                if counts.setdefault(name, len(own)) != len(own):
                    raise InvalidInstance(
                        f"cliques of {name} have {counts[name]} and {len(own)} parameters; with "
                        "calls= all must have the same number"
                    )


def _learn(
    crfs: list[CRF], options: FewCalls, seed: int, report: Callable[[dict[str, Any]], None] | None
) -> Learned:
    budget = read_budget(options.budget)
    learner = Learner(crfs, options.questions, lambda n_nodes: budget * n_nodes, seed)
    began = time.perf_counter()
    return learner.learn(options.seconds - (time.perf_counter() - began), report)


def _policy(trials: Trials, learned: Learned, *, won: bool, **described: Any) -> Policy:
    tuning = trials.tuning(DEFAULT, won=won)
    stand_ins = learned.stand_ins if won else ()
    return Policy.rule(tuning, trials.labels[1], stand_ins=stand_ins, **described)
