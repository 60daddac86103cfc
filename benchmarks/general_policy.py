"""One policy for everything: where is it below the untrained rule, where above?

    python benchmarks/general_policy.py --policy runs/general/last.safetensors \
        --prepared tables/half-250-half1 --uai data/uai

Fresh instances (seeds from 960,000,000) of numbers of labels and nodes that it was not trained
with, families that it has not seen (connectivity, black_box), prepared images and models in files.
Differences to the untrained rule in percent of its energy: of the labels as they are, and after
single relabels (ICM). Paired, with 95 % intervals (Student's t). CPU milliseconds of one thread.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import tyro
from scipy.stats import t as student

from policrf.crf.instance import Instance
from policrf.datasets.sources import load_instances
from policrf.evaluation.tables import Table, write_tables
from policrf.learn.learners.evolve import MOVES
from policrf.policy.checkpoint import load_policy
from policrf.policy.policy import Policy
from policrf.scenes import FAMILIES, make_family, make_scene
from policrf.solvers import solve
from policrf.solvers.refine.refine_rounds import refine_labels

FRESH = 960_000_000
UNSEEN = ("connectivity", "black_box")
SLOW = 1000  # nodes from which on the families of expensive functions are left out
NEGLIGIBLE = 1e-9  # percent: rounding


@dataclass(frozen=True)
class Config:
    """Which policy, which instances."""

    policy: str
    scenes: tuple[str, ...] = ("100:3", "250:10", "500:50", "10000:21")
    """Nodes and labels of the scenes."""
    families: tuple[str, ...] = ("144:3", "576:10", "144:16", "144:32", "2304:6", "10000:6")
    """Nodes and labels of the families."""
    names: tuple[str, ...] = tuple(FAMILIES)
    prepared: tuple[Path, ...] = ()
    energy: Path | None = None
    images: int = 40
    uai: Path | None = None
    """A folder of .uai models."""
    count: int = 20
    """Instances a cell, fewer of more than 500 nodes."""
    out: Path = Path("benchmarks/results")
    name: str = "general"


def cells(config: Config) -> Iterator[tuple[str, Sequence[Instance]]]:
    for text in config.scenes:
        nodes, labels = map(int, text.split(":"))
        for regime in "ABC":
            made = [make_scene(nodes, regime, seed=FRESH + k, n_labels=labels)
                    for k in range(count_of(config, nodes))]  # fmt: skip
            yield f"{regime}, N = {nodes}, L = {labels}", made
    for folder in config.prepared:
        found = load_instances(folder, energy=config.energy)
        yield folder.name, list(islice(found, config.images))
    if config.uai is not None:
        yield (
            "models in .uai files",
            [
                Instance.from_crf(load_instances(path)[0].crf)
                for path in sorted(config.uai.glob("*.uai"))
            ],
        )
    for text in config.families:
        nodes, labels = map(int, text.split(":"))
        slow = UNSEEN if nodes > SLOW else ()
        for name in (name for name in config.names if name not in slow):
            made = [Instance.from_crf(make_family(name, nodes, labels, FRESH + k))
                    for k in range(count_of(config, nodes))]  # fmt: skip
            new = ", not trained on" if name in UNSEEN else ""
            yield f"{name}, N = {nodes}, L = {labels}{new}", made


def count_of(config: Config, nodes: int) -> int:
    """As many as take a few seconds."""
    return max(3, min(config.count, config.count * 500 // nodes))


def figures(solver: str | Policy, instances: Sequence[Instance]) -> np.ndarray:
    """Energy, energy after ICM and milliseconds of every instance [count, 3]."""
    solve(instances[0], solver)  # kernels
    found = []
    for instance in instances:
        begun = time.process_time()
        solution = solve(instance, solver)
        spent = 1e3 * (time.process_time() - begun)
        relabeled = refine_labels(instance.crf, solution.labels, MOVES["icm"])
        found.append((solution.energy, instance.crf.energy(relabeled), spent))
    return np.array(found)


def side_of(less: np.ndarray) -> tuple[str, int]:
    """The mean difference with its interval; −1: below beyond it, 1: above, 0: neither."""
    mean, count = float(less.mean()), len(less)
    half = float(student.ppf(0.975, count - 1) * less.std(ddof=1) / np.sqrt(count))
    beyond = abs(mean) > half and abs(mean) > NEGLIGIBLE
    return f"{mean:+.2f} ± {half:.2f}", int(np.sign(mean)) if beyond else 0


def main(config: Config) -> None:
    policy = load_policy(config.policy)
    rows, sides = [], []
    for cell, instances in cells(config):
        plain, found = figures("untrained", instances), figures(policy, instances)
        less = 100 * (found[:, :2] - plain[:, :2]) / np.maximum(np.abs(plain[:, :2]), 1e-9)
        alone, relabeled = side_of(less[:, 0]), side_of(less[:, 1])
        sides.append((alone[1], relabeled[1]))
        ms = f"{np.median(plain[:, 2]):.3g} / {np.median(found[:, 2]):.3g}"
        rows.append((cell, len(instances), alone[0], relabeled[0], ms))
        print(*rows[-1], sep=" | ", flush=True)
    counted = np.array(sides)
    summary = tuple(
        (way, *(int((counted[:, k] == side).sum()) for side in (-1, 0, 1)))
        for k, way in enumerate(("labels as they are", "after ICM"))
    )
    note = "Cells beyond the paired 95 % interval."
    columns = ("instances", "count", "energy, %", "after ICM, %", "ms, untrained / policy")
    tables = [
        Table(f"{policy.name} less the untrained rule",
              ("energy of", "below", "level", "above"), summary, note),
        Table("By kind of instance", columns, tuple(rows)),
    ]  # fmt: skip
    told = {"first seed": FRESH, "policy": policy.name, "count": config.count}
    write_tables(config.out, config.name, tables, told)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
