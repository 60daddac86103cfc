"""Before convergence: what a learned first pass brings at 1 to 30 µs a node, at large N.

    python benchmarks/before_convergence.py --sizes 2304 10000 100000 --seeds 0 1 2

For every family a first pass is learned on small instances (`learn.first_pass`); whether it is used
at a budget is decided there, by held-out instances of the same size, as `train` does. Then it runs
on fresh instances of large N, with refine after it, against every untrained way to begin, each with
refine after it, and against generic solvers, at equal CPU time. A run that was killed goes on with
the same command; the tables show all that its folder holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import tyro

import policrf as pc
from policrf.evaluation.cpu_time import cpu_budgets
from policrf.evaluation.tables import Table, write_tables
from policrf.learn.first_pass.evolve_pass import evolve_pass
from policrf.learn.first_pass.train_pass import OPPONENTS, UNTRAINED
from policrf.learn.opponents import TRAINED, Budget, best_opponent, verdict
from policrf.learn.tuning.journal import Journal
from policrf.learn.tuning.paired import Difference, difference
from policrf.learn.tuning.trials import Trials
from policrf.policy.policy import Policy
from policrf.scenes import FAMILIES, make_family
from policrf.solvers.numbers import DEFAULT

LABELS = 6
FIRST_TRAINING, FIRST_FRESH = 80_000, 60_000  # seeds
ROWS = (UNTRAINED, *OPPONENTS)
TRAINED_ON, HELD_OUT = 32, 12  # instances


@dataclass(frozen=True)
class Config:
    """What to measure."""

    families: tuple[str, ...] = tuple(FAMILIES)[:8]
    sizes: tuple[int, ...] = (2304, 10_000, 100_000)
    budgets: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0)
    """Microseconds of CPU a node."""
    seeds: tuple[int, ...] = (0,)
    """Of training; each has training instances of its own."""
    small: int = 576
    """Nodes of the instances that are learned from."""
    seconds: float = 6.0
    """CPU time of learning."""
    fresh: tuple[int, ...] = (6, 4, 3)
    """Instances that nothing was chosen or judged on, one number a size."""
    most: float = 0.4
    """CPU seconds of a solve; larger ones are left out."""
    measure: bool = True
    """No: the tables of what the folder holds, nothing new."""
    name: str = "before-convergence"
    work: Path = Path("runs/before-convergence")
    out: Path = Path("benchmarks/results")


def learned(config: Config, family: str, seed: int) -> dict[str, Any]:
    """Weights of a first pass, and at which budgets it won on held-out instances."""
    first = FIRST_TRAINING + 1000 * seed
    count = TRAINED_ON + HELD_OUT
    crfs = [make_family(family, config.small, LABELS, seed=first + k) for k in range(count)]
    few, held_out = crfs[:TRAINED_ON], crfs[TRAINED_ON:]
    with cpu_budgets():
        evolved = evolve_pass(few, seconds=config.seconds, seed=seed)
    found = with_pass(few, evolved.first_pass.weights)
    for name in (*ROWS, found):
        pc.solve(few[0], name, seconds=0.1)
    won = []
    for micro in config.budgets:
        budget = Budget(micro * 1e-6)
        best = best_opponent(budget, ROWS, few)
        rows = {name: budget.energies(name, held_out) for name in (UNTRAINED, best)}
        rows[TRAINED] = budget.energies(found, held_out)
        won.append(verdict(rows, (UNTRAINED, best), "")[1])
    weights = evolved.first_pass.weights.tolist()
    return {"weights": weights, "won": won, "steps": evolved.steps}


def with_pass(crfs: list[pc.CRF], weights: Any) -> Policy:
    """A policy that begins with this pass."""
    from policrf.policy.first_pass.model import FirstPass

    rule = Trials(crfs, 1e-6).policy(DEFAULT, name="first-pass")
    return replace(rule, first_pass=FirstPass(np.array(weights)))


def measured(config: Config, family: str, size: int, passes: list[dict[str, Any]]) -> Any:
    """Energies by row and budget on fresh instances; the trained row has a list a seed."""
    count = config.fresh[min(config.sizes.index(size), len(config.fresh) - 1)]
    crfs = [make_family(family, size, LABELS, seed=FIRST_FRESH + k) for k in range(count)]
    found: dict[str, Any] = {}
    for place, micro in enumerate(config.budgets):
        budget = Budget(micro * 1e-6)
        if budget.seconds * size > config.most:
            continue
        rows: dict[str, Any] = {name: [budget.energies(name, crfs)] for name in ROWS}
        rows[TRAINED] = [
            budget.energies(with_pass(crfs, one["weights"]), crfs)
            if one["won"][place]
            else rows[UNTRAINED][0]
            for one in passes
        ]
        found[f"{micro:g}"] = rows
    return found


def compared(rows: dict[str, Any], name: str) -> Difference:
    """The trained row, the mean over its seeds, less another."""
    own = np.mean(rows[TRAINED], axis=0).tolist()
    return difference(own, rows[name][0], clipped=True)


def best_of(rows: dict[str, Any]) -> str:
    """The untrained row with the lowest mean."""
    return min(ROWS, key=lambda name: float(np.mean(rows[name])))


def bars(found: dict[tuple[str, int], Any], n_budgets: list[str]) -> Table:
    """Families in which the trained row is below, or above, the best untrained one."""
    body = []
    for size, micro in product(sorted({size for _, size in found}), n_budgets):
        here = [rows[micro] for (_, n), rows in found.items() if n == size and micro in rows]
        if here:
            against = [compared(rows, best_of(rows)) for rows in here]
            below = sum(one.mean + one.half < 0 for one in against)
            body.append((size, micro, len(here), below, sum(one.loses for one in against)))
    columns = ("N", "µs a node", "families", "trained below the best", "above the best")
    note = "Best: the untrained row of the lowest mean energy. Beyond the paired 95 % interval."
    return Table("Before convergence: the bars", columns, tuple(body), note)


def details(found: dict[tuple[str, int], Any]) -> Table:
    body = []
    for (family, size), budgets in found.items():
        for micro, rows in budgets.items():
            best = best_of(rows)
            body.append((
                family, size, micro, len(rows[best][0]), float(np.mean(rows[TRAINED])),
                float(np.mean(rows[UNTRAINED])), best, float(np.mean(rows[best])),
                str(compared(rows, best)),
            ))  # fmt: skip
    columns = (
        "family", "N", "µs a node", "fresh", "trained", "untrained rule", "best untrained row",
        "its energy", "trained − it",
    )  # fmt: skip
    note = (
        "Mean energies. Where the pass did not win while training, trained is the untrained rule."
    )
    return Table("Before convergence, by family", columns, tuple(body), note)


def main(config: Config) -> None:
    resume = (config.work / "config.json").is_file()
    journal = Journal(config.work, {"labels": LABELS, "small": config.small}, resume=resume)
    found: dict[tuple[str, int], Any] = {}
    for size, family in product(config.sizes, config.families):
        if not config.measure and f"{family} {size} {config.seeds}" not in journal.values:
            continue
        passes = [
            journal.recall(f"{family} {seed}", lambda f=family, s=seed: learned(config, f, s))
            for seed in config.seeds
        ]
        found[family, size] = journal.recall(
            f"{family} {size} {config.seeds}",
            lambda f=family, n=size, p=passes: measured(config, f, n, p),
        )
        print(family, size, [one["won"] for one in passes], flush=True)
        shown = [bars(found, [f"{micro:g}" for micro in config.budgets]), details(found)]
        write_tables(config.out, config.name, shown, config)
    for table in shown:
        table.show()


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
