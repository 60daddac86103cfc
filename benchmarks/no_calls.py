"""Expensive functions: what is reached with no calls, one a node and ten a node.

    python benchmarks/no_calls.py --calls 0 1 10 --seeds 0 1 2

For every family, with its function marked as expensive: `train(goal="energy", calls=0)` on
instances of the family, then on fresh ones, at equal CPU time and equal calls, against every solver
of the terms that can be asked, and against surrogates that had as many questions: the usual one (a
network on label shares) and the stand-in's own form, both fitted to random questions only.
"free" may ask as often as it likes. The bars are counted over the first five families. A run that
was killed goes on with the same command.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tyro

import policrf as pc
from policrf.evaluation.cpu_time import cpu_budgets
from policrf.evaluation.tables import Table, write_tables
from policrf.learn.calls.fit import FIRST_STEPS
from policrf.learn.calls.learning import Learner
from policrf.learn.calls.surrogate import fit_surrogate
from policrf.learn.calls.train_calls import OTHERS, UNTRAINED
from policrf.learn.tuning.journal import Journal
from policrf.learn.tuning.paired import Difference, difference
from policrf.policy.stand_in.solving import label_by_stand_ins
from policrf.scenes import FAMILIES, make_family

LABELS = 6
FIRST_TRAINING, FIRST_FRESH = 75_000_000, 76_000_000  # seeds
SOLVERS = (UNTRAINED, *OTHERS)
USUAL, RANDOM, TRAINED, FREE = "surrogate", "stand-in, random questions", "trained", "free"
FIVE = 5  # families that the bars are about


@dataclass(frozen=True)
class Config:
    """What to measure."""

    families: tuple[str, ...] = tuple(FAMILIES)[:FIVE]
    """The first five are those that the bars are about."""
    size: int = 144
    calls: tuple[float, ...] = (0.0, 1.0, 10.0)
    """A node."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Of training; each has training instances of its own."""
    budget: float = 1e-4
    """CPU seconds a node of every solve."""
    questions: int = 4000
    """Calls while learning, for everybody who learns."""
    training: int = 40
    """Instances, of which a third judges."""
    fresh: int = 30
    """Instances that nothing was chosen or judged on."""
    name: str = "no-calls"
    work: Path = Path("runs/no-calls")
    """Folder that a killed run goes on from."""
    out: Path = Path("benchmarks/results")


def expensive(family: str, size: int, seed: int) -> pc.CRF:
    """A CRF of the family whose function is expensive."""
    crf = make_family(family, size, LABELS, seed=seed)
    *known, group = crf.potentials
    assert isinstance(group, pc.Custom)
    dear = group.asking(group.function, group.marked, expensive=True)
    return crf.with_potentials(*known, dear)


def energies(config: Config, solver: Any, crfs: list[pc.CRF], a_node: float) -> list[float]:
    """Of all terms, by instance."""
    found, seconds, calls = [], config.budget * config.size, a_node * config.size
    for crf in crfs:
        with cpu_budgets():
            found.append(pc.solve(crf, solver, seconds=seconds, calls=calls).energy)
    return found


def by_stand_ins(stand_ins: list[Any]) -> Callable[..., None]:
    """A solver that searches with these, and then with the calls that are allowed."""

    def solver(run: Any) -> None:
        label_by_stand_ins(run, stand_ins)

    return solver


def surrogates(config: Config, crfs: list[pc.CRF], seed: int) -> dict[str, Any]:
    """Those that learn from random questions only."""
    learner = Learner(crfs, config.questions, lambda n: config.budget * n, seed)
    learner.ask_spread(config.questions)
    (name,) = learner.answers
    usual = fit_surrogate(name, learner.answers[name], seed)
    return {
        USUAL: by_stand_ins([usual]),
        RANDOM: by_stand_ins(list(learner.fit(FIRST_STEPS))),
    }


