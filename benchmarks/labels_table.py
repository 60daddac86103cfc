"""One policy for all regimes, sizes and numbers of labels, against the energy's own minimum.

    policrf train imitate --data synthetic:A+B+C:50+100+250:6+21 --count 900 --seconds 120 \
        --out runs/labels
    python benchmarks/labels_table.py --policies runs/labels/best.safetensors

Fresh scenes (seeds from 800,000,000; training takes those from 0). IoU of superpixels over all
scenes of a cell, in percent, and mean energies in brackets. Beside a policy's the mean difference
to alpha-expansion + repair of the IoU of single scenes (over the labels that are there), paired,
with its 95 % interval, and its energy above alpha-expansion's in percent.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

from policrf.evaluation.tables import Table, write_tables
from policrf.metrics import mean_iou, node_confusion
from policrf.policy.checkpoint import load_policy
from policrf.scenes import make_scene
from policrf.solvers import solve

FIRST_SEED = 800_000_000
BASE = "alpha_expansion"


@dataclass(frozen=True)
class Config:
    """Which cells, which policies."""

    policies: tuple[str, ...] = ()
    """Files or names of policies."""
    regimes: tuple[str, ...] = ("A", "B", "C")
    sizes: tuple[int, ...] = (50, 250, 500)
    labels: tuple[int, ...] = (6, 21, 50)
    count: int = 20
    """Scenes a cell."""
    out: Path = Path("benchmarks/results")
    name: str = "labels"


def gain(base: np.ndarray, other: np.ndarray) -> str:
    """The mean difference of single scenes' IoU and its interval; confusions [count, L, L]."""
    each = [100 * (mean_iou(b) - mean_iou(a)) for a, b in zip(base, other, strict=True)]
    return f"{np.mean(each):+.1f} ± {1.96 * np.std(each, ddof=1) / np.sqrt(len(each)):.1f}"


def cell(config: Config, regime: str, size: int, n_labels: int, solvers: dict) -> tuple:
    confusions: dict[str, list] = {name: [] for name in solvers}
    energies: dict[str, list] = {name: [] for name in solvers}
    for k in range(config.count):
        scene = make_scene(size, regime, seed=FIRST_SEED + k, n_labels=n_labels)
        for name, solver in solvers.items():
            solution = solve(scene, solver)
            confusions[name].append(node_confusion(scene.truth, solution.labels))
            energies[name].append(solution.energy)
    stacked = {name: np.array(found) for name, found in confusions.items()}
    row = [f"{regime}, N = {size}, L = {n_labels}"]
    for name, found in stacked.items():
        row.append(f"{100 * mean_iou(found.sum(axis=0)):.1f} [{np.mean(energies[name]):.1f}]")
        if name not in (BASE, "untrained"):
            above = np.mean(energies[name]) / np.mean(energies[BASE]) - 1
            row.append(f"{gain(stacked[BASE], found)}, {100 * above:+.1f} %")
    return tuple(row)


def main(config: Config) -> None:
    solvers = {BASE: BASE, "untrained": "untrained"}
    for source in config.policies:
        path = Path(source)
        short = path.parent.name if path.stem in ("best", "last") else path.stem
        solvers[short] = load_policy(source)
    columns = ["scenes"]
    for name in solvers:
        columns += [name] if name in (BASE, "untrained") else [name, f"{name} − {BASE}"]
    rows = []
    for regime in config.regimes:
        for size in config.sizes:
            for n_labels in config.labels:
                rows.append(cell(config, regime, size, n_labels, solvers))
                print(*rows[-1], sep=" | ", flush=True)
    title = f"IoU [energy], {config.count} fresh scenes a row"
    told = {"first seed": FIRST_SEED, "count": config.count, "policies": list(solvers)[2:]}
    write_tables(config.out, config.name, [Table(title, tuple(columns), tuple(rows))], told)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
