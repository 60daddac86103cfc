"""Training for the energy from end to end: split, race, learn, race, judge, table, file.

Numbers race on training instances. Then a first pass, a fast network that labels every node, is
learned on them, and races as one more start with the best of the numbers. Held-out instances judge
what is published: the pass, else the tuned numbers, else the default.

A run's folder holds config.json, journal.jsonl (every measurement; what a killed run goes on from),
best.safetensors (the policy that is returned) and report.md, .csv, .json (the last table).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from policrf.crf.instance import Instance
from policrf.crf.io.outputs import claimed
from policrf.crf.model import CRF
from policrf.datasets.sources import split
from policrf.errors import InvalidInstance, InvalidOption
from policrf.evaluation.tables import Table, write_tables
from policrf.learn.first_pass.learn_pass import can_learn, learn_pass
from policrf.learn.run_folder import BEST
from policrf.learn.tuning.budget import read_budget
from policrf.learn.tuning.journal import Journal
from policrf.learn.tuning.judge import (
    DEFAULTS,
    GENERIC,
    PASS,
    TUNED,
    Judged,
    hand_rule,
    judge,
    last_table,
)
from policrf.learn.tuning.paired import LEAST
from policrf.learn.tuning.race import Racer, Report
from policrf.learn.tuning.trials import Measured, Problem, Trials, crf_of
from policrf.policy.first_pass.model import MOST_PASSES, FirstPass
from policrf.policy.policy import Policy
from policrf.solvers.numbers import DEFAULT, Numbers

REPORT = "report"
HELD_OUT_SHARE, MOST_HELD_OUT = 1 / 3, 100
FEWEST_TRAINING = 4
SEEDS = 4  # of every training instance, at most
NUMBERS_SHARE, LEARN_SHARE = 0.45, 0.25  # of the seconds, where a first pass is learned; then races


@dataclass(frozen=True)
class Tune:
    """How to train for the energy at an inference budget."""

    budget: str = "10us"
    """CPU time a node at inference: 10us, 1ms."""
    seconds: float = 60.0
    """CPU time of racing and learning; judging and the last table come on top."""
    network: bool = True
    """Whether to learn a first pass too: a fast network that labels every node."""
    passes: int = 2
    """How often it labels every node; each time costs some 0.25 µs a node."""
    table: bool = True
    """Whether to compare with generic solvers in the end."""

    def __post_init__(self) -> None:
        read_budget(self.budget)
        number = isinstance(self.seconds, int | float) and not isinstance(self.seconds, bool)
        if not number or not 0 <= self.seconds < float("inf"):
            raise InvalidOption(f"seconds is {self.seconds!r}; it must be a number, 0 or more")
        if not 1 <= self.passes <= MOST_PASSES:
            raise InvalidOption(f"passes is {self.passes!r}; it must be from 1 to {MOST_PASSES}")


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
    start: Policy | None = None,
) -> Policy:
    """A first pass with tuned numbers, tuned numbers alone, or the default, as far as they win.

    The parameters are those of `train`; evolution begins with the first pass of `start`.
    """
    training, held_out = parts(instances, read_budget(options.budget))
    folder = None if out is None else Path(out)
    told = {
        "goal": "energy", "budget": options.budget, "seed": seed, "instances": len(instances),
        "sizes": sorted({*training.sizes, *held_out.sizes}), "seconds": options.seconds,
        "network": options.network, "passes": options.passes,
    } | ({} if start is None else {"start": start.name})  # fmt: skip
    with nullcontext() if folder is None else claimed(folder):
        journal = Journal(folder, told, resume=resume, overwrite=overwrite)
        training.warm_up(GENERIC if options.table else ())
        search = _Search(training, journal, seed, report)
        found = search.run(options, None if start is None else start.first_pass)
        held_out = replace(held_out, first_pass=search.trials.first_pass)
        judged = judge(held_out, found, journal.recall, raced=search.racer.races > 0)
        table = None
        if options.table:
            table = _table(search.trials, held_out, found, journal)
        terms = sorted({type(group).__name__ for group in crf_of(training.problems[0]).potentials})
        policy = search.trials.policy(
            judged.numbers, won=judged.won, name=name or "tuned", energy={"terms": terms},
            training={**told, "reached": search.reached(judged), **(about or {})},
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


class _Search:
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

    def run(self, options: Tune, begin: FirstPass | None) -> dict[str, Numbers]:
        """The best by the names of `judge`: those that are surely below the default here."""
        network = options.network and can_learn(self.trials)
        self.racer.run(NUMBERS_SHARE * options.seconds if network else options.seconds)
        if network:
            self._learn(options, begin)
        tuned, passed = self.racer.best(), self.racer.best(first_pass=True)
        self.found = {} if tuned == DEFAULT else {TUNED: tuned}
        if passed != DEFAULT and self.racer.against(passed, tuned).limit < 0:
            self.found[PASS] = passed
        return self.found

    def _learn(self, options: Tune, begin: FirstPass | None) -> None:
        report, before = self.report, self.racer.spent

        def show(line: dict[str, Any]) -> None:
            if report is not None:
                report(line | {"seconds": before + line["seconds"]})

        first_pass, self.learned = learn_pass(
            self.trials, self.journal, passes=options.passes, seed=self.seed, begin=begin,
            seconds=LEARN_SHARE * options.seconds, report=show,
        )  # fmt: skip
        self.racer.spent += float(self.learned["spent"])
        self.trials = replace(self.trials, first_pass=first_pass)
        self.racer.run(options.seconds, first_pass=True)

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


def _table(
    training: Trials, held_out: Trials, found: dict[str, Numbers], journal: Journal
) -> Table:
    rows = {DEFAULTS: DEFAULT, "hand rule": hand_rule(training, journal.recall), **found}
    return last_table(held_out, list(rows.items()), journal.recall)


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
