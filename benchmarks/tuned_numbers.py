"""What tuning the numbers brings: eight families, budgets of CPU time, fresh instances.

    python benchmarks/tuned_numbers.py --sizes 144 --budgets 1 3 10 100 --seconds 60 20 --seeds 3 1

For every family, size and budget: `train(goal="energy")` on instances of the family (numbers, and
a first pass where it wins; `start=first_pass` says so), then what it returns against the default on
fresh instances at that budget, paired, beside `refine` and `auto`. The bars: never above the
default beyond the interval, and below it in five families of eight at the smallest budget. A run
that was killed goes on with the same command; the tables show all that its folder holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tyro

import policrf as pc
from policrf.evaluation.tables import Table, write_tables
from policrf.learn.tuning.journal import Journal
from policrf.learn.tuning.judge import Way, measure_all
from policrf.learn.tuning.paired import Difference, difference
from policrf.learn.tuning.trials import Trials
from policrf.scenes import FAMILIES, make_family
from policrf.solvers.numbers import DEFAULT, Numbers

UNIT = 144  # nodes that a budget is meant for
LABELS = 6
KEY = ("family", "n", "budget_ms", "seed")
FIRST_TRAINING, FIRST_FRESH = 73_000_000, 74_000_000  # seeds
OTHERS = ("refine", "auto")


@dataclass(frozen=True)
class Config:
    """What to measure."""

    families: tuple[str, ...] = (
        "two_labels", "absent_or_many", "label_cost", "co_occurrence", "size_prior", "parity",
        "random_network", "order",
    )  # fmt: skip
    sizes: tuple[int, ...] = (144,)
    budgets: tuple[float, ...] = (1.0, 3.0, 10.0, 100.0)
    """Milliseconds of CPU for 144 nodes; N nodes get N / 144 times as many."""
    seconds: tuple[float, ...] = (60.0,)
    """CPU time of training, one number a budget; the last one holds for all further budgets."""
    seeds: tuple[int, ...] = (3, 1)
    """Training runs, one number a budget as above; each has training instances of its own."""
    training: tuple[int, ...] = (300, 120, 60)
    """Instances, of which a third is held out, one number a budget as above."""
    fresh: tuple[int, ...] = (100, 40, 30, 20)
    """Instances that nothing was chosen or judged on, one number a budget as above."""
    name: str = "tuned-numbers"
    work: Path = Path("runs/tuned-numbers")
    """Folder that a killed run goes on from."""
    out: Path = Path("benchmarks/results")


class Task(NamedTuple):
    """One training run."""

    family: str
    n: int
    budget_ms: float
    seed: int
    seconds: float
    training: int
    fresh: int


def measured(config: Config) -> list[dict[str, Any]]:
    """All rows that the folder has, those of this configuration among them."""
    resume = (config.work / "config.json").is_file()
    journal = Journal(config.work, {"labels": LABELS}, resume=resume)
    for task in tasks(config):
        print(journal.recall(str(task), lambda task=task: one(task)), flush=True)
    # The last one counts where there are several, such as after a run with more seconds.
    last = {tuple(row[name] for name in KEY): row for row in journal.values.values()}
    return [last[key] for key in sorted(last, key=lambda key: (key[1:], order(key[0])))]


def order(family: str) -> int:
    """The place of a family in every table."""
    return list(FAMILIES).index(family)


def tasks(config: Config) -> Iterator[Task]:
    """Training runs, budget after budget."""
    lists = (config.seconds, config.training, config.fresh, config.seeds)
    for place, budget in enumerate(config.budgets):
        seconds, training, fresh, seeds = (
            numbers[min(place, len(numbers) - 1)] for numbers in lists
        )
        for seed, size, family in product(range(int(seeds)), config.sizes, config.families):
            yield Task(family, size, budget, seed, seconds, int(training), int(fresh))


def one(task: Task) -> dict[str, Any]:
    """Train on a family at a budget, and compare on fresh instances."""
    family, size, seed = task.family, task.n, task.seed
    a_node = task.budget_ms / 1000 / UNIT
    first = FIRST_TRAINING + 1000 * seed
    training = [make_family(family, size, LABELS, seed=first + k) for k in range(task.training)]
    policy = pc.train(
        training, goal="energy", budget=a_node, seconds=task.seconds, seed=seed, table=False
    )
    seeds = range(FIRST_FRESH, FIRST_FRESH + task.fresh)
    fresh = [make_family(family, size, LABELS, seed=seed) for seed in seeds]
    trials = Trials(fresh, a_node)
    trials.warm_up(OTHERS)
    ways: dict[str, Way] = {"default": (trials.policy(DEFAULT), {})}
    assert policy.tuning is not None
    if policy.tuning.won:
        ways["tuned"] = (policy, {})
    ways |= {solver: (solver, {}) for solver in OTHERS}
    found = measure_all(trials, ways, lambda key, find: find())
    reached = policy.training["reached"]
    energies = {name: figures.energies for name, figures in found.items()}
    return {
        **task._asdict(), "won": policy.tuning.won,
        "numbers": policy.tuning.numbers.as_dict(), "held_out": reached["difference"],
        "held_out_half": reached["half_interval"], "candidates": reached["candidates"],
        "solves": reached["solves"], "energies": energies,
        "cpu_ms": {name: 1000 * figures.cpu for name, figures in found.items()},
    }  # fmt: skip


def compared(row: dict[str, Any], name: str, other: str) -> Difference:
    """Of two rows on fresh instances; numbers that did not win are the default."""
    energies = row["energies"]
    return difference(energies.get(name, energies["default"]), energies[other], clipped=True)


def tables(rows: list[dict[str, Any]]) -> list[Table]:
    """The bars, then a line for every family, size, budget and seed."""
    return [bars(rows), details(rows)]


def bars(rows: list[dict[str, Any]]) -> Table:
    body = []
    for size in sorted({row["n"] for row in rows}):
        for budget in sorted({row["budget_ms"] for row in rows}):
            here = [row for row in rows if (row["n"], row["budget_ms"]) == (size, budget)]
            if not here:
                continue
            found = [compared(row, "tuned", "default") for row in here]
            against = [compared(row, "tuned", "auto") for row in here]
            body.append((
                size, budget, len(here), sum(row["won"] for row in here),
                sum(one.mean + one.half < 0 for one in found), sum(one.loses for one in found),
                sum(one.mean + one.half < 0 for one in against), sum(one.loses for one in against),
            ))  # fmt: skip
    columns = (
        "N", "budget, ms for 144 nodes", "runs", "published", "fresh: below default",
        "fresh: above default", "below auto", "above auto",
    )  # fmt: skip
    note = "Below and above: beyond the paired 95 % interval, on fresh instances."
    return Table("Tuned numbers: the bars", columns, tuple(body), note)


def details(rows: list[dict[str, Any]]) -> Table:
    body = []
    for row in rows:
        numbers = Numbers.from_dict(row["numbers"])
        changed = [
            f"{name}={'learned' if name == 'move_weights' else value}"
            for name, value in numbers.changes.items()
        ]
        means = {name: float(np.mean(values)) for name, values in row["energies"].items()}
        tuned = means.get("tuned", means["default"])
        body.append((
            row["family"], row["n"], row["budget_ms"], row["seed"], row["won"], means["default"],
            tuned, str(compared(row, "tuned", "default")), means["refine"], means["auto"],
            str(compared(row, "tuned", "auto")), row["seconds"], row["training"],
            row["fresh"], row["candidates"],
            " ".join(changed),
        ))  # fmt: skip
    columns = (
        "family", "N", "budget, ms for 144 nodes", "seed", "published", "default", "tuned",
        "tuned − default", "refine", "auto", "tuned − auto", "training, s", "instances",
        "fresh", "candidates", "numbers",
    )  # fmt: skip
    note = (
        "Mean energy on fresh instances; a third of the others judged. Differences are paired, "
        "with 95 % intervals, outliers clipped to three standard deviations. What was not "
        "published is the default."
    )
    return Table("Tuned numbers, by family", columns, tuple(body), note)


def main(config: Config) -> None:
    rows = measured(config)
    shown = tables(rows)
    for table in shown:
        table.show()
    write_tables(config.out, config.name, shown, config)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
