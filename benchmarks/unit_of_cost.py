"""The untrained rule with costs in the CRF's own unit, and with costs as they are.

    python benchmarks/unit_of_cost.py --prepared tables/half-250-half1-boxes

The unit is the temperature of the rule's mean field: 1 whatever the energy is in, or `crf.units`.
Fresh CRFs (seeds from 20,000,000), energies of the labels as they are; the difference in percent
of the energy, paired, with its 95 % interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

from policrf.crf.model import CRF
from policrf.datasets.instances import load_prepared
from policrf.evaluation.tables import Table, write_tables
from policrf.policy.solver import bare_instance, untrained_policy
from policrf.scenes import FAMILIES, make_family, make_scene
from policrf.solvers import solve

FIRST_SEED = 20_000_000


@dataclass(frozen=True)
class Config:
    """Which CRFs."""

    scenes: tuple[str, ...] = ("50:6", "250:21", "500:50")
    """Nodes and labels of the scenes."""
    families: tuple[str, ...] = ("144:6", "576:10")
    """Nodes and labels of the families."""
    names: tuple[str, ...] = tuple(name for name in FAMILIES if name != "black_box")
    prepared: tuple[Path, ...] = ()
    count: int = 20
    out: Path = Path("benchmarks/results")
    name: str = "unit-of-cost"


def cells(config: Config) -> Iterator[tuple[str, list[CRF]]]:
    seeds = range(FIRST_SEED, FIRST_SEED + config.count)
    for text in config.scenes:
        n, n_labels = map(int, text.split(":"))
        for regime in "ABC":
            scenes = [make_scene(n, regime, seed=k, n_labels=n_labels).crf for k in seeds]
            yield f"{regime}, N = {n}, L = {n_labels}", scenes
    for text in config.families:
        n, n_labels = map(int, text.split(":"))
        for name in config.names:
            yield (
                f"{name}, N = {n}, L = {n_labels}",
                [make_family(name, n, n_labels, seed) for seed in seeds],
            )
    for folder in config.prepared:
        yield folder.name, [instance.crf for instance in load_prepared(folder)]


def energies(crfs: list[CRF], *, units: bool) -> np.ndarray:
    return np.array([
        solve(bare_instance(crf), untrained_policy("residual", crf.n_labels, 1, units=units)).energy
        for crf in crfs
    ])  # fmt: skip


def main(config: Config) -> None:
    rows, count = [], {"below": 0, "level": 0, "above": 0}
    for name, crfs in cells(config):
        plain, ours = energies(crfs, units=False), energies(crfs, units=True)
        change = 100 * (ours - plain) / np.abs(plain).mean()
        mean, half = change.mean(), 1.96 * change.std(ddof=1) / np.sqrt(len(change))
        count["level" if abs(mean) <= half else "below" if mean < 0 else "above"] += 1
        rows.append((name, plain.mean(), ours.mean(), f"{mean:+.2f} ± {half:.2f}"))
        print(*rows[-1], sep=" | ", flush=True)
    columns = ("CRFs", "as they are", "in units", "in units − as they are, %")
    note = "In units, beyond the interval: " + ", ".join(f"{k} in {v}" for k, v in count.items())
    table = Table("Energy of the untrained rule by the unit of cost", columns, tuple(rows), note)
    write_tables(config.out, config.name, [table], {"first seed": FIRST_SEED})


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