def one(config: Config, family: str) -> dict[str, Any]:
    """All rows of a family: energies by row, calls a node and seed."""
    fresh = [expensive(family, config.size, FIRST_FRESH + k) for k in range(config.fresh)]
    rows: dict[str, Any] = {name: {} for name in (*SOLVERS, USUAL, RANDOM, TRAINED)}
    for name in SOLVERS:
        pc.solve(fresh[0], name, seconds=0.2, calls=config.size)
        for a_node in config.calls:
            rows[name][str(a_node)] = [energies(config, name, fresh, a_node)]
    rows[FREE] = {str(a): [energies(config, "refine", fresh, np.inf)] for a in config.calls[:1]}
    won, verdicts = [], []
    for seed in config.seeds:
        first = FIRST_TRAINING + 1000 * seed
        crfs = [expensive(family, config.size, first + k) for k in range(config.training)]
        policy = pc.train(
            crfs, goal="energy", calls=0, budget=config.budget, questions=config.questions,
            seed=seed, table=False,
        )  # fmt: skip
        won.append(bool(policy.stand_ins))
        verdicts.append(policy.training["reached"]["verdict"])
        ways = {TRAINED: policy, **surrogates(config, crfs, seed)}
        for name, way in ways.items():
            pc.solve(fresh[0], way, seconds=0.2, calls=config.size)
            for a_node in config.calls:
                found = energies(config, way, fresh, a_node)
                rows[name].setdefault(str(a_node), []).append(found)
    return {"family": family, "won": won, "verdicts": verdicts, "rows": rows}


def compared(row: dict[str, Any], name: str, a_node: float) -> Difference:
    """The trained policy less another row, all seeds of training together."""
    trained, other = (row["rows"][who][str(a_node)] for who in (TRAINED, name))
    others = other * (len(trained) // len(other))
    pairs = np.mean(trained, axis=0), np.mean(others, axis=0)
    return difference(*(pair.tolist() for pair in pairs), clipped=True)


def details(config: Config, row: dict[str, Any]) -> Table:
    """Mean energies of a family, and what the trained policy is below them."""
    body = []
    for name, found in row["rows"].items():
        cells: list[Any] = [name]
        for a_node in config.calls:
            if str(a_node) not in found:
                cells += ["", ""]
                continue
            cells.append(float(np.mean(found[str(a_node)])))
            cells.append("" if name in (TRAINED, FREE) else str(compared(row, name, a_node)))
        body.append(tuple(cells))
    columns = ["solver"]
    for a_node in config.calls:
        columns += [f"{a_node:g} calls a node", "trained − it"]
    published = f"published by {sum(row['won'])} of {len(row['won'])} runs of training"
    return Table(f"{row['family']}: {published}", tuple(columns), tuple(body))


def bars(config: Config, rows: list[dict[str, Any]]) -> Table:
    """In how many of the first five families it is below, and above, beyond the interval."""
    body, five = [], rows[:FIVE]
    for a_node in config.calls:
        for name in (*SOLVERS, USUAL, RANDOM):
            found = [compared(row, name, a_node) for row in five]
            below = sum(one.mean + one.half < 0 for one in found)
            body.append((f"{a_node:g}", name, below, sum(one.loses for one in found), len(five)))
    columns = ("calls a node", "row", "trained below", "trained above", "of")
    note = (
        "Beyond the paired 95 % interval, in the first five families; fresh instances, the mean "
        f"over {len(config.seeds)} seeds of training, equal CPU time. What was not published is "
        "the untrained rule."
    )
    return Table("Few calls or none: the bars", columns, tuple(body), note)


def main(config: Config) -> None:
    torch.set_num_threads(1)
    told = {"size": config.size, "fresh": config.fresh, "seeds": config.seeds}
    resume = (config.work / "config.json").is_file()
    journal = Journal(config.work, told, resume=resume)
    rows = []
    for family in config.families:
        rows.append(journal.recall(family, lambda family=family: one(config, family)))
        details(config, rows[-1]).show()
        shown = [bars(config, rows), *(details(config, row) for row in rows)]
        write_tables(config.out, config.name, shown, config)
    bars(config, rows).show()


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
