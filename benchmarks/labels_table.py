"""One policy for all regimes, sizes and numbers of labels, against the energy's own minimum.

    for SEED in 0 1 2; do policrf train imitate --data synthetic:A+B+C:50+100+250:6+21 \
        --count 900 --rounds 100 --decay-rounds 100 --validate-rounds 10 --seed $SEED \
        --out runs/labels-$SEED; done
    python benchmarks/labels_table.py --policies runs/labels-*/best.safetensors

The policies are seeds of one training. Fresh scenes (seeds from 800,000,000; training takes those
from 0, 1,000,000 and 2,000,000). IoU is that of superpixels over all scenes of a cell, in percent;
"paired" is the mean difference to alpha-expansion + repair of single scenes' IoU (over the labels
that are there), with its 95 % interval, every scene the mean of the seeds. The seed that ships is
the best on other scenes (seeds from 700,000,000), of sizes and labels that were trained on.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import tyro

from policrf.crf.instance import Instance
from policrf.evaluation.tables import Table, write_tables
from policrf.metrics import mean_iou, node_confusion
from policrf.policy.checkpoint import load_policy
from policrf.scenes import make_scene
from policrf.solvers import solve

FIRST_SEED, CHOOSING_SEED = 800_000_000, 700_000_000
BASE, UNTRAINED = "alpha_expansion", "untrained"
BARS = {"A": 0.0, "B": 4.0, "C": 8.0}  # points of IoU above alpha-expansion + repair


@dataclass(frozen=True)
class Config:
    """Which cells, which policies."""

    policies: tuple[str, ...] = ("labels",)
    """Files or names of policies: seeds of one training."""
    regimes: tuple[str, ...] = ("A", "B", "C")
    sizes: tuple[int, ...] = (50, 250, 500)
    labels: tuple[int, ...] = (6, 21, 50)
    count: int = 20
    """Scenes a cell."""
    out: Path = Path("benchmarks/results")
    name: str = "labels"


def looked_at(scenes: list[Instance], solver: Any) -> tuple[np.ndarray, float]:
    """Confusions [scenes, L, L] and the mean energy."""
    solutions = [solve(scene, solver) for scene in scenes]
    pairs = zip(scenes, solutions, strict=True)
    counts = np.array([node_confusion(scene.truth, found.labels) for scene, found in pairs])
    return counts, float(np.mean([found.energy for found in solutions]))


def set_iou(counts: np.ndarray) -> float:
    return 100 * mean_iou(counts.sum(axis=0))


def scene_ious(counts: np.ndarray) -> np.ndarray:
    return np.array([100 * mean_iou(one) for one in counts])


def cell(scenes: list[Instance], policies: list[Any]) -> dict[str, Any]:
    """What a cell's row says, and the gains of every seed."""
    (base, energy), (rule, rule_energy) = (looked_at(scenes, name) for name in (BASE, UNTRAINED))
    found = [looked_at(scenes, policy) for policy in policies]
    ious = [set_iou(counts) for counts, _ in found]
    each = np.mean([scene_ious(counts) for counts, _ in found], axis=0) - scene_ious(base)
    half = 1.96 * np.std(each, ddof=1) / np.sqrt(len(each))
    above = 100 * (np.mean([mean for _, mean in found]) / energy - 1)
    gains = [iou - set_iou(base) for iou in ious]
    return {
        "gains": gains,
        "row": (
            f"{set_iou(base):.1f} [{energy:.1f}]", f"{set_iou(rule):.1f} [{rule_energy:.1f}]",
            ", ".join(f"{iou:.1f}" for iou in ious), f"{np.mean(gains):+.1f}",
            f"{min(gains):+.1f} … {max(gains):+.1f}", f"{np.mean(each):+.1f} ± {half:.1f}",
            f"{above:+.1f} %",
        ),
    }  # fmt: skip


def summary(gains: dict[str, list[list[float]]]) -> Table:
    """The bars, by regime: cells whose mean over seeds, and whose every seed, holds."""
    body = []
    for regime, cells in gains.items():
        bar, means = BARS[regime], [float(np.mean(each)) for each in cells]
        body.append(
            (regime, f"{bar:+.0f}", f"{sum(m >= bar for m in means)} of {len(cells)}",
             f"{sum(min(each) >= bar for each in cells)} of {len(cells)}",
             f"{np.mean(means):+.1f}", f"{min(means):+.1f} … {max(means):+.1f}")
        )  # fmt: skip
    columns = (
        "regime",
        "bar",
        "cells, mean of seeds",
        "cells, every seed",
        "mean gain",
        "of cells",
    )
    return Table("IoU over alpha-expansion + repair: the bars", columns, tuple(body))


def choice(names: list[str], policies: list[Any]) -> Table:
    """Which seed ships: the best on scenes that chose nothing else, like those of training."""
    parts = [
        [make_scene(n, regime, seed=CHOOSING_SEED + k, n_labels=n_labels) for k in range(10)]
        for regime, n, n_labels in product("ABC", (50, 250), (6, 21))
    ]
    means = [
        float(np.mean([scene_ious(looked_at(part, policy)[0]).mean() for part in parts]))
        for policy in policies
    ]
    ships = ["ships" if mean == max(means) else "" for mean in means]
    body = tuple(zip(names, (f"{mean:.2f}" for mean in means), ships, strict=True))
    return Table("Which seed ships", ("policy", "mean IoU of a scene", ""), body)


def main(config: Config) -> None:
    policies = [load_policy(source) for source in config.policies]
    names = [Path(s).parent.name if Path(s).suffix else s for s in config.policies]
    rows, gains = [], {regime: [] for regime in config.regimes}
    for regime, size, n_labels in product(config.regimes, config.sizes, config.labels):
        seeds = range(FIRST_SEED, FIRST_SEED + config.count)
        scenes = [make_scene(size, regime, seed=seed, n_labels=n_labels) for seed in seeds]
        found = cell(scenes, policies)
        gains[regime].append(found["gains"])
        rows.append((f"{regime}, N = {size}, L = {n_labels}", *found["row"]))
        print(*rows[-1], sep=" | ", flush=True)
    columns = ("scenes", BASE, UNTRAINED, "seeds", "gain", "of seeds", "paired", "energy above")
    title = f"IoU [energy], {config.count} fresh scenes a row"
    tables = [summary(gains), Table(title, columns, tuple(rows))]
    if len(policies) > 1:
        tables.append(choice(names, policies))
    for table in (tables[0], *tables[2:]):
        table.show()
    told = {"first seed": FIRST_SEED, "count": config.count, "policies": names}
    write_tables(config.out, config.name, tables, told)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
