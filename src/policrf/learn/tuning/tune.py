"""Training for the energy from end to end: split, race, learn, race, judge, table, file.

Numbers race on training instances. Then a first pass, a fast network that labels every node, and
which moves to try are learned on them, and challenge the best of the numbers. Held-out instances
judge what is published: what was learned, else the tuned numbers, else the default.

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
from policrf.learn.energy_weights import energy_weights
from policrf.learn.first_pass.learn_pass import can_learn
from policrf.learn.run_folder import BEST
from policrf.learn.tuning.budget import read_budget
from policrf.learn.tuning.journal import Journal
from policrf.learn.tuning.judge import DEFAULTS, GENERIC, Judged, hand_rule, judge, last_table
from policrf.learn.tuning.paired import LEAST
from policrf.learn.tuning.race import Report
from policrf.learn.tuning.search import Search
from policrf.learn.tuning.trials import Problem, Trials, crf_of
from policrf.policy.first_pass.model import MOST_PASSES
from policrf.policy.policy import Policy
from policrf.solvers.numbers import DEFAULT, Numbers

REPORT = "report"
HELD_OUT_SHARE, MOST_HELD_OUT = 1 / 3, 100
FEWEST_TRAINING = 4


@dataclass(frozen=True)
class Tune:
    """How to train for the energy at an inference budget."""

    budget: str = "10us"
    """CPU time a node at inference: 10us, 1ms."""
    seconds: float = 60.0
    """CPU time, half of it to race the numbers, the rest to learn, and to race what was learned;
    judging and the last table come on top."""
    network: bool = True
    """Whether to learn, too: a first pass, a fast network that labels every node, and which moves
    of cliques to try. Without, the run is the same to the end of the numbers' races."""
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
    """What was learned with tuned numbers, these alone, or the default, as far as they win.

    The parameters are those of `train`; the numbers of `start` race along, and evolution begins
    with its first pass.
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
        search = Search(training, journal, seed, report, start)
        network = options.network and can_learn(training)
        found = search.run(options.seconds, options.passes if network else 0)
        held_out = replace(held_out, first_pass=search.trials.first_pass)
        judged = judge(held_out, found, journal.recall, raced=search.racers[0].races > 0)
        table = None
        if options.table:
            table = _table(search.trials, held_out, found, journal)
        terms = sorted({type(group).__name__ for group in crf_of(training.problems[0]).potentials})
        energy = {"terms": terms, **energy_weights(instances)}
        policy = search.trials.policy(
            judged.numbers, won=judged.won, name=name or "tuned", energy=energy,
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
