"""Does search pay? 20 simulations before every decision, beside refine and annealing.

    python benchmarks/search_pays.py

Fresh scenes (seeds from 910,000,000) and CRFs of hard families. Every row starts at a policy's
greedy labels: search decides again with 20 simulations of depth 4; refine and annealing go on from
them, annealing for as long as search took. What each lowers the energy by, paired, with its 95 %
interval; its CPU time beyond the greedy labels; and energy a second. Processor time of one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro
from shipped_policies import interval, shown

from policrf.crf.instance import Instance
from policrf.errors import PolicyMismatch
from policrf.evaluation.tables import Table, write_tables
from policrf.policy.checkpoint import list_policies
from policrf.scenes import make_family, make_scene
from policrf.solvers import Solution, solve

FIRST_SEED = 910_000_000
SEARCH, REFINE, ANNEALING = "search=20", "refine", "annealing"


@dataclass(frozen=True)
class Config:
    """Which policies, which instances."""

    policies: tuple[str, ...] = ()
    """Names or files; the untrained rule and all that ship if none."""
    regimes: tuple[str, ...] = ("A", "B", "C")
    families: tuple[str, ...] = ("two_labels", "parity", "size_prior")
    nodes: int = 100
    count: int = 30
    """Instances a cell."""
    out: Path = Path("benchmarks/results")
    name: str = "search-pays"


def cells(config: Config) -> Iterator[tuple[str, list[Instance]]]:
    seeds = range(FIRST_SEED, FIRST_SEED + config.count)
    for regime in config.regimes:
        made = [make_scene(config.nodes, regime, seed=seed) for seed in seeds]
        yield f"{regime}, N = {config.nodes}, L = 21", made
    for name in config.families:
        crfs = [make_family(name, config.nodes, seed=seed) for seed in seeds]
        yield f"{name}, N = {config.nodes}, L = 6", [Instance.from_crf(crf) for crf in crfs]


def timed(work: Callable[[], Solution]) -> tuple[Solution, float]:
    begun = time.process_time()
    return work(), time.process_time() - begun


def one(instance: Instance, policy: str) -> dict[str, tuple[float, float]]:
    """How far each way comes below the greedy labels, and the seconds it takes."""
    plain, base = timed(lambda: solve(instance, policy))
    found = {}
    searched, seconds = timed(lambda: solve(instance, policy, search=20))
    found[SEARCH] = (plain.energy - searched.energy, seconds - base)
    for name, limit in ((REFINE, None), (ANNEALING, max(seconds - base, 1e-4))):

        def go_on(name: str = name, limit: float | None = limit) -> Solution:
            return solve(instance, name, initial=plain.labels, seconds=limit, go_on=False)

        better, seconds = timed(go_on)
        found[name] = (plain.energy - better.energy, seconds)
    return found


def row_of(cell: str, policy: str, found: Sequence[dict[str, tuple[float, float]]]) -> tuple:
    row: list[object] = [cell, policy]
    for name in (SEARCH, REFINE, ANNEALING):
        lower, seconds = np.array([each[name] for each in found]).T
        row += [shown(-lower), f"{1e3 * seconds.mean():.1f}", f"{rate(found, name):.3g}"]
    return tuple(row)


def rate(found: Sequence[dict[str, tuple[float, float]]], name: str) -> float:
    """What a way lowers the energy by, a second."""
    lower, seconds = np.array([each[name] for each in found]).T
    return float(lower.sum() / seconds.sum())


def verdict(lower: int, level: int, higher: int, faster: int) -> str:
    """In words."""
    if not lower or higher:
        return "does not pay"
    return "pays" if faster else "lowers the energy; refine does it faster"


def main(config: Config) -> None:
    names = config.policies or ("untrained", *list_policies())
    rows, pays = [], {name: [0, 0, 0, 0] for name in names}
    for cell, instances in cells(config):
        for name in names:
            try:
                one(instances[0], name)  # kernels
                found = [one(instance, name) for instance in instances]
            except PolicyMismatch:
                continue
            rows.append(row_of(cell, Path(name).stem, found))
            mean, half = interval(np.array([each[SEARCH][0] for each in found]))
            pays[name][0 if mean > half else 2 if mean < -half else 1] += 1
            pays[name][3] += rate(found, SEARCH) > rate(found, REFINE)
            print(*rows[-1], sep=" | ", flush=True)
    columns = ["instances", "policy"]
    for name in (SEARCH, REFINE, ANNEALING):
        columns += [f"{name}: energy", f"{name}: ms", f"{name}: energy / s"]
    told = {"first seed": FIRST_SEED, "count": config.count, "policies": list(names)}
    summary = tuple((Path(name).stem, *counts, verdict(*counts)) for name, counts in pays.items())
    note = (
        "Cells in which 20 simulations lower the energy of the greedy labels beyond the paired "
        "95 % interval, do not, or raise it."
    )
    title = f"From greedy labels on, {config.count} instances a row"
    counted = ("policy", "lower", "level", "higher", "more a second than refine", "verdict")
    tables = [
        Table("Does search lower the energy", counted, summary, note),
        Table(title, tuple(columns), tuple(rows)),
    ]
    write_tables(config.out, config.name, tables, told)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
