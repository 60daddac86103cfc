"""Tuning from end to end: split, race on training instances, judge on held-out ones, table, file.

A run's folder holds config.json, journal.jsonl (every measurement; what a killed run goes on from),
best.safetensors (the policy that is returned) and report.md, .csv, .json (the last table).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policrf.crf.instance import Instance
from policrf.crf.io.outputs import claimed
from policrf.crf.model import CRF
from policrf.datasets.sources import split
from policrf.errors import InvalidInstance, InvalidOption
from policrf.evaluation.tables import Table, write_tables
from policrf.learn.run_folder import BEST
from policrf.learn.tuning.budget import read_budget
from policrf.learn.tuning.journal import Journal
from policrf.learn.tuning.judge import GENERIC, Judged, hand_rule, judge, last_table, published
from policrf.learn.tuning.paired import LEAST
from policrf.learn.tuning.race import Found, Racer, Report
from policrf.learn.tuning.trials import Measured, Problem, Trials, crf_of
from policrf.policy.policy import Policy
from policrf.solvers.numbers import DEFAULT, Numbers

REPORT = "report"
HELD_OUT_SHARE, MOST_HELD_OUT = 1 / 3, 100
FEWEST_TRAINING = 4
SEEDS = 4  # of every training instance, at most


@dataclass(frozen=True)
class Tune:
    """How to tune numbers for the energy at an inference budget."""

    budget: str = "10us"
    """CPU time a node at inference: 10us, 1ms."""
    seconds: float = 60.0
    """For racing; judging on held-out instances and the last table come on top."""
    table: bool = True
    """Whether to compare with generic solvers in the end."""

    def __post_init__(self) -> None:
        read_budget(self.budget)
        number = isinstance(self.seconds, int | float) and not isinstance(self.seconds, bool)
        if not number or not 0 <= self.seconds < float("inf"):
            raise InvalidOption(f"seconds is {self.seconds!r}; it must be a number, 0 or more")


def tune(
    instances: Sequence[Problem],
    options: Tune,
    *,
    out: str | Path | None = None,
    resume: bool = False,
    name: str | None = None,
    seed: int = 0,
    report: Report | None = None,
    about: dict[str, Any] | None = None,
    overwrite: bool = False,
) -> Policy:
    """The untrained rule with tuned numbers, or, where these do not win, with the default ones.

    The parameters are those of `train`.
    """
    training, held_out = parts(instances, read_budget(options.budget))
    folder = None if out is None else Path(out)
    told = {
        "goal": "energy", "budget": options.budget, "seed": seed, "instances": len(instances),
        "sizes": sorted({*training.sizes, *held_out.sizes}), "seconds": options.seconds,
    }  # fmt: skip
    with nullcontext() if folder is None else claimed(folder):
        journal = Journal(folder, told, resume=resume, overwrite=overwrite)
        training.warm_up(GENERIC if options.table else ())
        found = _race(training, journal, options.seconds, seed, report)
        judged = judge(held_out, found.numbers, journal.recall, raced=found.candidates > 1)
        table = None
        if options.table:
            table = _table(training, held_out, found.numbers, journal)
        terms = sorted({type(group).__name__ for group in crf_of(training.problems[0]).potentials})
        policy = published(
            training, found.numbers, judged, name=name or "tuned", energy={"terms": terms},
            training={**told, "reached": _reached(found, judged), **(about or {})},
        )  # fmt: skip
        _end(policy, judged, table, folder, report)
        return policy


def parts(instances: Sequence[Problem], budget: float) -> tuple[Trials, Trials]:
    """Training and held-out instances, with the budget."""
    count = len(instances)
    if count < LEAST + FEWEST_TRAINING:
        raise InvalidInstance(
            f"there are {count} instances; tuning needs {LEAST + FEWEST_TRAINING} or more, "
            f"{LEAST} of them held out to judge by"
        )
    held = min(MOST_HELD_OUT, max(LEAST, int(count * HELD_OUT_SHARE)))
    training, held_out = split(instances, (held + 0.5) / count, held)  # type: ignore[arg-type]
    for problem in (*training, *held_out):
        if not isinstance(problem, CRF | Instance):
            raise InvalidInstance(
                f"instances holds a {type(problem).__name__}; give CRFs or instances"
            )
    return Trials(list(training), budget), Trials(list(held_out), budget)


def _race(
    training: Trials, journal: Journal, seconds: float, seed: int, report: Report | None
) -> Found:
    policies: dict[Numbers, Policy] = {}

    def measure(numbers: Numbers, trial: int) -> Measured:
        if numbers not in policies:
            policies[numbers] = training.policy(numbers)
        return training.measure(policies[numbers], trial)

    racer = Racer(
        measure, journal, seconds=seconds, most_trials=SEEDS * len(training.problems), seed=seed,
        report=report,
    )  # fmt: skip
    return racer.run()


def _table(training: Trials, held_out: Trials, numbers: Numbers, journal: Journal) -> Table:
    rows = [("untrained", DEFAULT), ("hand rule", hand_rule(training, journal.recall))]
    if numbers != DEFAULT:
        rows.append(("trained", numbers))
    return last_table(held_out, rows, journal.recall)


def _reached(found: Found, judged: Judged) -> dict[str, Any]:
    """What the file says of how it was found, and of the test."""
    test = judged.difference
    return {
        "candidates": found.candidates, "solves": found.solves, "numbers": found.numbers.as_dict(),
        "training_difference": found.difference.mean, "held_out": test.count,
        "difference": test.mean, "half_interval": test.half, "won": judged.won,
        "verdict": judged.sentence,
    }  # fmt: skip


def _end(
    policy: Policy, judged: Judged, table: Table | None, folder: Path | None,
    report: Callable[[dict[str, Any]], None] | None,
) -> None:  # fmt: skip
    if folder is not None:
        policy.save(folder / BEST)
        if table is not None:
            write_tables(folder, REPORT, [table], policy.training)
    if report is not None:
        report({"table": table, "verdict": judged.sentence, "won": judged.won})
