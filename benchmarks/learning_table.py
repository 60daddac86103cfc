"""Learned policies against the solvers on data they were not trained on.

    python benchmarks/learning_table.py --data synthetic:B:250 --count 40 \
        --policies labels runs/voc/best.safetensors --out benchmarks/results --name learning

"+ refine" is `solve(instance, policy, persistent=True, refine=True)`. Energy and IoU are over all
instances; the gap is the mean of (E − E*) / |E*|, E* the lowest energy that any row found, or a
proven optimum with --exact-seconds; times are medians of the CPU time of one thread, warmed up:
other work on the machine does not count.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

from policrf.datasets.sources import load_instances
from policrf.evaluation.tables import Table, write_tables
from policrf.metrics import mean_iou, node_confusion, pixel_confusion
from policrf.policy.checkpoint import load_policy
from policrf.policy.policy import Policy
from policrf.solvers import solve

SOLVERS = ("unary", "icm", "highest_confidence_first", "alpha_expansion", "refine")
PLAIN = "unary + refine"
FREQUENT = 10  # instances a class must occur in to count as frequent


@dataclass(frozen=True)
class Config:
    """Which data, which policies."""

    data: tuple[str, ...] = ("synthetic:A:50", "synthetic:B:50")
    """Test data; one table each."""
    policies: tuple[str, ...] = ()
    """Names or files of policies; with each also the policy followed by refine. "untrained" is the
    residual kind before any learning."""
    solvers: tuple[str, ...] = SOLVERS
    """Solvers to compare with."""
    seconds: float | None = None
    """Limit of a solver."""
    search: int = 0
    """Simulations of tree search (depth 4) with each policy, as a further row; 0: none."""
    count: int = 100
    """Instances; 0 = all."""
    seed: int = 500_000_000
    """Of the first scene; training takes the seeds from 0."""
    energy: Path | None = None
    """Weights of prepared data (energy.yaml)."""
    potentials: str = "u+p+hop1+hop2"
    features: str = "paper"
    exact_seconds: float = 0.0
    """Also run the exact solver, this long an instance."""
    out: Path = Path("benchmarks/results")
    name: str = "learning"


def timed(instance, solver, **options) -> tuple[np.ndarray, float, float]:
    """Labels, energy and seconds of CPU."""
    start = time.thread_time()
    solution = solve(instance, solver, **options)
    return solution.labels, solution.energy, time.thread_time() - start


def short_name(policy: str) -> str:
    """A policy's name without its folder; a run's is its folder's."""
    path = Path(policy)
    return path.parent.name if path.stem in ("best", "last") else path.stem


def policy_of(name: str, instance) -> Policy:
    if name != "untrained":
        return load_policy(name)
    return Policy.untrained(
        n_labels=instance.crf.n_labels, n_features=instance.features.shape[1],
        label_names=instance.label_names, feature_names=instance.feature_names,
    )  # fmt: skip


def measure(config: Config, data: str) -> Table:
    instances = load_instances(
        data, count=config.count, seed=config.seed, energy=config.energy,
        potentials=config.potentials, features=config.features,
    )  # fmt: skip
    rows = {name: [] for name in (*config.solvers, PLAIN)}
    if config.exact_seconds:
        rows["exact"] = []
    policies = {name: policy_of(name, instances[0]) for name in config.policies}
    for k, instance in enumerate([instances[0], *instances]):
        solutions = {name: timed(instance, name, seconds=config.seconds) for name in config.solvers}
        if config.exact_seconds and k > 0:
            solutions["exact"] = timed(instance, "exact", seconds=config.exact_seconds)
        # What the same moves make of no policy at all.
        solutions[PLAIN] = timed(instance, "refine", start="unary", regions=False, growth=False)
        labelings = dict(solutions)
        for name, policy in policies.items():
            greedy = timed(instance, policy)
            refined = timed(instance, policy, persistent=True, refine=True)
            short = short_name(name)
            labelings[short] = greedy
            labelings[f"{short} + refine"] = refined
            if config.search:
                searched = timed(instance, policy, search=config.search, depth=4)
                labelings[f"{short} + search"] = searched
        if k > 0:  # the first one only warms up the kernels
            for name, answer in labelings.items():
                rows.setdefault(name, []).append(answer)
    lowest = np.min([[energy for _, energy, _ in row] for row in rows.values()], axis=0)
    reference = next(iter(instances))
    known = reference.truth is not None
    frequent = None
    if known:
        present = sum((i.truth.sum(axis=0) > 0).astype(int) for i in instances)
        frequent = present >= FREQUENT
    lines = []
    for name, row in rows.items():
        energies = np.array([energy for _, energy, _ in row])
        line = [
            name,
            float(energies.mean()),
            100 * float(np.mean((energies - lowest) / np.abs(lowest))),
        ]
        if known:
            nodes = sum(
                node_confusion(i.truth, y) for i, (y, _, _) in zip(instances, row, strict=True)
            )
            pixels = sum(
                pixel_confusion(i.truth, y) for i, (y, _, _) in zip(instances, row, strict=True)
            )
            line += [
                100 * mean_iou(nodes),
                100 * mean_iou(pixels),
                100 * mean_iou(pixels, frequent),
            ]
        lines.append((*line, 1e3 * float(np.median([seconds for _, _, seconds in row]))))
    iou = ("IoU (sp)", "IoU (p)", "IoU (p), frequent") if known else ()
    nodes_mean = np.mean([i.crf.n_nodes for i in instances])
    what = f"{len(instances)} instances, {nodes_mean:.0f} nodes"
    title = f"{Path(data).name.replace(':', ' ')}, {config.potentials}: {what}"
    return Table(title, ("solver", "energy", "gap %", *iou, "CPU ms"), tuple(lines))


def main(config: Config) -> None:
    tables = []
    for data in config.data:
        tables.append(measure(config, data))
        tables[-1].show()
    # Folders of this machine say nothing to a reader.
    told = {
        "data": [Path(data).name for data in config.data], "seed": config.seed,
        "policies": [short_name(name) for name in config.policies],
        "potentials": config.potentials, "features": config.features, "search": config.search,
    }  # fmt: skip
    write_tables(config.out, config.name, tables, told)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
