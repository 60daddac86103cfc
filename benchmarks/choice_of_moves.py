"""Which clique moves to try: all that are drawn, the most promising by hand, or by learned weights.

    python benchmarks/choice_of_moves.py

Rows of `auto` that differ in nothing but the choice among random clique moves: none (every move
that is drawn), by the change of the known terms alone, by the hand-set mix of that change, the age
of the move and the last change of its clique (the default), and by weights that
`with_learned_choice` learned on small CRFs of the family. Fresh instances, CPU time; a run that was
killed goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import tyro

import policrf as pc
from policrf.evaluation.cpu_time import cpu_budgets
from policrf.evaluation.tables import Table, write_tables
from policrf.learn.move_weights import with_learned_choice
from policrf.learn.tuning.journal import Journal
from policrf.learn.tuning.paired import Difference, difference
from policrf.scenes import FAMILIES, make_family
from policrf.solvers.numbers import DEFAULT, KNOWN

FIRST_TRAINING, FIRST_FRESH = 81_000, 61_000  # seeds
RANDOM, CHANGE, MIXED, LEARNED = "random", "by the change", "hand-set mix", "learned"
PAIRS = ((CHANGE, RANDOM), (MIXED, RANDOM), (LEARNED, RANDOM), (LEARNED, CHANGE), (LEARNED, MIXED))


@dataclass(frozen=True)
class Config:
    """What to measure."""

    families: tuple[str, ...] = tuple(FAMILIES)[:8]
    sizes: tuple[int, ...] = (576, 2304, 10_000)
    budgets: tuple[float, ...] = (3.0, 10.0, 30.0, 100.0)
    """Microseconds of CPU a node."""
    fresh: tuple[int, ...] = (20, 12, 6)
    """Instances that nothing was learned from, one number a size."""
    small: int = 576
    """Nodes of the instances that are learned from."""
    training: int = 16
    """How many of them."""
    solver: str = "auto"
    work: Path = Path("runs/choice-of-moves")
    out: Path = Path("benchmarks/results")


def options(config: Config, family: str, micro: float) -> dict[str, dict[str, Any]]:
    """Options of the solver, by row."""
    seeds = range(FIRST_TRAINING, FIRST_TRAINING + config.training)
    crfs = [make_family(family, config.small, seed=seed) for seed in seeds]
    learned = with_learned_choice(crfs, micro * 1e-6)
    change = tuple(float(name == "change") for name in KNOWN)
    return {
        RANDOM: {"choices": 1},
        CHANGE: {"choices": 6, "move_weights": change},
        MIXED: {"choices": DEFAULT.choices, "move_weights": DEFAULT.move_weights},
        LEARNED: {"choices": learned.choices, "move_weights": learned.move_weights},
    }


def measured(config: Config, family: str, size: int, micro: float, count: int) -> dict[str, Any]:
    """Energies by row, one an instance."""
    ways = options(config, family, micro)
    pc.solve(make_family(family, 64), config.solver, seconds=0.05, **ways[LEARNED])
    energies: dict[str, list[float]] = {name: [] for name in ways}
    for k in range(count):
        crf = make_family(family, size, seed=FIRST_FRESH + k)
        _ = crf.arrays  # built before the clock runs
        for name in list(ways) if k % 2 else reversed(ways):
            with cpu_budgets():
                found = pc.solve(
                    crf, config.solver, seconds=micro * 1e-6 * size, seed=k, **ways[name]
                )
            energies[name].append(found.energy)
    return {"energies": energies, "weights": ways[LEARNED]["move_weights"]}


def cells(config: Config, journal: Journal) -> Iterator[tuple[str, int, float, dict[str, Any]]]:
    """All that is measured, the smallest first."""
    for (size, count), family in product(
        zip(config.sizes, config.fresh, strict=True), config.families
    ):
        for micro in config.budgets:
            found = journal.recall(
                f"{family} {size} {micro:g}",
                lambda f=family, n=size, m=micro, c=count: measured(config, f, n, m, c),
            )
            yield family, size, micro, found


def compared(found: dict[str, Any], name: str, other: str) -> Difference:
    """Two rows of a cell."""
    return difference(found["energies"][name], found["energies"][other], clipped=True)


def bars(found: list[tuple[str, int, float, dict[str, Any]]]) -> Table:
    """Families in which one row is below another, or above, beyond the interval."""
    body = []
    for size, micro in sorted({(size, micro) for _, size, micro, _ in found}):
        here = [cell for _, n, m, cell in found if (n, m) == (size, micro)]
        pairs = [[compared(cell, *pair) for cell in here] for pair in PAIRS]
        told = (
            f"{sum(one.mean + one.half < 0 for one in pair)} / {sum(one.loses for one in pair)}"
            for pair in pairs
        )
        body.append((size, f"{micro:g}", len(here), *told))
    columns = ("N", "µs a node", "families", *(f"{name} − {other}" for name, other in PAIRS))
    note = "Families below / above, beyond the paired 95 % interval."
    return Table("Choice of moves: the bars", columns, tuple(body), note)


def details(found: list[tuple[str, int, float, dict[str, Any]]]) -> Table:
    """A line a cell."""
    body = tuple(
        (
            family, size, f"{micro:g}", len(cell["energies"][RANDOM]),
            float(np.mean(cell["energies"][RANDOM])), *(str(compared(cell, *p)) for p in PAIRS),
        )
        for family, size, micro, cell in found
    )  # fmt: skip
    columns = (
        "family", "N", "µs a node", "fresh", RANDOM, *(f"{name} − {other}" for name, other in PAIRS)
    )  # fmt: skip
    note = (
        "Mean energy, and paired differences with 95 % intervals, outliers clipped to three "
        "standard deviations. Learned on other instances, of the small size only."
    )
    return Table("Choice of moves, by family", columns, body, note)


def main(config: Config) -> None:
    resume = (config.work / "config.json").is_file()
    told = {"solver": config.solver, "small": config.small, "training": config.training}
    journal = Journal(config.work, told, resume=resume)
    found = []
    for cell in cells(config, journal):
        found.append(cell)
        print(*cell[:3], *(str(compared(cell[3], *pair)) for pair in PAIRS), flush=True)
    shown = [bars(found), details(found)]
    write_tables(config.out, "choice-of-moves", shown, config)
    for table in shown:
        table.show()


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
