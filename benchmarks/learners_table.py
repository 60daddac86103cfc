"""Which learner for which goal: the shared kind, every learner, the same processor time.

    python benchmarks/learners_table.py --seconds 20

Trained on scenes of regimes A, B, C (N = 50, 6 and 21 labels) and on families of hard potentials
(N = 144, 6 labels), from the untrained rule on; last weights, nothing chosen. On fresh instances
(seeds from 920,000,000): what a learner's labels have less than the untrained rule's, in energy as
they are and after single relabels (ICM), in percent of it; and in IoU where truth is known, in
points. Paired, with 95 % intervals. Only the last learner is told true labels.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tyro
from shipped_policies import interval, shown

from policrf.crf.instance import Instance
from policrf.evaluation.tables import Table, write_tables
from policrf.learn.experience.corpus import Instances
from policrf.learn.learners.evolve import MOVES
from policrf.learn.learners.shared import shared_learner
from policrf.learn.options import Shared
from policrf.learn.options.flat_fields import with_fields
from policrf.metrics import mean_iou, node_confusion
from policrf.policy.engine import Engine
from policrf.policy.network import Spec
from policrf.policy.policy import Policy
from policrf.scenes import make_family, make_scene
from policrf.solvers.refine.refine_rounds import refine_labels

FRESH = 920_000_000
SCENES = "A + B + C"
LEARNERS: dict[str, dict[str, Any]] = {
    "Q-learning, R1": {"learner": "q", "target": "reward", "reward": "difference"},
    "Q-learning, R2": {"learner": "q", "target": "reward", "reward": "sign"},
    "Q-learning, hindsight": {"learner": "q", "target": "hindsight"},
    "tree search": {"learner": "tree"},
    "imitation": {"learner": "imitate", "truth": 0.0},
    "imitation, best of 4 episodes": {"learner": "imitate", "truth": 0.0, "perturbed": 4},
    "policy search": {"learner": "evolve"},
    "imitation of truth": {"learner": "imitate", "truth": 1.0},
}


@dataclass(frozen=True)
class Config:
    """What is learned from, and for how long."""

    families: tuple[str, ...] = ("absent_or_many", "size_prior", "order")
    seconds: float = 20.0
    """Processor time of learning."""
    training: int = 60
    fresh: int = 30
    seed: int = 0
    out: Path = Path("benchmarks/results")
    name: str = "learners"


def make(data: str, seed: int) -> Instance:
    if data == SCENES:
        return make_scene(50, "ABC"[seed % 3], seed=seed, n_labels=(6, 21)[seed // 3 % 2])
    return Instance.from_crf(make_family(data, 144, seed=seed))


def learned(config: Config, options: dict[str, Any], instances: list[Instance]) -> Policy:
    """The policy after so many seconds of processor time."""
    torch.set_num_threads(1)
    chosen = with_fields(Shared(), {"actors": 1} | options, "shared")
    spec = Spec(kind="shared", width=chosen.network.width)
    learner = shared_learner(chosen, spec, Instances(instances), config.seed)
    with ThreadPoolExecutor(1) as pool:
        begun = time.process_time()
        learner.begin(pool)
        while time.process_time() - begun < config.seconds:
            learner.round(pool)
    return learner.policy()


def figures(policy: Policy, instances: list[Instance]) -> np.ndarray:
    """Energy, energy after ICM, and IoU (NaN without truth) of every instance [count, 3]."""
    found = []
    for instance in instances:
        crf, labels = instance.crf, Engine(policy, instance, track=False).label_all()[0]
        iou = np.nan
        if instance.truth is not None:
            iou = 100 * mean_iou(node_confusion(instance.truth, labels))
        relabeled = refine_labels(crf, labels, MOVES["icm"])
        found.append((crf.energy(labels), crf.energy(relabeled), iou))
    return np.array(found)


def main(config: Config) -> None:
    rows, plain_policy = [], Policy.untrained(kind="shared")
    for data in (SCENES, *config.families):
        training = [make(data, config.seed * 1_000_000 + k) for k in range(config.training)]
        fresh = [make(data, FRESH + k) for k in range(config.fresh)]
        plain = figures(plain_policy, fresh)
        for name, options in LEARNERS.items():
            if options.get("truth") == 1.0 and data != SCENES:
                continue
            found = figures(learned(config, options, training), fresh)
            less = 100 * (found[:, :2] - plain[:, :2]) / np.abs(plain[:, :2])
            iou = shown(found[:, 2] - plain[:, 2]) if data == SCENES else ""
            beyond = [mean < -half for mean, half in map(interval, less.T)]
            won = ", ".join(w for w, b in zip(("alone", "with ICM"), beyond, strict=True) if b)
            rows.append((data, name, shown(less[:, 0]), shown(less[:, 1]), iou, won))
            print(*rows[-1], sep=" | ", flush=True)
    columns = ("instances", "learner", "energy, %", "after ICM, %", "IoU", "lower energy")
    title = f"Learners of the shared kind less the untrained rule, {config.seconds:g} s of CPU each"
    told = {"first fresh seed": FRESH, "seconds": config.seconds, "training": config.training,
            "fresh": config.fresh, "seed": config.seed}  # fmt: skip
    write_tables(config.out, config.name, [Table(title, columns, tuple(rows))], told)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
