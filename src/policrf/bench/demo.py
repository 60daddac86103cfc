"""The demo: a policy trained on scenes that come with the package, held against the solvers."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import numpy as np

from policrf.crf.instance import Instance
from policrf.evaluation.tables import Table
from policrf.metrics import mean_iou, node_confusion
from policrf.policy.policy import Policy
from policrf.scenes import PRESETS, make_scene
from policrf.solvers import solve
from policrf.types import IntArray

POLICY, REFINED = "policy", "policy:refine=true"
REGIME = "B"
# Seeds of training scenes, of scenes to report on, and of the picture: never the same scene.
TRAINING_SEEDS, TEST_SEEDS, PICTURE_SEED = 1_000_000, 10_000, 20_000
TRAINING_SCENES, ROUNDS = 1500, 40


@dataclass(frozen=True)
class Scored:
    """One solver on one scene."""

    labels: IntArray
    energy: float
    optimal: bool
    seconds: float


@dataclass
class Demo:
    """All scenes and what every solver made of them."""

    scenes: list[Instance]
    results: dict[str, list[Scored]] = field(default_factory=dict)

    def reference(self, scene: int) -> float:
        """The lowest energy that any solver found for a scene."""
        return min(row[scene].energy for row in self.results.values())

    @property
    def proven(self) -> int:
        """Scenes whose reference is a proven optimum."""
        return sum(
            any(row[k].optimal for row in self.results.values()) for k in range(len(self.scenes))
        )

    def gap(self, name: str) -> float:
        """Mean gap in % to the lowest energy found."""
        pairs = [(scored.energy, self.reference(k)) for k, scored in enumerate(self.results[name])]
        return float(np.mean([100 * (energy - best) / abs(best) for energy, best in pairs]))

    def iou(self, name: str) -> float:
        """Mean IoU over the classes in %, of all scenes together."""
        confusion = sum(
            node_confusion(_truth(scene), scored.labels)
            for scene, scored in zip(self.scenes, self.results[name], strict=True)
        )
        return 100 * mean_iou(np.asarray(confusion))

    def table(self) -> Table:
        """Mean energy, gap, IoU and time of every solver."""
        rows = []
        for name, row in self.results.items():
            energy = float(np.mean([s.energy for s in row]))
            milliseconds = 1e3 * float(np.median([s.seconds for s in row]))
            rows.append((name, energy, self.gap(name), self.iou(name), milliseconds))
        count, size = len(self.scenes), self.scenes[0].crf.n_nodes
        title = f"{count} scenes of {size} nodes, 21 labels, U+P+HOP1+HOP2 (regime {REGIME})"
        note = f"gap: to the lowest energy found, proven optimal on {self.proven} of {count} scenes"
        return Table(title, ("solver", "energy", "gap %", "IoU %", "median ms"), tuple(rows), note)


def train_policy(
    *, nodes: int, seconds: float, seed: int, report: Callable[[dict[str, Any]], None]
) -> Policy | None:
    """A policy of the paper's kind, learned from the energy alone; None where torch is missing."""
    if seconds <= 0 or importlib.util.find_spec("torch") is None:
        return None
    from policrf.learn.train import train

    scenes = [
        make_scene(nodes, regime, seed=TRAINING_SEEDS + seed + k)
        for k, regime in zip(range(TRAINING_SCENES), cycle(PRESETS), strict=False)
    ]
    return train(
        scenes, name=POLICY, seed=seed, report=report, seconds=seconds, rounds=ROUNDS,
        decay_rounds=ROUNDS, episodes=48, capacity=100_000, epsilon=0.7, learning_rate=3e-3,
        batch=64, actors=2,
    )  # fmt: skip


Row = tuple[str | Policy, dict[str, Any]]


def rows_of(solvers: Sequence[str], policy: Policy | None) -> dict[str, Row]:
    """The rows by name: the solvers, then the policy alone and with refine."""
    rows: dict[str, Row] = {text: (text, {}) for text in solvers}
    if policy is not None:
        rows |= {POLICY: (policy, {}), REFINED: (policy, {"refine": True})}
    return rows


def solve_scenes(
    scenes: list[Instance],
    rows: dict[str, Row],
    *,
    seconds: float,
    seed: int,
    progress: Callable[[str], None],
) -> Demo:
    """Every scene with every row; kernels are warmed up before anything is timed."""
    demo = Demo(scenes)
    small = make_scene(30, REGIME, seed=seed)
    for name, (solver, options) in rows.items():
        solve(small, solver, seconds=seconds, seed=seed, go_on=False, **options)
        demo.results[name] = []
        for scene in demo.scenes:
            solution = solve(scene, solver, seconds=seconds, seed=seed, go_on=False, **options)
            demo.results[name].append(
                Scored(solution.labels, solution.energy, solution.optimal, solution.seconds)
            )
            progress(name)
    return demo


def _truth(scene: Instance) -> IntArray:
    assert scene.truth is not None
    return scene.truth
