"""auto against refine and icm at fractions of a millisecond, where cliques are asked half-way.

    python benchmarks/tiny_budgets.py

Eight families, fresh instances (seeds from 77,000,000), CPU time; energies are means of two seeds
of every instance. Differences to the lower of the two others, paired, with 95 % intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import tyro

from policrf.evaluation.tables import Table, write_tables
from policrf.learn.tuning.paired import Difference, difference
from policrf.learn.tuning.trials import Trials
from policrf.scenes import FAMILIES, make_family

LABELS, SEEDS = 6, 2
FIRST_FRESH = 77_000_000
AUTO, OTHERS = "auto", ("refine", "icm")


@dataclass(frozen=True)
class Config:
    """What to measure."""

    families: tuple[str, ...] = tuple(FAMILIES)[:8]
    sizes: tuple[int, ...] = (144, 576)
    budgets: tuple[float, ...] = (0.3, 1.0, 3.0)
    """Milliseconds of CPU."""
    fresh: int = 16
    out: Path = Path("benchmarks/results")
    name: str = "tiny-budgets"


def measured(trials: Trials, count: int) -> dict[str, np.ndarray]:
    """Energies by row [count]; all rows take turns."""
    energies: dict[str, list[float]] = {name: [] for name in (AUTO, *OTHERS)}
    for trial, name in product(range(SEEDS * count), energies):
        energies[name].append(trials.measure(name, trial).energy)
    return {
        name: np.mean(np.reshape(found, (SEEDS, count)), axis=0) for name, found in energies.items()
    }


def bars(cells: list[tuple[int, float, Difference]]) -> Table:
    body = []
    for key in sorted({cell[:2] for cell in cells}):
        here = [less for *place, less in cells if tuple(place) == key]
        below = sum(less.mean + less.half < 0 for less in here)
        body.append((*key, len(here), below, sum(less.loses for less in here)))
    columns = ("N", "ms", "families", "auto below", "auto above")
    note = "The lower of refine and icm, beyond the paired 95 % interval."
    return Table("auto at tiny budgets: the bars", columns, tuple(body), note)


def main(config: Config) -> None:
    rows, cells = [], []
    for n, family in product(config.sizes, config.families):
        crfs = [make_family(family, n, LABELS, FIRST_FRESH + k) for k in range(config.fresh)]
        for budget in config.budgets:
            trials = Trials(crfs, budget / 1000 / n)
            trials.warm_up((AUTO, *OTHERS))
            energies = measured(trials, config.fresh)
            means = {name: float(found.mean()) for name, found in energies.items()}
            best = min(OTHERS, key=lambda name: means[name])
            pair = energies[AUTO].tolist(), energies[best].tolist()
            less = difference(*pair, clipped=True)
            cells.append((n, budget, less))
            rows.append((family, n, budget, *means.values(), best, str(less)))
            print(*rows[-1], sep=" | ", flush=True)
    columns = ("family", "N", "ms", AUTO, *OTHERS, "lower", "auto − it")
    tables = [bars(cells), Table("auto at tiny budgets, by family", columns, tuple(rows))]
    write_tables(config.out, config.name, tables, config)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
